package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/domain/turn"
)

// chatChunk is one chat.completion.chunk, and also a whole chat.completion:
// they differ in whether the text stands in delta or in message.
type chatChunk struct {
	Model   string `json:"model"`
	Choices []struct {
		Index        int        `json:"index"`
		Delta        chatDelta  `json:"delta"`
		Message      chatDelta  `json:"message"`
		FinishReason string     `json:"finish_reason"`
		Usage        *chatUsage `json:"usage"` // Moonshot has it here
	} `json:"choices"`
	Usage *chatUsage `json:"usage"`
}

type chatDelta struct {
	Content          flexText    `json:"content"`
	Refusal          flexText    `json:"refusal"`
	ReasoningContent flexText    `json:"reasoning_content"` // DeepSeek, vLLM
	Reasoning        flexText    `json:"reasoning"`         // Ollama, OpenRouter
	ToolCalls        []callDelta `json:"tool_calls"`
}

type chatUsage struct {
	PromptTokens     flexCount `json:"prompt_tokens"`
	CompletionTokens flexCount `json:"completion_tokens"`
	PromptDetails    struct {
		CachedTokens flexCount `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		ReasoningTokens flexCount `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	CacheHitTokens flexCount    `json:"prompt_cache_hit_tokens"` // DeepSeek
	Cost           *json.Number `json:"cost"`                    // OpenRouter, in dollars
}

// chatStream reads the answer to one POST /chat/completions.
type chatStream struct {
	*wire
	onDelta func(string)

	text, reasoning strings.Builder
	calls           assembler
	model           string
	usage           *chatUsage
	stop            string // finish_reason
	refusal         bool
}

// read takes the answer in until it is complete or fails.
func (s *chatStream) read(a *answer) error {
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
	for {
		ev, err := events.next()
		if err != nil {
			return err
		}
		data := bytes.TrimSpace(ev.data)
		if len(data) == 0 {
			continue
		}
		if string(data) == "[DONE]" {
			return nil
		}
		if err := s.take(data); err != nil {
			if ev.torn && !json.Valid(data) {
				return io.ErrUnexpectedEOF
			}
			return err
		}
		if s.stop != "" {
			a.raw.silent = min(a.raw.silent, afterFinish)
		}
	}
}

// firstByte looks at the first byte of an answer that is not white space. A
// content type says less: many servers stream as text/plain.
func firstByte(a *answer) (byte, error) {
	for {
		b, err := a.body.Peek(1)
		if err != nil {
			return 0, err
		}
		if b[0] != ' ' && b[0] != '\n' && b[0] != '\r' && b[0] != '\t' {
			return b[0], nil
		}
		_, _ = a.body.Discard(1) // Peek has it
	}
}

func (s *chatStream) readWhole(a *answer) error {
	a.raw.left = maxWhole
	data, err := io.ReadAll(a.body)
	if err != nil {
		return err
	}
	if !json.Valid(data) {
		return io.ErrUnexpectedEOF
	}
	return s.take(data)
}

// take takes one chunk in.
func (s *chatStream) take(data []byte) error {
	if bytes.Contains(data, []byte(`"error"`)) || bytes.Contains(data, []byte(`"detail"`)) {
		if c, ok := readComplaint(data); ok {
			return s.complain(0, c)
		}
	}
	var chunk chatChunk
	if err := json.Unmarshal(data, &chunk); err != nil {
		return s.badReply("sent an event that is not of the protocol: %s", s.clean(string(data), 80))
	}
	if chunk.Model != "" {
		s.model = chunk.Model
	}
	s.report(chunk.Usage)
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue // we ask for one choice
		}
		s.report(choice.Usage)
		for _, d := range []chatDelta{choice.Delta, choice.Message} {
			if err := s.delta(d); err != nil {
				return s.badReply("sent %v", err)
			}
		}
		if choice.FinishReason != "" {
			s.stop = choice.FinishReason
		}
	}
	return s.tooLong(s.text.Len() + s.reasoning.Len() + s.calls.size)
}

func (s *chatStream) report(u *chatUsage) {
	if u != nil && (u.PromptTokens > 0 || u.CompletionTokens > 0) {
		s.usage = u // the last one: some servers count on in every chunk
	}
}

func (s *chatStream) delta(d chatDelta) error {
	if d.ReasoningContent != "" {
		s.reasoning.WriteString(string(d.ReasoningContent))
	} else {
		s.reasoning.WriteString(string(d.Reasoning))
	}
	s.refusal = s.refusal || d.Refusal != ""
	if text := string(d.Content + d.Refusal); text != "" {
		s.text.WriteString(text)
		if s.onDelta != nil {
			s.onDelta(text)
		}
	}
	for _, c := range d.ToolCalls {
		if err := s.calls.add(c); err != nil {
			return err
		}
	}
	return nil
}

// finish makes a reply of what was read. When reading failed, the reply holds
// what had come until then.
func (s *chatStream) finish(ctx context.Context, a *answer, req turn.Request, err error) (turn.Reply, error) {
	r := turn.Reply{
		Text: s.text.String(), Reasoning: s.reasoning.String(), ToolCalls: s.calls.done(), Model: s.model,
	}
	if u := s.usage; u != nil {
		r.Usage = budget.Usage{
			InputTokens: int64(u.PromptTokens), OutputTokens: int64(u.CompletionTokens),
			CacheReadTokens: int64(max(u.PromptDetails.CachedTokens, u.CacheHitTokens)),
			ReasoningTokens: int64(u.CompletionDetails.ReasoningTokens),
		}
		if u.Cost != nil {
			var cost budget.USD
			if cost.UnmarshalJSON([]byte(*u.Cost)) == nil && cost >= 0 {
				r.Cost = &cost
			}
		}
	}
	if err != nil {
		var known *turn.ModelError
		if errors.As(err, &known) {
			return r, err
		}
		// Once the model has said why it stopped, the answer is complete, and a
		// line that breaks before [DONE] takes nothing from it.
		if s.stop == "" || ctx.Err() != nil || errors.Is(err, errTooBig) || errors.Is(err, errEventTooLarge) {
			return r, s.broken(a.ctx, err)
		}
	}
	r.Stop = chatStop(s.stop, s.refusal, len(r.ToolCalls) > 0)
	return checked(s.wire, req, r)
}

// chatStop maps a finish_reason. Servers that report "stop" with tool calls
// exist, and so do those that report "tool_calls" without.
func chatStop(reason string, refused, calls bool) turn.StopReason {
	switch {
	case reason == "length", reason == "max_tokens":
		return turn.StopLength
	case reason == "content_filter", refused:
		return turn.StopFilter
	case calls:
		return turn.StopTools
	}
	return turn.StopEnd
}

// checked refuses a complete answer that says nothing, and makes sure that a
// structured one is JSON.
func checked(w *wire, req turn.Request, r turn.Reply) (turn.Reply, error) {
	if r.Stop != turn.StopEnd {
		return r, nil
	}
	if req.Output != nil {
		text, err := findJSON(r.Text)
		if err != nil {
			return r, w.badReply("was asked for JSON and answered without: %v", err)
		}
		r.Text = text
		return r, nil
	}
	// After tools a model may have nothing to add; before, an empty answer is a fault.
	n := len(req.Messages)
	if strings.TrimSpace(r.Text) == "" && (n == 0 || req.Messages[n-1].Role != turn.Tool) {
		return r, w.badReply("answered with nothing")
	}
	return r, nil
}
