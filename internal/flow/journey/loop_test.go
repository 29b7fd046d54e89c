package journey

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/domain/turn"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
	"github.com/dogwatch/dogwatch/internal/testkit/rig"
)

// loops lets the model answer every request with what wants says, as long as it may
// call tools.
func (s story) loops(wants func(n int) turn.Reply) (asked *int) {
	asked = new(int)
	s.Model.Reply = func(r turn.Request) (turn.Reply, error) {
		if r.Output != nil || r.ToolsOff {
			return rig.Plain(r)
		}
		*asked++
		return wants(*asked), nil
	}
	return asked
}

// manySteps lets a run go on for long enough.
var manySteps = task.Config{Budget: task.Budget{Operation: task.Allowance{Steps: 200}}}

// codes are what the calls of an operation were answered, in a word each.
func codes(s story, operationID string) string {
	s.Helper()
	made, err := s.Store.ToolCalls(s.Context(), s.Scope(), operationID, 0)
	s.Must(err)
	var out strings.Builder
	for _, c := range made {
		switch {
		case strings.Contains(*c.Result, "REPEATED_TOOL_CALL"):
			out.WriteByte('w')
		case strings.Contains(*c.Result, "TOOL_LOOP_DETECTED"):
			out.WriteByte('L')
		case c.IsError:
			out.WriteByte('e')
		default:
			out.WriteByte('.')
		}
	}
	return out.String()
}

func TestARunThatGoesInCirclesIsStoppedAndReports(t *testing.T) {
	for _, c := range []struct {
		name  string
		wants func(n int) turn.Reply
		calls string
		ends  operation.Reason
	}{
		{"L-01: the same call again and again", func(int) turn.Reply { return rig.Wants("list_documents", `{}`) },
			".........wwwwwwwwwwL", operation.ReasonError},
		{"L-02: with its keys in another order", func(n int) turn.Reply {
			return rig.Wants("search_documents", []string{`{"query": "x", "folder": "a"}`, `{"folder": "a", "query": "x"}`}[n%2])
		}, ".........wwwwwwwwwwL", operation.ReasonError},
		{"L-09: a tool that does not exist fails three times before it is warned of", func(int) turn.Reply { return rig.Wants("fly", `{}`) },
			"eee", operation.ReasonDone},
		{"three equal failures", func(int) turn.Reply { return rig.Wants("read_document", `{"id": "nowhere"}`) },
			"eee", operation.ReasonDone},
		{"L-13: equal calls in one answer are counted one by one", func(int) turn.Reply {
			r := rig.Wants("list_documents", `{}`)
			for i := range 11 {
				r.ToolCalls = append(r.ToolCalls, turn.ToolCall{ID: fmt.Sprint("again-", i), Name: "list_documents", Arguments: `{}`})
			}
			return r
		}, ".........wwwwwwwwwwLLLLL", operation.ReasonError},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := story{rig.New(t)}
			s.loops(c.wants)
			tk := s.create(steer.NewTask{Instruction: "Look around.", Start: true, Config: manySteps})
			s.Drain()
			tp := s.topics(tk.ID)[0]
			ops := s.operations(tp.ID)
			o := ops[len(ops)-1]
			if got := codes(s, o.ID); got != c.calls {
				t.Errorf("its calls: %s, want %s", got, c.calls)
			}
			if o.Reason != c.ends || o.Detail != operation.DetailLoop {
				t.Errorf("it ended as %s, %s", o.Reason, o.Detail)
			}
			if tp.FinalText == nil || *tp.FinalText == "" || tp.Handoff == nil {
				t.Error("it left no report")
			}
		})
	}
}

func TestAToolWhoseAnswerChangesByItselfMayBeAskedAgain(t *testing.T) {
	s := story{rig.New(t)}
	s.loops(func(n int) turn.Reply {
		if n > 30 {
			return rig.Says("Enough.")
		}
		return rig.Wants("current_time", `{}`)
	})
	tk := s.create(steer.NewTask{Instruction: "Wait a little.", Start: true, Config: manySteps})
	s.Drain()
	tp := s.topics(tk.ID)[0]
	if tp.Reason != operation.ReasonDone || tp.ReasonDetail != "" || deref(tp.FinalText) != "Enough." {
		t.Errorf("it ended as %s, %s: %s", tp.Reason, tp.ReasonDetail, deref(tp.FinalText))
	}
}

func TestAReportThatWasCutOffIsOneReport(t *testing.T) {
	s := story{rig.New(t)}
	parts := []turn.Reply{{Text: "First half, ", Stop: turn.StopLength}, {Text: "second half.", Stop: turn.StopEnd}}
	s.Model.Reply = func(r turn.Request) (turn.Reply, error) {
		if r.Output != nil {
			return rig.Plain(r)
		}
		next := parts[0]
		parts = parts[1:]
		return next, nil
	}
	tk := s.create(steer.NewTask{Instruction: "Write much.", Start: true})
	s.Drain()
	if tp := s.topics(tk.ID)[0]; deref(tp.FinalText) != "First half, second half." {
		t.Errorf("the report is %q", deref(tp.FinalText))
	}
}
