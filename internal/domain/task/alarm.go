package task

import (
	"fmt"
	"slices"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/brief"
	"github.com/dogwatch/dogwatch/internal/domain/handoff"
)

const (
	// DefaultAfterSkips is after how many planned times in a row that did not run a
	// person hears of it: more than a slow morning, less than a day of an hourly task.
	DefaultAfterSkips = 10
	// MaxAfterSkips is the most that can be asked for.
	MaxAfterSkips = 1000
	// SkipsAgainAfter is how long a card that was put away stays away while the same
	// goes on.
	SkipsAgainAfter = 24 * time.Hour
)

// AfterSkips is after how many planned times in a row that did not run a person hears
// of it; 0: never.
func (c Config) AfterSkips() int {
	switch {
	case c.Brief == nil:
		return DefaultAfterSkips
	case c.Brief.Mode == BriefNever:
		return 0
	case c.Brief.AfterSkips > 0:
		return c.Brief.AfterSkips
	}
	return DefaultAfterSkips
}

// Alarms reports whether planned times that are refused for r again and again are worth
// telling. What a person has switched off, or has a card for, is known; what the
// schedule itself leaves out was asked for; what waits for another task is in its place.
func (r Reason) Alarms() bool {
	return slices.Contains([]Reason{NoAgent, InFlight, OverBudget, Concurrency}, r)
}

// BriefOfSkips is what a person is told when so many planned times in a row were
// refused, the last one by v; nil when there is nothing to tell.
func BriefOfSkips(t Task, skips int, v Verdict) *brief.Draft {
	after := t.Config.AfterSkips()
	if after == 0 || skips == 0 || skips%after != 0 || !v.Reason.Alarms() {
		return nil
	}
	return &brief.Draft{
		Type: brief.Insight, Priority: brief.Normal, Cause: brief.CauseSkips,
		Title:   "Keeps being skipped: " + handoff.Cut(t.Name, 150),
		Summary: fmt.Sprintf("%d planned times in a row did not run. The last one was skipped as `%s`: %s%s", skips, v.Reason, v.Detail, hint(v.Reason)),
		Actions: []brief.Action{brief.Edit.At(brief.EditURL(t.Identifier)), brief.Ignore},
	}
}

// hint says what to do about a refusal that comes again and again.
func hint(r Reason) string {
	switch r {
	case InFlight:
		return " Its runs take longer than its schedule allows for: a longer interval, or a limit on the time of a run, helps."
	case NoAgent:
		return " Assign an agent to it, or enable the one that it has."
	case OverBudget:
		return " A larger budget of the day, or fewer runs, helps."
	case Concurrency:
		return " The tasks that share this key want more time than there is."
	}
	return ""
}
