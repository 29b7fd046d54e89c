package schedule

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestCadenceOfASchedule(t *testing.T) {
	day := func(d, h int) Ran {
		planned := time.Date(2026, 6, d, h, 0, 0, 0, time.UTC)
		return Ran{planned, planned.Add(20 * time.Second)}
	}
	const hour = time.Hour
	for _, c := range []struct {
		name, automation      string
		runs                  []Ran
		configured, effective time.Duration
	}{
		{"every time ran", `{"mode":"schedule","pattern":"0 7 * * *","timezone":"UTC"}`, []Ran{day(1, 7), day(2, 7), day(3, 7)}, 24 * hour, 24 * hour},
		{"every second one was refused", `{"mode":"schedule","pattern":"0 7 * * *","timezone":"UTC"}`, []Ran{day(1, 7), day(3, 7), day(5, 7)}, 24 * hour, 48 * hour},
		{"weekdays, over a weekend: nothing is wrong", `{"mode":"schedule","pattern":"0 7 * * 1-5","timezone":"UTC"}`, []Ran{day(5, 7), day(8, 7)}, 72 * hour, 72 * hour},
		{"weekdays that have not run yet", `{"mode":"schedule","pattern":"0 7 * * 1-5","timezone":"UTC"}`, nil, 504 * hour / 15, 0},
		{"one run says nothing yet", `{"mode":"every","everySeconds":3600,"anchor":"2026-06-01T00:00:00Z","timezone":"UTC"}`, []Ran{day(1, 7)}, hour, 0},
		{"a grid", `{"mode":"every","everySeconds":3600,"anchor":"2026-06-01T00:00:00Z","timezone":"UTC"}`, []Ran{day(1, 7), day(1, 8), day(1, 13)}, hour, 3 * hour},
		{"a heartbeat is slower by its runs", `{"mode":"heartbeat","intervalSeconds":600,"timezone":"UTC"}`,
			[]Ran{{at(t, "2026-06-01T07:00:00Z"), at(t, "2026-06-01T07:00:01Z")}, {at(t, "2026-06-01T07:12:00Z"), at(t, "2026-06-01T07:12:01Z")}}, 10 * time.Minute, 12 * time.Minute},
		{"no time is left", `{"mode":"schedule","pattern":"0 7 * * *","timezone":"UTC","endsAt":"2026-01-01T00:00:00Z"}`, nil, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := jsonSpec(t, c.automation).Cadence(c.runs, at(t, "2026-06-01T12:00:00Z"))
			if want := (Cadence{c.configured, c.effective, len(c.runs)}); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// A schedule whose every time runs is as fast as it was set, also over clock changes;
// one that loses times is slower, and never faster.
func TestARunCannotComeMoreOftenThanItsTimes(t *testing.T) {
	var specs []Spec
	for _, pattern := range []string{"0 7 * * 1-5", "30 2 * * *", "*/20 * * * *", "0 0 1 * *"} {
		specs = append(specs, cronSpec(t, pattern, "Europe/Berlin"))
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom(specs).Draw(t, "spec")
		from := time.Unix(rapid.Int64Range(1767225600, 1798761600).Draw(t, "from"), 0).UTC()
		fires := s.NextN(from, rapid.IntRange(2, 40).Draw(t, "n"))
		var all, some []Ran
		for i, f := range fires {
			all = append(all, Ran{f.At, f.At})
			if i == 0 || i == len(fires)-1 || rapid.Bool().Draw(t, "ran") {
				some = append(some, Ran{f.At, f.At})
			}
		}
		if c := s.Cadence(all, from); c.Configured != c.Effective {
			t.Fatalf("all of them ran, and it is %v", c)
		}
		if c := s.Cadence(some, from); c.Effective < c.Configured || c.Over != len(some) {
			t.Fatalf("%d of %d ran, and it is %v", len(some), len(all), c)
		}
	})
}
