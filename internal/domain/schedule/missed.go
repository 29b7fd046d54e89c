package schedule

import "time"

// Numbers of the missed policy.
const (
	// Grace is how long after its time, jitter included, a fire is on time: longer
	// than a sweep ever takes, shorter than anybody would call late.
	Grace = 60 * time.Second
	// MaxCatchUp is how many missed times the policy `all` runs.
	MaxCatchUp = 25
	// WaitAgain is when Plan wants to be asked again while a caught-up time waits
	// for the one before it, so that such a task does not crowd every sweep.
	WaitAgain = 5 * time.Second
	// maxJudged is how many times older than the window are judged one by one. None
	// of them would run; beyond it they are counted by arithmetic, so that a year
	// without the server costs a minutely task no half million steps.
	maxJudged = 256
)

// States of a tick that Plan writes.
const (
	TickPending   = "pending"
	TickSkipped   = "skipped"
	TickMissed    = "missed"
	TickCoalesced = "coalesced"
)

// Reasons of ticks that end without a run.
const (
	ReasonExpired    = "catch_up_expired"
	ReasonCoalesced  = "coalesced"
	ReasonPolicySkip = "policy_skip"
)

// State is what Plan needs to know about a task.
type State struct {
	TaskID string
	// NextPlanned is the first planned time that has no tick row; zero is none.
	NextPlanned time.Time
	// Pending is the planned time of the task's pending planned tick; zero is none.
	// There is at most one, and it is earlier than NextPlanned.
	Pending time.Time
	// Busy says that a run of the task is open or that a tick of it is queued or
	// dispatched: the policy `all` runs its times one at a time.
	Busy bool
	// Holidays are the dates of the stored calendars that the automation names.
	Holidays Dates
	// Quiet are the quiet hours of the task's workspace and agent. A caller may leave
	// them out for a time that comes alone: the gate judges it as well.
	Quiet []Quiet
}

// Row is a tick to write: one planned time, or several that follow each other and
// ended alike.
type Row struct {
	PlannedAt time.Time // identity in the ledger; of several the last
	FireAt    time.Time // PlannedAt with its jitter
	State     string
	Reason    string
	First     time.Time // planned times that the row stands for
	Last      time.Time
	Count     int64
}

// Verdict is the end of a tick that exists already; the zero Verdict leaves it.
type Verdict struct{ State, Reason string }

// Decision is what Plan wants written in one transaction, in this order.
type Decision struct {
	// Pending ends the pending tick, before a row takes its place in the unique
	// index over pending ticks.
	Pending Verdict
	// Rows are oldest first. At most one is pending, and none while the old pending
	// tick stays.
	Rows []Row
	// Next is the task's next slot afterwards: the first planned time without a row.
	// While Wait is set, its FireAt is only when to ask again.
	Next Slot
	// Wait says that a missed time stands at Next until the tick or run before it
	// has ended (policy `all`).
	Wait bool
	// UsedUp says that no planned time follows inside the bounds: the task is
	// complete once its open tick and its run have ended. A heartbeat or one-shot
	// whose tick has just been written is not used up by that.
	UsedUp bool
}

// Plan accounts for every planned time of a task that is due at now and has no tick
// row yet, by the missed policy. It is called by the sweep with the task row locked,
// and is safe to call at any time: nothing due, nothing to write.
//
// A time is due when its FireAt has come. First the times that bounds, dates, days or
// hours refuse end as skipped with that reason (limits that need counts are the
// gate's, at the dispatch). Of the rest the newest is on time while it is at most
// Grace old, and runs under every policy. What is older than the window, its edge
// included, is missed(catch_up_expired). What remains is missed:
//
//   - latest: the newest runs, if none is on time; the others are coalesced
//   - skip: missed(policy_skip)
//   - all: the newest MaxCatchUp run, oldest first and one at a time; the rest is
//     missed(catch_up_expired)
//
// The tick that is still pending counts as one of the times, the oldest: a run that
// nobody started in time is as missed as one that nobody planned.
//
// The work is bounded by the window (at most 31 days), not by the downtime. When more
// than 256 times are older than the window, they become one row
// missed(catch_up_expired) with an exact count, and none of them is judged for a
// refusal.
func Plan(s Spec, st State, now time.Time) Decision {
	switch {
	case st.NextPlanned.IsZero():
		return Decision{}
	case s.mode == Heartbeat || s.mode == Once:
		return planSingle(s, st, now)
	}
	first := st.NextPlanned
	if !st.Pending.IsZero() && !first.After(st.Pending) { // has its row already
		first, _, _ = s.next(st.Pending)
	}
	return planSeries(s, st, first, now)
}

// Lapsed judges a single planned time that comes to its dispatch only now: whether it
// is missed, and why. Plan sees a pending tick again only when the next time is due;
// the dispatch of one that waited long asks this.
func (s Spec) Lapsed(fireAt, now time.Time) (reason string, lapsed bool) {
	switch age := now.Sub(fireAt); {
	case age <= Grace:
		return "", false
	case age > s.window:
		return ReasonExpired, true
	case s.missed == MissedSkip:
		return ReasonPolicySkip, true
	}
	return "", false
}

// planSingle treats the kinds that have one planned time at a time.
func planSingle(s Spec, st State, now time.Time) Decision {
	next := time.Time{}
	if s.mode == Heartbeat {
		next = st.NextPlanned.Add(s.interval)
	}
	fire := s.FireAt(st.TaskID, st.NextPlanned, next)
	if fire.After(now) {
		return Decision{Next: Slot{st.NextPlanned, fire}}
	}
	if !st.Pending.IsZero() { // it has its open tick, the end of that sets the next fire
		return Decision{}
	}
	row := Row{PlannedAt: st.NextPlanned, FireAt: fire, State: TickPending, First: st.NextPlanned, Last: st.NextPlanned, Count: 1}
	if reason, ok := s.Refusal(st.NextPlanned, st.Holidays, st.Quiet...); !ok {
		row.State, row.Reason = TickSkipped, reason
	} else if reason, lapsed := s.Lapsed(fire, now); lapsed {
		row.State, row.Reason = TickMissed, reason
	}
	d := Decision{Rows: []Row{row}}
	if row.State != TickPending {
		if s.mode == Heartbeat {
			d.Next = s.Beat(st.TaskID, now, 0)
		}
		d.UsedUp = d.Next.PlannedAt.IsZero()
	}
	return d
}

// dueTime is a planned time that has come, and what becomes of it.
type dueTime struct {
	at, fire time.Time
	existing bool // the tick that is pending already
	run      bool
	onTime   bool
	end      Verdict
}

func planSeries(s Spec, st State, first, now time.Time) Decision {
	var d Decision
	cursor, ok := first, !first.IsZero()
	var due []dueTime
	if !st.Pending.IsZero() {
		due = append(due, dueTime{at: st.Pending, fire: s.SlotOf(st.TaskID, st.Pending).FireAt, existing: true})
	}
	if ok {
		cursor, ok = d.expireFar(&s, st.TaskID, first, now.Add(-s.window-s.jitter-time.Microsecond))
	}
	planned := len(due)
	for ok {
		next, _, more := s.next(cursor)
		fire := s.FireAt(st.TaskID, cursor, next)
		if fire.After(now) {
			d.Next = Slot{cursor, fire}
			break
		}
		due = append(due, dueTime{at: cursor, fire: fire})
		cursor, ok = next, more
	}
	d.UsedUp = !ok
	if len(due) == planned && len(d.Rows) == 0 { // nothing new has come, the pending tick has its time
		return d
	}
	judge(&s, due, st, now)
	d.write(due, s.missed == MissedAll && st.Busy, now)
	return d
}

// expireFar accounts for the times up to edge, from first on, when they are too many
// to be judged one by one. It returns where to go on.
func (d *Decision) expireFar(s *Spec, taskID string, first, edge time.Time) (time.Time, bool) {
	if first.After(edge) {
		return first, true
	}
	n := 1 + s.count(first, edge)
	if n <= maxJudged {
		return first, true
	}
	last := s.lastUpTo(first, edge)
	next, _, ok := s.next(last)
	d.Rows = []Row{{PlannedAt: last, FireAt: s.FireAt(taskID, last, next), State: TickMissed, Reason: ReasonExpired, First: first, Last: last, Count: n}}
	return next, ok
}

// judge decides over due times, newest first, so that the newest win.
func judge(s *Spec, due []dueTime, st State, now time.Time) {
	room := map[string]int{MissedLatest: 1, MissedAll: MaxCatchUp}[s.missed]
	newest := true
	for i := len(due) - 1; i >= 0; i-- {
		t := &due[i]
		if reason, ok := s.Refusal(t.at, st.Holidays, st.Quiet...); !ok {
			t.end = Verdict{TickSkipped, reason}
			continue
		}
		age := now.Sub(t.fire)
		switch {
		case newest && age <= Grace:
			t.run, t.onTime = true, true
			if s.missed == MissedLatest {
				room = 0 // it absorbs the others
			}
		case age > s.window:
			t.end = Verdict{TickMissed, ReasonExpired}
		case room > 0:
			t.run = true
			room--
		case s.missed == MissedSkip:
			t.end = Verdict{TickMissed, ReasonPolicySkip}
		case s.missed == MissedAll:
			t.end = Verdict{TickMissed, ReasonExpired}
		default:
			t.end = Verdict{TickCoalesced, ReasonCoalesced}
		}
		newest = false
	}
}

// write turns verdicts into rows, oldest first, and stops before a second time that
// is to run: that one stays the next slot until the first has ended. oneAtATime also
// holds back the first one that was missed.
func (d *Decision) write(due []dueTime, oneAtATime bool, now time.Time) {
	open := false
	for _, t := range due {
		switch {
		case t.run && t.existing:
			open = true
		case t.run && (open || oneAtATime && !t.onTime):
			d.Next, d.Wait, d.UsedUp = Slot{t.at, now.Add(WaitAgain)}, true, false
			return
		case t.run:
			d.Rows = append(d.Rows, Row{PlannedAt: t.at, FireAt: t.fire, State: TickPending, First: t.at, Last: t.at, Count: 1})
			open = true
		case t.existing:
			d.Pending = t.end
		default:
			d.collapse(t)
		}
	}
}

// collapse adds a time that does not run to the row before it when both ended alike.
func (d *Decision) collapse(t dueTime) {
	if n := len(d.Rows); n > 0 {
		if r := &d.Rows[n-1]; r.State == t.end.State && r.Reason == t.end.Reason {
			r.PlannedAt, r.FireAt, r.Last = t.at, t.fire, t.at
			r.Count++
			return
		}
	}
	d.Rows = append(d.Rows, Row{PlannedAt: t.at, FireAt: t.fire, State: t.end.State, Reason: t.end.Reason, First: t.at, Last: t.at, Count: 1})
}
