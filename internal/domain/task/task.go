// Package task is the heart of the house: what a work order is, which moves its
// status may make, whether it may run now, and what follows when a run ends.
//
// Everything here is a value or a function of values. Nothing reads the clock,
// the database or the network: callers pass in what is true and carry out what
// comes back. docs/states.md is the same rules in words.
package task

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
)

// Status is where a task stands.
type Status string

const (
	Backlog   Status = "backlog"   // written down, nothing planned
	Scheduled Status = "scheduled" // armed: it has a next fire
	Running   Status = "running"   // a run is open
	Paused    Status = "paused"    // waits for a person
	Completed Status = "completed"
	Failed    Status = "failed"
	Canceled  Status = "canceled"
)

// Statuses lists all of them.
var Statuses = []Status{Backlog, Scheduled, Running, Paused, Completed, Failed, Canceled}

// moves is the only list of legal status changes.
var moves = map[Status][]Status{
	Backlog:   {Scheduled, Running, Paused, Completed, Canceled},
	Scheduled: {Running, Paused, Completed, Backlog, Canceled},
	Running:   {Scheduled, Paused, Completed, Failed, Canceled},
	Paused:    {Scheduled, Running, Backlog, Completed, Failed, Canceled},
	Completed: {Backlog, Scheduled, Running},
	Failed:    {Backlog, Scheduled, Running},
	Canceled:  {Backlog, Scheduled, Running},
}

// Terminal reports whether a task of status s has ended. A person may reopen it.
func (s Status) Terminal() bool { return s == Completed || s == Failed || s == Canceled }

// CanBecome reports whether a move from s to another status is legal.
func (s Status) CanBecome(to Status) bool { return slices.Contains(moves[s], to) }

// Priority is how much a task matters beside others.
type Priority string

// Priorities lists the words, from none to low.
var Priorities = []Priority{"none", "urgent", "high", "normal", "low"}

// Lead is by how much a task goes before the least urgent that are due at the same
// instant: milliseconds, which order a crowd and are felt by nobody. A task without
// a priority is as urgent as a normal one.
func (p Priority) Lead() time.Duration {
	switch p {
	case "urgent":
		return MaxLead
	case "high":
		return 2 * time.Millisecond
	case "low":
		return 0
	}
	return time.Millisecond
}

// MaxLead is the lead of what is urgent.
const MaxLead = 3 * time.Millisecond

// Acceptance says who accepts the work of a one-off task.
type Acceptance string

const (
	Review Acceptance = "review" // a person: a finished run waits for approval
	Auto   Acceptance = "auto"   // finished means completed, failed means failed
)

// Budget limits what one operation and one day of a task may use.
type Budget struct {
	Operation Allowance `json:"operation,omitzero"`
	Day       Allowance `json:"day,omitzero"`
}

// Allowance is an amount of money, tokens, minutes and steps; zero or nil: no limit.
type Allowance struct {
	USD     *budget.USD `json:"usd,omitempty"`
	Tokens  int64       `json:"tokens,omitempty"`
	Minutes int         `json:"minutes,omitempty"`
	Steps   int         `json:"steps,omitempty"`
}

// Limits returns the allowance as limits of one operation.
func (a Allowance) Limits() operation.Limits {
	return operation.Limits{USD: a.USD, Tokens: a.Tokens, Seconds: a.Minutes * 60, Steps: a.Steps}
}

// Config is what a task asks for beyond its instruction.
type Config struct {
	Model          string          `json:"model,omitempty"` // overrides the agent's
	Acceptance     Acceptance      `json:"acceptance,omitempty"`
	Review         json.RawMessage `json:"review,omitempty"`
	Checkpoint     *Checkpoint     `json:"checkpoint,omitempty"`
	Brief          *BriefConfig    `json:"brief,omitempty"`
	FailureFuse    int             `json:"failureFuse,omitempty"` // 0: the default
	ConcurrencyKey string          `json:"concurrencyKey,omitempty"`
	Budget         Budget          `json:"budget,omitzero"`
}

// Checkpoint holds a task for a person before its first run, or after each.
type Checkpoint struct {
	Before bool `json:"before,omitempty"`
	After  bool `json:"after,omitempty"`
}

// BriefConfig says how talkative a task is.
type BriefConfig struct {
	Mode       BriefMode `json:"mode,omitempty"`
	AfterSkips int       `json:"afterSkips,omitempty"` // 0: the default
}

// BriefMode is when a finished run tells a person.
type BriefMode string

const (
	BriefOnNews BriefMode = "news"   // when there is something to say; the default
	BriefAlways BriefMode = "always" // after each run
	BriefNever  BriefMode = "never"  // only errors and decisions
)

// DefaultFuse is how many ticks may fail in a row before a person is asked: one
// failure is weather, three are climate.
const DefaultFuse = 3

// Fuse returns the number of failed ticks in a row that pause the task.
func (c Config) Fuse() int {
	if c.FailureFuse > 0 {
		return c.FailureFuse
	}
	return DefaultFuse
}

// Task is a standing work order.
type Task struct {
	ID, WorkspaceID, Identifier string
	Seq                         int64
	Name, Description           string
	Instruction                 string
	InstructionRich             json.RawMessage
	Status                      Status
	StatusReason                string
	Error                       *string
	Priority                    Priority
	Labels                      []string
	ParentID                    *string
	AssigneeAgentID             *string
	AssigneeUserID              *string
	Config                      Config
	CreatedBy                   access.Actor
	CreatedByOperationID        *string
	CronJob                     CronJob
	MadeName                    string // what the tasks of a template are called; "" as it is

	Automation         *schedule.Automation // nil: none
	AutomationRevision int64
	StartAt            *time.Time // a one-shot's time
	ArmedAt            *time.Time
	NextPlannedAt      *time.Time
	NextFireAt         *time.Time // NextPlannedAt plus jitter
	Executions         int        // scheduled runs since arming
	NextWhy            string     // why a heartbeat's next fire is not simply an interval away
	Failures           int        // failed ticks in a row
	Repeats            int        // automated runs in a row that left the handoff of the run before
	Skips              int        // planned times in a row that did not run for want of something
	MaxTopics          *int
	TotalTopics        int
	CurrentTopicID     *string
	LastRunAt          *time.Time
	CostUSD            *budget.USD // nil: not known

	Version              int64
	CreatedAt, UpdatedAt time.Time
	StartedAt            *time.Time
	CompletedAt          *time.Time
	DeletedAt            *time.Time
}

// Acceptance returns who accepts the task's work: as configured, else a person
// for what people and programs create, and nobody for what agents create.
func (t Task) Acceptance() Acceptance {
	if t.Config.Acceptance != "" {
		return t.Config.Acceptance
	}
	if t.CreatedBy.Kind == access.Agent {
		return Auto
	}
	return Review
}

// Automated reports whether the task repeats.
func (t Task) Automated() bool { return t.Automation != nil }

// Spec compiles what starts the task by time; nil when nothing does.
func (t Task) Spec() (*schedule.Spec, error) {
	switch {
	case t.Automation != nil:
		s, err := schedule.Parse(*t.Automation)
		if err != nil {
			return nil, fmt.Errorf("read the automation of %s: %w", t.Identifier, err)
		}
		return &s, nil
	case t.StartAt != nil:
		s := schedule.OnceAt(*t.StartAt)
		return &s, nil
	}
	return nil, nil
}

// Armed reports whether time alone will start the task.
func (t Task) Armed() bool {
	return (t.Automated() || t.StartAt != nil) && (t.Status == Scheduled || t.Status == Running)
}

// Move is a legal change of one task's status. Its fields are private: only
// [Task.Move] makes one, and only the store takes one. A status cannot change by
// any other road.
type Move struct {
	taskID   string
	from, to Status
	reason   Reason
	actor    access.Actor
	note     string
}

func (m Move) TaskID() string      { return m.taskID }
func (m Move) From() Status        { return m.from }
func (m Move) To() Status          { return m.to }
func (m Move) Reason() Reason      { return m.reason }
func (m Move) Actor() access.Actor { return m.actor }
func (m Move) Note() string        { return m.note }

// Move returns the move of t to another status, or a Conflict when there is none.
func (t Task) Move(to Status, why Reason, by access.Actor) (Move, error) {
	if !t.Status.CanBecome(to) {
		return Move{}, errs.New(errs.Conflict, "conflict", "%s is %s and cannot become %s.", t.Identifier, t.Status, to)
	}
	return Move{taskID: t.ID, from: t.Status, to: to, reason: why, actor: by}, nil
}

// Noted returns the move with a person's words beside it.
func (m Move) Noted(note string) Move {
	m.note = note
	return m
}

// DayOf returns the beginning of the day that the task's budget of a day is for: in the
// zone of its schedule, else in UTC. spec is nil where it has none that can be read.
func DayOf(spec *schedule.Spec, now time.Time) time.Time {
	if spec == nil {
		return now.UTC().Truncate(24 * time.Hour)
	}
	from, _ := spec.DayOf(now)
	return from
}

// Left returns what is left of an allowance of which so much is used, as limits on what
// may be used besides: below zero where nothing is. Money that is not known leaves no
// limit in money.
func (a Allowance) Left(cost *budget.USD, tokens int64, seconds int) (left operation.Limits) {
	if a.USD != nil && cost != nil {
		usd := *a.USD - *cost
		left.USD = &usd
	}
	if a.Tokens > 0 {
		left.Tokens = orBelow(a.Tokens - tokens)
	}
	if a.Minutes > 0 {
		left.Seconds = orBelow(a.Minutes*60 - seconds)
	}
	return left
}

// orBelow is n, or -1 where n is zero, which would be no limit.
func orBelow[T int | int64](n T) T {
	if n == 0 {
		return -1
	}
	return n
}

// Spent says in words which part of an allowance is used up, "" when none is.
// Money that is not known counts as nothing: the limits on tokens and time still
// bite.
func (a Allowance) Spent(cost *budget.USD, tokens int64, seconds int) string {
	switch {
	case a.USD != nil && cost != nil && *cost >= *a.USD:
		return fmt.Sprintf("The day's budget of %s USD is used up.", *a.USD)
	case a.Tokens > 0 && tokens >= a.Tokens:
		return fmt.Sprintf("The day's budget of %d tokens is used up.", a.Tokens)
	case a.Minutes > 0 && seconds >= a.Minutes*60:
		return fmt.Sprintf("The day's budget of %d minutes is used up.", a.Minutes)
	}
	return ""
}
