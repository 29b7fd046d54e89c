package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The oracle knows nothing of calendars or stretches: it looks at a clock on the wall
// once a minute and compares what it shows with sets of numbers.

// wallPattern is a pattern that was drawn as sets, so that no parser is needed to
// know what it means.
type wallPattern struct {
	text                        string
	minute, hour, dom, mon, dow func(int) bool
	domStar, dowStar, interval  bool
}

func (p wallPattern) matches(reading time.Time) bool {
	dom, dow := p.dom(reading.Day()), p.dow(int(reading.Weekday()))
	day := dom && dow
	if !p.domStar && !p.dowStar {
		day = dom || dow
	}
	return p.minute(reading.Minute()) && p.hour(reading.Hour()) && p.mon(int(reading.Month())) && day
}

func drawField(t *rapid.T, name string, lo, hi int, likely []int) (text string, has func(int) bool, star bool) {
	switch rapid.IntRange(0, 4).Draw(t, name) {
	case 0:
		return "*", func(int) bool { return true }, true
	case 1:
		n := rapid.IntRange(2, 15).Draw(t, name+" step")
		return fmt.Sprintf("*/%d", n), func(v int) bool { return (v-lo)%n == 0 }, false
	case 2:
		a := rapid.IntRange(lo, hi).Draw(t, name+" from")
		b := rapid.IntRange(a, hi).Draw(t, name+" to")
		return fmt.Sprintf("%d-%d", a, b), func(v int) bool { return a <= v && v <= b }, false
	}
	set := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(lo, hi), rapid.SampledFrom(likely)), 1, 4).Draw(t, name+" list")
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(set), " ", ","), "[]"), func(v int) bool { return slices.Contains(set, v) }, false
}

func drawPattern(t *rapid.T) (p wallPattern) {
	var m, h, dom, mon, dow string
	var mStar, hStar bool
	m, p.minute, mStar = drawField(t, "minute", 0, 59, []int{0, 30})
	h, p.hour, hStar = drawField(t, "hour", 0, 23, []int{0, 1, 2, 3})
	dom, p.dom, p.domStar = drawField(t, "day", 1, 31, []int{1, 31})
	mon, p.mon, _ = drawField(t, "month", 1, 12, []int{3, 10, 12})
	dow, p.dow, p.dowStar = drawField(t, "weekday", 0, 6, []int{0, 6})
	p.interval = mStar || hStar || m[0] == '*' || h[0] == '*'
	p.text = strings.Join([]string{m, h, dom, mon, dow}, " ")
	return p
}

// fires looks at the wall each minute of (after, until].
func (p wallPattern) fires(loc *time.Location, after, until time.Time) (fires []time.Time) {
	onWall := func(t time.Time) time.Time { // what the wall shows, as if it were UTC
		_, offset := t.In(loc).Zone()
		return t.Add(time.Duration(offset) * time.Second)
	}
	latest := onWall(after.Add(-72 * time.Hour))
	for now := after.Add(-72 * time.Hour).Truncate(time.Minute); !now.After(until); now = now.Add(time.Minute) {
		shown, fire := onWall(now), false
		if p.interval {
			fire = p.matches(shown)
		} else {
			for w := latest.Truncate(time.Minute).Add(time.Minute); !w.After(shown); w = w.Add(time.Minute) {
				fire = fire || p.matches(w)
			}
		}
		if shown.After(latest) {
			latest = shown
		}
		if fire && now.After(after) {
			fires = append(fires, now)
		}
	}
	return fires
}

type change struct {
	loc *time.Location
	at  time.Time
}

// changes are the hours in which a clock was moved, found by looking.
func changes(t testing.TB) (all []change) {
	for _, zone := range []string{
		"America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "America/Santiago", "America/Havana", "Africa/Cairo", "Africa/Casablanca",
		"Antarctica/Troll", "Pacific/Chatham", "Pacific/Apia", "America/St_Johns", "Asia/Gaza", "Asia/Beirut", "Atlantic/Azores", "America/Nuuk", "Europe/Istanbul",
	} {
		loc, _, err := Zone(zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, years := range [][2]int{{2011, 2013}, {2018, 2019}, {2025, 2030}, {2039, 2042}} {
			now, end := time.Date(years[0], 1, 1, 0, 0, 0, 0, time.UTC), time.Date(years[1], 1, 1, 0, 0, 0, 0, time.UTC)
			_, before := now.In(loc).Zone()
			for ; now.Before(end); now = now.Add(time.Hour) {
				_, offset := now.In(loc).Zone()
				if offset != before || now.Month() == 12 && now.Day() == 31 && now.Hour() == 0 {
					all = append(all, change{loc, now})
				}
				before = offset
			}
		}
	}
	return all
}

func TestFiresAgreeWithAWatchedClock(t *testing.T) {
	all := changes(t)
	if len(all) < 200 {
		t.Fatalf("only %d clock changes", len(all))
	}
	rapid.Check(t, func(t *rapid.T) {
		p := drawPattern(t)
		for i := range 4 {
			c := rapid.SampledFrom(all).Draw(t, fmt.Sprint("change", i))
			after := c.at.Add(-time.Duration(rapid.IntRange(-3*3600, 36*3600).Draw(t, "before")) * time.Second)
			until := c.at.Add(30 * time.Hour)
			want := p.fires(c.loc, after, until)
			s, err := Parse(Automation{Mode: Schedule, Pattern: p.text, Timezone: new(c.loc.String())})
			if err != nil {
				if p.domStar || p.dowStar { // "never fires" is the only refusal possible
					return
				}
				t.Fatalf("%s: %v", p.text, err)
			}
			if s.FollowsAbsoluteTime() != p.interval {
				t.Fatalf("%s: the class is wrong", p.text)
			}
			var got []time.Time
			for now := after; ; {
				f, ok := s.Next(now)
				if !ok || f.At.After(until) {
					break
				}
				got, now = append(got, f.At), f.At
			}
			if !slices.EqualFunc(got, want, time.Time.Equal) {
				t.Fatalf("%s in %s after %v:\ngot  %v\nwant %v", p.text, c.loc, after, got, want)
			}
			if n := s.count(after, until); n != int64(len(want)) {
				t.Fatalf("%s in %s after %v: counted %d of %d", p.text, c.loc, after, n, len(want))
			}
			if n := len(want); n > 0 {
				if last := s.lastUpTo(want[0], until); !last.Equal(want[n-1]) {
					t.Fatalf("%s in %s until %v: last %v, want %v", p.text, c.loc, until, last, want[n-1])
				}
			}
		}
	})
}

// Counting years at once is the same as walking over them.
func TestCountIsExactOverYears(t *testing.T) {
	for _, pattern := range []string{"0 2 * * *", "30 2,3 * 3,10,11 0", "0 * * * *", "*/30 1-3 * * 0", "0 0 29 2 *", "0 12 1,15 * 1"} {
		for _, zone := range []string{"UTC", "America/New_York", "Australia/Lord_Howe", "America/Santiago"} {
			s := cronSpec(t, pattern, zone)
			after, until := at(t, "2026-01-10T11:12:13Z"), at(t, "2030-07-20T21:22:23Z")
			var walked int64
			for now := after; ; walked++ {
				f, ok := s.Next(now)
				if !ok || f.At.After(until) {
					break
				}
				now = f.At
			}
			if n := s.count(after, until); n != walked {
				t.Errorf("%s in %s: counted %d, walked over %d", pattern, zone, n, walked)
			}
		}
	}
}

func TestGridReachesBothWays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		period := rapid.Int64Range(1, maxPeriod).Draw(t, "period")
		anchor := time.Unix(rapid.Int64Range(0, 250_000_000_000).Draw(t, "anchor"), 0).UTC()
		after := time.UnixMicro(rapid.Int64Range(0, 200_000_000_000_000_000).Draw(t, "after")).UTC()
		s, err := Parse(Automation{Mode: Every, EverySeconds: period, Anchor: &anchor, Timezone: new("UTC")})
		if err != nil {
			t.Fatal(err)
		}
		f, ok := s.Next(after)
		if !ok || !f.At.After(after) || (f.At.Unix()-anchor.Unix())%period != 0 || f.At.Unix()-after.Unix() > period {
			t.Fatalf("every %d s from %v: after %v comes %v", period, anchor, after, f.At)
		}
		if n := s.count(after, f.At); n != 1 {
			t.Fatalf("counted %d", n)
		}
	})
}
