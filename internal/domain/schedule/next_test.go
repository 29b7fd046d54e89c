package schedule

import (
	"testing"
	"time"
)

// at reads an RFC 3339 time of a test.
func at(t testing.TB, text string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func cronSpec(t testing.TB, pattern, zone string) Spec {
	t.Helper()
	s, err := Parse(Automation{Mode: Schedule, Pattern: pattern, Timezone: &zone, Missed: MissedLatest, Overlap: OverlapSkip})
	if err != nil {
		t.Fatalf("%s in %s: %v", pattern, zone, err)
	}
	return s
}

// Every row is a clock change and what the rules say about it.
func TestFiresAroundClockChanges(t *testing.T) {
	for _, c := range []struct {
		name, pattern, zone, after string
		want                       []string // instant and note
	}{
		{"a time in a gap fires at the end of the gap", "30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z",
			[]string{"2026-03-08T07:00:00Z gap", "2026-03-09T06:30:00Z"}},
		{"two times in one gap fire once", "15,45 2 * * *", "America/New_York", "2026-03-07T12:00:00Z",
			[]string{"2026-03-08T07:00:00Z gap", "2026-03-09T06:15:00Z", "2026-03-09T06:45:00Z"}},
		{"a time at the end of the gap takes the lost one in", "30 2,3 * * *", "America/New_York", "2026-03-07T12:00:00Z",
			[]string{"2026-03-08T07:00:00Z gap", "2026-03-08T07:30:00Z", "2026-03-09T06:30:00Z"}},
		{"a time that occurs twice fires once", "30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z",
			[]string{"2026-11-01T05:30:00Z first_of_two", "2026-11-02T06:30:00Z"}},
		{"an hourly interval fires at both", "30 * * * *", "America/New_York", "2026-11-01T04:40:00Z",
			[]string{"2026-11-01T05:30:00Z first_of_two", "2026-11-01T06:30:00Z second_of_two", "2026-11-01T07:30:00Z"}},
		{"asked inside the repeated hour, it has fired already", "30 1 * * *", "America/New_York", "2026-11-01T06:10:00Z",
			[]string{"2026-11-02T06:30:00Z"}},
		{"the end of the repeated hour occurs once", "0 * * * *", "America/New_York", "2026-11-01T04:40:00Z",
			[]string{"2026-11-01T05:00:00Z first_of_two", "2026-11-01T06:00:00Z second_of_two", "2026-11-01T07:00:00Z"}},
		{"an interval inside the gap has no fire", "*/30 2 * * *", "Europe/Berlin", "2026-03-28T10:00:00Z",
			[]string{"2026-03-30T00:00:00Z", "2026-03-30T00:30:00Z"}},
		{"half an hour is left out on Lord Howe", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z",
			[]string{"2026-10-03T15:30:00Z gap", "2026-10-04T15:15:00Z"}},
		{"a time before that gap fires once", "45 1 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z",
			[]string{"2026-10-03T15:15:00Z", "2026-10-04T14:45:00Z"}},
		{"a time after a half-hour repeat is not lost", "15 2 * * *", "Australia/Lord_Howe", "2026-04-04T00:00:00Z",
			[]string{"2026-04-04T15:45:00Z", "2026-04-05T15:45:00Z"}},
		{"midnight that does not exist moves to the first instant of the day", "0 0 * * *", "America/Santiago", "2026-09-05T12:00:00Z",
			[]string{"2026-09-06T04:00:00Z gap", "2026-09-07T03:00:00Z"}},
		{"an interval at that midnight has none", "*/20 0 * * *", "America/Santiago", "2026-09-05T12:00:00Z",
			[]string{"2026-09-07T03:00:00Z"}},
		{"a whole day that does not exist falls onto the next", "0 9,12 * * *", "Pacific/Apia", "2011-12-30T05:00:00Z",
			[]string{"2011-12-30T10:00:00Z gap", "2011-12-30T19:00:00Z"}},
		{"31 December of a leap year, where Go's zone bounds are wrong", "0 3 31 12 *", "America/New_York", "2028-11-01T00:00:00Z",
			[]string{"2028-12-31T08:00:00Z", "2029-12-31T08:00:00Z"}},
		{"an interval walks over that day", "0,30 */2 * 3,10 6,7", "Antarctica/Troll", "2028-10-29T22:30:00Z",
			[]string{"2029-03-03T00:00:00Z"}},
		{"29 February waits eight years over 2100", "0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z",
			[]string{"2104-02-29T00:00:00Z"}},
		{"either day field is enough", "0 0 13 * 5", "UTC", "2026-02-11T00:00:00Z",
			[]string{"2026-02-13T00:00:00Z", "2026-02-20T00:00:00Z"}},
		{"strictly after, also inside a second", "0 9 * * *", "UTC", "2026-02-11T08:59:59.999999Z",
			[]string{"2026-02-11T09:00:00Z", "2026-02-12T09:00:00Z"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := cronSpec(t, c.pattern, c.zone)
			fires := s.NextN(at(t, c.after), len(c.want))
			for i, want := range c.want {
				got := fires[i].At.Format(time.RFC3339)
				if fires[i].Note != "" {
					got += " " + fires[i].Note
				}
				if got != want {
					t.Errorf("fire %d: got %s, want %s", i+1, got, want)
				}
			}
		})
	}
}
