package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/dogwatch/dogwatch/internal/domain/turn"
)

// Dialect is which OpenAI-compatible server answers. Only what a server cannot
// tell us itself is decided by it; the rest is found out by asking (see quirks).
type Dialect string

const (
	DialectAuto     Dialect = "auto" // by the address
	DialectOpenAI   Dialect = "openai"
	DialectOllama   Dialect = "ollama"
	DialectVLLM     Dialect = "vllm"
	DialectDeepSeek Dialect = "deepseek"
)

func dialectOf(u *url.URL) Dialect {
	host := strings.ToLower(u.Hostname())
	switch {
	case host == "api.openai.com" || strings.HasSuffix(host, ".openai.azure.com"):
		return DialectOpenAI
	case host == "api.deepseek.com":
		return DialectDeepSeek
	case u.Port() == "11434": // Ollama's own port
		return DialectOllama
	}
	return DialectVLLM // the plain form, which every other server understands too
}

// quirks is what a server was found not to understand for a model. They are
// learned from a refusal, used for the next try, and kept once that succeeds.
type quirks struct {
	output       outputMode
	newMaxTokens bool // max_completion_tokens, not max_tokens
	maxToggled   bool
	noUsage      bool // stream_options is refused
	noReasoning  bool // tools are refused unless reasoning_effort is none (OpenAI since GPT-5.6)
}

type openAI struct {
	*wire
	dialect Dialect
	named   string // the default model, when the operator or we have named one

	mu      sync.Mutex
	learned map[string]quirks
	windows map[string]int // tokens that a model reads, as its server says
}

func (c *openAI) quirks(model string) quirks {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q, ok := c.learned[model]; ok {
		return q
	}
	q := quirks{newMaxTokens: c.dialect == DialectOpenAI}
	if c.dialect == DialectDeepSeek {
		q.output = byObject // it has no json_schema
	}
	return q
}

func (c *openAI) learn(model string, q quirks) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.learned[model] = q
}

// call makes one attempt. A server that refuses a part of the request that can
// be said in another way is asked again in that way: an agreement on the
// protocol, not a retry.
func (c *openAI) call(ctx context.Context, model string, req turn.Request, onDelta func(string)) (turn.Reply, error) {
	q := c.quirks(model)
	for changed := false; ; changed = true {
		reply, err := c.once(ctx, model, req, q, onDelta)
		if err == nil && changed {
			c.learn(model, q)
		}
		var ok bool
		if q, ok = q.without(req, err); !ok {
			return reply, err
		}
	}
}

// without returns how to ask again after err; false when there is nothing that
// could be left out. Each step goes one way, so this ends.
func (q quirks) without(req turn.Request, err error) (quirks, bool) {
	var e *turn.ModelError
	var r *refusal
	if !errors.As(err, &e) || e.Class != turn.ErrBadRequest || !errors.As(err, &r) {
		return q, false
	}
	unknown := has(r.words, "unsupported", "not supported", "unknown", "unrecognized", "unexpected", "extra", "not permitted", "not allowed")
	switch {
	case !q.noUsage && has(r.words, "stream_options", "include_usage"):
		q.noUsage = true
		return q, true
	case req.MaxOutputTokens > 0 && !q.maxToggled && unknown && has(r.words, "max_tokens", "max_completion_tokens"):
		q.newMaxTokens, q.maxToggled = !q.newMaxTokens, true
		return q, true
	case len(req.Callable()) > 0 && !q.noReasoning && has(r.words, "reasoning_effort", "reasoning effort"):
		q.noReasoning = true
		return q, true
	case req.Output != nil && q.output < byPrompt && has(r.words, "response_format", "json_schema", "json_object", "json schema", "structured output", "guided", "grammar"):
		q.output++
		return q, true
	}
	return q, false
}

func (c *openAI) once(ctx context.Context, model string, req turn.Request, q quirks, onDelta func(string)) (turn.Reply, error) {
	a, err := c.send(ctx, http.MethodPost, "chat/completions", chatRequest(model, req, q))
	if err != nil {
		return turn.Reply{}, err
	}
	defer a.close()
	s := chatStream{wire: c.wire, onDelta: onDelta}
	err = s.read(a)
	return s.finish(ctx, a, req, err)
}

type chatMessage struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"` // also when empty: some servers refuse a message without
	ToolCalls  []chatCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// chatRequest writes a request in the form of POST /chat/completions.
func chatRequest(model string, req turn.Request, q quirks) map[string]any {
	system := req.System
	body := map[string]any{"model": model, "stream": true}
	if !q.noUsage {
		body["stream_options"] = map[string]any{"include_usage": true}
	}
	if req.MaxOutputTokens > 0 {
		field := "max_tokens"
		if q.newMaxTokens {
			field = "max_completion_tokens"
		}
		body[field] = req.MaxOutputTokens
	}
	if o := req.Output; o != nil {
		switch q.output {
		case bySchema:
			body["response_format"] = map[string]any{"type": "json_schema", "json_schema": map[string]any{
				"name": sentName(o.Name), "schema": o.Schema, "strict": strict(o.Schema),
			}}
		case byObject:
			body["response_format"] = map[string]any{"type": "json_object"}
			fallthrough
		case byPrompt:
			system = strings.TrimSpace(system + "\n\n" + askForJSON(o))
		}
	}
	var messages []chatMessage
	if system != "" {
		messages = append(messages, chatMessage{Role: "system", Content: system})
	}
	for _, m := range req.Messages {
		out := chatMessage{Role: string(m.Role), Content: m.Content, ToolCallID: m.ToolCallID}
		for _, call := range m.ToolCalls {
			cc := chatCall{ID: call.ID, Type: "function"}
			cc.Function.Name, cc.Function.Arguments = sentName(call.Name), string(sentArguments(call.Arguments))
			out.ToolCalls = append(out.ToolCalls, cc)
		}
		if m.Role == turn.Tool && m.IsError {
			out.Content = "Error: " + m.Content // the protocol has no other place for it
		}
		messages = append(messages, out)
	}
	body["messages"] = messages
	// Tools that may not be called are left out: not every server knows tool_choice none.
	if callable := req.Callable(); len(callable) > 0 {
		tools := make([]any, len(callable))
		for i, t := range callable {
			tools[i] = map[string]any{"type": "function", "function": map[string]any{
				"name": t.Name, "description": t.Description, "parameters": t.Schema,
			}}
		}
		body["tools"] = tools
		if q.noReasoning {
			body["reasoning_effort"] = "none"
		}
	}
	return body
}

// notForChat are words in the names of models that cannot hold a conversation.
// A server lists them among the others.
var notForChat = []string{"embed", "bge-", "rerank", "whisper", "tts", "dall-e", "moderation", "transcribe", "image", "audio", "realtime"}

// firstModel returns the model to use when the operator has named none: the
// first that the server lists and that can chat.
func (c *openAI) firstModel(ctx context.Context) (string, error) {
	if c.named != "" {
		return c.named, nil
	}
	a, err := c.send(ctx, http.MethodGet, "models", nil)
	if err != nil {
		return "", err
	}
	defer a.close()
	var list struct {
		Data []struct {
			ID            string `json:"id"`
			MaxModelLen   int    `json:"max_model_len"`  // vLLM
			ContextLength int    `json:"context_length"` // OpenRouter
		} `json:"data"`
	}
	a.raw.left = maxWhole
	if err := json.NewDecoder(a.body).Decode(&list); err != nil {
		if ctx.Err() != nil {
			return "", c.broken(ctx, err)
		}
		return "", c.badReply("does not list its models: %v; is the base URL right?", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	first := ""
	for _, m := range list.Data {
		c.windows[m.ID] = max(m.MaxModelLen, m.ContextLength, 0)
		if first == "" && m.ID != "" && !has(strings.ToLower(m.ID), notForChat...) {
			first = m.ID
		}
	}
	if first == "" {
		return "", &turn.ModelError{Class: turn.ErrUnsupported, Msg: fmt.Sprintf("%s lists no model for chat", c.base.Host)}
	}
	return first, nil
}

func (c *openAI) fixedModel() string { return c.named }

func (c *openAI) window(model string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.windows[model]
}
