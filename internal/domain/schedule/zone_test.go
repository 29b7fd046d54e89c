package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
)

func TestZoneNamesInAnyCase(t *testing.T) {
	for in, want := range map[string]string{
		"utc": "UTC", "UTC": "UTC", "gmt": "GMT", "europe/berlin": "Europe/Berlin", "AMERICA/NEW_YORK": "America/New_York",
		"America/Port-au-Prince": "America/Port-au-Prince", "etc/gmt+5": "Etc/GMT+5", "cuba": "Cuba", "us/eastern": "US/Eastern",
	} {
		loc, name, err := Zone(in)
		if err != nil || name != want || loc.String() != want {
			t.Errorf("%s: %s, %v", in, name, err)
		}
	}
}

func TestZoneRefusals(t *testing.T) {
	for in, says := range map[string]string{
		"": "Europe/Berlin", "Local": "Europe/Berlin", "localtime": "Europe/Berlin",
		"EST": "America/New_York", "cet": "Europe/Berlin", "PRC": "Asia/Shanghai", "GMT+0": "Write UTC", "Z": "Write UTC", "ist": "Asia/Kolkata, Europe/Dublin or Asia/Jerusalem",
		"+02:00": "offset", "UTC+2": "offset", "GMT+8": "offset", "-5": "offset", "UTC-03:30": "offset",
		"Berlin": "Europe/Berlin", "new york": "America/New_York", "Asia/Berlin": "Europe/Berlin",
		"Mars/Base": "area and city", "right/UTC": "IANA", "posix/Europe/Berlin": "Europe/Berlin", "../UTC": "IANA", "Factory": "IANA", "Eastern Standard Time": "IANA",
	} {
		_, _, err := Zone(in)
		if errs.KindOf(err) != errs.Invalid || errs.CodeOf(err) != CodeTimezone || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v; want a refusal that says %q", in, err, says)
		}
	}
}

func TestEveryZoneCanBeRead(t *testing.T) {
	names := ZoneNames()
	if len(names) < 500 {
		t.Fatalf("only %d zones", len(names))
	}
	for _, name := range names {
		if _, got, err := Zone(name); err != nil || got != name {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	for abbreviation, places := range abbreviations {
		for _, place := range places {
			if _, _, err := Zone(place); err != nil {
				t.Errorf("%s suggests %v", abbreviation, err)
			}
		}
	}
}

// The host's data must not matter: time.LoadLocation would read this variable first.
func TestZonesIgnoreTheHost(t *testing.T) {
	t.Setenv("ZONEINFO", t.TempDir())
	loc, _, err := Zone("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	if _, offset := time.Unix(1_800_000_000, 0).In(loc).Zone(); offset != 9*3600 {
		t.Errorf("Tokyo is at %d", offset)
	}
}

// A walk over the changes of a zone goes forward, joins without a hole, and shows the
// offset of the zone everywhere, over every year's end until 2060 (Go's own bounds do
// not on 31 December of leap years).
func TestStretchesTileTime(t *testing.T) {
	for _, name := range []string{"UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Antarctica/Troll", "Africa/Casablanca", "Pacific/Apia"} {
		loc, _, err := Zone(name)
		if err != nil {
			t.Fatal(err)
		}
		for now := at(t, "2010-01-01T00:00:00Z").Unix(); now < at(t, "2060-01-01T00:00:00Z").Unix(); {
			s := stretchAt(loc, now)
			if s.end <= now || s.start > now {
				t.Fatalf("%s: %v holds not %d", name, s, now)
			}
			for _, probe := range []int64{now, now + (min(s.end, now+1e9)-now)/2, min(s.end, now+1e9) - 1} {
				if _, offset := time.Unix(probe, 0).In(loc).Zone(); int64(offset) != s.offset {
					t.Fatalf("%s at %d: offset %d, the stretch says %d", name, probe, offset, s.offset)
				}
			}
			now = s.end
		}
	}
}
