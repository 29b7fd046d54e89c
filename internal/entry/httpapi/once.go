package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// claimTime is how long a request may take before another one with its key may
// take over: twice what any of them is given.
const claimTime = 2 * requestTime

// maxKey is how long an Idempotency-Key may be, in characters.
const maxKey = 255

// once carries a request with an Idempotency-Key out once, however often it is
// sent: the first answer is kept and given again.
func (s *Server) once(ctx huma.Context, next func(huma.Context)) {
	r := routeOf(ctx)
	e := humaecho.Unwrap(ctx)
	keys := e.Request().Header.Values("Idempotency-Key")
	if !r.once || len(keys) == 0 {
		next(ctx)
		return
	}
	// One that is empty would count as none, and whoever sent it relies on one.
	if len(keys) > 1 || keys[0] == "" {
		s.refuse(ctx, errs.Unreadable("header.Idempotency-Key", "Send one Idempotency-Key of 1 to %d printable characters, or none.", maxKey))
		return
	}
	c, key := ctx.Context(), keys[0]
	if !printable(key) {
		s.refuse(ctx, errs.BadField("header.Idempotency-Key", "invalid", nil, "An Idempotency-Key has 1 to %d printable characters.", maxKey))
		return
	}
	body, err := io.ReadAll(io.LimitReader(e.Request().Body, ctx.Operation().MaxBodyBytes+1))
	if err != nil {
		s.refuse(ctx, errs.New(errs.Malformed, "invalid", "The body broke off."))
		return
	}
	e.Request().Body = io.NopCloser(bytes.NewReader(body))
	who := caller(c)
	hash := sha256.New()
	for _, part := range []string{e.Request().Method, e.Request().URL.RequestURI(), string(body)} {
		hash.Write([]byte(part))
		hash.Write([]byte{0})
	}
	req := store.Request{Caller: string(who.Kind) + ":" + who.ID, Key: key, Hash: hash.Sum(nil)}
	// Whoever hangs up now must not leave the key held: the claim is made, or it is not.
	claiming, cancel := context.WithTimeout(context.WithoutCancel(c), 5*time.Second)
	defer cancel()
	answer, claim, err := s.Store.ClaimRequest(claiming, who.Scope, req, claimTime)
	switch {
	case err != nil:
		s.refuse(ctx, err)
	case answer != nil:
		h := e.Response().Header()
		for name, value := range answer.Headers {
			h.Set(name, value)
		}
		h.Set("Idempotency-Replayed", "true")
		e.Response().WriteHeader(answer.Status)
		_, _ = e.Response().Write(answer.Body) // nobody is left to tell
	default:
		s.carryOut(huma.WithContext(ctx, claim.With(c)), next, claim, r)
	}
}

// carryOut runs a handler and keeps its answer before it is sent.
func (s *Server) carryOut(ctx huma.Context, next func(huma.Context), claim *store.RequestClaim, r *route) {
	e := humaecho.Unwrap(ctx)
	// What is written after the handler belongs to the request even when whoever
	// sent it has gone.
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx.Context()), 5*time.Second)
	defer cancel()
	kept := false
	defer func() {
		if kept {
			return
		}
		if err := s.Store.ReleaseRequest(after, claim); err != nil {
			s.log.WarnContext(after, "an idempotency key was not given back", "request", requestID(after), "err", err)
		}
	}()

	rec := &recorder{ResponseWriter: e.Response().Writer}
	e.Response().Writer = rec
	func() {
		defer func() { e.Response().Writer = rec.ResponseWriter }() // also when the handler panics
		next(ctx)
	}()
	if rec.status == 0 {
		rec.status = http.StatusOK
	}
	if repeatable(rec.status) {
		err := s.Store.KeepAnswer(after, claim, store.Answer{
			Status: rec.status, Headers: kind(rec.Header()), Body: without(rec.body.Bytes(), r.secret),
		})
		if kept = err == nil; err != nil {
			s.log.WarnContext(after, "an answer was not kept", "request", requestID(after), "err", err)
		}
	}
	rec.ResponseWriter.WriteHeader(rec.status)
	_, _ = rec.ResponseWriter.Write(rec.body.Bytes()) // nobody is left to tell
}

// repeatable reports whether an answer is the outcome of the request: not a fault
// of ours, and not something that waiting lifts.
func repeatable(status int) bool {
	return status < 500 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests && status != 499
}

// kind returns the headers that belong to an answer.
func kind(h http.Header) map[string]string {
	out := map[string]string{}
	for _, name := range []string{"Content-Type", "ETag", "Location"} {
		if v := h.Get(name); v != "" {
			out[name] = v
		}
	}
	return out
}

// without leaves fields out of an object.
func without(body []byte, fields []string) []byte {
	if len(fields) == 0 {
		return body
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return nil
	}
	for _, f := range fields {
		delete(object, f)
	}
	out, err := json.Marshal(object)
	if err != nil {
		return nil
	}
	return out
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return len(s) <= maxKey
}

// recorder holds an answer back.
type recorder struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

func (r *recorder) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(b)
}
