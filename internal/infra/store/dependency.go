package store

import (
	"context"
	"fmt"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/task"
)

// Dependency is an edge of the graph: a task waits for, or relates to, another.
type Dependency struct {
	TaskID, UpstreamID string
	Type               string // blocks, relates
	Condition          *string
	Identifier         string // of the other end, as the list is asked for
	Name               string
	Status             task.Status
}

// LockGraph holds the workspace's graph, of what waits for and of what is part of
// what, so that two edges that are each fine cannot make a cycle together. It is taken before any task.
func (tx *Tx) LockGraph(ctx context.Context, sc access.Scope) error {
	_, err := tx.exec(ctx, `select pg_advisory_xact_lock(hashtextextended('graph:' || ?, 0))`, sc.Workspace())
	if err != nil {
		return fmt.Errorf("lock the graph: %w", err)
	}
	return nil
}

// AddDependency adds an edge. The caller holds the graph and has looked for cycles.
func (tx *Tx) AddDependency(ctx context.Context, sc access.Scope, d Dependency) error {
	_, err := tx.exec(ctx, `
		insert into task_dependencies (workspace_id, task_id, upstream_id, type, condition) values (?, ?, ?, ?, ?)
		on conflict (task_id, upstream_id) do update set type = excluded.type, condition = excluded.condition`,
		sc.Workspace(), d.TaskID, d.UpstreamID, d.Type, d.Condition)
	if err != nil {
		return fmt.Errorf("add a dependency: %w", err)
	}
	return nil
}

// Upstream returns what a task depends on.
func (r Reader) Upstream(ctx context.Context, sc access.Scope, taskID string) ([]Dependency, error) {
	return r.dependencies(ctx, "d.upstream_id", "d.task_id = ?", sc, taskID)
}

// Downstream returns what depends on a task.
func (r Reader) Downstream(ctx context.Context, sc access.Scope, taskID string) ([]Dependency, error) {
	return r.dependencies(ctx, "d.task_id", "d.upstream_id = ?", sc, taskID)
}

func (r Reader) dependencies(ctx context.Context, other, where string, sc access.Scope, taskID string) ([]Dependency, error) {
	var out []Dependency
	err := r.db(ctx).Raw(`
		select d.task_id, d.upstream_id, d.type, d.condition, t.identifier, t.name, t.status
		from task_dependencies d join tasks t on t.id = `+other+`
		where d.workspace_id = ? and `+where+` and t.deleted_at is null order by t.seq`, sc.Workspace(), taskID).Scan(&out).Error
	if err != nil {
		return nil, fmt.Errorf("read dependencies: %w", err)
	}
	return out, nil
}

// notMet is true of a blocking edge whose condition the upstream task does not meet.
const notMet = `d.type = 'blocks' and not case d.condition
	when 'done' then u.status in ('completed', 'canceled')
	when 'success' then u.status = 'completed'
	when 'failure' then u.status = 'failed'
	else u.status in ('completed', 'failed', 'canceled') end`

// waitedThen is true of an edge that was there when its upstream task, ended, came
// to its end: one that is drawn later starts nothing.
const waitedThen = `e.created_at < greatest(ended.completed_at, ended.deleted_at)`

// HeldBeats returns the ids of the heartbeats whose last beat was refused because
// of this task, and that wait for nothing any more.
func (r Reader) HeldBeats(ctx context.Context, sc access.Scope, upstreamID string) ([]string, error) {
	var out []string
	err := r.db(ctx).Raw(`
		select t.id from task_dependencies e join tasks t on t.id = e.task_id
		where e.workspace_id = ? and e.upstream_id = ? and e.type = 'blocks' and t.status = 'scheduled' and t.automation_mode = 'heartbeat'
		  and t.deleted_at is null
		  and (select k.reason from ticks k where k.task_id = t.id and k.planned_at is not null order by k.planned_at desc limit 1) = ?
		  and not exists (select 1 from task_dependencies d join tasks u on u.id = d.upstream_id
		    where d.task_id = t.id and u.deleted_at is null and `+notMet+`)
		order by t.seq`, sc.Workspace(), upstreamID, task.Blocked).Scan(&out).Error
	if err != nil {
		return nil, fmt.Errorf("look for heartbeats that a task held: %w", err)
	}
	return out, nil
}

// Unlocked returns the ids of the tasks in backlog that wait for nothing any more
// and waited for this one when it ended, or was deleted: what that may start.
func (r Reader) Unlocked(ctx context.Context, sc access.Scope, upstreamID string) ([]string, error) {
	var out []string
	err := r.db(ctx).Raw(`
		select t.id from task_dependencies e join tasks t on t.id = e.task_id join tasks ended on ended.id = e.upstream_id
		where e.workspace_id = ? and e.upstream_id = ? and e.type = 'blocks' and t.status = 'backlog' and t.deleted_at is null
		  and `+waitedThen+`
		  and not exists (select 1 from task_dependencies d join tasks u on u.id = d.upstream_id
		    where d.task_id = t.id and u.deleted_at is null and `+notMet+`)
		order by t.seq`, sc.Workspace(), upstreamID).Scan(&out).Error
	if err != nil {
		return nil, fmt.Errorf("look for what a task unlocks: %w", err)
	}
	return out, nil
}
