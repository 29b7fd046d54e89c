package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Request is one request for a reply, in one form for both wires.
type Request struct {
	N         int    // the first is 1
	Key       string // what LogTo's pattern found in the prompt
	Path      string
	Header    http.Header
	Model     string
	System    string
	Messages  []Message
	Tools     []string
	ToolsOff  bool            // tools are shown and may not be called
	Format    json.RawMessage // response_format, output_config, or the schema of a forced tool; nil for free text
	Forced    string          // the tool that must be called
	Stream    bool
	MaxTokens int
	Body      json.RawMessage

	tooOld bool // max_tokens was sent, not max_completion_tokens
	usage  bool // stream_options.include_usage
}

// Message is one message of a request. A tool's result is a message of its own,
// also where the wire puts several into one.
type Message struct {
	Role    string
	Text    string
	Calls   []Call
	CallID  string // of a tool's result
	IsError bool
}

// Prompt returns all the text of a request.
func (r Request) Prompt() string {
	parts := []string{r.System}
	for _, m := range r.Messages {
		parts = append(parts, m.Text)
	}
	return strings.Join(parts, "\n")
}

// Last returns the role of the last message: "tool" after tools have run.
func (r Request) Last() string {
	if len(r.Messages) == 0 {
		return ""
	}
	return r.Messages[len(r.Messages)-1].Role
}

// HasTool reports whether a tool is offered.
func (r Request) HasTool(name string) bool { return slices.Contains(r.Tools, name) }

// decode reads a request of either wire. Unlike a client, a server is strict:
// what has another type than the protocol says is an error.
func decode(r *http.Request, body []byte) (Request, error) {
	req := Request{Path: r.URL.Path, Header: r.Header.Clone(), Body: body}
	var err error
	if req.Path == "/v1/messages" {
		err = decodeAnthropic(body, &req)
	} else {
		err = decodeOpenAI(body, &req)
	}
	return req, err
}

func decodeOpenAI(body []byte, req *Request) error {
	var in struct {
		Model         string `json:"model"`
		Stream        bool   `json:"stream"`
		StreamOptions *struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
		MaxTokens           int             `json:"max_tokens"`
		MaxCompletionTokens int             `json:"max_completion_tokens"`
		ResponseFormat      json.RawMessage `json:"response_format"`
		Messages            []struct {
			Role       string          `json:"role"`
			Content    json.RawMessage `json:"content"`
			ToolCallID string          `json:"tool_call_id"`
			ToolCalls  []struct {
				ID       string `json:"id"`
				Type     string `json:"type"`
				Function struct {
					Name      string `json:"name"`
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
		Tools []struct {
			Type     string `json:"type"`
			Function struct {
				Name       string         `json:"name"`
				Parameters map[string]any `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return fmt.Errorf("the request is not JSON of the protocol: %w", err)
	}
	req.Model, req.Stream, req.Format = in.Model, in.Stream, in.ResponseFormat
	req.MaxTokens, req.tooOld = max(in.MaxTokens, in.MaxCompletionTokens), in.MaxTokens > 0
	req.usage = in.StreamOptions != nil && in.StreamOptions.IncludeUsage
	for _, t := range in.Tools {
		if t.Type != "function" || t.Function.Name == "" || t.Function.Parameters["type"] != "object" {
			return fmt.Errorf("tool %q is no function with an object as parameters", t.Function.Name)
		}
		req.Tools = append(req.Tools, t.Function.Name)
	}
	for i, m := range in.Messages {
		text, err := contentText(m.Content)
		if err != nil {
			return fmt.Errorf("messages[%d].content: %w", i, err)
		}
		if m.Role == "system" || m.Role == "developer" {
			req.System += text
			continue
		}
		out := Message{Role: m.Role, Text: text, CallID: m.ToolCallID}
		for _, c := range m.ToolCalls {
			if c.Type != "function" {
				return fmt.Errorf("messages[%d]: a tool call has type %q", i, c.Type)
			}
			out.Calls = append(out.Calls, Call{c.ID, c.Function.Name, c.Function.Arguments})
		}
		req.Messages = append(req.Messages, out)
	}
	return nil
}

func contentText(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s, nil
	}
	var parts []struct {
		Type, Text string
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", err
	}
	for _, p := range parts {
		s += p.Text
	}
	return s, nil
}

func decodeAnthropic(body []byte, req *Request) error {
	var in struct {
		Model        string          `json:"model"`
		Stream       bool            `json:"stream"`
		MaxTokens    int             `json:"max_tokens"`
		System       json.RawMessage `json:"system"`
		OutputConfig json.RawMessage `json:"output_config"`
		ToolChoice   struct {
			Type string `json:"type"`
			Name string `json:"name"`
		} `json:"tool_choice"`
		Tools []struct {
			Name        string         `json:"name"`
			InputSchema map[string]any `json:"input_schema"`
		} `json:"tools"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return fmt.Errorf("the request is not JSON of the protocol: %w", err)
	}
	req.Model, req.Stream, req.MaxTokens, req.Format = in.Model, in.Stream, in.MaxTokens, in.OutputConfig
	var err error
	if req.System, err = contentText(in.System); err != nil {
		return fmt.Errorf("system: %w", err)
	}
	for _, t := range in.Tools {
		if t.InputSchema["type"] != "object" {
			return fmt.Errorf("tools.%s.input_schema: type must be object", t.Name)
		}
		req.Tools = append(req.Tools, t.Name)
		if in.ToolChoice.Type == "tool" && in.ToolChoice.Name == t.Name {
			req.Forced = t.Name
			req.Format, _ = json.Marshal(t.InputSchema)
		}
	}
	req.ToolsOff = in.ToolChoice.Type == "none"
	if req.ToolsOff && len(in.Tools) == 0 {
		return fmt.Errorf("tool_choice: may only be given with tools")
	}
	if in.MaxTokens <= 0 {
		return fmt.Errorf("max_tokens: Field required")
	}
	for i, m := range in.Messages {
		want := "user"
		if i%2 == 1 {
			want = "assistant"
		}
		if m.Role != want {
			return fmt.Errorf("messages.%d: roles must alternate, and the first is user", i)
		}
		var blocks []struct {
			Type      string          `json:"type"`
			Text      string          `json:"text"`
			ID        string          `json:"id"`
			Name      string          `json:"name"`
			Input     json.RawMessage `json:"input"`
			ToolUseID string          `json:"tool_use_id"`
			Content   json.RawMessage `json:"content"`
			IsError   bool            `json:"is_error"`
		}
		if s := ""; json.Unmarshal(m.Content, &s) == nil {
			req.Messages = append(req.Messages, Message{Role: m.Role, Text: s})
			continue
		}
		if err := json.Unmarshal(m.Content, &blocks); err != nil || len(blocks) == 0 {
			return fmt.Errorf("messages.%d: content must be text or non-empty blocks", i)
		}
		out := Message{Role: m.Role}
		for _, b := range blocks {
			switch b.Type {
			case "text":
				if strings.TrimSpace(b.Text) == "" {
					return fmt.Errorf("messages.%d: text content blocks must be non-empty", i)
				}
				out.Text += b.Text
			case "tool_use":
				if len(b.Input) == 0 || b.Input[0] != '{' {
					return fmt.Errorf("messages.%d: tool_use.input: must be an object", i)
				}
				out.Calls = append(out.Calls, Call{b.ID, b.Name, string(b.Input)})
			case "tool_result":
				text, err := contentText(b.Content)
				if err != nil {
					return fmt.Errorf("messages.%d: tool_result: %w", i, err)
				}
				req.Messages = append(req.Messages, Message{Role: "tool", Text: text, CallID: b.ToolUseID, IsError: b.IsError})
			default:
				return fmt.Errorf("messages.%d: unknown block %q", i, b.Type)
			}
		}
		if out.Text != "" || len(out.Calls) > 0 {
			req.Messages = append(req.Messages, out)
		}
	}
	return nil
}

// check refuses what the real server would refuse.
func (s *Server) check(req Request) *problem {
	bad := func(code, format string, args ...any) *problem {
		return &problem{400, fmt.Sprintf(format, args...), code}
	}
	if !slices.Contains(s.models, req.Model) {
		if req.Path == "/v1/messages" {
			return &problem{404, "model: " + req.Model, "not_found_error"}
		}
		return &problem{404, fmt.Sprintf("The model `%s` does not exist or you do not have access to it.", req.Model), "model_not_found"}
	}
	if len(req.Messages) == 0 {
		return bad("", "messages: at least one message is required")
	}
	open := map[string]bool{}
	for i, m := range req.Messages {
		if m.Role == "tool" {
			if !open[m.CallID] {
				return bad("", "messages.%d: the tool result %q answers no call of the message before it", i, m.CallID)
			}
			delete(open, m.CallID)
			continue
		}
		if len(open) > 0 {
			return bad("", "messages.%d: %d tool calls before it have no result", i, len(open))
		}
		for _, c := range m.Calls {
			if c.ID == "" || c.Name == "" || open[c.ID] {
				return bad("", "messages.%d: a tool call without an id or a name, or with the id of another", i)
			}
			if !json.Valid([]byte(c.Arguments)) && s.profile == VLLM {
				return bad("", "messages.%d: the arguments of a tool call are not JSON", i) // its chat template parses them
			}
			open[c.ID] = true
		}
	}
	if len(open) > 0 {
		return bad("", "%d tool calls at the end have no result", len(open))
	}
	if req.Path == "/v1/messages" {
		return nil
	}
	format := string(req.Format)
	switch {
	case s.profile == DeepSeek && strings.Contains(format, `"json_schema"`):
		return bad("invalid_request_error", "This response_format type is unavailable now")
	case (s.profile == DeepSeek || s.profile == OpenAI) && strings.Contains(format, `"json_object"`) && !strings.Contains(strings.ToLower(req.Prompt()), "json"):
		return bad("", "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.")
	case s.profile == OpenAI && req.tooOld && (strings.HasPrefix(req.Model, "gpt-5") || strings.HasPrefix(req.Model, "o")):
		return bad("unsupported_parameter", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
	}
	return nil
}
