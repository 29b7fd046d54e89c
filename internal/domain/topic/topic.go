// Package topic describes one run of a task, and the tick that asked for it.
package topic

import (
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/domain/handoff"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
)

// Status is where a run stands.
type Status string

const (
	Running   Status = "running" // at most one per task
	Completed Status = "completed"
	Failed    Status = "failed"
	Timeout   Status = "timeout"
	Canceled  Status = "canceled"
)

// Origin is what asked for a run.
type Origin string

const (
	Heartbeat  Origin = "heartbeat"
	Schedule   Origin = "schedule"
	Every      Origin = "every"
	Once       Origin = "once"
	Manual     Origin = "manual"
	Dependency Origin = "dependency"
	Comment    Origin = "comment"
	Webhook    Origin = "webhook"
	Retry      Origin = "retry"
	Backfill   Origin = "backfill"
	Signal     Origin = "signal"
	Message    Origin = "message"
	Synthesis  Origin = "synthesis"
)

// Planned reports whether a run of this origin stands for a planned time: only
// these count as executions of a schedule, and only these blow the fuse.
func (o Origin) Planned() bool {
	switch o {
	case Heartbeat, Schedule, Every, Once, Backfill:
		return true
	}
	return false
}

// Repeats reports whether a schedule planned the time, and plans more of them.
func (o Origin) Repeats() bool { return o == Heartbeat || o == Schedule || o == Every }

// ByPerson reports whether somebody asked for the run by hand, now: it skips the
// checks that belong to the schedule.
func (o Origin) ByPerson() bool { return o == Manual || o == Comment || o == Retry }

// StatusAfter returns the status of a topic whose operation ended.
func StatusAfter(r operation.Reason, detail string) Status {
	switch r {
	case operation.ReasonError:
		return Failed
	case operation.ReasonInterrupted:
		if operation.TimedOut(detail) {
			return Timeout
		}
		return Canceled
	case operation.ReasonWaitingForHuman, operation.ReasonWaitingForAsyncTool:
		return Running
	}
	return Completed
}

// Topic is one run of a task.
type Topic struct {
	ID, WorkspaceID, TaskID, TickID string
	Seq                             int
	Origin                          Origin
	Status                          Status
	Reason                          operation.Reason
	ReasonDetail                    string
	Error                           *string
	Title                           string
	ContinuesTopicID                *string
	Handoff                         *handoff.Handoff
	HandoffSource                   string
	FinalText                       *string
	CostUSD                         *budget.USD
	StartedAt                       time.Time
	CompletedAt                     *time.Time
}

// TickState is where a tick stands.
type TickState string

const (
	TickPending    TickState = "pending"    // written and posted
	TickQueued     TickState = "queued"     // waits for the open run to end
	TickDispatched TickState = "dispatched" // has a topic that is open
	TickRan        TickState = "ran"
	TickSkipped    TickState = "skipped"
	TickMissed     TickState = "missed"
	TickCoalesced  TickState = "coalesced"
	TickCanceled   TickState = "canceled"
)

// Ended reports whether nothing more comes of the tick.
func (s TickState) Ended() bool {
	return s != TickPending && s != TickQueued && s != TickDispatched
}
