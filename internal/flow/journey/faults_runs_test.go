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
	"github.com/dogwatch/dogwatch/internal/flow/tick"
)

// faultsOfRuns are about runs that must begin once, or not at all.
var faultsOfRuns = map[string]func(*testing.T){
	"BUG-009": func(t *testing.T) {
		s := begin(t)
		var tasks []task.Task
		for i := range 3 {
			tasks = append(tasks, s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()}))
			s.due(tasks[i].ID, time.Now().Add(-time.Duration(9-i)*time.Second))
		}
		s.sql(`update tasks set automation = jsonb_set(automation, '{timezone}', '"Mars/Olympus"') where id = $1`, tasks[0].ID)
		s.Tick()
		s.is(tasks[0].ID, task.Paused, task.NoPattern)
		if c := s.causes(tasks[0].ID); c != "no_pattern" {
			t.Errorf("cards: %s", c)
		}
		for _, tk := range tasks[1:] {
			if n := len(s.topics(tk.ID)); n != 1 {
				t.Errorf("%s has %d runs", tk.Identifier, n)
			}
		}
	},
	"BUG-013": func(t *testing.T) {
		s := begin(t)
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: cron("* * * * *", "UTC")})
		s.sql(`update tasks set next_planned_at = null, next_fire_at = null where id = $1`, tk.ID)
		s.reconcile()
		if got := s.future(tk.ID); time.Until(*got.NextFireAt) > time.Minute {
			t.Errorf("its next run is at %v", got.NextFireAt)
		}
	},
	"BUG-014": func(t *testing.T) {
		s := begin(t)
		skipped := 0
		s.Store.OnTicks(func(state topic.TickState, reason string, n int) {
			if state == topic.TickSkipped && reason == string(task.InFlight) {
				skipped += n
			}
		})
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()})
		s.run(tk.ID) // open, and nobody carries its steps out
		for range 10 {
			s.elapse(tk.ID, 10*time.Minute)
			_, err := s.Sweep.Sweep(s.Context())
			s.Must(err)
			s.Quick()
		}
		if got := strings.Count(s.ledger(tk.ID), "skipped(in_flight)"); got != 10 || skipped != 10 {
			t.Errorf("%d are in the ledger and %d counted: %s", got, skipped, s.ledger(tk.ID))
		}

		grid, _ := grid(20 * time.Second)
		slow := s.create(steer.NewTask{Instruction: "Work.", Automation: grid})
		for i := range 9 { // each third time finds no run open
			s.elapse(slow.ID, 20*time.Second)
			_, err := s.Sweep.Sweep(s.Context())
			s.Must(err)
			if s.Quick(); i%3 == 2 {
				s.Drain()
			}
		}
		runs, err := s.Store.LastRuns(s.Context(), s.Scope(), slow.ID, slow.AutomationRevision)
		s.Must(err)
		if got, want := compiled(t, *grid).Cadence(runs, time.Now()), (schedule.Cadence{Configured: 20 * time.Second, Effective: time.Minute, Over: 3}); got != want {
			t.Errorf("the cadence is %+v, want %+v: %s", got, want, s.ledger(slow.ID))
		}
	},
	"BUG-017": func(t *testing.T) {
		s := begin(t)
		a := everyTenMinutes()
		a.Overlap = schedule.OverlapQueue
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: a})
		s.run(tk.ID)
		for range 5 {
			s.elapse(tk.ID, 10*time.Minute)
			_, err := s.Sweep.Sweep(s.Context())
			s.Must(err)
			s.Quick()
		}
		if got := s.ledger(tk.ID); strings.Count(got, "queued") != 1 || strings.Count(got, "skipped(in_flight)") != 4 {
			t.Errorf("ledger: %s", got)
		}
		_, err := s.Steer.PauseTask(s.Context(), s.Caller, tk.ID, true, "")
		s.Must(err)
		if got := s.ledger(tk.ID); strings.Contains(got, "queued") || !strings.Contains(got, "canceled(canceled_by_person)") {
			t.Errorf("after the pause: %s", got)
		}
	},
	"BUG-018": func(t *testing.T) {
		s := begin(t)
		counted := map[string]int{}
		s.Launch.Observe(func(o topic.Origin, outcome string) { counted[outcome]++ })
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()})
		s.run(tk.ID)
		for range 3 {
			s.elapse(tk.ID, 10*time.Minute)
			_, err := s.Sweep.Sweep(s.Context())
			s.Must(err)
			s.Quick()
		}
		if counted["in_flight"] != 3 || counted["opened"] != 1 {
			t.Errorf("counted %v", counted)
		}
	},
	"BUG-019": func(t *testing.T) {
		s := begin(t)
		a := everyTenMinutes()
		a.Overlap = schedule.OverlapQueue
		most := s.most()
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: a, Start: true})
		s.Age(tk.ID, 5*time.Minute+time.Second)
		_, err := s.Sweep.Sweep(s.Context())
		s.Must(err)
		s.Quick()
		if got := s.ledger(tk.ID); got != "dispatched queued(in_flight)" {
			t.Fatalf("ledger: %s", got)
		}
		s.Drain()
		if got := s.ledger(tk.ID); got != "ran ran" || most() != 1 {
			t.Errorf("ledger: %s, at once %d", got, most())
		}
	},
	"BUG-021": func(t *testing.T) {
		s := begin(t)
		most := s.most()
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()})
		s.Age(tk.ID, 5*time.Minute+time.Second)
		_, err := s.Sweep.Sweep(s.Context())
		s.Must(err)
		s.Quick()
		if _, err := s.Launch.RunTask(s.Context(), s.Caller, tk.ID, launch.Request{}); errs.CodeOf(err) != "in_flight" {
			t.Errorf("Run now: %v", err)
		}
		s.elapse(tk.ID, 10*time.Minute)
		_, err = s.Sweep.Sweep(s.Context())
		s.Must(err)
		s.Drain()
		if got := s.ledger(tk.ID); got != "ran skipped(in_flight) skipped(in_flight)" || most() != 1 {
			t.Errorf("ledger: %s, at once %d", got, most())
		}
	},
	"BUG-069": func(t *testing.T) {
		s := begin(t)
		s.fails()
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()})
		s.Age(tk.ID, 5*time.Minute+time.Second)
		s.Tick()
		s.Model.Reply = nil
		for range 2 {
			s.elapse(tk.ID, 10*time.Minute)
			s.Tick()
		}
		var ends []string
		for _, tp := range slices.Backward(s.topics(tk.ID)) {
			ends = append(ends, string(tp.Status))
		}
		if got := strings.Join(ends, " "); got != "failed completed completed" || s.ledger(tk.ID) != "ran ran ran" {
			t.Errorf("%s; ledger: %s", got, s.ledger(tk.ID))
		}
	},
	"BUG-071": func(t *testing.T) {
		s := begin(t)
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()})
		replicas := []*tick.Sweeper{tick.New(s.Store, s.Log), tick.New(s.Store, s.Log), tick.New(s.Store, s.Log)}
		for range 8 {
			s.elapse(tk.ID, 10*time.Minute)
			var wg sync.WaitGroup
			for _, r := range replicas {
				wg.Go(func() {
					for range 3 {
						if _, err := r.Sweep(s.Context()); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			s.Drain()
		}
		if n := len(s.topics(tk.ID)); n != 8 {
			t.Errorf("%d runs for eight times: %s", n, s.ledger(tk.ID))
		}
	},
	"BUG-080": func(t *testing.T) {
		s := begin(t)
		up := s.create(steer.NewTask{Instruction: "First.", Config: task.Config{Acceptance: task.Auto}})
		var down []task.Task
		for range 31 {
			down = append(down, s.create(steer.NewTask{Instruction: "Then.", DependsOn: []steer.NewDependency{{Task: up.ID}}, Config: task.Config{Acceptance: task.Auto}}))
		}
		s.Tick()
		s.reconcile()
		if n := len(s.Model.Calls); n > 0 {
			t.Errorf("the model was asked %d times", n)
		}
		s.run(up.ID)
		s.Drain()
		s.Drain()
		for _, tk := range down {
			if n := len(s.topics(tk.ID)); n != 1 {
				t.Errorf("%s has %d runs", tk.Identifier, n)
			}
		}
	},
	"BUG-086": func(t *testing.T) {
		s := begin(t)
		ups := []task.Task{s.create(steer.NewTask{Instruction: "One."}), s.create(steer.NewTask{Instruction: "Two."})}
		down := s.create(steer.NewTask{Instruction: "Then.", DependsOn: []steer.NewDependency{{Task: ups[0].ID}, {Task: ups[1].ID}}})
		var wg sync.WaitGroup
		for _, up := range ups {
			wg.Go(func() {
				if _, err := s.Steer.CompleteTask(s.Context(), s.Caller, up.ID); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		s.Drain()
		if n := len(s.topics(down.ID)); n != 1 {
			t.Errorf("%d runs", n)
		}
	},
	"BUG-153": func(t *testing.T) {
		s := begin(t)
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: cron("0 9 * * *", "UTC")})
		var wg sync.WaitGroup
		for _, pattern := range []string{"15 10 * * *", "45 22 * * *"} {
			wg.Go(func() {
				a := cron(pattern, "UTC")
				if _, err := s.Steer.EditTask(s.Context(), s.Caller, tk.ID, nil, steer.TaskPatch{Automation: &a}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		got := s.future(tk.ID)
		spec, err := got.Spec()
		s.Must(err)
		if want := spec.Arm(got.ID, time.Now()); !got.NextPlannedAt.Equal(want.PlannedAt) || got.AutomationRevision != 3 {
			t.Errorf("revision %d, next %v, want %v of %s", got.AutomationRevision, got.NextPlannedAt, want.PlannedAt, got.Automation.Pattern)
		}
	},
	"BUG-157": func(t *testing.T) {
		s := begin(t)
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: heartbeat(60)})
		if tk.NextFireAt.Sub(tk.CreatedAt) > time.Second {
			t.Errorf("the first beat is at %v", tk.NextFireAt)
		}
		for i := range 3 {
			s.Tick()
			if got := s.is(tk.ID, task.Scheduled, task.RanOn); got.TotalTopics != i+1 || got.NextFireAt == nil {
				t.Errorf("after run %d: %+v", i+1, got)
			}
			s.Age(tk.ID, time.Minute)
		}
	},
	"BUG-165": func(t *testing.T) {
		s := begin(t)
		up := s.create(steer.NewTask{Instruction: "First."})
		down := s.create(steer.NewTask{Instruction: "Then.", DependsOn: []steer.NewDependency{{Task: up.ID}}})
		beats := s.create(steer.NewTask{Instruction: "Watch.", Automation: heartbeat(60)})
		every, last := grid(time.Hour)
		backfilled := s.create(steer.NewTask{Instruction: "Count.", Automation: every})
		_, err := s.Steer.PauseWorkspace(s.Context(), s.Caller, "")
		s.Must(err)
		s.Tick()
		s.reconcile()
		_, err = s.Steer.CompleteTask(s.Context(), s.Caller, up.ID)
		s.Must(err)
		_, err = s.Steer.Comment(s.Context(), s.Caller, down.ID, "Go!")
		s.Must(err)
		if _, err := s.Launch.RunTask(s.Context(), s.Caller, down.ID, launch.Request{}); errs.CodeOf(err) != "workspace_paused" {
			t.Errorf("Run now: %v", err)
		}
		s.backfill(backfilled, last.Add(-time.Hour))
		s.Tick()
		s.goOn()
		for _, tk := range []task.Task{up, down, beats, backfilled} {
			if n := len(s.topics(tk.ID)); n > 0 {
				t.Errorf("%s ran %d times", tk.Identifier, n)
			}
		}
		if len(s.Model.Calls) > 0 {
			t.Error("the model was asked")
		}
	},
	"BUG-167": func(t *testing.T) {
		s := begin(t)
		open, waits := s.create(steer.NewTask{Instruction: "Work."}), s.create(steer.NewTask{Instruction: "Watch.", Automation: heartbeat(60)})
		s.run(open.ID)
		_, err := s.Steer.MaintainWorkspace(s.Context(), s.Caller, "a new disk")
		s.Must(err)
		s.Tick()
		if tp := s.topics(open.ID)[0]; tp.Status != topic.Completed {
			t.Errorf("what was open is %s", tp.Status)
		}
		s.Sweep = tick.New(s.Store, s.Log) // another process
		s.Age(waits.ID, time.Minute)
		s.Tick()
		if got := s.ledger(waits.ID); got != "skipped(maintenance) skipped(maintenance)" {
			t.Errorf("ledger: %s", got)
		}
		_, err = s.Steer.ResumeWorkspace(s.Context(), s.Caller, false)
		s.Must(err)
		s.Age(waits.ID, time.Minute)
		s.Tick()
		if got := fmt.Sprint(len(s.topics(waits.ID))); got != "1" {
			t.Errorf("%s runs after its end: %s", got, s.ledger(waits.ID))
		}
	},
}
