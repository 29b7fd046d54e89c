package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/access"
)

// Who may call an operation, besides the three roles.
const (
	public access.Role = "public" // anybody
)

// route declares an operation.
type route struct {
	method, path string
	name         string      // operationId
	does         string      // one sentence
	noun         string      // what it is about; scopes of tokens name it
	role         access.Role // the least that may call it

	status int      // of success; 0: 200, or 204 without a body
	once   bool     // creates or starts something: takes an Idempotency-Key
	secret []string // fields of the answer that are given once

	limit int64         // of the body; 0: bodyLimit
	time  time.Duration // of the request; 0: requestTime; below 0: without end
}

const routeKey = "dogwatch-route"

func routeOf(ctx huma.Context) *route {
	r, _ := ctx.Operation().Metadata[routeKey].(*route)
	return r
}

// add registers an operation. There is no other way to register one, and one that
// does not say who may call it is a fault of ours that shows at start.
func add[I, O any](s *Server, r route, handle func(ctx context.Context, in *I) (*O, error)) {
	if r.role != public && !r.role.Valid() || r.noun == "" || r.name == "" {
		panic("operation " + r.method + " " + r.path + " does not say who may call it")
	}
	op := huma.Operation{
		OperationID: r.name, Method: r.method, Path: r.path, Summary: r.does, Tags: []string{r.noun},
		DefaultStatus: r.status, MaxBodyBytes: r.limit, BodyReadTimeout: requestTime,
		Metadata: map[string]any{routeKey: &r},
	}
	if op.MaxBodyBytes == 0 {
		op.MaxBodyBytes = bodyLimit
	}
	if r.role != public {
		op.Security = []map[string][]string{{"token": {}}, {"session": {}}}
		op.Description = "Least role: " + string(r.role) + "."
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: "X-Workspace", In: "header", Description: "The workspace, for people in several: its id or slug",
			Schema: &huma.Schema{Type: huma.TypeString},
		})
	} else {
		op.Security = []map[string][]string{}
	}
	if r.once {
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: "Idempotency-Key", In: "header", Description: "The same key and body get the first answer again, for a day",
			Schema: &huma.Schema{Type: huma.TypeString},
		})
	}
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := handle(ctx, in)
		if err != nil {
			return nil, s.problemOf(ctx, err)
		}
		return out, nil
	})
}

// admit lets a request in: in time, by somebody who may.
func (s *Server) admit(ctx huma.Context, next func(huma.Context)) {
	r := routeOf(ctx)
	e := humaecho.Unwrap(ctx)
	req := e.Request()
	c := context.WithValue(ctx.Context(), clientKey{}, e.RealIP())
	if r.time >= 0 {
		limit := requestTime
		if r.time > 0 {
			limit = r.time
		}
		var cancel context.CancelFunc
		c, cancel = context.WithTimeout(c, limit)
		defer cancel()
		writeBy(e.Response(), 2*limit)
		_ = http.NewResponseController(e.Response()).SetReadDeadline(time.Now().Add(limit)) // a recorder of tests has none
	}
	if err := crossOrigin.Check(req); err != nil && req.Header.Get("Authorization") == "" {
		s.refuse(ctx, problem(403, "", "The request comes from a page of another site."))
		return
	}
	if r.role != public {
		w, err := s.whoAsks(c, req)
		if err == nil {
			err = w.may(r, req)
		}
		if err != nil {
			s.refuse(ctx, err)
			return
		}
		w.request = req
		c = context.WithValue(c, whoKey{}, w)
	}
	if err := asked(ctx.Operation(), req.URL.RawQuery); err != nil {
		s.refuse(ctx, err)
		return
	}
	next(huma.WithContext(ctx, c))
	if !safe(r.method) && s.Feed != nil {
		s.Feed.Wake()
	}
}

// asked refuses a query that does not say what its sender means. A part of it that
// cannot be read would be left out, and a list without its filter is another list. Of
// a parameter that is given more than once only one value would be read.
func asked(op *huma.Operation, raw string) error {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return errs.Unreadable("query", "The query of the address cannot be read. Write %%25 for a percent sign and %%3B for a semicolon.")
	}
	for _, p := range op.Parameters {
		if n := len(query[p.Name]); p.In != "query" || n < 2 {
			continue
		}
		how := "once"
		if p.Schema != nil && p.Schema.Type == huma.TypeArray {
			how = "once, with a comma between its values"
		}
		return errs.Unreadable("query."+p.Name, "Give the query parameter %s %s.", p.Name, how)
	}
	return nil
}

// crossOrigin stops what another site's page makes a browser send, by what the
// browser itself says (Sec-Fetch-Site, Origin). Tokens do not need it.
var crossOrigin = http.NewCrossOriginProtection()

// refuse answers with a problem from a middleware.
func (s *Server) refuse(ctx huma.Context, err error) {
	s.problemOf(ctx.Context(), err).write(humaecho.Unwrap(ctx).Response())
}

// schemaName names a schema after its Go type. What is ours is one package, so
// that no two types share a name.
func schemaName(t reflect.Type, hint string) string {
	return strings.ReplaceAll(huma.DefaultSchemaNamer(t, hint), "Httpapi", "")
}

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }
