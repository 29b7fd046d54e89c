// Package event names what changes, for whoever watches: dashboards, the command
// line, other people's programs.
//
// An event says that something changed and carries little of what it is now: a
// reader that cares asks for the thing itself.
package event

import "time"

// Types of events: <kind>.<what>. Clients match on them, so they are stable.
const (
	TaskCreated      = "task.created"
	TaskChanged      = "task.changed"
	TaskDeleted      = "task.deleted"
	TickChanged      = "tick.changed"
	TopicOpened      = "topic.opened"
	TopicChanged     = "topic.changed"
	TopicEnded       = "topic.ended"
	OperationChanged = "operation.changed"
	StepAdded        = "step.added"
	// StepDelta is text of a model while it is written. It is sent to whoever is
	// there and not kept: the step that it belongs to is.
	StepDelta        = "step.delta"
	BriefOpened      = "brief.opened"
	BriefChanged     = "brief.changed"
	BriefResolved    = "brief.resolved"
	AgentChanged     = "agent.changed"
	CalendarChanged  = "calendar.changed"
	WorkspaceChanged = "workspace.changed"
	QueueChanged     = "queue.changed"
)

// Event is one thing that changed. Whoever emits one fills in the first four
// fields; the others are known once it is stored and numbered.
type Event struct {
	Type        string
	SubjectKind string // task, topic, operation, …
	SubjectID   string
	Payload     any // as JSON; nil for none

	// Seq is the number by which a reader resumes: whoever has seen n has seen
	// everything up to n. 0 for an event that is not kept.
	Seq         int64
	WorkspaceID string
	At          time.Time
}
