package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"time"
)

// FireAt returns when a planned time is dispatched: the planned time plus the jitter
// of this task, whole milliseconds in [0, jitterSeconds], at most half the gap to
// the next fire (zero: there is none), so that fires never change their order. It
// depends on the task and the planned time alone. Replicas of different versions
// share the formula, so it never changes; a test vector holds it.
func (s Spec) FireAt(taskID string, planned, next time.Time) time.Time {
	most := s.jitter
	if !next.IsZero() {
		most = min(most, next.Sub(planned)/2)
	}
	if most <= 0 {
		return planned
	}
	key := binary.BigEndian.AppendUint64(append([]byte(taskID), 0), uint64(planned.UnixMicro()))
	sum := sha256.Sum256(key)
	ms, _ := bits.Mul64(binary.BigEndian.Uint64(sum[:8]), uint64(most/time.Millisecond)+1)
	return planned.Add(time.Duration(ms) * time.Millisecond)
}

// Slot is a planned time and when it is dispatched: what a task caches as its next
// fire. The zero Slot is none.
type Slot struct{ PlannedAt, FireAt time.Time }

// SlotOf completes a planned time with its dispatch.
func (s Spec) SlotOf(taskID string, planned time.Time) Slot {
	if planned.IsZero() {
		return Slot{}
	}
	next, _, _ := s.next(planned)
	return Slot{planned, s.FireAt(taskID, planned, next)}
}

// Arm returns the first slot of an automation that is armed now: a heartbeat beats
// at once, or when its start comes; every other kind has its first fire after now.
// The zero Slot says that its bounds are used up.
func (s Spec) Arm(taskID string, now time.Time) Slot {
	if s.mode == Heartbeat {
		return s.beat(taskID, now)
	}
	at, _, _ := s.next(now)
	return s.SlotOf(taskID, at)
}

// Resume returns the first slot of an automation that goes on at now, after a pause: a
// heartbeat keeps its distance to the end of its last run, and beats at once when that
// has passed. last is nil when there was none since it was armed.
func (s Spec) Resume(taskID string, last *time.Time, now time.Time) Slot {
	if s.mode == Heartbeat && last != nil {
		slot := s.Beat(taskID, *last, 0)
		if slot == (Slot{}) || slot.FireAt.After(now) {
			return slot
		}
	}
	return s.Arm(taskID, now)
}

// Beat returns the slot of a heartbeat after a run that ended, or a fire that was
// refused, at an instant: the interval later, or what the agent proposed, held
// inside the pace that was set (no proposal: 0). The zero Slot says that the bounds
// are used up.
func (s Spec) Beat(taskID string, end time.Time, proposal time.Duration) Slot {
	return s.BeatAfter(taskID, end, s.Pace(proposal))
}

// BeatAfter is Beat with a wait that the caller has decided on.
func (s Spec) BeatAfter(taskID string, end time.Time, wait time.Duration) Slot {
	return s.beat(taskID, end.Add(wait))
}

// Pace is how long a heartbeat waits after a run: what its agent proposed, held
// between the shortest and the longest wait that were set, or the interval when it
// proposed nothing (0).
func (s Spec) Pace(proposal time.Duration) time.Duration {
	if proposal <= 0 {
		return s.interval
	}
	return min(max(proposal, s.paceLo), s.paceHi)
}

// PaceBounds are the shortest and the longest wait that an agent may propose for
// its heartbeat. They are equal where it has no say.
func (s Spec) PaceBounds() (shortest, longest time.Duration) { return s.paceLo, s.paceHi }

func (s Spec) beat(taskID string, at time.Time) Slot {
	at = latest(at, s.starts).UTC().Truncate(time.Microsecond)
	if !s.ends.IsZero() && at.After(s.ends) || at.After(lastInstant) {
		return Slot{}
	}
	return s.SlotOf(taskID, at)
}
