package schedule

import (
	"testing"
	"time"
)

func TestRefusal(t *testing.T) {
	const night = `"conditions":{"activeDays":[5],"activeHours":{"start":"22:00","end":"06:00"}}`
	const office = `"conditions":{"activeDays":[1,2,3,4,5],"activeHours":{"start":"09:00","end":"17:00"}}`
	for _, c := range []struct{ name, rules, planned, want string }{
		{"no rules", ``, "2026-01-02T22:00:00+01:00", ""},
		{"the start is included", `"startsAt":"2026-01-02T00:00:00Z"`, "2026-01-02T00:00:00Z", ""},
		{"before the start", `"startsAt":"2026-01-02T00:00:00Z"`, "2026-01-01T23:59:59Z", "outside_bounds"},
		{"the end is included", `"endsAt":"2026-01-02T00:00:00Z"`, "2026-01-02T00:00:00Z", ""},
		{"after the end", `"endsAt":"2026-01-02T00:00:00Z"`, "2026-01-02T00:00:00.000001Z", "outside_bounds"},
		{"the first active minute", office, "2026-01-02T09:00:00+01:00", ""},
		{"the end of the active hours is excluded", office, "2026-01-02T17:00:00+01:00", "outside_active_hours"},
		{"a Saturday at work", office, "2026-01-03T10:00:00+01:00", "outside_active_hours"},
		{"Friday night begins", night, "2026-01-02T22:00:00+01:00", ""},
		{"and goes on into Saturday", night, "2026-01-03T05:59:00+01:00", ""},
		{"until six", night, "2026-01-03T06:00:00+01:00", "outside_active_hours"},
		{"the small hours of Friday belong to Thursday", night, "2026-01-02T02:00:00+01:00", "outside_active_hours"},
		{"Saturday night", night, "2026-01-03T22:00:00+01:00", "outside_active_hours"},
		{"equal ends are the whole day", `"conditions":{"activeDays":[5],"activeHours":{"start":"08:00","end":"08:00"}}`, "2026-01-02T03:00:00+01:00", ""},
		{"until midnight", `"conditions":{"activeHours":{"start":"09:00","end":"24:00"}}`, "2026-01-02T23:59:00+01:00", ""},
		{"midnight is excluded", `"conditions":{"activeHours":{"start":"09:00","end":"24:00"}}`, "2026-01-03T00:00:00+01:00", "outside_active_hours"},
		{"a date is that of the zone", `"exclusions":{"dates":["2026-12-25"]}`, "2026-12-24T23:30:00Z", "excluded_date"},
		{"the evening before", `"exclusions":{"dates":["2026-12-25"]}`, "2026-12-24T22:30:00Z", ""},
		{"both ends of a range", `"exclusions":{"ranges":[{"from":"2026-08-01","to":"2026-08-14"}]}`, "2026-08-14T21:59:00Z", "excluded_date"},
		{"the day after a range", `"exclusions":{"ranges":[{"from":"2026-08-01","to":"2026-08-14"}]}`, "2026-08-14T22:00:00Z", ""},
		{"ranges that overlap", `"exclusions":{"dates":["2026-08-20"],"ranges":[{"from":"2026-08-01","to":"2026-08-14"},{"from":"2026-08-02","to":"2026-08-03"}]}`, "2026-08-10T12:00:00Z", "excluded_date"},
		{"the instant that a gap moved a time to", `"conditions":{"activeHours":{"start":"02:00","end":"03:00"}}`, "2026-03-29T01:00:00Z", "outside_active_hours"},
		{"bounds come before dates, dates before hours", `"endsAt":"2026-01-01T00:00:00Z","exclusions":{"dates":["2026-01-03"]},` + office, "2026-01-03T10:00:00Z", "outside_bounds"},
		{"dates before hours", `"exclusions":{"dates":["2026-01-03"]},` + office, "2026-01-03T10:00:00Z", "excluded_date"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := `{"mode":"heartbeat","intervalSeconds":60,"timezone":"Europe/Berlin"`
			if c.rules != "" {
				in += "," + c.rules
			}
			got, ok := jsonSpec(t, in+"}").Refusal(at(t, c.planned), nil)
			if got != c.want || ok != (c.want == "") {
				t.Errorf("got %q, %v; want %q", got, ok, c.want)
			}
		})
	}
}

func TestLimitsThatNeedCounts(t *testing.T) {
	s := jsonSpec(t, `{"mode":"schedule","pattern":"@hourly","maxExecutions":3,"conditions":{"maxExecutionsPerDay":2}}`)
	if s.ExecutionsUsedUp(2) || !s.ExecutionsUsedUp(3) || !s.ExecutionsUsedUp(4) || s.DailyLimitReached(1) || !s.DailyLimitReached(2) {
		t.Error("limits are off by one")
	}
	if s = jsonSpec(t, `{"mode":"schedule","pattern":"@hourly"}`); s.ExecutionsUsedUp(1e6) || s.DailyLimitReached(1e6) {
		t.Error("zero is no limit")
	}
}

func TestDayOf(t *testing.T) {
	for _, c := range []struct{ name, zone, planned, start, end string }{
		{"an ordinary day", "Europe/Berlin", "2026-03-02T23:30:00Z", "2026-03-02T23:00:00Z", "2026-03-03T23:00:00Z"},
		{"the short day", "Europe/Berlin", "2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"},
		{"the long day", "Europe/Berlin", "2026-10-25T12:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"},
		{"midnight does not exist", "America/Santiago", "2026-09-06T12:00:00Z", "2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z"},
		{"midnight occurs twice", "America/Havana", "2026-11-01T05:30:00Z", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"},
		{"the day before was left out", "Pacific/Apia", "2011-12-30T12:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"},
	} {
		start, end := cronSpec(t, "@daily", c.zone).DayOf(at(t, c.planned))
		if !start.Equal(at(t, c.start)) || !end.Equal(at(t, c.end)) {
			t.Errorf("%s: %v to %v", c.name, start, end)
		}
	}
}

func TestHeartbeat(t *testing.T) {
	s := jsonSpec(t, `{"mode":"heartbeat","intervalSeconds":600,"minSeconds":60,"maxSeconds":3600,"startsAt":"2026-03-01T00:00:00Z","endsAt":"2026-03-02T00:00:00Z"}`)
	armed := at(t, "2026-03-01T12:00:00.1234567Z")
	for _, c := range []struct {
		name string
		got  Slot
		want string
	}{
		{"the first beat is at the arming", s.Arm("t", armed), "2026-03-01T12:00:00.123456Z"},
		{"or at the start", s.Arm("t", at(t, "2026-02-01T00:00:00Z")), "2026-03-01T00:00:00Z"},
		{"then the interval after the end of a run", s.Beat("t", armed, 0), "2026-03-01T12:10:00.123456Z"},
		{"a proposal counts", s.Beat("t", at(t, "2026-03-01T12:00:00Z"), 90*time.Second), "2026-03-01T12:01:30Z"},
		{"from the lower end of the pace", s.Beat("t", at(t, "2026-03-01T12:00:00Z"), time.Second), "2026-03-01T12:01:00Z"},
		{"to the upper", s.Beat("t", at(t, "2026-03-01T12:00:00Z"), 48*time.Hour), "2026-03-01T13:00:00Z"},
		{"the end is included", s.Beat("t", at(t, "2026-03-01T23:50:00Z"), 0), "2026-03-02T00:00:00Z"},
		{"nothing after it", s.Beat("t", at(t, "2026-03-01T23:50:01Z"), 0), "0001-01-01T00:00:00Z"},
	} {
		if got := c.got.PlannedAt.Format(time.RFC3339Nano); got != c.want || !c.got.FireAt.Equal(c.got.PlannedAt) {
			t.Errorf("%s: %+v, want %s", c.name, c.got, c.want)
		}
	}
	fixed := jsonSpec(t, `{"mode":"heartbeat","intervalSeconds":600}`)
	if got := fixed.Beat("t", armed, time.Second).PlannedAt; !got.Equal(at(t, "2026-03-01T12:10:00.123456Z")) {
		t.Errorf("a proposal without a pace moved the beat to %v", got)
	}
}

func TestBounds(t *testing.T) {
	s := jsonSpec(t, `{"mode":"schedule","pattern":"0 * * * *","timezone":"UTC","startsAt":"2026-03-01T10:00:00Z","endsAt":"2026-03-01T12:00:00Z"}`)
	fires := s.NextN(at(t, "2020-01-01T00:00:00Z"), 9)
	if len(fires) != 3 || !fires[0].At.Equal(at(t, "2026-03-01T10:00:00Z")) || !fires[2].At.Equal(at(t, "2026-03-01T12:00:00Z")) {
		t.Errorf("both ends are included: %v", fires)
	}
	if _, ok := OnceAt(at(t, "2026-03-01T10:00:00Z")).Next(at(t, "2026-03-01T10:00:00Z")); ok {
		t.Error("a single time comes again")
	}
	if _, ok := cronSpec(t, "* * * * *", "UTC").Next(lastInstant); ok {
		t.Error("fires after the year 9999, which no RFC 3339 time can say")
	}
}

// The formula is shared between versions: these values never change.
func TestJitterVector(t *testing.T) {
	s := jsonSpec(t, `{"mode":"schedule","pattern":"0 * * * *","jitterSeconds":3600}`)
	for _, c := range []struct {
		task, planned, next string
		want                time.Duration
	}{
		{"0198c0de-0000-7000-8000-000000000001", "2026-03-01T12:00:00Z", "2026-03-01T13:00:00Z", 1090727 * time.Millisecond},
		{"0198c0de-0000-7000-8000-000000000001", "2026-03-01T13:00:00Z", "2026-03-01T14:00:00Z", 171287 * time.Millisecond},
		{"0198c0de-0000-7000-8000-000000000002", "2026-03-01T12:00:00Z", "2026-03-01T13:00:00Z", 764159 * time.Millisecond},
		{"", "2026-03-01T12:00:00Z", "", 546154 * time.Millisecond},
	} {
		var next time.Time
		if c.next != "" {
			next = at(t, c.next)
		}
		if got := s.FireAt(c.task, at(t, c.planned), next).Sub(at(t, c.planned)); got != c.want {
			t.Errorf("%q at %s: %v, want %v", c.task, c.planned, got, c.want)
		}
	}
}

// Jitter spreads over its whole range and keeps the order of fires.
func TestJitterRange(t *testing.T) {
	s := jsonSpec(t, `{"mode":"schedule","pattern":"* * * * *","jitterSeconds":3600}`)
	planned, seen, most := at(t, "2026-03-01T12:00:00Z"), map[time.Duration]bool{}, time.Duration(0)
	for range 1000 {
		slot := s.SlotOf("T-1", planned)
		late := slot.FireAt.Sub(planned)
		if late < 0 || late > 30*time.Second || late%time.Millisecond != 0 || slot != s.SlotOf("T-1", planned) {
			t.Fatal(late)
		}
		seen[late], most = true, max(most, late)
		planned = planned.Add(time.Minute)
	}
	if len(seen) < 900 || most < 29*time.Second {
		t.Errorf("%d different values up to %v", len(seen), most)
	}
	if plain := jsonSpec(t, `{"mode":"schedule","pattern":"* * * * *"}`); plain.SlotOf("T-1", planned).FireAt != planned {
		t.Error("jitter without being asked")
	}
}

// On time, window and lateness count from the jittered time.
func TestPlanCountsFromTheJitteredTime(t *testing.T) {
	s := jsonSpec(t, `{"mode":"schedule","pattern":"0 * * * *","timezone":"UTC","jitterSeconds":1800,"missed":"skip"}`)
	slot := s.SlotOf("0198c0de-0000-7000-8000-000000000001", at(t, "2026-03-01T12:00:00Z"))
	if slot.FireAt.Sub(slot.PlannedAt) < 2*time.Minute {
		t.Fatalf("choose another id, its jitter is %v", slot.FireAt.Sub(slot.PlannedAt))
	}
	st := State{TaskID: "0198c0de-0000-7000-8000-000000000001", NextPlanned: slot.PlannedAt}
	if d := Plan(s, st, slot.FireAt.Add(-time.Millisecond)); len(d.Rows) != 0 || d.Next != slot {
		t.Errorf("early: %+v", d)
	}
	if d := Plan(s, st, slot.FireAt.Add(Grace)); len(d.Rows) != 1 || d.Rows[0].State != TickPending || !d.Rows[0].FireAt.Equal(slot.FireAt) {
		t.Errorf("on time: %+v", d)
	}
	if d := Plan(s, st, slot.FireAt.Add(Grace+time.Millisecond)); d.Rows[0].Reason != ReasonPolicySkip {
		t.Errorf("late: %+v", d)
	}
}
