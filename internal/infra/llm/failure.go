package llm

import (
	"encoding/json"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/dogwatch/dogwatch/internal/domain/turn"
)

// complaint is what a provider says is wrong, in any of the forms in use:
//
//	{"error": {"message": …, "type": …, "code": …}}   OpenAI, DeepSeek, Ollama, Anthropic
//	{"object": "error", "message": …, "code": 400}    vLLM until 0.9
//	{"error": "…"}  {"detail": "…"}  {"message": "…"} proxies
type complaint struct {
	message string
	words   string // type, code and message in lower case, to look for known words
	status  int    // when the body names one
}

func readComplaint(body []byte) (complaint, bool) {
	var top map[string]json.RawMessage
	if json.Unmarshal(body, &top) != nil {
		return complaint{}, false
	}
	fields := top
	var c complaint
	if raw, ok := top["error"]; ok {
		var nested map[string]json.RawMessage
		if json.Unmarshal(raw, &nested) == nil && nested != nil {
			fields = nested
		} else if json.Unmarshal(raw, &c.message) != nil || c.message == "" {
			return complaint{}, false // "error": null stands in many a good answer
		}
	} else if string(top["object"]) != `"error"` && string(top["type"]) != `"error"` && top["detail"] == nil && top["message"] == nil {
		return complaint{}, false
	}
	var words []string
	for _, k := range []string{"type", "code", "status"} {
		var s string
		if json.Unmarshal(fields[k], &s) == nil {
			words = append(words, s)
		}
		if n, err := strconv.Atoi(strings.Trim(string(fields[k]), `"`)); err == nil && n >= 300 && n < 600 {
			c.status = n
		}
	}
	for _, k := range []string{"message", "detail"} {
		if c.message != "" || fields[k] == nil {
			continue
		}
		if json.Unmarshal(fields[k], &c.message) != nil {
			c.message = string(fields[k])
		}
	}
	c.words = strings.ToLower(strings.Join(append(words, c.message), " "))
	return c, true
}

var htmlTitle = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)

// refused classifies an answer with a status other than 2xx.
func (w *wire) refused(resp *http.Response, body []byte) error {
	c, ok := readComplaint(body)
	if !ok {
		text := string(body)
		if m := htmlTitle.FindStringSubmatch(text); m != nil {
			text = m[1]
		}
		c = complaint{message: text, words: strings.ToLower(text)}
	}
	if c.message == "" {
		c.message = http.StatusText(resp.StatusCode)
	}
	if resp.StatusCode < 400 {
		c.message = "it redirects elsewhere, which is not followed since that would hand on the key; is the base URL right?"
	}
	e := w.complain(resp.StatusCode, c)
	e.RetryAfter = retryAfter(resp.Header, w.now())
	return e
}

func (w *wire) complain(status int, c complaint) *turn.ModelError {
	if status == 0 {
		status = c.status
	}
	return &turn.ModelError{
		Class: classify(status, c.words), Status: status,
		Msg: w.base.Host + ": " + w.clean(c.message, 300), Err: &refusal{c.words},
	}
}

// refusal keeps the words of a provider's complaint in full, for the search for
// what it did not like.
type refusal struct{ words string }

func (r *refusal) Error() string { return "the provider declined" }

// keyLike is what keys of the known providers look like: a server behind a
// proxy may echo one that we never held.
var keyLike = regexp.MustCompile(`\b(sk|gsk|pk|key|xai)-[A-Za-z0-9_\-*]{8,}`)

// clean makes a provider's text fit to be shown: no secrets, no control
// characters, not too long.
func (w *wire) clean(s string, most int) string {
	s = keyLike.ReplaceAllString(w.redact(s), "$1-***")
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, ""), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return s
}

func has(words string, any ...string) bool {
	for _, w := range any {
		if strings.Contains(words, w) {
			return true
		}
	}
	return false
}

// classify maps a status and the words of a complaint to a class. Words come
// first where providers use one status for several things: an empty account is
// 429 at OpenAI and 400 at Anthropic. Status 0 is an error inside a stream.
// Sources: the error pages of OpenAI, Anthropic and DeepSeek; vLLM and
// llama.cpp for the wording of a prompt that is too long.
func classify(status int, words string) turn.ErrorClass {
	ours := status == 0 || status < 500 // a server that is in trouble may say anything
	switch {
	case status == 402,
		ours && has(words, "insufficient_quota", "insufficient balance", "credit balance", "billing_", "exceeded your current quota"):
		return turn.ErrQuota
	case status == 413,
		ours && status != 429 && has(words, "context_length_exceeded", "maximum context length", "prompt is too long",
			"context window", "exceed_context_size", "available context size", "maximum model length", "request_too_large"):
		return turn.ErrTooLong
	case ours && has(words, "model_not_found", "does not support tools", "model_not_supported"),
		status == 404 && has(words, "model"):
		return turn.ErrUnsupported
	case status == 401, status == 403, status == 0 && has(words, "authentication_error", "permission_error", "invalid_api_key"):
		return turn.ErrAuth
	case status == 429, status == 0 && has(words, "rate_limit", "rate limit"):
		return turn.ErrRateLimit
	case status == 503, status == 529, status == 0 && has(words, "overloaded"):
		return turn.ErrOverloaded
	case status >= 500, status == 408, status == 409, status == 425:
		return turn.ErrServer // the last three are what the official clients try again, too
	case status == 0:
		if has(words, "invalid_request") {
			return turn.ErrBadRequest
		}
		return turn.ErrServer
	}
	return turn.ErrBadRequest
}

// retryAfter reads how long a provider asks us to wait (RFC 9110, section
// 10.2.3: seconds or a date). A date is compared with the provider's own clock
// where it tells it, since ours may be wrong.
func retryAfter(h http.Header, now time.Time) time.Duration {
	const most = 24 * time.Hour // beyond that it is no answer to "when"
	bound := func(d time.Duration) time.Duration { return min(max(d, 0), most) }
	number := func(key string, unit time.Duration) (time.Duration, bool) {
		f, err := strconv.ParseFloat(strings.TrimSpace(h.Get(key)), 64)
		if err != nil || math.IsNaN(f) {
			return 0, false
		}
		return bound(time.Duration(min(max(f, 0), float64(most/unit)) * float64(unit))), true
	}
	if d, ok := number("Retry-After-Ms", time.Millisecond); ok { // Azure, OpenAI
		return d
	}
	if d, ok := number("Retry-After", time.Second); ok {
		return d
	}
	at, err := http.ParseTime(h.Get("Retry-After"))
	if err != nil {
		return 0
	}
	if theirs, err := http.ParseTime(h.Get("Date")); err == nil {
		now = theirs
	}
	return bound(at.Sub(now))
}
