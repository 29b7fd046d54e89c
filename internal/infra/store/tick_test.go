package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/task"
)

// ledger makes a workspace with n ticks of a task, one a minute from a time on.
func ledger(t *testing.T, s *Store, from time.Time, n int) (sc access.Scope, taskID string) {
	t.Helper()
	err := s.InTx(t.Context(), func(tx *Tx) error {
		ws, err := tx.CreateWorkspace(t.Context(), "test", "Test", "UTC")
		if err != nil {
			return err
		}
		sc = access.In(ws.ID)
		made, err := tx.CreateTask(t.Context(), sc, task.Task{
			Name: "Look", Instruction: "Look.", Status: task.Backlog, StatusReason: "created", Priority: "none", CreatedBy: access.House,
		})
		taskID = made.ID
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.pool.Exec(t.Context(), `
		insert into ticks (id, workspace_id, task_id, planned_at, fire_at, origin, state, reason, automation_revision, ended_at)
		select gen_random_uuid(), $1, $2, at, at, 'schedule', 'skipped', 'in_flight', 1, at
		from generate_series(0, $4 - 1) g, lateral (select $3::timestamptz + g * interval '1 minute' as at) a`, sc.Workspace(), taskID, from, n)
	if err == nil {
		_, err = s.pool.Exec(t.Context(), `analyze ticks`)
	}
	if err != nil {
		t.Fatal(err)
	}
	return sc, taskID
}

// A span has its beginning and not its end, so that spans side by side have every tick
// once; and its pages follow each other without a gap.
func TestTheLedgerOfASpan(t *testing.T) {
	s := open(t)
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	sc, taskID := ledger(t, s, from, 120)
	span := func(f TickFilter, limit int) (fires []time.Time) {
		t.Helper()
		for p := (Page{Limit: limit}); ; {
			items, next, err := s.Ticks(t.Context(), sc, f, p)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range items {
				fires = append(fires, k.FireAt.UTC())
			}
			if p.After = next; next == "" {
				return fires
			}
		}
	}
	for _, limit := range []int{1, 7, 200} {
		got := span(TickFilter{FireFrom: from.Add(10 * time.Minute), FireTo: from.Add(30 * time.Minute)}, limit)
		if len(got) != 20 || !got[0].Equal(from.Add(29*time.Minute)) || !got[19].Equal(from.Add(10*time.Minute)) {
			t.Errorf("by %d: %d ticks, %v", limit, len(got), got)
		}
		for i := 1; i < len(got); i++ {
			if !got[i].Before(got[i-1]) {
				t.Errorf("by %d: %s after %s", limit, got[i], got[i-1])
			}
		}
	}
	for want, f := range map[int]TickFilter{
		110: {FireFrom: from.Add(10 * time.Minute)}, 10: {FireTo: from.Add(10 * time.Minute)}, 120: {},
		5: {Task: taskID, State: []string{"skipped"}, FireTo: from.Add(5 * time.Minute)}, 0: {State: []string{"ran"}, FireFrom: from},
	} {
		if got := span(f, 200); len(got) != want {
			t.Errorf("%+v: %d ticks, want %d", f, len(got), want)
		}
	}
}

// What a span costs does not grow with what fired since: its index is read where the
// page begins.
func TestTheLedgerOfASpanReadsItsPage(t *testing.T) {
	s := open(t)
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	sc, _ := ledger(t, s, from, 20_000)
	f := TickFilter{FireFrom: from.Add(time.Hour), FireTo: from.Add(24 * time.Hour)}
	_, next, err := s.Ticks(t.Context(), sc, f, Page{})
	if err != nil || next == "" {
		t.Fatalf("%q %v", next, err)
	}
	for name, p := range map[string]Page{"the first page": {}, "the second page": {After: next}} {
		var out []Tick
		stmt := s.ticks(t.Context(), sc, f, p).Session(&gorm.Session{DryRun: true}).Find(&out).Statement
		rows, err := s.pool.Query(t.Context(), "explain (analyze, costs off, timing off, summary off) "+s.gorm.Dialector.Explain(stmt.SQL.String(), stmt.Vars...))
		if err != nil {
			t.Fatal(err)
		}
		var plan strings.Builder
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&plan, line)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		if got := plan.String(); !strings.Contains(got, "using ticks_fire on ticks") || strings.Contains(got, "Seq Scan") || strings.Contains(got, "rows=1380") || strings.Contains(got, "Bitmap") {
			t.Errorf("%s: the plan is\n%s", name, got)
		}
	}
}
