package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
)

// QuietHours is a window of the week in which nothing starts by itself: what a
// workspace or an agent asks for, whatever the schedules of its tasks say. Active
// hours say when a schedule may run, quiet hours when nothing does; the two are
// judged alike: start included, end excluded, a window across midnight belongs to
// the day on which it begins, equal ends are the whole day.
type QuietHours struct {
	Days     []int  `json:"days,omitempty"` // on which it begins, 0 = Sunday; none = every day
	Start    string `json:"start"`          // HH:MM
	End      string `json:"end"`            // HH:MM, excluded
	Timezone string `json:"timezone"`
}

// Canonical checks quiet hours and returns them in their one spelling. zone stands
// in for an absent timezone. The error is errs.Invalid with the field that is wrong.
func (h QuietHours) Canonical(zone string) (QuietHours, error) {
	out := QuietHours{Timezone: h.Timezone}
	if out.Timezone == "" {
		out.Timezone = zone
	}
	_, name, err := Zone(out.Timezone)
	if err != nil {
		return QuietHours{}, errs.BadField("quietHours.timezone", CodeTimezone, h.Timezone, "%s", err)
	}
	out.Timezone = name
	for _, day := range h.Days {
		if day < 0 || day > 7 {
			return QuietHours{}, errs.BadField("quietHours.days", CodeInvalid, day, "%d is not a weekday. Use 0 for Sunday to 6 for Saturday.", day)
		}
		out.Days = append(out.Days, day%7)
	}
	slices.Sort(out.Days)
	if out.Days = slices.Compact(out.Days); len(out.Days) == 7 {
		out.Days = nil
	}
	start, okStart := wallMinute(h.Start)
	end, okEnd := wallMinute(h.End)
	switch {
	case !okStart:
		return QuietHours{}, errs.BadField("quietHours.start", CodeInvalid, h.Start, "%q is not a time of day. Write it like 22:00.", h.Start)
	case !okEnd:
		return QuietHours{}, errs.BadField("quietHours.end", CodeInvalid, h.End, "%q is not a time of day. Write it like 07:00.", h.End)
	case start == end && out.Days == nil:
		return QuietHours{}, errs.BadField("quietHours", CodeInvalid, nil, "These hours would never end. Pause instead, or name the days.")
	}
	out.Start, out.End = wallText(start), wallText(end)
	return out, nil
}

// String says the window in words: "22:00 to 07:00 on Fri and Sat, Europe/Berlin".
func (h QuietHours) String() string {
	window := h.Start + " to " + h.End
	if h.Start == h.End {
		window = "the whole day"
	}
	if len(h.Days) > 0 {
		names := make([]string, len(h.Days))
		for i, day := range h.Days {
			names[i] = time.Weekday(day).String()[:3]
		}
		last := len(names) - 1
		if last > 0 {
			names = []string{strings.Join(names[:last], ", "), names[last]}
		}
		window += " on " + strings.Join(names, " and ")
	}
	return window + ", " + h.Timezone
}

// Quiet is quiet hours, compiled, with whose they are.
type Quiet struct {
	Owner string // "the workspace", "the agent Watchkeeper"
	Hours QuietHours
	loc   *time.Location
	rules rules
}

// ParseQuiet compiles what Canonical returned.
func ParseQuiet(owner string, h QuietHours) (Quiet, error) {
	loc, _, err := Zone(h.Timezone)
	if err != nil {
		return Quiet{}, fmt.Errorf("read the quiet hours of %s: %w", owner, err)
	}
	r, err := parseRules(&Conditions{ActiveDays: h.Days, ActiveHours: &Hours{h.Start, h.End}}, nil)
	if err != nil {
		return Quiet{}, fmt.Errorf("read the quiet hours of %s: %w", owner, err)
	}
	return Quiet{Owner: owner, Hours: h, loc: loc, rules: r}, nil
}

// String says whose hours they are, and which.
func (q Quiet) String() string { return fmt.Sprintf("the quiet hours of %s (%s)", q.Owner, q.Hours) }

// Covers reports whether an instant lies in the window.
func (q Quiet) Covers(at time.Time) bool {
	_, offset := at.In(q.loc).Zone()
	reading := at.Unix() + int64(offset)
	date := floorDiv(reading, daySeconds)
	return q.rules.active(date, int(reading-date*daySeconds)/60)
}

// Hush returns the first of some quiet hours that cover an instant, nil when none do.
func Hush(at time.Time, quiet []Quiet) *Quiet {
	for i := range quiet {
		if quiet[i].Covers(at) {
			return &quiet[i]
		}
	}
	return nil
}

// longestHush bounds the search for the end: windows of several owners may follow
// each other, and each leaves some of the week.
const longestHush = 8 * 24 * time.Hour

// HushEnds returns the first instant from another on that none of some quiet hours
// cover. It reports false when they leave no minute of the week.
func HushEnds(at time.Time, quiet []Quiet) (time.Time, bool) {
	if Hush(at, quiet) == nil {
		return at, true
	}
	end := at.UTC().Truncate(time.Minute)
	for last := end.Add(longestHush); end.Before(last); { // windows end with a minute
		if end = end.Add(time.Minute); Hush(end, quiet) == nil {
			return end, true
		}
	}
	return time.Time{}, false
}
