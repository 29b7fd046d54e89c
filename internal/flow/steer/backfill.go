package steer

import (
	"context"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// How much a backfill makes up for: as much as the policy `all` does by default, and
// four times that at most, since each of them costs what a run costs. A range is
// looked through up to a year and more of minutes, most of which the schedule itself
// may refuse: that takes a quarter of a second at the task's lock.
const (
	DefaultBackfill = schedule.MaxCatchUp
	MaxBackfill     = 100
	maxRange        = 600_000
)

// BackfillAsk asks for planned times of a range to be made up for.
type BackfillAsk struct {
	From time.Time
	To   *time.Time // nil: until now
	Max  int        // 0: DefaultBackfill
	All  bool       // those that ran, too
}

// BackfillPlan is what will be made up for.
type BackfillPlan struct {
	Times      []time.Time // the oldest first
	AlreadyRan []time.Time // of those before the last of Times, or of all
	Refused    int         // times that the schedule's own bounds, dates and hours refuse
	More       bool        // max was reached before the end of the range
}

// Backfill makes up for planned times of a task that did not run, the oldest first
// and one at a time. With nothing to make up for nothing is written.
func (s *Steerer) Backfill(ctx context.Context, c access.Caller, ref string, ask BackfillAsk) (BackfillPlan, error) {
	var plan BackfillPlan
	_, err := s.live(ctx, c, ref, func(tx *store.Tx, t task.Task) error {
		now, err := tx.Now(ctx)
		if err != nil {
			return err
		}
		spec, from, to, most, err := checkBackfill(t, ask, now)
		if err != nil {
			return err
		}
		if plan, err = planBackfill(ctx, tx, c.Scope, t, *spec, from, to, most, ask.All); err != nil || len(plan.Times) == 0 {
			return err
		}
		b := store.Backfill{TaskID: t.ID, Revision: t.AutomationRevision, From: from, To: to, OnlyMissing: !ask.All, Times: plan.Times, Actor: c.Actor}
		if b, err = tx.CreateBackfill(ctx, c.Scope, b); err != nil {
			return err
		}
		if err := audit(ctx, tx, c, "task.backfill", "task", t.ID, map[string]any{"from": from, "to": to, "times": len(plan.Times)}); err != nil {
			return err
		}
		return tx.PostJobs(ctx, store.BackfillOf(b.WorkspaceID, t.ID))
	})
	return plan, err
}

func checkBackfill(t task.Task, ask BackfillAsk, now time.Time) (spec *schedule.Spec, from, to time.Time, most int, err error) {
	if t.Status.Terminal() {
		return nil, from, to, 0, errs.New(errs.Conflict, "terminal", "%s is %s. Reopen it first.", t.Identifier, t.Status)
	}
	if spec, err = t.Spec(); err != nil {
		return nil, from, to, 0, err
	}
	if spec == nil || spec.Mode() != schedule.Schedule && spec.Mode() != schedule.Every {
		return nil, from, to, 0, errs.New(errs.Conflict, "mode_changed", "Only a schedule and a grid have planned times to make up for, and %s is on neither.", t.Identifier)
	}
	from, to, most = ask.From.UTC(), now, ask.Max
	if ask.To != nil && ask.To.Before(now) {
		to = ask.To.UTC()
	}
	if most == 0 {
		most = DefaultBackfill
	}
	switch n := int64(0); {
	case from.After(to):
		err = errs.BadField("body.from", "invalid", ask.From, "The range begins after its end, or in the future.")
	case most < 1 || most > MaxBackfill:
		err = errs.BadField("body.max", "invalid", ask.Max, "A backfill makes up for 1 to %d times.", MaxBackfill)
	default:
		if n = spec.Count(from, to); n > maxRange {
			err = errs.BadField("body.from", "invalid", ask.From, "The range has %d planned times, and at most %d are looked through at once. Begin with a part of it.", n, maxRange)
		}
	}
	return spec, from, to, most, err
}

// planBackfill finds the times.
func planBackfill(ctx context.Context, tx *store.Tx, sc access.Scope, t task.Task, spec schedule.Spec, from, to time.Time, most int, all bool) (p BackfillPlan, err error) {
	holidays, err := tx.Holidays(ctx, map[string][]string{t.WorkspaceID: spec.Calendars()})
	if err != nil {
		return p, err
	}
	dates := holidays.Of(t.WorkspaceID, spec.Calendars())
	ran, err := tx.RanTimes(ctx, sc, t.ID, from, to)
	if err != nil {
		return p, err
	}
	spec.Each(from, to, func(at time.Time) bool {
		_, fine := spec.Refusal(at, dates)
		switch {
		case ran[at] && !all:
			p.AlreadyRan = append(p.AlreadyRan, at)
		case !fine:
			p.Refused++
		case len(p.Times) == most:
			p.More = true
			return false
		default:
			p.Times = append(p.Times, at)
		}
		return true
	})
	return p, nil
}

// CancelBackfill lets the times go that are still to be made up for. A run that is
// open goes on to its end. With none under way there is nothing to let go.
func (s *Steerer) CancelBackfill(ctx context.Context, c access.Caller, ref string) error {
	_, err := s.live(ctx, c, ref, func(tx *store.Tx, t task.Task) error {
		ended, err := tx.EndBackfill(ctx, c.Scope, t.ID, task.CanceledByPerson)
		if err != nil || !ended {
			return err
		}
		return audit(ctx, tx, c, "task.backfill.cancel", "task", t.ID, nil)
	})
	return err
}
