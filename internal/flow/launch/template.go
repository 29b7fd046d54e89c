package launch

import (
	"context"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/agent"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// makeTask is what a tick of a template comes to instead of a run: a task after it,
// which is due at once. The next sweep starts that one by its own tick and under its
// own lock, so that the gate has its say about it, too.
func (l *Launcher) makeTask(ctx context.Context, tx *store.Tx, sc access.Scope, t task.Task, spec *schedule.Spec, tick store.Tick, ag agent.Agent, v task.Verdict) (Outcome, error) {
	now, err := tx.Now(ctx)
	if err != nil {
		return Outcome{}, err
	}
	made, err := tx.CreateTask(ctx, sc, t.Made(ag.ID, now.Truncate(time.Microsecond)))
	if err != nil {
		return Outcome{}, err
	}
	planned := tick.Origin.Planned()
	err = inOrder(
		func() error { return tx.CopyMaterial(ctx, sc, t.ID, made.ID) },
		func() error {
			if tick.Note == nil || *tick.Note == "" {
				return nil
			}
			_, err := tx.AddComment(ctx, sc, store.Comment{TaskID: made.ID, AuthorKind: tick.ActorKind, AuthorID: tick.ActorID, Content: *tick.Note})
			return err
		},
		func() error { return tx.TickMade(ctx, sc, tick.ID, made.ID) },
		func() error { return tx.NoteMade(ctx, sc, t.ID, planned) },
	)
	out := Outcome{MadeTaskID: made.ID, Verdict: v}
	if err != nil {
		return out, err
	}
	if planned {
		t.Executions++
	}
	if planned && t.Status == task.Scheduled && spec.ExecutionsUsedUp(t.Executions) {
		return out, complete(ctx, tx, sc, t, task.BoundsUsedUp)
	}
	return out, rearm(ctx, tx, sc, t, spec, tick, nil)
}
