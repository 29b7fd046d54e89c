package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/killpoint"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/agent"
	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/domain/turn"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// act makes the calls that the model asked for, in their order, and commits their
// results. Calls that a process before us made are not made again.
func (r run) act(ctx context.Context, began time.Time, calls []turn.ToolCall) error {
	profile, err := r.profile(ctx)
	if err != nil {
		return err
	}
	seq := r.o.Steps + 1
	made, err := r.store.ToolCalls(ctx, r.sc, r.o.ID, seq)
	if err != nil {
		return err
	}
	before := make(map[int]store.ToolCall, len(made))
	for _, m := range made {
		before[m.Position] = m
	}
	results := make([]store.Message, len(calls))
	var final *turn.Final
	for i, c := range calls {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		row, ok := before[i]
		if !ok {
			row = store.ToolCall{OperationID: r.o.ID, StepSeq: seq, Position: i, CallID: c.ID, Name: c.Name, Arguments: c.Arguments}
			if digest, counts := turn.Digest(c); counts && !r.tools.Polls(c.Name) {
				row.Digest = &digest
			}
		}
		equal, err := r.store.EqualCalls(ctx, r.sc, row)
		if err != nil {
			return err
		}
		if !ok || row.State == "started" {
			if row, err = r.make(ctx, profile, row, c, ok, turn.Guard(equal)); err != nil {
				return err
			}
		}
		if closing := turn.Closing(equal, row.IsError); closing != nil && row.Digest != nil && (final == nil || closing.Reason == operation.ReasonError) {
			final = closing
		}
		results[i] = store.Message{StepSeq: seq, Part: i, Message: turn.Message{
			Role: turn.Tool, Content: deref(row.Result), ToolCallID: c.ID, IsError: row.IsError,
		}}
	}
	step := store.Step{Seq: seq, Kind: string(turn.DoAct), StartedAt: began}
	return r.commit(ctx, step, r.s.AfterTools(final), results, store.Progress{ToolCalls: len(calls), Cost: new(budget.USD)}, nil)
}

// make makes one call, unless the loop guard answers for it: started before, finished
// after. What the call changes and the note that it was made are one transaction, so
// a call that is found started was not made.
func (r run) make(ctx context.Context, p agent.Profile, row store.ToolCall, c turn.ToolCall, started bool, guarded *turn.Guarded) (store.ToolCall, error) {
	if !started {
		err := r.store.InTx(ctx, func(tx *store.Tx) error {
			if err := tx.HoldJob(ctx, r.c); err != nil {
				return err
			}
			return tx.StartToolCall(ctx, r.sc, row)
		})
		if err != nil {
			return row, err
		}
	}
	killpoint.Hit("tool-started")
	if guarded != nil {
		row.Result, row.IsError = &guarded.Result, guarded.IsError
		return row, r.fenced(ctx, func(tx *store.Tx) error {
			return tx.FinishToolCall(ctx, r.sc, row, guarded.Result, guarded.IsError)
		})
	}
	at := Site{Scope: r.sc, Operation: r.o, Key: fmt.Sprintf("%s:%d:%d", r.o.ID, row.StepSeq, row.Position)}
	if r.o.AgentID != nil {
		at.Agent = access.Actor{Kind: access.Agent, ID: *r.o.AgentID}
	} else {
		at.Agent = access.Actor{Kind: access.Agent}
	}
	ctx, cancel := context.WithTimeout(ctx, toolTime)
	defer cancel()
	var text string
	err := r.fenced(ctx, func(tx *store.Tx) (err error) {
		at.Operation, err = tx.Operation(ctx, r.sc, r.o.ID) // with the wishes of calls before this one
		if err != nil {
			return err
		}
		if text, err = r.tools.Call(ctx, tx, at, p, c); err != nil {
			return err
		}
		text = cutOutput(text)
		return tx.FinishToolCall(ctx, r.sc, row, text, false)
	})
	var readable *errs.Error
	if errors.As(err, &readable) && readable.Kind != errs.Internal {
		// What it changed is rolled back; what was wrong is the model's to read.
		text = "Error: " + readable.Msg
		row.IsError = true
		err = r.fenced(ctx, func(tx *store.Tx) error { return tx.FinishToolCall(ctx, r.sc, row, text, true) })
	}
	if err != nil {
		return row, err
	}
	killpoint.Hit("tool-finished")
	row.Result = &text
	return row, nil
}

// fenced runs f in a transaction that holds task, operation and job, in this order.
func (r run) fenced(ctx context.Context, f func(tx *store.Tx) error) error {
	return r.store.InTx(ctx, func(tx *store.Tx) error {
		o, err := r.hold(ctx, tx)
		if err != nil {
			return err
		}
		if !o.Status.Working() {
			return job.ErrStop
		}
		if err := tx.HoldJob(ctx, r.c); err != nil {
			return err
		}
		return f(tx)
	})
}

// maxOutput is how many characters of a tool's result a model is given. What a
// tool has to say beyond that it offers in pages.
const maxOutput = 25_000

func cutOutput(text string) string {
	runes := []rune(text)
	if len(runes) <= maxOutput {
		return text
	}
	return string(runes[:maxOutput]) + fmt.Sprintf("\n[%d more characters were cut. Ask for a smaller part.]", len(runes)-maxOutput)
}
