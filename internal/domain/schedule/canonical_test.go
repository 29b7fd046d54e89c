package schedule

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
)

func testDefaults(t testing.TB) Defaults {
	return Defaults{Zone: "Europe/Berlin", MinPeriodSeconds: 10, Now: at(t, "2026-03-01T12:00:00.987654Z")}
}

func canonicalJSON(t *testing.T, in string, d Defaults) (Automation, error) {
	t.Helper()
	var a Automation
	if err := json.Unmarshal([]byte(in), &a); err != nil {
		t.Fatal(err)
	}
	return Canonical(a, d)
}

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"a heartbeat takes the default zone and policies", `{"mode":"heartbeat","intervalSeconds":600}`,
			`{"mode":"heartbeat","intervalSeconds":600,"timezone":"Europe/Berlin","overlap":"skip","missed":"latest"}`},
		{"a pace around the interval", `{"mode":"heartbeat","intervalSeconds":600,"minSeconds":60,"maxSeconds":3600}`,
			`{"mode":"heartbeat","intervalSeconds":600,"minSeconds":60,"maxSeconds":3600,"timezone":"Europe/Berlin","overlap":"skip","missed":"latest"}`},
		{"a pattern in numbers, a zone in its own letters", `{"mode":"schedule","pattern":" 00 7  * * mon-FRI ","timezone":"america/new_york"}`,
			`{"mode":"schedule","pattern":"0 7 * * 1-5","timezone":"America/New_York","overlap":"skip","missed":"latest"}`},
		{"@every is a grid from the first arming", `{"mode":"schedule","pattern":"@every 90m","timezone":"utc"}`,
			`{"mode":"every","timezone":"UTC","everySeconds":5400,"anchor":"2026-03-01T12:00:00Z","overlap":"skip","missed":"latest"}`},
		{"@every takes an anchor", `{"mode":"schedule","pattern":"@every 1h","anchor":"2026-01-01T01:00:00+01:00"}`,
			`{"mode":"every","timezone":"Europe/Berlin","everySeconds":3600,"anchor":"2026-01-01T00:00:00Z","overlap":"skip","missed":"latest"}`},
		{"the start anchors a grid that names no anchor", `{"mode":"every","everySeconds":60,"startsAt":"2026-05-01T00:00:30Z"}`,
			`{"mode":"every","timezone":"Europe/Berlin","everySeconds":60,"anchor":"2026-05-01T00:00:30Z","overlap":"skip","missed":"latest","startsAt":"2026-05-01T00:00:30Z"}`},
		{"no catching up is a choice", `{"mode":"schedule","pattern":"@daily","catchUpSeconds":0,"missed":"all","overlap":"queue"}`,
			`{"mode":"schedule","pattern":"0 0 * * *","timezone":"Europe/Berlin","overlap":"queue","missed":"all","catchUpSeconds":0}`},
		{"lists are sorted, Sunday is 0, midnight is 00:00", `{"mode":"schedule","pattern":"@hourly",
			"conditions":{"activeDays":[7,5,1,5],"activeHours":{"start":"09:00","end":"24:00"},"maxExecutionsPerDay":3},
			"exclusions":{"dates":["2026-12-25","2026-01-01","2026-12-25"],"ranges":[{"from":"2026-08-01","to":"2026-08-14"}],"calendars":[" b ","a"]}}`,
			`{"mode":"schedule","pattern":"0 * * * *","timezone":"Europe/Berlin","overlap":"skip","missed":"latest",
			"conditions":{"activeDays":[0,1,5],"activeHours":{"start":"09:00","end":"00:00"},"maxExecutionsPerDay":3},
			"exclusions":{"dates":["2026-01-01","2026-12-25"],"ranges":[{"from":"2026-08-01","to":"2026-08-14"}],"calendars":["a","b"]}}`},
		{"what restricts nothing goes", `{"mode":"schedule","pattern":"@hourly","conditions":{"activeDays":[0,1,2,3,4,5,6],"activeHours":{"start":"08:00","end":"08:00"}},"exclusions":{}}`,
			`{"mode":"schedule","pattern":"0 * * * *","timezone":"Europe/Berlin","overlap":"skip","missed":"latest"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := canonicalJSON(t, c.in, testDefaults(t))
			if err != nil {
				t.Fatal(err)
			}
			got, _ := json.Marshal(out)
			if want := strings.NewReplacer("\n", "", "\t", "").Replace(c.want); string(got) != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			later := Defaults{Zone: "Asia/Tokyo", MinPeriodSeconds: 10, Now: at(t, "2030-01-01T00:00:00Z")}
			again, err := canonicalJSON(t, string(got), later)
			if err != nil {
				t.Fatal(err)
			}
			if twice, _ := json.Marshal(again); string(twice) != string(got) {
				t.Errorf("not a fixed point: %s", twice)
			}
		})
	}
}

func TestCanonicalKeepsTheGridOverAnEdit(t *testing.T) {
	d := testDefaults(t)
	d.KeptAnchor = at(t, "2026-02-01T08:00:00Z")
	a, err := Canonical(Automation{Mode: Every, EverySeconds: 3600}, d)
	if err != nil || !a.Anchor.Equal(d.KeptAnchor) {
		t.Errorf("anchor %v, %v", a.Anchor, err)
	}
}

func TestCanonicalSharesNothingWithItsInput(t *testing.T) {
	hours, days, window := Hours{"09:00", "17:00"}, []int{1, 2}, int64(60)
	in := Automation{Mode: Schedule, Pattern: "@daily", CatchUpSeconds: &window, Conditions: &Conditions{ActiveDays: days, ActiveHours: &hours}}
	out, err := Canonical(in, testDefaults(t))
	if err != nil {
		t.Fatal(err)
	}
	hours.Start, days[0], window = "00:00", 6, 0
	if out.Conditions.ActiveHours.Start != "09:00" || out.Conditions.ActiveDays[0] != 1 || *out.CatchUpSeconds != 60 {
		t.Errorf("a later change of the input reached the canonical value: %+v", out.Conditions)
	}
}

func TestCanonicalRefuses(t *testing.T) {
	for _, c := range []struct{ name, in, field, code, says string }{
		{"no mode", `{}`, "automation.mode", CodeInvalid, "heartbeat, schedule or every"},
		{"once is no automation", `{"mode":"once"}`, "automation.mode", CodeInvalid, "heartbeat"},
		{"a heartbeat without interval", `{"mode":"heartbeat"}`, "automation.intervalSeconds", CodeInvalid, "needs intervalSeconds"},
		{"a heartbeat that is too fast", `{"mode":"heartbeat","intervalSeconds":9}`, "automation.intervalSeconds", CodeInvalid, "smallest period is 10"},
		{"a negative interval", `{"mode":"heartbeat","intervalSeconds":-1}`, "automation.intervalSeconds", CodeInvalid, "too short"},
		{"a pace under the minimum", `{"mode":"heartbeat","intervalSeconds":60,"minSeconds":5}`, "automation.minSeconds", CodeInvalid, "smallest"},
		{"a pace that begins over the interval", `{"mode":"heartbeat","intervalSeconds":60,"minSeconds":90}`, "automation.minSeconds", CodeInvalid, "at most 60"},
		{"a pace that ends under the interval", `{"mode":"heartbeat","intervalSeconds":60,"maxSeconds":30}`, "automation.maxSeconds", CodeInvalid, "at least 60"},
		{"a foreign field", `{"mode":"heartbeat","intervalSeconds":60,"pattern":"@daily"}`, "automation.pattern", CodeInvalid, "Leave it out"},
		{"a pattern that is none", `{"mode":"schedule","pattern":"tomorrow"}`, "automation.pattern", CodePattern, "0 9 * * 1-5"},
		{"no pattern", `{"mode":"schedule"}`, "automation.pattern", CodePattern, "empty"},
		{"@every under the minimum", `{"mode":"schedule","pattern":"@every 9s"}`, "automation.pattern", CodePattern, "@every 10s"},
		{"@every over centuries", `{"mode":"schedule","pattern":"@every 999999h"}`, "automation.pattern", CodePattern, "ten years"},
		{"an empty zone is not the default", `{"mode":"schedule","pattern":"@daily","timezone":""}`, "automation.timezone", CodeTimezone, "Europe/Berlin"},
		{"an abbreviation", `{"mode":"schedule","pattern":"@daily","timezone":"EST"}`, "automation.timezone", CodeTimezone, "America/New_York"},
		{"a grid without period", `{"mode":"every"}`, "automation.everySeconds", CodeInvalid, "needs everySeconds"},
		{"a period that overflows", `{"mode":"every","everySeconds":9223372036854775807}`, "automation.everySeconds", CodeInvalid, "ten years"},
		{"an unknown overlap", `{"mode":"schedule","pattern":"@daily","overlap":"kill"}`, "automation.overlap", CodeInvalid, "skip, queue or cancel"},
		{"an unknown missed policy", `{"mode":"schedule","pattern":"@daily","missed":"none"}`, "automation.missed", CodeInvalid, "latest, skip or all"},
		{"a negative window", `{"mode":"schedule","pattern":"@daily","catchUpSeconds":-1}`, "automation.catchUpSeconds", CodeInvalid, "0 to"},
		{"a jitter of more than a day", `{"mode":"schedule","pattern":"@daily","jitterSeconds":86401}`, "automation.jitterSeconds", CodeInvalid, "86400"},
		{"an end before the start", `{"mode":"schedule","pattern":"@daily","startsAt":"2026-02-01T00:00:00Z","endsAt":"2026-01-01T00:00:00Z"}`, "automation.endsAt", CodeInvalid, "2026-02-01"},
		{"a start before computers", `{"mode":"schedule","pattern":"@daily","startsAt":"0001-01-01T00:00:00Z"}`, "automation.startsAt", CodeInvalid, "1970"},
		{"an eighth day", `{"mode":"schedule","pattern":"@daily","conditions":{"activeDays":[8]}}`, "automation.conditions.activeDays", CodeInvalid, "Sunday"},
		{"an hour 25", `{"mode":"schedule","pattern":"@daily","conditions":{"activeHours":{"start":"25:00","end":"8:00"}}}`, "automation.conditions.activeHours.start", CodeInvalid, "08:30"},
		{"a negative limit", `{"mode":"schedule","pattern":"@daily","conditions":{"maxExecutionsPerDay":-1}}`, "automation.conditions.maxExecutionsPerDay", CodeInvalid, "0 to"},
		{"a date that does not exist", `{"mode":"schedule","pattern":"@daily","exclusions":{"dates":["2026-02-30"]}}`, "automation.exclusions.dates[0]", CodeInvalid, "2026-12-25"},
		{"a range that runs backwards", `{"mode":"schedule","pattern":"@daily","exclusions":{"ranges":[{"from":"2026-02-03","to":"2026-02-01"}]}}`, "automation.exclusions.ranges[0]", CodeInvalid, "Swap"},
		{"a calendar without a name", `{"mode":"schedule","pattern":"@daily","exclusions":{"calendars":[" "]}}`, "automation.exclusions.calendars[0]", CodeInvalid, "name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := canonicalJSON(t, c.in, testDefaults(t))
			var e *errs.Error
			if !errors.As(err, &e) || e.Kind != errs.Invalid || e.Code != c.code {
				t.Fatalf("got %v, want Invalid with %s", err, c.code)
			}
			if f := e.Fields[0]; f.Location != c.field || !strings.Contains(f.Message, c.says) {
				t.Errorf("field %s says %q, want %s saying %q", f.Location, f.Message, c.field, c.says)
			}
		})
	}
}

func TestCanonicalNamesEveryWrongField(t *testing.T) {
	_, err := canonicalJSON(t, `{"mode":"schedule","pattern":"61 * * * *","timezone":"Berlin","missed":"never"}`, testDefaults(t))
	var e *errs.Error
	if !errors.As(err, &e) || e.Code != CodePattern {
		t.Fatal(err)
	}
	var got []string
	for _, f := range e.Fields {
		got = append(got, f.Location)
	}
	if strings.Join(got, " ") != "automation.pattern automation.timezone automation.missed" {
		t.Error(got)
	}
}

func TestParseNeedsTheCanonicalForm(t *testing.T) {
	utc, now := "UTC", time.Unix(0, 0)
	for name, a := range map[string]Automation{
		"no zone":             {Mode: Schedule, Pattern: "@daily"},
		"unknown zone":        {Mode: Schedule, Pattern: "@daily", Timezone: new("Mars/Base")},
		"no interval":         {Mode: Heartbeat, Timezone: &utc},
		"a period as text":    {Mode: Schedule, Pattern: "@every 1h", Timezone: &utc},
		"no anchor":           {Mode: Every, EverySeconds: 60, Timezone: &utc},
		"no period":           {Mode: Every, Anchor: &now, Timezone: &utc},
		"no mode":             {Timezone: &utc},
		"a day that is none":  {Mode: Heartbeat, IntervalSeconds: 60, Timezone: &utc, Conditions: &Conditions{ActiveDays: []int{9}}},
		"a date that is none": {Mode: Heartbeat, IntervalSeconds: 60, Timezone: &utc, Exclusions: &Exclusions{Dates: []string{"soon"}}},
	} {
		if _, err := Parse(a); errs.KindOf(err) != errs.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}
