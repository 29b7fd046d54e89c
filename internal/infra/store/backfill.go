package store

import (
	"context"
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
)

type backfillRow struct {
	ID, WorkspaceID, TaskID string
	AutomationRevision      int64
	FromAt, ToAt            time.Time
	OnlyMissing             bool
	Times                   doc[[]time.Time]
	Done                    int
	TickID                  *string
	Again                   bool
	State                   string
	Reason                  *string
	ActorKind               access.ActorKind
	ActorID                 *string
	CreatedAt               time.Time
	EndedAt                 *time.Time
}

func (backfillRow) TableName() string { return "backfills" }

// Backfill is a list of planned times that are made up for.
type Backfill struct {
	ID, WorkspaceID, TaskID string
	Revision                int64 // of the automation
	From, To                time.Time
	OnlyMissing             bool
	Times                   []time.Time // the oldest first
	Done                    int         // how many of them are through
	TickID                  string      // of the one that is under way; "" when none is
	Again                   bool        // that one gave way to the schedule once
	State                   string      // open, done, canceled
	Reason                  string      // what it waits for, or why it was canceled
	Actor                   access.Actor
	CreatedAt               time.Time
	EndedAt                 *time.Time
}

func (row backfillRow) backfill() Backfill {
	return Backfill{
		ID: row.ID, WorkspaceID: row.WorkspaceID, TaskID: row.TaskID, Revision: row.AutomationRevision, From: row.FromAt, To: row.ToAt,
		OnlyMissing: row.OnlyMissing, Times: row.Times.V, Done: row.Done, TickID: orEmpty(row.TickID), Again: row.Again, State: row.State,
		Reason: orEmpty(row.Reason), Actor: actor(row.ActorKind, row.ActorID), CreatedAt: row.CreatedAt, EndedAt: row.EndedAt,
	}
}

// OpenBackfill returns the backfill of a task that is under way, if there is one.
func (r Reader) OpenBackfill(ctx context.Context, sc access.Scope, taskID string) (*Backfill, error) {
	var rows []backfillRow
	err := r.db(ctx).Where("workspace_id = ? and task_id = ? and state = 'open'", sc.Workspace(), taskID).Limit(1).Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read a backfill: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	b := rows[0].backfill()
	return &b, nil
}

// CreateBackfill writes down times to make up for. A task has one backfill at a time.
func (tx *Tx) CreateBackfill(ctx context.Context, sc access.Scope, b Backfill) (Backfill, error) {
	now, err := tx.Now(ctx)
	if err != nil {
		return Backfill{}, err
	}
	row := backfillRow{
		ID: id.New(), WorkspaceID: sc.Workspace(), TaskID: b.TaskID, AutomationRevision: b.Revision, FromAt: b.From, ToAt: b.To,
		OnlyMissing: b.OnlyMissing, Times: doc[[]time.Time]{b.Times}, State: "open", ActorKind: b.Actor.Kind, ActorID: optional(b.Actor.ID), CreatedAt: now,
	}
	if err := tx.db(ctx).Create(&row).Error; err != nil {
		if violates(err, "backfills_one_open") {
			return Backfill{}, errs.New(errs.Conflict, "in_progress", "A backfill of the task is under way. Cancel it first, or wait for its end.")
		}
		return Backfill{}, fmt.Errorf("write down a backfill: %w", err)
	}
	return row.backfill(), tx.Emit(ctx, sc, backfillEvent(b.TaskID))
}

// MoveBackfill stores how far a backfill is: its count, what is under way and what
// it waits for.
func (tx *Tx) MoveBackfill(ctx context.Context, sc access.Scope, b Backfill) error {
	n, err := tx.exec(ctx, `update backfills set done = ?, tick_id = ?, again = ?, reason = ? where workspace_id = ? and id = ? and state = 'open'
		and (done, coalesce(tick_id::text, ''), again, coalesce(reason, '')) is distinct from (?, ?, ?, ?)`,
		b.Done, optional(b.TickID), b.Again, optional(b.Reason), sc.Workspace(), b.ID, b.Done, b.TickID, b.Again, b.Reason)
	if err != nil {
		return fmt.Errorf("move a backfill: %w", err)
	}
	if n == 0 {
		return nil
	}
	return tx.Emit(ctx, sc, backfillEvent(b.TaskID))
}

// EndBackfill ends the backfill of a task that is under way: done when reason is "",
// else canceled. It reports false when there was none.
func (tx *Tx) EndBackfill(ctx context.Context, sc access.Scope, taskID string, reason task.Reason) (bool, error) {
	state := "done"
	if reason != "" {
		state = "canceled"
	}
	n, err := tx.exec(ctx, `update backfills set state = ?, reason = ?, tick_id = null, ended_at = clock_timestamp()
		where workspace_id = ? and task_id = ? and state = 'open'`, state, optional(string(reason)), sc.Workspace(), taskID)
	if err != nil {
		return false, fmt.Errorf("end a backfill: %w", err)
	}
	if n == 0 {
		return false, nil
	}
	return true, tx.Emit(ctx, sc, backfillEvent(taskID))
}

func backfillEvent(taskID string) Event {
	return Event{Type: "task.changed", SubjectKind: "task", SubjectID: taskID, Payload: map[string]any{"backfill": true}}
}

// BackfillOf is the job that goes on with the backfill of a task.
func BackfillOf(workspaceID, taskID string) job.Post {
	return job.Post{Kind: job.Backfill, Key: taskID, IDs: job.IDs{Workspace: workspaceID, Task: taskID}}
}

// RanTimes returns the planned times of a task in [from, to] that have run, or are
// about to.
func (r Reader) RanTimes(ctx context.Context, sc access.Scope, taskID string, from, to time.Time) (map[time.Time]bool, error) {
	var times []time.Time
	err := r.db(ctx).Raw(`select planned_at from ticks where workspace_id = ? and task_id = ? and planned_at between ? and ?
		and state in ('pending', 'queued', 'dispatched', 'ran')`, sc.Workspace(), taskID, from, to).Scan(&times).Error
	if err != nil {
		return nil, fmt.Errorf("read what has run: %w", err)
	}
	out := make(map[time.Time]bool, len(times))
	for _, t := range times {
		out[t.UTC()] = true
	}
	return out, nil
}

// TakeTime makes a planned time of a task pending again, as a backfill: its own row
// of the ledger where it has one that did not run, a row of its own where it stood
// with others in one row or in none. It returns nil when the time has run or is about
// to. spec is the task's automation, under whose revision rows of several times are
// taken apart; the caller holds the task.
func (tx *Tx) TakeTime(ctx context.Context, sc access.Scope, t task.Task, spec schedule.Spec, at time.Time, by access.Actor) (*Tick, error) {
	var rows []Tick
	err := tx.db(ctx).Raw(`select * from ticks where workspace_id = ? and task_id = ? and (planned_at = ?
		or count > 1 and planned_at is not null and first_planned_at <= ? and last_planned_at >= ? and automation_revision = ?)
		order by planned_at = ? desc limit 1`, sc.Workspace(), t.ID, at, at, at, t.AutomationRevision, at).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("look for a planned time: %w", err)
	}
	now, err := tx.Now(ctx)
	if err != nil {
		return nil, err
	}
	k := Tick{
		ID: id.New(), WorkspaceID: sc.Workspace(), TaskID: t.ID, PlannedAt: &at, FireAt: now, Origin: topic.Backfill, State: topic.TickPending,
		AutomationRevision: t.AutomationRevision, Count: 1, ActorKind: by.Kind, ActorID: optional(by.ID), CreatedAt: now,
	}
	if len(rows) > 0 {
		row := rows[0]
		if !row.State.Ended() || row.State == topic.TickRan {
			return nil, nil
		}
		if row.Count > 1 && row.FirstPlannedAt != nil && row.LastPlannedAt != nil {
			if err := tx.cutTick(ctx, row, spec, at); err != nil {
				return nil, err
			}
		} else if _, err := tx.exec(ctx, `delete from ticks where id = ? and topic_id is null`, row.ID); err != nil {
			return nil, fmt.Errorf("take up a planned time: %w", err)
		}
	}
	written, err := tx.PlanTicks(ctx, []Tick{k})
	if err != nil || len(written) == 0 {
		return nil, err
	}
	return &k, nil
}

// cutTick takes one time out of a row that stands for several. What is left before
// and after it stays in the ledger as it ended.
func (tx *Tx) cutTick(ctx context.Context, row Tick, spec schedule.Spec, at time.Time) error {
	before, after, ok := spec.Cut(row.FirstPlannedAt.UTC(), row.LastPlannedAt.UTC(), at)
	if !ok { // of another schedule than it seems: it goes on standing for what it says
		return nil
	}
	if _, err := tx.exec(ctx, `delete from ticks where id = ? and topic_id is null`, row.ID); err != nil {
		return fmt.Errorf("take a planned time out of others: %w", err)
	}
	for i, p := range []schedule.Part{before, after} {
		if p.Count == 0 {
			continue
		}
		left := row
		left.PlannedAt, left.FireAt, left.Count = &p.Last, spec.SlotOf(row.TaskID, p.Last).FireAt, int(p.Count)
		left.FirstPlannedAt, left.LastPlannedAt = nil, nil
		if p.Count > 1 {
			left.FirstPlannedAt, left.LastPlannedAt = &p.First, &p.Last
		}
		if i == 1 && before.Count > 0 {
			left.ID = id.New()
		}
		if err := tx.db(ctx).Create(&left).Error; err != nil {
			return fmt.Errorf("leave the other planned times: %w", err)
		}
	}
	return nil
}

// AskAgain makes a planned time that has a run already pending once more, as a
// request of its backfill. It returns nil when that was asked for before.
func (tx *Tx) AskAgain(ctx context.Context, sc access.Scope, t task.Task, key string, at time.Time, by access.Actor) (*Tick, error) {
	now, err := tx.Now(ctx)
	if err != nil {
		return nil, err
	}
	k := Tick{
		ID: id.New(), WorkspaceID: sc.Workspace(), TaskID: t.ID, RequestKey: &key, FireAt: now, Origin: topic.Backfill, State: topic.TickPending,
		AutomationRevision: t.AutomationRevision, FirstPlannedAt: &at, LastPlannedAt: &at, Count: 1, ActorKind: by.Kind, ActorID: optional(by.ID), CreatedAt: now,
	}
	written, err := tx.RequestTicks(ctx, []Tick{k})
	if err != nil || len(written) == 0 {
		return nil, err
	}
	return &k, nil
}
