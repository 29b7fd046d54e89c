package brief

import (
	"strings"

	"github.com/dogwatch/dogwatch/internal/base/errs"
)

// Effect is what pressing a button brings about, besides resolving the brief.
type Effect string

const (
	NoEffect     Effect = ""
	CompleteTask Effect = "complete_task" // accept the work: the task is completed
	CommentTask  Effect = "comment"       // the text becomes feedback; a run starts when none is open
	AnswerAgent  Effect = "answer"        // the answer is recorded as feedback and a run starts with it
	RetryRun     Effect = "retry"         // a manual run now; the brief closes when it is done
	RunNow       Effect = "run"           // a manual run now
	ResumeTask   Effect = "resume"        // the schedule goes on, the count of failures starts anew
	CancelTask   Effect = "cancel"        // no more runs
)

// Subject is what EffectOf needs to know of a brief's task.
type Subject struct {
	Exists         bool // there is a task and it is not deleted
	AwaitingReview bool // paused, waiting for the result to be approved
	Automated      bool
	Status         string // for the sentence of a refusal
}

// EffectOf decides what an action does: the table "what a button does" of
// docs/states.md. A choice of a decision that is not one of the house's own
// buttons answers the agent that asked.
func EffectOf(b Brief, key, comment string, s Subject) (Effect, error) {
	if !b.Open() {
		return "", errs.New(errs.Conflict, "already_resolved", "This brief was resolved already, with %q.", *b.ResolvedAction)
	}
	a, ok := b.Offers(key)
	if !ok || a.Kind == Link {
		return "", errs.BadField("body.action", "invalid", key, "This brief has no button %q that resolves it.", key)
	}
	if a.Kind == Comment && strings.TrimSpace(comment) == "" {
		return "", errs.BadField("body.comment", "invalid", comment, "Feedback needs a text.")
	}
	if b.TaskID == nil {
		return NoEffect, nil // about no task: there is nothing to bring about
	}
	effect := effectOf(b, a)
	if effect == NoEffect {
		return NoEffect, nil
	}
	if !s.Exists {
		return "", errs.New(errs.Conflict, "conflict", "The task of this brief is gone.")
	}
	if effect == CompleteTask {
		switch {
		case s.AwaitingReview:
		case s.Automated:
			return NoEffect, nil // it goes on; the approval is noted
		default:
			return "", errs.New(errs.Conflict, "conflict", "The task is %s and does not wait for approval.", s.Status)
		}
	}
	return effect, nil
}

func effectOf(b Brief, a Action) Effect {
	switch {
	case a.Kind == Comment:
		return CommentTask
	case b.Type == Decision && strings.HasPrefix(b.Cause, CauseAsked):
		return AnswerAgent // whatever the agent named its choices
	case a.Key == Acknowledge.Key || a.Key == Ignore.Key:
		return NoEffect
	}
	switch b.Type {
	case Result:
		if a.Key == Approve.Key {
			return CompleteTask
		}
	case Error:
		switch a.Key {
		case Retry.Key:
			return RetryRun
		case Resume.Key:
			return ResumeTask
		case RunOnce.Key:
			return RunNow
		}
	case Decision:
		switch a.Key {
		case Resume.Key:
			return ResumeTask
		case RunOnce.Key, Continue.Key:
			return RunNow
		case Stop.Key:
			return CancelTask
		}
		return AnswerAgent
	}
	return NoEffect
}
