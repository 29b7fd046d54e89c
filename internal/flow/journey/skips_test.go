package journey

import (
	"strings"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/brief"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
)

// A task whose runs always take longer than its interval has one card, not one for each
// run and not one for each time; it is gone when the task keeps up with its schedule.
func TestTimesThatKeepBeingSkippedHaveOneCard(t *testing.T) {
	s := begin(t)
	tk := s.create(steer.NewTask{
		Instruction: "Work.", Automation: everyTenMinutes(),
		Config: task.Config{Brief: &task.BriefConfig{AfterSkips: 3}},
	})
	skips := func() []brief.Brief {
		var out []brief.Brief
		for _, b := range s.open(tk.ID) {
			if b.Cause == brief.CauseSkips {
				out = append(out, b)
			}
		}
		return out
	}
	due := func(n int) { // comes due n times, while what is open stays open
		for range n {
			s.elapse(tk.ID, 10*time.Minute)
			_, err := s.Sweep.Sweep(s.Context())
			s.Must(err)
			s.Quick()
		}
	}
	s.run(tk.ID)
	if due(2); len(skips()) != 0 {
		t.Fatal("it is told of too early")
	}
	due(2)
	cards := skips()
	if len(cards) != 1 || cards[0].Type != brief.Insight || cards[0].Count != 1 || !strings.Contains(cards[0].Summary, "Run 1 is still open") {
		t.Fatalf("after four: %+v", cards)
	}
	if due(2); len(skips()) != 1 || skips()[0].Count != 2 {
		t.Fatalf("after six: %+v", skips())
	}

	// The run ends well, and the cause has not gone with it.
	s.Drain()
	if len(skips()) != 1 {
		t.Fatal("a run that ended late closed the card")
	}
	// Put away, it stays away for a day.
	s.press(skips()[0].ID, "ignore", "")
	due(1)
	if due(3); len(skips()) != 0 {
		t.Fatalf("put away, it comes again: %+v", skips())
	}
	_, err := s.Store.Pool().Exec(s.Context(), `update briefs set resolved_at = resolved_at - interval '25 hours' where cause = 'skips'`)
	s.Must(err)
	if due(3); len(skips()) != 1 {
		t.Fatal("a day later it does not come again")
	}
	// A run that no planned time was lost to is what it is about.
	s.Drain()
	due(1)
	s.Drain()
	if got := skips(); len(got) != 0 {
		t.Errorf("it keeps up, and the card is open: %+v", got)
	}
}

// What a person changes about the schedule is an answer.
func TestAnEditOfTheScheduleClosesTheCardOfSkippedTimes(t *testing.T) {
	s := begin(t)
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()})
	s.card(tk.ID, *task.BriefOfSkips(tk, task.DefaultAfterSkips, task.Verdict{Reason: task.InFlight}))
	hourly := everyTenMinutes()
	hourly.EverySeconds = 3600
	_, err := s.Steer.EditTask(s.Context(), s.Caller, tk.ID, nil, steer.TaskPatch{Automation: &hourly})
	s.Must(err)
	if got := s.open(tk.ID); len(got) != 0 {
		t.Errorf("open: %+v", got)
	}
}
