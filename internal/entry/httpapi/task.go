package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// Task is a standing work order.
type Task struct {
	ID              string            `json:"id"`
	Identifier      string            `json:"identifier" doc:"T-12"`
	Seq             int64             `json:"seq"`
	Name            string            `json:"name"`
	Description     string            `json:"description"`
	Instruction     string            `json:"instruction"`
	InstructionRich json.RawMessage   `json:"instructionRich,omitempty" doc:"The editor's document"`
	Status          task.Status       `json:"status" enum:"backlog,scheduled,running,paused,completed,failed,canceled"`
	StatusReason    string            `json:"statusReason"`
	Error           *string           `json:"error"`
	Priority        task.Priority     `json:"priority" enum:"none,urgent,high,normal,low"`
	Labels          []string          `json:"labels"`
	Parent          *string           `json:"parent"`
	AssigneeAgent   *string           `json:"assigneeAgent" doc:"null: no agent runs it"`
	AssigneeUser    *string           `json:"assigneeUser"`
	Automation      Maybe[Automation] `json:"automation"`
	StartAt         *Time             `json:"startAt" nullable:"true"`
	MaxTopics       *int              `json:"maxTopics"`
	Config          TaskConfig        `json:"config"`
	CronJob         *string           `json:"cronJob" enum:"prompt,template" doc:"It stands for a cron job of its agent, and apart from the lists: each time runs it, or makes a task after it"`
	NextRunAt       *Time             `json:"nextRunAt" nullable:"true"`
	NextPlannedAt   *Time             `json:"nextPlannedAt" nullable:"true" doc:"nextRunAt without its jitter"`
	NextRunWhy      *string           `json:"nextRunWhy" doc:"Why a heartbeat comes sooner or later than its interval: its agent asked for it, or its runs get nowhere"`
	LastRunAt       *Time             `json:"lastRunAt" nullable:"true"`
	TotalTopics     int               `json:"totalTopics"`
	CurrentTopicID  *string           `json:"currentTopicId"`
	Executions      int               `json:"executions" doc:"Scheduled runs since it was armed"`
	Failures        int               `json:"failures" doc:"Failed ticks in a row"`
	Repeats         int               `json:"repeats" doc:"Scheduled runs in a row that left the handoff of the run before"`
	Skips           int               `json:"skips" doc:"Planned times in a row that did not run for want of something: a run still open, no agent, no budget"`
	CreatedBy       Actor             `json:"createdBy"`
	CostUSD         *budget.USD       `json:"costUsd" nullable:"true" doc:"Of all runs; null: not known"`
	CreatedAt       Time              `json:"createdAt"`
	UpdatedAt       Time              `json:"updatedAt"`
	StartedAt       *Time             `json:"startedAt" nullable:"true"`
	CompletedAt     *Time             `json:"completedAt" nullable:"true"`
	Version         int64             `json:"version"`
	Actions         []string          `json:"actions" doc:"What you may do with it now"`

	Dependencies []Dependency   `json:"dependencies,omitempty" doc:"What it depends on; in the answer for one task"`
	Dependents   []Dependency   `json:"dependents,omitempty" doc:"What depends on it"`
	Subtasks     map[string]int `json:"subtasks,omitempty" doc:"How many, by status"`
	MadeBy       *string        `json:"madeBy,omitempty" doc:"The cron job whose template made it: T-12"`
	Cadence      *Cadence       `json:"cadence,omitempty" doc:"How often its schedule runs"`
}

// Cadence is how often a schedule runs: as it was set, and as it came of late.
type Cadence struct {
	ConfiguredSeconds *int64 `json:"configuredSeconds" doc:"On average over the times of the runs that it is compared with"`
	EffectiveSeconds  *int64 `json:"effectiveSeconds" doc:"From run to run on average; null until there are two"`
	Over              int    `json:"over" doc:"How many runs it is drawn from, at most the last 20 since the schedule was edited"`
}

// cadence compares a task's schedule with its runs of late; nil without a schedule.
func (s *Server) cadence(ctx context.Context, t task.Task) (*Cadence, error) {
	spec, err := t.Spec()
	if err != nil || !t.Automated() {
		return nil, nil //nolint:nilerr // what cannot be read says so by the task's brief
	}
	runs, err := s.Store.LastRuns(ctx, caller(ctx).Scope, t.ID, t.AutomationRevision)
	if err != nil {
		return nil, err
	}
	now, err := s.Store.Clock(ctx)
	if err != nil {
		return nil, err
	}
	c := spec.Cadence(runs, now)
	seconds := func(d time.Duration) *int64 {
		if d == 0 {
			return nil
		}
		return new(int64(d.Round(time.Second) / time.Second))
	}
	return &Cadence{seconds(c.Configured), seconds(c.Effective), c.Over}, nil
}

// Dependency is an edge of the graph, seen from one end.
type Dependency struct {
	ID         string      `json:"id"`
	Identifier string      `json:"identifier"`
	Name       string      `json:"name"`
	Status     task.Status `json:"status"`
	Type       string      `json:"type" enum:"blocks,relates"`
	Condition  *string     `json:"condition" enum:"done,success,failure,finished"`
}

// TaskConfig is what a task asks for beyond its instruction.
type TaskConfig struct {
	Model          string           `json:"model,omitempty" maxLength:"200" doc:"provider/model, in place of its agent's"`
	Acceptance     string           `json:"acceptance,omitempty" enum:"review,auto" doc:"Who accepts the work: a person, or nobody"`
	Review         json.RawMessage  `json:"review,omitempty" doc:"Is refused: this version reviews by no rubric"`
	Checkpoint     *TaskCheckpoint  `json:"checkpoint,omitempty" doc:"When a person looks before it goes on; absent: never"`
	Brief          *TaskBriefConfig `json:"brief,omitempty" doc:"When a run tells a person; absent: when there is news"`
	FailureFuse    int              `json:"failureFuse,omitempty" minimum:"1" maximum:"100" doc:"Failed ticks in a row that pause it"`
	ConcurrencyKey string           `json:"concurrencyKey,omitempty" maxLength:"200" doc:"Tasks of the workspace with the same key run one at a time; absent: no key"`
	Budget         *TaskBudget      `json:"budget,omitempty" doc:"What an operation and a day may use; absent: no limit of its own"`
}

// TaskCheckpoint holds a task for a person.
type TaskCheckpoint struct {
	Before bool `json:"before,omitempty" doc:"Before its first run"`
	After  bool `json:"after,omitempty" doc:"After each run"`
}

// TaskBriefConfig says how talkative a task is.
type TaskBriefConfig struct {
	Mode       string `json:"mode,omitempty" enum:"news,always,never" doc:"When a finished run tells a person: when there is news, always, or only of errors and decisions"`
	AfterSkips int    `json:"afterSkips,omitempty" minimum:"1" maximum:"1000" doc:"Planned times in a row that did not run before a person hears of it; 10 unless it says otherwise"`
}

// TaskBudget limits what one operation and one day may use.
type TaskBudget struct {
	Operation *BudgetLimit `json:"operation,omitempty" doc:"Of one operation; what is absent is its agent's"`
	Day       *BudgetLimit `json:"day,omitempty" doc:"Of all its runs of a day of the workspace; steps have no place here"`
}

// BudgetLimit is an amount; absent is no limit.
type BudgetLimit struct {
	USD     *budget.USD `json:"usd,omitempty" minimum:"0" maximum:"1000000000" doc:"Dollars; absent: no limit here. Needs a model whose price is known"`
	Tokens  int64       `json:"tokens,omitempty" minimum:"0" doc:"Input and output together; 0 or absent: no limit here"`
	Minutes int         `json:"minutes,omitempty" minimum:"0" doc:"Of the wall clock; 0 or absent: no limit here"`
	Steps   int         `json:"steps,omitempty" minimum:"0" doc:"Model calls of an operation; 0 or absent: no limit here"`
}

// The domain keeps the same fields under the same names, so JSON carries one
// over into the other.

func (c TaskConfig) domain() (out task.Config, err error) { return out, carry(c, &out) }

func configOf(c task.Config) (out TaskConfig) {
	if err := carry(c, &out); err != nil {
		panic(err) // plain values, written by us
	}
	if b := out.Budget; b != nil { // without what says nothing
		if b.Operation != nil && *b.Operation == (BudgetLimit{}) {
			b.Operation = nil
		}
		if b.Day != nil && *b.Day == (BudgetLimit{}) {
			b.Day = nil
		}
	}
	return out
}

func carry(from, to any) error {
	raw, err := json.Marshal(from)
	if err != nil {
		return fmt.Errorf("carry over %T: %w", from, err)
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return fmt.Errorf("carry over %T: %w", from, err)
	}
	return nil
}

func taskOf(c access.Caller, now time.Time, ar around) func(task.Task) Task {
	return func(t task.Task) Task {
		out := Task{
			ID: t.ID, Identifier: t.Identifier, Seq: t.Seq, Name: t.Name, Description: t.Description, Instruction: t.Instruction,
			InstructionRich: t.InstructionRich, Status: t.Status, StatusReason: t.StatusReason, Error: t.Error, Priority: t.Priority,
			Labels: orNone(t.Labels), Parent: t.ParentID, AssigneeAgent: t.AssigneeAgentID, AssigneeUser: t.AssigneeUserID,
			StartAt: timeOf(t.StartAt), MaxTopics: t.MaxTopics, Config: configOf(t.Config), NextRunAt: timeOf(t.NextFireAt),
			NextPlannedAt: timeOf(t.NextPlannedAt), LastRunAt: timeOf(t.LastRunAt), TotalTopics: t.TotalTopics, CurrentTopicID: t.CurrentTopicID,
			Executions: t.Executions, Failures: t.Failures, Repeats: t.Repeats, Skips: t.Skips, NextRunWhy: textOrNull(t.NextWhy), CreatedBy: actorOf(t.CreatedBy), CostUSD: t.CostUSD,
			CronJob:   textOrNull(string(t.CronJob)),
			CreatedAt: Time{t.CreatedAt}, UpdatedAt: Time{t.UpdatedAt}, StartedAt: timeOf(t.StartedAt), CompletedAt: timeOf(t.CompletedAt),
			Version: t.Version, Actions: actions(t, c.Role),
		}
		if t.Automation != nil {
			a := automationOf(*t.Automation)
			a.NextFires = nextFires(t, now, ar)
			out.Automation = maybe(&a)
		}
		return out
	}
}

// actions are the names of what a caller may do with a task now.
func actions(t task.Task, r access.Role) []string {
	out := []string{}
	if !r.AtLeast(access.Operator) {
		return out
	}
	may := func(name string, ok bool) {
		if ok {
			out = append(out, name)
		}
	}
	if t.DeletedAt != nil {
		return []string{"restore"}
	}
	may("run", t.Status.CanBecome(task.Running) && t.AssigneeAgentID != nil)
	may("pause", t.Status == task.Scheduled || t.Status == task.Running)
	may("resume", t.Status == task.Paused)
	may("complete", t.Status.CanBecome(task.Completed))
	may("cancel", t.Status.CanBecome(task.Canceled))
	may("reopen", t.Status.Terminal())
	return append(out, "edit", "comment", "delete")
}

type tasksIn struct {
	Paging
	TaskWords
	Sort    string `query:"sort" enum:"createdAt,nextRunAt" default:"createdAt" doc:"The newest first, or the next to run first"`
	Deleted bool   `query:"deleted" doc:"Those that can be restored instead"`
}

type taskOut struct {
	ETag string `header:"ETag"`
	Body Task
}

func (s *Server) taskRoutes() {
	add(s, route{method: "GET", path: "/tasks", name: "listTasks", noun: "tasks", role: access.Viewer, does: "Tasks"}, s.tasks)
	add(s, route{method: "POST", path: "/tasks", name: "createTask", noun: "tasks", role: access.Operator, status: 201, once: true, does: "Create a task; an automation arms it at once"}, s.createTask)
	add(s, route{method: "GET", path: "/tasks/{task}", name: "getTask", noun: "tasks", role: access.Viewer, does: "One task, with what hangs on it"}, s.task)
	add(s, route{method: "PATCH", path: "/tasks/{task}", name: "editTask", noun: "tasks", role: access.Operator, does: "Change a task, by JSON merge patch"}, s.editTask)
	add(s, route{method: "DELETE", path: "/tasks/{task}", name: "deleteTask", noun: "tasks", role: access.Operator, does: "Cancel a task and hide it; it can be restored for 30 days"},
		func(ctx context.Context, in *ByTask) (*struct{}, error) {
			return nil, s.Steer.DeleteTask(ctx, caller(ctx), in.Task)
		})
	add(s, route{method: "POST", path: "/schedules/preview", name: "previewSchedule", noun: "tasks", role: access.Viewer, does: "When an automation would fire"}, s.preview)
}

func (s *Server) tasks(ctx context.Context, in *tasksIn) (*listOut[Task], error) {
	p, err := s.page(ctx, in.Paging)
	if err != nil {
		return nil, err
	}
	c := caller(ctx)
	f, err := s.taskFilter(ctx, in.TaskWords)
	if err != nil {
		return nil, err
	}
	f.Deleted = in.Deleted
	if in.Sort == "nextRunAt" {
		f.Sort = "next"
	}
	items, next, err := s.Store.Tasks(ctx, c.Scope, f, p)
	if err != nil {
		return nil, err
	}
	now, err := s.Store.Clock(ctx)
	if err != nil {
		return nil, err
	}
	ar, err := s.around(ctx, items)
	return listed(ctx, s, items, next, taskOf(c, now, ar)), err
}

func (s *Server) task(ctx context.Context, in *ByTask) (*taskOut, error) {
	c := caller(ctx)
	taskID, err := s.Store.TaskID(ctx, c.Scope, in.Task)
	if err != nil {
		return nil, err
	}
	t, err := s.Store.Task(ctx, c.Scope, taskID)
	if err != nil {
		return nil, err
	}
	if t.DeletedAt != nil {
		return nil, errs.New(errs.NotFound, "not_found", "%s was deleted.", t.Identifier)
	}
	out, err := s.taskAnswer(ctx, t, nil)
	if err != nil {
		return nil, err
	}
	up, err := s.Store.Upstream(ctx, c.Scope, t.ID)
	if err != nil {
		return nil, err
	}
	down, err := s.Store.Downstream(ctx, c.Scope, t.ID)
	if err != nil {
		return nil, err
	}
	out.Body.Dependencies = each(up, func(d store.Dependency) Dependency { return dependencyOf(d, d.UpstreamID) })
	out.Body.Dependents = each(down, func(d store.Dependency) Dependency { return dependencyOf(d, d.TaskID) })
	counts, err := s.Store.SubtaskCounts(ctx, c.Scope, t.ID)
	if err != nil {
		return nil, err
	}
	out.Body.Subtasks = map[string]int{}
	for status, n := range counts {
		out.Body.Subtasks[string(status)] = n
	}
	madeBy, err := s.Store.MadeBy(ctx, c.Scope, t.ID)
	if err != nil {
		return nil, err
	}
	out.Body.MadeBy = textOrNull(madeBy)
	if out.Body.Cadence, err = s.cadence(ctx, t); err != nil {
		return nil, err
	}
	return out, named(ctx, s, []*Task{&out.Body}, func(t **Task) *Actor { return &(*t).CreatedBy })
}

func dependencyOf(d store.Dependency, otherID string) Dependency {
	return Dependency{otherID, d.Identifier, d.Name, d.Status, d.Type, d.Condition}
}

// taskAnswer words what a flow answered.
func (s *Server) taskAnswer(ctx context.Context, t task.Task, err error) (*taskOut, error) {
	if err != nil {
		return nil, err
	}
	now, err := s.Store.Clock(ctx)
	if err != nil {
		return nil, err
	}
	ar, err := s.around(ctx, []task.Task{t})
	return &taskOut{etag(t.Version), taskOf(caller(ctx), now, ar)(t)}, err
}
