package schedule

import "time"

// Notes say what a clock change, or the kind of the automation, did to a fire.
const (
	NoteGap         = "gap"           // the time did not exist; it fires when the clock goes on
	NoteFirstOfTwo  = "first_of_two"  // the time occurs twice, this is its first occurrence
	NoteSecondOfTwo = "second_of_two" // an interval schedule fires at the second occurrence too
	NoteEarliest    = "earliest"      // a heartbeat's time if the run before it took no time
)

// Fire is one planned time, in UTC.
type Fire struct {
	At   time.Time
	Note string
}

// Next returns the first fire strictly after an instant and inside the bounds;
// false when there is none. Conditions and exclusions take no fire away, see
// Refusal. For a heartbeat it is the fire that would follow a run ending at that
// instant.
func (s Spec) Next(after time.Time) (Fire, bool) {
	at, reading, ok := s.next(after)
	if !ok {
		return Fire{}, false
	}
	return Fire{at, s.note(at, reading)}, true
}

// NextN returns the next n fires; fewer when the bounds end before.
func (s Spec) NextN(after time.Time, n int) []Fire {
	var fires []Fire
	for len(fires) < n {
		f, ok := s.Next(after)
		if !ok {
			break
		}
		fires, after = append(fires, f), f.At
	}
	return fires
}

// next is Next without the note. For a schedule it also returns the reading of the
// wall clock that the pattern named.
func (s *Spec) next(after time.Time) (at time.Time, reading int64, ok bool) {
	if !s.starts.IsZero() && after.Before(s.starts) && s.mode != Heartbeat {
		after = s.starts.Add(-time.Nanosecond)
	}
	switch s.mode {
	case Schedule:
		var sec int64
		sec, reading, ok = s.nextSchedule(after.Unix()) // floors: later than after is a greater second
		at = time.Unix(sec, 0).UTC()
	case Every:
		at, ok = time.UnixMicro(s.grid.next(after.UnixMicro())).UTC(), true
	case Once:
		at, ok = s.at, s.at.After(after)
	case Heartbeat:
		at, ok = latest(after.Add(s.interval), s.starts).UTC().Truncate(time.Microsecond), true
	}
	if !ok || !s.ends.IsZero() && at.After(s.ends) || at.After(lastInstant) {
		return time.Time{}, 0, false
	}
	return at, reading, true
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// nextSchedule finds the next fire of a pattern, in seconds.
//
// A wall-clock schedule fires at the first instant whose reading is the named one or
// later, for the smallest named reading that no instant up to after has shown. That
// is one definition for both rules (once after a gap, first occurrence only in an
// overlap), and times that one gap swallows fall together by themselves.
//
// An interval schedule fires wherever the reading matches. Inside a stretch of one
// offset instants and readings run alike, so the rest of the current stretch is
// searched, then each following one from its first reading on.
func (s *Spec) nextSchedule(after int64) (at, reading int64, ok bool) {
	cal := &s.pattern.calendar
	if !s.pattern.interval {
		shown, here := reached(s.loc, after)
		if reading, ok = cal.next(shown + 1); !ok {
			return 0, 0, false
		}
		return firstReach(s.loc, here, reading), reading, true
	}
	for from := after + 1; from < after+searchYears*366*daySeconds; {
		st := stretchAt(s.loc, from)
		if reading, ok = cal.next(from + st.offset); !ok {
			return 0, 0, false
		}
		if at = reading - st.offset; at < st.end {
			return at, reading, true
		}
		from = st.end
	}
	return 0, 0, false
}

// note compares a fire with the changes around it.
func (s *Spec) note(at time.Time, named int64) string {
	if s.mode == Heartbeat {
		return NoteEarliest
	}
	if s.mode != Schedule {
		return ""
	}
	sec := at.Unix()
	here := stretchAt(s.loc, sec)
	shown := sec + here.offset
	switch {
	case shown != named:
		return NoteGap
	case here.start > farPast && shown < here.start+stretchAt(s.loc, here.start-1).offset:
		return NoteSecondOfTwo
	case here.end < farFuture && shown >= here.end+stretchAt(s.loc, here.end).offset:
		return NoteFirstOfTwo
	}
	return ""
}

// grid is a period and a point on it, in microseconds since 1970: time.Duration
// would overflow after 292 years.
type grid struct{ anchor, period int64 }

func (g grid) next(after int64) int64 {
	return g.anchor + (floorDiv(after-g.anchor, g.period)+1)*g.period
}

// count returns how many fires lie in (after, until], by arithmetic and not by
// walking over them.
func (s *Spec) count(after, until time.Time) int64 {
	if !s.starts.IsZero() && after.Before(s.starts) {
		after = s.starts.Add(-time.Microsecond)
	}
	if !s.ends.IsZero() && until.After(s.ends) {
		until = s.ends
	}
	if !after.Before(until) {
		return 0
	}
	switch s.mode {
	case Schedule:
		if s.pattern.interval {
			return s.countInterval(after.Unix(), until.Unix())
		}
		return s.countWall(after.Unix(), until.Unix())
	case Every:
		return floorDiv(until.UnixMicro()-s.grid.anchor, s.grid.period) - floorDiv(after.UnixMicro()-s.grid.anchor, s.grid.period)
	}
	return 0
}

func (s *Spec) countInterval(after, until int64) (n int64) {
	for from := after + 1; from <= until; {
		st := stretchAt(s.loc, from)
		to := min(st.end, until+1)
		n += s.pattern.count(from+st.offset, to+st.offset)
		from = to
	}
	return n
}

// countWall counts the named readings that are first reached in the interval, and
// takes those together that a gap maps to its end.
func (s *Spec) countWall(after, until int64) int64 {
	from, here := reached(s.loc, after)
	to, _ := reached(s.loc, until)
	n := s.pattern.count(from+1, to+1)
	for here.end <= until {
		before, _ := reached(s.loc, here.end-1)
		var behind int64
		behind, here = reached(s.loc, here.end)
		if k := s.pattern.count(before+1, behind+1); k > 1 {
			n -= k - 1
		}
	}
	return n
}

// lastUpTo returns the last fire at or before until, given that first is a fire not
// after it: a search for the latest instant whose next fire is not later.
func (s *Spec) lastUpTo(first, until time.Time) time.Time {
	isBefore := func(t time.Time) bool { at, _, ok := s.next(t); return ok && !at.After(until) }
	if !isBefore(first) {
		return first
	}
	lo, hi := first.Unix(), until.Unix()+1
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; isBefore(time.Unix(mid, 0)) {
			lo = mid
		} else {
			hi = mid
		}
	}
	at, _, _ := s.next(time.Unix(lo, 0))
	return at
}
