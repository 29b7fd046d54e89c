// Package bench measures the hot paths of the main job on a real Postgres: run it
// with `make bench`. docs/performance.md has the figures.
package bench

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/domain/turn"
	"github.com/dogwatch/dogwatch/internal/flow/launch"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
	"github.com/dogwatch/dogwatch/internal/infra/store"
	"github.com/dogwatch/dogwatch/internal/testkit/rig"
)

// run runs a statement of the set-up.
func run(r *rig.Rig, sql string, args ...any) {
	r.Helper()
	_, err := r.Store.Pool().Exec(r.Context(), sql, args...)
	r.Must(err)
}

// many makes n tasks on a daily schedule by copying one.
func many(r *rig.Rig, n int) {
	r.Helper()
	zone := "UTC"
	one, err := r.Steer.CreateTask(r.Context(), r.Caller, steer.NewTask{
		Instruction: "Look.", Automation: &schedule.Automation{Mode: schedule.Schedule, Pattern: "0 0 1 1 *", Timezone: &zone},
	})
	r.Must(err)
	run(r, `insert into tasks (id, workspace_id, seq, name, instruction, status, status_reason, assignee_agent_id, created_by_kind, automation, automation_mode, automation_revision)
		select gen_random_uuid(), workspace_id, seq + g, name, instruction, status, status_reason, assignee_agent_id, created_by_kind, automation, automation_mode, automation_revision
		from tasks, generate_series(1, $1) g where id = $2`, n-1, one.ID)
}

// clear takes away what happened.
func clear(r *rig.Rig) {
	r.Helper()
	run(r, `update tasks set status = 'scheduled', status_reason = 'armed', current_topic_id = null, next_planned_at = null, next_fire_at = null`)
	for _, table := range []string{"operations", "topics", "ticks", "jobs", "events"} {
		run(r, `delete from `+table)
	}
}

// due makes every task due at this moment, as if nothing had happened yet.
func due(r *rig.Rig) {
	r.Helper()
	clear(r)
	run(r, `update tasks set next_planned_at = date_trunc('second', now()), next_fire_at = now()`)
	run(r, `vacuum analyze tasks`)
}

// BenchmarkSweep writes and posts ticks: ten thousand that are due at one instant.
func BenchmarkSweep(b *testing.B) {
	const n = 10_000
	r := rig.New(b)
	many(r, n)
	for b.Loop() {
		b.StopTimer()
		due(r)
		b.StartTimer()
		for swept := 1; swept > 0; {
			var err error
			swept, err = r.Sweep.Sweep(b.Context())
			r.Must(err)
		}
	}
	b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "ticks/s")
}

// BenchmarkSweepWithNothingDue is what a sweep costs that finds nothing, and the
// question when the next task is due, beside a million tasks that are planned for
// later; fewer without DOGWATCH_SOAK, since they take minutes to write.
func BenchmarkSweepWithNothingDue(b *testing.B) {
	n := 20_000
	if os.Getenv("DOGWATCH_SOAK") != "" {
		n = 1_000_000
	}
	r := rig.New(b)
	many(r, n)
	run(r, `update tasks set next_planned_at = clock_timestamp() + interval '1 hour' + seq * interval '1 second',
		next_fire_at = clock_timestamp() + interval '1 hour' + seq * interval '1 second'`)
	run(r, `vacuum analyze tasks`)
	for b.Loop() {
		swept, err := r.Sweep.Sweep(b.Context())
		r.Must(err)
		if swept > 0 {
			b.Fatal("something is due")
		}
		_, err = r.Store.UntilDue(b.Context(), time.Second)
		r.Must(err)
	}
	b.ReportMetric(float64(n), "tasks")
}

// BenchmarkLaunch opens topics: lock, gate, topic, operation and job.
func BenchmarkLaunch(b *testing.B) {
	r := rig.New(b)
	const n = 500
	many(r, n)
	tasks, _, err := r.Store.Tasks(b.Context(), r.Scope(), store.TaskFilter{}, store.Page{Limit: 200})
	r.Must(err)
	i := 0
	for b.Loop() {
		if i == len(tasks) {
			b.StopTimer()
			clear(r)
			i = 0
			b.StartTimer()
		}
		_, err := r.Launch.RunTask(b.Context(), r.Caller, tasks[i].ID, launch.Request{})
		r.Must(err)
		i++
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "topics/s")
}

// BenchmarkStep is what a step costs besides its model: relay, claim, think, commit.
func BenchmarkStep(b *testing.B) {
	r := rig.New(b)
	r.Model.Reply = func(turn.Request) (turn.Reply, error) { return rig.Wants("current_time", `{}`), nil }
	t, err := r.Steer.CreateTask(b.Context(), r.Caller, steer.NewTask{
		Instruction: "Never stop.", Start: true,
		Config: task.Config{Budget: task.Budget{Operation: task.Allowance{Steps: 40}}},
	})
	r.Must(err)
	steps := 0
	for b.Loop() {
		steps += r.Drain()
		b.StopTimer()
		run(r, `update tasks set status = 'backlog' where id = $1 and status <> 'running'`, t.ID)
		r.Model.Calls = nil
		_, err := r.Launch.RunTask(b.Context(), r.Caller, t.ID, launch.Request{})
		r.Must(err)
		b.StartTimer()
	}
	b.ReportMetric(b.Elapsed().Seconds()*1000/float64(steps), "ms/step")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkCreateTask creates tasks without HTTP.
func BenchmarkCreateTask(b *testing.B) {
	r := rig.New(b)
	i := 0
	for b.Loop() {
		i++
		_, err := r.Steer.CreateTask(b.Context(), r.Caller, steer.NewTask{
			Instruction: fmt.Sprintf("Task number %d.", i), Automation: &schedule.Automation{Mode: schedule.Heartbeat, IntervalSeconds: 3600},
		})
		r.Must(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
}
