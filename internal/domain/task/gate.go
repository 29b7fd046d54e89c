package task

import (
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
)

// Facts is what is true when a tick asks whether its task may run. It is read
// under the task's lock, so that it stays true until the topic is open.
type Facts struct {
	Task     *Task // nil: there is none
	Origin   topic.Origin
	Revision int64 // the automation's revision that the tick was planned under

	// ScheduleRefusal is what bounds, exclusions and conditions say of the planned
	// time: "" when they have nothing against it.
	ScheduleRefusal Reason
	RanToday        int // scheduled runs on the planned time's date, in the schedule's zone

	// Quiet says, in words, which quiet hours of workspace or agent cover the planned
	// time: "" when none do. QuietUntil is when they end, nil when they do not.
	Quiet      string
	QuietUntil *time.Time

	PauseNote       string // why the task is paused
	WorkspacePaused bool
	WorkspaceNote   string // why it is paused
	Maintenance     bool
	MaintenanceNote string
	AgentMissing    bool // the agent, assigned or the workspace's default, is disabled or gone
	AgentPaused     bool
	AgentName       string
	AgentNote       string     // why it is paused
	OpenTopicSeq    int        // of the open run; 0 when none is open
	OpenSince       *time.Time // when it began
	OpenRetryAt     *time.Time // when it is tried again; nil: it is at work
	BlockedBy       []string   // identifiers of tasks whose end it waits for
	UrgentBrief     string     // B-7: an open urgent brief other than an error; "" when none
	SlotHeldBy      string     // identifier of the task whose run holds the concurrency key; "" when it is free
	BudgetSpent     string     // in words, what of the task's own budget is used up; "" when nothing
}

// check is one question of the gate. It answers "" or, in words, what is wrong.
type check struct {
	reason Reason
	// ofSchedule checks belong to the schedule: a run by hand skips them.
	ofSchedule bool
	// byHandToo is false for what a run by hand heals or does not need: a paused or
	// ended task is taken up again by it, and it asks for no planned time.
	byHandToo bool
	wrong     func(Facts) string
}

// checks is the gate: the one ordered list that every road to a run goes
// through. The first refusal wins. Checks whose feature is to come stand at
// their place with the name of the feature.
var checks = []check{
	{NotFound, false, true, func(f Facts) string { return when(f.Task == nil, "There is no such task.") }},
	{Deleted, false, true, func(f Facts) string { return when(f.Task.DeletedAt != nil, "The task was deleted.") }},
	{Ended, false, false, func(f Facts) string {
		return when(f.Task.Status.Terminal(), "The task is %s.", f.Task.Status)
	}},
	{ModeChanged, false, false, func(f Facts) string {
		return when(f.Origin.Planned() && f.Origin != topic.Backfill && f.Origin != originOf(*f.Task), "The task is no longer on a %s.", f.Origin)
	}},
	{RevisionChanged, false, false, func(f Facts) string {
		return when(f.Origin.Planned() && f.Revision != f.Task.AutomationRevision, "The schedule was edited after this time was planned.")
	}},
	{NoInterval, false, false, func(f Facts) string {
		a := f.Task.Automation
		return when(a != nil && a.Mode == schedule.Heartbeat && a.IntervalSeconds <= 0, "The heartbeat has no interval.")
	}},
	{NoPattern, false, false, func(f Facts) string {
		a := f.Task.Automation
		return when(a != nil && a.Mode == schedule.Schedule && a.Pattern == "", "The schedule has no pattern.")
	}},
	{IsPaused, false, false, func(f Facts) string {
		return when(f.Task.Status == Paused, "The task is paused (%s)%s", f.Task.StatusReason, noted(f.PauseNote))
	}},
	{WorkspacePaused, false, true, func(f Facts) string {
		return when(f.WorkspacePaused, "The workspace is paused%s", noted(f.WorkspaceNote))
	}},
	{Maintenance, false, true, func(f Facts) string {
		return when(f.Maintenance, "The workspace is in maintenance%s", noted(f.MaintenanceNote))
	}},
	{AgentPaused, false, true, func(f Facts) string {
		who := "The task's agent"
		if f.AgentName != "" {
			who = "The agent " + f.AgentName
		}
		return when(f.AgentPaused, "%s is paused%s", who, noted(f.AgentNote))
	}},
	{NoAgent, false, true, func(f Facts) string {
		return when(f.AgentMissing || f.Task.AssigneeAgentID == nil && f.Task.AssigneeUserID != nil, "No agent is assigned that could run it.")
	}},
	{OutsideBounds, true, true, scheduleRefuses(OutsideBounds, "The time is outside the schedule's start and end.")},
	{MaxExecutions, true, true, func(f Facts) string {
		a := f.Task.Automation
		return when(a != nil && a.MaxExecutions > 0 && f.Task.Executions >= a.MaxExecutions, "The schedule has used its %d runs.", maxExecutions(a))
	}},
	{MaxTopics, false, true, func(f Facts) string {
		m := f.Task.MaxTopics
		return when(m != nil && f.Task.TotalTopics >= *m, "The task has used its %d runs in all.", deref(m))
	}},
	{ExcludedDate, true, true, scheduleRefuses(ExcludedDate, "The date is excluded.")},
	{OutsideActiveHours, true, true, func(f Facts) string {
		if f.ScheduleRefusal != OutsideActiveHours && f.Quiet != "" {
			return fmt.Sprintf("The time is in %s.", f.Quiet)
		}
		return when(f.ScheduleRefusal == OutsideActiveHours, "The time is outside the active hours.")
	}},
	{DailyLimit, true, true, func(f Facts) string {
		n := dailyLimit(f.Task.Automation)
		return when(n > 0 && f.RanToday >= n, "The schedule has used its %d runs of the day.", n)
	}},
	{Blocked, false, true, func(f Facts) string { return when(len(f.BlockedBy) > 0, "It waits for %s.", list(f.BlockedBy)) }},
	// checkpoint: work orders
	{InFlight, false, true, func(f Facts) string {
		switch {
		case f.OpenTopicSeq > 0 && f.OpenRetryAt != nil:
			return fmt.Sprintf("Run %d failed and is tried again at %s.", f.OpenTopicSeq, f.OpenRetryAt.UTC().Format("15:04:05 MST on 2006-01-02"))
		case f.OpenTopicSeq > 0:
			return fmt.Sprintf("Run %d is still open.", f.OpenTopicSeq)
		case f.Task.Status == Running: // a fault that the reconciler repairs
			return "The task is running."
		}
		return ""
	}},
	{WaitingForHuman, false, true, func(f Facts) string {
		return when(f.UrgentBrief != "", "%s waits for a person.", f.UrgentBrief)
	}},
	{OverBudget, false, true, func(f Facts) string { return when(f.BudgetSpent != "", "%s", f.BudgetSpent) }},
	{Concurrency, false, true, func(f Facts) string {
		return when(f.SlotHeldBy != "", "%s has the turn on %q; this one waits for it.", f.SlotHeldBy, f.Task.Config.ConcurrencyKey)
	}},
	// device_offline: devices
}

// Verdict is the gate's answer.
type Verdict struct {
	Reason  Reason   // of the refusal; "" when the task may run
	Detail  string   // the refusal in words
	Skipped []Reason // checks that a run by hand skipped and that would have refused
	// Until is when what refused passes by itself, where that is known: the end of
	// quiet hours.
	Until *time.Time
}

// OK reports whether the task may run.
func (v Verdict) OK() bool { return v.Reason == "" }

// Admit asks the gate: may the task run now, and if not why. The first refusal wins.
func Admit(f Facts) Verdict {
	var v Verdict
	for _, c := range checks {
		wrong := c.wrong(f)
		if wrong == "" {
			continue
		}
		if f.Origin.ByPerson() {
			if c.ofSchedule {
				v.Skipped = append(v.Skipped, c.reason)
				continue
			}
			if !c.byHandToo {
				continue
			}
		}
		v.Reason, v.Detail = c.reason, wrong
		if c.reason == OutsideActiveHours && f.ScheduleRefusal != OutsideActiveHours {
			v.Until = f.QuietUntil
		}
		return v
	}
	return v
}

// UsesUp reports whether a planned time that was refused for r says that none can
// follow: the task has had all its runs, and is completed by that.
func (r Reason) UsesUp() bool { return r == MaxExecutions || r == MaxTopics }

// CheckResult is the gate's answer to one of its questions.
type CheckResult struct {
	Check  Reason
	OK     bool
	Detail string
}

// fine is what a check found where nothing is wrong, in words: the name of a check
// is that of its refusal, and would be read as one.
var fine = map[Reason]string{
	NotFound: "The task is there.", Deleted: "It is not deleted.", Ended: "It has not ended.",
	ModeChanged: "It is on the schedule that planned this time.", RevisionChanged: "Its schedule was not edited since.",
	NoInterval: "Its heartbeat has an interval, if it is on one.", NoPattern: "Its schedule has a pattern, if it is on one.",
	IsPaused: "It is not paused.", WorkspacePaused: "The workspace is not paused.", Maintenance: "The workspace is not in maintenance.",
	AgentPaused: "Its agent is not paused.", NoAgent: "It has an agent.", OutsideBounds: "The time is inside the schedule's start and end.",
	MaxExecutions: "The schedule has runs left.", MaxTopics: "The task has runs left.", ExcludedDate: "The date is not excluded.",
	OutsideActiveHours: "The time is inside the active hours.", DailyLimit: "The day has runs left.", Blocked: "It waits for no other task.",
	InFlight: "No run is open.", WaitingForHuman: "No urgent brief waits for an answer.", OverBudget: "The budget of the day is not used up.",
	Concurrency: "Nobody else has its turn.",
}

// Explain asks every question of the gate, in order: what Admit would say, and
// what it would say after that.
func Explain(f Facts) []CheckResult {
	var out []CheckResult
	for _, c := range checks {
		r := CheckResult{Check: c.reason, Detail: c.wrong(f)}
		switch {
		case r.Detail == "":
			r.OK, r.Detail = true, fine[c.reason]
		case f.Origin.ByPerson() && (c.ofSchedule || !c.byHandToo):
			r.OK, r.Detail = true, r.Detail+" A run by hand goes on all the same."
		}
		out = append(out, r)
		if f.Task == nil {
			break // nothing more can be said of a task that is not there
		}
	}
	return out
}

// originOf returns the origin of the ticks that the task plans now.
func originOf(t Task) topic.Origin {
	switch {
	case t.Automation != nil:
		return topic.Origin(t.Automation.Mode)
	case t.StartAt != nil:
		return topic.Once
	}
	return ""
}

// PlannedOrigin returns the origin of the ticks that the task plans: what it is
// on, or "" when time does not start it.
func (t Task) PlannedOrigin() topic.Origin { return originOf(t) }

func scheduleRefuses(r Reason, words string) func(Facts) string {
	return func(f Facts) string { return when(f.ScheduleRefusal == r, "%s", words) }
}

func when(wrong bool, format string, args ...any) string {
	if !wrong {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// noted ends a sentence with somebody's note, or just ends it.
func noted(note string) string {
	if note == "" {
		return "."
	}
	return ": " + note
}

func maxExecutions(a *schedule.Automation) int {
	if a == nil {
		return 0
	}
	return a.MaxExecutions
}

func dailyLimit(a *schedule.Automation) int {
	if a == nil || a.Conditions == nil {
		return 0
	}
	return a.Conditions.MaxExecutionsPerDay
}

func deref(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

func list(s []string) string {
	switch len(s) {
	case 0:
		return ""
	case 1:
		return s[0]
	case 2:
		return s[0] + " and " + s[1]
	}
	return fmt.Sprintf("%s and %d more", s[0], len(s)-1)
}
