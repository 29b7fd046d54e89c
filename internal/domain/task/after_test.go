package task

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/brief"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
)

var (
	noon  = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	agent = "agent"
	run7  = "run 7"
)

// running is a one-off in its run 7.
func running(edits ...func(*Task)) Task {
	t := Task{
		ID: "task", Identifier: "T-1", Name: "Watch the mails", Status: Running, StatusReason: string(Launched),
		CreatedBy: access.Actor{Kind: access.Person}, AssigneeAgentID: &agent, CurrentTopicID: &run7, TotalTopics: 7,
	}
	for _, edit := range edits {
		edit(&t)
	}
	return t
}

func auto(t *Task) { t.Config.Acceptance = Auto }

func beats(t *Task) {
	utc := "UTC"
	t.Automation = &schedule.Automation{Mode: schedule.Heartbeat, IntervalSeconds: 600, MaxSeconds: 3600, Timezone: &utc}
}

// hourly keeps its next fire while it runs.
func hourly(t *Task) {
	utc := "UTC"
	next := noon.Add(time.Hour)
	t.Automation = &schedule.Automation{Mode: schedule.Schedule, Pattern: "0 * * * *", Timezone: &utc}
	t.NextPlannedAt, t.NextFireAt = &next, &next
}

func failures(n int) func(*Task)   { return func(t *Task) { t.Failures = n } }
func fuseAt(n int) func(*Task)     { return func(t *Task) { t.Config.FailureFuse = n } }
func maxRuns(n int) func(*Task)    { return func(t *Task) { t.MaxTopics = &n } }
func checkpointAfter(t *Task)      { t.Config.Checkpoint = &Checkpoint{After: true} }
func becomes(s Status) func(*Task) { return func(t *Task) { t.Status = s } }
func startsAt(at time.Time) func(*Task) {
	return func(t *Task) { t.StartAt = &at }
}
func deleted(t *Task) { t.Status, t.DeletedAt = Canceled, &noon }
func lastExecution(t *Task) {
	t.Automation.MaxExecutions, t.Executions = 3, 3
}
func until(at time.Time) func(*Task) {
	return func(t *Task) { t.Automation.EndsAt, t.NextPlannedAt, t.NextFireAt = &at, nil, nil }
}

// ends is how run 7 ended.
func ends(r operation.Reason, detail string) Ending {
	e := Ending{TopicID: run7, Origin: topic.Manual, Reason: r, Detail: detail, Text: "I looked at the mails and found three."}
	if r == operation.ReasonError {
		e.Error = "The key was refused."
	}
	return e
}

func (e Ending) from(o topic.Origin) Ending { e.Origin = o; return e }
func (e Ending) wishes(w operation.Wishes) Ending {
	e.Wishes = w
	return e
}
func (e Ending) spent() Ending  { e.TaskBudgetSpent = true; return e }
func (e Ending) ticked() Ending { e.TickWaits = true; return e }

var (
	done        = ends(operation.ReasonDone, "")
	failed      = ends(operation.ReasonError, "provider_auth")
	interrupted = ends(operation.ReasonInterrupted, operation.DetailByPerson)
	byParent    = ends(operation.ReasonInterrupted, operation.DetailByParent)
	unexplained = ends(operation.ReasonInterrupted, "")
	timeLimit   = ends(operation.ReasonInterrupted, operation.DetailTimeLimit)
	stalled     = ends(operation.ReasonInterrupted, operation.DetailStalled)
	silent      = ends(operation.ReasonInterrupted, operation.DetailHeartbeatTimeout)
	maxSteps    = ends(operation.ReasonMaxSteps, "")
	costLimit   = ends(operation.ReasonCostLimit, operation.DetailTokenLimit)
	waitsHuman  = ends(operation.ReasonWaitingForHuman, "")
	waitsTool   = ends(operation.ReasonWaitingForAsyncTool, "")
)

// The table "end of a topic". The brief is "type/priority/cause", "" for none at
// once; the task is "" where it stays as it is.
func TestTheEndOfATopic(t *testing.T) {
	const stays = ""
	errorCard, fuseCard := "error/urgent/run_failed", "error/urgent/fuse"
	for _, c := range []struct {
		name     string
		task     Task
		end      Ending
		topic    topic.Status
		becomes  string
		failures int
		brief    string
	}{
		// done
		{"one-off, review: done", running(), done, topic.Completed, "paused(awaiting_review)", 0, "result/normal/result"},
		{"one-off, auto: done", running(auto), done, topic.Completed, "completed(done)", 0, ""},
		{"heartbeat: done resets the fuse", running(beats, failures(2)), done.from(topic.Heartbeat), topic.Completed, "scheduled(done)", 0, ""},
		{"schedule: done by hand resets it too", running(hourly, failures(2)), done, topic.Completed, "scheduled(done)", 0, ""},
		// error
		{"one-off, review: error", running(), failed, topic.Failed, "paused(run_failed)", 0, errorCard},
		{"one-off, auto: error", running(auto), failed, topic.Failed, "failed(run_failed)", 0, errorCard},
		{"tick: error", running(hourly), failed.from(topic.Schedule), topic.Failed, "scheduled(run_failed)", 1, errorCard},
		{"tick: error at the fuse", running(hourly, failures(2)), failed.from(topic.Schedule), topic.Failed, "paused(fuse)", 3, fuseCard},
		{"heartbeat: error at the fuse", running(beats, failures(2)), failed.from(topic.Heartbeat), topic.Failed, "paused(fuse)", 3, fuseCard},
		{"tick: error at its own fuse", running(hourly, fuseAt(1)), failed.from(topic.Schedule), topic.Failed, "paused(fuse)", 1, fuseCard},
		{"tick: error under its own fuse", running(hourly, fuseAt(5), failures(3)), failed.from(topic.Schedule), topic.Failed, "scheduled(run_failed)", 4, errorCard},
		{"a signal's run counts as a tick's", running(hourly, failures(2)), failed.from(topic.Signal), topic.Failed, "paused(fuse)", 3, fuseCard},
		{"by hand: error counts nothing", running(hourly, failures(2)), failed, topic.Failed, "scheduled(run_failed)", 2, errorCard},
		{"by a retry: neither", running(beats, failures(2)), failed.from(topic.Retry), topic.Failed, "scheduled(run_failed)", 2, errorCard},
		// interrupted by somebody
		{"one-off: interrupted", running(), interrupted, topic.Canceled, "paused(interrupted)", 0, ""},
		{"one-off, auto: interrupted", running(auto), interrupted, topic.Canceled, "paused(interrupted)", 0, ""},
		{"automated: interrupted", running(hourly, failures(1)), interrupted.from(topic.Schedule), topic.Canceled, "scheduled(interrupted)", 1, ""},
		{"by the parent", running(), byParent, topic.Canceled, "paused(interrupted)", 0, ""},
		{"without a detail it is a person's", running(beats), unexplained.from(topic.Heartbeat), topic.Canceled, "scheduled(interrupted)", 0, ""},
		// interrupted by a clock: as an error
		{"one-off: time limit", running(), timeLimit, topic.Timeout, "paused(run_failed)", 0, errorCard},
		{"one-off, auto: stalled", running(auto), stalled, topic.Timeout, "failed(run_failed)", 0, errorCard},
		{"tick: heartbeat timeout", running(beats), silent.from(topic.Heartbeat), topic.Timeout, "scheduled(run_failed)", 1, errorCard},
		{"tick: time limit at the fuse", running(beats, failures(2)), timeLimit.from(topic.Heartbeat), topic.Timeout, "paused(fuse)", 3, fuseCard},
		// max_steps
		{"one-off, review: max_steps", running(), maxSteps, topic.Completed, "paused(awaiting_review)", 0, "insight/info/max_steps"},
		{"one-off, auto: max_steps", running(auto), maxSteps, topic.Completed, "failed(max_steps)", 0, "insight/info/max_steps"},
		{"automated: max_steps leaves the fuse", running(beats, failures(2)), maxSteps.from(topic.Heartbeat), topic.Completed, "scheduled(max_steps)", 2, "insight/info/max_steps"},
		// cost_limit
		{"one-off: cost_limit", running(), costLimit, topic.Completed, "paused(budget)", 0, "decision/urgent/budget"},
		{"one-off, auto: cost_limit", running(auto), costLimit, topic.Completed, "paused(budget)", 0, "decision/urgent/budget"},
		{"automated: the operation's cost_limit", running(beats, failures(1)), costLimit.from(topic.Heartbeat), topic.Completed, "scheduled(cost_limit)", 1, "decision/normal/budget"},
		{"automated: the task's own budget", running(beats), costLimit.from(topic.Heartbeat).spent(), topic.Completed, "paused(budget)", 0, "decision/urgent/budget"},
		// waiting
		{"waiting for a person", running(), waitsHuman, topic.Running, stays, 0, "decision/urgent/waiting_for_human"},
		{"heartbeat: waiting for a person", running(beats, failures(1)), waitsHuman.from(topic.Heartbeat), topic.Running, stays, 1, "decision/urgent/waiting_for_human"},
		{"waiting for a tool", running(beats), waitsTool.from(topic.Heartbeat), topic.Running, stays, 0, ""},

		// before the table: checkpoints hold any task
		{"checkpoint after: one-off", running(checkpointAfter), done, topic.Completed, "paused(checkpoint_after)", 0, "decision/urgent/checkpoint"},
		{"checkpoint after: one-off, auto", running(checkpointAfter, auto), done, topic.Completed, "paused(checkpoint_after)", 0, "decision/urgent/checkpoint"},
		{"checkpoint after: heartbeat", running(checkpointAfter, beats), done.from(topic.Heartbeat), topic.Completed, "paused(checkpoint_after)", 0, "decision/urgent/checkpoint"},
		{"checkpoint after an error", running(checkpointAfter, beats), failed.from(topic.Heartbeat), topic.Failed, "paused(checkpoint_after)", 1, "decision/urgent/checkpoint"},
		{"checkpoint requested", running(hourly), done.from(topic.Schedule).wishes(operation.Wishes{Checkpoint: true}), topic.Completed, "paused(checkpoint_requested)", 0, "decision/urgent/checkpoint"},
		{"checkpoint requested wins over after", running(checkpointAfter), done.wishes(operation.Wishes{Checkpoint: true}), topic.Completed, "paused(checkpoint_requested)", 0, "decision/urgent/checkpoint"},
		{"checkpoint after the last execution", running(checkpointAfter, hourly, lastExecution), done.from(topic.Schedule), topic.Completed, "paused(checkpoint_after)", 0, "decision/urgent/checkpoint"},
		{"checkpoint requested in the last execution", running(hourly, lastExecution), done.from(topic.Schedule).wishes(operation.Wishes{Checkpoint: true}), topic.Completed, "paused(checkpoint_requested)", 0, "decision/urgent/checkpoint"},
		// an agent's other wishes
		{"wish to complete, review", running(beats), done.from(topic.Heartbeat).wishes(operation.Wishes{Complete: true}), topic.Completed, "paused(awaiting_review)", 0, "result/normal/result"},
		{"wish to complete, auto", running(beats, auto), done.from(topic.Heartbeat).wishes(operation.Wishes{Complete: true}), topic.Completed, "completed(agent_request)", 0, ""},
		{"wish to complete of a run that failed", running(beats, auto), failed.from(topic.Heartbeat).wishes(operation.Wishes{Complete: true}), topic.Failed, "scheduled(run_failed)", 1, errorCard},
		{"wish to pause", running(beats), done.from(topic.Heartbeat).wishes(operation.Wishes{Pause: true}), topic.Completed, "paused(agent_request)", 0, "decision/normal/checkpoint"},

		// after the table: bounds that are used up complete the task whatever the ending
		{"last execution: done", running(hourly, lastExecution), done.from(topic.Schedule), topic.Completed, "completed(bounds_used_up)", 0, ""},
		{"last execution: error keeps its card", running(hourly, lastExecution), failed.from(topic.Schedule), topic.Failed, "completed(bounds_used_up)", 1, errorCard},
		{"last execution: the fuse has nothing to hold", running(hourly, lastExecution, failures(2)), failed.from(topic.Schedule), topic.Failed, "completed(bounds_used_up)", 3, errorCard},
		{"last execution: interrupted", running(hourly, lastExecution), interrupted.from(topic.Schedule), topic.Canceled, "completed(bounds_used_up)", 0, ""},
		{"last execution: max_steps", running(hourly, lastExecution), maxSteps.from(topic.Schedule), topic.Completed, "completed(bounds_used_up)", 0, "insight/info/max_steps"},
		{"last execution: budget", running(hourly, lastExecution), costLimit.from(topic.Schedule).spent(), topic.Completed, "completed(bounds_used_up)", 0, "decision/normal/budget"},
		{"last execution of a heartbeat", running(beats, lastExecution), done.from(topic.Heartbeat), topic.Completed, "completed(bounds_used_up)", 0, ""},
		{"a run by hand is no execution", running(hourly, func(t *Task) { t.Automation.MaxExecutions, t.Executions = 3, 2 }), done, topic.Completed, "scheduled(done)", 0, ""},
		{"last execution, and the agent says that it is done", running(hourly, auto, lastExecution), done.from(topic.Schedule).wishes(operation.Wishes{Complete: true}), topic.Completed, "completed(agent_request)", 0, ""},
		{"the last allowed run", running(hourly, maxRuns(7)), done.from(topic.Schedule), topic.Completed, "completed(max_topics)", 0, ""},
		{"the last allowed run, by hand", running(beats, maxRuns(7)), failed, topic.Failed, "completed(max_topics)", 0, errorCard},
		{"one-off with its last allowed run", running(maxRuns(7)), done, topic.Completed, "paused(awaiting_review)", 0, "result/normal/result"},
		{"past the schedule's end", running(hourly, until(noon)), done.from(topic.Schedule), topic.Completed, "completed(bounds_used_up)", 0, ""},
		{"past the schedule's end, its last tick waits", running(hourly, until(noon)), done.from(topic.Schedule).ticked(), topic.Completed, "scheduled(done)", 0, ""},
		{"past the heartbeat's end", running(beats, until(noon.Add(time.Minute))), done.from(topic.Heartbeat), topic.Completed, "completed(bounds_used_up)", 0, ""},
		{"the agent's next beat is past the end", running(beats, until(noon.Add(20*time.Minute))), done.from(topic.Heartbeat).wishes(operation.Wishes{NextBeatSeconds: 3600}), topic.Completed, "completed(bounds_used_up)", 0, ""},

		// a one-shot that was run by hand before its time keeps it
		{"one-shot by hand: done", running(startsAt(noon.Add(time.Hour))), done, topic.Completed, "scheduled(done)", 0, ""},
		{"one-shot by hand: error", running(startsAt(noon.Add(time.Hour))), failed, topic.Failed, "scheduled(run_failed)", 0, errorCard},
		{"one-shot by hand: interrupted", running(startsAt(noon.Add(time.Hour))), interrupted, topic.Canceled, "scheduled(interrupted)", 0, ""},
		// an automation that was removed meanwhile: as a one-off
		{"automation removed while it ran", running(), done.from(topic.Heartbeat), topic.Completed, "paused(awaiting_review)", 0, "result/normal/result"},

		// the task went on without the run: its status stays
		{"paused by a person: done", running(becomes(Paused)), done, topic.Completed, stays, 0, ""},
		{"paused by a person: error", running(hourly, becomes(Paused), failures(2)), failed.from(topic.Schedule), topic.Failed, stays, 3, errorCard},
		{"paused by a person: cost_limit did not pause it", running(becomes(Paused)), costLimit, topic.Completed, stays, 0, "decision/normal/budget"},
		{"paused by a person: the agent's question stays", running(becomes(Paused)), done.wishes(operation.Wishes{Checkpoint: true}), topic.Completed, stays, 0, "decision/urgent/checkpoint"},
		{"canceled: interrupted", running(beats, becomes(Canceled)), interrupted.from(topic.Heartbeat), topic.Canceled, stays, 0, ""},
		{"canceled: error", running(becomes(Canceled)), failed, topic.Failed, stays, 0, errorCard},
		{"canceled: no checkpoint", running(checkpointAfter, becomes(Canceled)), done, topic.Completed, stays, 0, ""},
		{"completed by a person: done", running(becomes(Completed)), done, topic.Completed, stays, 0, ""},
		{"running another topic", running(func(t *Task) { t.CurrentTopicID = &agent }), failed, topic.Failed, stays, 0, errorCard},
		{"deleted: done", running(deleted), done, topic.Completed, stays, 0, ""},
		{"deleted, whatever its status says", running(deleted, becomes(Running)), done, topic.Completed, stays, 0, ""},
		{"deleted: error tells nobody", running(deleted), failed, topic.Failed, stays, 0, ""},
		{"deleted: waiting asks nobody", running(deleted), waitsHuman, topic.Running, stays, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := after(t, c.task, c.end)
			if p.Topic != c.topic {
				t.Errorf("the topic is %s, want %s", p.Topic, c.topic)
			}
			if got := moved(p); got != c.becomes {
				t.Errorf("the task becomes %q, want %q", got, c.becomes)
			}
			if p.Failures != c.failures {
				t.Errorf("%d failures, want %d", p.Failures, c.failures)
			}
			if got := card(p.Brief); got != c.brief {
				t.Errorf("the brief is %q, want %q", got, c.brief)
			}
			if b := p.Brief; b != nil && (b.Title == "" || b.Summary == "" || len(b.Actions) < 2) {
				t.Errorf("the brief says too little: %+v", b)
			}
			if want := p.Move != nil && p.Move.To().Terminal(); p.Ended != want {
				t.Errorf("ended = %v", p.Ended)
			}
		})
	}
}

func after(t *testing.T, tk Task, e Ending) Plan {
	t.Helper()
	p, err := AfterTopic(tk, e, compiled(t, tk), noon)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func compiled(t *testing.T, tk Task) *schedule.Spec {
	t.Helper()
	spec, err := tk.Spec()
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func moved(p Plan) string {
	if p.Move == nil {
		return ""
	}
	return string(p.Move.To()) + "(" + string(p.Move.Reason()) + ")"
}

func card(b *brief.Draft) string {
	if b == nil {
		return ""
	}
	return string(b.Type) + "/" + string(b.Priority) + "/" + b.Cause
}

func TestTheNextFireAfterARun(t *testing.T) {
	planned := noon.Add(time.Hour)
	for _, c := range []struct {
		name  string
		task  Task
		end   Ending
		clear bool
		next  time.Time // zero: none is set
	}{
		{"a heartbeat beats an interval after the end", running(beats), done.from(topic.Heartbeat), false, noon.Add(10 * time.Minute)},
		{"the agent asks for a later beat", running(beats), done.from(topic.Heartbeat).wishes(operation.Wishes{NextBeatSeconds: 1800}), false, noon.Add(30 * time.Minute)},
		{"the agent asks for too late a beat", running(beats), done.from(topic.Heartbeat).wishes(operation.Wishes{NextBeatSeconds: 1e9}), false, planned},
		{"a heartbeat beats on after a failure", running(beats), failed.from(topic.Heartbeat), false, noon.Add(10 * time.Minute)},
		{"its open tick is its next beat", running(beats), done.ticked(), false, time.Time{}},
		{"a schedule has kept its own", running(hourly), done.from(topic.Schedule), false, time.Time{}},
		{"a schedule that lost its own gets the next", running(hourly, func(t *Task) { t.NextPlannedAt, t.NextFireAt = nil, nil }), done, false, planned},
		{"a paused task has none", running(hourly, failures(2)), failed.from(topic.Schedule), true, time.Time{}},
		{"a completed one neither", running(hourly, lastExecution), done.from(topic.Schedule), true, time.Time{}},
		{"a one-shot keeps its time", running(startsAt(planned)), done, false, planned},
		{"a one-shot whose time came during the run has it now", running(startsAt(noon.Add(-time.Minute))), done, false, noon},
		{"a one-shot's open tick is its time", running(startsAt(noon.Add(-time.Minute))), done.ticked(), false, time.Time{}},
		{"somebody else's pause leaves it", running(hourly, becomes(Paused)), done, false, time.Time{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := after(t, c.task, c.end)
			if p.Next.Clear != c.clear || !p.Next.Set.PlannedAt.Equal(c.next) {
				t.Errorf("%+v", p.Next)
			}
		})
	}
}

func TestTheErrorOfATask(t *testing.T) {
	old := "an old error"
	aged := func(t *Task) { t.Error = &old }
	for _, c := range []struct {
		name string
		task Task
		end  Ending
		want string
	}{
		{"a failure is noted", running(), failed, "The key was refused."},
		{"a failure without words gets some", running(), timeLimit, "The run ended without a result."},
		{"a good run clears it", running(aged), done, ""},
		{"an interruption clears it", running(aged), interrupted, ""},
		{"a task that went on keeps its own", running(aged, becomes(Canceled)), failed, old},
		{"a run that waits changes nothing", running(aged), waitsHuman, old},
	} {
		p := after(t, c.task, c.end)
		if got := firstOf(text(p.Error)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func TestAGoodRunClosesWhatItHeals(t *testing.T) {
	p := after(t, running(beats), done.from(topic.Heartbeat))
	for _, cause := range []string{brief.CauseRunFailed, brief.CauseFuse, brief.CauseMissed, brief.CauseBudget} {
		if !slices.Contains(p.Close, cause) {
			t.Errorf("%s stays open", cause)
		}
	}
	if slices.Contains(p.Close, brief.CauseResult) || slices.Contains(p.Close, brief.CauseCheckpoint) {
		t.Errorf("it closes %v: those are a person's to close", p.Close)
	}
	if !slices.Contains(p.Close, brief.CauseSkips) {
		t.Error("no planned time was lost to it, and the card that says so stays open")
	}
	late := running(beats)
	late.Skips = 1
	if p := after(t, late, done.from(topic.Heartbeat)); slices.Contains(p.Close, brief.CauseSkips) {
		t.Error("a planned time was lost to it, and it closes the card that says so")
	}
	if p := after(t, running(beats), failed.from(topic.Heartbeat)); p.Close != nil {
		t.Errorf("a failure closes %v", p.Close)
	}
}

func TestTheFuseTakesOverTheOpenErrorCard(t *testing.T) {
	p := after(t, running(beats, failures(2)), failed.from(topic.Heartbeat))
	if p.Recause != [2]string{brief.CauseRunFailed, brief.CauseFuse} {
		t.Errorf("recause %v", p.Recause)
	}
	if !strings.Contains(p.Brief.Summary, "3 runs") || keys(p.Brief) != "resume edit run_once" {
		t.Errorf("%+v", p.Brief)
	}
	p = after(t, running(beats, failures(2), becomes(Paused)), failed.from(topic.Heartbeat))
	if p.Recause != [2]string{} {
		t.Errorf("a task that a person paused has no blown fuse: %v", p.Recause)
	}
}

func TestTheButtonsOfTheHouse(t *testing.T) {
	for _, c := range []struct {
		name string
		task Task
		end  Ending
		want string
	}{
		{"result", running(), done, "approve feedback"},
		{"error", running(), failed, "retry feedback ignore"},
		{"budget", running(), costLimit, "continue edit stop"},
		{"limit", running(), maxSteps, "acknowledge feedback"},
		{"checkpoint", running(checkpointAfter), done, "resume run_once feedback stop"},
	} {
		if got := keys(after(t, c.task, c.end).Brief); got != c.want {
			t.Errorf("%s offers %q, want %q", c.name, got, c.want)
		}
	}
}

func keys(d *brief.Draft) string {
	var out []string
	for _, a := range d.Actions {
		out = append(out, a.Key)
	}
	return strings.Join(out, " ")
}

func TestAScheduleThatCannotBeReadPausesItsTask(t *testing.T) {
	p, err := AfterTopic(running(hourly), done.from(topic.Schedule), nil, noon)
	if err != nil {
		t.Fatal(err)
	}
	if moved(p) != "paused(no_pattern)" || card(p.Brief) != "error/urgent/no_pattern" {
		t.Errorf("%s, %s", moved(p), card(p.Brief))
	}
}

func TestAnAgentsWishIsTheAgentsMove(t *testing.T) {
	p := after(t, running(beats, auto), done.wishes(operation.Wishes{Complete: true}))
	if a := p.Move.Actor(); a.Kind != access.Agent || a.ID != agent {
		t.Errorf("%+v", a)
	}
	if a := after(t, running(beats), done).Move.Actor(); a != access.House {
		t.Errorf("%+v", a)
	}
}

// Whatever a task is and however its run ends, what follows is legal and leaves no
// task adrift: a task that is scheduled has a next fire or an open tick, any other
// has none.
func TestNoEndingLeavesATaskAdrift(t *testing.T) {
	reasons := []operation.Reason{
		operation.ReasonDone, operation.ReasonError, operation.ReasonInterrupted, operation.ReasonMaxSteps, operation.ReasonCostLimit,
		operation.ReasonWaitingForHuman, operation.ReasonWaitingForAsyncTool,
	}
	details := []string{"", operation.DetailByPerson, operation.DetailTimeLimit, operation.DetailStalled, operation.DetailMoneyLimit, operation.DetailSuperseded}
	origins := []topic.Origin{topic.Heartbeat, topic.Schedule, topic.Once, topic.Manual, topic.Comment, topic.Signal}
	rapid.Check(t, func(rt *rapid.T) {
		tk := running()
		switch rapid.SampledFrom([]string{"one-off", "beats", "hourly", "once"}).Draw(rt, "kind") {
		case "beats":
			beats(&tk)
		case "hourly":
			hourly(&tk)
		case "once":
			at := noon.Add(time.Duration(rapid.IntRange(-60, 60).Draw(rt, "at")) * time.Minute)
			tk.StartAt = &at
		}
		if tk.Automated() {
			tk.Executions = rapid.IntRange(0, 3).Draw(rt, "executions")
			tk.Automation.MaxExecutions = rapid.IntRange(0, 3).Draw(rt, "max executions")
			if rapid.Bool().Draw(rt, "ends") {
				until(noon.Add(time.Duration(rapid.IntRange(-30, 90).Draw(rt, "end")) * time.Minute))(&tk)
			}
		}
		if rapid.Bool().Draw(rt, "max topics") {
			n := rapid.IntRange(7, 8).Draw(rt, "topics")
			tk.MaxTopics = &n
		}
		tk.Failures = rapid.IntRange(0, 4).Draw(rt, "failures")
		tk.Config.Acceptance = rapid.SampledFrom([]Acceptance{"", Review, Auto}).Draw(rt, "acceptance")
		if rapid.Bool().Draw(rt, "checkpoint") {
			tk.Config.Checkpoint = &Checkpoint{After: rapid.Bool().Draw(rt, "after")}
		}
		if rapid.IntRange(0, 4).Draw(rt, "moved") == 0 {
			tk.Status = rapid.SampledFrom(Statuses).Draw(rt, "status")
		}
		e := Ending{
			TopicID: run7, Origin: rapid.SampledFrom(origins).Draw(rt, "origin"), Reason: rapid.SampledFrom(reasons).Draw(rt, "reason"),
			Detail: rapid.SampledFrom(details).Draw(rt, "detail"), Text: rapid.String().Draw(rt, "text"),
			TaskBudgetSpent: rapid.Bool().Draw(rt, "spent"), TickWaits: rapid.Bool().Draw(rt, "tick"),
			Wishes: operation.Wishes{
				Complete: rapid.Bool().Draw(rt, "complete"), Pause: rapid.Bool().Draw(rt, "pause"),
				Checkpoint: rapid.Bool().Draw(rt, "ask"), NextBeatSeconds: rapid.Int64Range(-5, 1<<40).Draw(rt, "beat"),
			},
		}
		spec, err := tk.Spec()
		if err != nil {
			rt.Fatal(err)
		}
		p, err := AfterTopic(tk, e, spec, noon)
		if err != nil {
			rt.Fatalf("no plan: %v", err)
		}
		if p.Move == nil {
			if p.Next != (Next{}) || p.Ended {
				rt.Fatalf("the task stays, and yet %+v", p)
			}
			return
		}
		if p.Topic == topic.Running {
			rt.Fatal("a run that waits moves its task")
		}
		hasNext := p.Next.Set != (schedule.Slot{}) || !p.Next.Clear && tk.Automated() && tk.Automation.Mode != schedule.Heartbeat && tk.NextPlannedAt != nil
		switch {
		case p.Move.To() == Scheduled && !hasNext && !e.TickWaits:
			rt.Fatalf("scheduled with nothing to start it: %+v", p.Next)
		case p.Move.To() != Scheduled && !p.Next.Clear:
			rt.Fatalf("%s with a next fire: %+v", p.Move.To(), p.Next)
		case p.Next.Clear && p.Next.Set != (schedule.Slot{}):
			rt.Fatalf("cleared and set: %+v", p.Next)
		}
		if p.Brief != nil && len([]rune(p.Brief.Title)) > 200 {
			rt.Fatalf("a title of %d characters", len([]rune(p.Brief.Title)))
		}
	})
}
