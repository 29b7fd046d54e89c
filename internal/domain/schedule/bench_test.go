package schedule

import (
	"testing"
	"time"

	"github.com/robfig/cron/v3"
)

// Ours beside the Next of the library whose parser we use, on the same patterns from
// the same instants in one run. It answers an easier question, being wrong around
// clock changes.
func BenchmarkNextBesideRobfig(b *testing.B) {
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/New_York"} {
		loc, _, err := Zone(zone)
		if err != nil {
			b.Fatal(err)
		}
		for _, pattern := range []string{"* * * * *", "*/5 * * * *", "0 * * * *", "30 7 * * *", "0 9 * * 1-5", "0 9 31 * *", "0 0 29 2 *"} {
			ours := cronSpec(b, pattern, zone)
			theirs, err := cron.ParseStandard(pattern)
			if err != nil {
				b.Fatal(err)
			}
			start := time.Date(2026, 1, 1, 0, 0, 0, 0, loc)
			from := make([]time.Time, 512)
			for i := range from {
				from[i] = start.Add(time.Duration(i) * 17 * time.Hour)
			}
			b.Run(zone+"/"+pattern+"/ours", func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					ours.next(from[i%len(from)])
				}
			})
			b.Run(zone+"/"+pattern+"/robfig", func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					theirs.Next(from[i%len(from)])
				}
			})
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for _, zone := range []string{"UTC", "America/New_York"} {
		for _, pattern := range []string{"*/5 * * * *", "0 9 * * 1-5", "30 2 * * *", "0 0 29 2 *", "0 0 31 * *"} {
			b.Run(zone+"/"+pattern, func(b *testing.B) {
				s := cronSpec(b, pattern, zone)
				start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					s.next(start.Add(time.Duration(i%512) * 17 * time.Hour))
					i++
				}
			})
		}
	}
}

func BenchmarkParse(b *testing.B) {
	zone := "America/New_York"
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(Automation{Mode: Schedule, Pattern: "0 9 * * 1-5", Timezone: &zone}); err != nil {
			b.Fatal(err)
		}
	}
}

// What the sweep pays for a task.
func BenchmarkPlan(b *testing.B) {
	for name, missed := range map[string]time.Duration{"on time": 0, "an hour late": time.Hour, "a year late": 365 * 24 * time.Hour} {
		b.Run(name, func(b *testing.B) {
			s := cronSpec(b, "* * * * *", "America/New_York")
			now := time.Date(2026, 3, 1, 12, 0, 2, 0, time.UTC)
			st := State{TaskID: "0198c0de-0000-7000-8000-000000000001", NextPlanned: now.Truncate(time.Minute).Add(-missed)}
			b.ReportAllocs()
			for b.Loop() {
				Plan(s, st, now)
			}
		})
	}
}
