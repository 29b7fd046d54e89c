package turn

import (
	"strings"
	"testing"

	"github.com/dogwatch/dogwatch/internal/domain/operation"
)

// L-01: nine are made, ten to nineteen are warned of, from twenty on the run ends.
func TestEqualCallsAreWarnedOfAndThenEndTheRun(t *testing.T) {
	for n := 1; n <= 25; n++ {
		before := Made{Equal: n - 1}
		got, closing := Guard(before), Closing(before, false)
		switch {
		case n < 10 && (got != nil || closing != nil):
			t.Errorf("call %d: %v, %v", n, got, closing)
		case n >= 10 && n < 20 && (got == nil || got.IsError || !strings.Contains(got.Result, `"code":"REPEATED_TOOL_CALL","count":`) || closing != nil):
			t.Errorf("call %d: %v, %v", n, got, closing)
		case n >= 20 && (got == nil || !got.IsError || !strings.Contains(got.Result, `"code":"TOOL_LOOP_DETECTED"`) || closing == nil ||
			*closing != Final{operation.ReasonError, operation.DetailLoop}):
			t.Errorf("call %d: %v, %v", n, got, closing)
		}
	}
}

func TestThreeEqualFailuresLetTheNextAnswerBeTheLast(t *testing.T) {
	for _, c := range []struct {
		before Made
		failed bool
		ends   bool
	}{
		{Made{}, true, false},
		{Made{Equal: 1, Failed: 1}, true, false},
		{Made{Equal: 2, Failed: 2}, true, true},
		{Made{Equal: 2, Failed: 2}, false, false}, // it worked this time
		{Made{Equal: 5, Failed: 1}, true, false},
	} {
		if got := Closing(c.before, c.failed); (got != nil) != c.ends || got != nil && got.Reason != operation.ReasonDone {
			t.Errorf("%+v, failed %v: %v", c.before, c.failed, got)
		}
	}
}

func TestWhatMakesTwoCallsEqual(t *testing.T) {
	for _, c := range []struct {
		id, a, b string
		equal    bool
	}{
		{"L-02: the order of keys", `{"a": 1, "b": 2}`, `{"b":2,"a":1}`, true},
		{"the order of keys further in", `{"a": {"x": [1, {"p": 1, "q": 2}], "y": 2}}`, `{"a": {"y": 2, "x": [1, {"q": 2, "p": 1}]}}`, true},
		{"the order of a list", `{"a": [1, 2]}`, `{"a": [2, 1]}`, false},
		{"L-04: a number and its digits", `{"n": 2}`, `{"n": "2"}`, false},
		{"big numbers that a float would make one", `{"n": 9007199254740993}`, `{"n": 9007199254740992}`, false},
		{"L-14: null and absent", `{"a": 1, "b": null}`, `{"a": 1}`, false},
		{"escapes", `{"a": "\u0041"}`, `{"a": "A"}`, true},
	} {
		a, ok := Digest(ToolCall{Name: "t", Arguments: c.a})
		b, ok2 := Digest(ToolCall{Name: "t", Arguments: c.b})
		if !ok || !ok2 || (a == b) != c.equal {
			t.Errorf("%s: %v", c.id, a == b)
		}
	}
	one, _ := Digest(ToolCall{Name: "t1", Arguments: "{}"})
	two, _ := Digest(ToolCall{Name: "t2", Arguments: "{}"})
	if one == two {
		t.Error("L-06: two tools are counted apart")
	}
	for _, bad := range []string{"", "{", `{"a": 1} x`, "nil"} {
		if _, ok := Digest(ToolCall{Name: "t", Arguments: bad}); ok {
			t.Errorf("L-08: %q is counted", bad)
		}
	}
}

func TestTheLastAnswerIsTheLast(t *testing.T) {
	final := &Final{operation.ReasonError, operation.DetailLoop}
	s := State{Phase: Act, Calls: calls, Text: "I look."}.AfterTools(final)
	if in := Next(s, operation.Usage{}, operation.Limits{}); in.Do != DoThink || s.Nudge() == "" {
		t.Fatalf("%+v, told %q", in, s.Nudge())
	}
	for _, r := range []Reply{{Text: "This is how far I came."}, {ToolCalls: calls}, {}, {Text: "Cut", Stop: StopLength}} {
		after := s.AfterReply(r)
		in := Next(after, operation.Usage{}, operation.Limits{})
		if in.Do != DoFinish || in.Reason != final.Reason || in.Detail != final.Detail || after.Text == "" {
			t.Errorf("after %+v: %+v, %+v", r, after, in)
		}
	}
}

func TestAnAnswerThatWasCutOffIsGoneOnWith(t *testing.T) {
	s := State{}.AfterReply(Reply{Text: "The report beg", Stop: StopLength})
	if in := Next(s, operation.Usage{}, operation.Limits{}); in.Do != DoThink || s.Nudge() != nudgeCut {
		t.Fatalf("%+v, told %q", in, s.Nudge())
	}
	s = s.AfterReply(Reply{Text: "ins here and e", Stop: StopLength}).AfterReply(Reply{Text: "nds here."})
	if s.Phase != End || s.Text != "The report begins here and ends here." {
		t.Errorf("%+v", s)
	}
	var long State
	for n := 0; long.Phase != End; n++ {
		if long = long.AfterReply(Reply{Text: "x", Stop: StopLength}); n > maxCuts {
			t.Fatal("it is gone on with for ever")
		}
	}
}
