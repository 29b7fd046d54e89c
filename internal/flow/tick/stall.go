package tick

import (
	"context"
	"fmt"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// EndStalled ends operations that have committed no step for as long as their
// task allows, so that their topics end as timeout. It returns how many it ended.
func (s *Sweeper) EndStalled(ctx context.Context) (n int, err error) {
	stalled, err := s.store.StalledOperations(ctx, batch)
	if err != nil {
		return 0, err
	}
	for _, o := range stalled {
		ended, err := s.endStalled(ctx, o)
		if err != nil {
			return n, fmt.Errorf("end a stalled operation: %w", err)
		}
		if ended {
			n++
		}
	}
	return n, nil
}

func (s *Sweeper) endStalled(ctx context.Context, seen store.Operation) (ended bool, err error) {
	sc := access.In(seen.WorkspaceID)
	err = s.store.InTx(ctx, func(tx *store.Tx) error {
		ended = false
		if _, err := tx.LockTask(ctx, sc, seen.TaskID); err != nil {
			return err
		}
		o, err := tx.LockOperation(ctx, sc, seen.ID)
		if err != nil || !o.Status.Working() || o.DeadlineAt == nil {
			return err
		}
		now, err := tx.Now(ctx)
		if err != nil || now.Before(*o.DeadlineAt) {
			return err // a step was committed meanwhile
		}
		why := fmt.Sprintf("The run committed no step for %d seconds.", o.Limits.SilenceSeconds)
		if ended, err = tx.EndOperation(ctx, sc, o, operation.ReasonInterrupted, operation.DetailHeartbeatTimeout, why); err != nil || !ended {
			return err
		}
		s.log.Warn("an operation made no progress and was ended", "operation", o.ID, "silence", o.Limits.SilenceSeconds)
		if err := tx.NotifyStop(ctx, o.ID); err != nil {
			return err
		}
		return tx.PostJobs(ctx, store.SettleOf(o))
	})
	return ended, err
}
