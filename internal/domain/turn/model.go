package turn

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/budget"
)

// Role is who a message comes from.
type Role string

const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Message is one message of a conversation with a model.
type Message struct {
	Role       Role
	Content    string
	ToolCalls  []ToolCall // of an assistant
	ToolCallID string     // of a tool's result: the call that it answers
	IsError    bool       // of a tool's result
}

// ToolCall is a model's wish to call a tool. Arguments are what the model wrote:
// perhaps not JSON, perhaps not what the tool's schema asks for.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// ToolSpec tells a model of a tool.
type ToolSpec struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of the arguments, an object
}

// Request is one call of a model.
type Request struct {
	Model           string // "provider/model"
	System          string
	Messages        []Message
	Tools           []ToolSpec
	ToolsOff        bool          // none of them may be called; they were, in the messages
	Output          *OutputSchema // the reply must be JSON of this schema; nil for free text
	MaxOutputTokens int           // 0: the provider's default
}

// Callable returns the tools that the model may call.
func (r Request) Callable() []ToolSpec {
	if r.ToolsOff {
		return nil
	}
	return r.Tools
}

// perMessage is what the role and the separators of a message take.
const perMessage = 4

// Tokens returns about how many tokens the request has, by an estimate of a text.
func (r Request) Tokens(estimate func(string) int) int {
	n := estimate(r.System)
	for _, m := range r.Messages {
		n += estimate(m.Content) + perMessage
		for _, c := range m.ToolCalls {
			n += estimate(c.Name) + estimate(c.Arguments)
		}
	}
	for _, t := range r.Tools {
		n += estimate(t.Name) + estimate(t.Description) + estimate(string(t.Schema))
	}
	return n
}

// OutputSchema asks for a structured reply.
type OutputSchema struct {
	Name   string
	Schema json.RawMessage
}

// StopReason is why a model stopped, in one vocabulary for all providers.
type StopReason string

const (
	StopEnd    StopReason = "end"        // it had said what it wanted to say
	StopTools  StopReason = "tool_calls" // it waits for tools
	StopLength StopReason = "length"     // cut off at the limit of output tokens
	StopFilter StopReason = "filtered"   // the provider's content filter
)

// Reply is what a model answered.
type Reply struct {
	Text      string
	Reasoning string
	ToolCalls []ToolCall
	Stop      StopReason
	Usage     budget.Usage
	Estimated bool        // the provider reported no usage; Usage is our estimate
	Cost      *budget.USD // as reported by the provider, else by the price list, else nil
	Model     string      // the model that answered, as the provider names it
}

// ErrorClass is what went wrong with a model call, and so whether to try again.
type ErrorClass string

const (
	ErrAuth        ErrorClass = "provider_auth"        // 401, 403: a person must mend the key
	ErrRateLimit   ErrorClass = "provider_rate_limit"  // 429
	ErrQuota       ErrorClass = "provider_quota"       // the account has no money left
	ErrOverloaded  ErrorClass = "provider_overloaded"  // 503, 529
	ErrServer      ErrorClass = "provider_error"       // other 5xx
	ErrNetwork     ErrorClass = "provider_unreachable" // no connection, or it broke in mid-stream
	ErrSilence     ErrorClass = "provider_silent"      // nothing was heard for too long
	ErrBadReply    ErrorClass = "provider_bad_reply"   // an answer that is not of the protocol
	ErrBadRequest  ErrorClass = "provider_bad_request" // 400, 404, 422: ours or the operator's fault
	ErrTooLong     ErrorClass = "context_too_long"     // the prompt does not fit the model
	ErrUnsupported ErrorClass = "model_unsupported"    // no such provider or model is configured
)

// Retryable reports whether the same call may succeed later.
func (c ErrorClass) Retryable() bool {
	switch c {
	case ErrRateLimit, ErrOverloaded, ErrServer, ErrNetwork, ErrSilence, ErrBadReply:
		return true
	}
	return false
}

// ModelError is a failed model call.
type ModelError struct {
	Class      ErrorClass
	Status     int           // HTTP status, 0 when there was none
	RetryAfter time.Duration // as the provider asks, 0 when it does not
	Msg        string        // for people; never holds a key
	Err        error
}

func (e *ModelError) Error() string {
	s := fmt.Sprintf("%s: %s", e.Class, e.Msg)
	if e.Status != 0 {
		s = fmt.Sprintf("%s (HTTP %d)", s, e.Status)
	}
	return s
}

func (e *ModelError) Unwrap() error { return e.Err }
