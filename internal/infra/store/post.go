package store

import (
	"context"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
)

// StopTopic ends the operations of an open topic as interrupted, tells the
// process that runs one, and posts the settling of the topic. The caller holds
// the task. What a model call in flight brings is not written any more.
func (tx *Tx) StopTopic(ctx context.Context, sc access.Scope, topicID, detail string) error {
	ops, err := tx.TopicOperations(ctx, sc, topicID)
	if err != nil {
		return err
	}
	for _, o := range ops {
		if o.Status.Ended() {
			continue
		}
		if _, err := tx.LockOperation(ctx, sc, o.ID); err != nil {
			return err
		}
		ended, err := tx.EndOperation(ctx, sc, o, operation.ReasonInterrupted, detail, "")
		if err != nil {
			return err
		}
		if !ended {
			continue
		}
		if err := tx.NotifyStop(ctx, o.ID); err != nil {
			return err
		}
		if err := tx.PostJobs(ctx, SettleOf(o)); err != nil {
			return err
		}
	}
	return nil
}

// SettleOf is the job that draws the consequences of an operation's end.
func SettleOf(o Operation) job.Post {
	return job.Post{Kind: job.Settle, Key: o.TopicID, IDs: job.IDs{Workspace: o.WorkspaceID, Task: o.TaskID, Topic: o.TopicID, Operation: o.ID}}
}

// StepOf is the job of an operation's next step.
func StepOf(o Operation) job.Post {
	return job.Post{Kind: job.Step, Key: o.ID, IDs: job.IDs{Workspace: o.WorkspaceID, Task: o.TaskID, Topic: o.TopicID, Operation: o.ID}}
}

// TickOf is the job that handles a tick.
func TickOf(t Tick) job.Post {
	return job.Post{Kind: job.Tick, Key: t.ID, IDs: job.IDs{Workspace: t.WorkspaceID, Task: t.TaskID, Tick: t.ID}}
}
