package journey

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
	"github.com/dogwatch/dogwatch/internal/domain/turn"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
	"github.com/dogwatch/dogwatch/internal/testkit/rig"
)

// grid is a grid of a period whose last time is half a period ago.
func grid(period time.Duration) (*schedule.Automation, time.Time) {
	last := time.Now().UTC().Truncate(time.Second).Add(-period / 2)
	return &schedule.Automation{Mode: schedule.Every, EverySeconds: int64(period / time.Second), Anchor: &last}, last
}

func (s story) backfill(tk task.Task, from time.Time, more ...func(*steer.BackfillAsk)) steer.BackfillPlan {
	s.Helper()
	ask := steer.BackfillAsk{From: from}
	for _, m := range more {
		m(&ask)
	}
	p, err := s.Steer.Backfill(s.Context(), s.Caller, tk.ID, ask)
	s.Must(err)
	return p
}

func until(at time.Time) func(*steer.BackfillAsk) { return func(a *steer.BackfillAsk) { a.To = &at } }
func atMost(n int) func(*steer.BackfillAsk)       { return func(a *steer.BackfillAsk) { a.Max = n } }
func evenThoseThatRan(a *steer.BackfillAsk)       { a.All = true }

// goOn lets the backfill look again.
func (s story) goOn() {
	s.Helper()
	s.sql(`update jobs set run_at = clock_timestamp() where kind = 'backfill' and state = 'ready'`)
	s.Drain()
}

// ranAt are the planned times of a task's runs, in the order of the runs.
func (s story) ranAt(taskID string) []time.Time {
	s.Helper()
	at := map[string]time.Time{}
	for _, k := range s.ticks(taskID) {
		if k.TopicID != nil && k.Time() != nil {
			at[*k.TopicID] = k.Time().UTC()
		}
	}
	var out []time.Time
	for _, tp := range s.topics(taskID) {
		out = append(out, at[tp.ID])
	}
	slices.Reverse(out)
	return out
}

// back are the last n times of a grid up to last, the oldest first.
func back(last time.Time, period time.Duration, n int) (out []time.Time) {
	for i := n - 1; i >= 0; i-- {
		out = append(out, last.Add(-time.Duration(i)*period))
	}
	return out
}

func TestABackfillMakesUpForWhatDidNotRunTheOldestFirst(t *testing.T) {
	s := begin(t)
	every, last := grid(time.Hour)
	tk := s.create(steer.NewTask{Instruction: "Count the visitors of the hour.", Automation: every})
	next := *tk.NextFireAt
	open := 0
	s.during(func() {
		n := 0
		s.Must(s.Store.Pool().QueryRow(s.Context(), `select count(*) from topics where status = 'running'`).Scan(&n))
		open = max(open, n)
	})
	p := s.backfill(tk, last.Add(-5*time.Hour), atMost(4))
	if len(p.Times) != 4 || !p.More || !p.Times[0].Equal(last.Add(-5*time.Hour)) || len(p.AlreadyRan) > 0 {
		t.Errorf("planned %+v", p)
	}
	s.Drain()
	want := back(last.Add(-2*time.Hour), time.Hour, 4)
	if got := s.ranAt(tk.ID); !slices.EqualFunc(got, want, time.Time.Equal) {
		t.Errorf("ran for %v, want %v", got, want)
	}
	for _, k := range s.ticks(tk.ID) {
		if k.State != topic.TickRan || k.Origin != topic.Backfill || k.ActorKind != s.Caller.Kind {
			t.Errorf("tick %+v", k)
		}
	}
	if open != 1 {
		t.Errorf("%d runs were open at once", open)
	}
	got := s.is(tk.ID, task.Scheduled, task.RanOn)
	if !got.NextFireAt.Equal(next) || got.Executions != 4 {
		t.Errorf("its next fire is %v and was %v; %d executions", got.NextFireAt, next, got.Executions)
	}
	if said := want[3].Format("2006-01-02 15:04"); !strings.Contains(s.lastPrompt(), "wants its planned time "+said) {
		t.Errorf("the agent is not told for which time it runs:\n%s", s.lastPrompt())
	}
	if b, err := s.Store.OpenBackfill(s.Context(), s.Scope(), tk.ID); b != nil || err != nil {
		t.Errorf("still open: %+v, %v", b, err)
	}

	// The rest, without what has run.
	p = s.backfill(tk, last.Add(-5*time.Hour))
	if len(p.Times) != 2 || len(p.AlreadyRan) != 4 || p.More {
		t.Errorf("planned %+v", p)
	}
	s.Drain()
	p = s.backfill(tk, last.Add(-5*time.Hour))
	if len(p.Times) != 0 || len(p.AlreadyRan) != 6 {
		t.Errorf("planned %+v", p)
	}
	// And once more, although it has.
	p = s.backfill(tk, last.Add(-time.Hour), evenThoseThatRan)
	s.Drain()
	got2 := s.ranAt(tk.ID)
	if len(p.Times) != 2 || len(got2) != 8 || !got2[6].Equal(last.Add(-time.Hour)) || !got2[7].Equal(last) {
		t.Errorf("planned %+v, ran for %v", p, got2)
	}
}

// Each instant of a grid stands in one row, whatever is taken out of rows that stand
// for several.
func TestABackfillTakesTimesOutOfRowsThatStandForSeveral(t *testing.T) {
	s := begin(t)
	every, last := grid(10 * time.Minute)
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: every})
	s.sql(`update tasks set next_planned_at = $2, next_fire_at = $2 where id = $1`, tk.ID, last.Add(-200*time.Minute))
	s.Tick() // 21 times were missed: those of the hour are coalesced, the newest runs, the others are too old
	account := func() (instants int) {
		seen := map[int64]bool{}
		for _, k := range s.ticks(tk.ID) {
			if k.PlannedAt == nil {
				continue
			}
			first, end := *k.PlannedAt, *k.PlannedAt
			if k.Count > 1 {
				first, end = *k.FirstPlannedAt, *k.LastPlannedAt
			}
			n := 0
			for at := first; !at.After(end); at = at.Add(10 * time.Minute) {
				if seen[at.Unix()] {
					t.Errorf("%v is accounted for twice", at)
				}
				seen[at.Unix()] = true
				n++
			}
			if n != k.Count {
				t.Errorf("a row from %v to %v counts %d", first, end, k.Count)
			}
			instants += n
		}
		return instants
	}
	if n := account(); n != 21 {
		t.Fatalf("%d instants before", n)
	}
	before := s.ledger(tk.ID)
	p := s.backfill(tk, last.Add(-150*time.Minute), until(last.Add(-100*time.Minute)))
	s.Drain()
	if len(p.Times) != 6 || len(s.topics(tk.ID)) != 7 {
		t.Errorf("planned %d, %d runs", len(p.Times), len(s.topics(tk.ID)))
	}
	if n := account(); n != 21 {
		t.Errorf("%d instants after:\n%s\nbefore:\n%s", n, s.ledger(tk.ID), before)
	}
	s.backfill(tk, last.Add(-24*time.Hour), until(last), atMost(100))
	s.Drain()
	for _, k := range s.ticks(tk.ID) {
		if k.State != topic.TickRan {
			t.Errorf("not made up for: %+v", k)
		}
	}
}

func TestABackfillGivesWayToTheSchedule(t *testing.T) {
	s := begin(t)
	every, last := grid(time.Hour)
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: every}) // overlap: skip
	var regular time.Time
	came := false
	s.Model.Reply = func(r turn.Request) (turn.Reply, error) {
		if r.Output == nil && !came {
			came = true // the schedule's own time comes while the first time is made up for
			regular = time.Now().UTC().Truncate(time.Millisecond)
			s.sql(`update tasks set automation = jsonb_set(automation, '{anchor}', to_jsonb($2::timestamptz)), next_planned_at = $2, next_fire_at = $2
				where id = $1`, tk.ID, regular)
			_, err := s.Sweep.Sweep(s.Context())
			s.Must(err)
			return rig.Wants("current_time", `{}`), nil
		}
		return rig.Plain(r)
	}
	s.backfill(tk, last.Add(-time.Hour))
	s.Drain()
	s.goOn()
	ran := s.ranAt(tk.ID)
	want := []time.Time{last.Add(-time.Hour), regular, last.Add(-time.Hour), last}
	if !slices.EqualFunc(ran, want, time.Time.Equal) {
		t.Fatalf("ran for %v, want %v\n%s", ran, want, s.ledger(tk.ID))
	}
	tps := s.topics(tk.ID)
	if first := tps[3]; first.Status != topic.Canceled || first.ReasonDetail != operation.DetailSuperseded {
		t.Errorf("the first run is %+v", first)
	}
	for _, tp := range tps[:3] {
		if tp.Status != topic.Completed {
			t.Errorf("run %d is %s", tp.Seq, tp.Status)
		}
	}
}

func TestWhatHoldsABackfillUp(t *testing.T) {
	start := func(t *testing.T) (story, task.Task) {
		s := begin(t)
		every, last := grid(time.Hour)
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: every})
		s.backfill(tk, last.Add(-2*time.Hour))
		return s, tk
	}
	waitsFor := func(s story, tk task.Task) string {
		b, err := s.Store.OpenBackfill(s.Context(), s.Scope(), tk.ID)
		s.Must(err)
		if b == nil {
			return "over"
		}
		return b.Reason
	}
	t.Run("a paused workspace, without a trace in the ledger", func(t *testing.T) {
		s, tk := start(t)
		s.sql(`update workspaces set paused_at = clock_timestamp()`)
		s.Drain()
		s.goOn()
		if got := waitsFor(s, tk); got != "workspace_paused" || len(s.ticks(tk.ID)) > 0 {
			t.Errorf("waits for %q, %s", got, s.ledger(tk.ID))
		}
		s.sql(`update workspaces set paused_at = null`)
		s.goOn()
		if n := len(s.topics(tk.ID)); n != 3 {
			t.Errorf("%d runs", n)
		}
	})
	t.Run("a pause of the task, until it is resumed", func(t *testing.T) {
		s, tk := start(t)
		_, err := s.Steer.PauseTask(s.Context(), s.Caller, tk.ID, false, "")
		s.Must(err)
		s.Drain()
		if got := waitsFor(s, tk); got != "paused" || len(s.topics(tk.ID)) > 0 {
			t.Errorf("waits for %q", got)
		}
		_, err = s.Steer.ResumeTask(s.Context(), s.Caller, tk.ID, false)
		s.Must(err)
		s.Drain()
		if n := len(s.topics(tk.ID)); n != 3 {
			t.Errorf("%d runs", n)
		}
	})
	t.Run("an edit of the schedule voids it", func(t *testing.T) {
		s, tk := start(t)
		other, _ := grid(30 * time.Minute)
		_, err := s.Steer.EditTask(s.Context(), s.Caller, tk.ID, nil, steer.TaskPatch{Automation: &other})
		s.Must(err)
		s.Drain()
		if got := waitsFor(s, tk); got != "over" || len(s.topics(tk.ID)) > 0 {
			t.Errorf("waits for %q, %d runs", got, len(s.topics(tk.ID)))
		}
	})
	t.Run("the end of the task voids it", func(t *testing.T) {
		s, tk := start(t)
		_, err := s.Steer.CancelTask(s.Context(), s.Caller, tk.ID, "")
		s.Must(err)
		s.Drain()
		if got := waitsFor(s, tk); got != "over" || len(s.topics(tk.ID)) > 0 {
			t.Errorf("waits for %q", got)
		}
	})
	t.Run("a person lets go of it; the open run goes on", func(t *testing.T) {
		s, tk := start(t)
		s.during(func() {
			if waitsFor(s, tk) != "over" {
				s.Must(s.Steer.CancelBackfill(s.Context(), s.Caller, tk.ID))
			}
		})
		s.Drain()
		if tps := s.topics(tk.ID); len(tps) != 1 || tps[0].Status != topic.Completed {
			t.Errorf("%d runs", len(tps))
		}
		s.Must(s.Steer.CancelBackfill(s.Context(), s.Caller, tk.ID)) // again changes nothing
	})
	t.Run("the last execution", func(t *testing.T) {
		s := begin(t)
		every, last := grid(time.Hour)
		every.MaxExecutions = 2
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: every})
		s.backfill(tk, last.Add(-4*time.Hour))
		s.Drain()
		s.is(tk.ID, task.Completed, task.BoundsUsedUp)
		if n := len(s.topics(tk.ID)); n != 2 || waitsFor(s, tk) != "over" {
			t.Errorf("%d runs, %s", n, waitsFor(s, tk))
		}
	})
	t.Run("a lost job, until the house looks", func(t *testing.T) {
		s, tk := start(t)
		s.sql(`delete from jobs where kind = 'backfill'`)
		s.sql(`update backfills set created_at = created_at - interval '1 minute'`)
		missing, err := s.Store.MissingJobs(s.Context(), 10)
		s.Must(err)
		if len(missing) != 1 || missing[0].Kind.Name != "backfill" || missing[0].Key != tk.ID {
			t.Errorf("missing %+v", missing)
		}
	})
}

func TestABackfillAsksTheGateAboutThePlannedTime(t *testing.T) {
	s := begin(t)
	every, last := grid(time.Hour)
	every.Exclusions = &schedule.Exclusions{Dates: []string{last.Add(-48 * time.Hour).Format(time.DateOnly)}}
	every.Conditions = &schedule.Conditions{MaxExecutionsPerDay: 3}
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: every})
	day := last.Add(-48 * time.Hour).Truncate(24 * time.Hour)
	p := s.backfill(tk, day, until(day.Add(28*time.Hour+time.Minute))) // a day that is excluded, and the hours after it
	if p.Refused < 23 || p.Refused > 24 || len(p.Times) < 4 || len(p.Times) > 5 {
		t.Fatalf("planned %d, refused %d", len(p.Times), p.Refused)
	}
	s.Drain()
	if got := len(s.topics(tk.ID)); got != 3 {
		t.Errorf("%d runs for one day, of which three are allowed", got)
	}
	refused := 0
	for _, k := range s.ticks(tk.ID) {
		if k.State == topic.TickSkipped && *k.Reason == string(task.DailyLimit) {
			refused++
		}
	}
	if refused != len(p.Times)-3 {
		t.Errorf("%d times are refused by the limit of the day", refused)
	}
}

// What the schedule itself leaves out is no reason to refuse a range.
func TestABackfillLooksThroughAYearOfMinutes(t *testing.T) {
	s := begin(t)
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: &schedule.Automation{
		Mode: schedule.Schedule, Pattern: "* * * * *",
		Conditions: &schedule.Conditions{ActiveDays: []int{1}, ActiveHours: &schedule.Hours{Start: "03:00", End: "03:01"}},
	}})
	p := s.backfill(tk, time.Now().AddDate(-1, 0, 0), atMost(100))
	if n := len(p.Times); n < 52 || n > 53 || p.More {
		t.Errorf("%d Mondays of a year, more %v", n, p.More)
	}
	if p.Refused < 500_000 {
		t.Errorf("%d minutes are left out", p.Refused)
	}
}

func TestWhatCannotBeBackfilled(t *testing.T) {
	s := begin(t)
	every, last := grid(time.Minute)
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: every})
	beats := s.create(steer.NewTask{Instruction: "Watch.", Automation: heartbeat(60)})
	once := s.create(steer.NewTask{Instruction: "Once."})
	ended := s.create(steer.NewTask{Instruction: "Work.", Automation: every})
	_, err := s.Steer.CompleteTask(s.Context(), s.Caller, ended.ID)
	s.Must(err)
	for name, c := range map[string]struct {
		task task.Task
		ask  steer.BackfillAsk
		code string
	}{
		"a heartbeat":           {beats, steer.BackfillAsk{From: last}, "mode_changed"},
		"a one-off":             {once, steer.BackfillAsk{From: last}, "mode_changed"},
		"an ended task":         {ended, steer.BackfillAsk{From: last}, "terminal"},
		"the future":            {tk, steer.BackfillAsk{From: time.Now().Add(time.Hour)}, "invalid"},
		"more than is allowed":  {tk, steer.BackfillAsk{From: last, Max: 101}, "invalid"},
		"a range without limit": {tk, steer.BackfillAsk{From: last.AddDate(-2, 0, 0)}, "invalid"},
	} {
		if _, err := s.Steer.Backfill(s.Context(), s.Caller, c.task.ID, c.ask); errs.CodeOf(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.backfill(tk, last)
	if _, err := s.Steer.Backfill(s.Context(), s.Caller, tk.ID, steer.BackfillAsk{From: last.Add(-time.Hour)}); errs.CodeOf(err) != "in_progress" {
		t.Errorf("a second one beside it: %v", err)
	}
}

func TestWhyTellsOfABackfill(t *testing.T) {
	s := begin(t)
	every, last := grid(time.Hour)
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: every})
	s.backfill(tk, last.Add(-time.Hour))
	var seen []string
	s.during(func() {
		e, err := s.Launch.Why(s.Context(), s.Caller, tk.ID)
		s.Must(err)
		seen = append(seen, fmt.Sprintf("%d of %d", e.Backfill.Done, len(e.Backfill.Times)))
	})
	s.Drain()
	if got := strings.Join(seen, ", "); got != "0 of 2, 1 of 2" {
		t.Errorf("why: %s", got)
	}
	e, err := s.Launch.Why(s.Context(), s.Caller, tk.ID)
	s.Must(err)
	if e.Backfill != nil {
		t.Errorf("after its end: %+v", e.Backfill)
	}
}
