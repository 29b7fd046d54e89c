package steer

import (
	"context"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/brief"
	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// PauseTask pauses a task. A run that is open goes on to its end, unless it is to
// be interrupted.
func (s *Steerer) PauseTask(ctx context.Context, c access.Caller, ref string, interrupt bool, note string) (task.Task, error) {
	return s.live(ctx, c, ref, func(tx *store.Tx, t task.Task) error {
		if err := pause(ctx, tx, c, t, note); err != nil {
			return err
		}
		if err := audit(ctx, tx, c, auditName(t, "pause"), "task", t.ID, map[string]any{"note": note, "interrupt": interrupt}); err != nil {
			return err
		}
		return stopIf(interrupt, ctx, tx, c, t)
	})
}

func pause(ctx context.Context, tx *store.Tx, c access.Caller, t task.Task, note string) error {
	if err := move(ctx, tx, c, t, task.Paused, task.ByPerson, note); err != nil {
		return err
	}
	return tx.CancelOpenTicks(ctx, c.Scope, t.ID, false, task.CanceledByPerson)
}

// ResumeTask takes a paused task up again: on its schedule when it has one, else
// in the backlog. Times that passed meanwhile are not caught up, unless one run for
// them is asked for.
func (s *Steerer) ResumeTask(ctx context.Context, c access.Caller, ref string, catchUp bool) (task.Task, error) {
	return s.live(ctx, c, ref, func(tx *store.Tx, t task.Task) error {
		if err := resume(ctx, tx, c, t, ""); err != nil {
			return err
		}
		if err := audit(ctx, tx, c, auditName(t, "resume"), "task", t.ID, map[string]any{"catchUp": catchUp}); err != nil || !catchUp {
			return err
		}
		return s.startNow(ctx, tx, c, t.ID, topic.Manual, "")
	})
}

func resume(ctx context.Context, tx *store.Tx, c access.Caller, t task.Task, note string) error {
	if t.Status != task.Paused {
		return errs.New(errs.Conflict, "conflict", "%s is %s, not paused.", t.Identifier, t.Status)
	}
	now, err := tx.Now(ctx)
	if err != nil {
		return err
	}
	if err := tx.ResetFailures(ctx, c.Scope, t.ID); err != nil {
		return err
	}
	if err := tx.CloseBriefs(ctx, c.Scope, t.ID, []string{brief.CauseFuse, brief.CauseNoProgress, brief.CauseCheckpoint, brief.CauseBudget, brief.CauseSkips}); err != nil {
		return err
	}
	open, err := tx.RunningTopic(ctx, c.Scope, t.ID)
	if err != nil {
		return err
	}
	if open != nil { // its run never stopped
		if err := move(ctx, tx, c, t, task.Running, task.ByPerson, note); err != nil {
			return err
		}
		if t.Automation == nil || t.Automation.Mode == "heartbeat" {
			return nil
		}
		_, err = arm(ctx, tx, c.Scope, t, now)
		return err
	}
	next, err := goOn(ctx, tx, c.Scope, t, now)
	if err != nil {
		return err
	}
	switch {
	case !t.Automated() && next == (schedule.Slot{}):
		return shelve(ctx, tx, c, t, task.ByPerson, note)
	case next == (schedule.Slot{}):
		return move(ctx, tx, c, t, task.Completed, task.BoundsUsedUp, note)
	}
	if err := move(ctx, tx, c, t, task.Scheduled, task.ByPerson, note); err != nil {
		return err
	}
	if err := tx.SetNext(ctx, c.Scope, t.ID, next); err != nil {
		return err
	}
	backfill, err := tx.OpenBackfill(ctx, c.Scope, t.ID)
	if err != nil || backfill == nil {
		return err
	}
	return tx.PostJobs(ctx, store.BackfillOf(t.WorkspaceID, t.ID))
}

// goOn is the next fire of a task that goes on after a pause: its heartbeat keeps the
// distance to its last run.
func goOn(ctx context.Context, tx *store.Tx, sc access.Scope, t task.Task, now time.Time) (schedule.Slot, error) {
	spec, err := t.Spec()
	if err != nil || spec == nil || spec.Mode() != schedule.Heartbeat {
		return firstFire(t, now)
	}
	runs, _, err := tx.Topics(ctx, sc, t.ID, store.Page{Limit: 1})
	if err != nil {
		return schedule.Slot{}, err
	}
	var last *time.Time
	if len(runs) > 0 && t.ArmedAt != nil && runs[0].CompletedAt != nil && runs[0].CompletedAt.After(*t.ArmedAt) {
		last = runs[0].CompletedAt
	}
	return spec.Resume(t.ID, last, now), nil
}

// CancelTask ends a task: its run is stopped, and nothing starts it any more.
func (s *Steerer) CancelTask(ctx context.Context, c access.Caller, ref, note string) (task.Task, error) {
	return s.live(ctx, c, ref, func(tx *store.Tx, t task.Task) error { return cancel(ctx, tx, c, t, note) })
}

func cancel(ctx context.Context, tx *store.Tx, c access.Caller, t task.Task, note string) error {
	if err := audit(ctx, tx, c, "task.cancel", "task", t.ID, map[string]any{"note": note}); err != nil {
		return err
	}
	return callOff(ctx, tx, c, t, note)
}

// callOff is cancel without its entry in the audit.
func callOff(ctx context.Context, tx *store.Tx, c access.Caller, t task.Task, note string) error {
	if err := move(ctx, tx, c, t, task.Canceled, task.ByPerson, note); err != nil {
		return err
	}
	if err := tx.CancelOpenTicks(ctx, c.Scope, t.ID, false, task.CanceledByPerson); err != nil {
		return err
	}
	if err := tx.CloseTaskBriefs(ctx, c.Scope, t.ID); err != nil {
		return err
	}
	return stopIf(true, ctx, tx, c, t)
}

// CompleteTask marks a task as done by a person.
func (s *Steerer) CompleteTask(ctx context.Context, c access.Caller, ref string) (task.Task, error) {
	return s.live(ctx, c, ref, func(tx *store.Tx, t task.Task) error { return complete(ctx, tx, c, t, task.ByPerson) })
}

// finished are the causes that are gone when a person says that a task is done.
var finished = []string{
	brief.CauseResult, brief.CauseLimit, brief.CauseRunFailed, brief.CauseFuse, brief.CauseBudget,
	brief.CauseMissed, brief.CauseCheckpoint, brief.CauseNoProgress, brief.CauseSkips, brief.CauseSpending,
}

func complete(ctx context.Context, tx *store.Tx, c access.Caller, t task.Task, why task.Reason) error {
	if err := move(ctx, tx, c, t, task.Completed, why, ""); err != nil {
		return err
	}
	if err := tx.CancelOpenTicks(ctx, c.Scope, t.ID, false, task.CanceledByPerson); err != nil {
		return err
	}
	if err := tx.CloseBriefs(ctx, c.Scope, t.ID, finished); err != nil {
		return err
	}
	if err := audit(ctx, tx, c, "task.complete", "task", t.ID, nil); err != nil {
		return err
	}
	return stopIf(true, ctx, tx, c, t)
}

// ReopenTask takes an ended task up again: on its schedule when it has one, else
// in the backlog.
func (s *Steerer) ReopenTask(ctx context.Context, c access.Caller, ref string) (task.Task, error) {
	return s.live(ctx, c, ref, func(tx *store.Tx, t task.Task) error {
		if err := reopen(ctx, tx, c, t, ""); err != nil {
			return err
		}
		return audit(ctx, tx, c, "task.reopen", "task", t.ID, nil)
	})
}

func reopen(ctx context.Context, tx *store.Tx, c access.Caller, t task.Task, note string) error {
	if !t.Status.Terminal() {
		return errs.New(errs.Conflict, "conflict", "%s is %s, not ended.", t.Identifier, t.Status)
	}
	now, err := tx.Now(ctx)
	if err != nil {
		return err
	}
	next, err := firstFire(t, now)
	if err != nil {
		return err
	}
	if next == (schedule.Slot{}) {
		return shelve(ctx, tx, c, t, task.Reopened, note)
	}
	if err := move(ctx, tx, c, t, task.Scheduled, task.Reopened, note); err != nil {
		return err
	}
	if err := tx.Arm(ctx, c.Scope, t.ID); err != nil {
		return err
	}
	return tx.SetNext(ctx, c.Scope, t.ID, next)
}

// shelve puts a task that nothing starts by itself into the backlog. A one-shot's
// time that has passed is let go: it is not caught up unless somebody asks.
func shelve(ctx context.Context, tx *store.Tx, c access.Caller, t task.Task, why task.Reason, note string) error {
	if err := move(ctx, tx, c, t, task.Backlog, why, note); err != nil || t.StartAt == nil {
		return err
	}
	return tx.ClearStartAt(ctx, c.Scope, t.ID)
}

// DeleteTask cancels a task and hides it. It can be restored for thirty days.
func (s *Steerer) DeleteTask(ctx context.Context, c access.Caller, ref string) error {
	_, err := s.live(ctx, c, ref, func(tx *store.Tx, t task.Task) error {
		if !t.Status.Terminal() {
			if err := cancel(ctx, tx, c, t, ""); err != nil {
				return err
			}
		} else if err := tx.CloseTaskBriefs(ctx, c.Scope, t.ID); err != nil {
			return err
		}
		if err := tx.SetDeleted(ctx, c.Scope, t.ID, true); err != nil {
			return err
		}
		if err := audit(ctx, tx, c, auditName(t, "delete"), "task", t.ID, map[string]any{"identifier": t.Identifier}); err != nil {
			return err
		}
		// What waited for it waits no more, also when it had ended before and not as they wanted.
		return tx.PostJobs(ctx, job.Post{Kind: job.Unlock, Key: t.ID, IDs: job.IDs{Workspace: c.Scope.Workspace(), Task: t.ID}})
	})
	return err
}

// RestoreTask shows a deleted task again, canceled as it is.
func (s *Steerer) RestoreTask(ctx context.Context, c access.Caller, ref string) (task.Task, error) {
	return s.onTask(ctx, c, ref, func(tx *store.Tx, t task.Task) error {
		if t.DeletedAt == nil {
			return errs.New(errs.Conflict, "conflict", "%s is not deleted.", t.Identifier)
		}
		// A calendar may go when only deleted tasks name it; they come back to it or not at all.
		if a := t.Automation; a != nil && a.Exclusions != nil {
			missing, err := tx.HoldCalendars(ctx, c.Scope, a.Exclusions.Calendars)
			if err != nil {
				return err
			}
			if missing != "" {
				return errs.New(errs.Conflict, "conflict", "%s excludes the dates of the calendar %q, which was deleted. Make it again first.", t.Identifier, missing)
			}
		}
		if err := tx.SetDeleted(ctx, c.Scope, t.ID, false); err != nil {
			return err
		}
		return audit(ctx, tx, c, "task.restore", "task", t.ID, map[string]any{"identifier": t.Identifier})
	})
}

// CancelTopic stops an open run. One that has ended is left as it is.
func (s *Steerer) CancelTopic(ctx context.Context, c access.Caller, topicID string) (topic.Topic, error) {
	tp, err := s.store.Topic(ctx, c.Scope, topicID)
	if err != nil {
		return topic.Topic{}, err
	}
	_, err = s.onTask(ctx, c, tp.TaskID, func(tx *store.Tx, t task.Task) error {
		if err := audit(ctx, tx, c, "topic.cancel", "topic", topicID, nil); err != nil {
			return err
		}
		return tx.StopTopic(ctx, c.Scope, topicID, operation.DetailByPerson)
	})
	if err != nil {
		return topic.Topic{}, err
	}
	return s.store.Topic(ctx, c.Scope, topicID)
}

// InterruptOperation stops an operation. One that has ended is a conflict.
func (s *Steerer) InterruptOperation(ctx context.Context, c access.Caller, operationID string) (store.Operation, error) {
	o, err := s.store.Operation(ctx, c.Scope, operationID)
	if err != nil {
		return store.Operation{}, err
	}
	if o.Status.Ended() {
		return store.Operation{}, errs.New(errs.Conflict, "conflict", "The operation has ended (%s).", o.Reason)
	}
	if _, err := s.CancelTopic(ctx, c, o.TopicID); err != nil {
		return store.Operation{}, err
	}
	return s.store.Operation(ctx, c.Scope, operationID)
}

func stopIf(stop bool, ctx context.Context, tx *store.Tx, c access.Caller, t task.Task) error {
	if !stop || t.CurrentTopicID == nil {
		return nil
	}
	return tx.StopTopic(ctx, c.Scope, *t.CurrentTopicID, operation.DetailByPerson)
}

// startNow starts a run of a task whose row this transaction has changed. What the
// gate says against it is the caller's error.
func (s *Steerer) startNow(ctx context.Context, tx *store.Tx, c access.Caller, taskID string, o topic.Origin, note string) error {
	t, err := tx.Task(ctx, c.Scope, taskID)
	if err != nil {
		return err
	}
	_, refused, err := s.launch.Start(ctx, tx, c.Scope, t, c.Actor, o, note)
	if err != nil {
		return err
	}
	return refused
}
