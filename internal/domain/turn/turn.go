// Package turn is the brain of an operation: from its state and what came last
// it says what to do next. It also holds the values that pass between us and a
// model, in one vocabulary for all providers.
//
// The brain is pure and total. The engine carries out one instruction at a time
// and commits what came of it before it asks for the next.
package turn

import (
	"strings"
	"unicode"

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
	Cuts  int        `json:"cuts,omitempty"`  // answers in a row that the limit of output tokens cut off
	Final *Final     `json:"final,omitempty"` // the next answer is the last, without tools
}

// Final is how an operation ends after a last answer that is asked for without tools.
type Final struct {
	Reason operation.Reason `json:"reason"`
	Detail string           `json:"detail"`
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

// maxCuts is how many times in a row an answer is gone on with that was cut off: a
// report of so many answers is longer than anybody reads.
const maxCuts = 5

// DetailEmpty refines an error: the model answered nothing.
const DetailEmpty = "empty_reply"

// Next says what to do in a state. A limit that is reached ends the operation
// before the next call is paid for; what the model asked for last is still done,
// so that no reply stands without its results.
func Next(s State, used operation.Usage, limits operation.Limits) Instruction {
	switch s.Phase {
	case End:
		if s.Final != nil {
			return Instruction{Do: DoFinish, Reason: s.Final.Reason, Detail: s.Final.Detail}
		}
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
	said := s.said(r.Text)
	whole := strings.TrimSpace(said)
	switch {
	case s.Final != nil:
		return State{Phase: End, Text: whole, Final: s.Final} // whatever it says or asks for
	case len(r.ToolCalls) > 0:
		return State{Phase: Act, Calls: r.ToolCalls, Text: whole}
	case strings.TrimSpace(r.Text) == "":
		s.Empty++
		if s.Empty >= maxEmpty {
			s.Phase = Stuck
		}
		return s
	case r.Stop == StopLength && s.Cuts < maxCuts:
		return State{Text: said, Cuts: s.Cuts + 1}
	}
	return State{Phase: End, Text: whole}
}

// said is the last text of the agent once it has said more: what was cut off and gone
// on with is one text. The end of it is left as it is, since it may be gone on with.
func (s State) said(text string) string {
	if strings.TrimSpace(text) == "" {
		return s.Text
	}
	if s.Cuts > 0 {
		text = s.Text + text
	}
	return strings.TrimLeftFunc(text, unicode.IsSpace)
}

// AfterTools returns the state after the calls were made. final, when not nil, lets
// the next answer be the last.
func (s State) AfterTools(final *Final) State {
	return State{Text: s.Text, Final: final}
}

// What the model is told where it does not go on by itself.
const (
	nudgeEmpty = "Your last answer was empty. Go on with the task: call a tool, or write your report."
	nudgeCut   = "Your last answer was cut off at the limit of its length. Go on exactly where it ends, without repeating any of it."
	nudgeLoop  = "You have made the same call again and again, and it brings you no further. "
	nudgeSteps = "You have made as many steps as this run may make. "
	nudgeCost  = "What this run may use is used up with your next answer. "
	nudgeFinal = "You can call no more tools. Write your report now: what you did and found, what is left to do, and why."
)

// Nudge is what the model is told before it is asked in this state, "" for nothing.
func (s State) Nudge() string {
	switch {
	case s.Final != nil && s.Final.Detail == operation.DetailLoop:
		return nudgeLoop + nudgeFinal
	case s.Final != nil && s.Final.Reason == operation.ReasonMaxSteps:
		return nudgeSteps + nudgeFinal
	case s.Final != nil:
		return nudgeCost + nudgeFinal
	case s.Empty > 0:
		return nudgeEmpty
	case s.Cuts > 0:
		return nudgeCut
	}
	return ""
}

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
