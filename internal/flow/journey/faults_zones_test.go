package journey

import (
	"strings"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// faultsOfZones are about what a wall clock shows.
var faultsOfZones = map[string]func(*testing.T){
	"BUG-012": func(t *testing.T) {
		fires(t, "30 18 * * *", "Australia/Sydney", "2026-03-04T07:28:00Z", "2026-03-04T07:30:00Z", "2026-03-05T07:30:00Z")
		s := begin(t)
		sydney, beats := s.create(steer.NewTask{Instruction: "Work.", Automation: cron("30 18 * * *", "Australia/Sydney")}), s.create(steer.NewTask{Instruction: "Watch.", Automation: heartbeat(600)})
		s.due(sydney.ID, time.Now().Add(-time.Second))
		s.Tick()
		s.Tick()
		if a, b := s.ledger(sydney.ID), s.ledger(beats.ID); a != "ran" || b != "ran" {
			t.Errorf("the schedule %s, the heartbeat %s", a, b)
		}
		s.future(sydney.ID)
	},
	"BUG-032": func(t *testing.T) {
		s := begin(t)
		who := s.Caller
		who.Timezone = "Pacific/Auckland"
		tk, err := s.Steer.CreateTask(s.Context(), who, steer.NewTask{Instruction: "Work.", Automation: &schedule.Automation{Mode: schedule.Schedule, Pattern: "0 13 * * *"}})
		s.Must(err)
		if tk.Automation.Timezone == nil || *tk.Automation.Timezone != "Pacific/Auckland" {
			t.Errorf("its zone is %v", tk.Automation.Timezone)
		}
		spec, err := tk.Spec()
		s.Must(err)
		next := spec.NextN(time.Now(), 5)
		for _, f := range next {
			if f.At.In(spec.Location()).Format("15:04") != "13:00" {
				t.Errorf("fires at %v", f.At)
			}
		}
		if len(next) != 5 || !next[0].At.Equal(*tk.NextPlannedAt) {
			t.Errorf("the next five are %v, planned is %v", next, tk.NextPlannedAt)
		}
	},
	"BUG-033": func(t *testing.T) {
		fires(t, "0 3 * * *", "Asia/Shanghai", "2026-03-04T00:00:00Z", "2026-03-04T19:00:00Z", "2026-03-05T19:00:00Z")
	},
	"BUG-034": func(t *testing.T) {
		for _, c := range []struct{ zone, reading, utc string }{
			{"Europe/Oslo", "2026-10-25 02:30", "2026-10-25T00:30:00Z"},
			{"Asia/Shanghai", "2027-03-23 00:00", "2027-03-22T16:00:00Z"},
		} {
			loc, _, err := schedule.Zone(c.zone)
			if err != nil {
				t.Fatal(err)
			}
			reading, err := time.Parse("2006-01-02 15:04", c.reading)
			if err != nil {
				t.Fatal(err)
			}
			if got := schedule.OnWall(reading, loc).UTC().Format(time.RFC3339); got != c.utc {
				t.Errorf("%s in %s is %s", c.reading, c.zone, got)
			}
		}
		fires(t, "30 2 25 10 *", "Europe/Oslo", "2026-10-01T00:00:00Z", "2026-10-25T00:30:00Z", "2027-10-25T00:30:00Z")
	},
	"BUG-035": func(t *testing.T) {
		fires(t, "0 2 * * *", "America/Los_Angeles", "2025-03-08T00:00:00Z", "2025-03-08T10:00:00Z", "2025-03-09T10:00:00Z", "2025-03-10T09:00:00Z")
	},
	"BUG-038": func(t *testing.T) {
		spec := compiled(t, *cron("15 2 * * *", "America/New_York"))
		items := schedule.Preview(spec, time.Date(2026, 3, 7, 12, 0, 0, 0, time.UTC), 2, schedule.Dates{}).Items
		if items[0].Local != "2026-03-08T03:00:00-04:00" || items[0].Note != schedule.NoteGap || items[1].Note != "" {
			t.Errorf("%+v", items)
		}
	},
	"BUG-041": func(t *testing.T) {
		s := begin(t)
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: cron("0 9 * * *", "Asia/Tokyo")})
		before := *tk.NextPlannedAt
		a := *tk.Automation
		paris := "Europe/Paris"
		a.Timezone = &paris
		to := &a
		got, err := s.Steer.EditTask(s.Context(), s.Caller, tk.ID, nil, steer.TaskPatch{Automation: &to})
		s.Must(err)
		if got.NextPlannedAt.Equal(before) || got.NextPlannedAt.In(mustZone(t, paris)).Format("15:04") != "09:00" {
			t.Errorf("its next run is at %v, and was at %v", got.NextPlannedAt, before)
		}
	},
	"BUG-158": func(t *testing.T) {
		s := begin(t)
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: cron("0 9 * * *", "Europe/Paris")})
		s.due(tk.ID, time.Now().Add(-time.Second))
		_, err := s.Sweep.Sweep(s.Context())
		s.Must(err)
		to := cron("0 9 * * *", "America/New_York")
		got, err := s.Steer.EditTask(s.Context(), s.Caller, tk.ID, nil, steer.TaskPatch{Automation: &to})
		s.Must(err)
		spec, err := got.Spec()
		s.Must(err)
		next, _ := spec.Next(time.Now())
		if ledger := s.ledger(tk.ID); ledger != "canceled(canceled_by_edit)" || !got.NextPlannedAt.Equal(next.At) ||
			got.NextPlannedAt.In(spec.Location()).Format("15:04") != "09:00" {
			t.Errorf("ledger: %s, next %v, the preview says %v", ledger, got.NextPlannedAt, next.At)
		}
		s.Drain()
		if n := len(s.topics(tk.ID)); n > 0 {
			t.Errorf("what was void ran %d times", n)
		}
	},
	"BUG-162": func(t *testing.T) {
		s := begin(t)
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: cron("0 0 * * *", "Europe/Warsaw")})
		s.due(tk.ID, time.Now().Add(-time.Second))
		s.Tick()
		if got := s.future(tk.ID); got.NextPlannedAt.In(mustZone(t, "Europe/Warsaw")).Format("15:04") != "00:00" {
			t.Errorf("its next run is at %v", got.NextPlannedAt)
		}
		fires(t, "0 0 * * *", "Europe/Warsaw", "2026-03-04T12:00:00Z", "2026-03-04T23:00:00Z")
	},
	"BUG-166": func(t *testing.T) {
		berlin, epoch := "Europe/Berlin", time.Unix(0, 0)
		spec := compiled(t, schedule.Automation{
			Mode: schedule.Every, EverySeconds: 1800, Anchor: &epoch, Timezone: &berlin,
			Conditions: &schedule.Conditions{ActiveHours: &schedule.Hours{Start: "22:00", End: "05:00"}},
		})
		loc := mustZone(t, berlin)
		for _, night := range []struct {
			from string
			runs int
		}{{"2026-03-28T12:00:00Z", 12}, {"2026-10-24T12:00:00Z", 16}, {"2026-06-01T12:00:00Z", 14}} { // six, eight and seven hours
			from, err := time.Parse(time.RFC3339, night.from)
			if err != nil {
				t.Fatal(err)
			}
			runs := 0
			spec.Each(from, from.Add(24*time.Hour-time.Second), func(at time.Time) bool {
				_, ok := spec.Refusal(at, nil)
				if hour := at.In(loc).Hour(); ok != (hour >= 22 || hour < 5) {
					t.Errorf("at %v in Berlin it may run: %v", at.In(loc), ok)
				}
				if ok {
					runs++
				}
				return true
			})
			if runs != night.runs {
				t.Errorf("%d runs in the night of %s, want %d", runs, night.from, night.runs)
			}
		}
		t.Run("and what is due at one instant starts by its priority", func(t *testing.T) {
			s := begin(t)
			for _, p := range []task.Priority{"low", "normal", "urgent", "high"} {
				tk := s.create(steer.NewTask{Instruction: "Work.", Name: string(p), Priority: p, Automation: everyTenMinutes()})
				s.Age(tk.ID, 5*time.Minute+time.Second)
			}
			s.Tick()
			topics, _, err := s.Store.RecentTopics(t.Context(), s.Scope(), store.Page{})
			s.Must(err)
			var order []string
			for _, tp := range topics {
				order = append([]string{s.task(tp.TaskID).Name}, order...)
			}
			if got := strings.Join(order, " "); got != "urgent high normal low" {
				t.Errorf("they started as %s", got)
			}
		})
	},
}
