package schedule

import "time"

// Cadence is how often a schedule runs: as it was set, and as it came.
type Cadence struct {
	Configured time.Duration // 0: not known, for a schedule with less than two times to come
	Effective  time.Duration // 0: not known, with less than two runs
	Over       int           // how many runs the effective one is drawn from
}

// Ran is a scheduled run: the time that it stands for, and when it began.
type Ran struct{ Planned, Began time.Time }

// cadenceSample is how many times to come tell the cadence of a pattern that has not
// run yet: weekdays make three whole weeks of it, days fifteen of them.
const cadenceSample = 16

// Cadence compares a schedule with its runs of late, the oldest first. A pattern's own
// cadence is taken over the same stretch of time as the runs', since that of weekday
// mornings is another over a weekend. A heartbeat is set from the end of a run to the
// next, so it comes slower than set by as long as its runs take.
func (s Spec) Cadence(runs []Ran, now time.Time) Cadence {
	c := Cadence{Over: len(runs)}
	var first, last time.Time
	if len(runs) > 1 {
		first, last = runs[0].Planned, runs[len(runs)-1].Planned
		if s.mode == Heartbeat {
			first, last = runs[0].Began, runs[len(runs)-1].Began
		}
		c.Effective = last.Sub(first) / time.Duration(len(runs)-1)
	}
	switch s.mode {
	case Heartbeat:
		c.Configured = s.interval
	case Every:
		c.Configured = time.Duration(s.grid.period) * time.Microsecond
	case Schedule:
		if n := s.Count(first, last); len(runs) > 1 && n > 1 {
			c.Configured = last.Sub(first) / time.Duration(n-1)
		} else if next := s.NextN(now, cadenceSample); len(next) > 1 {
			c.Configured = next[len(next)-1].At.Sub(next[0].At) / time.Duration(len(next)-1)
		}
	}
	return c
}
