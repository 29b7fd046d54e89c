package journey

import (
	"strings"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/brief"
	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
	"github.com/dogwatch/dogwatch/internal/domain/turn"
	"github.com/dogwatch/dogwatch/internal/flow/launch"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
	"github.com/dogwatch/dogwatch/internal/infra/store"
	"github.com/dogwatch/dogwatch/internal/testkit/rig"
)

// sql changes rows behind the house's back: time that passed, a fault.
func (s story) sql(statement string, args ...any) {
	s.Helper()
	_, err := s.Store.Pool().Exec(s.Context(), statement, args...)
	s.Must(err)
}

// during runs f while the model is thinking, at each call that is part of a run.
func (s story) during(f func()) {
	s.Model.Reply = func(r turn.Request) (turn.Reply, error) {
		if r.Output == nil {
			f()
		}
		return rig.Plain(r)
	}
}

// fails lets every run fail.
func (s story) fails() {
	s.Model.Reply = func(turn.Request) (turn.Reply, error) {
		return turn.Reply{}, &turn.ModelError{Class: turn.ErrAuth, Status: 401, Msg: "the key was refused"}
	}
}

// calls lets the run call a tool first, and then say its report.
func (s story) calls(tool, arguments string) {
	called := false
	s.Model.Reply = func(r turn.Request) (turn.Reply, error) {
		if r.Output == nil && !called {
			called = true
			return rig.Wants(tool, arguments), nil
		}
		return rig.Plain(r)
	}
}

// causes are the causes of the open briefs of a task.
func (s story) causes(taskID string) string {
	s.Helper()
	var out []string
	for _, b := range s.open(taskID) {
		out = append(out, b.Cause)
	}
	return strings.Join(out, " ")
}

// everyTenMinutes is a grid whose next fire is five minutes away.
func everyTenMinutes() *schedule.Automation {
	anchor := time.Now().Add(-5 * time.Minute)
	return &schedule.Automation{Mode: schedule.Every, EverySeconds: 600, Anchor: &anchor}
}

func TestPauseWithInterruptStopsTheRun(t *testing.T) {
	s := begin(t)
	var tk task.Task
	s.during(func() {
		_, err := s.Steer.PauseTask(s.Context(), s.Caller, tk.ID, true, "")
		s.Must(err)
	})
	tk = s.create(steer.NewTask{Instruction: "Work.", Automation: heartbeat(60)})
	s.Tick()
	got := s.is(tk.ID, task.Paused, task.ByPerson)
	if got.NextFireAt != nil || got.CurrentTopicID != nil {
		t.Errorf("%+v", got)
	}
	if tp := s.topics(tk.ID)[0]; tp.Status != topic.Canceled || tp.ReasonDetail != operation.DetailByPerson || tp.Handoff == nil {
		t.Errorf("topic %+v", tp)
	}
	if c := s.causes(tk.ID); c != "" {
		t.Errorf("an interruption tells %s", c)
	}
}

func TestResume(t *testing.T) {
	resume := func(s story, id string, catchUp bool) task.Task {
		got, err := s.Steer.ResumeTask(s.Context(), s.Caller, id, catchUp)
		s.Must(err)
		return got
	}
	pause := func(s story, id string) {
		_, err := s.Steer.PauseTask(s.Context(), s.Caller, id, false, "")
		s.Must(err)
	}
	t.Run("a schedule goes on and catches nothing up", func(t *testing.T) {
		s := begin(t)
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()})
		pause(s, tk.ID)
		if got := s.task(tk.ID); got.NextFireAt != nil {
			t.Errorf("a paused task has a next fire: %v", got.NextFireAt)
		}
		got := resume(s, tk.ID, false)
		if got.Status != task.Scheduled || !got.NextPlannedAt.After(time.Now()) {
			t.Errorf("%s, next %v", got.Status, got.NextPlannedAt)
		}
		s.Tick()
		if n := len(s.topics(tk.ID)); n != 0 {
			t.Errorf("%d runs", n)
		}
	})
	t.Run("it catches up when asked to", func(t *testing.T) {
		s := begin(t)
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()})
		pause(s, tk.ID)
		resume(s, tk.ID, true)
		s.Drain()
		if n := len(s.topics(tk.ID)); n != 1 {
			t.Errorf("%d runs", n)
		}
		s.is(tk.ID, task.Scheduled, task.RanOn)
	})
	t.Run("what nothing starts goes to the backlog", func(t *testing.T) {
		s := begin(t)
		tk := s.create(steer.NewTask{Instruction: "Work."})
		pause(s, tk.ID)
		if got := resume(s, tk.ID, false); got.Status != task.Backlog {
			t.Errorf("%s", got.Status)
		}
	})
	t.Run("a time that passed meanwhile is let go", func(t *testing.T) {
		s := begin(t)
		at := time.Now().Add(time.Hour)
		tk := s.create(steer.NewTask{Instruction: "Work.", StartAt: &at})
		pause(s, tk.ID)
		s.sql(`update tasks set start_at = now() - interval '1 minute' where id = $1`, tk.ID)
		if got := resume(s, tk.ID, false); got.Status != task.Backlog || got.StartAt != nil {
			t.Errorf("%s, startAt %v", got.Status, got.StartAt)
		}
	})
	t.Run("a time to come is kept", func(t *testing.T) {
		s := begin(t)
		at := time.Now().Add(time.Hour)
		tk := s.create(steer.NewTask{Instruction: "Work.", StartAt: &at})
		pause(s, tk.ID)
		if got := resume(s, tk.ID, false); got.Status != task.Scheduled || got.NextFireAt == nil {
			t.Errorf("%+v", got)
		}
	})
	t.Run("while its run is still open it runs again", func(t *testing.T) {
		s := begin(t)
		var tk task.Task
		s.during(func() {
			pause(s, tk.ID)
			if got := resume(s, tk.ID, false); got.Status != task.Running || got.NextFireAt == nil {
				t.Errorf("%s, next %v", got.Status, got.NextFireAt)
			}
		})
		tk = s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes(), Start: true})
		s.Drain()
		if got := s.is(tk.ID, task.Scheduled, task.RanOn); got.NextFireAt == nil {
			t.Error("it has no next fire")
		}
	})
	t.Run("a task that is not paused", func(t *testing.T) {
		s := begin(t)
		tk := s.create(steer.NewTask{Instruction: "Work."})
		if _, err := s.Steer.ResumeTask(s.Context(), s.Caller, tk.ID, false); errs.KindOf(err) != errs.Conflict {
			t.Errorf("%v", err)
		}
	})
}

func TestReopen(t *testing.T) {
	s := begin(t)
	cancelAndReopen := func(in steer.NewTask, passed bool) task.Task {
		tk := s.create(in)
		_, err := s.Steer.CancelTask(s.Context(), s.Caller, tk.ID, "")
		s.Must(err)
		if passed {
			s.sql(`update tasks set start_at = now() - interval '1 minute' where id = $1`, tk.ID)
		}
		s.sql(`update tasks set executions = 3 where id = $1`, tk.ID)
		got, err := s.Steer.ReopenTask(s.Context(), s.Caller, tk.ID)
		s.Must(err)
		return got
	}
	at := time.Now().Add(time.Hour)
	if got := cancelAndReopen(steer.NewTask{Instruction: "A."}, false); got.Status != task.Backlog {
		t.Errorf("one-off: %s", got.Status)
	}
	if got := cancelAndReopen(steer.NewTask{Instruction: "B.", Automation: everyTenMinutes()}, false); got.Status != task.Scheduled || got.NextFireAt == nil || got.Executions != 0 {
		t.Errorf("schedule: %s, next %v, %d executions", got.Status, got.NextFireAt, got.Executions)
	}
	if got := cancelAndReopen(steer.NewTask{Instruction: "C.", StartAt: &at}, false); got.Status != task.Scheduled {
		t.Errorf("one-shot: %s", got.Status)
	}
	if got := cancelAndReopen(steer.NewTask{Instruction: "D.", StartAt: &at}, true); got.Status != task.Backlog || got.StartAt != nil {
		t.Errorf("one-shot whose time has passed: %s", got.Status)
	}
	tk := s.create(steer.NewTask{Instruction: "E."})
	if _, err := s.Steer.ReopenTask(s.Context(), s.Caller, tk.ID); errs.KindOf(err) != errs.Conflict {
		t.Errorf("a task that has not ended: %v", err)
	}
}

func TestDeleteStopsHidesAndTellsNobody(t *testing.T) {
	s := begin(t)
	var tk task.Task
	s.Model.Reply = func(r turn.Request) (turn.Reply, error) {
		if r.Output == nil && s.task(tk.ID).DeletedAt == nil {
			s.Must(s.Steer.DeleteTask(s.Context(), s.Caller, tk.ID))
		}
		return rig.Plain(r)
	}
	tk = s.create(steer.NewTask{Instruction: "Work.", Automation: heartbeat(60)})
	s.Tick()
	got := s.is(tk.ID, task.Canceled, task.ByPerson)
	if got.DeletedAt == nil || got.NextFireAt != nil || got.CurrentTopicID != nil {
		t.Errorf("%+v", got)
	}
	if tp := s.topics(tk.ID)[0]; tp.Status != topic.Canceled || tp.Handoff == nil {
		t.Errorf("topic %+v", tp)
	}
	if bs := s.open(tk.ID); len(bs) != 0 {
		t.Errorf("briefs %+v", bs)
	}
	if _, err := s.Launch.RunTask(s.Context(), s.Caller, tk.ID, launch.Request{}); errs.KindOf(err) != errs.NotFound {
		t.Errorf("a run of it: %v", err)
	}
	got, err := s.Steer.RestoreTask(s.Context(), s.Caller, tk.ID)
	s.Must(err)
	if got.DeletedAt != nil || got.Status != task.Canceled {
		t.Errorf("restored: %+v", got)
	}
	if next := s.create(steer.NewTask{Instruction: "Next."}); next.Identifier != "T-2" {
		t.Errorf("the identifier is used again: %s", next.Identifier)
	}
}

func TestDeletingWhatATaskWaitsForUnlocksIt(t *testing.T) {
	s := begin(t)
	s.fails()
	up := s.create(steer.NewTask{Instruction: "First.", Start: true, Config: task.Config{Acceptance: task.Auto}})
	s.Drain()
	s.is(up.ID, task.Failed, task.RunFailed)
	s.Model.Reply = nil
	down := s.create(steer.NewTask{Instruction: "Second.", DependsOn: []steer.NewDependency{{Task: up.ID, Condition: "success"}}})
	s.Must(s.Steer.DeleteTask(s.Context(), s.Caller, up.ID))
	s.Drain()
	s.is(down.ID, task.Paused, task.AwaitingReview)
}

// A schedule that a person takes up again by a run goes on afterwards: it is not at
// its end because it had no next fire while it was paused.
func TestARunByHandTakesAScheduleUpAgain(t *testing.T) {
	for name, stop := range map[string]func(s story, id string) error{
		"paused": func(s story, id string) error {
			_, err := s.Steer.PauseTask(s.Context(), s.Caller, id, false, "")
			return err
		},
		"canceled": func(s story, id string) error {
			_, err := s.Steer.CancelTask(s.Context(), s.Caller, id, "")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			tk := s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()})
			s.Must(stop(s, tk.ID))
			s.during(func() {
				if got := s.task(tk.ID); got.NextFireAt == nil {
					t.Error("an armed schedule has a next fire, also while it runs")
				}
			})
			s.run(tk.ID)
			s.Drain()
			if got := s.is(tk.ID, task.Scheduled, task.RanOn); got.NextFireAt == nil {
				t.Error("it has no next fire")
			}
		})
	}
}

func TestTheLastExecutionCompletesTheTask(t *testing.T) {
	s := begin(t)
	a := heartbeat(60)
	a.MaxExecutions = 2
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: a})
	s.Tick()
	s.is(tk.ID, task.Scheduled, task.RanOn)
	s.run(tk.ID) // by hand: it counts as none
	s.Drain()
	s.is(tk.ID, task.Scheduled, task.RanOn)
	s.Age(tk.ID, time.Minute)
	s.fails()
	s.Tick()
	got := s.is(tk.ID, task.Completed, task.BoundsUsedUp)
	if got.NextFireAt != nil || got.CompletedAt == nil || got.Executions != 2 {
		t.Errorf("%+v", got)
	}
	if c := s.causes(tk.ID); !strings.Contains(c, brief.CauseRunFailed) {
		t.Errorf("an error keeps its brief: %q", c)
	}
}

func TestTheLastAllowedTopicCompletesTheTask(t *testing.T) {
	s := begin(t)
	n := 1
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: heartbeat(60), MaxTopics: &n})
	s.Tick()
	s.is(tk.ID, task.Completed, task.MaxTopics)
	if _, err := s.Launch.RunTask(s.Context(), s.Caller, tk.ID, launch.Request{}); errs.CodeOf(err) != "max_topics" {
		t.Errorf("a run by hand: %v", err)
	}
}

func TestALimitThatWasLoweredCompletesTheTaskAtItsNextTime(t *testing.T) {
	s := begin(t)
	a := heartbeat(60)
	a.MaxExecutions = 5
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: a})
	s.sql(`update tasks set executions = 4 where id = $1`, tk.ID)
	b := *a
	b.MaxExecutions = 2
	automation := &b
	_, err := s.Steer.EditTask(s.Context(), s.Caller, tk.ID, nil, steer.TaskPatch{Automation: &automation})
	s.Must(err)
	s.Tick()
	s.is(tk.ID, task.Completed, task.BoundsUsedUp)
	if k := s.ticks(tk.ID)[0]; k.State != topic.TickSkipped || *k.Reason != string(task.MaxExecutions) {
		t.Errorf("tick %+v", k)
	}
}

func TestAnAgentAsksForTheEndOfItsTask(t *testing.T) {
	for acceptance, want := range map[task.Acceptance]struct {
		status task.Status
		why    task.Reason
		causes string
	}{
		task.Review: {task.Paused, task.AwaitingReview, brief.CauseResult},
		task.Auto:   {task.Completed, task.ByAgent, brief.CauseResult},
	} {
		t.Run(string(acceptance), func(t *testing.T) {
			s := begin(t)
			s.calls("request_completion", `{"summary": "Nothing is left to watch."}`)
			tk := s.create(steer.NewTask{Instruction: "Watch.", Automation: heartbeat(60), Config: task.Config{Acceptance: acceptance}})
			s.Tick()
			if got := s.is(tk.ID, want.status, want.why); got.NextFireAt != nil {
				t.Errorf("next fire %v", got.NextFireAt)
			}
			if c := s.causes(tk.ID); c != want.causes {
				t.Errorf("briefs %q", c)
			}
			if acceptance != task.Review {
				return
			}
			_, _, err := s.Steer.ResolveBrief(s.Context(), s.Caller, "B-1", "approve", "")
			s.Must(err)
			s.is(tk.ID, task.Completed, task.Approved)
		})
	}
}

func TestCheckpoints(t *testing.T) {
	t.Run("before the first run", func(t *testing.T) {
		s := begin(t)
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: heartbeat(60), Start: true, Config: task.Config{Checkpoint: &task.Checkpoint{Before: true}}})
		s.Tick()
		s.is(tk.ID, task.Paused, task.CheckpointBefore)
		_, err := s.Steer.ResumeTask(s.Context(), s.Caller, tk.ID, false)
		s.Must(err)
		s.Tick()
		s.is(tk.ID, task.Scheduled, task.RanOn)
	})
	t.Run("after each run", func(t *testing.T) {
		s := begin(t)
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: heartbeat(60), Config: task.Config{Checkpoint: &task.Checkpoint{After: true}}})
		for run := 1; run <= 2; run++ {
			s.Tick()
			if got := s.is(tk.ID, task.Paused, task.CheckpointAfter); got.NextFireAt != nil || got.TotalTopics != run {
				t.Errorf("%+v", got)
			}
			card := s.open(tk.ID)
			_, _, err := s.Steer.ResolveBrief(s.Context(), s.Caller, card[0].ID, "resume", "")
			s.Must(err)
			if got := s.is(tk.ID, task.Scheduled, task.ByPerson); got.NextFireAt.Before(time.Now().Add(50 * time.Second)) {
				t.Errorf("a resumed heartbeat beats at %v, less than its minute after the run", got.NextFireAt)
			}
			s.Age(tk.ID, time.Minute)
		}
	})
	t.Run("when the agent asks", func(t *testing.T) {
		s := begin(t)
		s.calls("request_checkpoint", `{"reason": "Is the plan right?"}`)
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: heartbeat(60)})
		s.Tick()
		s.is(tk.ID, task.Paused, task.CheckpointAsked)
		bs := s.open(tk.ID)
		if bs[0].Cause != brief.CauseCheckpoint || !strings.Contains(bs[0].Summary, "Is the plan right?") {
			t.Errorf("%+v", bs)
		}
		moves, _, err := s.Store.Moves(s.Context(), s.Scope(), tk.ID, store.Page{})
		s.Must(err)
		if m := moves[0]; m.To != task.Paused || m.Actor.Kind != "agent" || m.Actor.ID != s.Agent.ID {
			t.Errorf("it is the agent's move: %+v", m)
		}
	})
}

func TestACostThatIsNotKnownStaysUnknown(t *testing.T) {
	s := begin(t)
	dear := 2 * budget.Dollar
	known := false
	s.Model.Reply = func(r turn.Request) (turn.Reply, error) {
		reply, err := rig.Plain(r)
		reply.Cost = nil
		if known {
			reply.Cost = &dear
		}
		return reply, err
	}
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: heartbeat(60)})
	s.Tick()
	if got := s.task(tk.ID); got.CostUSD != nil || s.topics(tk.ID)[0].CostUSD != nil {
		t.Errorf("task %v, topic %v", got.CostUSD, s.topics(tk.ID)[0].CostUSD)
	}
	known = true
	s.Age(tk.ID, time.Minute)
	s.Tick()
	if got := s.topics(tk.ID)[0].CostUSD; got == nil || *got != 2*dear { // the run and its handoff
		t.Errorf("the second run cost %v", got)
	}
	if got := s.task(tk.ID); got.CostUSD != nil {
		t.Errorf("a sum with an unknown part is %v", got.CostUSD)
	}
}

// A run that has ended and whose handoff is still being written is told to the next
// all the same.
func TestTheNextRunDoesNotWaitForTheHandoff(t *testing.T) {
	s := begin(t)
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: heartbeat(60)})
	s.Tick()
	s.sql(`update topics set handoff = null, handoff_source = null, handoff_at = null where task_id = $1`, tk.ID)
	s.Age(tk.ID, time.Minute)
	s.Tick()
	if p := s.lastPrompt(); !strings.Contains(p, "## Run 1, completed") || !strings.Contains(p, "This is the report of the run.") {
		t.Errorf("%s", p)
	}
}

func TestCommentsAreTakenUpOnce(t *testing.T) {
	s := begin(t)
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: heartbeat(60)})
	_, err := s.Steer.Comment(s.Context(), s.Caller, tk.ID, "Leave out newsletters.")
	s.Must(err)
	s.fails() // a run that dies before its first answer has taken nothing up
	s.Tick()
	s.Model.Reply = nil
	for run, want := range []bool{true, false} {
		s.Age(tk.ID, time.Minute)
		s.Tick()
		if got := strings.Contains(s.lastPrompt(), "Leave out newsletters."); got != want {
			t.Errorf("run %d is told: %v", run+2, got)
		}
	}
}

func TestCommentsThatHaveNoRoomWaitForTheNextRun(t *testing.T) {
	s := begin(t)
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: heartbeat(60)})
	for _, c := range []string{"The first. ", "The second. ", "The third. "} {
		_, err := s.Steer.Comment(s.Context(), s.Caller, tk.ID, c+strings.Repeat("word ", 2500))
		s.Must(err)
	}
	told := map[string]int{}
	for range 4 {
		s.Tick()
		for _, c := range []string{"The first.", "The second.", "The third."} {
			told[c] += strings.Count(s.lastPrompt(), c)
		}
		s.Age(tk.ID, time.Minute)
	}
	for c, n := range told {
		if n != 1 {
			t.Errorf("%q is told %d times", c, n)
		}
	}
	if len(told) != 3 {
		t.Errorf("told %v", told)
	}
}
