package store

import (
	"context"
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/job"
)

// openJob is true when a job of a kind and key is ready, sent or running.
const openJob = `exists (select 1 from jobs j where j.kind = ? and j.key = %s and j.state in ('ready', 'sent', 'running'))`

// MissingJobs returns the jobs that the rows of all workspaces ask for and that
// are not there, at most limit of each kind: the step of an operation that works,
// the settling of one that has ended, the handoff of a settled topic, the handling
// of a tick, the next time of a backfill, the rest of an order for many tasks, the start of what waited for a task that has ended. In a house without faults there are none.
func (r Reader) MissingJobs(ctx context.Context, limit int) ([]job.Post, error) {
	// What was written in the last seconds may be on its way in a transaction that
	// has yet to post.
	const settled = `< clock_timestamp() - interval '15 seconds'`
	queries := []struct {
		kind job.Kind
		sql  string
	}{
		{job.Step, `select o.id::text as key, o.workspace_id as workspace, o.task_id as task, o.topic_id as topic, o.id as operation
			from operations o where o.status in ('idle', 'running') and coalesce(o.last_step_at, o.begin_at, o.created_at) ` + settled + `
			and not ` + fmt.Sprintf(openJob, "o.id::text") + ` limit ?`},
		{job.Settle, `select p.id::text as key, p.workspace_id as workspace, p.task_id as task, p.id as topic, o.id as operation
			from topics p join lateral (select id, status, completed_at from operations where topic_id = p.id order by try desc limit 1) o on true
			where p.status = 'running' and o.status in ('done', 'error', 'interrupted') and o.completed_at ` + settled + `
			and not ` + fmt.Sprintf(openJob, "p.id::text") + ` limit ?`},
		{job.Handoff, `select p.id::text as key, p.workspace_id as workspace, p.task_id as task, p.id as topic, o.id as operation
			from topics p join lateral (select id from operations where topic_id = p.id order by try desc limit 1) o on true
			where p.status <> 'running' and p.handoff is null and p.completed_at ` + settled + `
			and not ` + fmt.Sprintf(openJob, "p.id::text") + ` limit ?`},
		{job.Tick, `select k.id::text as key, k.workspace_id as workspace, k.task_id as task, k.id as tick
			from ticks k where k.state = 'pending' and k.created_at ` + settled + `
			and not ` + fmt.Sprintf(openJob, "k.id::text") + ` limit ?`},
		{job.Tick, `select k.id::text as key, k.workspace_id as workspace, k.task_id as task, k.id as tick
			from ticks k where k.state = 'queued' and k.created_at ` + settled + `
			and not exists (select 1 from topics p where p.task_id = k.task_id and p.status = 'running')
			and not exists (select 1 from tasks t join slots s on s.workspace_id = t.workspace_id and s.key = t.config ->> 'concurrencyKey'
			  where t.id = k.task_id)
			and not ` + fmt.Sprintf(openJob, "k.id::text") + ` limit ?`},
		{job.Backfill, `select b.task_id::text as key, b.workspace_id as workspace, b.task_id as task
			from backfills b join tasks t on t.id = b.task_id where b.state = 'open' and t.status = 'scheduled' and b.created_at ` + settled + `
			and not ` + fmt.Sprintf(openJob, "b.task_id::text") + ` limit ?`},
		{job.Bulk, `select b.id::text as key, b.workspace_id as workspace
			from bulks b where b.created_at ` + settled + ` and exists (select 1 from bulk_tasks k where k.bulk_id = b.id and k.state = 'pending')
			and not ` + fmt.Sprintf(openJob, "b.id::text") + ` limit ?`},
		// What was in the backlog when the task that it waited for ended, is there
		// untouched, and was never asked: an edge that was drawn later starts nothing.
		{job.Unlock, `select distinct ended.id::text as key, ended.workspace_id as workspace, ended.id as task
			from tasks ended join task_dependencies e on e.upstream_id = ended.id and e.type = 'blocks' and ` + waitedThen + `
			join tasks t on t.id = e.task_id and t.status = 'backlog' and t.deleted_at is null
			where ended.status in ('completed', 'failed', 'canceled') and ended.completed_at ` + settled + `
			and not exists (select 1 from task_dependencies d join tasks u on u.id = d.upstream_id
			  where d.task_id = t.id and u.deleted_at is null and ` + notMet + `)
			and not exists (select 1 from task_moves m where m.task_id = t.id and m.at > ended.completed_at)
			and not exists (select 1 from ticks k where k.task_id = t.id and k.origin = 'dependency' and k.created_at > ended.completed_at)
			and not ` + fmt.Sprintf(openJob, "ended.id::text") + ` limit ?`},
	}
	var out []job.Post
	for _, q := range queries {
		var rows []struct{ Key, Workspace, Task, Topic, Operation, Tick string }
		if err := r.db(ctx).Raw(q.sql, q.kind.Name, limit).Scan(&rows).Error; err != nil {
			return nil, fmt.Errorf("look for missing jobs of kind %s: %w", q.kind.Name, err)
		}
		for _, row := range rows {
			out = append(out, job.Post{Kind: q.kind, Key: row.Key, IDs: job.IDs{
				Workspace: row.Workspace, Task: row.Task, Topic: row.Topic, Operation: row.Operation, Tick: row.Tick,
			}})
		}
	}
	return out, nil
}

// Adrift is a task that nothing will ever start or end by itself.
type Adrift struct{ WorkspaceID, ID string }

// AdriftTasks returns tasks of all workspaces that are scheduled without a next
// fire or an open tick, or running without an open topic. In a house without
// faults there are none.
func (r Reader) AdriftTasks(ctx context.Context, limit int) ([]Adrift, error) {
	var out []Adrift
	err := r.db(ctx).Raw(`
		select workspace_id, id from tasks t where deleted_at is null and updated_at < clock_timestamp() - interval '15 seconds' and (
		  status = 'scheduled' and next_fire_at is null
		    and not exists (select 1 from ticks k where k.task_id = t.id and k.state in ('pending', 'queued', 'dispatched'))
		  or status = 'running' and not exists (select 1 from topics p where p.task_id = t.id and p.status = 'running'))
		and status in ('scheduled', 'running') limit ?`, limit).Scan(&out).Error
	if err != nil {
		return nil, fmt.Errorf("look for tasks adrift: %w", err)
	}
	return out, nil
}

// Scope returns the scope of the task's workspace.
func (a Adrift) Scope() access.Scope { return access.In(a.WorkspaceID) }

// Retention says how long rows are kept that nothing needs any more.
type Retention struct {
	RefusedTicks, Steps, Bulks time.Duration
}

// DeleteOld deletes what is past its time, at most limit rows of each table, and
// returns how many rows went. Operations, topics, their ticks and handoffs stay.
func (tx *Tx) DeleteOld(ctx context.Context, keep Retention, limit int) (int, error) {
	statements := []struct {
		sql string
		age time.Duration
	}{
		{`delete from ticks where id in (select id from ticks where state in ('skipped', 'missed', 'coalesced', 'canceled')
			and ended_at < clock_timestamp() - ? * interval '1 second' order by ended_at limit ?)`, keep.RefusedTicks},
		{`delete from tool_calls where id in (select c.id from tool_calls c join operations o on o.id = c.operation_id
			where o.completed_at < clock_timestamp() - ? * interval '1 second' limit ?)`, keep.Steps},
		{`delete from steps where (operation_id, seq) in (select s.operation_id, s.seq from steps s join operations o on o.id = s.operation_id
			where o.completed_at < clock_timestamp() - ? * interval '1 second' limit ?)`, keep.Steps},
		{`delete from bulks where id in (select id from bulks
			where created_at < clock_timestamp() - ? * interval '1 second' order by created_at limit ?)`, keep.Bulks},
	}
	total := 0
	for _, st := range statements {
		n, err := tx.exec(ctx, st.sql, st.age.Seconds(), limit)
		if err != nil {
			return total, fmt.Errorf("delete what is old: %w", err)
		}
		total += int(n)
	}
	return total, nil
}
