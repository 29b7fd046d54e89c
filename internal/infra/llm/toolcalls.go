package llm

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/turn"
)

// maxCalls bounds the tool calls of one answer. A model that asks for more is
// in a loop.
const maxCalls = 128

var errTooManyCalls = fmt.Errorf("more than %d tool calls in one answer", maxCalls)

// callDelta is a piece of a tool call as an OpenAI-compatible server streams it.
type callDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string        `json:"name"`
		Arguments flexArguments `json:"arguments"`
	} `json:"function"`
}

// assembler puts tool calls together out of their pieces. By the protocol the
// index says which call a piece belongs to. Servers differ: some send whole
// calls without an index, some give every call index 0 and its own id, some
// repeat id and name in each piece.
type assembler struct {
	calls   []turn.ToolCall
	args    []*strings.Builder // of each call: they come in thousands of pieces
	byIndex map[int]int        // the protocol's index to a place in calls
	size    int                // bytes of arguments that came
}

// begin adds a call.
func (a *assembler) begin(c turn.ToolCall) error {
	if len(a.calls) >= maxCalls {
		return errTooManyCalls
	}
	a.calls, a.args = append(a.calls, c), append(a.args, new(strings.Builder))
	return nil
}

// more adds a piece of the arguments of a call.
func (a *assembler) more(i int, piece string) {
	a.size += len(piece)
	a.args[i].WriteString(piece)
}

func (a *assembler) add(d callDelta) error {
	i := a.place(d)
	if i < 0 {
		i = len(a.calls)
		if err := a.begin(turn.ToolCall{}); err != nil {
			return err
		}
	}
	if d.Index != nil {
		if a.byIndex == nil {
			a.byIndex = map[int]int{}
		}
		a.byIndex[*d.Index] = i
	}
	c := &a.calls[i]
	if c.ID == "" {
		c.ID = d.ID
	}
	if d.Function.Name != c.Name { // equal: a server that repeats it
		c.Name += d.Function.Name
		a.size += len(d.Function.Name)
	}
	if d.Function.Arguments.whole {
		a.args[i].Reset()
	}
	a.more(i, d.Function.Arguments.text)
	return nil
}

// place returns which call a piece belongs to, -1 when it begins a new one.
func (a *assembler) place(d callDelta) int {
	if d.Index != nil {
		i, known := a.byIndex[*d.Index]
		if !known || d.ID != "" && a.calls[i].ID != "" && d.ID != a.calls[i].ID {
			return -1
		}
		return i
	}
	if d.ID != "" {
		for i := range a.calls {
			if a.calls[i].ID == d.ID {
				return i
			}
		}
		return -1
	}
	if d.Function.Name != "" {
		return -1
	}
	return len(a.calls) - 1 // arguments alone continue the last call
}

// done returns the calls. Each has an id, and no two the same: the result of a
// call is found by it.
func (a *assembler) done() []turn.ToolCall {
	seen := map[string]bool{}
	for i := range a.calls {
		c := &a.calls[i]
		if c.ID == "" || seen[c.ID] {
			c.ID = "call_" + id.New()
		}
		seen[c.ID] = true
		if c.Arguments = a.args[i].String(); c.Arguments == "" {
			c.Arguments = "{}" // a tool without parameters is often called with nothing
		}
	}
	return a.calls
}

// What follows prepares calls that go back to a provider as history. A call
// that the model wrote badly stays in the conversation, so that the model reads
// why it failed; sent as it stands it would make every further request a 400.

// sentArguments returns arguments as a JSON object. What is none is wrapped.
func sentArguments(s string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(s), &object) == nil && object != nil {
		return json.RawMessage(s)
	}
	b, _ := json.Marshal(map[string]string{"not_json": s}) // a map of strings always marshals
	return b
}

var notInName = regexp.MustCompile(`[^a-zA-Z0-9_-]+`)

// sentName returns a tool's name as both protocols accept it: letters, digits,
// _ and -, at most 64.
func sentName(s string) string {
	s = notInName.ReplaceAllString(s, "_")
	if s == "" {
		return "nameless_tool"
	}
	return s[:min(len(s), 64)]
}

// sentID returns a call's id as Anthropic accepts it; an id that another
// provider made may hold other characters.
func sentID(s string) string {
	s = notInName.ReplaceAllString(s, "_")
	if s == "" {
		return "call"
	}
	return s
}
