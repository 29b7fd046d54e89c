package journey

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
)

// due lets the next time of a task be the given one, as if nobody had been there.
func (s story) due(taskID string, at time.Time) {
	s.Helper()
	s.sql(`update tasks set next_planned_at = $2, next_fire_at = $2 where id = $1`, taskID, at)
}

// elapse lets time pass for a task and for what is in its ledger, by whole periods.
func (s story) elapse(taskID string, by time.Duration) {
	s.Helper()
	for _, d := range []time.Duration{100_000 * time.Hour, by - 100_000*time.Hour} { // so that no two rows meet on their way
		s.sql(`update ticks set planned_at = planned_at - $2::interval, first_planned_at = first_planned_at - $2::interval,
			last_planned_at = last_planned_at - $2::interval, fire_at = fire_at - $2::interval where task_id = $1`, taskID, d)
	}
	s.Age(taskID, by)
}

// ago is a whole minute in the past.
func ago(d time.Duration) time.Time { return time.Now().UTC().Add(-d).Truncate(time.Minute) }

// daily is a cron schedule at the time of the day of an instant.
func daily(at time.Time) *schedule.Automation {
	return cron(fmt.Sprintf("%d %d * * *", at.Minute(), at.Hour()), "UTC")
}

func cron(pattern, zone string) *schedule.Automation {
	return &schedule.Automation{Mode: schedule.Schedule, Pattern: pattern, Timezone: &zone}
}

// compiled is the automation as it would be saved.
func compiled(t *testing.T, a schedule.Automation) schedule.Spec {
	t.Helper()
	c, err := schedule.Canonical(a, schedule.Defaults{Zone: "UTC", MinPeriodSeconds: 1, Now: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := schedule.Parse(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fires checks the next times of a pattern, in UTC.
func fires(t *testing.T, pattern, zone, after string, want ...string) {
	t.Helper()
	from, err := time.Parse(time.RFC3339, after)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range compiled(t, *cron(pattern, zone)).NextN(from, len(want)) {
		got = append(got, f.At.Format(time.RFC3339))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s in %s fires at %v, want %v", pattern, zone, got, want)
	}
}

// most is how many runs of the house are open at once while it is swept and drained.
func (s story) most() func() int {
	n, m := 0, sync.Mutex{}
	s.during(func() {
		var open int
		s.Must(s.Store.Pool().QueryRow(s.Context(), `select count(*) from topics where status = 'running'`).Scan(&open))
		m.Lock()
		defer m.Unlock()
		n = max(n, open)
	})
	return func() int { return n }
}

// catchUp sweeps until nothing that was missed is left.
func (s story) catchUp(taskID string) {
	s.Helper()
	for range 40 {
		s.Tick()
		s.sql(`update tasks set next_fire_at = now() where id = $1 and next_planned_at < now()`, taskID) // one that waits for the run before it
		if got := s.task(taskID); got.NextPlannedAt == nil || got.NextPlannedAt.After(time.Now()) {
			return
		}
	}
	s.Fatal("it never catches up")
}

// future checks that the next time of a task is to come.
func (s story) future(taskID string) task.Task {
	s.Helper()
	got := s.task(taskID)
	if got.NextFireAt == nil || !got.NextFireAt.After(time.Now()) {
		s.Errorf("%s has its next run at %v", got.Identifier, got.NextFireAt)
	}
	return got
}

func mustZone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, _, err := schedule.Zone(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}
