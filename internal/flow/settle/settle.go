// Package settle draws the consequences of the end of a run: topic, task, next
// fire and brief in one transaction, and then what the run leaves for the next.
package settle

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/base/killpoint"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/domain/handoff"
	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
	"github.com/dogwatch/dogwatch/internal/domain/turn"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// Models calls models.
type Models interface {
	Call(ctx context.Context, r turn.Request, onDelta func(text string)) (turn.Reply, error)
}

// Settler settles topics.
type Settler struct {
	store  *store.Store
	models Models
	log    *slog.Logger
	minute time.Duration // how long a minute is, for the waits between the tries of a run
}

// New returns a settler.
func New(s *store.Store, m Models, log *slog.Logger) *Settler {
	return &Settler{s, m, log, time.Minute}
}

// Hurry shortens the waits between the tries of a run for tests: a minute of them
// takes so long.
func (s *Settler) Hurry(minute time.Duration) { s.minute = minute }

// Settle handles [job.Settle]: the last operation of a topic has ended. A topic
// that was settled before is left as it is.
func (s *Settler) Settle(ctx context.Context, c job.Claim) error {
	sc := access.In(c.IDs.Workspace)
	return s.store.Finish(ctx, c, func(ctx context.Context, tx *store.Tx) error {
		t, err := tx.LockTask(ctx, sc, c.IDs.Task)
		if errs.KindOf(err) == errs.NotFound {
			return nil
		}
		if err != nil {
			return err
		}
		tp, err := tx.Topic(ctx, sc, c.IDs.Topic)
		if err != nil || tp.Status != topic.Running {
			return err
		}
		ops, err := tx.TopicOperations(ctx, sc, tp.ID)
		if err != nil || len(ops) == 0 || !ops[len(ops)-1].Status.Ended() {
			return err
		}
		return s.settle(ctx, tx, sc, t, tp, ops)
	})
}

// maxFinal is how many characters of an agent's last word stand on its topic, which lists
// carry. All of it is in the conversation.
const maxFinal = 20_000

// settle carries out what the end of the topic's last operation brings.
func (s *Settler) settle(ctx context.Context, tx *store.Tx, sc access.Scope, t task.Task, tp topic.Topic, ops []store.Operation) error {
	now, err := tx.Now(ctx)
	if err != nil {
		return err
	}
	last := ops[len(ops)-1]
	spec, err := t.Spec()
	if err != nil { // the run has ended all the same, and the task is paused
		s.log.Error("a schedule cannot be read; its task is paused when its run ends", "task", t.Identifier, "err", err)
		spec = nil
	}
	text, err := lastText(last)
	if err != nil {
		return err
	}
	end := task.Ending{
		TopicID: tp.ID, Origin: tp.Origin, Reason: last.Reason, Detail: last.Detail, Text: text, Wishes: last.Wishes,
	}
	if last.Error != nil {
		end.Error = *last.Error
	}
	if end.TaskBudgetSpent, err = daySpent(ctx, tx.Reader, sc, t, spec, now); err != nil {
		return err
	}
	queued, err := tx.QueuedTick(ctx, sc, t.ID)
	if err != nil {
		return err
	}
	pending, err := tx.PendingTick(ctx, sc, t.ID)
	if err != nil {
		return err
	}
	end.TickWaits = pending != nil || queued != nil && queued.PlannedAt != nil
	if end.Error == "" && operation.TimedOut(last.Detail) {
		end.Error = timeoutWords(last)
	}
	if wait, again := task.RetryOf(t, end, len(ops), now, s.stretch()); again {
		return s.tryAgain(ctx, tx, sc, last, now.Add(wait), wait)
	}
	if len(ops) > 1 && end.Error != "" {
		end.Error += fmt.Sprintf(" It was tried %d times.", len(ops))
	}
	plan, err := task.AfterTopic(t, end, spec, now)
	if err != nil {
		return err
	}
	cost := topicCost(ops)
	if err := tx.EndTopic(ctx, sc, store.TopicEnd{
		TopicID: tp.ID, TaskID: t.ID, Status: plan.Topic, Reason: last.Reason, Detail: last.Detail, Error: end.Error, Final: handoff.Cut(text, maxFinal), Cost: cost,
	}); err != nil {
		return err
	}
	if err := tx.TickRan(ctx, sc, tp.TickID); err != nil {
		return err
	}
	if err := tx.EndRun(ctx, sc, t.ID, store.RunEnd{
		TopicID: tp.ID, Failures: plan.Failures, Cost: cost, Move: plan.Move, Error: plan.Error, Next: nextOf(plan.Next), Why: plan.Next.Why,
	}); err != nil {
		return err
	}
	if plan.Recause[0] != "" {
		if err := tx.Recause(ctx, sc, t.ID, plan.Recause[0], plan.Recause[1]); err != nil {
			return err
		}
	}
	if err := tx.CloseBriefs(ctx, sc, t.ID, plan.Close); err != nil {
		return err
	}
	if last.Reason == operation.ReasonDone {
		if err := tx.CloseRetried(ctx, sc, tp.TickID); err != nil {
			return err
		}
	}
	if plan.Brief != nil {
		from := store.BriefFrom{TaskID: t.ID, TopicID: tp.ID, OperationID: last.ID}
		if last.AgentID != nil {
			from.AgentID = *last.AgentID
		}
		if _, _, err := tx.OpenBrief(ctx, sc, *plan.Brief, from); err != nil {
			return err
		}
	}
	killpoint.Hit("settle-before-commit")
	return postNext(ctx, tx, sc, t, tp, last, queued)
}

// stretch spreads the waits of runs that failed together over a fifth.
func (s *Settler) stretch() float64 {
	return float64(s.minute) / float64(time.Minute) * (1 + rand.Float64()/5)
}

// tryAgain goes on with a run that failed for what may heal: with an operation of
// its own, which begins after a wait and has limits of its own.
func (s *Settler) tryAgain(ctx context.Context, tx *store.Tx, sc access.Scope, failed store.Operation, at time.Time, wait time.Duration) error {
	next := store.Operation{
		ID: id.New(), WorkspaceID: failed.WorkspaceID, TaskID: failed.TaskID, TopicID: failed.TopicID, AgentID: failed.AgentID,
		AgentRevisionID: failed.AgentRevisionID, ParentOperationID: failed.ParentOperationID, Try: failed.Try + 1, Model: failed.Model,
		Limits: failed.Limits, BeginAt: &at,
	}
	if err := tx.CreateOperation(ctx, sc, next); err != nil {
		return err
	}
	s.log.Info("a run failed and is tried again", "topic", failed.TopicID, "try", next.Try, "in", wait, "because", failed.Detail)
	killpoint.Hit("retry-before-commit")
	step := store.StepOf(next)
	step.Delay = wait
	return tx.PostJobs(ctx, step)
}

// nextOf is the next fire that a plan sets; nil: none.
func nextOf(n task.Next) *schedule.Slot {
	if n.Set == (schedule.Slot{}) && !n.Clear {
		return nil
	}
	return &n.Set
}

// postNext posts the handoff, and the tick that waited for this run to end.
func postNext(ctx context.Context, tx *store.Tx, sc access.Scope, t task.Task, tp topic.Topic, o store.Operation, queued *store.Tick) error {
	posts := []job.Post{{Kind: job.Handoff, Key: tp.ID, IDs: job.IDs{
		Workspace: sc.Workspace(), Task: t.ID, Topic: tp.ID, Operation: o.ID,
	}}}
	if queued != nil {
		posts = append(posts, store.TickOf(*queued))
	}
	backfill, err := tx.OpenBackfill(ctx, sc, t.ID)
	if err != nil {
		return err
	}
	if backfill != nil {
		posts = append(posts, store.BackfillOf(t.WorkspaceID, t.ID))
	}
	// One more than can run is woken: the first may have lost its wish to.
	waiting, err := tx.FreeSlot(ctx, sc, tp.ID)
	if err != nil {
		return err
	}
	for _, k := range waiting {
		if queued == nil || k.ID != queued.ID {
			posts = append(posts, store.TickOf(k))
		}
	}
	return tx.PostJobs(ctx, posts...)
}

// lastText is the last thing that the agent said, as its brain remembers it: what was
// said in several answers is one text there.
func lastText(o store.Operation) (string, error) {
	var s turn.State
	if err := json.Unmarshal(o.State, &s); err != nil {
		return "", fmt.Errorf("read the state of an operation: %w", err)
	}
	return s.Text, nil
}

// topicCost sums what a topic's operations cost; nil when of one it is not known.
func topicCost(ops []store.Operation) *budget.USD {
	costs := make([]*budget.USD, len(ops))
	for i, o := range ops {
		costs[i] = o.CostUSD
	}
	return budget.Sum(costs...)
}

// daySpent reports whether the task's own budget of the day is used up.
func daySpent(ctx context.Context, r store.Reader, sc access.Scope, t task.Task, spec *schedule.Spec, now time.Time) (bool, error) {
	day := t.Config.Budget.Day
	if day == (task.Allowance{}) {
		return false, nil
	}
	used, err := r.UsedSince(ctx, sc, t.ID, task.DayOf(spec, now))
	return err == nil && day.Spent(used.CostUSD, used.Tokens, used.Seconds) != "", err
}

func timeoutWords(o store.Operation) string {
	if o.Detail == operation.DetailTimeLimit {
		return fmt.Sprintf("The run reached its limit of %d seconds.", o.Limits.Seconds)
	}
	return "The run made no progress for too long."
}
