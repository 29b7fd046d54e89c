// Package modelserver is a model provider for tests: it speaks the wire formats
// of OpenAI-compatible servers and of Anthropic over real HTTP, says what a
// script tells it to say, and misbehaves on request. It also checks what it is
// sent as the real servers do, so that a conversation which they would refuse
// fails a test here.
package modelserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Profile is which OpenAI-compatible server is played. The Anthropic endpoint
// is there under each.
type Profile string

const (
	OpenAI   Profile = "openai"
	Ollama   Profile = "ollama"
	VLLM     Profile = "vllm"
	DeepSeek Profile = "deepseek"
)

// Call is a tool call in a reply. Arguments are sent as they stand, JSON or not.
type Call struct {
	ID        string `json:"id,omitempty"` // "" numbers them, or leaves it out where a profile's server does
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Usage is what a reply says that it used.
type Usage struct {
	Input      int `json:"input"`
	Output     int `json:"output"`
	CacheRead  int `json:"cacheRead,omitempty"`
	CacheWrite int `json:"cacheWrite,omitempty"`
	Reasoning  int `json:"reasoning,omitempty"`
}

// Reply is one scripted answer. The zero value is an empty answer; the fields
// below the line are faults.
type Reply struct {
	Text      string          `json:"text,omitempty"`
	Reasoning string          `json:"reasoning,omitempty"`
	Calls     []Call          `json:"calls,omitempty"`
	JSON      json.RawMessage `json:"json,omitempty"`  // a structured answer, in the place where the request wants it
	Stop      string          `json:"stop,omitempty"`  // overrides the reason that follows from the rest, in the wire's own word
	Usage     *Usage          `json:"usage,omitempty"` // nil: counted from the text
	NoUsage   bool            `json:"noUsage,omitempty"`
	Delay     Duration        `json:"delay,omitempty"` // before the first byte
	Drip      Duration        `json:"drip,omitempty"`  // between two events
	Piece     int             `json:"piece,omitempty"` // characters of an event; 0: a dozen

	Status      int    `json:"status,omitempty"`     // an error with this status
	Error       string `json:"error,omitempty"`      // its message; with Status 0, an error inside the stream after the text
	ErrorCode   string `json:"errorCode,omitempty"`  // its code or type
	RetryAfter  string `json:"retryAfter,omitempty"` // the header, as it stands
	Body        string `json:"body,omitempty"`       // sent in place of everything else: garbage
	ContentType string `json:"contentType,omitempty"`
	CutAfter    int    `json:"cutAfter,omitempty"` // bytes of the body after which the connection breaks
	Hang        bool   `json:"hang,omitempty"`     // headers, then silence until the client leaves
	Whole       bool   `json:"whole,omitempty"`    // one JSON document although a stream was asked for
	NoEnd       bool   `json:"noEnd,omitempty"`    // no [DONE] and no message_stop
}

// Duration is a time.Duration that a script file writes as "250ms".
type Duration time.Duration

func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = Duration(v)
	return err
}

func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// T is what New needs of a *testing.T.
type T interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
}

// Server is a scripted model server.
type Server struct {
	t       T
	http    *httptest.Server
	done    chan struct{}
	profile Profile
	key     string
	models  []string
	log     *os.File
	logKey  *regexp.Regexp

	mu       sync.Mutex
	script   []Reply
	rule     func(Request) Reply
	requests []Request
}

// Option changes a server before it starts.
type Option func(*Server)

// As plays another server than OpenAI's.
func As(p Profile) Option { return func(s *Server) { s.profile = p } }

// Key makes the server ask for an API key.
func Key(k string) Option { return func(s *Server) { s.key = k } }

// Models sets the models that the server has; a request for another is a 404.
// The first one counts as the default.
func Models(names ...string) Option { return func(s *Server) { s.models = names } }

// LogTo appends one line of JSON per request to a file, in one write each, so
// that it survives a kill of anyone. The line's key is what the pattern (its
// first group, if it has one) finds in the prompt.
func LogTo(f *os.File, key *regexp.Regexp) Option {
	return func(s *Server) { s.log, s.logKey = f, key }
}

// New starts a server on a loopback port of its own; t may be nil, then Close
// ends it.
func New(t T, options ...Option) *Server {
	s := NewUnstarted(options...)
	s.t = t
	s.http = httptest.NewServer(s)
	if t != nil {
		t.Helper()
		t.Cleanup(s.Close)
	}
	return s
}

// NewUnstarted returns a server that is only a handler.
func NewUnstarted(options ...Option) *Server {
	s := &Server{done: make(chan struct{}), profile: OpenAI, models: []string{"scripted-1"}}
	for _, o := range options {
		o(s)
	}
	return s
}

// Close ends the server and every answer in flight.
func (s *Server) Close() {
	s.mu.Lock()
	select {
	case <-s.done:
		s.mu.Unlock()
		return
	default:
	}
	close(s.done)
	s.mu.Unlock()
	if s.http != nil {
		s.http.CloseClientConnections()
		s.http.Close()
	}
}

// URL returns the base URL for a client, with /v1.
func (s *Server) URL() string { return s.http.URL + "/v1" }

// Script adds replies, given one after the other to the requests that come.
func (s *Server) Script(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, replies...)
}

// Rule answers what no scripted reply is left for. It may be called by several
// requests at once.
func (s *Server) Rule(f func(Request) Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rule = f
}

// Requests returns the requests so far that asked for a reply, refused ones
// among them.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	auth := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if auth == "" {
		auth = r.Header.Get("X-Api-Key")
	}
	wire := s.openAI
	if r.URL.Path == "/v1/messages" {
		wire = s.anthropic
	}
	switch {
	case s.key != "" && auth != s.key:
		// OpenAI shows a part of the key, some proxies all of it. Show all: a client has to cope.
		s.refuse(w, r, problem{401, "Incorrect API key provided: " + auth, "invalid_api_key"}, "")
	case r.URL.Path == "/v1/models" && r.Method == http.MethodGet:
		s.listModels(w)
	case r.URL.Path == "/v1/messages" && r.Method == http.MethodPost, r.URL.Path == "/v1/chat/completions" && r.Method == http.MethodPost:
		s.answer(w, r, wire)
	default:
		s.refuse(w, r, problem{404, "Unknown request URL: " + r.Method + " " + r.URL.Path, "unknown_url"}, "")
	}
}

// answer reads a request, finds its reply, and writes it in the wire's form.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, wire func(Request, Reply) ([]string, any)) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	req, err := decode(r, body)
	if err != nil {
		s.refuse(w, r, problem{400, err.Error(), "invalid_request_error"}, "")
		return
	}
	s.record(&req)
	if p := s.check(req); p != nil {
		s.refuse(w, r, *p, "")
		return
	}
	reply := s.next(req)
	if reply.Delay > 0 && !s.pause(r, time.Duration(reply.Delay)) {
		return
	}
	switch {
	case reply.Status != 0 && reply.Body == "":
		s.refuse(w, r, problem{reply.Status, reply.Error, reply.ErrorCode}, reply.RetryAfter)
	case reply.Body != "":
		w.Header().Set("Content-Type", or(reply.ContentType, "text/event-stream"))
		if reply.RetryAfter != "" {
			w.Header().Set("Retry-After", reply.RetryAfter)
		}
		if reply.Status != 0 {
			w.WriteHeader(reply.Status)
		}
		s.write(w, r, reply, []string{reply.Body})
	default:
		frames, whole := wire(req, reply)
		if !req.Stream || reply.Whole {
			b, _ := json.Marshal(whole)
			w.Header().Set("Content-Type", "application/json")
			s.write(w, r, reply, []string{string(b)})
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		s.write(w, r, reply, frames)
	}
}

func (s *Server) record(req *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	req.N = len(s.requests) + 1
	if s.logKey != nil {
		if m := s.logKey.FindStringSubmatch(req.Prompt()); m != nil {
			req.Key = m[len(m)-1]
		}
	}
	s.requests = append(s.requests, *req)
	if s.log != nil {
		line, _ := json.Marshal(map[string]any{
			"n": req.N, "at": time.Now().UTC(), "path": req.Path, "model": req.Model, "key": req.Key, "last": req.Last(),
		})
		s.log.Write(append(line, '\n'))
	}
}

func (s *Server) next(req Request) Reply {
	s.mu.Lock()
	if len(s.script) > 0 {
		reply := s.script[0]
		s.script = s.script[1:]
		s.mu.Unlock()
		return reply
	}
	rule := s.rule
	s.mu.Unlock()
	if rule != nil {
		return rule(req)
	}
	if s.t != nil {
		s.t.Errorf("model server: request %d (%s, last message from %s) has no scripted reply", req.N, req.Path, req.Last())
	}
	return Reply{Status: 400, Error: "the script has no reply left"}
}

// write sends frames with all that a reply wants to happen on the way.
func (s *Server) write(w http.ResponseWriter, r *http.Request, reply Reply, frames []string) {
	flush := func() { http.NewResponseController(w).Flush() } // an error means that the client left
	flush()
	if reply.Hang {
		s.pause(r, time.Hour)
		return
	}
	sent := 0
	for i, f := range frames {
		if i > 0 && reply.Drip > 0 && !s.pause(r, time.Duration(reply.Drip)) {
			return
		}
		if reply.CutAfter > 0 && sent+len(f) > reply.CutAfter {
			io.WriteString(w, f[:reply.CutAfter-sent])
			flush()
			panic(http.ErrAbortHandler) // breaks the connection
		}
		if _, err := io.WriteString(w, f); err != nil {
			return
		}
		sent += len(f)
		flush()
	}
}

// pause waits; false when the client left or the server closes.
func (s *Server) pause(r *http.Request, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
	case <-s.done:
	}
	return false
}

func (s *Server) listModels(w http.ResponseWriter) {
	owner := map[Profile]string{OpenAI: "openai", Ollama: "library", VLLM: "vllm", DeepSeek: "deepseek"}[s.profile]
	data := []any{}
	for _, m := range s.models {
		entry := map[string]any{"id": m, "object": "model", "created": 1750000000, "owned_by": owner}
		if s.profile == VLLM {
			entry["max_model_len"] = 32768
		}
		data = append(data, entry)
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data})
}

// problem is an error answer.
type problem struct {
	status  int
	message string
	code    string
}

// refuse writes an error in the form of the server that is played.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, p problem, retryAfter string) {
	p.message = or(p.message, fmt.Sprintf("scripted error %d", p.status))
	var body any
	switch {
	case r.URL.Path == "/v1/messages":
		body = map[string]any{"type": "error", "request_id": "req_1", "error": map[string]any{
			"type": or(p.code, anthropicError(p.status)), "message": p.message,
		}}
	case s.profile == VLLM:
		body = map[string]any{"object": "error", "message": p.message, "type": or(p.code, "BadRequestError"), "param": nil, "code": p.status}
	case s.profile == Ollama:
		body = map[string]any{"error": map[string]any{"message": p.message, "type": "api_error", "param": nil, "code": nil}}
	default:
		body = map[string]any{"error": map[string]any{
			"message": p.message, "type": "invalid_request_error", "param": nil, "code": or(p.code, "error"),
		}}
	}
	w.Header().Set("Content-Type", "application/json")
	if retryAfter != "" {
		w.Header().Set("Retry-After", retryAfter)
	}
	w.WriteHeader(p.status)
	json.NewEncoder(w).Encode(body)
}

// anthropicError is the type that Anthropic gives an error of a status.
func anthropicError(status int) string {
	if t, ok := map[int]string{
		401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large",
		429: "rate_limit_error", 500: "api_error", 529: "overloaded_error",
	}[status]; ok {
		return t
	}
	return "invalid_request_error"
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
