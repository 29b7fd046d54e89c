package brief

import (
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
)

var (
	taskID  = "task"
	waiting = Subject{Exists: true, AwaitingReview: true, Status: "paused"}
	oneOff  = Subject{Exists: true, Status: "running"}
	repeats = Subject{Exists: true, Automated: true, Status: "scheduled"}
	gone    = Subject{}
)

func on(typ Type, cause string, actions ...Action) Brief {
	return Brief{TaskID: &taskID, Type: typ, Cause: cause, Actions: actions}
}

// The table "what a button does" of docs/states.md.
func TestWhatAButtonDoes(t *testing.T) {
	refund := Action{Key: "refund", Label: "Refund", Kind: Resolve}
	result := on(Result, CauseResult, Approve, Acknowledge, Feedback)
	insight := on(Insight, CauseLimit, Acknowledge, Feedback)
	asked := on(Decision, CauseAsked+"refund", refund, Action{Key: "ignore", Label: "Ignore the customer", Kind: Resolve},
		Action{Key: "stop", Label: "Stop the parcel", Kind: Resolve}, Action{Key: "approve", Label: "Approve", Kind: Resolve}, Feedback)
	failed := on(Error, CauseRunFailed, Retry, Feedback, Ignore)
	fuse := on(Error, CauseFuse, Resume, Edit.At("/tasks/T-1"), RunOnce)
	brake := on(Decision, CauseNoProgress, Resume, Edit.At("/tasks/T-1"), RunOnce)
	checkpoint := on(Decision, CauseCheckpoint, Resume, RunOnce, Feedback, Stop)
	budget := on(Decision, CauseBudget, Continue, Raise.At("/tasks/T-1"), Stop)
	noTask := result
	noTask.TaskID = nil
	answered := result
	answered.ResolvedAt, answered.ResolvedAction = new(time.Time), &Approve.Key

	for _, c := range []struct {
		name    string
		brief   Brief
		key     string
		comment string
		subject Subject
		want    Effect
		code    string // of the refusal
	}{
		{"result, approve: waits for review", result, "approve", "", waiting, CompleteTask, ""},
		{"result, approve: automated", result, "approve", "", repeats, NoEffect, ""},
		{"result, approve: anything else", result, "approve", "", oneOff, "", "conflict"},
		{"result, approve: the task is gone", result, "approve", "", gone, "", "conflict"},
		{"result, approve: about no task", noTask, "approve", "", gone, NoEffect, ""},
		{"result, acknowledge", result, "acknowledge", "", waiting, NoEffect, ""},
		{"insight, acknowledge", insight, "acknowledge", "", oneOff, NoEffect, ""},
		{"insight, acknowledge: the task is gone", insight, "acknowledge", "", gone, NoEffect, ""},
		{"insight offers no approve", insight, "approve", "", waiting, "", "invalid"},
		{"any, feedback", result, "feedback", "shorter", waiting, CommentTask, ""},
		{"any, feedback on an error", failed, "feedback", "use the other key", oneOff, CommentTask, ""},
		{"any, feedback on a question", asked, "feedback", "ask Kim", oneOff, CommentTask, ""},
		{"feedback needs a text", result, "feedback", "", waiting, "", "invalid"},
		{"blanks are no text", result, "feedback", " \n\t", waiting, "", "invalid"},
		{"feedback on a task that is gone", result, "feedback", "shorter", gone, "", "conflict"},
		{"decision, its own choice", asked, "refund", "", oneOff, AnswerAgent, ""},
		{"decision, its own choice named as a button of ours", asked, "ignore", "", oneOff, AnswerAgent, ""},
		{"the agent's stop is an answer, not our stop", asked, "stop", "", oneOff, AnswerAgent, ""},
		{"the agent's approve is an answer too", asked, "approve", "", waiting, AnswerAgent, ""},
		{"error, retry", failed, "retry", "", oneOff, RetryRun, ""},
		{"error, ignore", failed, "ignore", "", oneOff, NoEffect, ""},
		{"error, retry: the task is gone", failed, "retry", "", gone, "", "conflict"},
		{"fuse, resume", fuse, "resume", "", repeats, ResumeTask, ""},
		{"fuse, run once", fuse, "run_once", "", repeats, RunNow, ""},
		{"fuse, edit is a link", fuse, "edit", "", repeats, "", "invalid"},
		{"brake, resume", brake, "resume", "", repeats, ResumeTask, ""},
		{"brake, run once", brake, "run_once", "", repeats, RunNow, ""},
		{"checkpoint, resume", checkpoint, "resume", "", oneOff, ResumeTask, ""},
		{"checkpoint, stop", checkpoint, "stop", "", oneOff, CancelTask, ""},
		{"budget, continue", budget, "continue", "", oneOff, RunNow, ""},
		{"budget, stop", budget, "stop", "", oneOff, CancelTask, ""},
		{"what it does not offer", failed, "approve", "", waiting, "", "invalid"},
		{"nothing", failed, "", "", waiting, "", "invalid"},
		{"twice", answered, "approve", "", waiting, "", "already_resolved"},
		{"twice, with what it never offered", answered, "no", "", waiting, "", "already_resolved"},
	} {
		got, err := EffectOf(c.brief, c.key, c.comment, c.subject)
		if got != c.want || errs.CodeOf(err) != c.code {
			t.Errorf("%s: %q, %v; want %q, code %q", c.name, got, err, c.want, c.code)
		}
	}
}

func TestARefusalSaysHowTheTaskStands(t *testing.T) {
	_, err := EffectOf(on(Result, CauseResult, Approve), "approve", "", oneOff)
	if errs.KindOf(err) != errs.Conflict || err.Error() != "The task is running and does not wait for approval." {
		t.Errorf("%v", err)
	}
	_, err = EffectOf(on(Error, CauseRunFailed, Ignore), "explode", "", oneOff)
	if errs.KindOf(err) != errs.Invalid {
		t.Errorf("%v", err)
	}
}

func TestPrioritiesAreInTheirOrder(t *testing.T) {
	if Urgent.Rank() >= Normal.Rank() || Normal.Rank() >= Info.Rank() {
		t.Error("the most urgent comes first")
	}
}
