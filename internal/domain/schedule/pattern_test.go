package schedule

import (
	"strings"
	"testing"

	"github.com/dogwatch/dogwatch/internal/base/errs"
)

func TestPatternText(t *testing.T) {
	for in, want := range map[string]string{
		"0 9 * * 1-5":             "0 9 * * 1-5",
		"\t0   9 * * 1-5 ":        "0 9 * * 1-5",
		"00 09 */1 JAN 7":         "0 9 * 1 0",
		"*/1,5 0-23 * * *":        "*,5 0-23 * * *",
		"0 9 * * fri-sun":         "0 9 * * 5,6,0",
		"0 9 * * 5-7":             "0 9 * * 5,6,0",
		"0 9 * * 1-7/2":           "0 9 * * 1,3,5,0",
		"0 9 * * 7/2":             "0 9 * * 0",
		"0 9 * * 0-7":             "0 9 * * 0,1,2,3,4,5,6",
		"0 9 * * sun-sun":         "0 9 * * 0,1,2,3,4,5,6",
		"0 9 * * sun-tue":         "0 9 * * 0-2",
		"0 9 * * 5/1":             "0 9 * * 5/1",
		"15,45 0-3,20-23 1-7 1,6": "",
		"@hourly":                 "0 * * * *",
		"@Daily":                  "0 0 * * *",
		"@midnight":               "0 0 * * *",
		"@weekly":                 "0 0 * * 0",
		"@monthly":                "0 0 1 * *",
		"@yearly":                 "0 0 1 1 *",
		"@annually":               "0 0 1 1 *",
		"@every 90m":              "@every 1h30m0s",
		"@EVERY 90M":              "@every 1h30m0s",
		"0 0 29 2 *":              "0 0 29 2 *",
		"0 0 31 2 1":              "0 0 31 2 1",
	} {
		p, err := parsePattern(in)
		if want == "" {
			if errs.CodeOf(err) != CodePattern {
				t.Errorf("%q: %v", in, err)
			}
			continue
		}
		if err != nil || p.text != want {
			t.Errorf("%q reads as %q, %v; want %q", in, p.text, err, want)
		}
	}
}

// Each refusal says what to write instead.
func TestPatternRefusals(t *testing.T) {
	for in, says := range map[string]string{
		"":                                      "like 0 9 * * 1-5",
		"* * * *":                               "4 fields",
		"0 * * * * *":                           "Leave out seconds",
		"0 0 L * *":                             "first of the month",
		"0 0 15W * *":                           "weekdays 1-5",
		"0 0 * * 5L":                            "weekdays 1-5",
		"0 0 * * 1#2":                           "8-14",
		"0 0 ? * *":                             "Write *",
		"@reboot":                               "heartbeat",
		"@fortnightly":                          "@weekly",
		"@every":                                "@every 90m",
		"@every soon":                           "@every 90m",
		"@every 1500ms":                         "whole seconds",
		"@every -5s":                            "whole seconds",
		"0 0 31 2 *":                            "never fire",
		"0 0 30,31 FEB *":                       "never fire",
		"0 24 * * *":                            "Midnight is hour 0",
		"0 25 * * *":                            "Use 0 to 23",
		"60 * * * *":                            "Use 0 to 59",
		"1,,2 * * * *":                          "minute",
		", * * * *":                             "minute",
		"*-5 * * * *":                           "minute",
		"+5 * * * *":                            "minute",
		"1_0 * * * *":                           "minute",
		"-1 * * * *":                            "minute",
		"*/0 * * * *":                           "from 1",
		"5/ * * * *":                            "from 1",
		"5/2/3 * * * *":                         "from 1",
		"0 22-2 * * *":                          "22-23,0-2",
		"0 0 * * 8":                             "Use 0 to 7",
		"0 0 * * 0-8":                           "Use 0 to 7",
		"0 0 * JANUARY *":                       "like JAN",
		"TZ=0":                                  "timezone",
		"CRON_TZ=UTC 0 * * * *":                 "timezone",
		"0 9 * * 1\u2013 5":                     "plain characters",
		"0 9 * *\n*":                            "plain characters",
		strings.Repeat("1,", 300) + "1 * * * *": "512",
	} {
		_, err := parsePattern(in)
		if errs.KindOf(err) != errs.Invalid || errs.CodeOf(err) != CodePattern || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v; want a refusal that says %q", in, err, says)
		}
	}
}

// The class follows the spelling, not the set of times.
func TestIntervalClass(t *testing.T) {
	for pattern, interval := range map[string]bool{
		"*/5 9 * * *": true, "0 * * * *": true, "0 */2 * * *": true, "*,5 1 * * *": true, "@hourly": true,
		"0 0-23 * * *": false, "0-59 0-23 * * *": false, "5,* 1 * * *": false, "@daily": false,
	} {
		if s := cronSpec(t, pattern, "Europe/Berlin"); s.FollowsAbsoluteTime() != interval {
			t.Errorf("%s: interval %v, want %v", pattern, !interval, interval)
		}
	}
}

// A day field is unrestricted when one of its parts is *; otherwise either is enough.
func TestDayFields(t *testing.T) {
	for pattern, want := range map[string]string{
		"0 0 13 * *":     "2026-02-13",
		"0 0 * * 0":      "2026-02-01",
		"0 0 13 * 0":     "2026-02-01", // either
		"0 0 */1 * 2":    "2026-02-03", // */1 is *
		"0 0 20,* * 2":   "2026-02-03", // one part is *
		"0 0 */31 * 2":   "2026-02-01", // */31 restricts to the 1st
		"0 0 1-31 * 2":   "2026-02-01", // 1-31 restricts, so either
		"0 0 28 2 2/5":   "2026-02-03", // N/step ends at Saturday
		"0 0 28 2 1-7/6": "2026-02-01", // Monday and Sunday
	} {
		fire, _ := cronSpec(t, pattern, "UTC").Next(at(t, "2026-01-31T12:00:00Z"))
		if got := fire.At.Format("2006-01-02"); got != want {
			t.Errorf("%s fires on %s, want %s", pattern, got, want)
		}
	}
}

func TestDefaultWindow(t *testing.T) {
	for pattern, want := range map[string]string{
		"* * * * *": "1h0m0s", "0 9,17 * * *": "1h0m0s", "0,30 9 1 1 *": "1h0m0s", "0 9 * * *": "12h0m0s", "0 9 1 * *": "12h0m0s",
	} {
		if got := cronSpec(t, pattern, "UTC").Window().String(); got != want {
			t.Errorf("%s: %s, want %s", pattern, got, want)
		}
	}
	for in, want := range map[string]string{
		`{"mode":"every","everySeconds":86399}`: "1h0m0s", `{"mode":"every","everySeconds":86400}`: "12h0m0s",
		`{"mode":"heartbeat","intervalSeconds":600}`: "1h0m0s", `{"mode":"heartbeat","intervalSeconds":600,"catchUpSeconds":0}`: "0s",
	} {
		if got := jsonSpec(t, in).Window().String(); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func jsonSpec(t *testing.T, in string) Spec {
	t.Helper()
	a, err := canonicalJSON(t, in, testDefaults(t))
	if err != nil {
		t.Fatalf("%s: %v", in, err)
	}
	s, err := Parse(a)
	if err != nil {
		t.Fatalf("%s: %v", in, err)
	}
	return s
}
