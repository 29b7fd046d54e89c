package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/dogwatch/dogwatch/internal/testkit/pgtest"
	"github.com/dogwatch/dogwatch/internal/testkit/redistest"
)

// What the command line changes is what the instance then says: every flag of an
// order is a field that the server knows, and a removed value is gone.
func TestChangesReachTheInstance(t *testing.T) {
	url, redis := pgtest.New(t), redistest.StartMini(t)
	data := filepath.Join(t.TempDir(), "data")
	up := launch(t, append([]string{"DOGWATCH_DATA=" + data, "DOGWATCH_DATABASE_URL=" + url, "DOGWATCH_REDIS_URL=" + redis.URL()}, quick...), "up")
	up.address(data)
	use(t, data, "calendar", "add", "Feasts", "2030-12-25")
	use(t, data, "task", "create", "Look.", "--cron", "30 2 * * *", "--zone", "Europe/Berlin", "--overlap", "queue", "--missed", "all", "--catch-up", "2d",
		"--jitter", "1m", "--timeout", "10m", "--starts-at", "2030-01-01", "--ends-at", "2031-01-01", "--max-executions", "9", "--max-executions-per-day", "2",
		"--active-hours", "01:00-05:00", "--active-days", "mon-sun", "--exclude", "2030-12-24", "--exclude", "2030-12-26..2031-01-02", "--calendar", "Feasts",
		"--brief", "always", "--brief-after-skips", "4", "--concurrency-key", "desk", "--failure-fuse", "5", "--checkpoint-after", "true", "--max-runs", "20",
		"--budget-day", "0.5", "--tokens-run", "1000", "--max-steps", "7", "--max-minutes", "3", "--label", "night", "--priority", "high", "--name", "Night")
	for _, tt := range []struct {
		name      string
		args      []string
		has, lost string
	}{
		{"what was created", nil, `"afterSkips": 4`, `"mode": "heartbeat"`},
		{"a pattern", []string{"--cron", "0 3 * * *"}, `"pattern": "0 3 * * *"`, "30 2"},
		{"values go", []string{"--jitter", "", "--calendar", "", "--active-days", "", "--concurrency-key", "", "--label", ""}, `"labels": []`, "jitterSeconds"},
		{"another mode keeps the rest", []string{"--heartbeat", "10m", "--min-heartbeat", "5m", "--max-heartbeat", "1h"}, `"catchUpSeconds": 172800`, `"pattern"`},
		{"no order any more", []string{"--no-schedule"}, `"automation": null`, "catchUpSeconds"},
	} {
		if tt.args != nil {
			use(t, data, append([]string{"task", "edit", "T-1"}, tt.args...)...)
		}
		if out := use(t, data, "task", "show", "T-1", "--json"); !strings.Contains(out, tt.has) || strings.Contains(out, tt.lost) {
			t.Errorf("%s: want %s and not %s in\n%s", tt.name, tt.has, tt.lost, out)
		}
	}

	notes := filepath.Join(t.TempDir(), "notes.md")
	if err := os.WriteFile(notes, []byte("Mind the gap."), 0o600); err != nil {
		t.Fatal(err)
	}
	use(t, data, "task", "edit", "T-1", "--document", notes)
	doc := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`).FindString(use(t, data, "document", "list"))
	if p := launch(t, []string{"DOGWATCH_DATA=" + data}, "task", "edit", "T-1", "--no-document", doc, "--description", "Without notes"); p.exit() != 0 {
		t.Errorf("the document was not pinned: %s", p.out.String())
	}
	if p := launch(t, []string{"DOGWATCH_DATA=" + data}, "task", "edit", "T-1", "--no-document", doc); p.exit() != 1 {
		t.Errorf("it is still pinned: %s", p.out.String())
	}

	use(t, data, "workspace", "edit", "--quiet-hours", "22:00-07:00", "--quiet-days", "fri-sat", "--quiet-zone", "Europe/Berlin", "--read-only", "true")
	if out := use(t, data, "workspace", "show"); !strings.Contains(out, "quiet hours Fri Sat 22:00 to 07:00 Europe/Berlin") || !strings.Contains(out, "read-only") {
		t.Errorf("workspace show: %s", out)
	}
	use(t, data, "agent", "edit", "watchkeeper", "--max-steps", "9", "--quiet-hours", "12:00-13:00")
	if out := use(t, data, "agent", "list"); !strings.Contains(out, "active  default") || !strings.Contains(out, "12:00 to 13:00") {
		t.Errorf("agent list: %s", out)
	}
	out := use(t, data, "task", "preview", "--cron", "30 2 * * *", "--zone", "Europe/Berlin", "--from", "2030-03-29", "--count", "3", "--exclude", "2030-03-29")
	for _, want := range []string{"Fri 2030-03-29 02:30  +01:00  will not run: the date is excluded", "in quiet hours", "Sun 2030-03-31 03:00  +02:00"} {
		if !strings.Contains(out, want) {
			t.Errorf("task preview: %q is missing in\n%s", want, out)
		}
	}
	use(t, data, "workspace", "edit", "--quiet-hours", "", "--read-only", "false")

	for _, wrong := range []struct{ args, says string }{
		{"task create x --every 1h --jitter 30d", "--jitter cannot be 30 days. Use 0 s to 24 h."},
		{"task create x --every 1h --overlap never", "--overlap: "},
		{"task list --status lost", `--status "lost" is not usable`},
		{"task edit T-1 --agent nobody", "--agent: There is no agent nobody."},
	} {
		if p := launch(t, []string{"DOGWATCH_DATA=" + data}, strings.Fields(wrong.args)...); p.exit() != 2 || !strings.Contains(p.out.String(), wrong.says) {
			t.Errorf("%s: %s", wrong.args, p.out.String())
		}
	}
}
