package schedule

import (
	"testing"
	"time"
)

func TestTheInstantOfAReading(t *testing.T) {
	for _, c := range []struct{ name, zone, reading, utc string }{
		{"an ordinary one", "Europe/Oslo", "2026-07-01 12:00", "2026-07-01 10:00"},
		{"it occurs twice: the first", "Europe/Oslo", "2026-10-25 02:30", "2026-10-25 00:30"},
		{"twice by half an hour", "Australia/Lord_Howe", "2026-04-05 01:45", "2026-04-04 14:45"},
		{"it does not occur: the first instant after the gap", "America/New_York", "2026-03-08 02:30", "2026-03-08 07:00"},
		{"midnight does not occur", "Africa/Cairo", "2026-04-24 00:00", "2026-04-23 22:00"},
		{"a day that was left out", "Pacific/Apia", "2011-12-30 12:00", "2011-12-30 10:00"},
		{"far in the east", "Pacific/Kiritimati", "2026-01-01 00:00", "2025-12-31 10:00"},
		{"without a clock change", "UTC", "2026-03-08 02:30", "2026-03-08 02:30"},
	} {
		loc, _, err := Zone(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		reading, err := time.ParseInLocation("2006-01-02 15:04", c.reading, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		if got := OnWall(reading, loc).UTC().Format("2006-01-02 15:04"); got != c.utc {
			t.Errorf("%s: %s in %s is %s UTC, want %s", c.name, c.reading, c.zone, got, c.utc)
		}
	}
}
