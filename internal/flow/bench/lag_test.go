package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/testkit/rig"
)

// TestLag measures how late ticks are dispatched by the real program with the
// offline model: ten thousand heartbeat tasks spread over a minute, ten thousand at one
// instant while others stay on time, and three minutes among a hundred thousand
// schedules of which a hundredth is due each minute. It asserts nothing about
// time; it prints. Run it with DOGWATCH_MEASURE=1, as `make bench` does.
func TestLag(t *testing.T) {
	if os.Getenv("DOGWATCH_MEASURE") == "" {
		t.Skip("measures for some minutes; set DOGWATCH_MEASURE=1")
	}
	binary := filepath.Join(t.TempDir(), "dogwatch")
	if out, err := exec.Command("go", "build", "-o", binary, "../../../cmd/dogwatch").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	const beat = `'{"mode": "heartbeat", "intervalSeconds": 86400, "timezone": "UTC", "overlap": "skip", "missed": "latest"}'`
	for _, c := range []crowd{
		{"10,000 spread over a minute", "heartbeat", beat, `now() + interval '10 seconds' + (g * 6) * interval '1 millisecond'`, 10_000, 10_000},
		{"10,000 at one instant, and 60 others one a second", "heartbeat", beat,
			`case when g <= 60 then now() + interval '10 seconds' + g * interval '1 second' else now() + interval '10 seconds' end`, 10_000, 10_000},
		{"100,000 on a grid, 1,000 a minute one after the other", "every",
			`jsonb_build_object('mode', 'every', 'everySeconds', 6000, 'anchor', f, 'timezone', 'UTC', 'overlap', 'skip', 'missed', 'latest')`,
			`date_trunc('second', now()) + interval '10 seconds' + g * 60 * interval '1 millisecond'`, 100_000, 3_000},
		{"100,000 cron schedules, 1,000 at each full minute", "schedule",
			`jsonb_build_object('mode', 'schedule', 'pattern', to_char(f at time zone 'UTC', 'FMMI FMHH24 * * *'), 'timezone', 'UTC', 'overlap', 'skip', 'missed', 'latest')`,
			`date_trunc('minute', now() + interval '70 seconds') + (g % 100) * interval '1 minute'`, 100_000, 3_000},
	} {
		t.Run(c.name, func(t *testing.T) { lag(t, binary, c) })
	}
}

// crowd is tasks that become due: their automation, the first fire f of the task g,
// and how many fires are waited for.
type crowd struct {
	name, mode, automation, fire string
	tasks, fires                 int
}

func lag(t *testing.T, binary string, c crowd) {
	r := rig.New(t)
	run(r, fmt.Sprintf(`insert into tasks (id, workspace_id, seq, name, instruction, status, status_reason, assignee_agent_id, created_by_kind,
		automation, automation_mode, automation_revision, next_planned_at, next_fire_at, labels)
		select gen_random_uuid(), $1, g, 'Task ' || g, 'Look.', 'scheduled', 'armed', $2, 'person', (%s)::jsonb, '%s', 1, f, f,
		  case when g <= 60 then array['early'] else array[]::text[] end
		from generate_series(1, %d) g, lateral (select %s as f) at`, c.automation, c.mode, c.tasks, c.fire), r.Scope().Workspace(), r.Agent.ID)
	n := c.fires
	data := t.TempDir()
	cmd := exec.Command(binary, "up", "--listen", "127.0.0.1:0", "--data", data)
	cmd.Env = append(os.Environ(), "DOGWATCH_DATABASE_URL="+r.URL, "OPENAI_API_KEY=", "OPENAI_BASE_URL=", "ANTHROPIC_API_KEY=")
	log, err := os.Create(filepath.Join(data, "log"))
	r.Must(err)
	cmd.Stdout, cmd.Stderr = log, log
	r.Must(cmd.Start())
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}()
	began := time.Now()
	until := func(what string) {
		for left := n; left > 0; {
			if time.Since(began) > 15*time.Minute {
				text, _ := os.ReadFile(filepath.Join(data, "log"))
				t.Fatalf("%d ticks are not %s after 15 minutes\n%s", left, what, tail(string(text)))
			}
			time.Sleep(time.Second)
			r.Must(r.Store.Pool().QueryRow(t.Context(), `select $1 - count(*) from ticks where `+what, n).Scan(&left))
		}
	}
	until("dispatched_at is not null")
	var first, last time.Time
	r.Must(r.Store.Pool().QueryRow(t.Context(), `select min(dispatched_at), max(dispatched_at) from ticks`).Scan(&first, &last))
	t.Logf("all %d dispatched in %.1f s, %.0f a second", n, last.Sub(first).Seconds(), float64(n)/last.Sub(first).Seconds())
	for name, where := range map[string]string{"all": "true", "the first 60 tasks": "'early' = any(t.labels)"} {
		var p50, p99, worst float64
		r.Must(r.Store.Pool().QueryRow(context.Background(), `
			select coalesce(percentile_cont(0.5) within group (order by lag), 0), coalesce(percentile_cont(0.99) within group (order by lag), 0), coalesce(max(lag), 0)
			from (select extract(epoch from k.dispatched_at - k.fire_at) as lag from ticks k join tasks t on t.id = k.task_id
			  where k.dispatched_at is not null and `+where+`) l`).Scan(&p50, &p99, &worst))
		t.Logf("lag of %s: p50 %.3f s, p99 %.3f s, worst %.3f s", name, p50, p99, worst)
	}
	until("state = 'ran'")
	r.Must(r.Store.Pool().QueryRow(t.Context(), `select max(ended_at) from ticks`).Scan(&last))
	t.Logf("all %d ran: first dispatched to last settled %.1f s, %.0f runs/s", n, last.Sub(first).Seconds(), float64(n)/last.Sub(first).Seconds())
}

func tail(s string) string {
	lines := strings.Split(s, "\n")
	return strings.Join(lines[max(len(lines)-20, 0):], "\n")
}
