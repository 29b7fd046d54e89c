package schedule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dogwatch/dogwatch/internal/base/errs"
)

// DateList is what a stored calendar holds: local dates on which nothing runs. They
// are judged in the zone of the automation that names the calendar.
type DateList struct {
	Dates  []string    `json:"dates"`
	Ranges []DateRange `json:"ranges"`
}

// Bounds of a calendar: the public holidays of a country for a few centuries.
const maxListDates, maxListRanges = 4000, 1000

// Canonical checks a list and returns it sorted and without repetitions. The error
// is errs.Invalid with the field that is wrong: dates[3], ranges[0].from.
func (l DateList) Canonical() (DateList, error) {
	out := DateList{Dates: slices.Clone(l.Dates), Ranges: slices.Clone(l.Ranges)}
	if n := len(out.Dates); n > maxListDates {
		return DateList{}, errs.BadField("dates", CodeInvalid, n, "%d dates are too many. A calendar holds at most %d; write a range where days follow each other.", n, maxListDates)
	}
	if n := len(out.Ranges); n > maxListRanges {
		return DateList{}, errs.BadField("ranges", CodeInvalid, n, "%d ranges are too many. A calendar holds at most %d.", n, maxListRanges)
	}
	check := func(field, text string) error {
		if _, ok := dateNumber(text); !ok {
			return errs.BadField(field, CodeInvalid, text, "%q is not a date. Write it like 2026-12-25.", text)
		}
		return nil
	}
	for i, date := range out.Dates {
		if err := check(fmt.Sprintf("dates[%d]", i), date); err != nil {
			return DateList{}, err
		}
	}
	for i, r := range out.Ranges {
		at := fmt.Sprintf("ranges[%d]", i)
		for field, text := range map[string]string{at + ".from": r.From, at + ".to": r.To} {
			if err := check(field, text); err != nil {
				return DateList{}, err
			}
		}
		if r.From > r.To { // ISO dates sort as text
			return DateList{}, errs.BadField(at, CodeInvalid, r, "The range ends before it begins. Swap %s and %s.", r.From, r.To)
		}
	}
	slices.Sort(out.Dates)
	out.Dates = slices.Compact(out.Dates)
	slices.SortFunc(out.Ranges, func(a, b DateRange) int { return strings.Compare(a.From+a.To, b.From+b.To) })
	out.Ranges = slices.Compact(out.Ranges)
	return out, nil
}

// Set compiles a list.
func (l DateList) Set() (Dates, error) { return NewDates(l.Dates, l.Ranges) }

// Union returns the dates that are in any of some sets.
func Union(sets ...Dates) Dates {
	if len(sets) == 1 {
		return sets[0]
	}
	return merged(slices.Concat(sets...))
}
