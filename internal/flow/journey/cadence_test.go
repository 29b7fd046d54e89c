package journey

import (
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
)

// The cadence is drawn from the scheduled runs since the schedule was edited: neither
// what was refused nor what somebody started by hand counts.
func TestTheRunsThatACadenceIsDrawnFrom(t *testing.T) {
	s := begin(t)
	period := time.Hour
	a, _ := grid(period)
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: a})
	s.run(tk.ID)
	s.Drain()
	runs := func() []schedule.Ran {
		t := s.task(tk.ID)
		out, err := s.Store.LastRuns(s.Context(), s.Scope(), t.ID, t.AutomationRevision)
		s.Must(err)
		return out
	}
	if got := runs(); len(got) != 0 {
		t.Fatalf("a run by hand counts: %v", got)
	}
	for _, held := range []bool{false, true, false} { // the second time falls into a pause
		if held {
			_, err := s.Steer.PauseWorkspace(s.Context(), s.Caller, "")
			s.Must(err)
		}
		s.due(tk.ID, time.Now().UTC().Truncate(time.Second))
		s.Tick()
		if held {
			_, err := s.Steer.ResumeWorkspace(s.Context(), s.Caller, false)
			s.Must(err)
		}
		s.elapse(tk.ID, period)
	}
	got := runs()
	if len(got) != 2 || !got[0].Planned.Before(got[1].Planned) || got[0].Began.IsZero() {
		t.Fatalf("the runs are %v\n%s", got, s.ledger(tk.ID))
	}
	b := &schedule.Automation{Mode: schedule.Every, EverySeconds: 7200}
	_, err := s.Steer.EditTask(s.Context(), s.Caller, tk.ID, nil, steer.TaskPatch{Automation: &b})
	s.Must(err)
	if got := runs(); len(got) != 0 {
		t.Errorf("after an edit: %v", got)
	}
}
