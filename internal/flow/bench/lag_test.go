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
// offline model: ten thousand heartbeat tasks spread over a minute, and ten
// thousand at one instant while others stay on time. It asserts nothing about
// time; it prints. Run it with DOGWATCH_MEASURE=1, as `make bench` does.
func TestLag(t *testing.T) {
	if os.Getenv("DOGWATCH_MEASURE") == "" {
		t.Skip("measures for some minutes; set DOGWATCH_MEASURE=1")
	}
	binary := filepath.Join(t.TempDir(), "dogwatch")
	if out, err := exec.Command("go", "build", "-o", binary, "../../../cmd/dogwatch").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	for _, c := range []struct{ name, fire string }{
		{"10,000 spread over a minute", `now() + interval '10 seconds' + (g * 6) * interval '1 millisecond'`},
		{"10,000 at one instant, and 60 others one a second", `case when g <= 60 then now() + interval '10 seconds' + g * interval '1 second' else now() + interval '10 seconds' end`},
	} {
		t.Run(c.name, func(t *testing.T) { lag(t, binary, c.fire) })
	}
}

func lag(t *testing.T, binary, fire string) {
	const n = 10_000
	r := rig.New(t)
	run(r, fmt.Sprintf(`insert into tasks (id, workspace_id, seq, name, instruction, status, status_reason, assignee_agent_id, created_by_kind,
		automation, automation_mode, automation_revision, next_planned_at, next_fire_at, labels)
		select gen_random_uuid(), $1, g, 'Task ' || g, 'Look.', 'scheduled', 'armed', $2, 'person',
		  '{"mode": "heartbeat", "intervalSeconds": 86400, "timezone": "UTC", "overlap": "skip", "missed": "latest"}', 'heartbeat', 1, f, f,
		  case when g <= 60 then array['early'] else array[]::text[] end
		from generate_series(1, %d) g, lateral (select %s as f) at`, n, fire), r.Scope().Workspace(), r.Agent.ID)
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
	for left := n; left > 0; {
		if time.Since(began) > 15*time.Minute {
			text, _ := os.ReadFile(filepath.Join(data, "log"))
			t.Fatalf("%d ticks are still open after 15 minutes\n%s", left, tail(string(text)))
		}
		time.Sleep(time.Second)
		r.Must(r.Store.Pool().QueryRow(t.Context(), `select $1 - count(*) from ticks where state = 'ran'`, n).Scan(&left))
	}
	var first, last time.Time
	r.Must(r.Store.Pool().QueryRow(t.Context(), `select min(dispatched_at), max(ended_at) from ticks`).Scan(&first, &last))
	t.Logf("all %d ran: first dispatched to last settled %.1f s, %.0f runs/s", n, last.Sub(first).Seconds(), n/last.Sub(first).Seconds())
	for name, where := range map[string]string{"all": "true", "the first 60 tasks": "'early' = any(t.labels)"} {
		var p50, p99, worst float64
		r.Must(r.Store.Pool().QueryRow(context.Background(), `
			select percentile_cont(0.5) within group (order by lag), percentile_cont(0.99) within group (order by lag), max(lag)
			from (select extract(epoch from k.dispatched_at - k.fire_at) as lag from ticks k join tasks t on t.id = k.task_id where `+where+`) l`).Scan(&p50, &p99, &worst))
		t.Logf("lag of %s: p50 %.3f s, p99 %.3f s, worst %.3f s", name, p50, p99, worst)
	}
}

func tail(s string) string {
	lines := strings.Split(s, "\n")
	return strings.Join(lines[max(len(lines)-20, 0):], "\n")
}
