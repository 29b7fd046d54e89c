package task

import (
	"fmt"
	"slices"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/brief"
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
	Why   string // in words, when it is not simply the schedule's
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
		if t.Skips == 0 { // no planned time was lost to this run
			p.Close = append(slices.Clone(healed), brief.CauseSkips)
		}
	}
	if !t.runs(e) {
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
		return t.beat(spec, at, e.Wishes)
	}
	due := *t.StartAt
	if due.Before(at) { // it came while a run by hand was open
		due = at.Truncate(time.Microsecond)
	}
	return Next{Set: schedule.Slot{PlannedAt: due, FireAt: due}}
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
	case spec.Mode() == schedule.Heartbeat && t.beat(&spec, at, e.Wishes).Set == schedule.Slot{}:
		return BoundsUsedUp
	case spec.Mode() != schedule.Heartbeat && t.NextPlannedAt == nil && spec.Arm(t.ID, at) == schedule.Slot{}:
		return BoundsUsedUp
	}
	return ""
}
