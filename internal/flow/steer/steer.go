// Package steer is what people, programs and agents do by hand: create and edit
// tasks, pause and resume them, comment, and answer briefs.
package steer

import (
	"context"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// Launcher starts a run in our transaction, under our lock of the task. A refusal
// comes back apart from a failure: what recorded it is kept.
type Launcher interface {
	Start(ctx context.Context, tx *store.Tx, sc access.Scope, t task.Task, by access.Actor, o topic.Origin, note string) (tickID string, refused, err error)
}

// Models says which models can be called, and which have a price.
type Models interface {
	Known(model string) bool
	Priced(model string) bool
	Default() string
}

// Steerer carries out what somebody asks for.
type Steerer struct {
	store        *store.Store
	launch       Launcher
	models       Models
	minHeartbeat time.Duration
}

// New returns a steerer. minHeartbeat is the smallest interval and period that a
// task may ask for.
func New(s *store.Store, l Launcher, m Models, minHeartbeat time.Duration) *Steerer {
	return &Steerer{s, l, m, minHeartbeat}
}

// onTask runs f under the lock of a task that is named by id or identifier, and
// returns the task as it is afterwards. before takes the locks that come before a
// task's.
func (s *Steerer) onTask(ctx context.Context, c access.Caller, ref string, f func(tx *store.Tx, t task.Task) error, before ...func(tx *store.Tx) error) (task.Task, error) {
	taskID, err := s.store.TaskID(ctx, c.Scope, ref)
	if err != nil {
		return task.Task{}, err
	}
	var out task.Task
	err = s.store.InTx(ctx, func(tx *store.Tx) error {
		for _, lock := range before {
			if err := lock(tx); err != nil {
				return err
			}
		}
		t, err := tx.LockTask(ctx, c.Scope, taskID)
		if err != nil {
			return err
		}
		if err := f(tx, t); err != nil {
			return err
		}
		out, err = tx.Task(ctx, c.Scope, taskID)
		return err
	})
	return out, err
}

// live is onTask for a task that is not deleted.
func (s *Steerer) live(ctx context.Context, c access.Caller, ref string, f func(tx *store.Tx, t task.Task) error, before ...func(tx *store.Tx) error) (task.Task, error) {
	return s.onTask(ctx, c, ref, func(tx *store.Tx, t task.Task) error {
		if t.DeletedAt != nil {
			return errs.New(errs.NotFound, "not_found", "%s was deleted.", t.Identifier)
		}
		return f(tx, t)
	}, before...)
}

// move carries out a move of a task by a caller.
func move(ctx context.Context, tx *store.Tx, c access.Caller, t task.Task, to task.Status, why task.Reason, note string) error {
	m, err := t.Move(to, why, c.Actor)
	if err != nil {
		return err
	}
	return tx.MoveTask(ctx, c.Scope, m.Noted(note))
}

// arm gives a task that is scheduled from now its next fire. It reports false
// when its bounds leave none.
func arm(ctx context.Context, tx *store.Tx, sc access.Scope, t task.Task, now time.Time) (bool, error) {
	next, err := firstFire(t, now)
	if err != nil || next == (schedule.Slot{}) {
		return false, err
	}
	return true, tx.SetNext(ctx, sc, t.ID, next)
}

// firstFire is the next fire of a task that is armed now; the zero slot when none
// is left.
func firstFire(t task.Task, now time.Time) (schedule.Slot, error) {
	spec, err := t.Spec()
	if err != nil || spec == nil {
		return schedule.Slot{}, err
	}
	if !t.Automated() {
		if !t.StartAt.After(now) {
			return schedule.Slot{}, nil // it passed while the task was paused or had ended
		}
		return schedule.Slot{PlannedAt: *t.StartAt, FireAt: *t.StartAt}, nil
	}
	return spec.Arm(t.ID, now), nil
}

// audit notes who did what.
func audit(ctx context.Context, tx *store.Tx, c access.Caller, action, kind, id string, detail map[string]any) error {
	return tx.Audit(ctx, c.Scope, store.AuditEntry{Actor: c.Actor, Action: action, SubjectKind: kind, SubjectID: id, Detail: detail})
}
