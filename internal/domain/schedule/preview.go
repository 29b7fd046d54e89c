package schedule

import "time"

// Item is one fire of a preview.
type Item struct {
	At     time.Time `json:"at"`
	Local  string    `json:"local"`  // RFC 3339 on the clock of the zone
	Offset string    `json:"offset"` // +02:00
	Note   string    `json:"note,omitempty"`
	Reason string    `json:"reason,omitempty"` // why this fire will be refused
}

// GapDay is a day on which an interval schedule loses times, since the clock leaves
// them out. No fire could carry that note.
type GapDay struct {
	Date string `json:"date"`
	Note string `json:"note"`
	From string `json:"from"` // first time that does not exist, HH:MM
	To   string `json:"to"`   // first that does again
	Lost int64  `json:"lost"`
}

// Forecast is the answer to "when would this run".
type Forecast struct {
	Items []Item   `json:"items"`
	Days  []GapDay `json:"days,omitempty"`
}

// Preview lists the next n fires after an instant. Refused ones stay in the list
// with their reason and count as one of the n: the list shows what the pattern says
// and what the rules make of it.
func Preview(s Spec, from time.Time, n int, holidays Dates, quiet ...Quiet) Forecast {
	f := Forecast{Items: []Item{}}
	for _, fire := range s.NextN(from, n) {
		local := fire.At.In(s.loc)
		reason, _ := s.Refusal(fire.At, holidays, quiet...)
		f.Items = append(f.Items, Item{At: fire.At, Local: local.Format("2006-01-02T15:04:05-07:00"), Offset: local.Format("-07:00"), Note: fire.Note, Reason: reason})
	}
	if len(f.Items) > 0 && s.mode == Schedule && s.pattern.interval {
		f.Days = s.gapDays(from.Unix(), f.Items[len(f.Items)-1].At.Unix())
	}
	return f
}

// gapDays finds the gaps in (from, to] that swallow a time of an interval schedule.
func (s *Spec) gapDays(from, to int64) (days []GapDay) {
	here := stretchAt(s.loc, from)
	for here.end <= to {
		next := stretchAt(s.loc, here.end)
		lo, hi := here.end+here.offset, here.end+next.offset
		if lost := s.pattern.count(lo, hi); lost > 0 {
			first, last := time.Unix(lo, 0).UTC(), time.Unix(hi, 0).UTC()
			days = append(days, GapDay{first.Format(time.DateOnly), NoteGap, first.Format("15:04"), last.Format("15:04"), lost})
		}
		here = next
	}
	return days
}
