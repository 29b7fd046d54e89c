package store

import (
	"strings"
	"testing"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
)

// What every sweep asks does not grow with the number of tasks: it reads the head of
// one index and looks at no task that is not due. The plan is judged, not a time.
func TestASweepWithNothingDueReadsTheHeadOfOneIndex(t *testing.T) {
	s := open(t)
	ctx := t.Context()
	zone := "UTC"
	err := s.InTx(ctx, func(tx *Tx) error {
		ws, err := tx.CreateWorkspace(ctx, "test", "Test", "UTC")
		if err != nil {
			return err
		}
		_, err = tx.CreateTask(ctx, access.In(ws.ID), task.Task{
			Name: "Look", Instruction: "Look.", Status: task.Scheduled, StatusReason: "armed", Priority: "none",
			CreatedBy: access.House, Automation: &schedule.Automation{Mode: schedule.Schedule, Pattern: "0 0 1 1 *", Timezone: &zone},
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	const tasks = 5000
	for _, sql := range []string{
		`insert into tasks (id, workspace_id, seq, name, instruction, status, status_reason, created_by_kind, automation, automation_mode, next_planned_at, next_fire_at)
		 select gen_random_uuid(), workspace_id, seq + g, name, instruction, status, status_reason, created_by_kind, automation, automation_mode,
		   clock_timestamp() + g * interval '1 minute', clock_timestamp() + g * interval '1 minute' from tasks, generate_series(1, 5000) g`,
		`analyze tasks`,
	} {
		if _, err := s.pool.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		sql, scan string
	}{
		"what is due":                   {strings.ReplaceAll(lockDueSQL, "?", "100"), "Index Cond: (next_fire_at <="},
		"when the next task will be so": {untilDueSQL, "Index Only Scan"},
	} {
		t.Run(name, func(t *testing.T) {
			rows, err := s.pool.Query(ctx, "explain (analyze, costs off, timing off, summary off) "+c.sql)
			if err != nil {
				t.Fatal(err)
			}
			var plan strings.Builder
			for rows.Next() {
				var line string
				if err := rows.Scan(&line); err != nil {
					t.Fatal(err)
				}
				plan.WriteString(line + "\n")
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			got := plan.String()
			if !strings.Contains(got, "using tasks_due on tasks") || !strings.Contains(got, c.scan) || strings.Contains(got, "Seq Scan") || strings.Contains(got, "Bitmap") || strings.Contains(got, "Sort") {
				t.Errorf("among %d tasks the plan is\n%s", tasks, got)
			}
			if strings.Contains(got, "Rows Removed") || strings.Contains(got, "rows=5") {
				t.Errorf("it reads what it does not need:\n%s", got)
			}
		})
	}
}
