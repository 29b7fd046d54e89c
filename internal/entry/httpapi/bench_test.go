package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/agent"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/entry/httpapi"
	"github.com/dogwatch/dogwatch/internal/flow/launch"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
	"github.com/dogwatch/dogwatch/internal/infra/blob"
	"github.com/dogwatch/dogwatch/internal/infra/feed"
	"github.com/dogwatch/dogwatch/internal/infra/password"
	"github.com/dogwatch/dogwatch/internal/infra/store"
	"github.com/dogwatch/dogwatch/internal/testkit/pgtest"
)

// instance is a whole API over real HTTP and a real Postgres, with two
// workspaces. Nothing works on tasks in it.
type instance struct {
	t     testing.TB
	store *store.Store
	api   *httpapi.Server
	url   string
	here  access.Scope
	there access.Scope

	admin, operator, viewer *client // of here, by token
	abroad                  *client // an admin of there
	nobody                  *client
	adminPerson             store.Person
}

const (
	adminEmail    = "ada@example.org"
	adminPassword = "a long enough password"
)

// offline knows one model, without a price.
type offline struct{}

func (offline) Known(m string) bool { return m == "test/model" }
func (offline) Priced(string) bool  { return false }
func (offline) Default() string     { return "test/model" }

func start(t testing.TB) *instance {
	t.Helper()
	ctx := t.Context()
	st, err := store.Open(ctx, pgtest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	blobs, err := blob.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = blobs.Close() })
	log := slog.New(slog.DiscardHandler)
	if testing.Verbose() {
		log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	events := feed.New(st, store.EventsChannel, nil, log)
	background(t, events.Run)
	launcher := launch.New(st, offline{}, operation.Limits{Steps: 40})
	in := &instance{t: t, store: st}
	in.api = httpapi.New(httpapi.Deps{
		Store: st, Steer: steer.New(st, launcher, offline{}, 10*time.Second), Launch: launcher, Feed: events, Blobs: blobs, Log: log,
		Web:    fstest.MapFS{"index.html": {Data: []byte("<!doctype html>dashboard")}, "assets/app-1a2b3c.js": {Data: []byte("1")}, ".keep": {}},
		Secret: []byte("a secret of the instance"), Version: "test", MinPeriod: 10 * time.Second, Metrics: prometheus.NewRegistry(),
		Checks: []httpapi.Check{{Name: "database", Do: st.Ping}},
	})
	srv := httptest.NewUnstartedServer(in.api)
	srv.Config = in.api.HTTPServer()
	srv.Start()
	t.Cleanup(func() { in.api.Drain(); srv.Close() })
	in.url = srv.URL

	in.tx(func(tx *store.Tx) error {
		for slug, sc := range map[string]*access.Scope{"here": &in.here, "there": &in.there} {
			ws, err := tx.CreateWorkspace(ctx, slug, strings.ToUpper(slug), "UTC")
			if err != nil {
				return err
			}
			*sc = access.In(ws.ID)
			_, err = tx.CreateAgent(ctx, *sc, agent.Agent{Slug: agent.DefaultSlug, Name: "Watchkeeper", Default: true, Origin: "built_in", Profile: agent.DefaultProfile}, access.House)
			if err != nil {
				return err
			}
		}
		return nil
	})
	hash, err := password.Hash(ctx, adminPassword)
	if err != nil {
		t.Fatal(err)
	}
	in.nobody = &client{t: t, url: in.url}
	in.adminPerson, in.admin = in.member(in.here, adminEmail, hash, access.Admin)
	_, in.operator = in.member(in.here, "otto@example.org", hash, access.Operator)
	_, in.viewer = in.member(in.here, "vera@example.org", hash, access.Viewer)
	_, in.abroad = in.member(in.there, "eve@example.org", hash, access.Admin)
	for n := 1; n > 0; { // a watcher hears nothing of all this
		var unnumbered int
		if _, err := st.NumberEvents(ctx, 100); err != nil {
			t.Fatal(err)
		}
		if err := st.Pool().QueryRow(ctx, `select count(*) from events where seq is null`).Scan(&unnumbered); err != nil {
			t.Fatal(err)
		}
		n = unnumbered
	}
	return in
}

// background runs f until the test ends, and waits for its end.
func background(t testing.TB, f func(ctx context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func (in *instance) tx(f func(tx *store.Tx) error) {
	in.t.Helper()
	if err := in.store.InTx(in.t.Context(), f); err != nil {
		in.t.Fatal(err)
	}
}

// member makes an account with a token of the same role.
func (in *instance) member(sc access.Scope, email, hash string, role access.Role) (p store.Person, c *client) {
	in.t.Helper()
	secret := access.TokenPrefix + id.Secret(24)
	in.tx(func(tx *store.Tx) (err error) {
		if p, err = tx.CreatePerson(in.t.Context(), sc, store.NewPerson{Email: email, Name: email, PasswordHash: hash}, role); err != nil {
			return err
		}
		_, err = tx.CreateToken(in.t.Context(), sc, store.Token{PersonID: p.ID, Name: email, Role: role, Prefix: access.Shown(secret)}, access.HashSecret(secret))
		return err
	})
	return p, &client{t: in.t, url: in.url, headers: map[string]string{"Authorization": "Bearer " + secret}}
}

// client calls the API as somebody.
type client struct {
	t       testing.TB
	url     string
	headers map[string]string
}

// with returns the client with another header.
func (c *client) with(name, value string) *client {
	headers := map[string]string{name: value}
	for k, v := range c.headers {
		if k != name {
			headers[k] = v
		}
	}
	return &client{c.t, c.url, headers}
}

// answer is what came back.
type answer struct {
	t       testing.TB
	what    string
	Status  int
	Header  http.Header
	Body    []byte
	cookies []*http.Cookie
}

// do calls an address of the API; body is JSON text, a value, or nil.
func (c *client) do(method, path string, body any) answer {
	c.t.Helper()
	if !strings.HasPrefix(path, "/api") && !slices.ContainsFunc([]string{"/healthz", "/readyz", "/metrics", "/auth/start"}, func(p string) bool { return strings.HasPrefix(path, p) }) {
		path = "/api/v1" + path
	}
	return c.raw(method, path, body)
}

var plain = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// raw calls any address.
func (c *client) raw(method, path string, body any) answer {
	c.t.Helper()
	var r io.Reader
	contentType := "application/json"
	switch b := body.(type) {
	case nil:
		contentType = ""
	case string:
		r = strings.NewReader(b)
	case []byte:
		r = bytes.NewReader(b)
	case io.Reader:
		r = b
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			c.t.Fatal(err)
		}
		r = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, r)
	if err != nil {
		c.t.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for k, v := range c.headers {
		req.Header.Set(k, v)
	}
	return c.send(req)
}

// send sends a request as it is.
func (c *client) send(req *http.Request) answer {
	c.t.Helper()
	res, err := plain.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer{c.t, req.Method + " " + req.URL.RequestURI(), res.StatusCode, res.Header, raw, res.Cookies()}
}

func (c *client) get(path string) answer             { c.t.Helper(); return c.do("GET", path, nil) }
func (c *client) post(path string, body any) answer  { c.t.Helper(); return c.do("POST", path, body) }
func (c *client) patch(path string, body any) answer { c.t.Helper(); return c.do("PATCH", path, body) }
func (c *client) delete(path string) answer          { c.t.Helper(); return c.do("DELETE", path, nil) }

// ok demands a status.
func (a answer) ok(status int) answer {
	a.t.Helper()
	if a.Status != status {
		a.t.Fatalf("%s: %d, want %d: %.500s", a.what, a.Status, status, a.Body)
	}
	return a
}

// fails demands a problem.
func (a answer) fails(status int, code string) problem {
	a.t.Helper()
	var p problem
	if err := json.Unmarshal(a.Body, &p); err != nil || a.Header.Get("Content-Type") != "application/problem+json" {
		a.t.Errorf("%s: %d %s is no problem: %.300s", a.what, a.Status, a.Header.Get("Content-Type"), a.Body)
		return p
	}
	if a.Status != status || p.Status != status || p.Code != code || p.Title == "" || p.Detail == "" {
		a.t.Errorf("%s: %d %q, want %d %q: %.500s", a.what, a.Status, p.Code, status, code, a.Body)
	}
	return p
}

type problem struct {
	Type, Title, Detail, Code string
	Status                    int
	Errors                    []struct {
		Location, Message string
		Value             any
	}
}

// at reports whether a problem names a location.
func (p problem) at(location string) bool {
	for _, e := range p.Errors {
		if e.Location == location {
			return true
		}
	}
	return false
}

// object reads the body.
func (a answer) object() map[string]any {
	a.t.Helper()
	var v map[string]any
	if err := json.Unmarshal(a.Body, &v); err != nil {
		a.t.Fatalf("%s: %v: %.300s", a.what, err, a.Body)
	}
	return v
}

// text returns a field of the body, "a.b" for one inside another.
func (a answer) text(field string) string {
	a.t.Helper()
	var v any = a.object()
	for _, name := range strings.Split(field, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			a.t.Fatalf("%s: no %s in %.300s", a.what, field, a.Body)
		}
		v = m[name]
	}
	if n, ok := v.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

func (a answer) items() []map[string]any {
	a.t.Helper()
	var page struct{ Items []map[string]any }
	if err := json.Unmarshal(a.Body, &page); err != nil {
		a.t.Fatalf("%s: %v: %.300s", a.what, err, a.Body)
	}
	return page.Items
}

// newTask creates a task and returns its identifier.
func (c *client) newTask(fields ...string) string {
	c.t.Helper()
	body := `{"instruction":"Look after it"` + strings.Join(append([]string{""}, fields...), ",") + `}`
	return c.post("/tasks", body).ok(201).text("identifier")
}
