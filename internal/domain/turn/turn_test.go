package turn

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
)

var calls = []ToolCall{{ID: "1", Name: "current_time", Arguments: "{}"}}

func TestWhatComesNext(t *testing.T) {
	limits := operation.Limits{Steps: 5, Seconds: 60}
	spent := operation.Usage{Steps: 5}
	for _, c := range []struct {
		name   string
		state  State
		used   operation.Usage
		do     Do
		reason operation.Reason
		detail string
	}{
		{"the beginning", State{}, operation.Usage{}, DoThink, "", ""},
		{"calls were asked for", State{Phase: Act, Calls: calls}, operation.Usage{}, DoAct, "", ""},
		{"calls are made even at the limit", State{Phase: Act, Calls: calls}, spent, DoAct, "", ""},
		{"no thought is paid for past the limit", State{}, spent, DoFinish, operation.ReasonMaxSteps, ""},
		{"nor past its time", State{}, operation.Usage{Elapsed: time.Minute}, DoFinish, operation.ReasonInterrupted, operation.DetailTimeLimit},
		{"the last word is the end, also at the limit", State{Phase: End, Text: "Done."}, spent, DoFinish, operation.ReasonDone, ""},
		{"a model that says nothing", State{Phase: Stuck}, operation.Usage{}, DoFinish, operation.ReasonError, DetailEmpty},
		{"a phase of another version", State{Phase: "dream"}, operation.Usage{}, DoThink, "", ""},
	} {
		in := Next(c.state, c.used, limits)
		if in.Do != c.do || in.Reason != c.reason || in.Detail != c.detail {
			t.Errorf("%s: %+v", c.name, in)
		}
	}
}

func TestAfterAReply(t *testing.T) {
	for _, c := range []struct {
		name  string
		state State
		reply Reply
		want  State
	}{
		{"a text is the last word", State{Empty: 2}, Reply{Text: " Done. "}, State{Phase: End, Text: "Done."}},
		{"calls come before the end", State{}, Reply{Text: "I look.", ToolCalls: calls}, State{Phase: Act, Calls: calls, Text: "I look."}},
		{"silent calls keep the last text", State{Text: "I look."}, Reply{ToolCalls: calls}, State{Phase: Act, Calls: calls, Text: "I look."}},
		{"calls end a row of empty answers", State{Empty: 2}, Reply{ToolCalls: calls}, State{Phase: Act, Calls: calls}},
		{"an empty answer", State{}, Reply{}, State{Empty: 1}},
		{"blanks are empty", State{Text: "I look."}, Reply{Text: "\n "}, State{Text: "I look.", Empty: 1}},
		{"the third in a row", State{Empty: 2}, Reply{}, State{Phase: Stuck, Empty: 3}},
	} {
		got := c.state.AfterReply(c.reply)
		if got.Phase != c.want.Phase || got.Text != c.want.Text || got.Empty != c.want.Empty || len(got.Calls) != len(c.want.Calls) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	if got := (State{Phase: Act, Calls: calls, Text: "I look.", Empty: 1}).AfterTools(nil); got.Phase != Think || got.Text != "I look." || got.Calls != nil || got.Empty != 0 {
		t.Errorf("after the tools: %+v", got)
	}
}

// The brain has an answer in every state, and one that the engine can carry out.
func TestNextIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := State{
			Phase: rapid.SampledFrom([]Phase{Think, Act, End, Stuck, "unknown"}).Draw(t, "phase"),
			Text:  rapid.String().Draw(t, "text"), Empty: rapid.IntRange(0, 5).Draw(t, "empty"),
		}
		if s.Phase == Act {
			s.Calls = calls
		}
		u := operation.Usage{Steps: rapid.IntRange(0, 99).Draw(t, "steps"), Tokens: budget.Usage{InputTokens: rapid.Int64Range(0, 99).Draw(t, "tokens")}, Elapsed: time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "elapsed"))}
		l := operation.Limits{Steps: rapid.IntRange(0, 50).Draw(t, "max steps"), Tokens: rapid.Int64Range(0, 50).Draw(t, "max tokens"), Seconds: rapid.IntRange(0, 500).Draw(t, "seconds")}
		switch in := Next(s, u, l); in.Do {
		case DoThink:
		case DoAct:
			if len(in.Calls) == 0 {
				t.Fatal("no calls to make")
			}
		case DoFinish:
			if in.Reason == "" || !in.Reason.Status().Ended() {
				t.Fatalf("it ends for %q", in.Reason)
			}
		default:
			t.Fatalf("%+v", in)
		}
	})
}

// With a limit of steps every operation ends, whatever its model answers.
func TestEveryOperationEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := operation.Limits{Steps: 40}
		var s State
		for steps := 0; steps < 60; steps++ {
			switch in := Next(s, operation.Usage{Steps: steps}, limits); in.Do {
			case DoFinish:
				return
			case DoAct:
				s = s.AfterTools(nil)
			case DoThink:
				var r Reply
				switch rapid.SampledFrom([]string{"call", "call", "call", "nothing"}).Draw(t, "reply") {
				case "call":
					r.ToolCalls = calls
				}
				s = s.AfterReply(r)
			}
		}
		t.Fatal("it never ends")
	})
}

func TestALongRunIsFittedToItsModel(t *testing.T) {
	size := func(s string) int { return len(s) }
	long := strings.Repeat("x", 1000)
	var ms []Message
	ms = append(ms, Message{Role: User, Content: "prompt"})
	for range 10 {
		ms = append(ms, Message{Role: Assistant, ToolCalls: calls}, Message{Role: Tool, Content: long, ToolCallID: "1"})
	}
	if got := Fit(ms, 1<<20, 4, size); len(got) != len(ms) || got[2].Content != long {
		t.Error("what fits is changed")
	}
	got := Fit(ms, 5000, 4, size)
	if len(got) != len(ms) {
		t.Fatalf("%d messages of %d: a call would stand without its result", len(got), len(ms))
	}
	total := 0
	for i, m := range got {
		total += len(m.Content)
		if m.Role != ms[i].Role || m.ToolCallID != ms[i].ToolCallID {
			t.Errorf("message %d is another", i)
		}
	}
	if total > 5000+1000 {
		t.Errorf("%d of 5000", total)
	}
	if got[2].Content == long || got[len(got)-1].Content != long {
		t.Error("the oldest results are cut first, the last messages stay whole")
	}
	if ms[2].Content != long {
		t.Error("the caller's messages are changed")
	}
	if got := Fit(ms, 0, len(ms)+5, size); got[2].Content != long {
		t.Error("what is to be kept is cut")
	}
}
