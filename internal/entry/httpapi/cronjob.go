package httpapi

import (
	"context"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/agent"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// CronJob is a schedule of an agent. It is kept by a task that stands apart from the
// lists: `task` is its address for the ledger, why, runs, a run by hand, and every
// policy that a schedule may have besides.
type CronJob struct {
	ID                  string              `json:"id" doc:"Of its task"`
	Task                string              `json:"task" doc:"T-12"`
	Agent               *string             `json:"agent" doc:"null: the agent is gone, and the job is held"`
	Name                string              `json:"name"`
	Pattern             string              `json:"pattern" doc:"Five fields of cron; @every 1h30m0s for a fixed grid"`
	Timezone            string              `json:"timezone"`
	Automation          Automation          `json:"automation" doc:"The whole schedule; PATCH /tasks/{task} changes what is not here"`
	Prompt              *string             `json:"prompt" doc:"What each time runs; null for a template"`
	Template            Maybe[CronTemplate] `json:"template" doc:"What each time makes a task of; null for a prompt"`
	MaxExecutions       *int                `json:"maxExecutions" doc:"null: no limit"`
	RemainingExecutions *int                `json:"remainingExecutions" doc:"null: no limit"`
	Executions          int                 `json:"executions" doc:"Since it was armed; enabling a job that had ended counts anew"`
	Conditions          Maybe[Conditions]   `json:"conditions"`
	Enabled             bool                `json:"enabled"`
	Status              task.Status         `json:"status" enum:"scheduled,running,paused,completed,failed,canceled,backlog"`
	StatusReason        string              `json:"statusReason"`
	HeldBy              *task.Reason        `json:"heldBy" doc:"What of workspace and agent refuses its times at present, though it is enabled"`
	NextRunAt           *Time               `json:"nextRunAt" nullable:"true"`
	NextFires           []Time              `json:"nextFires"`
	LastRunAt           *Time               `json:"lastRunAt" nullable:"true"`
	CreatedBy           Actor               `json:"createdBy"`
	CreatedAt           Time                `json:"createdAt"`
	UpdatedAt           Time                `json:"updatedAt"`
	Version             int64               `json:"version"`
}

// CronTemplate is what the tasks of a cron job are made of, as POST /tasks takes it.
type CronTemplate struct {
	Instruction string      `json:"instruction" minLength:"1" maxLength:"100000" doc:"What each task is to do"`
	Name        string      `json:"name,omitempty" maxLength:"200" doc:"Default: the job's"`
	Description string      `json:"description,omitempty" maxLength:"20000" doc:"For people: why it is there"`
	Priority    string      `json:"priority,omitempty" enum:"none,urgent,high,normal,low" doc:"Who goes first of what is due at once; default none"`
	Labels      []string    `json:"labels,omitempty" maxItems:"20" doc:"At most 20, of up to 50 characters each"`
	MaxTopics   *int        `json:"maxTopics,omitempty" minimum:"1" doc:"Runs after which each task is completed; absent: no limit"`
	Config      *TaskConfig `json:"config,omitempty" doc:"acceptance is auto unless it says review"`
}

func (t CronTemplate) steer() (out steer.Template, err error) {
	out = steer.Template{
		Name: t.Name, Instruction: t.Instruction, Description: t.Description, Priority: task.Priority(t.Priority), Labels: t.Labels, MaxTopics: t.MaxTopics,
	}
	if out.Priority == "" {
		out.Priority = "none"
	}
	if t.Config != nil {
		out.Config, err = t.Config.domain()
	}
	return out, err
}

func cronTemplateOf(t steer.Template) CronTemplate {
	cfg := configOf(t.Config)
	return CronTemplate{t.Instruction, t.Name, t.Description, string(t.Priority), t.Labels, t.MaxTopics, &cfg}
}

// CronJobCreate is what a cron job is made of: a prompt or a template.
type CronJobCreate struct {
	Agent         string        `json:"agent" minLength:"1" maxLength:"100" doc:"Its id or slug"`
	Name          string        `json:"name,omitempty" maxLength:"200" doc:"Default: from the words of the work"`
	Pattern       string        `json:"pattern" maxLength:"200" doc:"Five fields of cron, or a word such as @daily or @every 90m"`
	Timezone      *string       `json:"timezone,omitempty" doc:"IANA name; absent: the creator's"`
	Prompt        string        `json:"prompt,omitempty" maxLength:"100000" doc:"Run again and again, each run after the handoff of the one before"`
	Template      *CronTemplate `json:"template,omitempty" doc:"Each time makes a task of its own, which runs at once"`
	MaxExecutions int           `json:"maxExecutions,omitempty" minimum:"1" doc:"Times after which the job ends; absent: no limit"`
	Conditions    *Conditions   `json:"conditions,omitempty" doc:"Which days and hours count; absent: all"`
	Enabled       *bool         `json:"enabled,omitempty" doc:"Default: true"`
	Documents     []string      `json:"documents,omitempty" maxItems:"100" doc:"Ids of documents to pin; each task of a template gets them"`
	Files         []string      `json:"files,omitempty" maxItems:"100" doc:"Ids of uploaded files, likewise"`
}

// CronJobPatch is a JSON merge patch of a cron job. It keeps its kind.
type CronJobPatch struct {
	Agent         Maybe[string]                   `json:"agent,omitzero" minLength:"1" maxLength:"100" doc:"Its id or slug: who runs it from now on"`
	Name          Maybe[string]                   `json:"name,omitzero" maxLength:"200" doc:"null: from the words of the work"`
	Pattern       Maybe[string]                   `json:"pattern,omitzero" maxLength:"200" doc:"Five fields of cron; planned anew at once"`
	Timezone      Maybe[string]                   `json:"timezone,omitzero" doc:"null: the caller's"`
	Prompt        Maybe[string]                   `json:"prompt,omitzero" minLength:"1" maxLength:"100000" doc:"Of a job with a prompt: what each time runs"`
	Template      Maybe[rawAs[CronTemplatePatch]] `json:"template,omitzero" doc:"Of a job with a template: what it names is changed"`
	MaxExecutions Maybe[int]                      `json:"maxExecutions,omitzero" minimum:"1" doc:"null: no limit"`
	Conditions    Maybe[Conditions]               `json:"conditions,omitzero" doc:"As a whole"`
	Enabled       Maybe[bool]                     `json:"enabled,omitzero" doc:"false cancels what was planned; true does not catch up"`
	Version       *int64                          `json:"version,omitempty" doc:"The version that was read"`
}

// CronTemplatePatch is a template of which any part may be absent.
type CronTemplatePatch struct {
	Instruction string `json:"instruction,omitempty" minLength:"1" maxLength:"100000" doc:"What each task is to do"`
	CronTemplate
}

// ByCronJob is the address of a cron job.
type ByCronJob struct {
	Job string `path:"job" maxLength:"100" doc:"Its id, or its task in any case: T-12"`
}

type cronJobsIn struct {
	Paging
	Agent   string `query:"agent" maxLength:"100" doc:"Its id or slug"`
	Enabled string `query:"enabled" enum:"true,false" doc:"Only those that are, or are not"`
}

type cronJobOut struct {
	ETag string `header:"ETag"`
	Body CronJob
}

func (s *Server) cronJobRoutes() {
	add(s, route{method: "GET", path: "/cron-jobs", name: "listCronJobs", noun: "tasks", role: access.Viewer, does: "The cron jobs of agents, the newest first"}, s.cronJobs)
	add(s, route{method: "POST", path: "/cron-jobs", name: "createCronJob", noun: "tasks", role: access.Operator, status: 201, once: true,
		does: "Give an agent a cron job: a prompt that is run, or a template of tasks"}, s.createCronJob)
	add(s, route{method: "GET", path: "/cron-jobs/{job}", name: "getCronJob", noun: "tasks", role: access.Viewer, does: "One cron job"},
		func(ctx context.Context, in *ByCronJob) (*cronJobOut, error) {
			t, err := s.Store.CronJob(ctx, caller(ctx).Scope, in.Job)
			return s.cronJobAnswer(ctx, t, err)
		})
	add(s, route{method: "PATCH", path: "/cron-jobs/{job}", name: "editCronJob", noun: "tasks", role: access.Operator,
		does: "Change, enable or disable a cron job, by JSON merge patch"}, s.editCronJob)
	add(s, route{method: "DELETE", path: "/cron-jobs/{job}", name: "deleteCronJob", noun: "tasks", role: access.Operator,
		does: "Delete a cron job: its open run is stopped, tasks that it made stay"},
		func(ctx context.Context, in *ByCronJob) (*struct{}, error) {
			return nil, s.Steer.DeleteCronJob(ctx, caller(ctx), in.Job)
		})
}

func (s *Server) cronJobs(ctx context.Context, in *cronJobsIn) (*listOut[CronJob], error) {
	p, err := s.page(ctx, in.Paging)
	if err != nil {
		return nil, err
	}
	f := store.TaskFilter{CronJobs: store.OnlyCronJobs}
	if f.AssigneeAgent, err = s.agentRef(ctx, in.Agent); err != nil {
		return nil, err
	}
	for _, status := range task.Statuses {
		if in.Enabled != "" && (task.Task{Status: status}).Enabled() == (in.Enabled == "true") {
			f.Statuses = append(f.Statuses, string(status))
		}
	}
	items, next, err := s.Store.Tasks(ctx, caller(ctx).Scope, f, p)
	if err != nil {
		return nil, err
	}
	of, err := s.cronJobOf(ctx, items)
	if err != nil {
		return nil, err
	}
	out := listed(ctx, s, items, next, of)
	return out, named(ctx, s, out.Body.Items, func(j *CronJob) *Actor { return &j.CreatedBy })
}

func (s *Server) createCronJob(ctx context.Context, in *struct{ Body CronJobCreate }) (*cronJobOut, error) {
	b := in.Body
	want := steer.NewCronJob{
		Agent: b.Agent, Name: b.Name, Pattern: b.Pattern, Timezone: b.Timezone, Prompt: b.Prompt, MaxExecutions: b.MaxExecutions,
		Conditions: b.Conditions.domain(), Disabled: b.Enabled != nil && !*b.Enabled, Documents: b.Documents, Files: b.Files,
	}
	if b.Template != nil {
		t, err := b.Template.steer()
		if err != nil {
			return nil, err
		}
		want.Template = &t
	}
	t, err := s.Steer.CreateCronJob(ctx, caller(ctx), want)
	return s.cronJobAnswer(ctx, t, err)
}

func (s *Server) editCronJob(ctx context.Context, in *struct {
	ByCronJob
	IfMatch string `header:"If-Match" doc:"The ETag that was read; a newer version is refused as stale"`
	Body    CronJobPatch
}) (*cronJobOut, error) {
	b := in.Body
	if err := notNull("agent", b.Agent, "pattern", b.Pattern, "prompt", b.Prompt, "template", b.Template, "enabled", b.Enabled); err != nil {
		return nil, err
	}
	p := steer.CronJobPatch{
		Agent: b.Agent.V, Name: orCleared(b.Name), Pattern: b.Pattern.V, Timezone: b.Timezone.pointer(), Prompt: b.Prompt.V, Enabled: b.Enabled.V,
	}
	if b.MaxExecutions.Set {
		p.MaxExecutions = new(deref(b.MaxExecutions.V))
	}
	if b.Conditions.Set {
		p.Conditions = new(b.Conditions.V.domain())
	}
	if b.Template.V != nil {
		p.Template = func(was steer.Template) (steer.Template, error) {
			to := cronTemplateOf(was)
			if err := mergeInto(&to, b.Template.V.json); err != nil {
				return was, err
			}
			return to.steer()
		}
	}
	t, err := s.Steer.EditCronJob(ctx, caller(ctx), in.Job, expected(in.IfMatch, b.Version), p)
	return s.cronJobAnswer(ctx, t, err)
}

// cronJobAnswer words what a flow answered.
func (s *Server) cronJobAnswer(ctx context.Context, t task.Task, err error) (*cronJobOut, error) {
	if err != nil {
		return nil, err
	}
	of, err := s.cronJobOf(ctx, []task.Task{t})
	if err != nil {
		return nil, err
	}
	out := &cronJobOut{etag(t.Version), of(t)}
	return out, named(ctx, s, []*CronJob{&out.Body}, func(j **CronJob) *Actor { return &(*j).CreatedBy })
}

// cronJobOf reads what stands around some cron jobs, and returns what words each.
func (s *Server) cronJobOf(ctx context.Context, ts []task.Task) (func(task.Task) CronJob, error) {
	sc := caller(ctx).Scope
	now, err := s.Store.Clock(ctx)
	if err != nil {
		return nil, err
	}
	ar, err := s.around(ctx, ts)
	if err != nil {
		return nil, err
	}
	ws, err := s.Store.Workspace(ctx, sc)
	if err != nil {
		return nil, err
	}
	list, err := s.Store.Agents(ctx, sc)
	if err != nil {
		return nil, err
	}
	agents := map[string]agent.Agent{}
	for _, a := range list {
		agents[a.ID] = a
	}
	return func(t task.Task) CronJob {
		a := automationOf(*t.Automation)
		out := CronJob{
			ID: t.ID, Task: t.Identifier, Agent: t.AssigneeAgentID, Name: t.Name, Pattern: patternOf(*t.Automation), Timezone: deref(a.Timezone),
			Automation: a, RemainingExecutions: t.RunsLeft(), Executions: t.Executions, Conditions: maybe(a.Conditions), Enabled: t.Enabled(),
			Status: t.Status, StatusReason: t.StatusReason, HeldBy: heldBy(t, ws, agents), NextRunAt: timeOf(t.NextFireAt),
			NextFires: orNone(nextFires(t, now, ar)), LastRunAt: timeOf(t.LastRunAt), CreatedBy: actorOf(t.CreatedBy),
			CreatedAt: Time{t.CreatedAt}, UpdatedAt: Time{t.UpdatedAt}, Version: t.Version,
		}
		if a.MaxExecutions > 0 {
			out.MaxExecutions = &a.MaxExecutions
		}
		if t.Makes() {
			out.Template = maybe(new(cronTemplateOf(steer.TemplateOf(t))))
		} else {
			out.Prompt = &t.Instruction
		}
		return out
	}, nil
}

// patternOf writes a schedule as a pattern, where one can say it.
func patternOf(a schedule.Automation) string {
	if a.Mode == schedule.Every {
		return "@every " + (time.Duration(a.EverySeconds) * time.Second).String()
	}
	return a.Pattern
}

// heldBy is the first of the gate's reasons that hold for workspace and agent as a
// whole, nil when none does.
func heldBy(t task.Task, ws store.Workspace, agents map[string]agent.Agent) *task.Reason {
	ag, there := agents[deref(t.AssigneeAgentID)]
	switch {
	case !t.Enabled():
		return nil
	case ws.PausedAt != nil:
		return new(task.WorkspacePaused)
	case ws.MaintenanceAt != nil:
		return new(task.Maintenance)
	case there && ag.PausedAt != nil:
		return new(task.AgentPaused)
	case !there || ag.DisabledAt != nil:
		return new(task.NoAgent)
	}
	return nil
}
