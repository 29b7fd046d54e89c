package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/dogwatch/dogwatch/internal/domain/turn"
)

// anthropicVersion is the API version of POST /v1/messages; it is the only one
// since June 2023.
const anthropicVersion = "2023-06-01"

// anthropicMaxTokens is sent when the caller sets no limit: the API requires
// one. Every model since Claude 4 can write this much.
const anthropicMaxTokens = 16_000

// anthropicModel is used when the operator names none: of the middle size, with
// a price in the list.
const anthropicModel = "claude-sonnet-5"

type anthropic struct {
	*wire
	named string

	mu      sync.Mutex
	outputs map[string]anthropicOutput // what a model was found to accept
}

// anthropicOutput is how a structured reply is asked for.
type anthropicOutput int

const (
	byFormat     anthropicOutput = iota // output_config.format: Claude 4.5 and later
	byForcedTool                        // a tool that must be called: earlier models, and schemas that format refuses
	byWords                             // the prompt alone: Claude 5.5 refuses forced tools
)

func newAnthropic(p ProviderConfig, rt http.RoundTripper) (client, error) {
	w, err := newWire(p, rt, "https://api.anthropic.com/v1")
	if err != nil {
		return nil, err
	}
	// Its clients take a base without the version: servers that imitate it are
	// documented as https://host/anthropic.
	w.base.Path = strings.TrimSuffix(strings.TrimSuffix(w.base.Path, "/messages"), "/v1") + "/v1"
	w.headers["anthropic-version"] = anthropicVersion
	if p.APIKey != "" {
		w.headers["x-api-key"] = p.APIKey
	}
	return &anthropic{wire: w, named: cmp.Or(p.DefaultModel, anthropicModel), outputs: map[string]anthropicOutput{}}, nil
}

func (c *anthropic) firstModel(context.Context) (string, error) { return c.named, nil }

func (c *anthropic) fixedModel() string { return c.named }

func (c *anthropic) window(string) int { return 0 }

// call makes one attempt. A model that refuses one way of asking for structured
// output is asked in the next.
func (c *anthropic) call(ctx context.Context, model string, req turn.Request, onDelta func(string)) (turn.Reply, error) {
	c.mu.Lock()
	how := c.outputs[model]
	c.mu.Unlock()
	for {
		reply, err := c.once(ctx, model, req, how, onDelta)
		if req.Output == nil {
			return reply, err
		}
		var e *turn.ModelError
		var r *refusal
		if errors.As(err, &e) && e.Class == turn.ErrBadRequest && errors.As(err, &r) && how < byWords &&
			has(r.words, "output_config", "output_format", "tool_choice", "schema", "structured output", "extra inputs", "forced", "force tool") {
			how++
			continue
		}
		if err == nil {
			c.mu.Lock()
			c.outputs[model] = how
			c.mu.Unlock()
		}
		return reply, err
	}
}

func (c *anthropic) once(ctx context.Context, model string, req turn.Request, how anthropicOutput, onDelta func(string)) (turn.Reply, error) {
	a, err := c.send(ctx, http.MethodPost, "messages", messagesRequest(model, req, how))
	if err != nil {
		return turn.Reply{}, err
	}
	defer a.close()
	s := messageStream{wire: c.wire, onDelta: onDelta}
	if req.Output != nil && how == byForcedTool {
		s.answerTool = outputTool(req.Output)
	}
	err = s.read(a)
	return s.finish(ctx, a, req, err)
}

// block is a content block of the Messages API, in either direction.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   string          `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
}

type blockMessage struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// outputTool is the tool that carries a structured reply where it must be forced.
func outputTool(o *turn.OutputSchema) string { return sentName(cmp.Or(o.Name, "output")) }

// messagesRequest writes a request in the form of POST /v1/messages. The API is
// strict where the other is lenient: the roles alternate, the first is a
// person's, the results of all calls of one answer stand together in the next
// message, and no text is empty.
func messagesRequest(model string, req turn.Request, how anthropicOutput) map[string]any {
	system := req.System
	var messages []blockMessage
	add := func(role string, b ...block) {
		if len(b) == 0 {
			return
		}
		if n := len(messages); n > 0 && messages[n-1].Role == role {
			messages[n-1].Content = append(messages[n-1].Content, b...)
			return
		}
		messages = append(messages, blockMessage{role, b})
	}
	text := func(s string) []block {
		if strings.TrimSpace(s) == "" {
			return nil
		}
		return []block{{Type: "text", Text: s}}
	}
	for _, m := range req.Messages {
		switch m.Role {
		case turn.System:
			system = strings.TrimSpace(system + "\n\n" + m.Content)
		case turn.User:
			add("user", text(m.Content)...)
		case turn.Tool:
			add("user", block{Type: "tool_result", ToolUseID: sentID(m.ToolCallID), Content: m.Content, IsError: m.IsError})
		case turn.Assistant:
			if len(messages) == 0 {
				add("user", block{Type: "text", Text: "(The conversation so far was left out.)"})
			}
			// An answer may not end in white space when it is the last message.
			add("assistant", text(strings.TrimRight(m.Content, " \t\r\n"))...)
			for _, call := range m.ToolCalls {
				add("assistant", block{
					Type: "tool_use", ID: sentID(call.ID), Name: sentName(call.Name), Input: sentArguments(call.Arguments),
				})
			}
		}
	}
	body := map[string]any{
		"model": model, "stream": true, "messages": messages,
		"max_tokens": cmp.Or(req.MaxOutputTokens, anthropicMaxTokens),
	}
	var tools []any
	for _, t := range req.Tools {
		tools = append(tools, map[string]any{"name": t.Name, "description": t.Description, "input_schema": t.Schema})
	}
	if req.ToolsOff && len(tools) > 0 {
		// Calls in the messages without the tools that they were of are answered with
		// nothing at times.
		body["tool_choice"] = map[string]any{"type": "none"}
	}
	if o := req.Output; o != nil {
		switch how {
		case byFormat:
			body["output_config"] = map[string]any{"format": map[string]any{"type": "json_schema", "schema": o.Schema}}
		case byForcedTool:
			name := outputTool(o)
			tools = append(tools, map[string]any{
				"name": name, "description": "Give your answer with this tool.", "input_schema": o.Schema,
			})
			body["tool_choice"] = map[string]any{"type": "tool", "name": name, "disable_parallel_tool_use": true}
		case byWords:
			system = strings.TrimSpace(system + "\n\n" + askForJSON(o))
		}
	}
	if system != "" {
		body["system"] = system
	}
	if len(tools) > 0 {
		body["tools"] = tools
	}
	return body
}
