package steer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

const (
	// MaxBulk is how many tasks one order may be for: what a person can still look
	// through, and what is carried out in seconds.
	MaxBulk = 1000
	// bulkTime is how long whoever gives an order waits for it; what is left then, a
	// job carries out.
	bulkTime = 10 * time.Second
	// bulkLater is when that job comes. It is also who goes on when the process dies
	// in the middle, and finds nothing to do when all went well.
	bulkLater = bulkTime + 5*time.Second
)

// What can be done to many tasks at once.
const (
	BulkPause  = "pause"
	BulkResume = "resume"
	BulkCancel = "cancel"
	bulkUndo   = "undo"
)

// BulkAsk is an order for many tasks: those that Tasks names, or that Filter matches.
type BulkAsk struct {
	Action string // BulkPause, BulkResume, BulkCancel
	Note   string
	Tasks  []string // ids or identifiers
	Filter *store.TaskFilter
}

// Bulk carries out an order for many tasks, each under its own lock and in a
// transaction of its own: what cannot be done to a task is noted, and the rest goes
// on. The order is written down first, so that it is finished whatever happens. It
// returns what was done within the time that somebody may be made to wait.
func (s *Steerer) Bulk(ctx context.Context, c access.Caller, ask BulkAsk) (store.Bulk, error) {
	return s.order(ctx, c, func(tx *store.Tx) (string, error) {
		ids, err := bulkTasks(ctx, tx, c.Scope, ask)
		if err != nil {
			return "", err
		}
		bulkID, err := tx.CreateBulk(ctx, c.Scope, store.Bulk{Action: ask.Action, Note: ask.Note, Actor: c.Actor}, ids)
		if err != nil {
			return "", err
		}
		detail := map[string]any{"action": ask.Action, "note": ask.Note, "tasks": len(ids)}
		if ask.Filter != nil {
			detail["filter"] = ask.Filter
		}
		return bulkID, audit(ctx, tx, c, "task.bulk", "bulk", bulkID, detail)
	})
}

// UndoBulk takes an order back: each task that it changed, and that nobody has moved
// by hand since, goes where it was.
func (s *Steerer) UndoBulk(ctx context.Context, c access.Caller, bulkID string) (store.Bulk, error) {
	return s.order(ctx, c, func(tx *store.Tx) (string, error) {
		old, err := tx.Bulk(ctx, c.Scope, bulkID)
		switch {
		case err != nil:
			return "", err
		case old.UndoOf != "":
			return "", errs.New(errs.Conflict, "conflict", "This took something back itself, and stays.")
		case old.Count(store.BulkPending) > 0:
			return "", errs.New(errs.Conflict, "in_progress", "It is not carried out to the end yet: %d tasks are left.", old.Count(store.BulkPending))
		}
		var ids []string
		for _, t := range old.Tasks {
			if t.State == store.BulkChanged {
				ids = append(ids, t.TaskID)
			}
		}
		undoID, err := tx.CreateBulk(ctx, c.Scope, store.Bulk{Action: bulkUndo, UndoOf: old.ID, Actor: c.Actor}, ids)
		if err != nil {
			return "", err
		}
		return undoID, audit(ctx, tx, c, "task.bulk.undo", "bulk", old.ID, map[string]any{"action": old.Action, "tasks": len(ids)})
	})
}

// order writes an order down with the job that finishes it, and carries it out.
func (s *Steerer) order(ctx context.Context, c access.Caller, write func(tx *store.Tx) (string, error)) (store.Bulk, error) {
	var bulkID string
	err := s.store.InTx(ctx, func(tx *store.Tx) (err error) {
		if bulkID, err = write(tx); err != nil {
			return err
		}
		later := store.BulkOf(c.Scope.Workspace(), bulkID)
		later.Delay = bulkLater
		return tx.PostJobs(ctx, later)
	})
	if err != nil {
		return store.Bulk{}, err
	}
	if err := s.carryOutBulk(ctx, c.Scope, bulkID, time.Now().Add(bulkTime)); err != nil {
		return store.Bulk{}, err
	}
	return s.store.Bulk(ctx, c.Scope, bulkID)
}

// GoOnWithBulk handles [job.Bulk].
func (s *Steerer) GoOnWithBulk(ctx context.Context, c job.Claim) error {
	err := s.carryOutBulk(ctx, access.In(c.IDs.Workspace), c.Key, time.Time{})
	if errs.KindOf(err) == errs.NotFound {
		return nil // past its time, or the workspace is gone
	}
	return err
}

// bulkTasks are the ids of the tasks that an order is for.
func bulkTasks(ctx context.Context, tx *store.Tx, sc access.Scope, ask BulkAsk) ([]string, error) {
	if (ask.Filter == nil) == (ask.Tasks == nil) {
		return nil, errs.BadField("body", "invalid", nil, "Say which tasks: either their ids, or a filter. An empty filter means all.")
	}
	if ask.Filter != nil {
		ids, all, err := tx.MatchTasks(ctx, sc, *ask.Filter, MaxBulk)
		if err == nil && all > MaxBulk {
			err = errs.BadField("body.filter", "invalid", all, "The filter matches %d tasks, and at most %d are changed at once. Narrow it, to a status for instance.", all, MaxBulk)
		}
		return ids, err
	}
	if len(ask.Tasks) > MaxBulk {
		return nil, errs.BadField("body.ids", "invalid", len(ask.Tasks), "At most %d tasks are changed at once.", MaxBulk)
	}
	var ids []string
	for i, ref := range ask.Tasks {
		taskID, err := tx.TaskID(ctx, sc, ref)
		if errs.KindOf(err) == errs.NotFound {
			return nil, errs.BadField(fmt.Sprintf("body.ids[%d]", i), "invalid", ref, "There is no task %s.", ref)
		}
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ids, taskID) {
			ids = append(ids, taskID)
		}
	}
	return ids, nil
}

// carryOutBulk deals with what an order has left, one task after the other, until a
// time; the zero time is none. Any number may be at it: each task is dealt with once.
func (s *Steerer) carryOutBulk(ctx context.Context, sc access.Scope, bulkID string, until time.Time) error {
	b, err := s.store.Bulk(ctx, sc, bulkID)
	if err != nil {
		return err
	}
	was := map[string]store.BulkTask{} // of an undo: what the order did, by task
	undone := store.Bulk{}
	if b.UndoOf != "" {
		if undone, err = s.store.Bulk(ctx, sc, b.UndoOf); err != nil {
			return err
		}
		for _, t := range undone.Tasks {
			was[t.TaskID] = t
		}
	}
	c := access.Caller{Actor: b.Actor, Scope: sc}
	for _, bt := range b.Tasks {
		if bt.State != store.BulkPending {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if !until.IsZero() && time.Now().After(until) {
			return nil
		}
		err := s.bulkTask(ctx, c, bulkID, bt.TaskID, func(tx *store.Tx, t task.Task) error {
			if b.UndoOf != "" {
				return takeBack(ctx, tx, c, t, undone.Action, was[t.ID])
			}
			return carryOutOn(ctx, tx, c, t, b.Action, b.Note)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// errDealtWith rolls back what was done to a task that somebody else has dealt with.
var errDealtWith = errors.New("the task of the order was dealt with meanwhile")

// bulkTask changes one task of an order, or notes why it stays as it is.
func (s *Steerer) bulkTask(ctx context.Context, c access.Caller, bulkID, taskID string, change func(tx *store.Tx, t task.Task) error) error {
	err := s.store.InTx(ctx, func(tx *store.Tx) error {
		t, err := tx.LockTask(ctx, c.Scope, taskID)
		if err != nil {
			return err
		}
		if t.DeletedAt != nil {
			return errs.New(errs.NotFound, "not_found", "%s was deleted.", t.Identifier)
		}
		if err := change(tx, t); err != nil {
			return err
		}
		mine, err := tx.ChangeBulkTask(ctx, c.Scope, bulkID, t)
		if err == nil && !mine {
			err = errDealtWith
		}
		return err
	})
	switch errs.KindOf(err) {
	case errs.Conflict, errs.NotFound:
		code, words := errs.CodeOf(err), err.Error()
		return s.store.InTx(ctx, func(tx *store.Tx) error { return tx.SkipBulkTask(ctx, c.Scope, bulkID, taskID, code, words) })
	}
	if errors.Is(err, errDealtWith) {
		return nil
	}
	return err
}

// carryOutOn does to one task what an order asks for.
func carryOutOn(ctx context.Context, tx *store.Tx, c access.Caller, t task.Task, action, note string) error {
	switch action {
	case BulkPause:
		return pause(ctx, tx, c, t, note)
	case BulkResume:
		return resume(ctx, tx, c, t, note)
	case BulkCancel:
		return callOff(ctx, tx, c, t, note)
	}
	return fmt.Errorf("an order for many tasks asks for %q", action)
}

// undoNote stands beside the moves of an undo.
const undoNote = "undo"

// takeBack brings a task to where it was before an order.
func takeBack(ctx context.Context, tx *store.Tx, c access.Caller, t task.Task, action string, was store.BulkTask) error {
	touched, err := tx.MovedByHand(ctx, c.Scope, t.ID, *was.At)
	if err != nil {
		return err
	}
	if touched {
		return errs.New(errs.Conflict, "conflict", "%s was moved by hand since, and is %s.", t.Identifier, t.Status)
	}
	switch action {
	case BulkPause:
		return resume(ctx, tx, c, t, undoNote)
	case BulkResume:
		return pause(ctx, tx, c, t, undoNote)
	}
	// What was stopped does not run on: a task that was running is where it would be
	// after its run.
	if err := reopen(ctx, tx, c, t, undoNote); err != nil || was.From != task.Paused {
		return err
	}
	if t, err = tx.Task(ctx, c.Scope, t.ID); err != nil {
		return err
	}
	return pause(ctx, tx, c, t, undoNote)
}
