package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/domain/turn"
)

// messageEvent is any event of a Messages stream; which fields it has, its type
// says. A whole message (an answer that was not streamed) has those of message
// at its top.
type messageEvent struct {
	Type         string          `json:"type"`
	Index        int             `json:"index"`
	Message      message         `json:"message"`
	ContentBlock block           `json:"content_block"`
	Usage        messageUsage    `json:"usage"`
	Error        json.RawMessage `json:"error"`
	Delta        struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		Thinking    string `json:"thinking"`
		PartialJSON string `json:"partial_json"`
		StopReason  string `json:"stop_reason"`
	} `json:"delta"`
}

type message struct {
	Model      string       `json:"model"`
	Content    []wholeBlock `json:"content"`
	StopReason string       `json:"stop_reason"`
	Usage      messageUsage `json:"usage"`
}

type wholeBlock struct {
	block
	Thinking string `json:"thinking"`
}

// messageUsage counts cached input apart from input_tokens, other than we do.
type messageUsage struct {
	Input      flexCount `json:"input_tokens"`
	Output     flexCount `json:"output_tokens"`
	CacheRead  flexCount `json:"cache_read_input_tokens"`
	CacheWrite flexCount `json:"cache_creation_input_tokens"`
}

// messageStream reads the answer to one POST /v1/messages.
type messageStream struct {
	*wire
	onDelta    func(string)
	answerTool string // the tool that carries a structured reply, when one was forced

	text, reasoning strings.Builder
	calls           assembler
	byIndex         map[int]int // the index of a block to a place in calls
	model, stop     string
	usage           messageUsage
	complete        bool // message_stop
}

func (s *messageStream) read(a *answer) error {
	first, err := firstByte(a)
	if err != nil {
		return err
	}
	switch first {
	case '<':
		return s.badReply("answered with a web page; is the base URL right?")
	case '{':
		return s.readWhole(a)
	}
	events := newSSEReader(a.body)
	for !s.complete {
		ev, err := events.next()
		if err != nil {
			return err
		}
		data := bytes.TrimSpace(ev.data)
		if len(data) == 0 || ev.name == "ping" {
			continue
		}
		var e messageEvent
		if err := json.Unmarshal(data, &e); err != nil {
			if ev.torn && !json.Valid(data) {
				return io.ErrUnexpectedEOF
			}
			return s.badReply("sent an event that is not of the protocol: %s", s.clean(string(data), 80))
		}
		if err := s.take(e, data); err != nil {
			return err
		}
		if s.stop != "" {
			a.raw.silent = min(a.raw.silent, afterFinish)
		}
	}
	return nil
}

func (s *messageStream) readWhole(a *answer) error {
	a.raw.left = maxWhole
	data, err := io.ReadAll(a.body)
	if err != nil {
		return err
	}
	var kind struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(data, &kind) != nil {
		return io.ErrUnexpectedEOF
	}
	if kind.Type != "message" {
		if c, ok := readComplaint(data); ok {
			return s.complain(0, c)
		}
		return s.badReply("answered with something that is no message: %s", s.clean(string(data), 80))
	}
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		return s.badReply("sent a message that is not of the protocol: %v", err)
	}
	s.complete = true
	s.begin(m)
	for i, b := range m.Content {
		if err := s.start(i, b.block); err != nil {
			return err
		}
		s.reasoning.WriteString(b.Thinking)
	}
	return s.tooLong(s.text.Len() + s.reasoning.Len() + s.calls.size)
}

func (s *messageStream) begin(m message) {
	s.model, s.usage, s.stop = m.Model, m.Usage, m.StopReason
}

// start opens a content block. What a block of the stream holds at its start is
// empty; in a whole message it is everything.
func (s *messageStream) start(index int, b block) error {
	switch b.Type {
	case "text":
		s.say(b.Text)
	case "tool_use":
		if s.byIndex == nil {
			s.byIndex = map[int]int{}
		}
		s.byIndex[index] = len(s.calls.calls)
		args := string(b.Input)
		if args == "{}" || args == "null" {
			args = "" // the deltas bring them
		}
		if err := s.calls.begin(turn.ToolCall{ID: b.ID, Name: b.Name}); err != nil {
			return s.badReply("sent %v", err)
		}
		s.calls.more(s.byIndex[index], args)
	}
	return s.tooLong(s.text.Len() + s.reasoning.Len() + s.calls.size)
}

func (s *messageStream) say(text string) {
	if text == "" {
		return
	}
	s.text.WriteString(text)
	if s.onDelta != nil {
		s.onDelta(text)
	}
}

// take takes one event in. Types that it does not know are skipped: the API
// reserves the right to add some.
func (s *messageStream) take(e messageEvent, data []byte) error {
	switch e.Type {
	case "error":
		if c, ok := readComplaint(data); ok {
			return s.complain(0, c)
		}
		return s.badReply("sent an error without a word")
	case "message_start":
		s.begin(e.Message)
	case "content_block_start":
		return s.start(e.Index, e.ContentBlock)
	case "content_block_delta":
		s.say(e.Delta.Text)
		s.reasoning.WriteString(e.Delta.Thinking)
		if e.Delta.PartialJSON == "" {
			return s.tooLong(s.text.Len() + s.reasoning.Len() + s.calls.size)
		}
		i, ok := s.byIndex[e.Index]
		if !ok {
			return s.badReply("sent arguments of a tool call that it did not begin")
		}
		s.calls.more(i, e.Delta.PartialJSON)
		return s.tooLong(s.text.Len() + s.reasoning.Len() + s.calls.size)
	case "message_delta":
		s.stop = e.Delta.StopReason
		s.count(e.Usage)
	case "message_stop":
		s.complete = true
	}
	return nil
}

// count takes the cumulative usage of a message_delta; some servers repeat only
// a part of what message_start said.
func (s *messageStream) count(u messageUsage) {
	s.usage.Input = max(s.usage.Input, u.Input)
	s.usage.Output = max(s.usage.Output, u.Output)
	s.usage.CacheRead = max(s.usage.CacheRead, u.CacheRead)
	s.usage.CacheWrite = max(s.usage.CacheWrite, u.CacheWrite)
}

func (s *messageStream) finish(ctx context.Context, a *answer, req turn.Request, err error) (turn.Reply, error) {
	r := turn.Reply{Text: s.text.String(), Reasoning: s.reasoning.String(), Model: s.model}
	u := s.usage
	r.Usage = budget.Usage{
		InputTokens:  int64(u.Input + u.CacheRead + u.CacheWrite),
		OutputTokens: int64(u.Output), CacheReadTokens: int64(u.CacheRead), CacheWriteTokens: int64(u.CacheWrite),
	}
	r.ToolCalls = s.calls.done()
	for i, c := range r.ToolCalls {
		if s.answerTool != "" && c.Name == s.answerTool {
			r.Text, r.ToolCalls = c.Arguments, slices.Delete(r.ToolCalls, i, i+1)
			break
		}
	}
	if err != nil {
		var known *turn.ModelError
		if errors.As(err, &known) {
			return r, err
		}
		if s.stop == "" || ctx.Err() != nil || errors.Is(err, errTooBig) || errors.Is(err, errEventTooLarge) {
			return r, s.broken(a.ctx, err)
		}
	}
	switch s.stop {
	case "max_tokens", "model_context_window_exceeded":
		r.Stop = turn.StopLength
	case "refusal":
		r.Stop = turn.StopFilter
	default: // end_turn, stop_sequence, pause_turn, tool_use
		r.Stop = turn.StopEnd
		if len(r.ToolCalls) > 0 {
			r.Stop = turn.StopTools
		}
	}
	return checked(s.wire, req, r)
}
