package task

import (
	"fmt"

	"github.com/dogwatch/dogwatch/internal/domain/brief"
	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/domain/handoff"
)

// WarnAtPercent is from which part of its budget of the day on a person hears of a
// task's spending: early enough to raise it before a run is stopped.
const WarnAtPercent = 80

// Percent returns how much of an allowance is used, in whole percent: of money or of
// tokens, whichever is nearer to its end. Money that is not known counts as nothing.
func (a Allowance) Percent(cost *budget.USD, tokens int64) int {
	most := 0.0
	if a.USD != nil && *a.USD > 0 && cost != nil {
		most = float64(*cost) / float64(*a.USD)
	}
	if a.Tokens > 0 {
		most = max(most, float64(tokens)/float64(a.Tokens))
	}
	return int(min(most*100, 1000))
}

// BriefOfSpending tells a person that the task's budget of the day is nearly used up,
// once, when the part that is used goes from before to after percent; nil when there is
// nothing to tell. That it is used up altogether is a decision, when the run ends.
func BriefOfSpending(t Task, before, after int) *brief.Draft {
	if before >= WarnAtPercent || after < WarnAtPercent || after >= 100 || t.Config.Brief != nil && t.Config.Brief.Mode == BriefNever {
		return nil
	}
	return &brief.Draft{
		Type: brief.Insight, Priority: brief.Normal, Cause: brief.CauseSpending,
		Title:   "Budget nearly used up: " + handoff.Cut(t.Name, 150),
		Summary: fmt.Sprintf("%s has used %d %% of its budget of the day. A run that would go over it writes its report and stops.", t.Identifier, after),
		Actions: []brief.Action{brief.Raise.At(brief.EditURL(t.Identifier)), brief.Acknowledge},
	}
}
