package task

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
)

// order is the gate's list of docs/states.md, as far as its features have come:
// checkpoint and device_offline stand in it when theirs do.
var order = []Reason{
	NotFound, Deleted, Ended, ModeChanged, RevisionChanged, NoInterval, NoPattern, IsPaused, WorkspacePaused, Maintenance,
	AgentPaused, NoAgent, OutsideBounds, MaxExecutions, MaxTopics, ExcludedDate, OutsideActiveHours, DailyLimit, Blocked,
	InFlight, WaitingForHuman, OverBudget, Concurrency,
}

// scheduleOwn are the checks that a run by hand skips and says so.
var scheduleOwn = []Reason{OutsideBounds, MaxExecutions, ExcludedDate, OutsideActiveHours, DailyLimit}

// ready are the facts of a heartbeat that may run.
func ready() Facts {
	agent := "agent"
	return Facts{
		Task: &Task{
			Identifier: "T-1", Status: Scheduled, AssigneeAgentID: &agent, AutomationRevision: 3,
			Automation: &schedule.Automation{
				Mode: schedule.Heartbeat, IntervalSeconds: 60, MaxExecutions: 5,
				Conditions: &schedule.Conditions{MaxExecutionsPerDay: 2},
			},
		},
		Origin: topic.Heartbeat, Revision: 3,
	}
}

// obstacles make each check refuse, alone.
var obstacles = map[Reason]func(*Facts){
	NotFound:        func(f *Facts) { f.Task = nil },
	Deleted:         func(f *Facts) { f.Task.DeletedAt = new(time.Time) },
	Ended:           func(f *Facts) { f.Task.Status = Completed },
	ModeChanged:     func(f *Facts) { f.Origin = topic.Schedule },
	RevisionChanged: func(f *Facts) { f.Revision = 2 },
	NoInterval:      func(f *Facts) { f.Task.Automation.IntervalSeconds = 0 },
	NoPattern: func(f *Facts) {
		f.Task.Automation.Mode, f.Origin = schedule.Schedule, topic.Schedule
	},
	IsPaused:           func(f *Facts) { f.Task.Status = Paused },
	WorkspacePaused:    func(f *Facts) { f.WorkspacePaused = true },
	Maintenance:        func(f *Facts) { f.Maintenance = true },
	AgentPaused:        func(f *Facts) { f.AgentPaused = true },
	NoAgent:            func(f *Facts) { f.AgentMissing = true },
	OutsideBounds:      func(f *Facts) { f.ScheduleRefusal = OutsideBounds },
	MaxExecutions:      func(f *Facts) { f.Task.Executions = 5 },
	MaxTopics:          func(f *Facts) { f.Task.MaxTopics, f.Task.TotalTopics = new(int), 0 },
	ExcludedDate:       func(f *Facts) { f.ScheduleRefusal = ExcludedDate },
	OutsideActiveHours: func(f *Facts) { f.ScheduleRefusal = OutsideActiveHours },
	DailyLimit:         func(f *Facts) { f.RanToday = 2 },
	Blocked:            func(f *Facts) { f.BlockedBy = []string{"T-2"} },
	InFlight:           func(f *Facts) { f.OpenTopicSeq = 7 },
	WaitingForHuman:    func(f *Facts) { f.UrgentBrief = "B-1" },
	OverBudget:         func(f *Facts) { f.BudgetSpent = "The day's budget is used up." },
	Concurrency:        func(f *Facts) { f.SlotHeldBy = "T-9" },
}

func TestTheGateAsksInItsOrder(t *testing.T) {
	var asked []Reason
	for _, r := range Explain(ready()) {
		asked = append(asked, r.Check)
		if !r.OK {
			t.Errorf("%s refuses a task that may run: %s", r.Check, r.Detail)
		}
	}
	if !slices.Equal(asked, order) {
		t.Errorf("asked  %v\nwanted %v", asked, order)
	}
	if v := Admit(ready()); !v.OK() || v.Skipped != nil {
		t.Errorf("%+v", v)
	}
}

func TestEachReasonRefusesWithASentence(t *testing.T) {
	for _, r := range order {
		f := ready()
		obstacles[r](&f)
		if v := Admit(f); v.Reason != r || v.Detail == "" {
			t.Errorf("%s: %+v", r, v)
		}
	}
}

// Of any set of obstacles the first in the order is the answer, and Explain names
// the same one first.
func TestTheFirstRefusalWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := rapid.SliceOfNDistinct(rapid.SampledFrom(order[1:]), 0, 6, rapid.ID[Reason]).Draw(t, "obstacles")
		f := ready()
		for _, r := range order[1:] {
			if slices.Contains(set, r) {
				obstacles[r](&f)
			}
		}
		var first Reason
		for _, r := range Explain(f) {
			if !r.OK {
				first = r.Check
				break
			}
		}
		if got := Admit(f).Reason; got != first {
			t.Fatalf("%v: Admit says %q, Explain %q first", set, got, first)
		}
		if (first == "") != (len(set) == 0) {
			t.Fatalf("%v: the first refusal is %q", set, first)
		}
		if len(set) > 0 && slices.Index(order, first) > slices.Index(order, lowest(set)) {
			t.Fatalf("%v: %s wins over %s", set, first, lowest(set))
		}
	})
}

// lowest is the obstacle of a set that stands first in the order. Obstacles that
// change one fact to different values overwrite each other, the later one stays.
func lowest(set []Reason) Reason {
	last := map[string]Reason{}
	for _, r := range order {
		if !slices.Contains(set, r) {
			continue
		}
		switch r {
		case OutsideBounds, ExcludedDate, OutsideActiveHours:
			last["schedule"] = r
		case Ended, IsPaused:
			last["status"] = r
		case ModeChanged, NoPattern, NoInterval:
			last["mode"] = r
		default:
			last[string(r)] = r
		}
	}
	min := order[len(order)-1]
	for _, r := range last {
		if slices.Index(order, r) < slices.Index(order, min) {
			min = r
		}
	}
	return min
}

func TestARunByHandSkipsTheSchedulesOwnChecksAndSaysWhich(t *testing.T) {
	for _, o := range []topic.Origin{topic.Manual, topic.Comment, topic.Retry} {
		for _, r := range order[1:] {
			f := ready()
			obstacles[r](&f)
			f.Origin = o
			v := Admit(f)
			switch {
			case slices.Contains(scheduleOwn, r):
				if !v.OK() || !reflect.DeepEqual(v.Skipped, []Reason{r}) {
					t.Errorf("%s, %s: %+v, want it skipped and said", o, r, v)
				}
			case slices.Contains([]Reason{Ended, IsPaused, ModeChanged, RevisionChanged, NoInterval, NoPattern}, r):
				if !v.OK() || v.Skipped != nil {
					t.Errorf("%s, %s: %+v, want it healed", o, r, v)
				}
			default:
				if v.Reason != r {
					t.Errorf("%s, %s: %+v, want a refusal", o, r, v)
				}
			}
		}
	}
}

func TestOriginsThatNobodyPlannedHaveNoModeToMatch(t *testing.T) {
	for _, o := range []topic.Origin{topic.Dependency, topic.Webhook, topic.Signal, topic.Message, topic.Synthesis, topic.Backfill} {
		f := ready()
		if f.Origin = o; !Admit(f).OK() {
			t.Errorf("%s: %+v", o, Admit(f))
		}
	}
}

func TestWhoRunsATaskWithoutAnAgent(t *testing.T) {
	person := "person"
	f := ready()
	f.Task.AssigneeAgentID = nil
	if v := Admit(f); !v.OK() {
		t.Errorf("nobody is assigned, the default agent runs it: %+v", v)
	}
	f.Task.AssigneeUserID = &person
	if v := Admit(f); v.Reason != NoAgent {
		t.Errorf("it is a person's task: %+v", v)
	}
}

func TestARunningTaskWithoutARunIsInFlight(t *testing.T) {
	f := ready()
	f.Task.Status = Running
	if v := Admit(f); v.Reason != InFlight {
		t.Errorf("%+v", v)
	}
}

func TestAnUnknownTaskIsTheOnlyAnswerAboutIt(t *testing.T) {
	got := Explain(Facts{})
	if len(got) != 1 || got[0].Check != NotFound || got[0].OK {
		t.Errorf("%+v", got)
	}
}

func TestWhatUsesATaskUp(t *testing.T) {
	for _, r := range order {
		if want := r == MaxExecutions || r == MaxTopics; r.UsesUp() != want {
			t.Errorf("%s: %v", r, !want)
		}
	}
}
