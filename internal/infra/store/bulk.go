package store

import (
	"context"
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/domain/task"
)

// Bulk is one order for many tasks, and what came of it.
type Bulk struct {
	ID        string
	Action    string // pause, resume, cancel, undo
	UndoOf    string // of an undo: the order that it takes back
	Note      string
	Actor     access.Actor
	CreatedAt time.Time
	Undone    bool // an undo of it was asked for
	Tasks     []BulkTask
}

// BulkTask is one task of an order.
type BulkTask struct {
	TaskID, Identifier string
	State              string      // BulkPending, BulkChanged, BulkSkipped
	From               task.Status // what it was changed from
	Code, Detail       string      // why it was skipped
	At                 *time.Time  // of the change
}

// States of a task of an order.
const (
	BulkPending = "pending"
	BulkChanged = "changed"
	BulkSkipped = "skipped"
)

// Count counts the order's tasks in a state.
func (b Bulk) Count(state string) (n int) {
	for _, t := range b.Tasks {
		if t.State == state {
			n++
		}
	}
	return n
}

// Undoable reports whether the order can be taken back: it was carried out, changed
// something, and was not taken back before. An undo stays.
func (b Bulk) Undoable() bool {
	return b.UndoOf == "" && !b.Undone && b.Count(BulkPending) == 0 && b.Count(BulkChanged) > 0
}

// CreateBulk writes an order down, all its tasks pending, in the order of taskIDs.
// A second undo of the same order is a Conflict.
func (tx *Tx) CreateBulk(ctx context.Context, sc access.Scope, b Bulk, taskIDs []string) (string, error) {
	bulkID := id.New()
	_, err := tx.exec(ctx, `insert into bulks (id, workspace_id, action, undo_of, note, actor_kind, actor_id) values (?, ?, ?, ?, ?, ?, ?)`,
		bulkID, sc.Workspace(), b.Action, optional(b.UndoOf), optional(clean(b.Note)), b.Actor.Kind, optional(b.Actor.ID))
	if violates(err, "bulks_undo_of_key") {
		return "", errs.New(errs.Conflict, "conflict", "This was taken back already.")
	}
	if err == nil && len(taskIDs) > 0 {
		_, err = tx.exec(ctx, `insert into bulk_tasks (workspace_id, bulk_id, task_id, position)
			select ?, ?, i::uuid, n - 1 from unnest(?::text[]) with ordinality as t(i, n)`, sc.Workspace(), bulkID, texts(taskIDs))
	}
	if err != nil {
		return "", fmt.Errorf("write an order for many tasks down: %w", err)
	}
	return bulkID, tx.Emit(ctx, sc) // the request has taken effect; each task says itself what changed
}

// Bulk returns an order with its tasks.
func (r Reader) Bulk(ctx context.Context, sc access.Scope, bulkID string) (Bulk, error) {
	if !id.Valid(bulkID) {
		return Bulk{}, errs.Missing("bulk", bulkID)
	}
	var rows []struct {
		Action       string
		UndoOf, Note *string
		ActorKind    access.ActorKind
		ActorID      *string
		CreatedAt    time.Time
		Undone       bool
	}
	err := r.db(ctx).Raw(`select action, undo_of, note, actor_kind, actor_id, created_at,
		  exists (select 1 from bulks u where u.undo_of = b.id) as undone
		from bulks b where workspace_id = ? and id = ?`, sc.Workspace(), bulkID).Scan(&rows).Error
	if err != nil {
		return Bulk{}, fmt.Errorf("read an order for many tasks: %w", err)
	}
	if len(rows) == 0 {
		return Bulk{}, errs.Missing("bulk", bulkID)
	}
	row := rows[0]
	b := Bulk{
		ID: bulkID, Action: row.Action, UndoOf: orEmpty(row.UndoOf), Note: orEmpty(row.Note),
		Actor: actor(row.ActorKind, row.ActorID), CreatedAt: row.CreatedAt, Undone: row.Undone,
	}
	var tasks []struct {
		TaskID, Identifier, State string
		FromStatus, Code, Detail  *string
		At                        *time.Time
	}
	err = r.db(ctx).Raw(`select k.task_id, t.identifier, k.state, k.from_status, k.code, k.detail, k.at
		from bulk_tasks k join tasks t on t.id = k.task_id where k.workspace_id = ? and k.bulk_id = ? order by k.position`,
		sc.Workspace(), bulkID).Scan(&tasks).Error
	if err != nil {
		return Bulk{}, fmt.Errorf("read the tasks of an order: %w", err)
	}
	for _, t := range tasks {
		b.Tasks = append(b.Tasks, BulkTask{
			TaskID: t.TaskID, Identifier: t.Identifier, State: t.State, From: task.Status(orEmpty(t.FromStatus)),
			Code: orEmpty(t.Code), Detail: orEmpty(t.Detail), At: t.At,
		})
	}
	return b, nil
}

// ChangeBulkTask notes that a task of an order was changed. It reports false when
// somebody else has dealt with the task: then nothing may be changed. The caller
// holds the task.
func (tx *Tx) ChangeBulkTask(ctx context.Context, sc access.Scope, bulkID string, t task.Task) (bool, error) {
	return tx.endBulkTask(ctx, sc, bulkID, t.ID, `state = 'changed', from_status = ?, at = clock_timestamp()`, t.Status)
}

// SkipBulkTask notes why a task of an order was left as it is.
func (tx *Tx) SkipBulkTask(ctx context.Context, sc access.Scope, bulkID, taskID, code, detail string) error {
	_, err := tx.endBulkTask(ctx, sc, bulkID, taskID, `state = 'skipped', code = ?, detail = ?`, code, optional(detail))
	return err
}

func (tx *Tx) endBulkTask(ctx context.Context, sc access.Scope, bulkID, taskID, set string, args ...any) (bool, error) {
	n, err := tx.exec(ctx, `update bulk_tasks set `+set+` where workspace_id = ? and bulk_id = ? and task_id = ? and state = 'pending'`,
		append(args, sc.Workspace(), bulkID, taskID)...)
	if err != nil {
		return false, fmt.Errorf("note what came of a task of an order: %w", err)
	}
	return n > 0, nil
}

// MovedByHand reports whether a person, a program or an agent has moved a task after
// a time. What time and the house do by themselves does not count.
func (r Reader) MovedByHand(ctx context.Context, sc access.Scope, taskID string, after time.Time) (moved bool, err error) {
	err = r.db(ctx).Raw(`select exists (select 1 from task_moves where workspace_id = ? and task_id = ? and at > ? and actor_kind <> 'system')`,
		sc.Workspace(), taskID, after).Row().Scan(&moved)
	if err != nil {
		return false, fmt.Errorf("look for moves by hand: %w", err)
	}
	return moved, nil
}

// BulkOf is the job that goes on with an order for many tasks.
func BulkOf(workspaceID, bulkID string) job.Post {
	return job.Post{Kind: job.Bulk, Key: bulkID, IDs: job.IDs{Workspace: workspaceID}}
}
