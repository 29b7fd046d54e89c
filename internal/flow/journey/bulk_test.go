package journey

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/flow/launch"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

func (s story) bulk(action string, filter store.TaskFilter) store.Bulk {
	s.Helper()
	b, err := s.Steer.Bulk(s.Context(), s.Caller, steer.BulkAsk{Action: action, Filter: &filter, Note: "audit"})
	s.Must(err)
	return b
}

func (s story) undo(b store.Bulk) store.Bulk {
	s.Helper()
	u, err := s.Steer.UndoBulk(s.Context(), s.Caller, b.ID)
	s.Must(err)
	return u
}

// came says what became of each task of an order: "T-1 changed, T-2 skipped(conflict)".
func came(b store.Bulk) string {
	var out []string
	for _, t := range b.Tasks {
		word := t.Identifier + " " + t.State
		if t.Code != "" {
			word += "(" + t.Code + ")"
		}
		out = append(out, word)
	}
	return strings.Join(out, ", ")
}

// goOnWithBulk lets the job come that finishes orders.
func (s story) goOnWithBulk() {
	s.Helper()
	s.sql(`update jobs set run_at = clock_timestamp() where kind = 'bulk' and state = 'ready'`)
	s.Drain()
}

func TestManyTasksArePausedAndThatIsTakenBack(t *testing.T) {
	s := begin(t)
	named := func(label string, in steer.NewTask) task.Task {
		in.Instruction, in.Labels = "Work.", []string{label}
		return s.create(in)
	}
	beats := named("crm", steer.NewTask{Automation: heartbeat(3600)})
	grid := named("crm", steer.NewTask{Automation: everyTenMinutes()})
	waits := named("crm", steer.NewTask{})
	gone := named("crm", steer.NewTask{})
	done := named("crm", steer.NewTask{})
	other := named("else", steer.NewTask{Automation: everyTenMinutes()})
	s.Must(s.Steer.DeleteTask(s.Context(), s.Caller, gone.ID))
	_, err := s.Steer.CompleteTask(s.Context(), s.Caller, done.ID)
	s.Must(err)
	s.Tick() // the heartbeat's first run

	b := s.bulk(steer.BulkPause, store.TaskFilter{Label: "crm"})
	if got := came(b); got != "T-1 changed, T-2 changed, T-3 changed, T-5 skipped(conflict)" || !b.Undoable() || b.Note != "audit" {
		t.Errorf("the order: %s, %+v", got, b)
	}
	for _, id := range []string{beats.ID, grid.ID, waits.ID} {
		if tk := s.is(id, task.Paused, task.ByPerson); tk.NextFireAt != nil {
			t.Errorf("%s still has a next fire", tk.Identifier)
		}
		ms, _, err := s.Store.Moves(s.Context(), s.Scope(), id, store.Page{Limit: 1})
		s.Must(err)
		if ms[0].Actor != s.Caller.Actor || ms[0].Note == nil || *ms[0].Note != "audit" {
			t.Errorf("its history says %+v", ms[0])
		}
	}
	s.is(other.ID, task.Scheduled, task.Armed)
	s.is(done.ID, task.Completed, task.ByPerson)

	// Somebody takes one of them up by hand: it is left alone.
	_, err = s.Steer.ResumeTask(s.Context(), s.Caller, grid.ID, false)
	s.Must(err)
	moved := s.task(grid.ID)

	u := s.undo(b)
	if got := came(u); got != "T-1 changed, T-2 skipped(conflict), T-3 changed" || u.Undoable() || u.UndoOf != b.ID {
		t.Errorf("the undo: %s, %+v", got, u)
	}
	if tk := s.is(beats.ID, task.Scheduled, task.ByPerson); tk.NextFireAt == nil {
		t.Error("the heartbeat has no next fire")
	}
	s.is(waits.ID, task.Backlog, task.ByPerson)
	if now := s.task(grid.ID); now.Version != moved.Version {
		t.Error("the undo touched what somebody else had moved")
	}
	if _, err := s.Steer.UndoBulk(s.Context(), s.Caller, b.ID); errs.CodeOf(err) != "conflict" {
		t.Errorf("a second undo: %v", err)
	}
	if _, err := s.Steer.UndoBulk(s.Context(), s.Caller, u.ID); errs.CodeOf(err) != "conflict" {
		t.Errorf("an undo of the undo: %v", err)
	}
}

// One order is one entry in the audit, and its undo another; the moves of the tasks
// stand in the histories of the tasks.
func TestAnOrderForManyTasksIsOneEntryInTheAudit(t *testing.T) {
	s := begin(t)
	for range 3 {
		s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()})
	}
	count := func() (n int) {
		s.Must(s.Store.Pool().QueryRow(s.Context(), `select count(*) from audit`).Scan(&n))
		return n
	}
	before := count()
	b := s.bulk(steer.BulkCancel, store.TaskFilter{})
	s.undo(b)
	if n := count() - before; n != 2 {
		t.Errorf("%d entries, want the order and its undo", n)
	}
}

func TestManyTasksAreResumedAndPausedAgain(t *testing.T) {
	s := begin(t)
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: heartbeat(3600)})
	_, err := s.Steer.PauseTask(s.Context(), s.Caller, tk.ID, false, "")
	s.Must(err)
	b := s.bulk(steer.BulkResume, store.TaskFilter{Statuses: []string{"paused"}})
	s.is(tk.ID, task.Scheduled, task.ByPerson)
	s.Tick() // what time starts is no hand of somebody's
	s.is(tk.ID, task.Scheduled, task.RanOn)
	s.undo(b)
	s.is(tk.ID, task.Paused, task.ByPerson)
}

func TestCanceledTasksComeBackWhereTheyWere(t *testing.T) {
	s := begin(t)
	paused := s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()})
	_, err := s.Steer.PauseTask(s.Context(), s.Caller, paused.ID, false, "")
	s.Must(err)
	armed := s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()})
	works := s.create(steer.NewTask{Instruction: "Work.", Start: true})
	s.Quick()
	b, err := s.Steer.Bulk(s.Context(), s.Caller, steer.BulkAsk{Action: steer.BulkCancel, Tasks: []string{works.ID, "t-1", armed.ID, works.Identifier}})
	s.Must(err)
	if got := came(b); got != "T-3 changed, T-1 changed, T-2 changed" {
		t.Errorf("the order: %s", got)
	}
	s.Drain()
	if tp := s.topics(works.ID)[0]; tp.Status != "canceled" {
		t.Errorf("its run is %s", tp.Status)
	}
	s.undo(b)
	s.is(paused.ID, task.Paused, task.ByPerson)
	if tk := s.is(armed.ID, task.Scheduled, task.Reopened); tk.NextFireAt == nil {
		t.Error("it has no next fire")
	}
	s.is(works.ID, task.Backlog, task.Reopened) // its run is over
}

// Whoever gives the order may go away in the middle of it.
func TestAnOrderThatBreaksOffIsFinished(t *testing.T) {
	s := begin(t)
	var ids []string
	for range 4 {
		ids = append(ids, s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()}).ID)
	}
	ctx, cancel := context.WithCancel(s.Context())
	held, release := make(chan struct{}), make(chan struct{})
	freed := make(chan error, 1)
	go func() {
		freed <- s.Store.InTx(s.Context(), func(tx *store.Tx) error {
			_, err := tx.LockTask(s.Context(), s.Scope(), ids[2])
			close(held)
			<-release
			return err
		})
	}()
	<-held
	broke := make(chan error, 1)
	go func() {
		_, err := s.Steer.Bulk(ctx, s.Caller, steer.BulkAsk{Action: steer.BulkPause, Tasks: ids})
		broke <- err
	}()
	for s.task(ids[1]).Status != task.Paused {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-broke; err == nil {
		t.Fatal("the order did not break off")
	}
	close(release)
	s.Must(<-freed)
	s.is(ids[2], task.Scheduled, task.Armed)

	s.goOnWithBulk()
	for _, id := range ids {
		s.is(id, task.Paused, task.ByPerson)
		if ms, _, err := s.Store.Moves(s.Context(), s.Scope(), id, store.Page{}); err != nil || len(ms) != 2 {
			t.Errorf("%d moves (%v), want its creation and one pause", len(ms), err)
		}
	}
	var bulkID string
	s.Must(s.Store.Pool().QueryRow(s.Context(), `select id::text from bulks`).Scan(&bulkID))
	b, err := s.Store.Bulk(s.Context(), s.Scope(), bulkID)
	s.Must(err)
	if b.Count(store.BulkChanged) != 4 || !b.Undoable() {
		t.Errorf("the order: %s", came(b))
	}
}

// The job is lost as well: the house finds what an order has left.
func TestAnOrderWithoutItsJobIsFoundAndFinished(t *testing.T) {
	s := begin(t)
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()})
	s.Must(s.Store.InTx(s.Context(), func(tx *store.Tx) error {
		_, err := tx.CreateBulk(s.Context(), s.Scope(), store.Bulk{Action: steer.BulkPause, Actor: s.Caller.Actor}, []string{tk.ID})
		return err
	}))
	s.sql(`update bulks set created_at = created_at - interval '1 minute'`)
	s.reconcile()
	s.goOnWithBulk()
	s.is(tk.ID, task.Paused, task.ByPerson)
}

func TestWhatAnOrderForManyTasksRefuses(t *testing.T) {
	s := begin(t)
	tk := s.create(steer.NewTask{Instruction: "Work."})
	many := make([]string, steer.MaxBulk+1)
	for i := range many {
		many[i] = tk.ID
	}
	for what, c := range map[string]struct {
		ask  steer.BulkAsk
		says string
	}{
		"nothing named":   {steer.BulkAsk{Action: steer.BulkPause}, "either their ids, or a filter"},
		"both":            {steer.BulkAsk{Action: steer.BulkPause, Tasks: []string{tk.ID}, Filter: &store.TaskFilter{}}, "either their ids, or a filter"},
		"an unknown task": {steer.BulkAsk{Action: steer.BulkPause, Tasks: []string{tk.ID, "T-99"}}, "There is no task T-99."},
		"too many":        {steer.BulkAsk{Action: steer.BulkPause, Tasks: many}, "At most 1000 tasks"},
	} {
		if _, err := s.Steer.Bulk(s.Context(), s.Caller, c.ask); errs.KindOf(err) != errs.Invalid || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
	s.sql(fmt.Sprintf(`insert into tasks (id, workspace_id, seq, name, instruction, status, status_reason, created_by_kind)
		select gen_random_uuid(), workspace_id, n + 1, 'x', 'x', 'backlog', 'created', 'system' from tasks, generate_series(1, %d) n`, steer.MaxBulk))
	if _, err := s.Steer.Bulk(s.Context(), s.Caller, steer.BulkAsk{Action: steer.BulkPause, Filter: &store.TaskFilter{}}); errs.KindOf(err) != errs.Invalid || !strings.Contains(err.Error(), "matches 1001 tasks, and at most 1000") {
		t.Errorf("a filter for all: %v", err)
	}
	s.is(tk.ID, task.Backlog, task.Created)
	if b := s.bulk(steer.BulkPause, store.TaskFilter{Query: "nothing has this"}); len(b.Tasks) != 0 || b.Undoable() {
		t.Errorf("a filter that matches nothing: %+v", b)
	}
}

// A run that somebody starts by hand is a hand of somebody's.
func TestAnUndoLeavesWhatSomebodyRuns(t *testing.T) {
	s := begin(t)
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()})
	b := s.bulk(steer.BulkPause, store.TaskFilter{})
	_, err := s.Launch.RunTask(s.Context(), s.Caller, tk.ID, launch.Request{})
	s.Must(err)
	if u := s.undo(b); !slices.ContainsFunc(u.Tasks, func(t store.BulkTask) bool {
		return t.Code == "conflict" && strings.Contains(t.Detail, "moved by hand")
	}) {
		t.Errorf("the undo: %+v", u.Tasks)
	}
}
