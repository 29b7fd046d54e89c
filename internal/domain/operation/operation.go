// Package operation describes one execution of an agent: its status, why it
// ended, what it used and what it may use.
package operation

import (
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/budget"
)

// Status is where an operation stands.
type Status string

const (
	Idle                Status = "idle"    // written down, no step has begun yet
	Running             Status = "running" // exactly one open step job
	WaitingForHuman     Status = "waiting_for_human"
	WaitingForAsyncTool Status = "waiting_for_async_tool"
	Done                Status = "done"
	Error               Status = "error"
	Interrupted         Status = "interrupted"
)

// Statuses lists all of them.
var Statuses = []Status{Idle, Running, WaitingForHuman, WaitingForAsyncTool, Done, Error, Interrupted}

// Ended reports whether nothing more will happen.
func (s Status) Ended() bool { return s == Done || s == Error || s == Interrupted }

// Working reports whether a step is due or under way.
func (s Status) Working() bool { return s == Idle || s == Running }

// Reason is why an operation ended, or waits.
type Reason string

const (
	ReasonDone                Reason = "done"
	ReasonError               Reason = "error"
	ReasonInterrupted         Reason = "interrupted"
	ReasonMaxSteps            Reason = "max_steps"
	ReasonCostLimit           Reason = "cost_limit"
	ReasonWaitingForHuman     Reason = "waiting_for_human"
	ReasonWaitingForAsyncTool Reason = "waiting_for_async_tool"
)

// Status returns the status of an operation that ends for r.
func (r Reason) Status() Status {
	switch r {
	case ReasonError:
		return Error
	case ReasonInterrupted:
		return Interrupted
	case ReasonWaitingForHuman:
		return WaitingForHuman
	case ReasonWaitingForAsyncTool:
		return WaitingForAsyncTool
	}
	return Done // done, and the limits: what was done until then stands
}

// Details that refine a reason. Errors of models use the words of turn.ErrorClass.
const (
	DetailTokenLimit       = "token_limit"
	DetailMoneyLimit       = "money_limit"
	DetailTimeLimit        = "time_limit"
	DetailStalled          = "stalled"
	DetailHeartbeatTimeout = "heartbeat_timeout"
	DetailLoop             = "loop_detected"
	DetailByPerson         = "canceled_by_person"
	DetailByParent         = "parent_canceled"
	DetailSuperseded       = "superseded" // by the next run, where overlap is cancel
	DetailPoison           = "poison"
	DetailInternal         = "internal_error"
)

// TimedOut reports whether an interruption was by a clock, not by somebody.
func TimedOut(detail string) bool {
	return detail == DetailTimeLimit || detail == DetailStalled || detail == DetailHeartbeatTimeout
}

// Limits is what one operation may use. Zero means no limit.
type Limits struct {
	Steps   int         `json:"steps,omitempty"`
	Tokens  int64       `json:"tokens,omitempty"`
	USD     *budget.USD `json:"usd,omitempty"`
	Seconds int         `json:"seconds,omitempty"` // wall clock from the beginning of the first step
	// SilenceSeconds is how long it may go without a committed step; none by default.
	SilenceSeconds int `json:"silenceSeconds,omitempty"`
}

// Usage is what an operation has used so far.
type Usage struct {
	Steps   int
	Tokens  budget.Usage
	CostUSD *budget.USD // nil: a call's cost is not known
	Elapsed time.Duration
}

// Plus returns what is used when v is used besides.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		Steps: u.Steps + v.Steps, Tokens: u.Tokens.Add(v.Tokens), CostUSD: budget.Sum(u.CostUSD, v.CostUSD), Elapsed: u.Elapsed + v.Elapsed,
	}
}

// Exceeded says which limit is reached, if one is: the reason and its detail.
// The order is fixed, so that the same usage always ends for the same reason.
func (l Limits) Exceeded(u Usage) (Reason, string, bool) {
	switch {
	case l.Seconds > 0 && u.Elapsed >= time.Duration(l.Seconds)*time.Second:
		return ReasonInterrupted, DetailTimeLimit, true
	case l.USD != nil && u.CostUSD != nil && *u.CostUSD >= *l.USD:
		return ReasonCostLimit, DetailMoneyLimit, true
	case l.Tokens > 0 && u.Tokens.Total() >= l.Tokens:
		return ReasonCostLimit, DetailTokenLimit, true
	case l.Steps > 0 && u.Steps >= l.Steps:
		return ReasonMaxSteps, "", true
	}
	return "", "", false
}

// Within returns the limits of an operation that has used u and may use no more than
// left besides: what is left of its task's day, say. In left, a limit below zero says
// that nothing is left, and zero or nil that there is none.
func (l Limits) Within(u Usage, left Limits) Limits {
	if left.USD != nil && u.CostUSD != nil {
		most := *u.CostUSD + *left.USD
		if l.USD == nil || most < *l.USD {
			l.USD = &most
		}
	}
	if left.Tokens != 0 {
		l.Tokens = least(l.Tokens, max(u.Tokens.Total()+left.Tokens, 1))
	}
	if left.Seconds != 0 {
		l.Seconds = least(l.Seconds, max(int(u.Elapsed/time.Second)+left.Seconds, 1))
	}
	return l
}

// least is the smaller of two limits, of which zero is none.
func least[T int | int64](a, b T) T {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// Or returns the limits of l, and other's where l sets none: a task's own budget
// wins over its agent's, an agent's over the house's.
func (l Limits) Or(other Limits) Limits {
	if l.Steps == 0 {
		l.Steps = other.Steps
	}
	if l.Tokens == 0 {
		l.Tokens = other.Tokens
	}
	if l.USD == nil {
		l.USD = other.USD
	}
	if l.Seconds == 0 {
		l.Seconds = other.Seconds
	}
	if l.SilenceSeconds == 0 {
		l.SilenceSeconds = other.SilenceSeconds
	}
	return l
}

// DefaultLimits hold where neither task nor agent sets one. Forty steps are more
// than a run that gets somewhere needs; half a million tokens are some dollars of
// a good model; half an hour is longer than a person would watch one.
var DefaultLimits = Limits{Steps: 40, Tokens: 500_000, Seconds: 1800}
