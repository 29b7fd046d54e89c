// Package engine carries out an operation, one step at a time: it asks the brain
// what to do, does it outside any transaction, and commits what came of it
// together with the job of the next step. A process that dies in between leaves
// everything that was committed, and nothing half done.
package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/killpoint"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/agent"
	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/domain/turn"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// Models calls models.
type Models interface {
	// Call makes one attempt; onDelta hears the text as it streams. Its errors are *turn.ModelError.
	Call(ctx context.Context, r turn.Request, onDelta func(text string)) (turn.Reply, error)
	// ContextWindow returns how many tokens a model takes; 0 when that is not known.
	ContextWindow(model string) int
	// Cost returns what usage of a model costs; nil when its price is not known.
	Cost(model string, u budget.Usage) *budget.USD
}

// Site is where a tool is called from.
type Site struct {
	Scope     access.Scope
	Operation store.Operation
	Agent     access.Actor
	Key       string // the same for every try of one call
}

// Tools are what agents may call. All of them work on our own database: what a
// call changes is committed together with the note that it was made, so a call
// is made once whatever happens.
type Tools interface {
	// Specs are the tools that an agent may call while it works on a task.
	Specs(p agent.Profile, t task.Task) []turn.ToolSpec
	// Call makes a call inside tx. An error with a kind is the model's to read; any
	// other is ours, and the step is tried again.
	Call(ctx context.Context, tx *store.Tx, at Site, p agent.Profile, c turn.ToolCall) (string, error)
	// Polls reports whether a tool's answer changes by itself, so that calling it again
	// is no loop.
	Polls(name string) bool
}

// Deltas hears the text of a model as it streams. It may lose some, and never waits.
type Deltas interface {
	Delta(ctx context.Context, workspaceID, operationID string, seq int, text string)
}

// Engine runs operations.
type Engine struct {
	store  *store.Store
	models Models
	tools  Tools
	deltas Deltas
	log    *slog.Logger
}

// New returns an engine.
func New(s *store.Store, m Models, t Tools, d Deltas, log *slog.Logger) *Engine {
	return &Engine{s, m, t, d, log}
}

// Bounds of what goes to a model.
const (
	// promptTokens is the prompt of a model whose window is not known: a third of
	// the smallest window that tools are any use in.
	promptTokens = 32_000
	// toolTime is what one tool call may take.
	toolTime = 120 * time.Second
)

// Step handles [job.Step]: the next step of an operation.
func (e *Engine) Step(ctx context.Context, c job.Claim) error {
	sc := access.In(c.IDs.Workspace)
	o, err := e.store.Operation(ctx, sc, c.IDs.Operation)
	if errs.KindOf(err) == errs.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	if !o.Status.Working() {
		return nil // stopped meanwhile: who stopped it has posted what follows
	}
	if o.Status == operation.Idle {
		err := e.store.InTx(ctx, func(tx *store.Tx) (err error) {
			o, err = tx.BeginOperation(ctx, sc, c)
			return err
		})
		if err != nil || !o.Status.Working() {
			return err
		}
	}
	var s turn.State
	if err := json.Unmarshal(o.State, &s); err != nil {
		return job.Permanent(fmt.Errorf("read the state of an operation: %w", err))
	}
	now, err := e.store.Clock(ctx)
	if err != nil {
		return err
	}
	run := run{Engine: e, sc: sc, c: c, o: o, s: s}
	if err := run.look(ctx, now); err != nil {
		return err
	}
	in := turn.Next(s, o.Used(now), run.limits)
	switch in.Do {
	case turn.DoThink:
		return run.think(ctx, now)
	case turn.DoAct:
		return run.act(ctx, now, in.Calls)
	}
	return run.finish(ctx, in)
}

// GiveUp is the ending of [job.Step]: the step failed for good, so the operation
// ends, in the transaction that buries the job.
func (e *Engine) GiveUp(ctx context.Context, tx *store.Tx, c job.Claim, cause error) error {
	sc := access.In(c.IDs.Workspace)
	if _, err := tx.LockTask(ctx, sc, c.IDs.Task); err != nil {
		if errs.KindOf(err) == errs.NotFound {
			return nil
		}
		return err
	}
	o, err := tx.LockOperation(ctx, sc, c.IDs.Operation)
	if err != nil {
		return err
	}
	reason, detail, text := blame(cause)
	ended, err := tx.EndOperation(ctx, sc, o, reason, detail, text)
	if err != nil || !ended {
		return err
	}
	return tx.PostJobs(ctx, store.SettleOf(o))
}

// blame puts a failure into the words of an operation's end.
func blame(cause error) (operation.Reason, string, string) {
	var me *turn.ModelError
	switch {
	case errors.As(cause, &me):
		return operation.ReasonError, string(me.Class), me.Error()
	case errors.Is(cause, job.ErrTimeLimit):
		return operation.ReasonInterrupted, operation.DetailTimeLimit, "A step took longer than a step may."
	case errors.Is(cause, job.ErrPoison):
		return operation.ReasonError, operation.DetailPoison, "The run ended its worker process again and again, and was given up."
	}
	return operation.ReasonError, operation.DetailInternal, "Dogwatch failed to carry out a step of this run. Its log says more."
}

// run is one step on its way.
type run struct {
	*Engine
	sc access.Scope
	c  job.Claim
	o  store.Operation
	s  turn.State

	task   task.Task        // as it was read when the step began
	limits operation.Limits // the operation's, within what is left of its task's day
	day    store.Used       // what the task's day had used; where it has a budget
}

// look reads the task, and what its budget of the day leaves to the operation.
func (r *run) look(ctx context.Context, now time.Time) (err error) {
	if r.task, err = r.store.Task(ctx, r.sc, r.o.TaskID); err != nil {
		return err
	}
	r.limits = r.o.Limits
	day := r.task.Config.Budget.Day
	if day == (task.Allowance{}) {
		return nil
	}
	spec, _ := r.task.Spec() // a schedule that cannot be read ends with the run
	if r.day, err = r.store.UsedSince(ctx, r.sc, r.task.ID, task.DayOf(spec, now)); err != nil {
		return err
	}
	r.limits = r.limits.Within(r.o.Used(now), day.Left(r.day.CostUSD, r.day.Tokens, r.day.Seconds))
	return nil
}

// finish ends the operation and lets its topic be settled.
func (r run) finish(ctx context.Context, in turn.Instruction) error {
	text := ""
	switch {
	case in.Reason == operation.ReasonError && in.Detail == operation.DetailLoop:
		text = fmt.Sprintf("The agent made the same call %d times, and was stopped.", turn.StopAt)
	case in.Reason == operation.ReasonError:
		text = "The model answered nothing, several times in a row."
	}
	return r.store.Finish(ctx, r.c, func(ctx context.Context, tx *store.Tx) error {
		o, err := r.hold(ctx, tx)
		if err != nil || !o.Status.Working() {
			return err
		}
		if _, err := tx.EndOperation(ctx, r.sc, o, in.Reason, in.Detail, text); err != nil {
			return err
		}
		return tx.PostJobs(ctx, store.SettleOf(o))
	})
}

// hold locks the task and the operation, in this order.
func (r run) hold(ctx context.Context, tx *store.Tx) (store.Operation, error) {
	if _, err := tx.LockTask(ctx, r.sc, r.o.TaskID); err != nil {
		return store.Operation{}, err
	}
	return tx.LockOperation(ctx, r.sc, r.o.ID)
}

// commit writes a step and what it brought, and posts what comes next: another
// step, or the end when the brain has nothing left to do. A step that somebody
// else wrote, or an operation that was stopped, is left as it is.
func (r run) commit(ctx context.Context, step store.Step, next turn.State, messages []store.Message, p store.Progress, more func(context.Context, *store.Tx) error) error {
	state, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("write the state of an operation: %w", err)
	}
	p.State, p.Steps = state, 1
	return r.store.Finish(ctx, r.c, func(ctx context.Context, tx *store.Tx) error {
		o, err := r.hold(ctx, tx)
		if err != nil || !o.Status.Working() || o.Steps != r.o.Steps {
			return err
		}
		if more != nil {
			if err := more(ctx, tx); err != nil {
				return err
			}
		}
		if err := tx.AddMessages(ctx, r.sc, o, messages); err != nil {
			return err
		}
		if err := tx.AddStep(ctx, r.sc, o, step, r.c); err != nil {
			return err
		}
		if err := tx.Advance(ctx, r.sc, o.ID, p); err != nil {
			return err
		}
		killpoint.Hit("step-before-commit")
		if in := turn.Next(next, operation.Usage{}, operation.Limits{}); in.Do == turn.DoFinish && in.Reason == operation.ReasonDone && in.Detail == "" {
			if _, err := tx.EndOperation(ctx, r.sc, o, in.Reason, in.Detail, ""); err != nil {
				return err
			}
			return tx.PostJobs(ctx, store.SettleOf(o))
		}
		return tx.PostJobs(ctx, store.StepOf(o))
	})
}
