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
	Set   schedule.Slot // a heartbeat's next beat
}

// AfterTopic decides what follows when a topic of t ends: the table "end of a
// topic" of docs/states.md. spec is the task's compiled automation, nil for a
// one-off; at is the database's now.
//
// When the task is no longer running this topic (somebody paused or canceled it),
// topic and brief are written all the same, and its status and error stay.
func AfterTopic(t Task, e Ending, spec *schedule.Spec, at time.Time) (Plan, error) {
	p := Plan{Topic: topic.StatusAfter(e.Reason, e.Detail), Error: t.Error, Failures: t.Failures}
	failed := p.Topic == topic.Failed || p.Topic == topic.Timeout
	current := t.Status == Running && t.CurrentTopicID != nil && *t.CurrentTopicID == e.TopicID && t.DeletedAt == nil

	if e.Origin.Planned() && failed {
		p.Failures++
	}
	if e.Reason == operation.ReasonDone {
		p.Failures = 0
		p.Close = []string{brief.CauseRunFailed, brief.CauseFuse}
	}
	to, why := t.after(e, p.Topic, p.Failures)
	if t.Automated() && to != Paused || to == Paused && why == Fuse {
		if t.usedUp(spec, at) {
			to, why = Completed, BoundsUsedUp
		}
	}
	if t.DeletedAt == nil {
		p.Brief = t.briefAfter(e, p.Topic, to, why)
	}
	if why == Fuse {
		p.Recause = [2]string{brief.CauseRunFailed, brief.CauseFuse}
	}
	if !current {
		if t.DeletedAt == nil && t.Status != Running {
			return p, nil // status, error and next fire are somebody else's decision by now
		}
		if t.DeletedAt != nil {
			p.Next.Clear = true
		}
		return p, nil
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
	switch {
	case to != Scheduled:
		p.Next.Clear = true
	case !t.Automated():
		p.Next.Set = schedule.Slot{PlannedAt: *t.StartAt, FireAt: *t.StartAt}
	case spec.Mode() == schedule.Heartbeat:
		p.Next.Set = spec.Beat(t.ID, at, time.Duration(e.Wishes.NextBeatSeconds)*time.Second)
	}
	return p, nil
}

// after says where the task goes, before its bounds are looked at.
func (t Task) after(e Ending, ended topic.Status, failures int) (Status, Reason) {
	cp := t.Config.Checkpoint
	switch {
	case e.Wishes.Checkpoint:
		return Paused, CheckpointAsked
	case cp != nil && cp.After && ended != topic.Canceled:
		return Paused, CheckpointAfter
	case e.Wishes.Pause && e.Reason == operation.ReasonDone:
		return Paused, ByAgent
	}
	review := t.Acceptance() == Review
	failed := ended == topic.Failed || ended == topic.Timeout
	if t.Automated() {
		switch {
		case e.Wishes.Complete && e.Reason == operation.ReasonDone && review:
			return Paused, AwaitingReview
		case e.Wishes.Complete && e.Reason == operation.ReasonDone:
			return Completed, ByAgent
		case failed && e.Origin.Planned() && failures >= t.Config.Fuse():
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

// usedUp reports whether an automated task has no fire left.
func (t Task) usedUp(spec *schedule.Spec, at time.Time) bool {
	if spec == nil {
		return false
	}
	if t.MaxTopics != nil && t.TotalTopics >= *t.MaxTopics || spec.ExecutionsUsedUp(t.Executions) {
		return true
	}
	if spec.Mode() == schedule.Heartbeat {
		return spec.Beat(t.ID, at, 0) == schedule.Slot{}
	}
	return t.NextPlannedAt == nil
}

// briefAfter says what a person is told at once. What an automated task found is
// told when its handoff is written and shows whether there is news: see
// [BriefOfHandoff].
func (t Task) briefAfter(e Ending, ended topic.Status, to Status, why Reason) *brief.Draft {
	edit := brief.EditURL(t.Identifier)
	switch {
	case why == CheckpointAsked || why == CheckpointAfter:
		return &brief.Draft{
			Type: brief.Decision, Priority: brief.Urgent, Cause: brief.CauseCheckpoint,
			Title:   "Checkpoint: " + handoff.Cut(t.Name, 150),
			Summary: firstOf(e.Wishes.CheckpointWhy, e.Text, "The run has ended and waits for a person before the next one."),
			Actions: []brief.Action{brief.Resume, brief.RunOnce, brief.Feedback, brief.Stop},
		}
	case why == Fuse:
		return &brief.Draft{
			Type: brief.Error, Priority: brief.Urgent, Cause: brief.CauseFuse,
			Title:   "Paused after repeated failures: " + handoff.Cut(t.Name, 150),
			Summary: fmt.Sprintf("%d runs in a row failed. The last one: %s", t.Config.Fuse(), e.Error),
			Actions: []brief.Action{brief.Resume, brief.Edit.At(edit), brief.RunOnce},
		}
	case ended == topic.Failed || ended == topic.Timeout:
		return &brief.Draft{
			Type: brief.Error, Priority: brief.Urgent, Cause: brief.CauseRunFailed,
			Title:   "Run failed: " + handoff.Cut(t.Name, 150),
			Summary: firstOf(e.Error, "The run ended without a result ("+e.Detail+")."),
			Actions: []brief.Action{brief.Retry, brief.Feedback, brief.Ignore},
		}
	case e.Reason == operation.ReasonCostLimit:
		d := &brief.Draft{
			Type: brief.Decision, Priority: brief.Normal, Cause: brief.CauseBudget,
			Title:   "Stopped at its budget: " + handoff.Cut(t.Name, 150),
			Summary: "The run stopped at its limit of " + limitWords(e.Detail) + ". " + e.Text,
			Actions: []brief.Action{brief.Continue, brief.Raise.At(edit), brief.Stop},
		}
		if to == Paused {
			d.Priority = brief.Urgent
		}
		return d
	case e.Reason == operation.ReasonMaxSteps:
		d := &brief.Draft{
			Type: brief.Insight, Priority: brief.Info, Cause: brief.CauseLimit,
			Title:   "Stopped at its limit of steps: " + handoff.Cut(t.Name, 150),
			Summary: firstOf(e.Text, "The run used all its steps before it was done."),
			Actions: []brief.Action{brief.Acknowledge, brief.Feedback},
		}
		if to == Paused && why == AwaitingReview { // it also needs an answer
			d.Type, d.Priority, d.Actions = brief.Result, brief.Normal, []brief.Action{brief.Approve, brief.Feedback}
		}
		return d
	case why == AwaitingReview:
		return &brief.Draft{
			Type: brief.Result, Priority: brief.Normal, Cause: brief.CauseResult,
			Title:   handoff.Cut(t.Name, 200),
			Summary: firstOf(e.Wishes.CompleteWhy, e.Text, "The run is done and left no text."),
			Actions: []brief.Action{brief.Approve, brief.Feedback},
		}
	case why == ByAgent && to == Paused:
		return &brief.Draft{
			Type: brief.Decision, Priority: brief.Normal, Cause: brief.CauseCheckpoint,
			Title:   "Paused by its agent: " + handoff.Cut(t.Name, 150),
			Summary: firstOf(e.Wishes.PauseWhy, e.Text, "The agent asked for a pause."),
			Actions: []brief.Action{brief.Resume, brief.Feedback, brief.Stop},
		}
	}
	return nil
}

// minNews is how many characters a final text needs to be worth telling: "ok",
// "done." and "nothing new" are not.
const minNews = 16

// HandoffFacts is what BriefOfHandoff looks at.
type HandoffFacts struct {
	Handoff  handoff.Handoff
	Previous *handoff.Handoff // of the run before, nil for the first
	Done     bool             // the run ended as done
	Asked    bool             // the run opened a brief of its own
	Text     string
}

// BriefOfHandoff decides what a person is told once the handoff is written: the
// result of a run that nothing else was said about. A heartbeat that found
// nothing new tells nobody.
func BriefOfHandoff(t Task, f HandoffFacts) *brief.Draft {
	mode := BriefOnNews
	if t.Config.Brief != nil && t.Config.Brief.Mode != "" {
		mode = t.Config.Brief.Mode
	}
	waits := t.Status == Paused && t.StatusReason == string(AwaitingReview)
	agentMade := t.CreatedBy.Kind == access.Agent && !t.Automated() // its creator hears of it
	switch {
	case !f.Done || t.DeletedAt != nil || agentMade && !waits:
		return nil
	case waits: // the card is open already: the handoff says it better
	case mode == BriefNever:
		return nil
	case mode == BriefOnNews && (f.Asked || len([]rune(strings.TrimSpace(f.Text))) < minNews):
		return nil
	case mode == BriefOnNews && t.Automated() && f.Previous != nil && len(handoff.News(*f.Previous, f.Handoff)) == 0:
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
