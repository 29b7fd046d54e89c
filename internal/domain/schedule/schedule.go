// Package schedule says when a task runs: the next fires of a heartbeat, a cron
// pattern, a fixed grid or a single time, right over every clock change, and what
// becomes of fires that were missed.
//
// Canonical turns what people ask for into what is stored, Parse turns that into a
// Spec, and every question is a pure function of a Spec and instants: the planner,
// the preview, the catch-up after a downtime, the API and the command line all ask
// the same one. Nothing here reads a clock or the host's zone data.
package schedule

import (
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
)

// Spec is a compiled automation. It is an immutable value that is cheap to hold and
// safe to share; Parse costs some microseconds, so keep it rather than parse again.
type Spec struct {
	mode Mode
	zone string
	loc  *time.Location

	pattern pattern // schedule
	grid    grid    // every

	at             time.Time     // once
	interval       time.Duration // heartbeat
	paceLo, paceHi time.Duration // heartbeat: what the agent may propose

	starts, ends time.Time // both included; zero is unbounded

	overlap, missed string
	window          time.Duration // of catching up
	jitter          time.Duration
	maxExecutions   int
	timeout         time.Duration
	rules           rules
}

// lastInstant is the end of what RFC 3339 can write: there is no fire after it.
var lastInstant = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// Parse compiles a canonical automation. It accepts what Canonical returns; anything
// else is errs.Invalid.
func Parse(a Automation) (Spec, error) {
	if a.Timezone == nil {
		return Spec{}, errs.BadField("automation.timezone", CodeTimezone, nil, "The automation names no time zone. Write one like Europe/Berlin.")
	}
	loc, zone, err := Zone(*a.Timezone)
	if err != nil {
		return Spec{}, err
	}
	s := Spec{
		mode: a.Mode, zone: zone, loc: loc, overlap: a.Overlap, missed: a.Missed,
		jitter: seconds(a.JitterSeconds), maxExecutions: a.MaxExecutions, timeout: seconds(a.TimeoutSeconds),
	}
	if a.StartsAt != nil {
		s.starts = a.StartsAt.UTC()
	}
	if a.EndsAt != nil {
		s.ends = a.EndsAt.UTC()
	}
	if s.rules, err = parseRules(a.Conditions, a.Exclusions); err != nil {
		return Spec{}, err
	}
	switch a.Mode {
	case Heartbeat:
		if a.IntervalSeconds <= 0 || a.IntervalSeconds > maxPeriod {
			return Spec{}, errs.BadField("automation.intervalSeconds", CodeInvalid, a.IntervalSeconds, "A heartbeat needs an interval. Give intervalSeconds.")
		}
		s.interval, s.paceLo, s.paceHi = seconds(a.IntervalSeconds), seconds(a.IntervalSeconds), seconds(a.IntervalSeconds)
		if a.MinSeconds > 0 {
			s.paceLo = seconds(a.MinSeconds)
		}
		if a.MaxSeconds > 0 {
			s.paceHi = seconds(a.MaxSeconds)
		}
	case Schedule:
		if s.pattern, err = parsePattern(a.Pattern); err != nil {
			return Spec{}, err
		}
		if s.pattern.every > 0 {
			return Spec{}, errs.BadField("automation.mode", CodeInvalid, a.Pattern, "A period is stored as mode every. Bring the automation to its canonical form first.")
		}
	case Every:
		if a.EverySeconds <= 0 || a.EverySeconds > maxPeriod || a.Anchor == nil {
			return Spec{}, errs.BadField("automation.everySeconds", CodeInvalid, a.EverySeconds, "A grid needs a period and an anchor. Bring the automation to its canonical form first.")
		}
		s.grid = grid{anchor: a.Anchor.UnixMicro(), period: a.EverySeconds * 1e6}
	default:
		return Spec{}, errs.BadField("automation.mode", CodeInvalid, string(a.Mode), "%q is not a mode. Use heartbeat, schedule or every.", string(a.Mode))
	}
	s.window = s.defaultWindow()
	if a.CatchUpSeconds != nil {
		s.window = seconds(*a.CatchUpSeconds)
	}
	return s, nil
}

// OnceAt compiles the single time of a task with startAt and no automation. It
// follows the missed policy that is the default of every other kind. A time in the
// past has no next fire, and is refused where it is saved.
func OnceAt(at time.Time) Spec {
	s := Spec{mode: Once, zone: "UTC", loc: time.UTC, at: at.UTC().Truncate(time.Microsecond), overlap: OverlapSkip, missed: MissedLatest}
	s.window = s.defaultWindow()
	return s
}

// Windows of catching up, where the automation names none: a task that fires more
// often than daily soon has a better time to run.
const (
	windowOften = time.Hour
	windowDaily = 12 * time.Hour
)

// defaultWindow reads the pattern and not the distance between two fires, which a
// clock change alters.
func (s Spec) defaultWindow() time.Duration {
	switch {
	case s.mode == Schedule && s.pattern.perDay() > 1,
		s.mode == Every && s.grid.period < daySeconds*1e6,
		s.mode == Heartbeat && s.interval < 24*time.Hour:
		return windowOften
	}
	return windowDaily
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }

// Mode is what makes the times.
func (s Spec) Mode() Mode { return s.mode }

// Zone is the canonical name of the zone in which dates and hours are judged.
func (s Spec) Zone() string { return s.zone }

// Location is that zone.
func (s Spec) Location() *time.Location { return s.loc }

// FollowsAbsoluteTime reports whether the times follow absolute time over a clock change
// (interval schedules, grids, heartbeats) rather than the wall clock. An editor says
// so, since 0 * * * * and 0 0-23 * * * differ on the day of a change.
func (s Spec) FollowsAbsoluteTime() bool { return s.mode != Schedule || s.pattern.interval }

// Overlap is what the gate does while a run is in flight.
func (s Spec) Overlap() string { return s.overlap }

// Missed is the policy that Plan applies.
func (s Spec) Missed() string { return s.missed }

// Window is how old a missed time may be, its jitter included, to be caught up.
func (s Spec) Window() time.Duration { return s.window }

// MaxExecutions is how many scheduled runs there may be; 0 is no limit.
func (s Spec) MaxExecutions() int { return s.maxExecutions }

// Timeout is how long a run may go on without progress; 0 is no limit.
func (s Spec) Timeout() time.Duration { return s.timeout }
