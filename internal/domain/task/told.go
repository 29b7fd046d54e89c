package task

import (
	"fmt"
	"strings"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/brief"
	"github.com/dogwatch/dogwatch/internal/domain/handoff"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
)

// briefOfWaiting asks the person that a run waits for.
func (t Task) briefOfWaiting(e Ending) *brief.Draft {
	return &brief.Draft{
		Type: brief.Decision, Priority: brief.Urgent, Cause: brief.CauseWaiting,
		Title:   "Waits for you: " + handoff.Cut(t.Name, 150),
		Summary: firstOf(e.Text, "The run waits for a person before it goes on."),
		Actions: []brief.Action{brief.Feedback, brief.Stop},
	}
}

// briefOfBystander says what a person is told of a run whose task has gone on
// without it: what it ended with, and none of what the task would have become.
func (t Task) briefOfBystander(e Ending, p Plan) *brief.Draft {
	switch {
	case t.DeletedAt != nil:
		return nil
	case t.Status == Paused && e.Wishes.Checkpoint: // the pause is there, the question is not
		return t.briefAfter(e, p, CheckpointAsked)
	}
	return t.briefAfter(e, p, "")
}

// briefAfter says what a person is told at once, why being what the task's new
// status is for. What a run found is told when its handoff is written and shows
// whether there is news: see [BriefOfHandoff].
func (t Task) briefAfter(e Ending, p Plan, why Reason) *brief.Draft {
	edit := brief.EditURL(t.Identifier)
	switch {
	case why == CheckpointAsked || why == CheckpointAfter:
		return &brief.Draft{
			Type: brief.Decision, Priority: brief.Urgent, Cause: brief.CauseCheckpoint,
			Title:   "Checkpoint: " + handoff.Cut(t.Name, 150),
			Summary: firstOf(e.Wishes.CheckpointWhy, e.Text, e.Error, "The run has ended and waits for a person before the next one."),
			Actions: []brief.Action{brief.Resume, brief.RunOnce, brief.Feedback, brief.Stop},
		}
	case why == NoPattern:
		return Unreadable(t, "")
	case why == Fuse:
		return &brief.Draft{
			Type: brief.Error, Priority: brief.Urgent, Cause: brief.CauseFuse,
			Title:   "Paused after repeated failures: " + handoff.Cut(t.Name, 150),
			Summary: fmt.Sprintf("%d runs in a row failed. The last one: %s", p.Failures, e.Error),
			Actions: []brief.Action{brief.Resume, brief.Edit.At(edit), brief.RunOnce},
		}
	case p.Topic == topic.Failed || p.Topic == topic.Timeout:
		return &brief.Draft{
			Type: brief.Error, Priority: brief.Urgent, Cause: brief.CauseRunFailed,
			Title:   "Run failed: " + handoff.Cut(t.Name, 150),
			Summary: e.Error,
			Actions: []brief.Action{brief.Retry, brief.Feedback, brief.Ignore},
		}
	case e.Reason == operation.ReasonCostLimit:
		d := &brief.Draft{
			Type: brief.Decision, Priority: brief.Normal, Cause: brief.CauseBudget,
			Title:   "Stopped at its budget: " + handoff.Cut(t.Name, 150),
			Summary: strings.TrimSpace("The run stopped at its limit of " + limitWords(e.Detail) + ". " + firstOf(e.Text)),
			Actions: []brief.Action{brief.Continue, brief.Raise.At(edit), brief.Stop},
		}
		if why == OverBudget {
			d.Priority = brief.Urgent
		}
		return d
	case e.Reason == operation.ReasonMaxSteps:
		return t.briefOfLimit(firstOf(e.Text, "The run used all its steps before it was done."))
	case why == AwaitingReview:
		return &brief.Draft{
			Type: brief.Result, Priority: brief.Normal, Cause: brief.CauseResult,
			Title:   handoff.Cut(t.Name, 200),
			Summary: firstOf(e.Wishes.CompleteWhy, e.Text, "The run is done and left no text."),
			Actions: []brief.Action{brief.Approve, brief.Feedback},
		}
	case why == ByAgent && e.Wishes.Pause:
		return &brief.Draft{
			Type: brief.Decision, Priority: brief.Normal, Cause: brief.CauseCheckpoint,
			Title:   "Paused by its agent: " + handoff.Cut(t.Name, 150),
			Summary: firstOf(e.Wishes.PauseWhy, e.Text, "The agent asked for a pause."),
			Actions: []brief.Action{brief.Resume, brief.Feedback, brief.Stop},
		}
	}
	return nil
}

// briefOfLimit tells of a run that used all its steps.
func (t Task) briefOfLimit(summary string) *brief.Draft {
	return &brief.Draft{
		Type: brief.Insight, Priority: brief.Info, Cause: brief.CauseLimit,
		Title:   "Stopped at its limit of steps: " + handoff.Cut(t.Name, 150),
		Summary: summary,
		Actions: []brief.Action{brief.Acknowledge, brief.Feedback},
	}
}

// Unreadable tells of an automation that cannot be read any more, so that the task
// is paused; cause is what is wrong with it, where that is known.
func Unreadable(t Task, cause string) *brief.Draft {
	return &brief.Draft{
		Type: brief.Error, Priority: brief.Urgent, Cause: string(NoPattern),
		Title:   "Schedule cannot be read: " + handoff.Cut(t.Name, 150),
		Summary: firstOf(cause, "The task is paused until its schedule is written anew."),
		Actions: []brief.Action{brief.Edit.At(brief.EditURL(t.Identifier)), brief.Ignore},
	}
}

// minNews is how many characters a final text needs to be worth telling: "ok",
// "done." and "nothing new" are not.
const minNews = 16

// HandoffFacts is what BriefOfHandoff looks at.
type HandoffFacts struct {
	Handoff  handoff.Handoff
	Fallback bool             // no model wrote it, so nothing can be said about news
	Previous *handoff.Handoff // of the run before, nil for the first
	Reason   operation.Reason // why the run ended
	Asked    bool             // the run opened a brief of its own
	Text     string
}

// BriefOfHandoff decides what a person is told once the handoff is written: the
// result of a run that nothing else was said about, and of a run that stopped at
// its limit what is left to do. A heartbeat that found nothing new tells nobody.
func BriefOfHandoff(t Task, f HandoffFacts) *brief.Draft {
	mode := BriefOnNews
	if t.Config.Brief != nil && t.Config.Brief.Mode != "" {
		mode = t.Config.Brief.Mode
	}
	waits := t.Status == Paused && t.StatusReason == string(AwaitingReview)
	agentMade := t.CreatedBy.Kind == access.Agent && !t.Automated() // its creator hears of it
	switch {
	case t.DeletedAt != nil:
		return nil
	case f.Reason == operation.ReasonMaxSteps && t.StatusReason != string(CheckpointAsked) && t.StatusReason != string(CheckpointAfter):
		return t.briefOfLimit(f.Handoff.Markdown()) // what is left stands in the handoff
	case f.Reason != operation.ReasonDone || agentMade && !waits:
		return nil
	case waits: // the card is open already: the handoff says it better
	case mode == BriefNever:
		return nil
	case mode == BriefOnNews && !t.isNews(f):
		return nil
	}
	d := &brief.Draft{
		Type: brief.Result, Priority: brief.Normal, Cause: brief.CauseResult,
		Title: f.Handoff.Title, Summary: f.Handoff.Markdown(),
		Actions: []brief.Action{brief.Acknowledge, brief.Feedback},
	}
	switch {
	case waits:
		d.Actions = []brief.Action{brief.Approve, brief.Feedback}
	case t.Automated():
		d.Actions = []brief.Action{brief.Confirm, brief.Feedback}
	}
	return d
}

// isNews reports whether a run has something to say that nobody was told.
func (t Task) isNews(f HandoffFacts) bool {
	switch {
	case f.Asked || len([]rune(strings.TrimSpace(f.Text))) < minNews:
		return false
	case !t.Automated() || f.Previous == nil && !f.Fallback:
		return true
	case f.Fallback: // nobody judged it: a schedule is told of rather than lost, a heartbeat comes again
		return t.Automation.Mode != schedule.Heartbeat
	}
	return len(handoff.News(*f.Previous, f.Handoff)) > 0
}

func firstOf(texts ...string) string {
	for _, s := range texts {
		if s = strings.TrimSpace(s); s != "" {
			return handoff.Cut(s, handoff.MaxSummary)
		}
	}
	return ""
}

func limitWords(detail string) string {
	switch detail {
	case operation.DetailMoneyLimit:
		return "money"
	case operation.DetailTokenLimit:
		return "tokens"
	}
	return "cost"
}
