// Package client calls the HTTP API for the commands. Answers stay JSON until a
// command needs a field, so that `--json` prints exactly what the server said.
package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// tries of a call that is safe to repeat. The waits between them, each twice
	// the one before, add up to what a restart of the server takes.
	tries     = 4
	firstWait = 250 * time.Millisecond
	// longestWait is the Retry-After that a person at a terminal sits through.
	longestWait = 10 * time.Second
	// answerLimit bounds an answer that is read into memory; the largest is a list
	// of 200 tasks with long instructions.
	answerLimit = 64 << 20
	// silence is how long a server may take to answer: none of its calls waits
	// for a model.
	silence = 30 * time.Second
)

// Client talks to one instance.
type Client struct {
	base, token, agent string
	http               *http.Client
	wait               func(ctx context.Context, d time.Duration) error
}

// New returns a client of the instance at base ("http://127.0.0.1:8420").
func New(base, token, userAgent string) *Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = silence
	return &Client{
		base: strings.TrimRight(base, "/"), token: token, agent: userAgent, wait: sleep,
		// A redirect would take the token elsewhere.
		http: &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Unreachable says that no usable answer came.
type Unreachable struct {
	URL string
	Err error
}

func (e *Unreachable) Error() string {
	var ue *url.Error
	err := e.Err
	if errors.As(err, &ue) {
		err = ue.Err // without the method and the address again
	}
	return fmt.Sprintf("%s does not answer: %v", e.URL, err)
}

func (e *Unreachable) Unwrap() error { return e.Err }

// Problem is a refusal as the server words it (RFC 9457).
type Problem struct {
	Status int     `json:"status"`
	Title  string  `json:"title"`
	Detail string  `json:"detail"`
	Code   string  `json:"code"`
	Errors []Field `json:"errors"`
}

// Field is one value that the server refuses.
type Field struct {
	Location string `json:"location"`
	Message  string `json:"message"`
	Value    any    `json:"value"`
}

func (p *Problem) Error() string {
	var b strings.Builder
	switch {
	case p.Detail != "":
		b.WriteString(p.Detail)
	case p.Title != "":
		b.WriteString(p.Title)
	default:
		fmt.Fprintf(&b, "the server answered %d", p.Status)
	}
	if p.Code != "" {
		fmt.Fprintf(&b, " (%s)", p.Code)
	}
	for _, f := range p.Errors {
		if f.Message != "" && f.Message == p.Detail && len(p.Errors) == 1 {
			continue // said already
		}
		b.WriteString("\n  ")
		if at := strings.TrimPrefix(f.Location, "body."); at != "" {
			b.WriteString(at + ": ")
		}
		b.WriteString(f.Message)
	}
	return b.String()
}

// Get reads a resource of the API, such as "/tasks/T-1".
func (c *Client) Get(ctx context.Context, path string, query url.Values) (json.RawMessage, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return c.call(ctx, http.MethodGet, path, nil)
}

// Post creates or starts something, once: a repeated try carries the same key,
// and the server answers it with what it answered the first.
func (c *Client) Post(ctx context.Context, path string, body any) (json.RawMessage, error) {
	return c.call(ctx, http.MethodPost, path, body)
}

// Put sets a resource, Patch changes one, Delete removes one.
func (c *Client) Put(ctx context.Context, path string, body any) (json.RawMessage, error) {
	return c.call(ctx, http.MethodPut, path, body)
}

func (c *Client) Patch(ctx context.Context, path string, body any) (json.RawMessage, error) {
	return c.call(ctx, http.MethodPatch, path, body)
}

func (c *Client) Delete(ctx context.Context, path string) (json.RawMessage, error) {
	return c.call(ctx, http.MethodDelete, path, nil)
}

// call makes a call, again where that changes nothing.
func (c *Client) call(ctx context.Context, method, path string, body any) (json.RawMessage, error) {
	var payload []byte
	if body != nil {
		var err error
		if payload, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("write the request: %w", err)
		}
	}
	key := ""
	if method == http.MethodPost {
		key = rand.Text()
	}
	// A PATCH that was carried out would meet its own new version.
	repeatable := method != http.MethodPatch
	wait := firstWait
	for try := 1; ; try++ {
		answer, after, err := c.once(ctx, method, path, key, payload)
		if err == nil || ctx.Err() != nil || !repeatable || try == tries || !again(err) || after > longestWait {
			return answer, err
		}
		if werr := c.wait(ctx, max(wait, after)); werr != nil {
			return nil, err
		}
		wait *= 2
	}
}

// again reports whether another try may end otherwise.
func again(err error) bool {
	var p *Problem
	if errors.As(err, &p) {
		switch p.Status {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		}
		return p.Code == "in_progress" // our own first try is still being carried out
	}
	var u *Unreachable
	return errors.As(err, &u)
}

func (c *Client) once(ctx context.Context, method, path, key string, payload []byte) (answer json.RawMessage, after time.Duration, err error) {
	res, err := c.send(ctx, c.http, method, path, payload, func(h http.Header) {
		if key != "" {
			h.Set("Idempotency-Key", key)
		}
	})
	if err != nil {
		return nil, 0, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, answerLimit))
	if err != nil {
		return nil, 0, &Unreachable{c.base, fmt.Errorf("the answer broke off: %w", err)}
	}
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		if len(b) > 0 && !json.Valid(b) {
			return nil, 0, notDogwatch(c.base, res)
		}
		return b, 0, nil
	}
	if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil {
		after = time.Duration(s) * time.Second
	}
	return nil, after, problem(c.base, res, b)
}

// send makes one request to the API.
func (c *Client) send(ctx context.Context, h *http.Client, method, path string, payload []byte, set func(http.Header)) (*http.Response, error) {
	var body io.Reader
	if payload != nil {
		body = bytes.NewReader(payload)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+"/api/v1"+path, body)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	req.Header.Set("User-Agent", c.agent)
	req.Header.Set("Accept", "application/json")
	if payload != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	set(req.Header)
	res, err := h.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &Unreachable{c.base, err}
	}
	return res, nil
}

func problem(base string, res *http.Response, body []byte) error {
	p := &Problem{}
	if err := json.Unmarshal(body, p); err != nil || p.Title == "" && p.Detail == "" {
		if res.StatusCode >= 300 && res.StatusCode < 400 || res.StatusCode == http.StatusNotFound {
			return notDogwatch(base, res)
		}
		p = &Problem{Title: fmt.Sprintf("%s answered %s", base, res.Status)}
	}
	p.Status = res.StatusCode
	return p
}

// notDogwatch: something else listens at the address.
func notDogwatch(base string, res *http.Response) error {
	return &Unreachable{base, fmt.Errorf("what answers there is not Dogwatch (%s, %s)", res.Status, res.Header.Get("Content-Type"))}
}
