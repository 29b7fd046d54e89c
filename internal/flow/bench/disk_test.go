package bench

import (
	"os"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/testkit/rig"
)

// TestSkippedTicks measures what times that did not run cost: the disk that each
// takes, with its indexes and with the event that told of it, and how fast retention
// deletes them a month later. Run it with DOGWATCH_MEASURE=1.
func TestSkippedTicks(t *testing.T) {
	if os.Getenv("DOGWATCH_MEASURE") == "" {
		t.Skip("measures; set DOGWATCH_MEASURE=1")
	}
	const tasks, rounds = 1_000, 100
	r := rig.New(t)
	many(r, tasks)
	size := func(table string) (n int) {
		r.Must(r.Store.Pool().QueryRow(t.Context(), `select pg_total_relation_size($1::regclass)`, table).Scan(&n))
		return n
	}
	run(r, `vacuum full ticks`)
	run(r, `vacuum full events`)
	ticks, events := size("ticks"), size("events")
	for i := range rounds {
		// As it comes: a tick is pending, and a moment later the gate refuses it.
		ids := make([]string, tasks) // in the order of time, which is how an index grows
		for k := range ids {
			ids[k] = id.New()
		}
		run(r, `insert into ticks (id, workspace_id, task_id, planned_at, fire_at, origin, state, automation_revision)
			select ids.id, workspace_id, tasks.id, at, at, 'schedule', 'pending', 1
			from (select id, workspace_id, row_number() over (order by seq) as n from tasks) tasks
			join unnest($2::uuid[]) with ordinality ids (id, n) using (n), lateral (select now() - interval '40 days' + $1 * interval '1 minute' as at) a`, i, ids)
		run(r, `with skipped as (update ticks set state = 'skipped', reason = 'in_flight', ended_at = fire_at where state = 'pending' returning *)
			insert into events (workspace_id, type, subject_kind, subject_id) select workspace_id, 'tick.changed', 'tick', id from skipped`)
		if i%10 == 9 {
			run(r, `vacuum ticks`) // as Postgres does by itself, after a fifth of the rows has changed
		}
	}
	n := tasks * rounds
	t.Logf("%d skipped ticks: %d bytes each with their indexes, and %d for the event, which is kept for a week",
		n, (size("ticks")-ticks)/n, (size("events")-events)/n)

	run(r, `analyze ticks`)
	began := time.Now()
	r.Must(r.Sweep.Begin(t.Context()))
	r.Drain()
	took := time.Since(began)
	var left int
	r.Must(r.Store.Pool().QueryRow(t.Context(), `select count(*) from ticks`).Scan(&left))
	if left > 0 {
		t.Errorf("%d are still there", left)
	}
	t.Logf("retention deleted them in %v, %.0f a second", took.Round(time.Millisecond), float64(n-left)/took.Seconds())
}
