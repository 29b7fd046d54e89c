package journey

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
	"github.com/dogwatch/dogwatch/internal/domain/turn"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
	"github.com/dogwatch/dogwatch/internal/infra/store"
	"github.com/dogwatch/dogwatch/internal/testkit/rig"
)

// breaks lets the provider break whenever a run asks, until broken says no.
func (s story) breaks(broken func() bool) {
	s.Model.Reply = func(r turn.Request) (turn.Reply, error) {
		if r.Output == nil && broken() {
			return turn.Reply{}, &turn.ModelError{Class: turn.ErrServer, Status: 502, Msg: "bad gateway"}
		}
		return rig.Plain(r)
	}
}

func always() bool { return true }

// later lets the waits of open runs pass.
func (s story) later() {
	s.Helper()
	s.sql(`update operations set begin_at = clock_timestamp() where status = 'idle' and begin_at is not null`)
	s.sql(`update jobs set run_at = clock_timestamp() where kind = 'step' and state = 'ready'`)
	s.Drain()
}

func (s story) operations(topicID string) []store.Operation {
	s.Helper()
	ops, err := s.Store.TopicOperations(s.Context(), s.Scope(), topicID)
	s.Must(err)
	return ops
}

// tries are the statuses of a topic's operations, in their order.
func (s story) tries(topicID string) string {
	var out []string
	for _, o := range s.operations(topicID) {
		out = append(out, string(o.Status))
	}
	return strings.Join(out, " ")
}

func TestARunWhoseProviderBreaksIsTriedAgainInTheSameTick(t *testing.T) {
	s := begin(t)
	called := 0
	cost := budget.USD(7_000_000)
	s.Model.Reply = func(r turn.Request) (turn.Reply, error) {
		if r.Output != nil {
			return rig.Plain(r)
		}
		if called++; called == 1 {
			reply := rig.Wants("comment_task", `{"content": "I begin."}`)
			reply.Cost = &cost
			return reply, nil
		}
		if called < 8 {
			return turn.Reply{}, &turn.ModelError{Class: turn.ErrServer, Status: 502, Msg: "bad gateway"}
		}
		reply := rig.Says("This is the report of the second try.")
		reply.Cost = &cost
		return reply, nil
	}
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()})
	_, err := s.Steer.Comment(s.Context(), s.Caller, tk.ID, "Mind the gap.")
	s.Must(err)
	s.run(tk.ID)
	s.Drain()
	tp := s.topics(tk.ID)[0]
	if got := s.tries(tp.ID); got != "error idle" || tp.Status != topic.Running {
		t.Fatalf("the tries are %s, the topic is %s", got, tp.Status)
	}
	s.is(tk.ID, task.Running, task.Launched)
	if len(s.open(tk.ID)) > 0 {
		t.Errorf("a person is told before it is over: %+v", s.open(tk.ID))
	}
	why, err := s.Launch.Why(s.Context(), s.Caller, tk.ID)
	s.Must(err)
	if v := why.Verdict; v.Reason != task.InFlight || !strings.Contains(v.Detail, "is tried again at") {
		t.Errorf("why: %+v", v)
	}
	waits := s.operations(tp.ID)[1]
	if in := time.Until(*waits.BeginAt); in < 50*time.Second || in > 75*time.Second || waits.Try != 2 || waits.StartedAt != nil {
		t.Errorf("the next try is %+v", waits)
	}

	s.later()
	tp = s.topics(tk.ID)[0]
	if got := s.tries(tp.ID); got != "error done" || tp.Status != topic.Completed || tp.Error != nil {
		t.Errorf("the tries are %s, the topic %+v", got, tp)
	}
	if tp.CostUSD == nil || *tp.CostUSD != 2*cost {
		t.Errorf("it cost %v", tp.CostUSD)
	}
	p := s.lastPrompt()
	for _, told := range []string{"Try 1 failed: provider_error: bad gateway (HTTP 502)", "It had called comment_task.", "Mind the gap."} {
		if !strings.Contains(p, told) {
			t.Errorf("the second try is not told %q:\n%s", told, p)
		}
	}
	if got := s.is(tk.ID, task.Scheduled, task.RanOn); got.Failures != 0 || got.TotalTopics != 1 {
		t.Errorf("%+v", got)
	}
	if ticks := s.ticks(tk.ID); len(ticks) != 1 || ticks[0].State != topic.TickRan {
		t.Errorf("ticks %+v", ticks)
	}
}

func TestAfterThreeTriesARunHasFailed(t *testing.T) {
	s := begin(t)
	s.breaks(always)
	tk := s.create(steer.NewTask{Instruction: "Work.", Start: true})
	s.Drain()
	s.later()
	s.is(tk.ID, task.Running, task.Launched)
	s.later()
	s.is(tk.ID, task.Paused, task.RunFailed)
	tp := s.topics(tk.ID)[0]
	if got := s.tries(tp.ID); got != "error error error" || tp.Status != topic.Failed || tp.Handoff == nil {
		t.Errorf("the tries are %s, the topic %+v", got, tp)
	}
	if bs := s.open(tk.ID); len(bs) != 1 || bs[0].Count != 1 || !strings.Contains(bs[0].Summary, "It was tried 3 times.") {
		t.Errorf("briefs %+v", bs)
	}
}

func TestWhatTheScheduleTriesAgainAnywayIsNotTriedTwice(t *testing.T) {
	s := begin(t)
	s.breaks(always)
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: heartbeat(60)})
	s.Tick()
	s.is(tk.ID, task.Scheduled, task.RunFailed)
	if got := s.tries(s.topics(tk.ID)[0].ID); got != "error" {
		t.Errorf("the tries are %s", got)
	}
}

func TestSomebodyStepsInWhileARunWaitsForItsNextTry(t *testing.T) {
	waiting := func(t *testing.T) (story, task.Task) {
		s := begin(t)
		s.breaks(always)
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()})
		s.run(tk.ID)
		s.Drain()
		if got := s.tries(s.topics(tk.ID)[0].ID); got != "error idle" {
			t.Fatalf("the tries are %s", got)
		}
		return s, tk
	}
	t.Run("cancel", func(t *testing.T) {
		s, tk := waiting(t)
		_, err := s.Steer.CancelTask(s.Context(), s.Caller, tk.ID, "")
		s.Must(err)
		s.Drain()
		if tp := s.topics(tk.ID)[0]; tp.Status != topic.Canceled || tp.ReasonDetail != operation.DetailByPerson {
			t.Errorf("the topic is %+v", tp)
		}
		calls := len(s.Model.Calls)
		s.later()
		if len(s.Model.Calls) != calls {
			t.Error("the model was asked for a run that was canceled")
		}
		s.is(tk.ID, task.Canceled, task.ByPerson)
	})
	t.Run("pause lets it try, and only once more", func(t *testing.T) {
		s, tk := waiting(t)
		_, err := s.Steer.PauseTask(s.Context(), s.Caller, tk.ID, false, "")
		s.Must(err)
		s.later()
		if tp := s.topics(tk.ID)[0]; tp.Status != topic.Failed || s.tries(tp.ID) != "error error" {
			t.Errorf("the topic is %s after %s", tp.Status, s.tries(tp.ID))
		}
		s.is(tk.ID, task.Paused, task.ByPerson)
	})
	t.Run("pause with interrupt ends it", func(t *testing.T) {
		s, tk := waiting(t)
		_, err := s.Steer.PauseTask(s.Context(), s.Caller, tk.ID, true, "")
		s.Must(err)
		s.Drain()
		if tp := s.topics(tk.ID)[0]; tp.Status != topic.Canceled {
			t.Errorf("the topic is %s", tp.Status)
		}
		s.is(tk.ID, task.Paused, task.ByPerson)
	})
}

func TestTheHouseKnowsARunThatWaitsForItsNextTry(t *testing.T) {
	s := begin(t)
	s.breaks(always)
	beat := heartbeat(3600)
	beat.TimeoutSeconds = 30
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: beat})
	s.Tick()
	o := s.operations(s.topics(tk.ID)[0].ID)[1]
	if got := o.DeadlineAt.Sub(*o.BeginAt); got != 30*time.Second {
		t.Errorf("it is stalled %v after its beginning", got)
	}
	// It has waited for long, and is not due yet: nothing is amiss.
	s.sql(`update operations set created_at = created_at - interval '5 minutes' where id = $1`, o.ID)
	if n, err := s.Sweep.EndStalled(s.Context()); n != 0 || err != nil {
		t.Errorf("%d ended, %v", n, err)
	}
	s.sql(`delete from jobs where kind = 'step'`)
	missing, err := s.Store.MissingJobs(s.Context(), 10)
	s.Must(err)
	if len(missing) > 0 {
		t.Errorf("missing before its time: %+v", missing)
	}
	// Its time has come and gone, and the job was lost.
	s.sql(`update operations set begin_at = clock_timestamp() - interval '1 minute', deadline_at = null where id = $1`, o.ID)
	missing, err = s.Store.MissingJobs(s.Context(), 10)
	s.Must(err)
	if len(missing) != 1 || missing[0].Key != o.ID {
		t.Errorf("missing: %+v", missing)
	}
}

func TestTheTimeOfARunCountsFromItsFirstModelCallOn(t *testing.T) {
	s := begin(t)
	asked := 0
	s.Model.Reply = func(r turn.Request) (turn.Reply, error) {
		if r.Output != nil {
			return rig.Plain(r)
		}
		asked++
		s.sql(`update operations set started_at = started_at - interval '2 minutes'`) // so long it is silent
		return turn.Reply{}, &turn.ModelError{Class: turn.ErrSilence, Msg: "nothing was heard"}
	}
	tk := s.create(steer.NewTask{Instruction: "Work.", Config: task.Config{Budget: task.Budget{Operation: task.Allowance{Minutes: 1}}}})
	s.run(tk.ID)
	s.Drain()
	tp := s.topics(tk.ID)[0]
	if o := s.operations(tp.ID)[0]; tp.Status != topic.Timeout || o.Detail != operation.DetailTimeLimit || asked != 1 {
		t.Errorf("the topic is %s, its operation %s(%s); the model was asked %d times", tp.Status, o.Reason, o.Detail, asked)
	}
}

// gets lets every run leave a handoff.
func (s story) gets(summary, findings, next, unfinished func() string) {
	s.Model.Reply = func(r turn.Request) (turn.Reply, error) {
		if r.Output == nil {
			return rig.Plain(r)
		}
		return rig.Says(fmt.Sprintf(`{"title": "A run", "summary": %q, "keyFindings": [%s], "nextAction": %q, "unfinished": %q}`,
			summary(), findings(), next(), unfinished())), nil
	}
}

func word(w string) func() string { return func() string { return w } }

// beatOn lets the next beat come, and returns how long after the run the one after
// it is planned.
func (s story) beatOn(tk task.Task) time.Duration {
	s.Helper()
	s.sql(`update tasks set next_planned_at = clock_timestamp(), next_fire_at = clock_timestamp() where id = $1 and status = 'scheduled'`, tk.ID)
	s.Tick()
	got := s.task(tk.ID)
	if got.NextPlannedAt == nil {
		return 0
	}
	return got.NextPlannedAt.Sub(*s.topics(tk.ID)[0].CompletedAt).Round(time.Minute)
}

func TestAHeartbeatThatGetsNowhereSlowsDownAndStops(t *testing.T) {
	s := begin(t)
	stuck := "The CRM asks for a password."
	s.gets(func() string { return stuck }, word(""), word("Log in to the CRM."), word("The leads were not read."))
	tk := s.create(steer.NewTask{Instruction: "Read the leads.", Automation: heartbeat(600)})
	for i, want := range []time.Duration{10, 10, 10, 20, 40, 80} {
		if got := s.beatOn(tk); got != want*time.Minute {
			t.Fatalf("after run %d it waits %v, want %v minutes", i+1, got, int(want))
		}
	}
	if got := s.task(tk.ID); got.Repeats != 5 || !strings.Contains(got.NextWhy, "8 times slower") {
		t.Errorf("%d repeats, %q", got.Repeats, got.NextWhy)
	}
	s.beatOn(tk)
	s.is(tk.ID, task.Paused, task.NoProgress)
	if c := s.causes(tk.ID); !strings.Contains(c, "no_progress") {
		t.Fatalf("open are %q", c)
	}
	s.press(s.cardOf(tk.ID, "no_progress"), "resume", "")
	if got := s.is(tk.ID, task.Scheduled, task.ByPerson); got.Repeats != 0 {
		t.Errorf("%d repeats after it was resumed", got.Repeats)
	}

	// What is new lets go of it.
	for range 4 {
		s.beatOn(tk)
	}
	stuck = "The CRM let me in."
	if got := s.beatOn(tk); got != 10*time.Minute || s.task(tk.ID).Repeats != 0 || s.task(tk.ID).NextWhy != "" {
		t.Errorf("it got on, and waits %v: %+v", got, s.task(tk.ID))
	}
	// So does a person's word.
	s.beatOn(tk)
	s.beatOn(tk)
	if s.task(tk.ID).Repeats != 2 {
		t.Fatalf("%d repeats", s.task(tk.ID).Repeats)
	}
	_, err := s.Steer.Comment(s.Context(), s.Caller, tk.ID, "The password is in the safe.")
	s.Must(err)
	if s.task(tk.ID).Repeats != 0 {
		t.Error("a comment did not start the count anew")
	}
	s.beatOn(tk)
	name := "Leads"
	_, err = s.Steer.EditTask(s.Context(), s.Caller, tk.ID, nil, steer.TaskPatch{Name: &name})
	s.Must(err)
	if s.task(tk.ID).Repeats != 0 {
		t.Error("an edit did not start the count anew")
	}
}

func (s story) cardOf(taskID, cause string) string {
	s.Helper()
	for _, b := range s.open(taskID) {
		if b.Cause == cause {
			return fmt.Sprintf("B-%d", b.Number)
		}
	}
	s.Fatalf("no card of %s is open", cause)
	return ""
}

func TestAQuietWatchGoesOn(t *testing.T) {
	s := begin(t)
	s.gets(word("Nothing new."), word(""), word("Look again."), word(""))
	tk := s.create(steer.NewTask{Instruction: "Watch.", Automation: heartbeat(600)})
	for range 8 {
		if got := s.beatOn(tk); got != 10*time.Minute {
			t.Fatalf("it waits %v", got)
		}
	}
	if got := s.is(tk.ID, task.Scheduled, task.RanOn); got.Repeats != 0 {
		t.Errorf("%d repeats", got.Repeats)
	}
}

func TestAnAgentProposesItsNextBeat(t *testing.T) {
	s := begin(t)
	beat := heartbeat(600)
	beat.MinSeconds, beat.MaxSeconds = 300, 3600
	s.calls("propose_next_run", `{"seconds": 7200, "why": "The shop opens at noon."}`)
	tk := s.create(steer.NewTask{Instruction: "Watch the shop.", Automation: beat})
	if got := s.beatOn(tk); got != time.Hour {
		t.Errorf("it waits %v", got)
	}
	if got := s.task(tk.ID).NextWhy; got != "Its agent asked for 2h0m0s, held to 1h0m0s: The shop opens at noon." {
		t.Errorf("because %q", got)
	}
	answered := s.Model.Calls[1].Messages
	if text := answered[len(answered)-1].Content; text != "Noted. The next run comes 3600 seconds after this one ends: your 7200 are held between 300 and 3600." {
		t.Errorf("answered %q", text)
	}
	if got := s.beatOn(tk); got != 10*time.Minute || s.task(tk.ID).NextWhy != "" {
		t.Errorf("it holds for longer than one beat: %v, %q", got, s.task(tk.ID).NextWhy)
	}
}

func TestOnlyAHeartbeatsAgentIsAskedWhenItBeatsNext(t *testing.T) {
	s := begin(t)
	s.calls("propose_next_run", `{"seconds": 60, "why": "Soon."}`)
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()})
	s.run(tk.ID)
	s.Drain()
	for _, spec := range s.Model.Calls[0].Tools {
		if spec.Name == "propose_next_run" {
			t.Error("it is offered to a task on a grid")
		}
	}
	answered := s.Model.Calls[1].Messages
	if text := answered[len(answered)-1].Content; !strings.Contains(text, "not on a heartbeat") {
		t.Errorf("answered %q", text)
	}
}
