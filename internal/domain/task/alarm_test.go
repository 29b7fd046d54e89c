package task

import (
	"strings"
	"testing"

	"github.com/dogwatch/dogwatch/internal/domain/brief"
)

func TestAPersonHearsOfTimesThatKeepBeingSkipped(t *testing.T) {
	at := func(after int, m BriefMode) *BriefConfig { return &BriefConfig{Mode: m, AfterSkips: after} }
	for _, c := range []struct {
		name   string
		brief  *BriefConfig
		skips  int
		reason Reason
		told   bool
	}{
		{"nine in a row", nil, 9, InFlight, false},
		{"the tenth", nil, 10, InFlight, true},
		{"the eleventh is known", nil, 11, InFlight, false},
		{"the twentieth is counted on the same card", nil, 20, InFlight, true},
		{"as the task says", at(3, ""), 3, OverBudget, true},
		{"as the task says, not before", at(30, BriefAlways), 10, NoAgent, false},
		{"a task that is to be quiet", at(3, BriefNever), 3, InFlight, false},
		{"nobody has its turn", nil, 10, Concurrency, true},
		{"a date that was excluded was asked for", nil, 10, ExcludedDate, false},
		{"a pause is known to who paused", nil, 10, WorkspacePaused, false},
		{"an urgent brief says it already", nil, 10, WaitingForHuman, false},
		{"a task that waits for another is in its place", nil, 10, Blocked, false},
		{"none", nil, 0, InFlight, false},
	} {
		b := BriefOfSkips(Task{Identifier: "T-1", Name: "Watch", Config: Config{Brief: c.brief}}, c.skips, Verdict{Reason: c.reason, Detail: "So it is."})
		if (b != nil) != c.told {
			t.Errorf("%s: %+v", c.name, b)
		}
		if b != nil && (b.Cause != brief.CauseSkips || !strings.Contains(b.Summary, string(c.reason)) || !strings.Contains(b.Summary, "So it is.")) {
			t.Errorf("%s: it says %+v", c.name, b)
		}
	}
}
