package bench

import (
	"fmt"
	"testing"

	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/flow/launch"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
	"github.com/dogwatch/dogwatch/internal/testkit/rig"
)

// A run reads what is its own, however much its workspace holds. Counted are the
// rows that Postgres fetched for it in a workspace that grew quickly, with plans that
// connections made while it was empty, and with plans that they made later.
func TestARunReadsNoMoreInAFullWorkspace(t *testing.T) {
	const others, warm, runs = 2000, 10, 10
	for name, planFull := range map[string]bool{"planned while it was empty": false, "planned when it was full": true} {
		t.Run(name, func(t *testing.T) {
			r := rig.New(t)
			once := func(i int) {
				task, err := r.Steer.CreateTask(t.Context(), r.Caller, steer.NewTask{
					Instruction: fmt.Sprintf("Look at %d.", i), Automation: &schedule.Automation{Mode: schedule.Heartbeat, IntervalSeconds: 86400},
				})
				r.Must(err)
				_, err = r.Launch.RunTask(t.Context(), r.Caller, task.ID, launch.Request{})
				r.Must(err)
				r.Drain()
			}
			for i := range warm {
				once(i)
			}
			fill(r, others)
			if planFull {
				r.Store.Pool().Reset()
			}
			before := fetched(r)
			for i := range runs {
				once(warm + i)
			}
			for table, rows := range fetched(r) {
				if perRun := (rows - before[table]) / runs; perRun > 200 {
					t.Errorf("a run fetches %d rows of %s", perRun, table)
				}
			}
		})
	}
}

// fill puts n tasks with a run and a brief each into the workspace.
func fill(r *rig.Rig, n int) {
	r.Helper()
	many(r, n)
	for _, sql := range []string{
		`update tasks set total_topics = 1, next_planned_at = null, next_fire_at = null, status = 'paused' where automation_mode = 'schedule'`,
		`insert into ticks (id, workspace_id, task_id, fire_at, request_key, origin, state, reason, automation_revision, ended_at)
		 select gen_random_uuid(), workspace_id, id, now(), 'then', 'manual', 'skipped', 'over_budget', 1, now() from tasks where status = 'paused'`,
		`insert into topics (id, workspace_id, task_id, tick_id, seq, origin, status, title, started_at, completed_at, handoff, handoff_source)
		 select gen_random_uuid(), workspace_id, task_id, id, 1, origin, 'completed', 'Then', now(), now(), '{"title": "Then", "summary": "It was run."}', 'model'
		 from ticks where request_key = 'then'`,
		`insert into operations (id, workspace_id, task_id, topic_id, agent_id, agent_revision_id, status, completion_reason, model, limits, completed_at)
		 select gen_random_uuid(), p.workspace_id, p.task_id, p.id, a.id, a.current_revision_id, 'done', 'done', 'test/model', '{}', now()
		 from topics p, agents a where p.title = 'Then'`,
		`insert into messages (id, workspace_id, topic_id, operation_id, step_seq, part, role, content)
		 select gen_random_uuid(), o.workspace_id, o.topic_id, o.id, 1, 0, 'assistant', 'Then.' from operations o join topics p on p.id = o.topic_id where p.title = 'Then'`,
		`insert into briefs (id, workspace_id, number, task_id, type, priority, cause, title, summary)
		 select gen_random_uuid(), workspace_id, 10000 + row_number() over (), id, 'result', 'info', 'result', 'Then', '' from tasks where status = 'paused'`,
		`insert into jobs (workspace_id, kind, queue, key, run_at, state, closed_at)
		 select workspace_id, 'tick', 'fast', id::text, now(), 'done', now() from tasks`,
		`update workspaces set task_seq = 100000, brief_seq = 100000`,
	} {
		run(r, sql)
		report(r)
		_, err := r.Store.AnalyzeGrown(r.Context())
		r.Must(err)
	}
}

// report lets each connection report what it did, which it else does now and then.
func report(r *rig.Rig) {
	r.Helper()
	for _, c := range r.Store.Pool().AcquireAllIdle(r.Context()) {
		_, err := c.Exec(r.Context(), `select pg_stat_force_next_flush()`)
		c.Release()
		r.Must(err)
	}
}

// fetched counts the rows that were fetched so far, by table.
func fetched(r *rig.Rig) map[string]int {
	r.Helper()
	report(r)
	rows, err := r.Store.Pool().Query(r.Context(), `select relname, coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) from pg_stat_user_tables`)
	r.Must(err)
	out := map[string]int{}
	for rows.Next() {
		var table string
		var n int
		r.Must(rows.Scan(&table, &n))
		out[table] = n
	}
	r.Must(rows.Err())
	return out
}
