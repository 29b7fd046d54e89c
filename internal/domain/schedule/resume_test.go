package schedule

import (
	"testing"
	"time"
)

func TestAHeartbeatGoesOnAtItsDistanceFromTheLastRun(t *testing.T) {
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) *time.Time { at := now.Add(-d); return &at }
	for _, c := range []struct {
		name string
		last *time.Time
		ends time.Duration // from now; 0: never
		want time.Duration // from now
		none bool
	}{
		{"a run ten minutes ago", ago(10 * time.Minute), 0, 50 * time.Minute, false},
		{"a run a day ago", ago(24 * time.Hour), 0, 0, false},
		{"no run yet", nil, 0, 0, false},
		{"its next time is after its end", ago(10 * time.Minute), 30 * time.Minute, 0, true},
	} {
		utc := "UTC"
		a := Automation{Mode: Heartbeat, IntervalSeconds: 3600, Timezone: &utc}
		if c.ends > 0 {
			at := now.Add(c.ends)
			a.EndsAt = &at
		}
		s, err := Parse(a)
		if err != nil {
			t.Fatal(err)
		}
		got := s.Resume("task", c.last, now)
		if (got == Slot{}) != c.none || !c.none && !got.FireAt.Equal(now.Add(c.want)) {
			t.Errorf("%s: %+v, want %v from now", c.name, got, c.want)
		}
	}
}
