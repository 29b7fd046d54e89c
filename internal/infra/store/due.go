package store

import (
	"context"
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
)

// Due is a task whose time has come, locked, with its planned tick that nobody
// has handled yet, if there is one.
type Due struct {
	Task    task.Task
	Pending *Tick
}

// The two questions that are asked many times a second, also when nothing is due:
// both look at the head of the index tasks_due, however many tasks there are. The
// clock is read in a query of its own: as it stands it is volatile, which no index
// may be searched by, and each task would be asked.
const (
	lockDueSQL = `
		with oldest as (
		  select * from tasks where next_fire_at <= (select clock_timestamp()) and deleted_at is null
		  order by next_fire_at limit ? for no key update skip locked),
		youngest as (
		  select * from tasks where next_fire_at <= (select clock_timestamp()) and deleted_at is null
		  order by next_fire_at desc limit ? for no key update skip locked)
		select * from oldest union all select * from youngest where id not in (select id from oldest)`
	untilDueSQL = `select (extract(epoch from min(next_fire_at) - clock_timestamp()) * 1000000)::bigint
		from tasks where next_fire_at is not null and deleted_at is null`
)

// LockDue locks up to limit tasks of all workspaces whose next fire has come: the
// longest overdue, and for a quarter the youngest, so that a backlog does not hold up
// what has just become due. Tasks that somebody else holds are left to them.
func (tx *Tx) LockDue(ctx context.Context, limit int) ([]Due, error) {
	var rows []taskRow
	err := tx.db(ctx).Raw(lockDueSQL, limit-limit/4, limit/4).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("find due tasks: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	due := make([]Due, len(rows))
	ids := make([]string, len(rows))
	at := make(map[string]int, len(rows))
	for i, row := range rows {
		due[i].Task, ids[i], at[row.ID] = row.task(), row.ID, i
	}
	var open []Tick
	if err := tx.db(ctx).Where("task_id in ? and state = 'pending' and planned_at is not null", ids).Find(&open).Error; err != nil {
		return nil, fmt.Errorf("find open ticks: %w", err)
	}
	for i := range open {
		due[at[open[i].TaskID]].Pending = &open[i]
	}
	return due, nil
}

// Planned is a task's next fire as the sweep leaves it.
type Planned struct {
	TaskID string
	Next   schedule.Slot // the zero slot: none is left, or it is armed when its run ends
}

// SetPlanned stores the next fires of many tasks, which the caller holds locked.
func (tx *Tx) SetPlanned(ctx context.Context, ps []Planned) error {
	type row struct {
		ID            string
		Planned, Fire *time.Time
	}
	rows := make([]row, len(ps))
	for i, p := range ps {
		rows[i].ID = p.TaskID
		if p.Next != (schedule.Slot{}) {
			rows[i].Planned, rows[i].Fire = &ps[i].Next.PlannedAt, &ps[i].Next.FireAt
		}
	}
	_, err := tx.exec(ctx, `
		update tasks t set next_planned_at = r."Planned", next_fire_at = r."Fire", next_why = null
		from jsonb_to_recordset(?::jsonb) as r("ID" uuid, "Planned" timestamptz, "Fire" timestamptz) where t.id = r."ID"`, doc[[]row]{rows})
	if err != nil {
		return fmt.Errorf("set the next fires: %w", err)
	}
	return nil
}

// AbsorbTicks ends pending ticks that their policy gives up: coalesced when a newer
// one of their task stands for them, else missed.
func (tx *Tx) AbsorbTicks(ctx context.Context, ids []string, reason task.Reason) error {
	state := topic.TickMissed
	switch reason {
	case task.Coalesced:
		state = topic.TickCoalesced
	case task.OutsideBounds, task.ExcludedDate, task.OutsideActiveHours:
		state = topic.TickSkipped
	}
	n, err := tx.exec(ctx, `update ticks set state = ?, reason = ?, ended_at = clock_timestamp() where id in ? and state = 'pending'`,
		state, reason, ids)
	if err != nil {
		return fmt.Errorf("give up ticks: %w", err)
	}
	tx.countTicks(state, string(reason), int(n))
	return nil
}

// UntilDue returns how long until the next task of any workspace is due: at most max.
func (r Reader) UntilDue(ctx context.Context, most time.Duration) (time.Duration, error) {
	var micros *int64
	err := r.db(ctx).Raw(untilDueSQL).Row().Scan(&micros)
	if err != nil {
		return 0, fmt.Errorf("look for the next due task: %w", err)
	}
	if micros == nil {
		return most, nil
	}
	return min(max(time.Duration(*micros)*time.Microsecond, 0), most), nil
}
