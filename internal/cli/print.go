package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/dogwatch/dogwatch/internal/cli/client"
)

// raw prints what the server said, indented; nothing for an empty answer.
func (p *program) raw(answer json.RawMessage) error {
	if len(answer) == 0 {
		return nil
	}
	b, err := json.MarshalIndent(answer, "", "  ")
	if err != nil {
		return fmt.Errorf("read the server's answer: %w", err)
	}
	_, err = fmt.Fprintln(p.out, string(b))
	return err
}

func (p *program) printf(format string, args ...any) { fmt.Fprintf(p.out, format, args...) }

// note tells a person something that a script does not want in its input.
func (p *program) note(format string, args ...any) { fmt.Fprintf(p.err, format+"\n", args...) }

// table prints rows under a header, in columns.
func (p *program) table(header []string, rows [][]string) error {
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(header, "\t"))
	for _, r := range rows {
		for i := range r {
			r[i] = cmp.Or(oneLine(r[i]), "–") // a column without a value is not a missing one
		}
		fmt.Fprintln(w, strings.TrimRight(strings.Join(r, "\t"), "\t "))
	}
	return w.Flush()
}

// oneLine keeps what somebody else wrote from breaking a table or driving a
// terminal: control characters become spaces.
func oneLine(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, s))
}

// text is what somebody else wrote, with its lines and without control characters.
func text(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (r < ' ' || r >= 0x7f && r < 0xa0) {
			return -1
		}
		return r
	}, s)
}

// cut shortens a line to n characters.
func cut(s string, n int) string {
	s = oneLine(s)
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

func indent(s string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text(s), "\n "), "\n", "\n  ")
}

// money writes a cost; what is not known is said to be unknown, never 0.
func money(usd *float64) string {
	switch {
	case usd == nil:
		return "cost unknown"
	case *usd == 0:
		return "$0"
	case *usd < 0.01:
		return fmt.Sprintf("$%.4f", *usd)
	}
	return fmt.Sprintf("$%.2f", *usd)
}

// when writes a time as somebody who looks at it now needs it, in the zone of the
// terminal, which it names.
func (p *program) when(t *time.Time) string {
	if t == nil {
		return "–"
	}
	local, now := t.In(p.zone), p.now().In(p.zone)
	switch d := local.Sub(now); {
	case local.YearDay() == now.YearDay() && local.Year() == now.Year():
		return local.Format("15:04:05 MST")
	case d > -6*24*time.Hour && d < 6*24*time.Hour:
		return local.Format("Mon 15:04 MST")
	default:
		return local.Format("2006-01-02 15:04 MST")
	}
}

// planned is when, with the wall clock of the schedule's own zone beside it where
// that differs.
func (p *program) planned(t *time.Time, a *automation) string {
	if t == nil || a == nil || a.Timezone == "" {
		return p.when(t)
	}
	zone, err := time.LoadLocation(a.Timezone)
	if err != nil {
		return p.when(t)
	}
	there, here := t.In(zone), t.In(p.zone)
	_, offset := there.Zone()
	_, ours := here.Zone()
	if offset == ours {
		return p.when(t)
	}
	layout := "15:04 MST"
	if there.Day() != here.Day() {
		layout = "Mon " + layout
	}
	return p.when(t) + " (" + there.Format(layout) + ")"
}

// orders looks up the standing orders of tasks that a list names, each once. A task
// that cannot be read any more has none: its times stand in the terminal's zone.
func (p *program) orders(ctx context.Context, c *client.Client) func(ref string) *automation {
	known := map[string]*automation{}
	return func(ref string) *automation {
		if a, ok := known[ref]; ok {
			return a
		}
		var t task
		if answer, err := c.Get(ctx, taskPath(ref), nil); err == nil {
			_ = json.Unmarshal(answer, &t)
		}
		known[ref] = t.Automation
		return t.Automation
	}
}

// stamp writes a time with its date and zone, for what lies far back or spans days.
func (p *program) stamp(t *time.Time) string {
	if t == nil {
		return "–"
	}
	return t.In(p.zone).Format("2006-01-02 15:04 MST")
}

// moment is the time of day, for lines that arrive while one looks.
func (p *program) moment(t time.Time) string { return t.In(p.zone).Format("15:04:05") }

// seconds writes a number of seconds as people say it: 90 s, 10 min, 2 h 30 min.
func seconds(s int64) string {
	switch {
	case s < 120 && s != 60:
		return fmt.Sprintf("%d s", s)
	case s < 2*3600 && s%60 == 0:
		return fmt.Sprintf("%d min", s/60)
	case s%86400 == 0 && s > 86400:
		return fmt.Sprintf("%d days", s/86400)
	case s%3600 == 0:
		return fmt.Sprintf("%d h", s/3600)
	case s%60 == 0:
		return fmt.Sprintf("%d h %d min", s/3600, s%3600/60)
	}
	return (time.Duration(s) * time.Second).String()
}

// order says how a task runs.
func (a *automation) order() string {
	if a == nil {
		return ""
	}
	switch a.Mode {
	case "heartbeat":
		return "heartbeat " + seconds(a.IntervalSeconds)
	case "every":
		return "every " + seconds(a.EverySeconds)
	default:
		return strings.TrimSpace(a.Pattern + " " + a.Timezone)
	}
}

// fires lists the next times in the order's own zone: "next Tue 07:00 CET, Wed 07:00".
func (p *program) fires(a *automation, most int) string {
	if a == nil || len(a.NextFires) == 0 {
		return ""
	}
	zone := p.zone
	if l, err := time.LoadLocation(a.Timezone); err == nil && a.Timezone != "" {
		zone = l
	}
	var out []string
	last := ""
	for i, f := range a.NextFires {
		if i == most {
			break
		}
		t, now, layout := f.At.In(zone), p.now().In(zone), "Mon 15:04"
		switch d := t.Sub(now); {
		case t.Second() != 0 && d < 24*time.Hour:
			layout = "15:04:05"
		case t.YearDay() == now.YearDay() && d < 24*time.Hour:
			layout = "15:04"
		case t.Year() != now.Year() && d > 6*24*time.Hour:
			layout = "Mon 2 Jan 2006 15:04"
		case d > 6*24*time.Hour:
			layout = "Mon 2 Jan 15:04"
		}
		if name := t.Format("MST"); name != last { // the zone, and again after a clock change
			layout, last = layout+" MST", name
		}
		out = append(out, t.Format(layout))
	}
	return "next " + strings.Join(out, ", ")
}

func itoa(n int) string { return strconv.Itoa(n) }
