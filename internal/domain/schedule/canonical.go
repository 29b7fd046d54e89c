package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
)

// Defaults is what an automation takes from where it is saved.
type Defaults struct {
	// Zone is the creator's zone, else the workspace's. It stands in for an absent
	// timezone.
	Zone string
	// MinPeriodSeconds is the smallest interval and period allowed.
	MinPeriodSeconds int64
	// Now anchors the grid of a first `every` that names neither anchor nor start.
	Now time.Time
	// KeptAnchor is the anchor of the automation that this one replaces, else zero:
	// an edit does not move the grid.
	KeptAnchor time.Time
}

// Canonical checks what somebody asked for and returns it in the one spelling that
// is stored and given back: pattern in numbers, zone as the database spells it,
// @every as mode every, defaults of overlap and missed filled in, lists sorted. It
// is a fixed point of itself. The error is errs.Invalid with every field that is
// wrong, each with a suggestion; its code is that of the first.
func Canonical(in Automation, d Defaults) (Automation, error) {
	c := canonicalizer{in: in, defaults: d}
	c.out = Automation{
		Mode: in.Mode, JitterSeconds: in.JitterSeconds, MaxExecutions: in.MaxExecutions, TimeoutSeconds: in.TimeoutSeconds,
		Overlap: in.Overlap, Missed: in.Missed, CatchUpSeconds: clone(in.CatchUpSeconds),
	}
	c.mode()
	c.zone()
	c.policies()
	c.bounds()
	c.anchor()
	c.conditions()
	c.exclusions()
	if c.err != nil {
		return Automation{}, c.err
	}
	if _, err := Parse(c.out); err != nil {
		return Automation{}, err
	}
	return c.out, nil
}

type canonicalizer struct {
	in, out  Automation
	defaults Defaults
	err      *errs.Error
}

// refuse notes a wrong field; the first one gives the error its code and sentence.
func (c *canonicalizer) refuse(field, code string, value any, format string, args ...any) {
	e := errs.BadField("automation."+field, code, value, format, args...)
	if c.err == nil {
		c.err = e
		return
	}
	c.err.Fields = append(c.err.Fields, e.Fields...)
}

func (c *canonicalizer) mode() {
	switch c.in.Mode {
	case Heartbeat:
		c.heartbeat()
		c.foreign("pattern", c.in.Pattern != "", "everySeconds", c.in.EverySeconds != 0, "anchor", c.in.Anchor != nil)
	case Schedule:
		c.schedule()
		c.foreign("intervalSeconds", c.in.IntervalSeconds != 0, "minSeconds", c.in.MinSeconds != 0, "maxSeconds", c.in.MaxSeconds != 0,
			"everySeconds", c.in.EverySeconds != 0, "anchor", c.in.Anchor != nil && c.out.Mode != Every)
	case Every:
		c.period("everySeconds", c.in.EverySeconds)
		c.out.EverySeconds = c.in.EverySeconds
		c.foreign("pattern", c.in.Pattern != "", "intervalSeconds", c.in.IntervalSeconds != 0, "minSeconds", c.in.MinSeconds != 0, "maxSeconds", c.in.MaxSeconds != 0)
	default:
		c.refuse("mode", CodeInvalid, string(c.in.Mode), "%q is not a mode. Use heartbeat, schedule or every.", string(c.in.Mode))
	}
}

// foreign refuses fields that belong to another mode, given as name and whether it
// is set: silently dropping a pattern would hide a mistake.
func (c *canonicalizer) foreign(pairs ...any) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1].(bool) {
			name := pairs[i].(string)
			c.refuse(name, CodeInvalid, nil, "%s has no meaning in mode %s. Leave it out.", name, c.in.Mode)
		}
	}
}

func (c *canonicalizer) period(field string, seconds int64) {
	switch least := max(1, c.defaults.MinPeriodSeconds); {
	case seconds == 0:
		c.refuse(field, CodeInvalid, seconds, "Mode %s needs %s. Give it in seconds, at least %d.", c.in.Mode, field, least)
	case seconds < least:
		c.refuse(field, CodeInvalid, seconds, "%d seconds is too short. The smallest period is %d seconds.", seconds, least)
	case seconds > maxPeriod:
		c.refuse(field, CodeInvalid, seconds, "%d seconds is too long. The longest period is ten years.", seconds)
	}
}

func (c *canonicalizer) heartbeat() {
	in := c.in
	c.period("intervalSeconds", in.IntervalSeconds)
	if in.MinSeconds != 0 {
		c.period("minSeconds", in.MinSeconds)
	}
	if in.MaxSeconds != 0 {
		c.period("maxSeconds", in.MaxSeconds)
	}
	if in.MinSeconds > in.IntervalSeconds {
		c.refuse("minSeconds", CodeInvalid, in.MinSeconds, "minSeconds must not be larger than intervalSeconds. Use at most %d.", in.IntervalSeconds)
	}
	if in.MaxSeconds != 0 && in.MaxSeconds < in.IntervalSeconds {
		c.refuse("maxSeconds", CodeInvalid, in.MaxSeconds, "maxSeconds must not be smaller than intervalSeconds. Use at least %d.", in.IntervalSeconds)
	}
	c.out.IntervalSeconds, c.out.MinSeconds, c.out.MaxSeconds = in.IntervalSeconds, in.MinSeconds, in.MaxSeconds
}

func (c *canonicalizer) schedule() {
	p, err := parsePattern(c.in.Pattern)
	switch least := time.Duration(c.defaults.MinPeriodSeconds) * time.Second; {
	case err != nil:
		c.refuse("pattern", CodePattern, c.in.Pattern, "%s", err.Error())
	case p.every == 0:
		c.out.Pattern = p.text
	case p.every < least:
		c.refuse("pattern", CodePattern, c.in.Pattern, "%s is too short. The smallest period is @every %s.", p.text, least)
	case p.every > maxPeriod*time.Second:
		c.refuse("pattern", CodePattern, c.in.Pattern, "%s is too long. The longest period is ten years.", p.text)
	default:
		c.out.Mode, c.out.EverySeconds = Every, int64(p.every/time.Second)
	}
}

func (c *canonicalizer) zone() {
	name := c.defaults.Zone
	if c.in.Timezone != nil {
		name = *c.in.Timezone
	}
	_, canonical, err := Zone(name)
	if err != nil {
		c.refuse("timezone", CodeTimezone, name, "%s", err.Error())
		return
	}
	c.out.Timezone = &canonical
}

func (c *canonicalizer) policies() {
	c.word("overlap", &c.out.Overlap, OverlapSkip, OverlapQueue, OverlapCancel)
	c.word("missed", &c.out.Missed, MissedLatest, MissedSkip, MissedAll)
	if s := c.in.CatchUpSeconds; s != nil {
		c.within("catchUpSeconds", *s, maxCatchUp)
	}
	c.within("jitterSeconds", c.in.JitterSeconds, maxJitter)
	c.within("timeoutSeconds", c.in.TimeoutSeconds, maxTimeout)
	c.within("maxExecutions", int64(c.in.MaxExecutions), 1_000_000_000)
}

// word fills in the first of the allowed words where none was given.
func (c *canonicalizer) word(field string, value *string, allowed ...string) {
	switch {
	case *value == "":
		*value = allowed[0]
	case !slices.Contains(allowed, *value):
		c.refuse(field, CodeInvalid, *value, "%q is not possible for %s. Use %s.", *value, field, orList(allowed))
	}
}

func (c *canonicalizer) within(field string, value, most int64) {
	if value < 0 || value > most {
		c.refuse(field, CodeInvalid, value, "%s cannot be %d. Use 0 to %d.", field, value, most)
	}
}

func (c *canonicalizer) bounds() {
	c.out.StartsAt = c.instant("startsAt", c.in.StartsAt)
	c.out.EndsAt = c.instant("endsAt", c.in.EndsAt)
	if s, e := c.out.StartsAt, c.out.EndsAt; s != nil && e != nil && e.Before(*s) {
		c.refuse("endsAt", CodeInvalid, *e, "endsAt lies before startsAt. Use a time from %s on.", s.Format(time.RFC3339))
	}
}

// anchor fixes the grid of every: the anchor, else the start, else the anchor that
// an earlier arming left, else now, in whole seconds.
func (c *canonicalizer) anchor() {
	if c.out.Mode != Every {
		return
	}
	at := c.defaults.Now
	switch {
	case c.in.Anchor != nil:
		if checked := c.instant("anchor", c.in.Anchor); checked != nil {
			at = *checked
		}
	case c.out.StartsAt != nil:
		at = *c.out.StartsAt
	case !c.defaults.KeptAnchor.IsZero():
		at = c.defaults.KeptAnchor
	}
	at = at.UTC().Truncate(time.Second)
	c.out.Anchor = &at
}

// instant brings a time to UTC and to the microseconds that Postgres keeps.
func (c *canonicalizer) instant(field string, t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	if u := t.UTC(); u.Year() >= 1970 && !u.After(lastInstant) {
		u = u.Truncate(time.Microsecond)
		return &u
	}
	c.refuse(field, CodeInvalid, *t, "%s is out of range. Use a time between 1970 and 9999.", field)
	return nil
}

func (c *canonicalizer) conditions() {
	in := c.in.Conditions
	if in == nil {
		return
	}
	out := Conditions{MaxExecutionsPerDay: in.MaxExecutionsPerDay}
	c.within("conditions.maxExecutionsPerDay", int64(in.MaxExecutionsPerDay), 100_000)
	for _, day := range in.ActiveDays {
		if day < 0 || day > 7 {
			c.refuse("conditions.activeDays", CodeInvalid, day, "%d is not a weekday. Use 0 for Sunday to 6 for Saturday.", day)
			break
		}
		out.ActiveDays = append(out.ActiveDays, day%7)
	}
	slices.Sort(out.ActiveDays)
	out.ActiveDays = slices.Compact(out.ActiveDays)
	if len(out.ActiveDays) == 7 {
		out.ActiveDays = nil
	}
	if h := in.ActiveHours; h != nil {
		start, okStart := wallMinute(h.Start)
		end, okEnd := wallMinute(h.End)
		if !okStart {
			c.refuse("conditions.activeHours.start", CodeInvalid, h.Start, "%q is not a time of day. Write it like 08:30.", h.Start)
		}
		if !okEnd {
			c.refuse("conditions.activeHours.end", CodeInvalid, h.End, "%q is not a time of day. Write it like 18:00.", h.End)
		}
		if start != end {
			out.ActiveHours = &Hours{wallText(start), wallText(end)}
		}
	}
	if out.ActiveDays != nil || out.ActiveHours != nil || out.MaxExecutionsPerDay != 0 {
		c.out.Conditions = &out
	}
}

func (c *canonicalizer) exclusions() {
	in := c.in.Exclusions
	if in == nil {
		return
	}
	var out Exclusions
	c.few("exclusions.dates", len(in.Dates), maxDates)
	c.few("exclusions.ranges", len(in.Ranges), maxRanges)
	c.few("exclusions.calendars", len(in.Calendars), maxCalendars)
	for i, text := range in.Dates {
		out.Dates = append(out.Dates, c.date(fmt.Sprintf("exclusions.dates[%d]", i), text))
	}
	for i, r := range in.Ranges {
		at := fmt.Sprintf("exclusions.ranges[%d]", i)
		r = DateRange{c.date(at+".from", r.From), c.date(at+".to", r.To)}
		if r.From > r.To { // ISO dates sort as text
			c.refuse(at, CodeInvalid, r, "The range ends before it begins. Swap %s and %s.", r.From, r.To)
		}
		out.Ranges = append(out.Ranges, r)
	}
	for i, name := range in.Calendars {
		name = strings.TrimSpace(name)
		if name == "" || len(name) > 100 {
			c.refuse(fmt.Sprintf("exclusions.calendars[%d]", i), CodeInvalid, name, "A calendar needs a name of 1 to 100 characters.")
		}
		out.Calendars = append(out.Calendars, name)
	}
	slices.Sort(out.Dates)
	out.Dates = slices.Compact(out.Dates)
	slices.SortFunc(out.Ranges, func(a, b DateRange) int { return strings.Compare(a.From+a.To, b.From+b.To) })
	out.Ranges = slices.Compact(out.Ranges)
	slices.Sort(out.Calendars)
	out.Calendars = slices.Compact(out.Calendars)
	if len(out.Dates)+len(out.Ranges)+len(out.Calendars) > 0 {
		c.out.Exclusions = &out
	}
}

func (c *canonicalizer) few(field string, n, most int) {
	if n > most {
		c.refuse(field, CodeInvalid, n, "%d entries are too many. Use at most %d, or a calendar.", n, most)
	}
}

func (c *canonicalizer) date(field, text string) string {
	if _, ok := dateNumber(text); !ok {
		c.refuse(field, CodeInvalid, text, "%q is not a date. Write it like 2026-12-25.", text)
	}
	return text
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
