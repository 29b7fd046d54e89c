package store

import (
	"context"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
)

// Standing is what stands around a task that asks to run: how its workspace is, and
// what may stand in its way.
type Standing struct {
	PausedAt, MaintenanceAt    *time.Time // of the workspace
	PauseNote, MaintenanceNote *string
	QuietHours                 doc[*schedule.QuietHours]
	OpenSeq                    int        // of the open topic; 0 when none is open
	OpenSince                  *time.Time // when it began
	OpenRetryAt                *time.Time // when it is tried again; nil: it is at work
	BlockedBy                  texts      // identifiers of the tasks that it waits for, some
	UrgentBrief                int64      // number of the oldest open urgent brief other than an error; 0 when there is none
	SlotHeldBy                 string     // identifier of the task that holds the slot of the key; "" when it is free
}

// standingSQL asks all at once: a launch reads it for every tick. What the task waits
// for is looked up one by one, so that no plan walks all tasks instead.
const standingSQL = `
	select w.paused_at, w.pause_note, w.maintenance_at, w.maintenance_note, w.quiet_hours,
	  coalesce(open.seq, 0) as open_seq, open.started_at as open_since,
	  (select case when o.status = 'idle' then o.begin_at end from operations o
	   where o.workspace_id = w.id and o.topic_id = open.id order by o.try desc limit 1) as open_retry_at,
	  array(select b.identifier from (
	    select (select u.identifier from tasks u where u.id = d.upstream_id and u.deleted_at is null and ` + notMet + `) as identifier
	    from task_dependencies d where d.workspace_id = w.id and d.task_id = ?) b
	   where b.identifier is not null order by length(b.identifier), b.identifier limit 50) as blocked_by,
	  coalesce((select number from briefs where workspace_id = w.id and task_id = ? and ` + blocksRuns + ` order by id limit 1), 0) as urgent_brief,
	  coalesce((select t.identifier from slots s join tasks t on t.id = s.task_id where s.workspace_id = w.id and s.key = ?), '') as slot_held_by
	from workspaces w left join topics open on open.workspace_id = w.id and open.task_id = ? and open.status = 'running'
	where w.id = ?`

// Standing returns what stands around a task with a concurrency key, "" for none.
func (r Reader) Standing(ctx context.Context, sc access.Scope, taskID, key string) (Standing, error) {
	var s Standing
	err := r.db(ctx).Raw(standingSQL, taskID, taskID, key, taskID, sc.Workspace()).Take(&s).Error
	return s, found(err, "workspace", sc.Workspace())
}
