package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// watcher reads an event stream.
type watcher struct {
	t      testing.TB
	events chan sseEvent
	end    context.CancelFunc
	last   string
}

type sseEvent struct {
	kind, id string
	Type     string
	ID       string
	Subject  struct{ Kind, ID string }
	Payload  map[string]any
}

func (c *client) watch(lastID string) *watcher {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+"/api/v1/events", nil)
	if err != nil {
		c.t.Fatal(err)
	}
	for k, v := range c.headers {
		req.Header.Set(k, v)
	}
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		c.t.Fatalf("the stream: %d %s", res.StatusCode, res.Header.Get("Content-Type"))
	}
	w := &watcher{t: c.t, events: make(chan sseEvent, 1000), end: cancel}
	head := make(chan string, 1)
	go func() {
		defer close(w.events)
		defer res.Body.Close()
		var e sseEvent
		var data string
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			switch field {
			case "id":
				e.id = value
				select {
				case head <- value:
				default:
				}
			case "event":
				e.kind = value
			case "data":
				data = value
			case "":
				if data != "" {
					if err := json.Unmarshal([]byte(data), &e); err != nil {
						e.kind = "broken: " + err.Error()
					}
					w.events <- e
				}
				e, data = sseEvent{}, ""
			}
		}
	}()
	w.last = <-head
	return w
}

func (w *watcher) next() sseEvent {
	w.t.Helper()
	select {
	case e, ok := <-w.events:
		if !ok {
			w.t.Fatal("the stream has ended")
		}
		if e.id != "" {
			w.last = e.id
		}
		return e
	case <-time.After(10 * time.Second):
		w.t.Fatal("no event came")
		return sseEvent{}
	}
}

func TestWhatChangesIsSeenAsItChanges(t *testing.T) {
	in := start(t)
	here, there := in.viewer.watch(""), in.abroad.watch("")
	a := in.operator.post("/tasks", `{"instruction":"x"}`).ok(201)
	e := here.next()
	if e.Type != "task.created" || e.Subject.Kind != "task" || e.Subject.ID != a.text("id") || e.ID != e.id || e.id == "" || e.kind != "" {
		t.Errorf("heard %+v", e)
	}
	in.operator.post("/tasks/T-1/cancel", nil).ok(200)
	if e = here.next(); e.Type != "task.changed" {
		t.Errorf("heard %+v", e)
	}
	in.abroad.newTask()
	if e = there.next(); e.Type != "task.created" || e.Subject.ID == a.text("id") {
		t.Errorf("another workspace heard %+v first", e)
	}
}

// emit writes events in transactions of which every other one commits late.
func (in *instance) emitOutOfOrder(n int) []string {
	in.t.Helper()
	var ids []string
	ctx := in.t.Context()
	for range n {
		slow, fast := id.New(), id.New()
		ids = append(ids, slow, fast)
		emitted, commit, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		event := func(subject string) store.Event {
			return store.Event{Type: "task.changed", SubjectKind: "task", SubjectID: subject}
		}
		go func() {
			done <- in.store.InTx(ctx, func(tx *store.Tx) error {
				err := tx.Emit(ctx, in.here, event(slow))
				close(emitted)
				<-commit
				return err
			})
		}()
		<-emitted
		in.tx(func(tx *store.Tx) error { return tx.Emit(ctx, in.here, event(fast)) })
		if _, err := in.store.NumberEvents(ctx, 100); err != nil { // the fast one has its number first
			in.t.Fatal(err)
		}
		close(commit)
		if err := <-done; err != nil {
			in.t.Fatal(err)
		}
	}
	slices.Sort(ids)
	return ids
}

func TestAReaderWhoComesBackMissesNothing(t *testing.T) {
	in := start(t)
	w := in.viewer.watch("")
	var seen []string
	want := in.emitOutOfOrder(20)
	// The line breaks after every few events; each time the reader resumes.
	for len(seen) < len(want) {
		for range 3 {
			if len(seen) < len(want) {
				seen = append(seen, w.next().Subject.ID)
			}
		}
		last := w.last
		w.end()
		w = in.viewer.watch(last)
	}
	slices.Sort(seen)
	if !slices.Equal(seen, want) {
		t.Errorf("saw %d events, want %d, each once", len(seen), len(want))
	}
}

func TestWhoeverIsTooFarBehindReadsAnew(t *testing.T) {
	in := start(t)
	in.emitOutOfOrder(2)
	w := in.viewer.watch("")
	in.emitOutOfOrder(1)
	w.next()
	if _, err := in.store.Pool().Exec(t.Context(), `delete from events where seq <= $1::bigint`, w.last); err != nil {
		t.Fatal(err)
	}
	late := in.viewer.watch("1")
	e := late.next()
	if e.kind != "reset" || e.id == "" {
		t.Errorf("heard %+v, want a reset", e)
	}
	in.emitOutOfOrder(1)
	if e := late.next(); e.kind != "" || e.Type != "task.changed" {
		t.Errorf("after the reset: %+v", e)
	}
	if e := in.viewer.watch("999999").next(); e.kind != "reset" { // of a database that is gone
		t.Errorf("heard %+v, want a reset", e)
	}
	in.viewer.with("Last-Event-ID", "abc").get("/events").fails(400, "invalid")
}

func TestASlowReaderGetsEverything(t *testing.T) {
	in := start(t)
	w := in.viewer.watch("")
	const n = 1500 // more than a subscription and a batch of a replay hold
	in.tx(func(tx *store.Tx) error {
		events := make([]store.Event, n)
		for i := range events {
			events[i] = store.Event{Type: "task.changed", SubjectKind: "task", SubjectID: id.New(), Payload: map[string]any{"n": i, "text": strings.Repeat("x", 500)}}
		}
		return tx.Emit(t.Context(), in.here, events...)
	})
	for i := range n {
		if e := w.next(); fmt.Sprint(e.Payload["n"]) != fmt.Sprint(i) {
			t.Fatalf("event %d is %v", i, e.Payload["n"])
		}
		if i == 10 {
			time.Sleep(300 * time.Millisecond)
		}
	}
}

func TestAStreamEndsWhenTheInstanceDrains(t *testing.T) {
	in := start(t)
	w := in.viewer.watch("")
	in.api.Drain()
	select {
	case _, open := <-w.events:
		if open {
			t.Error("an event came instead of the end")
		}
	case <-time.After(5 * time.Second):
		t.Error("the stream goes on")
	}
}
