// Package httpapi is the HTTP side of Dogwatch: the API under /api/v1, sign-in,
// the event stream, health and metrics, and the files of the dashboard.
//
// There is one file per noun. Each operation is declared with the least role that
// may call it, and one without cannot be registered: see [route]. What a handler
// decides is next to nothing; it reads a request, asks a flow or the store, and
// words the answer.
package httpapi

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"
	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/flow/launch"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
	"github.com/dogwatch/dogwatch/internal/infra/blob"
	"github.com/dogwatch/dogwatch/internal/infra/feed"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// Blobs keeps uploaded bytes.
type Blobs interface {
	Put(ctx context.Context, r io.Reader, limit int64) (blob.Info, error)
	Open(ctx context.Context, sha256 string) (io.ReadSeekCloser, error)
}

// Check is something that has to work before the instance is ready.
type Check struct {
	Name string
	Do   func(ctx context.Context) error
}

// Deps is what the API stands on.
type Deps struct {
	Store  *store.Store
	Steer  *steer.Steerer
	Launch *launch.Launcher
	Feed   *feed.Feed
	Blobs  Blobs
	Log    *slog.Logger

	Web     fs.FS               // the built dashboard; may hold none
	Checks  []Check             // of readiness
	Workers func() (int, error) // counts the processes that take work; nil: not known
	Secret  []byte              // signs cursors; the same in every process of an instance
	URL     string              // under which people reach it; https makes cookies secure
	Version string

	// MinPeriod is the smallest interval of a heartbeat or a grid.
	MinPeriod time.Duration
	// Metrics is where the API's own metrics are added and all are read from; nil for none.
	Metrics *prometheus.Registry
}

// Server answers HTTP requests.
type Server struct {
	Deps
	log       *slog.Logger
	echo      *echo.Echo
	api       huma.API
	static    http.Handler
	cursorKey []byte
	signIns   *throttle
	observed  *observed
	document  func() ([]byte, error)

	draining  chan struct{}
	drainOnce sync.Once
}

const (
	base = "/api/v1"
	// bodyLimit bounds a JSON body: an instruction of 100,000 characters that are
	// all escaped, twice over. Documents have a limit of their own.
	bodyLimit = 4 << 20
	// requestTime bounds an ordinary request. None of them waits for a model.
	requestTime = 30 * time.Second
)

// These belong to huma as a whole. Unknown and misspelled names are refused: a
// limit that was written with a typo is worse than an error.
func init() {
	huma.ValidateStrictCasing = true
	huma.DefaultArrayNullable = false
	huma.NewError = newProblem
	sayInWords()
}

// New returns a server.
func New(d Deps) *Server {
	s := &Server{Deps: d, log: d.Log, draining: make(chan struct{}), signIns: newThrottle(signInBurst, signInEvery)}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	key := hmac.New(sha256.New, d.Secret)
	key.Write([]byte("cursors")) // the secret itself signs nothing
	s.cursorKey = key.Sum(nil)
	s.observed = observe(d.Metrics)
	s.static = dashboard(d.Web)

	e := echo.New()
	e.IPExtractor = echo.ExtractIPDirect() // what a client says of itself counts for nothing
	e.HTTPErrorHandler = s.failed
	e.Use(s.begin, middleware.RecoverWithConfig(middleware.RecoverConfig{LogErrorFunc: s.panicked}))
	s.echo = e

	cfg := huma.DefaultConfig("Dogwatch", d.Version)
	cfg.Info.Description = "What every client can rely on. Errors are RFC 9457 problems with a stable code."
	cfg.RejectUnknownQueryParameters = true
	cfg.CreateHooks = nil // no $schema in bodies
	cfg.DocsPath, cfg.OpenAPIPath, cfg.SchemasPath = "", "", ""
	format := huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: readJSON}
	cfg.Formats = map[string]huma.Format{"application/json": format, "json": format}
	cfg.Servers = []*huma.Server{{URL: base}}
	cfg.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token":   {Type: "http", Scheme: "bearer", Description: "An API token: dw_…"},
		"session": {Type: "apiKey", In: "cookie", Name: cookieName, Description: "A signed-in browser; unsafe methods also send X-CSRF-Token."},
	}
	cfg.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	cfg.Components.Schemas.RegisterTypeAlias(typeOf[budget.USD](), typeOf[float64]())
	s.api = humaecho.NewWithGroup(e, e.Group(base), cfg)
	s.api.UseMiddleware(s.admit, s.once)

	s.accessRoutes()
	s.tokenRoutes()
	s.taskRoutes()
	s.taskActionRoutes()
	s.tickRoutes()
	s.backfillRoutes()
	s.bulkRoutes()
	s.cronJobRoutes()
	s.commentRoutes()
	s.topicRoutes()
	s.operationRoutes()
	s.briefRoutes()
	s.documentRoutes()
	s.fileRoutes()
	s.agentRoutes()
	s.workspaceRoutes()
	s.calendarRoutes()
	s.usageRoutes()
	s.eventRoutes()
	s.plainRoutes()
	boundNumbers(s.api.OpenAPI())
	s.document = sync.OnceValues(func() ([]byte, error) { return publish(s.api.OpenAPI()) })
	return s
}

// OpenAPI returns the document that describes the API. It needs nothing that
// runs.
func OpenAPI() ([]byte, error) { return New(Deps{}).document() }

// publish writes the document out. What the validator cannot be told is put
// right: a reference that may be null.
func publish(api *huma.OpenAPI) ([]byte, error) {
	raw, err := json.Marshal(api)
	if err != nil {
		return nil, fmt.Errorf("write the OpenAPI document: %w", err)
	}
	var doc any
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("write the OpenAPI document: %w", err)
	}
	out, err := json.MarshalIndent(spelledOut(doc), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the OpenAPI document: %w", err)
	}
	return append(out, '\n'), nil
}

func spelledOut(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = spelledOut(v[k])
		}
		if v[nullable] == true {
			delete(v, nullable)
			v["anyOf"] = []any{map[string]any{"$ref": v["$ref"]}, map[string]any{"type": "null"}}
			delete(v, "$ref")
		}
	case []any:
		for i := range v {
			v[i] = spelledOut(v[i])
		}
	}
	return v
}

// ServeHTTP sends a request where it belongs.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header(), r)
	writeBy(w, 2*requestTime) // anew for each: it stays with the connection
	if ours(r.URL.Path) {
		if !textual(r) {
			problem(http.StatusBadRequest, "", "The address holds characters that are no text.").write(w)
			return
		}
		s.echo.ServeHTTP(w, r)
		return
	}
	s.static.ServeHTTP(w, r)
}

// ours reports whether a path is the server's; the dashboard has all others.
func ours(path string) bool {
	for _, p := range []string{"/api", "/auth", "/healthz", "/readyz", "/metrics"} {
		if path == p || strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return false
}

// contentSecurity allows what the built dashboard needs: its own files and styles
// that are set from script.
const contentSecurity = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"object-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

func secure(h http.Header, r *http.Request) {
	h.Set("Content-Security-Policy", contentSecurity)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if ours(r.URL.Path) {
		h.Set("Cache-Control", "no-store")
	}
}

// HTTPServer returns a server with the time-outs that hold against clients who
// dawdle. What streams sets its own deadlines.
func (s *Server) HTTPServer() *http.Server {
	return &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

// Drain says that the process is about to end: it is no longer ready, and what
// streams ends, so that the HTTP server can shut down.
func (s *Server) Drain() { s.drainOnce.Do(func() { close(s.draining) }) }

type requestKey struct{}

// requestID names a request in answers and in the log.
func requestID(ctx context.Context) string {
	v, _ := ctx.Value(requestKey{}).(string)
	return v
}

// begin names the request, bounds its time and measures it.
func (s *Server) begin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		begun := time.Now()
		name := id.New()
		c.Response().Header().Set("X-Request-Id", name)
		ctx := context.WithValue(c.Request().Context(), requestKey{}, name)
		ctx = context.WithValue(ctx, httpsKey{}, c.Scheme() == "https")
		c.SetRequest(c.Request().WithContext(ctx))
		if err := next(c); err != nil {
			c.Error(err)
		}
		took, r := time.Since(begun), c.Request()
		s.observed.request(r.Method, c.Path(), c.Response().Status, took)
		s.log.DebugContext(ctx, "request", "request", name, "method", r.Method, "route", c.Path(), "status", c.Response().Status, "took", took)
		return nil
	}
}

// writeBy bounds how long a client may take to read an answer.
func writeBy(w http.ResponseWriter, d time.Duration) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(d)) // a recorder of tests has none
}

// failed words what echo and the handlers outside of huma refuse.
func (s *Server) failed(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	p := s.problemFrom(c.Request().Context(), err)
	p.write(c.Response())
}

func (s *Server) problemFrom(ctx context.Context, err error) *Problem {
	if he := (*echo.HTTPError)(nil); errors.As(err, &he) {
		switch he.Code {
		case http.StatusNotFound:
			return problem(404, "", "There is nothing here.")
		case http.StatusMethodNotAllowed:
			return problem(405, "", "This method is not one of this address.")
		}
		if he.Code < 500 {
			return problem(he.Code, "", http.StatusText(he.Code)+".")
		}
	}
	return s.problemOf(ctx, err)
}

func (s *Server) panicked(c echo.Context, err error, stack []byte) error {
	ctx := c.Request().Context()
	s.log.ErrorContext(ctx, "a handler panicked", "request", requestID(ctx), "err", err, "stack", string(stack))
	return problem(500, "", "Something went wrong on our side. The log has it under request "+requestID(ctx)+".")
}
