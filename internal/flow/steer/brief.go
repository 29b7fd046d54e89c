package steer

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/brief"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// ResolveBrief presses a button: the brief is resolved together with what the
// button brings about, or neither happens. It also returns, in words, what came of it.
func (s *Steerer) ResolveBrief(ctx context.Context, c access.Caller, ref, action, comment string) (brief.Brief, []string, error) {
	if utf8.RuneCountInString(comment) > maxInstruction {
		return brief.Brief{}, nil, errs.BadField("body.comment", "invalid", nil, "A comment has at most %d characters.", maxInstruction)
	}
	var effects []string
	b, err := s.onBrief(ctx, c, ref, func(tx *store.Tx, b brief.Brief, t *task.Task) (err error) {
		effects = nil // of an earlier try of this transaction
		subject := brief.Subject{}
		if t != nil {
			subject = brief.Subject{
				Exists: t.DeletedAt == nil, Automated: t.Automated(), Status: string(t.Status),
				AwaitingReview: t.Status == task.Paused && t.StatusReason == string(task.AwaitingReview),
			}
		}
		effect, err := brief.EffectOf(b, action, comment, subject)
		if err != nil {
			return err
		}
		if effect != brief.RetryRun {
			if err := tx.ResolveBrief(ctx, c.Scope, b, action, comment, c.Actor); err != nil {
				return err
			}
			effects = append(effects, fmt.Sprintf("B-%d was resolved with %s.", b.Number, action))
		}
		if err := audit(ctx, tx, c, "brief.resolve", "brief", b.ID, map[string]any{"action": action}); err != nil {
			return err
		}
		more, err := s.carryOut(ctx, tx, c, b, t, effect, action, comment)
		effects = append(effects, more...)
		if err != nil || t == nil {
			return err
		}
		return s.wake(ctx, tx, c.Scope, t.ID)
	})
	return b, effects, err
}

// wake gives a heartbeat that a person was in the way of its beat now: the refused
// one set the next an interval away, and what held it is answered.
func (s *Steerer) wake(ctx context.Context, tx *store.Tx, sc access.Scope, taskID string) error {
	t, err := tx.Task(ctx, sc, taskID)
	if err != nil || t.Status != task.Scheduled || t.DeletedAt != nil || !t.Automated() || t.Automation.Mode != schedule.Heartbeat {
		return err
	}
	last, err := tx.LastRefusal(ctx, sc, taskID)
	if err != nil || last != task.WaitingForHuman {
		return err
	}
	if blocking, err := tx.BlockingBrief(ctx, sc, taskID); err != nil || blocking != nil {
		return err
	}
	now, err := tx.Now(ctx)
	if err != nil {
		return err
	}
	_, err = arm(ctx, tx, sc, t, now)
	return err
}

// carryOut does what a button says, under the locks of task and brief.
func (s *Steerer) carryOut(ctx context.Context, tx *store.Tx, c access.Caller, b brief.Brief, t *task.Task, effect brief.Effect, action, comment string) ([]string, error) {
	switch effect {
	case brief.CompleteTask:
		if err := complete(ctx, tx, c, *t, task.Approved); err != nil {
			return nil, err
		}
		return []string{t.Identifier + " is completed."}, nil
	case brief.CommentTask:
		return s.feedback(ctx, tx, c, b, *t, comment)
	case brief.AnswerAgent:
		answer := "Answer to “" + b.Title + "”: " + action
		if a, ok := b.Offers(action); ok && a.Label != action {
			answer += " (" + a.Label + ")"
		}
		if comment != "" {
			answer += ". " + comment
		}
		return s.feedback(ctx, tx, c, b, *t, answer)
	case brief.RetryRun:
		tickID, refused, err := s.launch.Start(ctx, tx, c.Scope, *t, c.Actor, topic.Retry, comment)
		if err != nil || refused != nil {
			return nil, firstError(err, refused)
		}
		if _, err := tx.EditBrief(ctx, c.Scope, b.ID, store.BriefEdit{Read: true, RetryBy: &tickID}); err != nil {
			return nil, err
		}
		return []string{"A run of " + t.Identifier + " was started. The brief closes when it is done."}, nil
	case brief.RunNow:
		if _, refused, err := s.launch.Start(ctx, tx, c.Scope, *t, c.Actor, topic.Manual, comment); err != nil || refused != nil {
			return nil, firstError(err, refused)
		}
		return []string{"A run of " + t.Identifier + " was started."}, nil
	case brief.ResumeTask:
		if t.Status != task.Paused {
			return []string{fmt.Sprintf("%s is %s already.", t.Identifier, t.Status)}, nil
		}
		if err := resume(ctx, tx, c, *t, ""); err != nil {
			return nil, err
		}
		return []string{t.Identifier + " goes on."}, nil
	case brief.CancelTask:
		if t.Status.Terminal() {
			return []string{fmt.Sprintf("%s is %s already.", t.Identifier, t.Status)}, nil
		}
		if err := cancel(ctx, tx, c, *t, comment); err != nil {
			return nil, err
		}
		return []string{t.Identifier + " was canceled."}, nil
	}
	return nil, nil
}

// feedback writes a person's words under the task, and runs it with them when
// nothing runs and it has not ended.
func (s *Steerer) feedback(ctx context.Context, tx *store.Tx, c access.Caller, b brief.Brief, t task.Task, text string) ([]string, error) {
	_, err := tx.AddComment(ctx, c.Scope, store.Comment{
		TaskID: t.ID, AuthorKind: c.Kind, AuthorID: &c.ID, Content: text, BriefID: &b.ID, TopicID: b.TopicID,
	})
	if err != nil {
		return nil, err
	}
	if err := tx.CountRepeats(ctx, c.Scope, t.ID, 0); err != nil {
		return nil, err
	}
	effects := []string{"It is written under " + t.Identifier + " and comes first in its next run."}
	if t.Status.Terminal() || t.Status == task.Running {
		return effects, nil
	}
	if b.Type == brief.Decision { // the pause that it was about is over
		if err := tx.CloseBriefs(ctx, c.Scope, t.ID, []string{brief.CauseCheckpoint}); err != nil {
			return nil, err
		}
	}
	_, refused, err := s.launch.Start(ctx, tx, c.Scope, t, c.Actor, topic.Comment, "")
	switch {
	case err != nil:
		return nil, err
	case refused != nil:
		return append(effects, "It does not run now: "+refused.Error()), nil //nolint:nilerr // the refusal is told; the words are kept
	}
	return append(effects, "A run of "+t.Identifier+" was started with it."), nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// ReadBrief notes that somebody has seen a brief.
func (s *Steerer) ReadBrief(ctx context.Context, c access.Caller, ref string) (brief.Brief, error) {
	return s.onBrief(ctx, c, ref, func(tx *store.Tx, b brief.Brief, _ *task.Task) error {
		if b.ReadAt != nil {
			return nil
		}
		_, err := tx.EditBrief(ctx, c.Scope, b.ID, store.BriefEdit{Read: true})
		return err
	})
}

// AssignBrief gives a brief to a person of the workspace; nil takes it back.
func (s *Steerer) AssignBrief(ctx context.Context, c access.Caller, ref string, personID *string) (brief.Brief, error) {
	return s.onOpenBrief(ctx, c, ref, "brief.assign", func(tx *store.Tx, b brief.Brief) error {
		if personID != nil {
			ok, err := tx.IsMember(ctx, c.Scope, *personID)
			if err != nil {
				return err
			}
			if !ok {
				return errs.BadField("body.assignee", "invalid", *personID, "There is no such person in this workspace.")
			}
		}
		_, err := tx.EditBrief(ctx, c.Scope, b.ID, store.BriefEdit{Assignee: &personID})
		return err
	})
}

// SnoozeBrief hides a brief until a time; nil shows it again.
func (s *Steerer) SnoozeBrief(ctx context.Context, c access.Caller, ref string, until *time.Time) (brief.Brief, error) {
	return s.onOpenBrief(ctx, c, ref, "brief.snooze", func(tx *store.Tx, b brief.Brief) error {
		now, err := tx.Now(ctx)
		if err != nil {
			return err
		}
		if until != nil && !until.After(now) {
			return errs.BadField("body.until", "invalid", *until, "That time has passed.")
		}
		_, err = tx.EditBrief(ctx, c.Scope, b.ID, store.BriefEdit{Snooze: &until})
		return err
	})
}

// ReopenBrief opens a resolved brief again. What its button brought about stays.
func (s *Steerer) ReopenBrief(ctx context.Context, c access.Caller, ref string) (brief.Brief, error) {
	return s.onBrief(ctx, c, ref, func(tx *store.Tx, b brief.Brief, _ *task.Task) error {
		if b.Open() {
			return errs.New(errs.Conflict, "conflict", "B-%d is open.", b.Number)
		}
		if _, err := tx.EditBrief(ctx, c.Scope, b.ID, store.BriefEdit{Reopen: true}); err != nil {
			return err
		}
		return audit(ctx, tx, c, "brief.reopen", "brief", b.ID, nil)
	})
}

func (s *Steerer) onOpenBrief(ctx context.Context, c access.Caller, ref, action string, f func(tx *store.Tx, b brief.Brief) error) (brief.Brief, error) {
	return s.onBrief(ctx, c, ref, func(tx *store.Tx, b brief.Brief, _ *task.Task) error {
		if !b.Open() {
			return errs.New(errs.Conflict, "already_resolved", "B-%d was resolved already.", b.Number)
		}
		if err := f(tx, b); err != nil {
			return err
		}
		return audit(ctx, tx, c, action, "brief", b.ID, nil)
	})
}

// onBrief runs f under the locks of a brief's task, if it has one, and the brief.
func (s *Steerer) onBrief(ctx context.Context, c access.Caller, ref string, f func(tx *store.Tx, b brief.Brief, t *task.Task) error) (brief.Brief, error) {
	briefID, err := s.store.BriefID(ctx, c.Scope, ref)
	if err != nil {
		return brief.Brief{}, err
	}
	seen, err := s.store.Brief(ctx, c.Scope, briefID)
	if err != nil {
		return brief.Brief{}, err
	}
	var out brief.Brief
	err = s.store.InTx(ctx, func(tx *store.Tx) error {
		var t *task.Task
		if seen.TaskID != nil {
			locked, err := tx.LockTask(ctx, c.Scope, *seen.TaskID)
			if err != nil {
				return err
			}
			t = &locked
		}
		b, err := tx.LockBrief(ctx, c.Scope, briefID)
		if err != nil {
			return err
		}
		if err := f(tx, b, t); err != nil {
			return err
		}
		out, err = tx.Brief(ctx, c.Scope, briefID)
		return err
	})
	return out, err
}
