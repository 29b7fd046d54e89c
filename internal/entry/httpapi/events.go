package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/event"
)

// Event is one entry of the stream.
type Event struct {
	ID      string  `json:"id,omitempty" doc:"Sent as Last-Event-ID to go on from here; absent for what is not kept"`
	Type    string  `json:"type"`
	At      Time    `json:"at"`
	Subject Subject `json:"subject"`
	Payload any     `json:"payload"`
}

const (
	pingEvery = 15 * time.Second
	// sendTime is how long a reader may take over one message before it is taken
	// for gone.
	sendTime    = 30 * time.Second
	replayBatch = 500
)

type eventsIn struct {
	Request
	LastEventID string `header:"Last-Event-ID" doc:"The id of the last event that was seen; absent: from now on"`
}

func (s *Server) eventRoutes() {
	add(s, route{method: "GET", path: "/events", name: "watchEvents", noun: "events", role: access.Viewer, time: -1, does: "What changes, as it changes (server-sent events)"}, s.events)
	op := s.api.OpenAPI().Paths["/events"].Get
	op.Responses["200"] = &huma.Response{
		Description: "A stream that does not end. `event: reset` says that more was missed than is kept: read everything again.",
		Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: s.api.OpenAPI().Components.Schemas.Schema(typeOf[Event](), true, "Event")}},
	}
}

func (s *Server) events(ctx context.Context, in *eventsIn) (*huma.StreamResponse, error) {
	oldest, newest, err := s.Store.EventBounds(ctx)
	if err != nil {
		return nil, err
	}
	st := &stream{server: s, scope: caller(ctx).Scope, last: newest}
	if in.LastEventID != "" {
		n, err := strconv.ParseInt(in.LastEventID, 10, 64)
		if err != nil {
			return nil, errs.New(errs.Malformed, "invalid", "Last-Event-ID is not one of ours.")
		}
		// What is above the newest was another database's.
		if st.reset = n < oldest-1 || n > newest; !st.reset {
			st.last = n
		}
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		e := humaecho.Unwrap(hc)
		h := e.Response().Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("X-Accel-Buffering", "no") // a proxy that collects would make it no stream
		e.Response().WriteHeader(http.StatusOK)
		st.w = e.Response()
		s.observed.streams.Inc()
		defer s.observed.streams.Dec()
		if err := st.run(ctx); err != nil && ctx.Err() == nil {
			s.log.DebugContext(ctx, "an event stream ended", "request", requestID(ctx), "err", err)
		}
	}}, nil
}

// stream writes the events of one workspace to one reader.
type stream struct {
	server *Server
	scope  access.Scope
	w      http.ResponseWriter
	last   int64 // everything up to it was sent
	reset  bool
	buf    bytes.Buffer
}

func (st *stream) run(ctx context.Context) error {
	sub := st.server.Feed.Subscribe(st.scope.Workspace())
	defer sub.Close()
	// The id comes first, so that a reader who loses the line before anything
	// happens can resume as well.
	head := "retry: 1000\nid: " + strconv.FormatInt(st.last, 10) + "\n\n"
	if st.reset {
		head += "event: reset\nid: " + strconv.FormatInt(st.last, 10) + "\ndata: {}\n\n"
	}
	if err := st.send([]byte(head)); err != nil {
		return err
	}
	if err := st.replay(ctx); err != nil {
		return err
	}
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-st.server.draining:
			return nil
		case e := <-sub.Events():
			if err := st.pass(e); err != nil {
				return err
			}
		case <-sub.Lagged():
			sub.CatchUp()
			if err := st.replay(ctx); err != nil {
				return err
			}
		case <-ping.C:
			if !st.server.stillIn(ctx) {
				return nil
			}
			if err := st.send([]byte(": ping\n\n")); err != nil {
				return err
			}
		}
	}
}

// replay sends what is kept and was not sent.
func (st *stream) replay(ctx context.Context) error {
	for {
		events, err := st.server.Store.EventsAfter(ctx, st.scope, st.last, replayBatch)
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := st.pass(e); err != nil {
				return err
			}
		}
		if len(events) < replayBatch {
			return nil
		}
	}
}

// pass sends an event, once.
func (st *stream) pass(e event.Event) error {
	if e.Seq > 0 {
		if e.Seq <= st.last {
			return nil
		}
		st.last = e.Seq
	}
	msg := Event{Type: e.Type, At: Time{e.At}, Subject: Subject{e.SubjectKind, e.SubjectID}, Payload: e.Payload}
	st.buf.Reset()
	if e.Seq > 0 {
		msg.ID = strconv.FormatInt(e.Seq, 10)
		fmt.Fprintf(&st.buf, "id: %s\n", msg.ID)
	}
	st.buf.WriteString("data: ")
	enc := json.NewEncoder(&st.buf) // ends the line; JSON has no other line breaks
	if err := enc.Encode(msg); err != nil {
		return fmt.Errorf("write an event: %w", err)
	}
	st.buf.WriteByte('\n')
	return st.send(st.buf.Bytes())
}

func (st *stream) send(b []byte) error {
	c := http.NewResponseController(st.w)
	_ = c.SetWriteDeadline(time.Now().Add(sendTime)) // a recorder of tests has none
	if _, err := st.w.Write(b); err != nil {
		return fmt.Errorf("send events: %w", err)
	}
	return c.Flush()
}

// stillIn reports whether whoever opened a stream may still read: a session that
// was ended and a token that was deleted end their streams with the next ping.
func (s *Server) stillIn(ctx context.Context) bool {
	w := whoOf(ctx)
	r := w.request
	if r == nil {
		return true
	}
	now, err := s.whoAsks(ctx, r)
	if err != nil {
		return errs.KindOf(err) == errs.Internal // the database is away: that is not their fault
	}
	return now.Role.AtLeast(access.Viewer) && now.Scope == w.Scope
}
