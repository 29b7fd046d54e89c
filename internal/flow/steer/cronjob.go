package steer

import (
	"context"
	"slices"
	"strings"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// A cron job is a task that stands apart from the lists (domain/task): what is done to
// the job is done to that task, by the same roads.

// NewCronJob is a cron job that somebody asks for: with a prompt, or with a template.
type NewCronJob struct {
	Agent, Name   string // the name: "" for one from the words of the work
	Pattern       string
	Timezone      *string
	MaxExecutions int
	Conditions    *schedule.Conditions
	Disabled      bool
	Prompt        string
	Template      *Template
	Documents     []string // pinned to the job's task; the tasks of a template get the same
	Files         []string
}

// Template is what the tasks of a cron job are made of.
type Template struct {
	Name, Instruction, Description string
	Priority                       task.Priority
	Labels                         []string
	Config                         task.Config
	MaxTopics                      *int
}

// CreateCronJob creates a cron job and arms it, unless it is to be disabled.
func (s *Steerer) CreateCronJob(ctx context.Context, c access.Caller, in NewCronJob) (task.Task, error) {
	if (in.Prompt == "") == (in.Template == nil) {
		return task.Task{}, errs.BadField("body", "invalid", nil, "A cron job has either a prompt, which it runs again and again, or a template, of which it makes a task each time.")
	}
	if in.Agent == "" {
		return task.Task{}, errs.BadField("body.agent", "invalid", nil, "Say whose cron job it is.")
	}
	want := NewTask{
		Instruction: in.Prompt, Name: in.Name, AssigneeAgent: in.Agent, CronJob: task.CronPrompt, Documents: in.Documents, Files: in.Files,
		Automation: &schedule.Automation{
			Mode: schedule.Schedule, Pattern: in.Pattern, Timezone: in.Timezone, MaxExecutions: in.MaxExecutions, Conditions: in.Conditions,
		},
	}
	if t := in.Template; t != nil {
		want.CronJob, want.Instruction, want.MadeName, want.Description = task.CronTemplate, t.Instruction, t.Name, t.Description
		want.Priority, want.Labels, want.Config, want.MaxTopics = t.Priority, t.Labels, t.Config, t.MaxTopics
		if want.Name == "" {
			want.Name = t.Name
		}
	}
	var out task.Task
	err := s.store.InTx(ctx, func(tx *store.Tx) (err error) {
		if out, err = s.CreateTaskIn(ctx, tx, c, want); err != nil || !in.Disabled {
			return err
		}
		if err := pause(ctx, tx, c, out, ""); err != nil {
			return err
		}
		out, err = tx.Task(ctx, c.Scope, out.ID)
		return err
	})
	return out, ofCronJob(want.CronJob, err)
}

// CronJobPatch is an edit of a cron job; a nil field is left as it is.
type CronJobPatch struct {
	Agent, Name   *string
	Pattern       *string
	Timezone      **string
	MaxExecutions *int // 0: no limit
	Conditions    **schedule.Conditions
	Enabled       *bool
	Prompt        *string
	Template      func(Template) (Template, error) // from what it is to what it becomes
}

// EditCronJob changes a cron job. Its next fire is planned anew when its schedule
// changes; a job that is disabled is a task that is paused, and what was planned is
// canceled.
func (s *Steerer) EditCronJob(ctx context.Context, c access.Caller, ref string, version *int64, p CronJobPatch) (task.Task, error) {
	kind := task.CronPrompt
	t, err := s.onCronJob(ctx, c, ref, func(tx *store.Tx, t task.Task) error {
		kind = t.CronJob
		patch, err := p.onTask(t)
		if err != nil {
			return err
		}
		if err := s.edit(ctx, tx, c, t, version, patch); err != nil {
			return err
		}
		if p.Enabled == nil || *p.Enabled == t.Enabled() {
			return nil
		}
		if t, err = tx.Task(ctx, c.Scope, t.ID); err != nil {
			return err
		}
		return enable(ctx, tx, c, t, *p.Enabled)
	})
	return t, ofCronJob(kind, err)
}

// DeleteCronJob deletes a cron job: what it planned is canceled and its open run
// stopped. The tasks that a template has made stay.
func (s *Steerer) DeleteCronJob(ctx context.Context, c access.Caller, ref string) error {
	t, err := s.onCronJob(ctx, c, ref, func(*store.Tx, task.Task) error { return nil })
	if err != nil {
		return err
	}
	return s.DeleteTask(ctx, c, t.ID)
}

// onCronJob is live for a task that stands for a cron job.
func (s *Steerer) onCronJob(ctx context.Context, c access.Caller, ref string, f func(tx *store.Tx, t task.Task) error) (task.Task, error) {
	return s.live(ctx, c, ref, func(tx *store.Tx, t task.Task) error {
		if t.CronJob == task.NoCronJob {
			return errs.Missing("cron job", ref)
		}
		return f(tx, t)
	})
}

// onTask is what a patch of a cron job changes on its task.
func (p CronJobPatch) onTask(t task.Task) (TaskPatch, error) {
	out := TaskPatch{Name: p.Name}
	if p.Agent != nil {
		out.AssigneeAgent = &p.Agent
	}
	switch {
	case p.Prompt != nil && t.Makes(), p.Template != nil && !t.Makes():
		return out, errs.New(errs.Conflict, "conflict", "%s has a %s and keeps that kind. Make another cron job.", t.Identifier, t.CronJob)
	case p.Prompt != nil:
		out.Instruction = p.Prompt
	case p.Template != nil:
		to, err := p.Template(TemplateOf(t))
		if err != nil {
			return out, err
		}
		out.Instruction, out.Description, out.Priority, out.Labels, out.Config = &to.Instruction, &to.Description, &to.Priority, &to.Labels, &to.Config
		out.MaxTopics, out.MadeName = &to.MaxTopics, &to.Name
	}
	if p.Pattern == nil && p.Timezone == nil && p.MaxExecutions == nil && p.Conditions == nil {
		return out, nil
	}
	a := *t.Automation
	if p.Pattern != nil { // whatever it was on
		a.Mode, a.Pattern, a.EverySeconds, a.Anchor = schedule.Schedule, *p.Pattern, 0, nil
		a.IntervalSeconds, a.MinSeconds, a.MaxSeconds = 0, 0, 0
	}
	set(&a.Timezone, p.Timezone)
	set(&a.MaxExecutions, p.MaxExecutions)
	set(&a.Conditions, p.Conditions)
	to := &a
	out.Automation = &to
	return out, nil
}

// TemplateOf is what the tasks of a template are made of.
func TemplateOf(t task.Task) Template {
	return Template{t.MadeName, t.Instruction, t.Description, t.Priority, t.Labels, t.Config, t.MaxTopics}
}

// enable lets a cron job go on, or holds it.
func enable(ctx context.Context, tx *store.Tx, c access.Caller, t task.Task, on bool) error {
	if !on {
		return pause(ctx, tx, c, t, "")
	}
	now, err := tx.Now(ctx)
	if err != nil {
		return err
	}
	if next, err := firstFire(t, now); err != nil || next == (schedule.Slot{}) {
		if err == nil {
			err = errs.BadField("body.enabled", "invalid", true, "This schedule never fires any more: no time is left inside its bounds.")
		}
		return err
	}
	if t.Status.Terminal() {
		return reopen(ctx, tx, c, t, "") // it counts its runs from now
	}
	return resume(ctx, tx, c, t, "")
}

// auditName is the name of an action on a task in the audit.
func auditName(t task.Task, action string) string {
	if t.CronJob != task.NoCronJob {
		return "cron_job." + action
	}
	return "task." + action
}

// ofCronJob moves the fields of an error from a task to where a cron job has them.
func ofCronJob(kind task.CronJob, err error) error {
	var e *errs.Error
	if !asError(err, &e) {
		return err
	}
	out := *e
	out.Fields = slices.Clone(e.Fields)
	for i := range out.Fields {
		at := &out.Fields[i].Location
		field, isBody := strings.CutPrefix(*at, "body.")
		switch {
		case strings.HasPrefix(field, "automation."):
			*at = "body." + strings.TrimPrefix(field, "automation.")
		case field == "automation":
			*at = "body.pattern"
		case field == "assigneeAgent":
			*at = "body.agent"
		case field == "instruction" && kind == task.CronPrompt:
			*at = "body.prompt"
		case isBody && kind == task.CronTemplate && inTemplate(field):
			*at = "body.template." + field
		}
	}
	return &out
}

// inTemplate reports whether a field of a task is one of a template.
func inTemplate(field string) bool {
	for _, name := range []string{"instruction", "description", "priority", "labels", "config", "maxTopics"} {
		if field == name || strings.HasPrefix(field, name+".") || strings.HasPrefix(field, name+"[") {
			return true
		}
	}
	return false
}
