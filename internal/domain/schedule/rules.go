package schedule

import (
	"slices"
	"strconv"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
)

// Reasons why a planned time may not run, in the order of the gate.
const (
	ReasonOutsideBounds      = "outside_bounds"
	ReasonMaxExecutions      = "max_executions"
	ReasonExcludedDate       = "excluded_date"
	ReasonOutsideActiveHours = "outside_active_hours"
	ReasonDailyLimit         = "daily_limit"
)

// rules are conditions and exclusions, compiled.
type rules struct {
	days      uint8 // bit 0 is Sunday; 0 is every day
	from, to  int   // minutes of the day; equal is the whole day
	perDay    int
	closed    Dates
	calendars []string
}

func parseRules(c *Conditions, e *Exclusions) (r rules, err error) {
	if c != nil {
		r.perDay = c.MaxExecutionsPerDay
		for _, day := range c.ActiveDays {
			if day < 0 || day > 7 {
				return rules{}, errs.BadField("automation.conditions.activeDays", CodeInvalid, day, "%d is not a weekday. Use 0 for Sunday to 6 for Saturday.", day)
			}
			r.days |= 1 << (day % 7)
		}
		if h := c.ActiveHours; h != nil {
			var okFrom, okTo bool
			r.from, okFrom = wallMinute(h.Start)
			r.to, okTo = wallMinute(h.End)
			if !okFrom || !okTo {
				return rules{}, errs.BadField("automation.conditions.activeHours", CodeInvalid, *h, "%s to %s is not a span of the day. Write times like 08:30.", h.Start, h.End)
			}
		}
	}
	if e != nil {
		r.calendars = slices.Clone(e.Calendars)
		r.closed, err = NewDates(e.Dates, e.Ranges)
	}
	return r, err
}

// Refusal judges a planned time by what the automation itself says about instants:
// bounds, excluded dates, active days and hours, in the order of the gate. It returns
// the reason word and false, or "" and true. The planned time is judged, neither its
// dispatch nor a late start, and where a clock change moved it, the instant it was
// moved to. holidays are the dates of the calendars that the automation names, else
// nil; quiet are the quiet hours around it, which are judged like its own active
// hours. The limits that need counts stand at their own places in the gate:
// ExecutionsUsedUp before the dates, DailyLimitReached after the hours.
func (s Spec) Refusal(planned time.Time, holidays Dates, quiet ...Quiet) (reason string, ok bool) {
	if reason, ok := s.ownRefusal(planned, holidays); !ok {
		return reason, false
	}
	if Hush(planned, quiet) != nil {
		return ReasonOutsideActiveHours, false
	}
	return "", true
}

func (s Spec) ownRefusal(planned time.Time, holidays Dates) (reason string, ok bool) {
	if !s.starts.IsZero() && planned.Before(s.starts) || !s.ends.IsZero() && planned.After(s.ends) {
		return ReasonOutsideBounds, false
	}
	r := &s.rules
	if r.closed == nil && holidays == nil && r.days == 0 && r.from == r.to {
		return "", true
	}
	_, offset := planned.In(s.loc).Zone()
	reading := planned.Unix() + int64(offset)
	date := floorDiv(reading, daySeconds)
	if r.closed.has(date) || holidays.has(date) {
		return ReasonExcludedDate, false
	}
	if !r.active(date, int(reading-date*daySeconds)/60) {
		return ReasonOutsideActiveHours, false
	}
	return "", true
}

// active reports whether a minute of a local date lies in the active days and hours.
func (r *rules) active(date int64, minute int) bool {
	on := func(date int64) bool { return r.days == 0 || r.days>>weekday(date)&1 == 1 }
	switch {
	case r.from == r.to:
		return on(date)
	case r.from < r.to:
		return on(date) && r.from <= minute && minute < r.to
	case minute >= r.from:
		return on(date)
	}
	return minute < r.to && on(date-1) // the window of the evening before
}

// Calendars are the names of the stored calendars whose dates are holidays.
func (s Spec) Calendars() []string { return slices.Clone(s.rules.calendars) }

// ExecutionsUsedUp judges the scheduled runs that have started since the arming.
func (s Spec) ExecutionsUsedUp(started int) bool {
	return s.maxExecutions > 0 && started >= s.maxExecutions
}

// DailyLimitReached judges the scheduled runs that have started for planned times of
// the same local day, see DayOf.
func (s Spec) DailyLimitReached(started int) bool {
	return s.rules.perDay > 0 && started >= s.rules.perDay
}

// DayOf returns the local day of a planned time as instants, the end excluded.
func (s Spec) DayOf(planned time.Time) (start, end time.Time) {
	_, offset := planned.In(s.loc).Zone()
	midnight := floorDiv(planned.Unix()+int64(offset), daySeconds) * daySeconds
	before := stretchAt(s.loc, planned.Unix()-3*daySeconds) // not there yet: no day is longer than two
	return time.Unix(firstReach(s.loc, before, midnight), 0).UTC(), time.Unix(firstReach(s.loc, before, midnight+daySeconds), 0).UTC()
}

// Dates is a set of local dates.
type Dates []dateSpan

// dateSpan holds day numbers since 1970, both included.
type dateSpan struct{ first, last int64 }

// NewDates builds the set of single dates and ranges, written like 2026-12-25.
func NewDates(dates []string, ranges []DateRange) (Dates, error) {
	var set Dates
	add := func(from, to string) error {
		first, ok1 := dateNumber(from)
		last, ok2 := dateNumber(to)
		if !ok1 || !ok2 || last < first {
			return errs.BadField("automation.exclusions", CodeInvalid, from, "%s to %s is not a range of dates. Write dates like 2026-12-25.", from, to)
		}
		set = append(set, dateSpan{first, last})
		return nil
	}
	for _, date := range dates {
		if err := add(date, date); err != nil {
			return nil, err
		}
	}
	for _, r := range ranges {
		if err := add(r.From, r.To); err != nil {
			return nil, err
		}
	}
	return merged(set), nil
}

// merged sorts spans, in place, and joins those that touch.
func merged(set Dates) Dates {
	slices.SortFunc(set, func(a, b dateSpan) int { return int(a.first - b.first) })
	out := set[:0]
	for _, span := range set {
		if n := len(out); n > 0 && span.first <= out[n-1].last+1 {
			out[n-1].last = max(out[n-1].last, span.last)
			continue
		}
		out = append(out, span)
	}
	return out
}

func (d Dates) has(date int64) bool {
	i, exact := slices.BinarySearchFunc(d, date, func(s dateSpan, date int64) int { return int(s.first - date) })
	return exact || i > 0 && date <= d[i-1].last
}

func dateNumber(text string) (int64, bool) {
	t, err := time.Parse(time.DateOnly, text)
	return floorDiv(t.Unix(), daySeconds), err == nil
}

// wallMinute reads HH:MM; 24:00 is the midnight that ends a day, and since the end
// of a span is excluded and 00:00 closes a span across midnight, it is 0.
func wallMinute(text string) (int, bool) {
	if len(text) != 5 || text[2] != ':' {
		return 0, false
	}
	h, errH := strconv.ParseUint(text[:2], 10, 8)
	m, errM := strconv.ParseUint(text[3:], 10, 8)
	if errH != nil || errM != nil || h > 24 || m > 59 || h == 24 && m > 0 {
		return 0, false
	}
	return int(h%24*60 + m), true
}

func wallText(minute int) string {
	return time.Unix(int64(minute)*60, 0).UTC().Format("15:04")
}
