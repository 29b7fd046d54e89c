package tick

import (
	"context"
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// How often the house looks after itself, and how much at a time.
const (
	reconcileEvery = time.Minute
	retentionEvery = time.Hour
	repairBatch    = 200
	deleteBatch    = 1000
)

// keep is how long rows stay that nothing needs any more: a month of what was
// refused, of what each step did, and of orders that could be taken back. Ticks that became a topic stay with it.
var keep = store.Retention{RefusedTicks: 30 * 24 * time.Hour, Steps: 30 * 24 * time.Hour, Bulks: 30 * 24 * time.Hour}

const (
	keepEvents   = 7 * 24 * time.Hour
	keepDoneJobs = time.Hour
)

// Begin posts the jobs by which the house looks after itself. They post themselves
// again; each start makes sure that they are there.
func (s *Sweeper) Begin(ctx context.Context) error {
	return s.store.InTx(ctx, func(tx *store.Tx) error {
		return tx.PostJobs(ctx, job.Post{Kind: job.Reconcile, Key: "all"}, job.Post{Kind: job.Retention, Key: "all"})
	})
}

// Reconcile handles [job.Reconcile]: whatever a row asks for and is not there is
// posted again, and a task that nothing would ever start is armed. Each repair is
// a warning: something is wrong that should not be.
func (s *Sweeper) Reconcile(ctx context.Context, c job.Claim) error {
	missing, err := s.store.MissingJobs(ctx, repairBatch)
	if err != nil {
		return err
	}
	for _, p := range missing {
		s.log.Warn("a job was missing and is posted again", "kind", p.Kind.Name, "key", p.Key)
		if err := s.store.InTx(ctx, func(tx *store.Tx) error { return tx.PostJobs(ctx, p) }); err != nil {
			return err
		}
	}
	adrift, err := s.store.AdriftTasks(ctx, repairBatch)
	if err != nil {
		return err
	}
	for _, a := range adrift {
		if err := s.recover(ctx, a); err != nil {
			s.log.Error("a task could not be repaired", "task", a.ID, "err", err)
		}
	}
	return s.again(ctx, c, job.Reconcile, reconcileEvery)
}

// recover gives a task that is adrift a future again.
func (s *Sweeper) recover(ctx context.Context, a store.Adrift) error {
	sc := a.Scope()
	return s.store.InTx(ctx, func(tx *store.Tx) error {
		t, err := tx.LockTask(ctx, sc, a.ID)
		if err != nil || t.DeletedAt != nil {
			return err
		}
		open, err := tx.RunningTopic(ctx, sc, t.ID)
		if err != nil || open != nil {
			return err
		}
		if t.Status == task.Running {
			to, why := task.Paused, task.Interrupted
			if t.Automated() || t.StartAt != nil {
				to = task.Scheduled
			}
			m, err := t.Move(to, why, access.House)
			if err != nil {
				return err
			}
			s.log.Warn("a task was running without a run", "task", t.Identifier, "becomes", to)
			end := store.RunEnd{Failures: t.Failures, Cost: new(budget.USD), Move: &m, Error: t.Error}
			if t.CurrentTopicID != nil { // it has ended, and points nowhere any more
				end.TopicID = *t.CurrentTopicID
			}
			if err := tx.EndRun(ctx, sc, t.ID, end); err != nil {
				return err
			}
			if to != task.Scheduled {
				return nil
			}
			t.Status = to
		}
		if t.Status != task.Scheduled || t.NextFireAt != nil {
			return nil
		}
		return s.rearm(ctx, tx, sc, t)
	})
}

func (s *Sweeper) rearm(ctx context.Context, tx *store.Tx, sc access.Scope, t task.Task) error {
	now, err := tx.Now(ctx)
	if err != nil {
		return err
	}
	spec, err := t.Spec()
	if err != nil {
		return quarantine(ctx, tx, t, err)
	}
	var next schedule.Slot
	switch {
	case spec == nil:
	case t.Automation == nil:
		at := *t.StartAt
		if at.Before(now) {
			at = now.Truncate(time.Microsecond)
		}
		next = schedule.Slot{PlannedAt: at, FireAt: at}
	default:
		next = spec.Arm(t.ID, now)
	}
	if next == (schedule.Slot{}) {
		m, err := t.Move(task.Completed, task.BoundsUsedUp, access.House)
		if err != nil {
			return err
		}
		return tx.MoveTask(ctx, sc, m)
	}
	s.log.Warn("a task had no next fire and is armed again", "task", t.Identifier, "next", next.FireAt)
	return tx.SetNext(ctx, sc, t.ID, next)
}

// Retention handles [job.Retention]: delete in batches what is past its time.
func (s *Sweeper) Retention(ctx context.Context, c job.Claim) error {
	deletes := []func(context.Context) (int, error){
		func(ctx context.Context) (int, error) { return s.store.DeleteDoneJobs(ctx, keepDoneJobs, deleteBatch) },
		s.inTx(func(ctx context.Context, tx *store.Tx) (int, error) {
			return tx.DeleteEvents(ctx, keepEvents, deleteBatch)
		}),
		s.inTx(func(ctx context.Context, tx *store.Tx) (int, error) { return tx.DeleteAnswers(ctx, deleteBatch) }),
		s.inTx(func(ctx context.Context, tx *store.Tx) (int, error) { return tx.DeleteExpiredAccess(ctx, deleteBatch) }),
		s.inTx(func(ctx context.Context, tx *store.Tx) (int, error) { return tx.DeleteOld(ctx, keep, deleteBatch) }),
	}
	for _, del := range deletes {
		for {
			n, err := del(ctx)
			if err != nil {
				return fmt.Errorf("retention: %w", err)
			}
			if n < deleteBatch {
				break
			}
		}
	}
	return s.again(ctx, c, job.Retention, retentionEvery)
}

func (s *Sweeper) inTx(f func(context.Context, *store.Tx) (int, error)) func(context.Context) (int, error) {
	return func(ctx context.Context) (n int, err error) {
		err = s.store.InTx(ctx, func(tx *store.Tx) error {
			n, err = f(ctx, tx)
			return err
		})
		return n, err
	}
}

// again closes the job and lets it come back after a while.
func (s *Sweeper) again(ctx context.Context, c job.Claim, kind job.Kind, after time.Duration) error {
	return s.store.Finish(ctx, c, func(ctx context.Context, tx *store.Tx) error {
		return tx.PostJobs(ctx, job.Post{Kind: kind, Key: "all", Delay: after})
	})
}
