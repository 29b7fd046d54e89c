package schedule

import "time"

// Count returns how many fires lie in [from, to], by arithmetic and not by walking
// over them. Only a pattern and a grid have fires of their own to count.
func (s Spec) Count(from, to time.Time) int64 { return s.count(from.Add(-time.Microsecond), to) }

// Each calls f with the fires in [from, to], the oldest first, until f reports false.
func (s Spec) Each(from, to time.Time, f func(at time.Time) bool) {
	for at, _, ok := s.next(from.Add(-time.Microsecond)); ok && !at.After(to); at, _, ok = s.next(at) {
		if !f(at) {
			return
		}
	}
}

// Part is a run of fires that follow each other; the zero Part is none.
type Part struct {
	First, Last time.Time
	Count       int64
}

// Cut takes one fire out of a run of them, first to last, and returns what is left
// before and after it. A time that is no fire of the run reports false.
func (s Spec) Cut(first, last, at time.Time) (before, after Part, ok bool) {
	if at.Before(first) || at.After(last) || s.Count(at, at) != 1 {
		return Part{}, Part{}, false
	}
	if at.After(first) {
		prev := s.lastUpTo(first, at.Add(-time.Microsecond))
		before = Part{first, prev, s.Count(first, prev)}
	}
	if at.Before(last) {
		next, _, _ := s.next(at)
		after = Part{next, last, s.Count(next, last)}
	}
	return before, after, true
}
