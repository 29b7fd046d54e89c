package journey

import (
	"strings"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
	"github.com/dogwatch/dogwatch/internal/flow/tick"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// faultsOfLateness are about times that passed while nobody was there.
var faultsOfLateness = map[string]func(*testing.T){
	"BUG-002": func(t *testing.T) {
		s := begin(t)
		for _, late := range []struct {
			by           time.Duration
			once, ledger string
		}{{2 * time.Minute, "ran", "ran"}, {13 * time.Hour, "missed(catch_up_expired)", "missed(catch_up_expired)"}} {
			at := ago(late.by)
			soon := time.Now().Add(time.Hour)
			once := s.create(steer.NewTask{Instruction: "Once.", StartAt: &soon})
			s.sql(`update tasks set start_at = $2 where id = $1`, once.ID, at)
			cron := s.create(steer.NewTask{Instruction: "Daily.", Automation: daily(at)})
			s.due(once.ID, at)
			s.due(cron.ID, at)
			s.Tick()
			if a, b := s.ledger(once.ID), s.ledger(cron.ID); a != late.once || b != late.ledger {
				t.Errorf("%v late: the one-off %s, the schedule %s", late.by, a, b)
			}
			s.future(cron.ID)
		}
	},
	"BUG-003": func(t *testing.T) {
		s := begin(t)
		window := int64(1800)
		for i := range 5 {
			at := ago(12*time.Hour - time.Duration(i)*6*time.Minute)
			a := daily(at)
			a.CatchUpSeconds = &window
			tk := s.create(steer.NewTask{Instruction: "Work.", Automation: a})
			s.due(tk.ID, at)
			s.Tick()
			if got := s.ledger(tk.ID); got != "missed(catch_up_expired)" {
				t.Errorf("ledger: %s", got)
			}
			s.future(tk.ID)
		}
	},
	"BUG-004": func(t *testing.T) {
		s := begin(t)
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: daily(ago(2 * time.Hour))})
		s.due(tk.ID, ago(2*time.Hour))
		s.Tick()
		if got := s.ledger(tk.ID); got != "ran" {
			t.Errorf("ledger: %s", got)
		}
		s.future(tk.ID)
	},
	"BUG-006": func(t *testing.T) {
		s := begin(t)
		for range 4 {
			a := daily(ago(3 * time.Hour))
			a.Missed = schedule.MissedSkip
			tk := s.create(steer.NewTask{Instruction: "Work.", Automation: a})
			s.due(tk.ID, ago(3*time.Hour))
			s.Tick()
			if got := s.ledger(tk.ID); got != "missed(policy_skip)" || len(s.topics(tk.ID)) > 0 {
				t.Errorf("ledger: %s", got)
			}
			s.future(tk.ID)
		}
	},
	"BUG-007": func(t *testing.T) {
		for _, policy := range []string{schedule.MissedLatest, schedule.MissedAll} {
			t.Run(policy, func(t *testing.T) {
				s := begin(t)
				most := s.most()
				a, last := grid(5 * time.Minute)
				a.Missed = policy
				window := int64(3 * 3600)
				a.CatchUpSeconds = &window
				tk := s.create(steer.NewTask{Instruction: "Work.", Automation: a})
				s.due(tk.ID, last.Add(-23*5*time.Minute)) // 24 times, the newest two and a half minutes ago
				s.catchUp(tk.ID)
				want, ledger := 1, "23×coalesced(coalesced) ran"
				if policy == schedule.MissedAll {
					want, ledger = 24, strings.TrimSpace(strings.Repeat("ran ", 24))
				}
				if got := s.ledger(tk.ID); got != ledger || len(s.topics(tk.ID)) != want || most() != 1 {
					t.Errorf("%s; %d runs, at once %d", got, len(s.topics(tk.ID)), most())
				}
			})
		}
	},
	"BUG-008": func(t *testing.T) {
		s := begin(t)
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: heartbeat(60)})
		for i := range 5 {
			if i == 3 {
				s.Sweep = tick.New(s.Store, s.Log) // a new process: nothing is in memory
			}
			s.Tick()
			s.Age(tk.ID, time.Minute)
		}
		if got := s.ledger(tk.ID); got != "ran ran ran ran ran" {
			t.Errorf("ledger: %s", got)
		}
	},
	"BUG-016": func(t *testing.T) {
		s := begin(t)
		at := ago(0).Add(-time.Hour) // an hour ago, and the same time of the two days before
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: daily(at)})
		s.backfill(tk, at.AddDate(0, 0, -2), until(at.AddDate(0, 0, -1)))
		s.Drain()
		s.sql(`insert into ticks (id, workspace_id, task_id, planned_at, fire_at, origin, state, reason, automation_revision, ended_at)
			select gen_random_uuid(), workspace_id, id, $2, $2, 'schedule', 'missed', 'catch_up_expired', automation_revision, now() from tasks where id = $1`, tk.ID, at)
		p := s.backfill(tk, at.AddDate(0, 0, -2), until(at))
		if len(p.Times) != 1 || !p.Times[0].Equal(at) || len(p.AlreadyRan) != 2 {
			t.Errorf("planned %+v", p)
		}
		s.Drain()
		if got := s.ranAt(tk.ID); len(got) != 3 || !got[2].Equal(at) {
			t.Errorf("ran for %v", got)
		}
	},
	"BUG-093": func(t *testing.T) {
		s := begin(t)
		a, _ := grid(5 * time.Minute)
		a.Overlap = schedule.OverlapQueue
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: a})
		for range 3 {
			s.elapse(tk.ID, 24*time.Hour)
			_, err := s.Sweep.Sweep(s.Context()) // a time is pending when the process ends
			s.Must(err)
			s.Sweep = tick.New(s.Store, s.Log)
			if n := strings.Count(s.ledger(tk.ID), "pending") + strings.Count(s.ledger(tk.ID), "queued"); n > 1 {
				t.Errorf("%d wait: %s", n, s.ledger(tk.ID))
			}
		}
		s.Tick()
		if n := len(s.topics(tk.ID)); n != 1 {
			t.Errorf("%d runs: %s", n, s.ledger(tk.ID))
		}
		s.bulk(steer.BulkCancel, store.TaskFilter{Statuses: []string{"scheduled"}})
		if got := s.is(tk.ID, task.Canceled, task.ByPerson); got.NextFireAt != nil {
			t.Errorf("canceled with all others, it still comes at %v", got.NextFireAt)
		}
	},
	"BUG-152": func(t *testing.T) {
		spec := compiled(t, *cron("* * * * *", "UTC"))
		now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		end := now.AddDate(0, 0, 7)
		st := schedule.State{TaskID: "0198c0de-0000-7000-8000-000000000001", NextPlanned: now.Add(time.Minute)}
		steps := []time.Duration{20 * time.Second, time.Minute, 7 * time.Minute, 3 * time.Hour, 31 * time.Hour} // how long nobody looks
		accounted := int64(0)
		for i := 0; now.Before(end); i++ {
			if now = now.Add(steps[(i*i+i/3)%len(steps)]); now.After(end) {
				now = end
			}
			for _, row := range schedule.Plan(spec, st, now).Rows {
				accounted += row.Count
			}
			st.NextPlanned = schedule.Plan(spec, st, now).Next.PlannedAt
		}
		if accounted != 7*24*60 {
			t.Errorf("%d times are accounted for", accounted)
		}
	},
	"BUG-161": func(t *testing.T) {
		s := begin(t)
		anchor := time.Now().UTC().Add(-9 * time.Minute).Truncate(time.Second)
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: &schedule.Automation{Mode: schedule.Every, EverySeconds: 600, Anchor: &anchor}})
		s.due(tk.ID, anchor)
		s.Tick()
		ticks := s.ticks(tk.ID)
		if len(ticks) != 1 || ticks[0].State != topic.TickRan || !ticks[0].Late() || !ticks[0].PlannedAt.Equal(anchor) {
			t.Fatalf("ticks %+v", ticks)
		}
		if got := s.future(tk.ID); !got.NextPlannedAt.Equal(anchor.Add(10 * time.Minute)) {
			t.Errorf("the next is planned for %v", got.NextPlannedAt)
		}
		s.Age(tk.ID, time.Minute+2*time.Second)
		s.Tick()
		if got := s.ledger(tk.ID); got != "ran ran" {
			t.Errorf("ledger: %s", got)
		}
	},
}
