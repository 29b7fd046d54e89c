package schedule

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// planTime reads "10:30", "10:30:05" or "11:00+1" (the day after) of 2 March 2026.
func planTime(t *testing.T, text string) time.Time {
	t.Helper()
	if text == "" {
		return time.Time{}
	}
	clock, tomorrow := strings.CutSuffix(text, "+1")
	if strings.Count(clock, ":") == 1 {
		clock += ":00"
	}
	v := at(t, "2026-03-02T"+clock+"Z")
	if tomorrow {
		v = v.AddDate(0, 0, 1)
	}
	return v
}

func planText(v time.Time) string {
	if v.IsZero() {
		return ""
	}
	text := strings.TrimSuffix(v.Format("15:04:05"), ":00")
	if v.Day() == 3 {
		text += "+1"
	}
	return text
}

func verdictText(state, reason string) string {
	if reason == "" {
		return state
	}
	return state + "(" + reason + ")"
}

func rowText(r Row) string {
	text := verdictText(r.State, r.Reason) + " " + planText(r.First)
	if r.Count > 1 {
		text += fmt.Sprintf("-%s x%d", planText(r.Last), r.Count)
	}
	return text
}

// testdata/plans.json is the specification of the missed policy: automation, state and
// now to the rows that are written, all on 2 March 2026 in UTC.
func TestPlan(t *testing.T) {
	data, err := os.ReadFile("testdata/plans.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name                              string
		Automation                        json.RawMessage
		Next, Pending, Now, Verdict, Then string
		Busy, Wait, UsedUp                bool
		Rows                              []string
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			d := testDefaults(t)
			d.Zone = "UTC"
			a, err := canonicalJSON(t, string(c.Automation), d)
			if err != nil {
				t.Fatal(err)
			}
			s, err := Parse(a)
			if err != nil {
				t.Fatal(err)
			}
			now := planTime(t, c.Now)
			got := Plan(s, State{TaskID: "t", NextPlanned: planTime(t, c.Next), Pending: planTime(t, c.Pending), Busy: c.Busy}, now)
			rows := []string{}
			for _, r := range got.Rows {
				rows = append(rows, rowText(r))
				if !r.PlannedAt.Equal(r.Last) || !r.FireAt.Equal(r.PlannedAt) {
					t.Errorf("%s: planned %v, fires %v", rowText(r), r.PlannedAt, r.FireAt)
				}
			}
			if !slices.Equal(rows, c.Rows) {
				t.Errorf("rows %q, want %q", rows, c.Rows)
			}
			if v := verdictText(got.Pending.State, got.Pending.Reason); v != c.Verdict {
				t.Errorf("the pending tick ends %q, want %q", v, c.Verdict)
			}
			fire := got.Next.PlannedAt
			if c.Wait {
				fire = now.Add(WaitAgain)
			}
			if planText(got.Next.PlannedAt) != c.Then || !got.Next.FireAt.Equal(fire) {
				t.Errorf("next %v at %v, want %s", got.Next.PlannedAt, got.Next.FireAt, c.Then)
			}
			if got.Wait != c.Wait || got.UsedUp != c.UsedUp {
				t.Errorf("wait %v, used up %v", got.Wait, got.UsedUp)
			}
		})
	}
}

func TestPlanOnce(t *testing.T) {
	s := OnceAt(planTime(t, "10:00"))
	for _, c := range []struct {
		now, want string
		usedUp    bool
	}{
		{"09:59:59", "", false},
		{"10:00", "pending 10:00", false},
		{"22:00", "pending 10:00", false},
		{"22:00:01", "missed(catch_up_expired) 10:00", true},
	} {
		d := Plan(s, State{NextPlanned: planTime(t, "10:00")}, planTime(t, c.now))
		got := ""
		if len(d.Rows) > 0 {
			got = rowText(d.Rows[0])
		}
		if got != c.want || d.UsedUp != c.usedUp || (d.Next == Slot{}) != (c.want != "") {
			t.Errorf("at %s: %q, %+v", c.now, got, d)
		}
	}
}

func TestPlanHolidays(t *testing.T) {
	s := jsonSpec(t, `{"mode":"schedule","pattern":"0 10 * * *","timezone":"UTC","exclusions":{"calendars":["de"]}}`)
	if !slices.Equal(s.Calendars(), []string{"de"}) {
		t.Error(s.Calendars())
	}
	closed, err := NewDates([]string{"2026-03-02"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := Plan(s, State{NextPlanned: planTime(t, "10:00"), Holidays: closed}, planTime(t, "10:00"))
	if len(d.Rows) != 1 || rowText(d.Rows[0]) != "skipped(excluded_date) 10:00" {
		t.Errorf("%+v", d.Rows)
	}
}

// Years without the server: the ledger says how many times were missed, and the work
// does not grow with them.
func TestPlanAfterALongDowntime(t *testing.T) {
	s := cronSpec(t, "* * * * *", "America/New_York")
	first, now := at(t, "2024-03-02T10:00:00Z"), at(t, "2026-03-02T10:00:30Z")
	started := time.Now()
	d := Plan(s, State{TaskID: "t", NextPlanned: first}, now)
	if took := time.Since(started); took > 100*time.Millisecond {
		t.Errorf("took %v", took)
	}
	if len(d.Rows) != 3 {
		t.Fatalf("%d rows", len(d.Rows))
	}
	expired, coalesced, run := d.Rows[0], d.Rows[1], d.Rows[2]
	if run.State != TickPending || !run.PlannedAt.Equal(at(t, "2026-03-02T10:00:00Z")) {
		t.Errorf("the run is %+v", run)
	}
	if coalesced.State != TickCoalesced || coalesced.Count != 59 {
		t.Errorf("coalesced %+v", coalesced)
	}
	if expired.Reason != ReasonExpired || !expired.First.Equal(first) || !expired.Last.Equal(at(t, "2026-03-02T09:00:00Z")) {
		t.Errorf("expired %+v", expired)
	}
	if total := expired.Count + coalesced.Count + 1; total != int64(now.Sub(first)/time.Minute)+1 {
		t.Errorf("%d times, want %d", total, now.Sub(first)/time.Minute+1)
	}
}

// Whatever the sweeps and the workers do, every planned time is accounted for exactly
// once, in order, and no second tick is ever pending.
func TestPlanAccountsForEveryTimeOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom([]string{"UTC", "America/New_York", "Australia/Lord_Howe"}).Draw(t, "zone")
		a := Automation{Timezone: &zone, Missed: rapid.SampledFrom([]string{MissedLatest, MissedSkip, MissedAll}).Draw(t, "missed"),
			JitterSeconds: rapid.SampledFrom([]int64{0, 0, 30, 4000}).Draw(t, "jitter")}
		if rapid.Bool().Draw(t, "grid") {
			anchor := time.Unix(0, 0)
			a.Mode, a.EverySeconds, a.Anchor = Every, rapid.Int64Range(10, 7200).Draw(t, "period"), &anchor
		} else {
			a.Mode = Schedule
			a.Pattern = rapid.SampledFrom([]string{"* * * * *", "*/7 1-3 * * *", "0 * * * *", "30 1,2 * * *", "15 2 * * 0", "0 9 * * 1-5"}).Draw(t, "pattern")
		}
		if rapid.Bool().Draw(t, "window") {
			a.CatchUpSeconds = new(rapid.Int64Range(0, 4*3600).Draw(t, "catch up"))
		}
		if rapid.Bool().Draw(t, "hours") {
			a.Conditions = &Conditions{ActiveDays: []int{1, 2, 3, 6}, ActiveHours: &Hours{"01:30", "16:00"}}
		}
		start := time.Date(2026, rapid.SampledFrom([]time.Month{3, 4, 10, 11}).Draw(t, "month"), 1, 12, 0, 0, 0, time.UTC)
		if rapid.Bool().Draw(t, "end") {
			end := start.Add(30 * time.Hour)
			a.EndsAt = &end
		}
		s, err := Parse(a)
		if err != nil {
			t.Fatal(err)
		}
		st := State{TaskID: "t", NextPlanned: s.Arm("t", start).PlannedAt}
		if st.NextPlanned.IsZero() { // the end comes before the first fire
			return
		}
		now, accounted := start, start // accounted: the last planned time with a row
		for range 25 {
			now = now.Add(time.Duration(rapid.OneOf(rapid.IntRange(1, 90), rapid.IntRange(1, 3600), rapid.IntRange(1, 3*86400)).Draw(t, "sleep")) * time.Second)
			switch rapid.IntRange(0, 2).Draw(t, "worker") {
			case 0: // took the tick and is at work
				st.Pending, st.Busy = time.Time{}, st.Busy || !st.Pending.IsZero()
			case 1: // has ended
				st.Pending, st.Busy = time.Time{}, false
			}
			d := Plan(s, st, now)
			if d.Pending.State != "" {
				if st.Pending.IsZero() {
					t.Fatal("ended a tick that is not there")
				}
				st.Pending = time.Time{}
			}
			for _, r := range d.Rows {
				next, _, ok := s.next(accounted)
				if !ok || !r.First.Equal(next) || r.Last.Before(r.First) || !r.PlannedAt.Equal(r.Last) {
					t.Fatalf("row %+v does not follow %v", r, accounted)
				}
				if n := 1 + s.count(r.First, r.Last); n != r.Count {
					t.Fatalf("row %+v stands for %d times", r, n)
				}
				if r.FireAt.After(now) || r.FireAt.Before(r.PlannedAt) {
					t.Fatalf("row %+v at %v", r, now)
				}
				if r.State == TickPending {
					if !st.Pending.IsZero() {
						t.Fatalf("a second pending tick %+v", r)
					}
					if reason, ok := s.Refusal(r.PlannedAt, nil); !ok {
						t.Fatalf("%v runs in spite of %s", r.PlannedAt, reason)
					}
					if age := now.Sub(r.FireAt); age > Grace && (age > s.Window() || a.Missed == MissedSkip) {
						t.Fatalf("%v runs %v late", r.PlannedAt, age)
					}
					st.Pending = r.PlannedAt
				}
				accounted = r.Last
			}
			next, _, ok := s.next(accounted)
			if d.UsedUp == ok || !d.Next.PlannedAt.Equal(next) || ok && !d.Next.FireAt.After(now) {
				t.Fatalf("after %v comes %v at %v (used up: %v), want %v", accounted, d.Next.PlannedAt, d.Next.FireAt, d.UsedUp, next)
			}
			if d.Wait && (a.Missed != MissedAll || st.Pending.IsZero() && !st.Busy) {
				t.Fatalf("waits for nothing: %+v", d)
			}
			if again := Plan(s, State{TaskID: "t", NextPlanned: d.Next.PlannedAt, Pending: st.Pending, Busy: st.Busy}, now); len(again.Rows) > 0 || again.Pending.State != "" {
				t.Fatalf("a second look finds more: %+v", again)
			}
			st.NextPlanned = d.Next.PlannedAt
			if !ok {
				return
			}
		}
	})
}

func TestLapsed(t *testing.T) {
	for _, c := range []struct {
		missed, late, want string
	}{
		{"latest", "60s", ""}, {"latest", "1h", ""}, {"latest", "1h1ms", ReasonExpired},
		{"all", "1h", ""}, {"all", "1h1ms", ReasonExpired},
		{"skip", "60s", ""}, {"skip", "61s", ReasonPolicySkip}, {"skip", "2h", ReasonExpired},
	} {
		s := jsonSpec(t, `{"mode":"schedule","pattern":"@hourly","missed":"`+c.missed+`"}`)
		late, err := time.ParseDuration(c.late)
		if err != nil {
			t.Fatal(err)
		}
		fire := planTime(t, "10:00")
		if got, lapsed := s.Lapsed(fire, fire.Add(late)); got != c.want || lapsed != (c.want != "") {
			t.Errorf("%s, %s late: %q, want %q", c.missed, c.late, got, c.want)
		}
	}
}
