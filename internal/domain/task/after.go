package task

import (
	"fmt"
	"strings"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/brief"
	"github.com/dogwatch/dogwatch/internal/domain/handoff"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
)

// Ending is how the last operation of a topic ended.
type Ending struct {
	TopicID string
	Origin  topic.Origin
	Reason  operation.Reason
	Detail  string
	Error   string // for people; set when Reason is error
	Text    string // the agent's last text
	Wishes  operation.Wishes
	// TaskBudgetSpent says that the task's own budget, not just the operation's, is used up.
	TaskBudgetSpent bool
	// TickWaits says that a planned tick of the task is open already: it was written
	// while this run went on, and has its say when the run has ended.
	TickWaits bool
}

// Plan is what follows from the end of a topic. It is carried out in the order
// of its fields, in one transaction.
type Plan struct {
	Topic    topic.Status // 1. the topic's status
	Move     *Move        // 2. the task's; nil when somebody moved it meanwhile
	Error    *string      // 3. the task's current error; nil when there is none
	Failures int          // 4. failed ticks in a row
	Next     Next         // 5. the next fire
	Close    []string     // 6. causes of open briefs that are gone
	Recause  [2]string    // 7. from, to: the open brief of a cause becomes another's
	Brief    *brief.Draft // 8. what to tell a person now
	Ended    bool         // 9. the task came to a terminal status: what waits for it may go on
}

// Next says what becomes of a task's next fire. The zero Next leaves it.
type Next struct {
	Clear bool
	Set   schedule.Slot
}

// healed are the causes that a good run does away with: what had failed works
// again, what was missed has run, and what was too dear fits its budget.
var healed = []string{brief.CauseRunFailed, brief.CauseFuse, brief.CauseMissed, brief.CauseBudget}

// AfterTopic decides what follows when a topic of t ends: the table "end of a
// topic" of docs/states.md. spec is the task's compiled automation, nil for a
// one-off and for an automation that cannot be read; at is the database's now.
//
// When the task is no longer running this topic (somebody paused or canceled it),
// topic and brief are written all the same, and its status, error and next fire
// stay. When the run only waits, nothing has ended: the person is asked.
func AfterTopic(t Task, e Ending, spec *schedule.Spec, at time.Time) (Plan, error) {
	p := Plan{Topic: topic.StatusAfter(e.Reason, e.Detail), Error: t.Error, Failures: t.Failures}
	if p.Topic == topic.Running {
		if t.DeletedAt == nil && e.Reason == operation.ReasonWaitingForHuman {
			p.Brief = t.briefOfWaiting(e)
		}
		return p, nil
	}
	failed := p.Topic == topic.Failed || p.Topic == topic.Timeout
	if failed && e.Error == "" {
		e.Error = "The run ended without a result."
	}
	switch {
	case failed && !e.Origin.ByPerson():
		p.Failures++
	case e.Reason == operation.ReasonDone:
		p.Failures, p.Close = 0, healed
	}
	if current := t.Status == Running && t.CurrentTopicID != nil && *t.CurrentTopicID == e.TopicID && t.DeletedAt == nil; !current {
		p.Brief = t.briefOfBystander(e, p)
		return p, nil
	}

	to, why := t.after(e, p.Topic, p.Failures)
	if t.Automated() && why != CheckpointAsked && why != CheckpointAfter && to != Completed {
		if spec == nil {
			to, why = Paused, NoPattern
		} else if reason := t.usedUp(*spec, e, at); reason != "" {
			to, why = Completed, reason
		}
	}
	p.Brief = t.briefAfter(e, p, why)
	if why == Fuse {
		p.Recause = [2]string{brief.CauseRunFailed, brief.CauseFuse}
	}
	p.Error = nil
	if failed {
		p.Error = &e.Error
	}
	actor := access.House
	if why == ByAgent || why == CheckpointAsked {
		actor = access.Actor{Kind: access.Agent}
		if t.AssigneeAgentID != nil {
			actor.ID = *t.AssigneeAgentID
		}
	}
	m, err := t.Move(to, why, actor)
	if err != nil {
		return Plan{}, fmt.Errorf("end a topic of %s: %w", t.Identifier, err)
	}
	p.Move = &m
	p.Ended = to.Terminal()
	p.Next = t.nextAfter(to, spec, e, at)
	return p, nil
}

// nextAfter is the next fire of a task that goes to another status. A schedule has
// kept its own while the task ran; an open tick stands for the next fire of
// everything else.
func (t Task) nextAfter(to Status, spec *schedule.Spec, e Ending, at time.Time) Next {
	switch {
	case to != Scheduled:
		return Next{Clear: true}
	case t.Automated() && spec.Mode() != schedule.Heartbeat:
		if t.NextPlannedAt == nil && !e.TickWaits {
			return Next{Set: spec.Arm(t.ID, at)}
		}
		return Next{}
	case e.TickWaits:
		return Next{}
	case t.Automated():
		return Next{Set: beat(*spec, t.ID, e, at)}
	}
	due := *t.StartAt
	if due.Before(at) { // it came while a run by hand was open
		due = at.Truncate(time.Microsecond)
	}
	return Next{Set: schedule.Slot{PlannedAt: due, FireAt: due}}
}

// beat is a heartbeat's next beat after a run, as the agent proposes it.
func beat(spec schedule.Spec, taskID string, e Ending, at time.Time) schedule.Slot {
	return spec.Beat(taskID, at, time.Duration(e.Wishes.NextBeatSeconds)*time.Second)
}

// after says where the task goes, before its bounds are looked at.
func (t Task) after(e Ending, ended topic.Status, failures int) (Status, Reason) {
	done := e.Reason == operation.ReasonDone
	switch {
	case e.Wishes.Checkpoint:
		return Paused, CheckpointAsked
	case t.Config.Checkpoint != nil && t.Config.Checkpoint.After:
		return Paused, CheckpointAfter
	case e.Wishes.Pause && done:
		return Paused, ByAgent
	}
	review := t.Acceptance() == Review
	failed := ended == topic.Failed || ended == topic.Timeout
	if t.Automated() {
		switch {
		case e.Wishes.Complete && done && review:
			return Paused, AwaitingReview
		case e.Wishes.Complete && done:
			return Completed, ByAgent
		case failed && !e.Origin.ByPerson() && failures >= t.Config.Fuse():
			return Paused, Fuse
		case failed:
			return Scheduled, RunFailed
		case ended == topic.Canceled:
			return Scheduled, Interrupted
		case e.Reason == operation.ReasonMaxSteps:
			return Scheduled, RanOnPartial
		case e.Reason == operation.ReasonCostLimit && e.TaskBudgetSpent:
			return Paused, OverBudget
		case e.Reason == operation.ReasonCostLimit:
			return Scheduled, RanOnOverBudget
		}
		return Scheduled, RanOn
	}
	switch {
	case t.StartAt != nil && failed: // a run by hand before its time, which is still to come
		return Scheduled, RunFailed
	case t.StartAt != nil && ended == topic.Canceled:
		return Scheduled, Interrupted
	case t.StartAt != nil:
		return Scheduled, RanOn
	case failed && review:
		return Paused, RunFailed
	case failed:
		return Failed, RunFailed
	case ended == topic.Canceled:
		return Paused, Interrupted
	case e.Reason == operation.ReasonCostLimit:
		return Paused, OverBudget
	case e.Reason == operation.ReasonMaxSteps && !review:
		return Failed, RanOnPartial
	case review:
		return Paused, AwaitingReview
	}
	return Completed, RanOn
}

// usedUp says which bound of an automated task leaves it no run, "" when none does.
func (t Task) usedUp(spec schedule.Spec, e Ending, at time.Time) Reason {
	switch {
	case t.MaxTopics != nil && t.TotalTopics >= *t.MaxTopics:
		return MaxTopics
	case spec.ExecutionsUsedUp(t.Executions):
		return BoundsUsedUp
	case e.TickWaits:
		return ""
	case spec.Mode() == schedule.Heartbeat && beat(spec, t.ID, e, at) == schedule.Slot{}:
		return BoundsUsedUp
	case spec.Mode() != schedule.Heartbeat && t.NextPlannedAt == nil && spec.Arm(t.ID, at) == schedule.Slot{}:
		return BoundsUsedUp
	}
	return ""
}

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
