package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
)

// FuzzPattern: nothing panics; a refusal has words; the canonical text reads back as
// the same pattern; the fires go forward and never stop.
func FuzzPattern(f *testing.F) {
	for _, p := range []string{
		"* * * * *", "*/5 0-3,20-23 1-7 1,6 MON", "0 0 29 2 *", "@every 90m", "@daily", "0 9 * * 5-7/2", "0 9 * * 1-7/2", "TZ=0", "1,,2 * * * *",
		"*-5 * * * *", "0 0 31 2 *", "@reboot", "0 0 L * *", "0 9 * * FRI-SUN", "+5 * * * *", "0 0 * * 7/2", "0-59/7 */9 1-31/30 2-12/5 0-7", ",", "?", "\x00", "0 0 30 2,4 6#3",
	} {
		f.Add(p, int64(1_773_000_000))
	}
	utc, york := "UTC", "america/new_york"
	f.Fuzz(func(t *testing.T, raw string, from int64) {
		p, err := parsePattern(raw)
		if err != nil {
			if errs.CodeOf(err) != CodePattern || strings.Count(err.Error(), ".") < 2 {
				t.Fatalf("%q: a refusal without words: %v", raw, err)
			}
			return
		}
		again, err := parsePattern(p.text)
		if err != nil || again != p {
			t.Fatalf("%q: %q reads back as %+v, %v; was %+v", raw, p.text, again, err, p)
		}
		if p.every > 0 {
			return
		}
		for _, zone := range []*string{&utc, &york} {
			s, err := Parse(Automation{Mode: Schedule, Pattern: raw, Timezone: zone})
			if err != nil {
				t.Fatal(err)
			}
			after := time.Unix(from%8e9, 0) // 1716 to 2223
			for i := range 3 {
				fire, ok := s.Next(after)
				if !ok || !fire.At.After(after) || fire.At.Sub(after) > (8*366+2)*24*time.Hour {
					t.Fatalf("%q in %s: fire %d after %v is %v, %v", raw, *zone, i, after, fire.At, ok)
				}
				if n := s.count(after, fire.At); n != 1 {
					t.Fatalf("%q in %s: counted %d fires in (%v, %v]", raw, *zone, n, after, fire.At)
				}
				after = fire.At
			}
		}
	})
}

// FuzzZone: a name is accepted as the database spells it, or refused in words.
func FuzzZone(f *testing.F) {
	for _, z := range []string{"UTC", "europe/berlin", "EST", "+02:00", "", "../../etc/passwd", "GMT+8", "\xff"} {
		f.Add(z)
	}
	f.Fuzz(func(t *testing.T, name string) {
		_, canonical, err := Zone(name)
		switch {
		case err == nil && !strings.EqualFold(canonical, name):
			t.Fatalf("%q became %q", name, canonical)
		case err != nil && (errs.CodeOf(err) != CodeTimezone || err.Error() == ""):
			t.Fatalf("%q: %v", name, err)
		}
	})
}
