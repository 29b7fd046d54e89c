package task

import (
	"strings"
	"testing"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/brief"
	"github.com/dogwatch/dogwatch/internal/domain/handoff"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
)

func TestWhatAPersonIsToldOnceTheHandoffIsWritten(t *testing.T) {
	three := handoff.Handoff{Title: "Mails counted", Summary: "Three are open.", KeyFindings: []string{"Three mails are open."}}
	four := handoff.Handoff{Title: "Mails counted", Summary: "Four are open.", KeyFindings: []string{"Four mails are open."}}
	again := handoff.Handoff{Title: "Mails counted", Summary: "Three are open.", KeyFindings: []string{"three mails are open"}}
	report := "I counted the mails and wrote it down."
	told := HandoffFacts{Handoff: three, Reason: operation.ReasonDone, Text: report}
	with := func(f HandoffFacts, edit func(*HandoffFacts)) HandoffFacts { edit(&f); return f }
	waiting := func(t *Task) { t.Status, t.StatusReason = Paused, string(AwaitingReview) }
	mode := func(m BriefMode) func(*Task) { return func(t *Task) { t.Config.Brief = &BriefConfig{Mode: m} } }
	byAgent := func(t *Task) { t.CreatedBy.Kind = access.Agent }
	for _, c := range []struct {
		name  string
		task  Task
		facts HandoffFacts
		want  string // "type/priority/cause: buttons"
	}{
		{"a first result of a heartbeat", running(beats), told, "result/normal/result: approve feedback"},
		{"a one-off that is completed", running(auto, becomes(Completed)), told, "result/normal/result: acknowledge feedback"},
		{"a one-off that waits for review", running(waiting), told, "result/normal/result: approve feedback"},
		{"it waits, whatever it said", running(waiting), with(told, func(f *HandoffFacts) { f.Text = "ok" }), "result/normal/result: approve feedback"},
		{"trivial text, heartbeat", running(beats), with(told, func(f *HandoffFacts) { f.Text = "nothing new" }), ""},
		{"trivial text, schedule", running(hourly), with(told, func(f *HandoffFacts) { f.Text = "  done.  " }), ""},
		{"sixteen characters are not trivial", running(beats), with(told, func(f *HandoffFacts) { f.Text = "0123456789abcdef" }), "result/normal/result: approve feedback"},
		{"a heartbeat that found the same again", running(beats), HandoffFacts{Handoff: again, Previous: &three, Reason: operation.ReasonDone, Text: report}, ""},
		{"a heartbeat that found something new", running(beats), HandoffFacts{Handoff: four, Previous: &three, Reason: operation.ReasonDone, Text: report}, "result/normal/result: approve feedback"},
		{"no model judged it: a schedule tells", running(hourly), HandoffFacts{Handoff: again, Previous: &three, Fallback: true, Reason: operation.ReasonDone, Text: report}, "result/normal/result: approve feedback"},
		{"no model judged it: a heartbeat does not", running(beats), HandoffFacts{Handoff: four, Previous: &three, Fallback: true, Reason: operation.ReasonDone, Text: report}, ""},
		{"no model judged a heartbeat's first run", running(beats), with(told, func(f *HandoffFacts) { f.Fallback = true }), ""},
		{"no model judged a one-off", running(waiting), with(told, func(f *HandoffFacts) { f.Fallback = true }), "result/normal/result: approve feedback"},
		{"the run asked a person itself", running(beats), with(told, func(f *HandoffFacts) { f.Asked = true }), ""},
		{"always", running(beats, mode(BriefAlways)), HandoffFacts{Handoff: again, Previous: &three, Reason: operation.ReasonDone, Text: "ok"}, "result/normal/result: approve feedback"},
		{"never", running(beats, mode(BriefNever)), told, ""},
		{"never, and yet it waits for review", running(waiting, mode(BriefNever)), told, "result/normal/result: approve feedback"},
		{"a run that failed", running(beats), with(told, func(f *HandoffFacts) { f.Reason = operation.ReasonError }), ""},
		{"an interrupted run", running(beats), with(told, func(f *HandoffFacts) { f.Reason = operation.ReasonInterrupted }), ""},
		{"what is left of a run at its limit", running(beats), with(told, func(f *HandoffFacts) { f.Reason = operation.ReasonMaxSteps }), "insight/info/max_steps: acknowledge feedback"},
		{"a run at its limit that a checkpoint holds", running(beats, becomes(Paused), func(t *Task) { t.StatusReason = string(CheckpointAfter) }), with(told, func(f *HandoffFacts) { f.Reason = operation.ReasonMaxSteps }), ""},
		{"an agent's own one-off", running(auto, byAgent, becomes(Completed)), told, ""},
		{"a deleted task", running(deleted), told, ""},
	} {
		got := ""
		if d := BriefOfHandoff(c.task, c.facts); d != nil {
			got = card(d) + ": " + keys(d)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestTheCardOfALimitSaysWhatIsLeft(t *testing.T) {
	h := handoff.Handoff{Title: "Half", Summary: "Half is done.", Unfinished: "The other half."}
	d := BriefOfHandoff(running(), HandoffFacts{Handoff: h, Reason: operation.ReasonMaxSteps})
	if d == nil || d.Cause != brief.CauseLimit || !strings.Contains(d.Summary, "The other half.") {
		t.Errorf("%+v", d)
	}
}
