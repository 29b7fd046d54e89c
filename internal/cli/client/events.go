package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Event is one entry of the change feed.
type Event struct {
	ID      string    `json:"-"`
	Type    string    `json:"type"`
	At      time.Time `json:"at"`
	Subject struct {
		Kind string `json:"kind"`
		ID   string `json:"id"`
	} `json:"subject"`
	Payload json.RawMessage `json:"payload"`
}

// Reset is the type of the event that says: more was missed than is kept.
const Reset = "reset"

const (
	// pingSilence is three of the server's pings.
	pingSilence = 45 * time.Second
	// eventLimit bounds one line of the stream; events carry ids, not content.
	eventLimit = 1 << 20
)

// ErrStop, returned by the function that takes events, ends Events without an error.
var ErrStop = errors.New("enough")

// Events hands every event to f, from now on, until ctx ends or f returns an
// error. A broken connection is made again where it broke off.
func (c *Client) Events(ctx context.Context, connected func(), f func(Event) error) error {
	// No time-out on the whole answer: it never ends.
	stream := &http.Client{Transport: c.http.Transport, CheckRedirect: c.http.CheckRedirect}
	last, failures := "", 0
	for {
		n, err := c.follow(ctx, stream, &last, connected, f)
		if errors.Is(err, ErrStop) {
			return nil
		}
		var lost *Unreachable
		if ctx.Err() != nil || !errors.As(err, &lost) && !again(err) {
			return err
		}
		if n > 0 {
			failures = 0
		}
		if failures++; failures == tries {
			return err
		}
		if werr := c.wait(ctx, firstWait<<failures); werr != nil {
			return err
		}
	}
}

// follow reads one connection's events and counts them.
func (c *Client) follow(ctx context.Context, stream *http.Client, last *string, connected func(), f func(Event) error) (n int, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	res, err := c.send(ctx, stream, http.MethodGet, "/events", nil, func(h http.Header) {
		h.Set("Accept", "text/event-stream")
		if *last != "" {
			h.Set("Last-Event-ID", *last)
		}
	})
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(io.LimitReader(res.Body, answerLimit))
		return 0, problem(c.base, res, b)
	}
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return 0, notDogwatch(c.base, res)
	}
	if connected != nil {
		connected()
	}
	quiet := time.AfterFunc(pingSilence, func() { cancel(errors.New("the stream fell silent")) })
	defer quiet.Stop()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(make([]byte, 0, 4096), eventLimit)
	var id, kind string
	var data strings.Builder
	for lines.Scan() {
		quiet.Reset(pingSilence)
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "id":
			id = value
		case "event":
			kind = value
		case "data":
			if data.Len() > 0 {
				data.WriteByte('\n')
			}
			data.WriteString(value)
		case "":
			if lines.Text() != "" || data.Len() == 0 && kind != Reset { // a comment, or nothing to end
				continue
			}
			e := Event{Type: kind}
			if data.Len() > 0 {
				if err := json.Unmarshal([]byte(data.String()), &e); err != nil {
					return n, fmt.Errorf("read an event: %w", err)
				}
			}
			if kind == Reset {
				e.Type = Reset
			}
			e.ID = id
			data.Reset()
			kind = ""
			n++
			if err := f(e); err != nil {
				return n, err
			}
			if id != "" {
				*last = id
			}
		}
	}
	err = lines.Err()
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return n, &Unreachable{c.base, fmt.Errorf("the event stream ended: %w", err)}
}
