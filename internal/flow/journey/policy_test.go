package journey

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
	"github.com/dogwatch/dogwatch/internal/flow/launch"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// aroundNow is quiet hours of two hours, in the middle of which it is now.
func aroundNow() *schedule.QuietHours {
	now := time.Now().UTC()
	return &schedule.QuietHours{Start: now.Add(-time.Hour).Format("15:04"), End: now.Add(time.Hour).Format("15:04"), Timezone: "UTC"}
}

func (s story) quietWorkspace(h *schedule.QuietHours) {
	s.Helper()
	_, err := s.Steer.EditWorkspace(s.Context(), s.Caller, nil, steer.WorkspacePatch{QuietHours: &h})
	s.Must(err)
}

func (s story) quietAgent(h *schedule.QuietHours) {
	s.Helper()
	s.Must(s.Store.InTx(s.Context(), func(tx *store.Tx) error {
		a, err := tx.Agent(s.Context(), s.Scope(), s.Agent.ID)
		if err != nil {
			return err
		}
		a.QuietHours = h
		_, err = tx.ReviseAgent(s.Context(), s.Scope(), a, s.Caller.Actor)
		return err
	}))
}

// closed are dates that hold whatever is planned within the hour.
func closed() schedule.DateList {
	now := time.Now().UTC()
	return schedule.DateList{Ranges: []schedule.DateRange{{From: now.AddDate(0, 0, -1).Format("2006-01-02"), To: now.AddDate(0, 0, 1).Format("2006-01-02")}}}
}

func TestACalendarClosesEveryScheduleThatNamesIt(t *testing.T) {
	s := begin(t)
	a := everyTenMinutes()
	a.Exclusions = &schedule.Exclusions{Calendars: []string{"Feast"}}
	if _, err := s.Steer.CreateTask(s.Context(), s.Caller, steer.NewTask{Instruction: "Work.", Automation: a}); errs.KindOf(err) != errs.Invalid || !strings.Contains(err.Error(), `no calendar "Feast"`) {
		t.Fatalf("a calendar that is not there: %v", err)
	}
	cal, err := s.Steer.CreateCalendar(s.Context(), s.Caller, " Feast ", closed())
	s.Must(err)
	named := s.create(steer.NewTask{Instruction: "Work.", Automation: a})
	other := s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()})
	for _, tk := range []task.Task{named, other} {
		s.Age(tk.ID, 5*time.Minute+time.Second)
	}
	s.Tick()
	if got := s.ledger(named.ID) + " | " + s.ledger(other.ID); got != "skipped(excluded_date) | ran" {
		t.Errorf("ledgers: %s", got)
	}
	if got := s.run(named.ID).SkippedChecks; !slices.Equal(got, []task.Reason{task.ExcludedDate}) {
		t.Errorf("by hand it skips %v", got)
	}
	s.Drain()
	why, err := s.Launch.Why(s.Context(), s.Caller, named.ID)
	s.Must(err)
	if why.Verdict.Reason != task.ExcludedDate || why.Verdict.Detail == "" {
		t.Errorf("why: %+v", why.Verdict)
	}

	t.Run("and stays while one does", func(t *testing.T) {
		for what, err := range map[string]error{
			"deleted": s.Steer.DeleteCalendar(s.Context(), s.Caller, "Feast"),
			"renamed": second(s.Steer.EditCalendar(s.Context(), s.Caller, cal.ID, nil, steer.CalendarPatch{Name: new("Party")})),
		} {
			if errs.KindOf(err) != errs.Conflict || !strings.Contains(err.Error(), named.Identifier) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
	t.Run("and opens for all of them at once", func(t *testing.T) {
		_, err := s.Steer.EditCalendar(s.Context(), s.Caller, "Feast", &cal.Version, steer.CalendarPatch{Ranges: &[]schedule.DateRange{}})
		s.Must(err)
		if _, err := s.Steer.EditCalendar(s.Context(), s.Caller, "Feast", &cal.Version, steer.CalendarPatch{}); errs.KindOf(err) != errs.Stale {
			t.Errorf("a second edit of the same version: %v", err)
		}
		s.Age(named.ID, 10*time.Minute)
		s.Tick()
		if got := s.ledger(named.ID); got != "skipped(excluded_date) ran ran" {
			t.Errorf("ledger: %s", got)
		}
	})
	s.Must(s.Steer.DeleteTask(s.Context(), s.Caller, named.ID))
	s.Must(s.Steer.DeleteCalendar(s.Context(), s.Caller, "Feast"))
	if _, err := s.Steer.RestoreTask(s.Context(), s.Caller, named.ID); errs.KindOf(err) != errs.Conflict || !strings.Contains(err.Error(), `"Feast"`) {
		t.Errorf("restored without its calendar: %v", err)
	}
	if got := s.audited("calendar."); got != "create edit delete" {
		t.Errorf("audited: %s", got)
	}
	if n := s.told("calendar.changed"); n != 3 {
		t.Errorf("%d events tell of three changes", n)
	}
}

func second[T any](_ T, err error) error { return err }

// told is how many events of a type there are.
func (s story) told(typ string) (n int) {
	s.Helper()
	s.Must(s.Store.Pool().QueryRow(s.Context(), `select count(*) from events where type = $1`, typ).Scan(&n))
	return n
}

// A time that the sweep itself ends is told of, as one that the gate ends is.
func TestWhatTheSweepEndsIsToldOf(t *testing.T) {
	s := begin(t)
	a := everyTenMinutes()
	a.Missed = schedule.MissedSkip
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: a})
	s.Age(tk.ID, time.Hour)
	before := s.told("tick.changed")
	_, err := s.Sweep.Sweep(s.Context())
	s.Must(err)
	if got := s.ledger(tk.ID); !strings.Contains(got, "missed(policy_skip)") {
		t.Fatalf("ledger: %s", got)
	}
	if n := s.told("tick.changed") - before; n != 1 {
		t.Errorf("%d events tell of it", n)
	}
}

// audited are the actions with a prefix, the oldest first.
func (s story) audited(prefix string) string {
	s.Helper()
	entries, _, err := s.Store.AuditEntries(s.Context(), s.Scope(), store.Page{Limit: 200})
	s.Must(err)
	var out []string
	for _, e := range slices.Backward(entries) {
		if action, ok := strings.CutPrefix(e.Action, prefix); ok {
			out = append(out, action)
		}
	}
	return strings.Join(out, " ")
}

func TestInQuietHoursNothingStartsByItself(t *testing.T) {
	for name, c := range map[string]struct {
		hush  func(story)
		whose string
	}{
		"the workspace's": {func(s story) { s.quietWorkspace(aroundNow()) }, "the quiet hours of the workspace"},
		"the agent's":     {func(s story) { s.quietAgent(aroundNow()) }, "the quiet hours of the agent Watchkeeper"},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			c.hush(s)
			tk := s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()})
			s.Age(tk.ID, 5*time.Minute+time.Second)
			s.Tick()
			if got := s.ledger(tk.ID); got != "skipped(outside_active_hours)" {
				t.Errorf("ledger: %s", got)
			}
			why, err := s.Launch.Why(s.Context(), s.Caller, tk.ID)
			s.Must(err)
			if why.Verdict.Reason != task.OutsideActiveHours || !strings.Contains(why.Verdict.Detail, c.whose) {
				t.Errorf("why: %+v", why.Verdict)
			}
			if got := s.run(tk.ID).SkippedChecks; !slices.Equal(got, []task.Reason{task.OutsideActiveHours}) {
				t.Errorf("by hand it skips %v", got)
			}
		})
	}
}

// A one-shot and the start of what waited come but once, so they wait for the end of
// the quiet hours instead of being refused for good.
func TestWhatComesOnceWaitsForTheEndOfTheQuietHours(t *testing.T) {
	s := begin(t)
	hours := aroundNow()
	s.quietWorkspace(hours)
	ends := time.Now().UTC().Add(time.Hour).Truncate(time.Minute)

	once := s.create(steer.NewTask{Instruction: "Work.", StartAt: new(time.Now().Add(time.Hour / 2))})
	s.Age(once.ID, time.Hour/2+time.Second)
	s.Tick()
	if got := s.task(once.ID); s.ledger(once.ID) != "skipped(outside_active_hours)" || got.NextFireAt == nil || !got.NextFireAt.Equal(ends) {
		t.Errorf("%s, and it asks again at %v, want %v", s.ledger(once.ID), got.NextFireAt, ends)
	}

	up := s.create(steer.NewTask{Instruction: "First."})
	down := s.create(steer.NewTask{Instruction: "Then.", DependsOn: []steer.NewDependency{{Task: up.ID}}})
	_, err := s.Steer.CompleteTask(s.Context(), s.Caller, up.ID)
	s.Must(err)
	s.Drain()
	if got := s.ledger(down.ID); got != "queued(outside_active_hours)" {
		t.Fatalf("ledger: %s", got)
	}
	s.reconcile() // it is not missing: its job is there, for later
	if got := s.ledger(down.ID); got != "queued(outside_active_hours)" {
		t.Fatalf("ledger: %s", got)
	}
	var due time.Time
	s.Must(s.Store.Pool().QueryRow(t.Context(), `select run_at from jobs where kind = 'tick' and state = 'ready'`).Scan(&due))
	if d := due.Sub(ends); d < -time.Second || d > time.Minute {
		t.Errorf("it is asked again at %v, want %v", due, ends)
	}
	s.quietWorkspace(nil)
	s.sql(`update jobs set run_at = now() where kind = 'tick' and state = 'ready'`)
	s.Drain()
	if got := s.ledger(down.ID); got != "ran" {
		t.Errorf("afterwards: %s", got)
	}
}

// Times that were missed are judged by the calendars and quiet hours before the
// policy chooses one of them.
func TestOfMissedTimesOneIsCaughtUpThatMayRun(t *testing.T) {
	s := begin(t)
	now := time.Now().UTC()
	s.quietAgent(&schedule.QuietHours{Start: now.Add(-15 * time.Minute).Format("15:04"), End: now.Add(time.Hour).Format("15:04"), Timezone: "UTC"})
	a := everyTenMinutes()
	a.CatchUpSeconds = new(int64(3600))
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: a})
	s.Age(tk.ID, 40*time.Minute) // planned for 35, 25, 15 and 5 minutes ago
	s.Tick()
	if got := s.ledger(tk.ID); !strings.HasPrefix(got, "coalesced(coalesced) ran") && !strings.HasPrefix(got, "2×coalesced(coalesced) ran") || !strings.HasSuffix(got, "skipped(outside_active_hours)") {
		t.Errorf("ledger: %s", got)
	}
}

func TestAPausedWorkspaceCatchesNothingUpUnlessAsked(t *testing.T) {
	s := begin(t)
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()})
	held := s.create(steer.NewTask{Instruction: "Work.", DependsOn: []steer.NewDependency{{Task: s.create(steer.NewTask{Instruction: "Up."}).ID}}})
	idle := s.create(steer.NewTask{Instruction: "Work."})
	ws, err := s.Steer.PauseWorkspace(s.Context(), s.Caller, "Audit week")
	s.Must(err)
	if ws.PausedAt == nil || *ws.PauseNote != "Audit week" {
		t.Fatalf("%+v", ws)
	}
	s.Age(tk.ID, 5*time.Minute+time.Second)
	s.Tick()
	_, err = s.Launch.RunTask(s.Context(), s.Caller, idle.ID, launch.Request{})
	if errs.CodeOf(err) != "workspace_paused" || !strings.Contains(err.Error(), "Audit week") {
		t.Errorf("by hand: %v", err)
	}
	_, err = s.Steer.CompleteTask(s.Context(), s.Caller, "T-2")
	s.Must(err)
	s.Drain()

	_, err = s.Steer.ResumeWorkspace(s.Context(), s.Caller, false)
	s.Must(err)
	s.Tick()
	if got := s.ledger(tk.ID) + " | " + s.ledger(held.ID); got != "skipped(workspace_paused) | skipped(workspace_paused)" {
		t.Errorf("resumed: %s", got)
	}

	// The same again, with one run of each that was held.
	_, err = s.Steer.PauseWorkspace(s.Context(), s.Caller, "")
	s.Must(err)
	s.Age(tk.ID, 10*time.Minute)
	s.Tick()
	for range 2 { // a second press finds nothing to do
		_, err = s.Steer.ResumeWorkspace(s.Context(), s.Caller, true)
		s.Must(err)
	}
	s.Tick()
	if got := s.ledger(tk.ID) + " | " + s.ledger(held.ID) + " | " + s.ledger(idle.ID); got != "skipped(workspace_paused) skipped(workspace_paused) ran | skipped(workspace_paused) | skipped(workspace_paused)" {
		t.Errorf("caught up: %s", got)
	}
	if got := s.audited("workspace."); got != "pause resume pause resume resume" {
		t.Errorf("audited: %s", got)
	}
}

func TestAPausedAgentHoldsItsTasks(t *testing.T) {
	s := begin(t)
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()})
	a, err := s.Steer.PauseAgent(s.Context(), s.Caller, "watchkeeper", "Too chatty")
	s.Must(err)
	if a.PausedAt == nil || a.PauseNote != "Too chatty" {
		t.Fatalf("%+v", a)
	}
	s.Age(tk.ID, 5*time.Minute+time.Second)
	s.Tick()
	why, err := s.Launch.Why(s.Context(), s.Caller, tk.ID)
	s.Must(err)
	if s.ledger(tk.ID) != "skipped(agent_paused)" || why.Verdict.Detail != "The agent Watchkeeper is paused: Too chatty" {
		t.Errorf("%s, %+v", s.ledger(tk.ID), why.Verdict)
	}
	a, err = s.Steer.ResumeAgent(s.Context(), s.Caller, a.ID, true)
	s.Must(err)
	s.Tick()
	if got := s.ledger(tk.ID); got != "skipped(agent_paused) ran" || a.PausedAt != nil || a.PauseNote != "" {
		t.Errorf("%s, %+v", got, a)
	}
	if got := s.audited("agent."); got != "pause resume" {
		t.Errorf("audited: %s", got)
	}
}

func TestMaintenanceLetsWhatRunsGoToItsEnd(t *testing.T) {
	s := begin(t)
	runs := s.create(steer.NewTask{Instruction: "Work.", Start: true})
	later := s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()})
	ws, err := s.Steer.MaintainWorkspace(s.Context(), s.Caller, "New disk")
	s.Must(err)
	left := func() int {
		n, err := s.Store.OpenRuns(s.Context(), s.Scope())
		s.Must(err)
		return n
	}
	if ws.MaintenanceAt == nil || ws.PausedAt != nil || left() != 1 {
		t.Fatalf("%+v, %d runs are left", ws, left())
	}
	s.Age(later.ID, 5*time.Minute+time.Second)
	s.Tick()
	if got := s.ledger(runs.ID) + " | " + s.ledger(later.ID); got != "ran | skipped(maintenance)" || left() != 0 {
		t.Errorf("%s, %d runs are left", got, left())
	}
	// A pause on top of it, and both end together.
	if ws, err = s.Steer.PauseWorkspace(s.Context(), s.Caller, "Lunch"); ws.MaintenanceAt == nil || ws.MaintenanceNote == nil || *ws.MaintenanceNote != "New disk" {
		t.Errorf("the pause ended the maintenance: %+v, %v", ws, err)
	}
	if ws, err = s.Steer.ResumeWorkspace(s.Context(), s.Caller, false); err != nil || ws.MaintenanceAt != nil || ws.PausedAt != nil || ws.PauseNote != nil {
		t.Errorf("resumed: %+v, %v", ws, err)
	}
}

func TestStopInterruptsEverythingThatRuns(t *testing.T) {
	s := begin(t)
	const n = 5
	var ids []string
	for i := range n {
		in := steer.NewTask{Instruction: "Work.", Start: true}
		if i == 0 {
			in.Automation = everyTenMinutes()
		}
		ids = append(ids, s.create(in).ID)
	}
	s.sql(`update jobs set run_at = now() + interval '1 minute' where kind = 'step'`) // they are thinking
	ws, err := s.Steer.StopWorkspace(s.Context(), s.Caller, "Wrong prices")
	s.Must(err)
	if ws.PausedAt == nil || *ws.PauseNote != "Wrong prices" {
		t.Fatalf("%+v", ws)
	}
	s.Drain()
	for i, id := range ids {
		want := task.Paused
		if i == 0 {
			want = task.Scheduled
		}
		s.is(id, want, task.Interrupted)
		if tp := s.topics(id)[0]; tp.Status != topic.Canceled || tp.ReasonDetail != "canceled_by_person" {
			t.Errorf("run %d is %s(%s)", i, tp.Status, tp.ReasonDetail)
		}
	}
	if got := s.audited("workspace."); got != "stop" {
		t.Errorf("audited: %s", got)
	}
}

func TestAStopWaitsForALaunchThatWasAdmitted(t *testing.T) {
	s := begin(t)
	tk := s.create(steer.NewTask{Instruction: "Work."})
	stopped := make(chan error, 1)
	s.Must(s.Store.InTx(s.Context(), func(tx *store.Tx) error {
		t, err := tx.LockTask(s.Context(), s.Scope(), tk.ID)
		if err != nil {
			return err
		}
		if _, refused, err := s.Launch.RunNow(s.Context(), tx, s.Scope(), t, s.Caller.Actor, launch.Request{Origin: topic.Manual}); err != nil || refused != nil {
			return fmt.Errorf("%w, %w", err, refused)
		}
		go func() { stopped <- second(s.Steer.StopWorkspace(s.Context(), s.Caller, "")) }()
		select {
		case err := <-stopped:
			s.Errorf("the stop returned (%v) before a run that was admitted was there", err)
			stopped <- err
		case <-time.After(300 * time.Millisecond):
		}
		return nil
	}))
	s.Must(<-stopped)
	s.sql(`update jobs set run_at = now() + interval '1 minute' where kind = 'step'`)
	s.Drain()
	s.is(tk.ID, task.Paused, task.Interrupted)
}

// A launch that asked the gate before the stop has its run when the stop returns, so
// that the stop finds it; one that asks afterwards is refused.
func TestNoRunSlipsThroughAStop(t *testing.T) {
	s := begin(t)
	const n = 24
	ids := make([]string, n)
	for i := range ids {
		ids[i] = s.create(steer.NewTask{Instruction: "Work."}).ID
	}
	var wg sync.WaitGroup
	refused := make([]error, n)
	for i, id := range ids {
		wg.Go(func() { _, refused[i] = s.Launch.RunTask(s.Context(), s.Caller, id, launch.Request{}) })
	}
	wg.Go(func() {
		_, _ = s.Steer.CreateTask(s.Context(), s.Caller, steer.NewTask{Instruction: "Work.", Start: true}) // holds the workspace's row while it asks
	})
	_, err := s.Steer.StopWorkspace(s.Context(), s.Caller, "")
	s.Must(err)
	atStop, err := s.Store.OpenRuns(s.Context(), s.Scope())
	s.Must(err)
	wg.Wait()
	if now, err := s.Store.OpenRuns(s.Context(), s.Scope()); err != nil || now != atStop {
		t.Errorf("%d runs were open when the stop returned, and then %d", atStop, now)
	}
	for i, err := range refused {
		if err != nil && errs.CodeOf(err) != "workspace_paused" {
			t.Errorf("launch %d: %v", i, err)
		}
	}
	s.Drain()
	if left, _ := s.Store.OpenRuns(s.Context(), s.Scope()); left != 0 {
		t.Errorf("%d runs are left", left)
	}
}

func TestAResumedWorkspaceKeepsWhatTheStopHadNotReached(t *testing.T) {
	s := begin(t)
	tk := s.create(steer.NewTask{Instruction: "Work.", Start: true})
	_, err := s.Steer.StopWorkspace(s.Context(), s.Caller, "")
	s.Must(err)
	_, err = s.Steer.ResumeWorkspace(s.Context(), s.Caller, false)
	s.Must(err)
	s.Drain()
	if got := s.ledger(tk.ID); got != "ran" || s.topics(tk.ID)[0].Status != topic.Completed {
		t.Errorf("%s", got)
	}
}

func TestReadOnlyIsAnErrorThatTheModelReads(t *testing.T) {
	s := begin(t)
	_, err := s.Steer.EditWorkspace(s.Context(), s.Caller, nil, steer.WorkspacePatch{ReadOnly: new(true)})
	s.Must(err)
	s.calls("write_document", `{"title": "Log", "content": "x"}`)
	tk := s.create(steer.NewTask{Instruction: "Work.", Start: true})
	s.Drain()
	s.is(tk.ID, task.Paused, task.AwaitingReview) // the run goes on without it
	var told []string
	for _, c := range s.Model.Calls {
		for _, m := range c.Messages {
			if m.Role == "tool" {
				told = append(told, m.Content)
			}
		}
	}
	if len(told) == 0 || !strings.Contains(told[0], "read-only") {
		t.Errorf("the model was told %q", told)
	}
	if docs, _, err := s.Store.Documents(s.Context(), s.Scope(), store.DocumentFilter{}, store.Page{}); err != nil || len(docs) != 0 {
		t.Errorf("%d documents, %v", len(docs), err)
	}
}

func TestWhatBecomesOfTicksIsCounted(t *testing.T) {
	s := begin(t)
	var mu sync.Mutex
	got := map[string]int{}
	s.Store.OnTicks(func(state topic.TickState, reason string, n int) {
		mu.Lock()
		defer mu.Unlock()
		got[fmt.Sprintf("%s(%s)", state, reason)] += n
	})
	s.Launch.Observe(func(o topic.Origin, outcome string) {
		mu.Lock()
		defer mu.Unlock()
		got[string(o)+" "+outcome]++
	})
	a := everyTenMinutes()
	a.Missed = "skip"
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: a})
	s.Age(tk.ID, 5*time.Minute+time.Second)
	s.Tick()
	s.Age(tk.ID, 20*time.Minute) // to a quarter of an hour ago, and there is one more
	s.Tick()
	s.Age(tk.ID, 5*time.Minute+2*time.Second) // not the second that ran
	_, err := s.Steer.PauseWorkspace(s.Context(), s.Caller, "")
	s.Must(err)
	s.Tick()
	_, err = s.Launch.RunTask(s.Context(), s.Caller, tk.ID, launch.Request{})
	if errs.CodeOf(err) != "workspace_paused" {
		t.Fatal(err)
	}
	want := map[string]int{
		"missed(policy_skip)": 2, "dispatched()": 1, "ran()": 1, "skipped(workspace_paused)": 2,
		"every opened": 1, "every workspace_paused": 1, "manual workspace_paused": 1,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("counted %v\nwant %v", got, want)
	}
}

func TestWhySaysWhatThePersonNotedWhoPausedTheTask(t *testing.T) {
	s := begin(t)
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()})
	_, err := s.Steer.PauseTask(s.Context(), s.Caller, tk.ID, false, "holiday week")
	s.Must(err)
	why, err := s.Launch.Why(s.Context(), s.Caller, tk.ID)
	s.Must(err)
	if why.Verdict.Reason != task.IsPaused || why.Verdict.Detail != "The task is paused (person): holiday week" {
		t.Errorf("why: %+v", why.Verdict)
	}
}
