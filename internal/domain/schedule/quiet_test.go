package schedule_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
)

func quiet(t interface {
	Helper()
	Fatal(...any)
}, h schedule.QuietHours) schedule.Quiet {
	t.Helper()
	c, err := h.Canonical("UTC")
	if err != nil {
		t.Fatal(err)
	}
	q, err := schedule.ParseQuiet("the workspace", c)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestQuietHoursAreJudgedLikeActiveHours(t *testing.T) {
	night := schedule.QuietHours{Start: "22:00", End: "07:00", Timezone: "Europe/Berlin"}
	weekend := schedule.QuietHours{Days: []int{6, 0}, Start: "00:00", End: "24:00", Timezone: "Europe/Berlin"}
	friday := schedule.QuietHours{Days: []int{5}, Start: "22:00", End: "07:00", Timezone: "Europe/Berlin"}
	for name, c := range map[string]struct {
		hours   schedule.QuietHours
		at      string
		covered bool
		ends    string
	}{
		"before the night":                     {night, "2026-01-14T21:59:59+01:00", false, ""},
		"its first minute":                     {night, "2026-01-14T22:00:00+01:00", true, "2026-01-15T07:00:00+01:00"},
		"its last second":                      {night, "2026-01-15T06:59:59+01:00", true, "2026-01-15T07:00:00+01:00"},
		"its end is not in it":                 {night, "2026-01-15T07:00:00+01:00", false, ""},
		"over the gap of spring":               {night, "2026-03-29T01:30:00+01:00", true, "2026-03-29T07:00:00+02:00"},
		"over the hour that comes twice":       {night, "2026-10-25T02:30:00+02:00", true, "2026-10-25T07:00:00+01:00"},
		"the weekend":                          {weekend, "2026-01-17T12:00:00+01:00", true, "2026-01-19T00:00:00+01:00"},
		"a weekday":                            {weekend, "2026-01-16T12:00:00+01:00", false, ""},
		"Friday's night on Saturday":           {friday, "2026-01-17T03:00:00+01:00", true, "2026-01-17T07:00:00+01:00"},
		"the night before Friday is not on it": {friday, "2026-01-16T03:00:00+01:00", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			q := quiet(t, c.hours)
			at, err := time.Parse(time.RFC3339, c.at)
			if err != nil {
				t.Fatal(err)
			}
			if got := q.Covers(at); got != c.covered {
				t.Errorf("covered: %v", got)
			}
			if !c.covered {
				return
			}
			if end, ok := schedule.HushEnds(at, []schedule.Quiet{q}); !ok || end.In(at.Location()).Format(time.RFC3339) != c.ends && !end.Equal(must(time.Parse(time.RFC3339, c.ends))) {
				t.Errorf("ends %v %v, want %s", end, ok, c.ends)
			}
		})
	}
}

func must(t time.Time, err error) time.Time {
	if err != nil {
		panic(err)
	}
	return t
}

// Several windows that follow each other are one silence, and its end is the first
// minute that none of them covers.
func TestTheEndOfASilenceIsTheFirstMinuteOutsideAllWindows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		minute := rapid.Custom(func(rt *rapid.T) string {
			return time.Unix(int64(rapid.IntRange(0, 1439).Draw(rt, "minute"))*60, 0).UTC().Format("15:04")
		})
		var all []schedule.Quiet
		for range rapid.IntRange(1, 3).Draw(rt, "windows") {
			h := schedule.QuietHours{
				Start: minute.Draw(rt, "start"), End: minute.Draw(rt, "end"), Days: rapid.SliceOfN(rapid.IntRange(0, 6), 0, 4).Draw(rt, "days"),
				Timezone: rapid.SampledFrom([]string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"}).Draw(rt, "zone"),
			}
			if c, err := h.Canonical("UTC"); err != nil {
				continue
			} else if again, err := c.Canonical("Asia/Tokyo"); err != nil || again.String() != c.String() {
				rt.Fatalf("%v is not canonical: %v, %v", c, again, err)
			}
			all = append(all, quiet(t, h))
		}
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(0, 365*86400).Draw(rt, "at")) * time.Second)
		end, ok := schedule.HushEnds(at, all)
		if !ok {
			return // they leave no minute of the week
		}
		if schedule.Hush(end, all) != nil || end.Before(at) {
			rt.Fatalf("%v lies in the silence that begins before %v", end, at)
		}
		if before := end.Add(-time.Second); !before.Before(at) && schedule.Hush(before, all) == nil {
			rt.Fatalf("%v is not quiet, and the silence ends at %v", before, end)
		}
	})
}

func TestQuietHoursThatCannotBeAreRefused(t *testing.T) {
	for field, h := range map[string]schedule.QuietHours{
		"quietHours.start":    {Start: "25:00", End: "07:00"},
		"quietHours.end":      {Start: "22:00", End: "7"},
		"quietHours.days":     {Start: "22:00", End: "07:00", Days: []int{8}},
		"quietHours.timezone": {Start: "22:00", End: "07:00", Timezone: "CET"},
		"quietHours":          {Start: "08:00", End: "08:00"},
	} {
		_, err := h.Canonical("UTC")
		if e := (*errs.Error)(nil); !errors.As(err, &e) || e.Fields[0].Location != field {
			t.Errorf("%+v: %v, want a refusal of %s", h, err, field)
		}
	}
	c, err := schedule.QuietHours{Start: "22:00", End: "07:00", Days: []int{6, 7, 5, 0}}.Canonical("europe/berlin")
	if err != nil || c.String() != "22:00 to 07:00 on Sun, Fri and Sat, Europe/Berlin" {
		t.Errorf("%q, %v", c, err)
	}
}

func TestRefusalKnowsHolidaysAndQuietHoursAround(t *testing.T) {
	s, err := schedule.Parse(schedule.Automation{Mode: schedule.Schedule, Pattern: "0 * * * *", Timezone: new("Europe/Berlin")})
	if err != nil {
		t.Fatal(err)
	}
	christmas, err := schedule.DateList{Dates: []string{"2026-12-26", "2026-12-25", "2026-12-25"}}.Set()
	if err != nil {
		t.Fatal(err)
	}
	closed, err := schedule.DateList{Ranges: []schedule.DateRange{{From: "2026-12-27", To: "2027-01-03"}}}.Set()
	if err != nil {
		t.Fatal(err)
	}
	night := quiet(t, schedule.QuietHours{Start: "22:00", End: "07:00", Timezone: "Europe/Berlin"})
	for at, want := range map[string]string{
		"2026-12-24T12:00:00+01:00": "", "2026-12-24T23:00:00+01:00": schedule.ReasonOutsideActiveHours,
		"2026-12-25T23:00:00+01:00": schedule.ReasonExcludedDate, "2027-01-03T12:00:00+01:00": schedule.ReasonExcludedDate, "2027-01-04T12:00:00+01:00": "",
	} {
		if got, _ := s.Refusal(must(time.Parse(time.RFC3339, at)), schedule.Union(christmas, closed), night); got != want {
			t.Errorf("%s: %q, want %q", at, got, want)
		}
	}
}

// Missed times in quiet hours are taken out before the policy chooses: the one that
// is caught up is one that may run.
func TestAMissedTimeInQuietHoursIsNotTheOneThatIsCaughtUp(t *testing.T) {
	s, err := schedule.Parse(schedule.Automation{Mode: schedule.Schedule, Pattern: "0 * * * *", Timezone: new("UTC"), Missed: "latest", CatchUpSeconds: new(int64(86400))})
	if err != nil {
		t.Fatal(err)
	}
	night := quiet(t, schedule.QuietHours{Start: "22:00", End: "07:00", Timezone: "UTC"})
	d := schedule.Plan(s, schedule.State{
		TaskID: "t", NextPlanned: time.Date(2026, 1, 14, 20, 0, 0, 0, time.UTC), Quiet: []schedule.Quiet{night},
	}, time.Date(2026, 1, 15, 5, 30, 0, 0, time.UTC))
	var got []string
	for _, r := range d.Rows {
		got = append(got, r.PlannedAt.Format("15:04 ")+r.State+" "+r.Reason)
	}
	if want := "20:00 coalesced coalesced|21:00 pending |05:00 skipped outside_active_hours"; strings.Join(got, "|") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, "|"), want)
	}
}

func TestACalendarsDatesComeBackCanonical(t *testing.T) {
	l, err := schedule.DateList{
		Dates:  []string{"2026-12-25", "2026-01-01", "2026-12-25"},
		Ranges: []schedule.DateRange{{From: "2026-08-01", To: "2026-08-21"}, {From: "2026-02-01", To: "2026-02-01"}},
	}.Canonical()
	if err != nil || strings.Join(l.Dates, " ") != "2026-01-01 2026-12-25" || l.Ranges[0].From != "2026-02-01" {
		t.Errorf("%+v, %v", l, err)
	}
	for field, l := range map[string]schedule.DateList{
		"dates[1]":       {Dates: []string{"2026-01-01", "2026-02-30"}},
		"ranges[0].to":   {Ranges: []schedule.DateRange{{From: "2026-01-01", To: "x"}}},
		"ranges[0]":      {Ranges: []schedule.DateRange{{From: "2026-01-02", To: "2026-01-01"}}},
		"dates":          {Dates: make([]string, 4001)},
		"ranges":         {Ranges: make([]schedule.DateRange, 1001)},
		"ranges[0].from": {Ranges: []schedule.DateRange{{From: "", To: "2026-01-01"}}},
	} {
		_, err := l.Canonical()
		if e := (*errs.Error)(nil); !errors.As(err, &e) || e.Fields[0].Location != field {
			t.Errorf("%v, want a refusal of %s", err, field)
		}
	}
}
