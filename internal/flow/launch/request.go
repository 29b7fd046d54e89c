package launch

import (
	"context"
	"fmt"
	"slices"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// Request is a run that somebody asks for now.
type Request struct {
	Note          string  // for the agent, at the top of its prompt
	ContinueTopic *string // the topic that the new one goes on from
	Origin        topic.Origin
	Key           string // of the request; a second one with the same key changes nothing
}

// Started is the answer to a request.
type Started struct {
	TickID               string
	TopicID, OperationID string // "" when it waits, or when a task was made
	MadeTaskID           string // the task that a template made
	SkippedChecks        []task.Reason
	Queued               bool
}

// RunTask starts a run by hand. A refusal is a Conflict with the gate's reason,
// and stands in the tick ledger all the same.
func (l *Launcher) RunTask(ctx context.Context, c access.Caller, ref string, req Request) (Started, error) {
	taskID, err := l.store.TaskID(ctx, c.Scope, ref)
	if err != nil {
		return Started{}, err
	}
	req.Origin = topic.Manual
	var started Started
	var refused error
	err = l.store.InTx(ctx, func(tx *store.Tx) error {
		refused = nil
		t, err := tx.LockTask(ctx, c.Scope, taskID)
		if err != nil {
			return err
		}
		if req.ContinueTopic != nil {
			old, err := tx.Topic(ctx, c.Scope, *req.ContinueTopic)
			if err != nil || old.TaskID != t.ID {
				return errs.BadField("body.continueTopic", "invalid", *req.ContinueTopic, "The task has no such topic.")
			}
		}
		started, refused, err = l.RunNow(ctx, tx, c.Scope, t, c.Actor, req)
		return err
	})
	if err != nil {
		return Started{}, err
	}
	return started, refused
}

// RunNow writes a tick for a request and launches it, in the caller's transaction
// and under its lock of the task. A refusal comes back apart from a failure, so
// that the caller can keep the tick that records it.
func (l *Launcher) RunNow(ctx context.Context, tx *store.Tx, sc access.Scope, t task.Task, by access.Actor, req Request) (started Started, refused, err error) {
	if req.Key == "" {
		req.Key = string(req.Origin) + ":" + id.New()
	}
	if t.DeletedAt != nil {
		return Started{}, errs.New(errs.NotFound, "not_found", "%s was deleted.", t.Identifier), nil
	}
	now, err := tx.Now(ctx)
	if err != nil {
		return Started{}, nil, err
	}
	tick := store.Tick{
		ID: id.New(), WorkspaceID: sc.Workspace(), TaskID: t.ID, FireAt: now, RequestKey: &req.Key, Origin: req.Origin, State: topic.TickPending,
		AutomationRevision: t.AutomationRevision, ContinuesTopicID: req.ContinueTopic, ActorKind: by.Kind, Count: 1,
	}
	if req.Note != "" {
		tick.Note = &req.Note
	}
	if by.ID != "" {
		tick.ActorID = &by.ID
	}
	if _, err := tx.RequestTicks(ctx, []store.Tick{tick}); err != nil {
		return Started{}, nil, err
	}
	out, err := l.Launch(ctx, tx, sc, t, tick)
	if err != nil {
		return Started{}, nil, err
	}
	started = Started{tick.ID, out.TopicID, out.OperationID, out.MadeTaskID, out.Verdict.Skipped, out.Queued}
	if !out.Verdict.OK() && !out.Queued {
		return started, errs.New(errs.Conflict, string(out.Verdict.Reason), "%s", out.Verdict.Detail), nil
	}
	return started, nil, nil
}

// Unlock handles [job.Unlock]: tasks that waited only for the one that ended get
// a tick each, and the gate its say.
func (l *Launcher) Unlock(ctx context.Context, c job.Claim) error {
	sc := access.In(c.IDs.Workspace)
	if err := l.beatAgain(ctx, sc, c.IDs.Task); err != nil {
		return err
	}
	return l.store.Finish(ctx, c, func(ctx context.Context, tx *store.Tx) error {
		up, err := tx.Task(ctx, sc, c.IDs.Task)
		if errs.KindOf(err) == errs.NotFound {
			return nil
		}
		if err != nil {
			return err
		}
		if !up.Status.Terminal() {
			return nil // reopened meanwhile: its next end posts anew
		}
		waiting, err := tx.Unlocked(ctx, sc, up.ID)
		if err != nil {
			return err
		}
		now, err := tx.Now(ctx)
		if err != nil {
			return err
		}
		// One end of the upstream starts each of them once.
		key := "dependency:" + up.ID + ":" + up.CompletedAt.UTC().Format("20060102T150405.000000")
		ticks := make([]store.Tick, len(waiting))
		for i, taskID := range waiting {
			ticks[i] = store.Tick{
				ID: id.New(), WorkspaceID: sc.Workspace(), TaskID: taskID, FireAt: now, RequestKey: &key,
				Origin: topic.Dependency, State: topic.TickPending,
			}
		}
		written, err := tx.RequestTicks(ctx, ticks)
		if err != nil {
			return err
		}
		var posts []job.Post
		for _, t := range ticks {
			if slices.Contains(written, t.ID) {
				posts = append(posts, store.TickOf(t))
			}
		}
		return tx.PostJobs(ctx, posts...)
	})
}

// beatAgain gives the heartbeats that a task held their beat now, each under its
// own lock: the refused one set the next an interval away.
func (l *Launcher) beatAgain(ctx context.Context, sc access.Scope, upstreamID string) error {
	held, err := l.store.HeldBeats(ctx, sc, upstreamID)
	if err != nil {
		return err
	}
	for _, taskID := range held {
		err := l.store.InTx(ctx, func(tx *store.Tx) error {
			t, err := tx.LockTask(ctx, sc, taskID)
			if err != nil {
				return err
			}
			last, err := tx.LastRefusal(ctx, sc, taskID)
			if err != nil || last != task.Blocked || t.Status != task.Scheduled || t.DeletedAt != nil || !t.Automated() || t.Automation.Mode != schedule.Heartbeat {
				return err
			}
			spec, err := t.Spec()
			if err != nil {
				return err
			}
			now, err := tx.Now(ctx)
			if err != nil {
				return err
			}
			next := spec.Arm(t.ID, now)
			if next == (schedule.Slot{}) {
				return nil
			}
			return tx.SetNext(ctx, sc, t.ID, next)
		})
		if err != nil {
			return fmt.Errorf("let a heartbeat beat again: %w", err)
		}
	}
	return nil
}

// Start is [Launcher.RunNow] in plain words, for flows that start a run as the
// effect of something else: a button, a comment, a task that begins at once.
func (l *Launcher) Start(ctx context.Context, tx *store.Tx, sc access.Scope, t task.Task, by access.Actor, o topic.Origin, note string) (tickID string, refused, err error) {
	started, refused, err := l.RunNow(ctx, tx, sc, t, by, Request{Note: note, Origin: o})
	return started.TickID, refused, err
}
