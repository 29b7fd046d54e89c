// Package turn is the brain of an operation: from its state and what came last
// it says what to do next. It also holds the values that pass between us and a
// model, in one vocabulary for all providers.
//
// The brain is pure and total. The engine carries out one instruction at a time
// and commits what came of it before it asks for the next.
package turn

import (
	"strings"

	"github.com/dogwatch/dogwatch/internal/domain/operation"
)

// Phase is what an operation is about to do.
type Phase string

const (
	Think Phase = ""      // ask the model; also the beginning
	Act   Phase = "act"   // make the calls that the model asked for
	End   Phase = "end"   // it has said its last word
	Stuck Phase = "stuck" // the model answers nothing
)

// State is the brain's checkpoint. The zero State is the beginning.
type State struct {
	Phase Phase      `json:"phase,omitempty"`
	Calls []ToolCall `json:"calls,omitempty"` // to make, in the phase Act
	Text  string     `json:"text,omitempty"`  // the last text of the agent
	Empty int        `json:"empty,omitempty"` // empty answers in a row
}

// Do is what the engine has to do next.
type Do string

const (
	DoThink  Do = "model"
	DoAct    Do = "tools"
	DoFinish Do = "finish"
)

// Instruction is one thing to do.
type Instruction struct {
	Do     Do
	Calls  []ToolCall       // with DoAct
	Reason operation.Reason // with DoFinish
	Detail string
}

// maxEmpty is how many empty answers in a row end an operation: a model that says
// nothing twice more after being asked again will not begin to.
const maxEmpty = 3

// DetailEmpty refines an error: the model answered nothing.
const DetailEmpty = "empty_reply"

// Next says what to do in a state. A limit that is reached ends the operation
// before the next call is paid for; what the model asked for last is still done,
// so that no reply stands without its results.
func Next(s State, used operation.Usage, limits operation.Limits) Instruction {
	switch s.Phase {
	case End:
		return Instruction{Do: DoFinish, Reason: operation.ReasonDone}
	case Stuck:
		return Instruction{Do: DoFinish, Reason: operation.ReasonError, Detail: DetailEmpty}
	case Act:
		return Instruction{Do: DoAct, Calls: s.Calls}
	}
	if reason, detail, over := limits.Exceeded(used); over {
		return Instruction{Do: DoFinish, Reason: reason, Detail: detail}
	}
	return Instruction{Do: DoThink}
}

// AfterReply returns the state after a model answered.
func (s State) AfterReply(r Reply) State {
	text := strings.TrimSpace(r.Text)
	switch {
	case len(r.ToolCalls) > 0:
		if text == "" {
			text = s.Text
		}
		return State{Phase: Act, Calls: r.ToolCalls, Text: text}
	case text == "":
		s.Empty++
		if s.Empty >= maxEmpty {
			s.Phase = Stuck
		}
		return s
	}
	return State{Phase: End, Text: text}
}

// AfterTools returns the state after the calls were made.
func (s State) AfterTools() State {
	return State{Text: s.Text}
}

// Nudge is what the model is told after an empty answer.
const Nudge = "Your last answer was empty. Go on with the task: call a tool, or write your report."

// Fit cuts the oldest tool results until the messages take at most budget tokens,
// so that a long run does not outgrow its model. The last keep messages stay whole.
func Fit(ms []Message, budget, keep int, estimate func(string) int) []Message {
	total := 0
	for _, m := range ms {
		total += estimate(m.Content)
		for _, c := range m.ToolCalls {
			total += estimate(c.Arguments)
		}
	}
	if total <= budget {
		return ms
	}
	const note = "[This result was cut from the conversation to save room. Call the tool again if you need it.]"
	out := append([]Message(nil), ms...)
	for i := range max(len(out)-keep, 0) {
		if total <= budget {
			break
		}
		if saved := estimate(out[i].Content) - estimate(note); out[i].Role == Tool && saved > 0 {
			out[i].Content = note
			total -= saved
		}
	}
	return out
}
