package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// scripted answers each request with the next of the handlers, the last one for ever.
func scripted(t *testing.T, handlers ...http.HandlerFunc) (*Client, *[]*http.Request) {
	t.Helper()
	var seen []*http.Request
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r)
		handlers[min(len(seen), len(handlers))-1](w, r)
	}))
	t.Cleanup(srv.Close)
	c := New(srv.URL+"/", "dw_secret", "dogwatch/test")
	c.wait = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	return c, &seen
}

func answer(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

func hangUp(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		conn.Close()
	}
}

func TestCallsCarryTheToken(t *testing.T) {
	c, seen := scripted(t, answer(200, `{"ok":true}`))
	b, err := c.Get(t.Context(), "/tasks", map[string][]string{"q": {"a b"}})
	if err != nil || string(b) != `{"ok":true}` {
		t.Fatalf("got %s, %v", b, err)
	}
	r := (*seen)[0]
	if r.URL.String() != "/api/v1/tasks?q=a+b" || r.Header.Get("Authorization") != "Bearer dw_secret" {
		t.Errorf("asked %s with %v", r.URL, r.Header)
	}
}

// What may be repeated without harm is repeated, and a POST with the same key.
func TestRetries(t *testing.T) {
	busy := answer(503, `{"title":"Unavailable","status":503}`, "Retry-After", "1")
	running := answer(409, `{"title":"Conflict","status":409,"code":"in_progress"}`)
	conflict := answer(409, `{"title":"Conflict","status":409,"code":"in_flight"}`)
	for _, tt := range []struct {
		name     string
		method   string
		handlers []http.HandlerFunc
		calls    int
		ok       bool
	}{
		{"reading after a hang-up", "GET", []http.HandlerFunc{hangUp, answer(200, `{}`)}, 2, true},
		{"starting after a hang-up", "POST", []http.HandlerFunc{hangUp, answer(202, `{}`)}, 2, true},
		{"starting while busy", "POST", []http.HandlerFunc{busy, running, answer(202, `{}`)}, 3, true},
		{"editing is tried once", "PATCH", []http.HandlerFunc{hangUp, answer(200, `{}`)}, 1, false},
		{"a refusal is final", "POST", []http.HandlerFunc{conflict}, 1, false},
		{"a long wait is not sat through", "GET", []http.HandlerFunc{answer(429, `{"title":"x"}`, "Retry-After", "60")}, 1, false},
		{"enough is enough", "GET", []http.HandlerFunc{busy}, tries, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, seen := scripted(t, tt.handlers...)
			_, err := c.call(t.Context(), tt.method, "/tasks", struct{}{})
			if (err == nil) != tt.ok || len(*seen) != tt.calls {
				t.Errorf("%d calls, error %v; want %d, ok = %v", len(*seen), err, tt.calls, tt.ok)
			}
			var keys []string
			for _, r := range *seen {
				keys = append(keys, r.Header.Get("Idempotency-Key"))
			}
			if tt.method == "POST" && (keys[0] == "" || len(slices.Compact(keys)) != 1) {
				t.Errorf("keys %v", keys)
			}
		})
	}
}

func TestErrorsSayWhatTheServerSays(t *testing.T) {
	for _, tt := range []struct {
		name string
		h    http.HandlerFunc
		want string
	}{
		{"detail, code and fields", answer(422, `{"status":422,"title":"Unprocessable","detail":"The task is not usable.","code":"invalid",
			"errors":[{"location":"body.automation.pattern","message":"expected 5 fields"},{"location":"body.name","message":"too long"}]}`),
			"The task is not usable. (invalid)\n  automation.pattern: expected 5 fields\n  name: too long"},
		{"one field that says the same", answer(422, `{"status":422,"title":"x","detail":"No such zone.","code":"invalid_timezone",
			"errors":[{"location":"body.automation.timezone","message":"No such zone."}]}`), "No such zone. (invalid_timezone)"},
		{"no problem document", answer(500, `oops`), "answered 500"},
		{"not Dogwatch", answer(404, `<html>`), "not Dogwatch"},
		{"not Dogwatch, but content", answer(200, `<html>`), "not Dogwatch"},
		{"a redirect", answer(302, ``, "Location", "http://elsewhere.example/"), "not Dogwatch"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := scripted(t, tt.h)
			_, err := c.Get(t.Context(), "/x", nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestNobodyThere(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	c := New(srv.URL, "", "")
	c.wait = func(context.Context, time.Duration) error { return nil }
	_, err := c.Get(t.Context(), "/me", nil)
	var u *Unreachable
	if !errors.As(err, &u) || !strings.Contains(err.Error(), srv.URL) {
		t.Errorf("got %v", err)
	}
}

func stream(parts ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, p := range parts {
			io.WriteString(w, p)
		}
	}
}

func event(id int, kind string) string {
	return fmt.Sprintf("id: %d\nevent: %s\ndata: {\"id\":%d,\"type\":%q,\"subject\":{\"kind\":\"task\",\"id\":\"x\"}}\n\n", id, kind, id, kind)
}

// A stream that breaks goes on where it broke off: nothing twice, nothing lost.
func TestEventsResume(t *testing.T) {
	c, seen := scripted(t,
		stream(": ping\n\n", event(7, "task.created"), event(8, "tick.changed")),
		hangUp,
		stream(event(9, "topic.opened"), "event: reset\ndata: {}\n\n", event(10, "topic.ended")),
	)
	var got []string
	err := c.Events(t.Context(), nil, func(e Event) error {
		got = append(got, e.ID+" "+e.Type)
		if e.Type == "topic.ended" {
			return ErrStop
		}
		return nil
	})
	want := []string{"7 task.created", "8 tick.changed", "9 topic.opened", "9 reset", "10 topic.ended"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	var from []string
	for _, r := range *seen {
		from = append(from, r.Header.Get("Last-Event-ID"))
	}
	if !slices.Equal(from, []string{"", "8", "8"}) {
		t.Errorf("resumed from %q", from)
	}
}

func TestEventsEndWithARefusal(t *testing.T) {
	c, seen := scripted(t, answer(401, `{"title":"Unauthorized","status":401,"code":"unauthorized"}`))
	err := c.Events(t.Context(), nil, func(Event) error { return nil })
	var p *Problem
	if !errors.As(err, &p) || len(*seen) != 1 {
		t.Errorf("got %v after %d calls", err, len(*seen))
	}
}
