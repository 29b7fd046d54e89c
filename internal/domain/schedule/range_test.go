package schedule

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestARunOfFiresWithoutOneOfThem(t *testing.T) {
	s := cronSpec(t, "30 2 * * *", "Europe/Berlin")
	day := func(d, h, m int) time.Time { return time.Date(2026, 3, d, h, m, 0, 0, time.UTC) }
	first, gap, last := day(28, 1, 30), day(29, 1, 0), day(30, 0, 30) // on the 29th 02:30 does not exist
	for _, c := range []struct {
		name          string
		at            time.Time
		before, after int64
		ok            bool
	}{
		{"the first", first, 0, 2, true},
		{"in the middle, moved by the gap", gap, 1, 1, true},
		{"the last", last, 2, 0, true},
		{"no fire", day(29, 12, 0), 0, 0, false},
		{"before", day(27, 1, 30), 0, 0, false},
		{"after", day(31, 0, 30), 0, 0, false},
	} {
		before, after, ok := s.Cut(first, last, c.at)
		if before.Count != c.before || after.Count != c.after || ok != c.ok {
			t.Errorf("%s: %+v, %+v, %v", c.name, before, after, ok)
		}
	}
}

// Whatever is taken out, nothing else is lost and nothing is there twice.
func TestCutKeepsEveryOtherFire(t *testing.T) {
	zones := []string{"UTC", "America/New_York", "Australia/Lord_Howe"}
	patterns := []string{"30 2 * * *", "*/20 * * * *", "15 1-3 * * *", "0 0 1 * *"}
	var specs []Spec
	for _, zone := range zones {
		for _, pattern := range patterns {
			specs = append(specs, cronSpec(t, pattern, zone))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := specs[rapid.IntRange(0, len(specs)-1).Draw(t, "spec")]
		from := time.Date(2026, 1, 1, rapid.IntRange(0, 8000).Draw(t, "hours"), 0, 0, 0, time.UTC)
		var all []time.Time
		s.Each(from, from.AddDate(1, 0, 0), func(at time.Time) bool { all = append(all, at); return len(all) < 40 })
		if len(all) == 0 {
			t.Skip("none")
		}
		first, last := all[0], all[len(all)-1]
		if n := s.Count(first, last); n != int64(len(all)) {
			t.Fatalf("%d fires are counted as %d", len(all), n)
		}
		i := rapid.IntRange(0, len(all)-1).Draw(t, "i")
		before, after, ok := s.Cut(first, last, all[i])
		if !ok || before.Count != int64(i) || after.Count != int64(len(all)-1-i) {
			t.Fatalf("without fire %d of %d: %+v, %+v, %v", i, len(all), before, after, ok)
		}
		if i > 0 && (before.First != first || before.Last != all[i-1]) {
			t.Fatalf("before: %+v", before)
		}
		if i < len(all)-1 && (after.First != all[i+1] || after.Last != last) {
			t.Fatalf("after: %+v", after)
		}
	})
}
