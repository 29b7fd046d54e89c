package launch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/killpoint"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// lookAgain is when a backfill that waits looks again whether it may go on: what it
// waits for is a pause, a budget or a card, and none of them is in a hurry.
const lookAgain = 30 * time.Second

// Backfill handles [job.Backfill]: make up for the next planned time of a task, if
// nothing else of it is under way. The end of a run posts it again.
func (l *Launcher) Backfill(ctx context.Context, c job.Claim) error {
	sc := access.In(c.IDs.Workspace)
	return l.store.Finish(ctx, c, func(ctx context.Context, tx *store.Tx) error {
		t, err := tx.LockTask(ctx, sc, c.IDs.Task)
		if errs.KindOf(err) == errs.NotFound {
			return nil
		}
		if err != nil {
			return err
		}
		b, err := tx.OpenBackfill(ctx, sc, t.ID)
		if err != nil || b == nil {
			return err
		}
		wait, err := l.makeUp(ctx, tx, sc, t, b)
		if err != nil || wait == 0 {
			return err
		}
		post := store.BackfillOf(t.WorkspaceID, t.ID)
		post.Delay = wait
		return tx.PostJobs(ctx, post)
	})
}

// makeUp goes on with a backfill until a run is open, all times are through, or
// something stands against it. It returns after how long to look again; 0 when the
// end of a run, or whoever takes the task up again, does.
func (l *Launcher) makeUp(ctx context.Context, tx *store.Tx, sc access.Scope, t task.Task, b *store.Backfill) (time.Duration, error) {
	spec, err := t.Spec()
	if err != nil {
		return 0, err
	}
	if why := void(t, spec, *b); why != "" {
		_, err := tx.EndBackfill(ctx, sc, t.ID, why)
		return 0, err
	}
	if b.TickID != "" {
		over, err := follow(ctx, tx, sc, b)
		if err != nil || !over {
			return 0, err
		}
	}
	for b.Done < len(b.Times) {
		why, wait, err := inTheWay(ctx, tx, sc, t)
		if err != nil {
			return 0, err
		}
		if why != "" {
			b.Reason = string(why)
			return wait, tx.MoveBackfill(ctx, sc, *b)
		}
		out, held, err := l.runTime(ctx, tx, sc, t, spec, b)
		switch {
		case err != nil:
			return 0, err
		case held.Reason.UsesUp():
			_, err := tx.EndBackfill(ctx, sc, t.ID, held.Reason)
			return 0, err
		case held.Reason != "":
			b.Reason = string(held.Reason)
			return lookAgain, tx.MoveBackfill(ctx, sc, *b)
		case out.MadeTaskID != "": // no end of a run comes back to it
			b.Reason = ""
			return time.Second, tx.MoveBackfill(ctx, sc, *b)
		case out.TopicID != "":
			b.Reason = ""
			killpoint.Hit("backfilled")
			return 0, tx.MoveBackfill(ctx, sc, *b)
		}
		b.Done, b.TickID, b.Again = b.Done+1, "", false // it ran meanwhile, or its schedule refuses it
	}
	_, err = tx.EndBackfill(ctx, sc, t.ID, "")
	return 0, err
}

// void says why nothing of a backfill can follow any more, "" when something can.
func void(t task.Task, spec *schedule.Spec, b store.Backfill) task.Reason {
	switch {
	case t.DeletedAt != nil:
		return task.Deleted
	case t.Status.Terminal():
		return task.Ended
	case spec == nil || t.AutomationRevision != b.Revision:
		return task.CanceledByEdit
	}
	return ""
}

// follow looks at the time that is under way. It reports whether its run is over. One
// that gave way to the schedule is taken up once more.
func follow(ctx context.Context, tx *store.Tx, sc access.Scope, b *store.Backfill) (bool, error) {
	tick, err := tx.Tick(ctx, sc, b.TickID)
	if errs.KindOf(err) != errs.NotFound {
		if err != nil || !tick.State.Ended() {
			return false, err
		}
		if tick.TopicID != nil && !b.Again {
			tp, err := tx.Topic(ctx, sc, *tick.TopicID)
			if err != nil {
				return false, err
			}
			if tp.ReasonDetail == operation.DetailSuperseded {
				b.TickID, b.Again = "", true
				return true, nil
			}
		}
	}
	b.Done, b.TickID, b.Again = b.Done+1, "", false
	return true, nil
}

// inTheWay says what of the task itself goes before a backfill, "" when nothing does,
// and after how long to look again.
func inTheWay(ctx context.Context, tx *store.Tx, sc access.Scope, t task.Task) (task.Reason, time.Duration, error) {
	switch t.Status {
	case task.Running:
		return task.InFlight, 0, nil
	case task.Paused:
		return task.IsPaused, 0, nil
	}
	now, err := tx.Now(ctx)
	if err != nil {
		return "", 0, err
	}
	pending, err := tx.PendingTick(ctx, sc, t.ID)
	if err != nil {
		return "", 0, err
	}
	queued, err := tx.QueuedTick(ctx, sc, t.ID)
	if err != nil {
		return "", 0, err
	}
	// The schedule's own time goes first, also when its sweep is about to come.
	if pending != nil || queued != nil || t.NextFireAt != nil && t.NextFireAt.Before(now.Add(ahead)) {
		return task.InFlight, ahead + time.Second, nil
	}
	return "", 0, nil
}

// ahead is how soon before its schedule's next time a task begins nothing else.
const ahead = 2 * time.Second

// runTime asks the gate about the next time, and opens its run. What holds it up is
// returned, with no trace in the ledger; a refusal by the schedule itself is the end
// of the time.
func (l *Launcher) runTime(ctx context.Context, tx *store.Tx, sc access.Scope, t task.Task, spec *schedule.Spec, b *store.Backfill) (Outcome, task.Verdict, error) {
	at := b.Times[b.Done].UTC()
	facts, _, err := l.gather(ctx, tx.Reader, sc, &t, spec, store.Tick{Origin: topic.Backfill, AutomationRevision: t.AutomationRevision, PlannedAt: &at})
	if err != nil {
		return Outcome{}, task.Verdict{}, err
	}
	v := task.Admit(facts)
	if !v.OK() && !slices.Contains(ofTheTime, v.Reason) {
		return Outcome{}, v, nil
	}
	tick, err := l.takeUp(ctx, tx, sc, t, *spec, b, at)
	if err != nil || tick == nil {
		return Outcome{}, task.Verdict{}, err
	}
	out, err := l.Launch(ctx, tx, sc, t, *tick)
	if err == nil && (out.TopicID != "" || out.MadeTaskID != "") {
		b.TickID = tick.ID
	}
	return out, task.Verdict{}, err
}

// ofTheTime are the refusals that stay true of a planned time however long one waits.
var ofTheTime = []task.Reason{task.OutsideBounds, task.ExcludedDate, task.OutsideActiveHours, task.DailyLimit}

// takeUp makes a time pending; nil when there is nothing to make up for.
func (l *Launcher) takeUp(ctx context.Context, tx *store.Tx, sc access.Scope, t task.Task, spec schedule.Spec, b *store.Backfill, at time.Time) (*store.Tick, error) {
	if !b.Again {
		tick, err := tx.TakeTime(ctx, sc, t, spec, at, b.Actor)
		if err != nil || tick != nil || b.OnlyMissing {
			return tick, err
		}
	}
	key := fmt.Sprintf("backfill:%s:%s", b.ID, at.Format(time.RFC3339Nano))
	if b.Again {
		key += ":again"
	}
	return tx.AskAgain(ctx, sc, t, key, at, b.Actor)
}
