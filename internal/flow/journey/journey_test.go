// Package journey tells the main job from end to end, on a real database: a task
// is created, a tick fires, an agent works, a handoff and a brief are left, and the
// next run starts from them.
package journey

import (
	"strings"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/brief"
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

// story is a rig with the questions that these tests ask of it.
type story struct{ *rig.Rig }

func begin(t *testing.T) story {
	t.Helper()
	t.Parallel()
	return story{rig.New(t)}
}

func (s story) create(in steer.NewTask) task.Task {
	s.Helper()
	t, err := s.Steer.CreateTask(s.Context(), s.Caller, in)
	s.Must(err)
	return t
}

func (s story) task(id string) task.Task {
	s.Helper()
	t, err := s.Store.Task(s.Context(), s.Scope(), id)
	s.Must(err)
	return t
}

func (s story) topics(taskID string) []topic.Topic {
	s.Helper()
	ts, _, err := s.Store.Topics(s.Context(), s.Scope(), taskID, store.Page{})
	s.Must(err)
	return ts
}

func (s story) ticks(taskID string) []store.Tick {
	s.Helper()
	ts, _, err := s.Store.Ticks(s.Context(), s.Scope(), store.TickFilter{Task: taskID}, store.Page{})
	s.Must(err)
	return ts
}

func (s story) open(taskID string) []brief.Brief {
	s.Helper()
	bs, _, err := s.Store.Briefs(s.Context(), s.Scope(), store.BriefFilter{Task: taskID}, store.Page{})
	s.Must(err)
	return bs
}

// is checks the status of a task and why it has it.
func (s story) is(taskID string, status task.Status, why task.Reason) task.Task {
	s.Helper()
	t := s.task(taskID)
	if t.Status != status || t.StatusReason != string(why) {
		s.Fatalf("%s is %s(%s), want %s(%s)", t.Identifier, t.Status, t.StatusReason, status, why)
	}
	return t
}

func (s story) run(ref string) launch.Started {
	s.Helper()
	started, err := s.Launch.RunTask(s.Context(), s.Caller, ref, launch.Request{})
	s.Must(err)
	return started
}

// lastPrompt is what the model was told when its last run began.
func (s story) lastPrompt() string {
	s.Helper()
	for i := len(s.Model.Calls) - 1; i >= 0; i-- {
		if c := s.Model.Calls[i]; c.Output == nil && len(c.Messages) == 1 {
			return c.Messages[0].Content
		}
	}
	s.Fatal("no run began")
	return ""
}

func heartbeat(seconds int64) *schedule.Automation {
	return &schedule.Automation{Mode: schedule.Heartbeat, IntervalSeconds: seconds}
}

func TestAOneOffRunsAndWaitsForApproval(t *testing.T) {
	s := begin(t)
	tk := s.create(steer.NewTask{Instruction: "Say what is new.", Start: true})
	s.Drain()

	got := s.is(tk.ID, task.Paused, task.AwaitingReview)
	if got.CurrentTopicID != nil || got.TotalTopics != 1 || got.Error != nil {
		t.Errorf("after the run: %+v", got)
	}
	tp := s.topics(tk.ID)[0]
	if tp.Status != topic.Completed || tp.Handoff == nil || tp.Handoff.Title != "A run" || tp.HandoffSource != "model" {
		t.Errorf("topic = %+v", tp)
	}
	if ticks := s.ticks(tk.ID); len(ticks) != 1 || ticks[0].State != topic.TickRan || ticks[0].Origin != topic.Manual {
		t.Errorf("ticks = %+v", ticks)
	}
	bs := s.open(tk.ID)
	if len(bs) != 1 || bs[0].Type != brief.Result || bs[0].Title != "A run" || bs[0].Count != 1 {
		t.Fatalf("briefs = %+v", bs)
	}
	_, effects, err := s.Steer.ResolveBrief(s.Context(), s.Caller, "B-1", "approve", "")
	s.Must(err)
	if !strings.Contains(strings.Join(effects, " "), "T-1 is completed") {
		t.Errorf("effects = %q", effects)
	}
	s.Drain()
	s.is(tk.ID, task.Completed, task.Approved)
	if _, _, err := s.Steer.ResolveBrief(s.Context(), s.Caller, "b-1", "approve", ""); errs.CodeOf(err) != "already_resolved" {
		t.Errorf("a second press: %v", err)
	}
}

// The card of a run is there before its handoff is. Whoever is faster than the
// model that writes it has been told, and is not told again.
func TestACardThatIsAnsweredBeforeItsHandoffIsWrittenDoesNotComeBack(t *testing.T) {
	s := begin(t)
	s.Model.Reply = func(r turn.Request) (turn.Reply, error) {
		if r.Output != nil {
			_, _, err := s.Steer.ResolveBrief(s.Context(), s.Caller, "B-1", "approve", "")
			s.Must(err)
		}
		return rig.Plain(r)
	}
	tk := s.create(steer.NewTask{Instruction: "Say what is new.", Start: true})
	s.Drain()
	s.is(tk.ID, task.Completed, task.Approved)
	if bs := s.open(tk.ID); len(bs) > 0 {
		t.Errorf("told again: %+v", bs)
	}
}

func TestAHeartbeatStartsEachRunFromTheLastHandoff(t *testing.T) {
	s := begin(t)
	findings := []string{`"Three mails are open."`, `"Three mails are open."`, `"Four mails are open."`}
	runs := 0
	s.Model.Reply = func(r turn.Request) (turn.Reply, error) {
		if r.Output != nil {
			f := findings[runs]
			runs++
			return rig.Says(`{"title": "Mails counted", "summary": "The mails were counted.", "keyFindings": [` + f + `], "nextAction": "Count again.", "unfinished": ""}`), nil
		}
		return rig.Says("I counted the mails, and this is my report."), nil
	}
	tk := s.create(steer.NewTask{Instruction: "Count the mails.", Automation: heartbeat(60)})
	if tk.Status != task.Scheduled || tk.NextFireAt == nil {
		t.Fatalf("armed: %+v", tk)
	}
	s.Tick()
	after := s.is(tk.ID, task.Scheduled, task.RanOn)
	if after.NextFireAt == nil || after.NextFireAt.Sub(tk.CreatedAt) < 55*time.Second {
		t.Errorf("the next beat is at %v", after.NextFireAt)
	}
	if len(s.open(tk.ID)) != 1 {
		t.Errorf("the first finding is told: %v", s.open(tk.ID))
	}
	if p := s.lastPrompt(); strings.Contains(p, "previous_runs") {
		t.Errorf("the first prompt tells of earlier runs:\n%s", p)
	}
	_, _, err := s.Steer.ResolveBrief(s.Context(), s.Caller, "B-1", "approve", "")
	s.Must(err)

	s.Age(tk.ID, time.Minute)
	s.Tick()
	if p := s.lastPrompt(); !strings.Contains(p, "Three mails are open.") || !strings.Contains(p, "Count again.") {
		t.Errorf("the second prompt does not hold the first handoff:\n%s", p)
	}
	if n := len(s.open(tk.ID)); n != 0 {
		t.Errorf("nothing was new, and %d briefs were opened", n)
	}
	s.Age(tk.ID, time.Minute)
	s.Tick()
	if bs := s.open(tk.ID); len(bs) != 1 || !strings.Contains(bs[0].Summary, "Four mails") {
		t.Errorf("the news was not told: %+v", bs)
	}
	if n := len(s.topics(tk.ID)); n != 3 {
		t.Errorf("%d topics", n)
	}
	for _, k := range s.ticks(tk.ID) {
		if k.State != topic.TickRan || k.Origin != topic.Heartbeat {
			t.Errorf("tick %+v", k)
		}
	}
}

func TestAnAgentAsksAndTheAnswerStartsTheNextRun(t *testing.T) {
	s := begin(t)
	asked := false
	s.Model.Reply = func(r turn.Request) (turn.Reply, error) {
		if r.Output == nil && !asked {
			asked = true
			return rig.Wants("create_brief", `{"type": "decision", "priority": "urgent", "title": "Refund order 8812?", "summary": "The customer waits.",
				"choices": [{"key": "refund", "label": "Refund"}, {"key": "decline", "label": "Decline"}]}`), nil
		}
		return rig.Plain(r)
	}
	tk := s.create(steer.NewTask{Instruction: "Look after the mails.", Automation: heartbeat(60)})
	s.Tick()
	bs := s.open(tk.ID)
	if len(bs) != 1 || bs[0].Type != brief.Decision || len(bs[0].Actions) != 3 {
		t.Fatalf("briefs = %+v", bs)
	}
	// While it waits for a person, time does not start it, and the ledger says so.
	s.Age(tk.ID, time.Minute)
	s.Tick()
	ticks := s.ticks(tk.ID)
	if ticks[0].State != topic.TickSkipped || *ticks[0].Reason != string(task.WaitingForHuman) {
		t.Fatalf("tick = %+v", ticks[0])
	}
	if got := s.task(tk.ID); got.NextFireAt == nil {
		t.Error("after a refusal the heartbeat has no next fire")
	}
	why, err := s.Launch.Why(s.Context(), s.Caller, "T-1")
	s.Must(err)
	if why.Verdict.Reason != task.WaitingForHuman || !strings.Contains(why.Verdict.Detail, "B-1") {
		t.Errorf("why = %+v", why.Verdict)
	}
	_, effects, err := s.Steer.ResolveBrief(s.Context(), s.Caller, "B-1", "refund", "up to 50 EUR")
	s.Must(err)
	if len(effects) != 3 {
		t.Errorf("effects = %q", effects)
	}
	s.Drain()
	p := s.lastPrompt()
	if !strings.Contains(p, "refund (Refund). up to 50 EUR") || !strings.Contains(p, "answered with refund") {
		t.Errorf("the answer is not in the prompt:\n%s", p)
	}
	// It is told once as feedback.
	s.Age(tk.ID, time.Minute)
	s.Tick()
	if p := s.lastPrompt(); strings.Contains(p, "<feedback>") {
		t.Errorf("the feedback is told again:\n%s", p)
	}
}

func TestFailuresBlowTheFuseAndResumeResetsIt(t *testing.T) {
	s := begin(t)
	s.Model.Reply = func(turn.Request) (turn.Reply, error) {
		return turn.Reply{}, &turn.ModelError{Class: turn.ErrAuth, Status: 401, Msg: "the key was refused"}
	}
	tk := s.create(steer.NewTask{Instruction: "Try.", Automation: heartbeat(60)})
	for i := 1; i <= 3; i++ {
		s.Tick()
		bs := s.open(tk.ID)
		if len(bs) != 1 || bs[0].Type != brief.Error || bs[0].Count != i {
			t.Fatalf("after %d failures: %+v", i, bs)
		}
		if i < 3 {
			got := s.is(tk.ID, task.Scheduled, task.RunFailed)
			if got.Error == nil || !strings.Contains(*got.Error, "key was refused") {
				t.Errorf("error = %v", got.Error)
			}
			s.Age(tk.ID, time.Minute)
		}
	}
	got := s.is(tk.ID, task.Paused, task.Fuse)
	if got.NextFireAt != nil || got.Failures != 3 {
		t.Errorf("%+v", got)
	}
	if b := s.open(tk.ID)[0]; b.Cause != brief.CauseFuse {
		t.Errorf("cause = %s", b.Cause)
	}
	for _, tp := range s.topics(tk.ID) {
		if tp.Status != topic.Failed || tp.Handoff == nil || tp.HandoffSource != "fallback" {
			t.Errorf("topic %+v", tp)
		}
	}
	s.Model.Reply = nil
	_, _, err := s.Steer.ResolveBrief(s.Context(), s.Caller, "B-1", "resume", "")
	s.Must(err)
	if got := s.is(tk.ID, task.Scheduled, task.ByPerson); got.Failures != 0 || got.NextFireAt == nil {
		t.Errorf("resumed: %+v", got)
	}
	s.Age(tk.ID, time.Minute)
	s.Tick()
	s.is(tk.ID, task.Scheduled, task.RanOn)
}

func TestCancelStopsTheRunAndNothingIsWrittenAfter(t *testing.T) {
	s := begin(t)
	var tk task.Task
	s.Model.Reply = func(r turn.Request) (turn.Reply, error) {
		if r.Output == nil { // a person cancels while the model is thinking
			_, err := s.Steer.CancelTask(s.Context(), s.Caller, tk.ID, "enough")
			s.Must(err)
		}
		return rig.Plain(r)
	}
	tk = s.create(steer.NewTask{Instruction: "Work.", Automation: heartbeat(60)})
	s.Tick()
	got := s.is(tk.ID, task.Canceled, task.ByPerson)
	if got.NextFireAt != nil || got.CurrentTopicID != nil {
		t.Errorf("%+v", got)
	}
	tp := s.topics(tk.ID)[0]
	if tp.Status != topic.Canceled || tp.ReasonDetail != operation.DetailByPerson || tp.Handoff == nil {
		t.Errorf("topic %+v", tp)
	}
	ops, err := s.Store.TopicOperations(s.Context(), s.Scope(), tp.ID)
	s.Must(err)
	if ops[0].Status != operation.Interrupted || ops[0].Steps != 0 {
		t.Errorf("operation %+v", ops[0])
	}
	if bs := s.open(tk.ID); len(bs) != 0 {
		t.Errorf("briefs %+v", bs)
	}
}

func TestPauseWhileRunningKeepsTheRunsWork(t *testing.T) {
	s := begin(t)
	var tk task.Task
	s.Model.Reply = func(r turn.Request) (turn.Reply, error) {
		if r.Output == nil {
			_, err := s.Steer.PauseTask(s.Context(), s.Caller, tk.ID, false, "not tonight")
			s.Must(err)
		}
		return rig.Plain(r)
	}
	tk = s.create(steer.NewTask{Instruction: "Work.", Automation: heartbeat(60)})
	s.Tick()
	s.is(tk.ID, task.Paused, task.ByPerson)
	tp := s.topics(tk.ID)[0]
	if tp.Status != topic.Completed || tp.Handoff == nil {
		t.Errorf("topic %+v", tp)
	}
}

func TestASecondRunIsRefusedWhileOneIsOpen(t *testing.T) {
	s := begin(t)
	tk := s.create(steer.NewTask{Instruction: "Work.", Start: true})
	_, err := s.Launch.RunTask(s.Context(), s.Caller, "t-1", launch.Request{})
	if errs.KindOf(err) != errs.Conflict || errs.CodeOf(err) != "in_flight" {
		t.Errorf("err = %v", err)
	}
	ticks := s.ticks(tk.ID)
	if len(ticks) != 2 || ticks[0].State != topic.TickSkipped || *ticks[0].Reason != "in_flight" {
		t.Errorf("the refusal is not in the ledger: %+v", ticks)
	}
}

func TestToolsWriteDocumentsAndCommentsOnce(t *testing.T) {
	s := begin(t)
	step := 0
	s.Model.Reply = func(r turn.Request) (turn.Reply, error) {
		if r.Output != nil {
			return rig.Plain(r)
		}
		step++
		switch step {
		case 1:
			return rig.Wants("write_document", `{"title": "Report", "folder": "night", "content": "All is well."}`), nil
		case 2:
			return rig.Wants("comment_task", `{"content": "The report is written."}`), nil
		case 3:
			return rig.Wants("no_such_tool", `{}`), nil
		case 4:
			return rig.Wants("write_document", `{"title": 5}`), nil
		case 5:
			return rig.Wants("create_task", `{"instruction": "Check the report.", "start": true}`), nil
		}
		return rig.Says("The report of the night is written and checked."), nil
	}
	tk := s.create(steer.NewTask{Instruction: "Write the report.", Start: true})
	s.Drain()
	s.is(tk.ID, task.Paused, task.AwaitingReview)
	docs, _, err := s.Store.Documents(s.Context(), s.Scope(), store.DocumentFilter{}, store.Page{})
	s.Must(err)
	if len(docs) != 1 || docs[0].Folder != "night" || docs[0].TopicID == nil {
		t.Errorf("documents %+v", docs)
	}
	var errors []string
	for _, c := range s.Model.Calls {
		for _, m := range c.Messages {
			if m.IsError {
				errors = append(errors, m.Content)
			}
		}
	}
	all := strings.Join(errors, "\n")
	if !strings.Contains(all, `no tool "no_such_tool"`) || !strings.Contains(all, "title: got number, want string") {
		t.Errorf("what the model was told of its mistakes:\n%s", all)
	}
	subs, _, err := s.Store.Tasks(s.Context(), s.Scope(), store.TaskFilter{Parent: tk.ID}, store.Page{})
	s.Must(err)
	if len(subs) != 1 || subs[0].Status != task.Completed {
		t.Errorf("subtasks %+v", subs)
	}
	if n := len(s.open(subs[0].ID)); n != 0 {
		t.Errorf("a subtask of an agent told %d briefs", n)
	}
}

func TestATaskWaitsForWhatItDependsOn(t *testing.T) {
	s := begin(t)
	up := s.create(steer.NewTask{Instruction: "First.", Config: task.Config{Acceptance: task.Auto}})
	down := s.create(steer.NewTask{Instruction: "Second.", DependsOn: []steer.NewDependency{{Task: "T-1"}}, Start: true})
	if ticks := s.ticks(down.ID); *ticks[0].Reason != string(task.Blocked) {
		t.Fatalf("ticks %+v", ticks)
	}
	s.run(up.ID)
	s.Drain()
	s.is(up.ID, task.Completed, task.RanOn)
	s.is(down.ID, task.Paused, task.AwaitingReview)
}

func TestLimitOfStepsEndsARunWithWhatItHas(t *testing.T) {
	s := begin(t)
	s.Model.Reply = func(r turn.Request) (turn.Reply, error) {
		if r.Output != nil {
			return rig.Plain(r)
		}
		return rig.Wants("current_time", `{}`), nil
	}
	tk := s.create(steer.NewTask{
		Instruction: "Never stop.", Start: true,
		Config: task.Config{Budget: task.Budget{Operation: task.Allowance{Steps: 6}}},
	})
	s.Drain()
	s.is(tk.ID, task.Paused, task.AwaitingReview)
	tp := s.topics(tk.ID)[0]
	if tp.Status != topic.Completed || tp.Reason != operation.ReasonMaxSteps {
		t.Errorf("topic %+v", tp)
	}
}

func TestAOneShotRunsAtItsTime(t *testing.T) {
	s := begin(t)
	at := time.Now().Add(time.Hour)
	tk := s.create(steer.NewTask{Instruction: "At noon.", StartAt: &at})
	s.Tick()
	if n := len(s.topics(tk.ID)); n != 0 {
		t.Fatalf("it ran %d times before its time", n)
	}
	_, err := s.Store.Pool().Exec(s.Context(), `update tasks set start_at = now() - interval '10 seconds', next_planned_at = now() - interval '10 seconds', next_fire_at = now() - interval '10 seconds' where id = $1`, tk.ID)
	s.Must(err)
	s.Tick()
	s.is(tk.ID, task.Paused, task.AwaitingReview)
}

func TestAMissedOneShotSaysSo(t *testing.T) {
	s := begin(t)
	at := time.Now().Add(time.Hour)
	tk := s.create(steer.NewTask{Instruction: "At noon.", StartAt: &at})
	_, err := s.Store.Pool().Exec(s.Context(), `update tasks set start_at = now() - interval '2 days', next_planned_at = now() - interval '2 days', next_fire_at = now() - interval '2 days' where id = $1`, tk.ID)
	s.Must(err)
	s.Tick()
	s.is(tk.ID, task.Backlog, task.CatchUpExpired)
	if bs := s.open(tk.ID); len(bs) != 1 || bs[0].Cause != brief.CauseMissed {
		t.Errorf("briefs %+v", bs)
	}
	if ticks := s.ticks(tk.ID); len(ticks) != 1 || ticks[0].State != topic.TickMissed {
		t.Errorf("ticks %+v", ticks)
	}
}

func TestTakingTheScheduleAwayPutsATaskIntoTheBacklog(t *testing.T) {
	s := begin(t)
	tk := s.create(steer.NewTask{Instruction: "Look.", Automation: heartbeat(60)})
	var none *schedule.Automation
	_, err := s.Steer.EditTask(s.Context(), s.Caller, "T-1", nil, steer.TaskPatch{Automation: &none})
	s.Must(err)
	if got := s.is(tk.ID, task.Backlog, task.AutomationRemoved); got.NextFireAt != nil || got.AutomationRevision != 2 {
		t.Errorf("%+v", got)
	}
	again := heartbeat(120)
	_, err = s.Steer.EditTask(s.Context(), s.Caller, "T-1", nil, steer.TaskPatch{Automation: &again})
	s.Must(err)
	if got := s.is(tk.ID, task.Scheduled, task.Armed); got.NextFireAt == nil || got.AutomationRevision != 3 {
		t.Errorf("%+v", got)
	}
}
