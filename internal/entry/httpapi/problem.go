package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// Problem is every answer that is not what was asked for: RFC 9457 with a code.
type Problem struct {
	Type   string         `json:"type" doc:"about:blank: the code says it"`
	Title  string         `json:"title"`
	Status int            `json:"status"`
	Detail string         `json:"detail" doc:"A sentence for people"`
	Code   string         `json:"code" doc:"A stable word for programs"`
	Errors []ProblemField `json:"errors,omitempty" doc:"What was wrong where"`

	retryAfter time.Duration
}

// ProblemField is one wrong value of a request.
type ProblemField struct {
	Location string `json:"location"`
	Message  string `json:"message"`
	Value    any    `json:"value,omitempty"`
}

func (p *Problem) Error() string { return p.Detail }

// GetStatus is how huma asks for the status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType is how huma asks for the media type.
func (p *Problem) ContentType(string) string { return problemType }

// GetHeaders is how huma asks for headers.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int((p.retryAfter+time.Second-1)/time.Second)))
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="dogwatch"`)
	}
	return h
}

const problemType = "application/problem+json"

// statuses of the kinds of errors.
var statuses = map[errs.Kind]int{
	errs.Internal: 500, errs.Malformed: 400, errs.Unauthorized: 401, errs.Forbidden: 403, errs.NotFound: 404, errs.Conflict: 409,
	errs.Stale: 412, errs.TooLarge: 413, errs.Invalid: 422, errs.RateLimited: 429, errs.Unavailable: 503,
}

// codes of statuses that were decided on before anything of ours was asked.
var codes = map[int]string{
	401: "unauthorized", 403: "forbidden", 404: "not_found", 409: "conflict", 412: "stale", 413: "too_large", 429: "rate_limited",
	500: "internal_error", 503: "unavailable",
}

func problem(status int, code, detail string) *Problem {
	if code == "" {
		code = "invalid"
		if c, ok := codes[status]; ok {
			code = c
		}
	}
	p := &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Code: code}
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		p.retryAfter = 2 * time.Second
	}
	return p
}

// limited is an error with the time after which the same may be asked again.
type limited struct {
	error
	after time.Duration
}

func (l limited) Unwrap() error { return l.error }

// problemOf words an error for whoever asked. What is not meant for them stays
// in the log.
func (s *Server) problemOf(ctx context.Context, err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	var e *errs.Error
	if errors.As(err, &e) && e.Kind != errs.Internal {
		p = problem(statuses[e.Kind], e.Code, e.Msg)
		for _, f := range e.Fields {
			p.Errors = append(p.Errors, ProblemField{inBody(f.Location), f.Message, shown(f.Location, f.Value)})
		}
		var l limited
		if errors.As(err, &l) {
			p.retryAfter = l.after
		}
		return p
	}
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return problem(499, "unavailable", "The request was given up.")
	case errors.Is(err, context.DeadlineExceeded), store.Transient(err):
		s.log.WarnContext(ctx, "a request met something that is away", "request", requestID(ctx), "err", err)
		return problem(503, "", "Something that is needed does not answer. Try again.")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EROFS):
		s.log.ErrorContext(ctx, "there is no room to write", "request", requestID(ctx), "err", err)
		return problem(503, "", "There is no room left where files are kept. Nothing was stored.")
	}
	s.log.ErrorContext(ctx, "a request failed", "request", requestID(ctx), "err", err)
	return problem(500, "", "Something went wrong on our side. The log has it under request "+requestID(ctx)+".")
}

// inBody completes the location of a field that was decided on in the domain,
// which does not know that it came in a body.
func inBody(location string) string {
	for _, root := range []string{"body", "query", "path", "header"} {
		if location == root || strings.HasPrefix(location, root+".") {
			return location
		}
	}
	return "body." + location
}

// shown returns a refused value as far as it helps: not a secret, not a book.
func shown(location string, v any) any {
	lower := strings.ToLower(location)
	if strings.Contains(lower, "password") || strings.Contains(lower, "token") || strings.Contains(lower, "secret") {
		return nil
	}
	switch v := v.(type) {
	case string:
		if len(v) > 200 {
			return v[:200] + "…"
		}
		return v
	case bool, int, int64, float64, json.Number:
		return v
	}
	return nil
}

// newProblem makes huma's own refusals look like ours.
func newProblem(status int, msg string, causes ...error) huma.StatusError {
	p := problem(status, "", msg)
	for _, cause := range causes {
		if cause == nil {
			continue
		}
		f := ProblemField{Message: cause.Error()}
		if d, ok := cause.(huma.ErrorDetailer); ok {
			d := d.ErrorDetail()
			f = ProblemField{d.Location, d.Message, shown(d.Location, d.Value)}
		}
		if f.Location == "body" {
			f.Value = nil // the whole body
		}
		if msg, ok := strings.CutPrefix(f.Message, "cannot read multipart form: "); ok {
			f.Message = "the form cannot be read"
			if strings.Contains(msg, "too large") {
				const tooLarge = http.StatusRequestEntityTooLarge
				p.Status, p.Title, p.Code = tooLarge, http.StatusText(tooLarge), codes[tooLarge]
				f.Message = "the form is too large"
			}
		}
		if strings.HasPrefix(f.Location, "path.") { // nothing can be where no address leads
			return problem(http.StatusNotFound, "", "There is nothing here.")
		}
		p.Errors = append(p.Errors, f)
	}
	if len(p.Errors) > 0 {
		first := p.Errors[0]
		p.Detail = "The request is not valid."
		if first.Message != "" {
			p.Detail = fmt.Sprintf("The request is not valid: %s: %s.", first.Location, first.Message)
		}
	}
	return p
}

// write sends a problem outside of huma.
func (p *Problem) write(w http.ResponseWriter) {
	for name, values := range p.GetHeaders() {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", problemType)
	w.Header().Del("ETag")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // nobody is left to tell
}
