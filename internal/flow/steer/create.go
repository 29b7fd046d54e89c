package steer

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/handoff"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// NewTask is a task that somebody asks for.
type NewTask struct {
	Instruction     string
	InstructionRich json.RawMessage
	Name            string // "": from the instruction
	Description     string
	Priority        task.Priority // "": none
	Parent          string        // id or identifier
	AssigneeAgent   string        // id or slug; "" for the default agent
	NoAgent         bool          // a person's task that no agent runs
	AssigneeUser    *string
	DependsOn       []NewDependency
	Automation      *schedule.Automation
	StartAt         *time.Time
	MaxTopics       *int
	Labels          []string
	Files           []string
	Documents       []string // ids, pinned at once
	Config          task.Config
	Start           bool   // run it now
	ByOperation     string // the operation whose agent creates it
	CronJob         task.CronJob
	MadeName        string // of a template: what its tasks are called; "": as it is
}

// NewDependency is what a new task waits for.
type NewDependency struct {
	Task      string // id or identifier
	Type      string // "": blocks
	Condition string // "": done
}

// Limits of what a task may hold.
const (
	maxName        = 200
	maxInstruction = 100_000
	maxDescription = 20_000
	maxLabels      = 20
	maxLabel       = 50

	// Larger limits are none, and overflow where they are reckoned with or stored.
	maxTopics  = 1_000_000_000
	maxTokens  = 1_000_000_000_000
	maxMinutes = 366 * 24 * 60
	maxSteps   = 1_000_000
)

// CreateTask creates a task, arms it when it has an automation or a time to
// start, and runs it when asked to.
func (s *Steerer) CreateTask(ctx context.Context, c access.Caller, in NewTask) (task.Task, error) {
	var out task.Task
	err := s.store.InTx(ctx, func(tx *store.Tx) (err error) {
		out, err = s.CreateTaskIn(ctx, tx, c, in)
		return err
	})
	return out, err
}

// CreateTaskIn is [Steerer.CreateTask] in the caller's transaction.
func (s *Steerer) CreateTaskIn(ctx context.Context, tx *store.Tx, c access.Caller, in NewTask) (task.Task, error) {
	now, err := tx.Clock(ctx)
	if err != nil {
		return task.Task{}, err
	}
	t, err := s.draft(ctx, tx, c, in, now)
	if err != nil {
		return task.Task{}, err
	}
	upstream, err := resolveDependencies(ctx, tx, c.Scope, in.DependsOn)
	if err != nil {
		return task.Task{}, err
	}
	if len(upstream) > 0 { // a new task has nothing downstream, so no edge to it can close a cycle
		if err := tx.LockGraph(ctx, c.Scope); err != nil {
			return task.Task{}, err
		}
	}
	t.Status, t.StatusReason = task.Backlog, string(task.Created)
	switch cp := t.Config.Checkpoint; {
	case cp != nil && cp.Before && !t.Makes(): // what a template makes waits, not the template
		t.Status, t.StatusReason = task.Paused, string(task.CheckpointBefore)
	case t.Automation != nil || t.StartAt != nil:
		t.Status, t.StatusReason, t.ArmedAt = task.Scheduled, string(task.Armed), &now
	}
	if t, err = tx.CreateTask(ctx, c.Scope, t); err != nil {
		return task.Task{}, err
	}
	for _, d := range upstream {
		d.TaskID = t.ID
		if err := tx.AddDependency(ctx, c.Scope, d); err != nil {
			return task.Task{}, err
		}
	}
	for _, id := range in.Documents {
		if _, err := tx.Document(ctx, c.Scope, id); err != nil {
			return task.Task{}, errs.BadField("body.documents", "invalid", id, "There is no document %s.", id)
		}
		if err := tx.Pin(ctx, c.Scope, t.ID, id, c.Actor); err != nil {
			return task.Task{}, err
		}
	}
	for _, id := range in.Files {
		if err := tx.AttachFile(ctx, c.Scope, t.ID, id); err != nil {
			return task.Task{}, err
		}
	}
	if t.Status == task.Scheduled {
		ok, err := arm(ctx, tx, c.Scope, t, now)
		if err != nil {
			return task.Task{}, err
		}
		if !ok {
			return task.Task{}, errs.BadField("body.automation", "invalid", nil, "This schedule never fires: no time is left inside its bounds.")
		}
	}
	if err := audit(ctx, tx, c, auditName(t, "create"), "task", t.ID, map[string]any{"identifier": t.Identifier}); err != nil {
		return task.Task{}, err
	}
	if in.Start && t.Status != task.Paused {
		t, err := tx.LockTask(ctx, c.Scope, t.ID)
		if err != nil {
			return task.Task{}, err
		}
		// A refusal (it waits for another task, say) stands in the tick ledger.
		if _, _, err := s.launch.Start(ctx, tx, c.Scope, t, c.Actor, topic.Manual, ""); err != nil {
			return task.Task{}, err
		}
	}
	return tx.Task(ctx, c.Scope, t.ID)
}

// draft turns what was asked for into a task, and refuses what cannot be.
func (s *Steerer) draft(ctx context.Context, tx *store.Tx, c access.Caller, in NewTask, now time.Time) (task.Task, error) {
	t := task.Task{
		Instruction: strings.TrimSpace(in.Instruction), InstructionRich: in.InstructionRich, Name: strings.TrimSpace(in.Name),
		Description: in.Description, Priority: in.Priority, Labels: in.Labels, AssigneeUserID: in.AssigneeUser, Config: in.Config,
		CreatedBy: c.Actor, Automation: in.Automation, StartAt: in.StartAt, MaxTopics: in.MaxTopics,
		CronJob: in.CronJob, MadeName: strings.TrimSpace(in.MadeName),
	}
	if in.ByOperation != "" {
		t.CreatedByOperationID = &in.ByOperation
	}
	if t.Priority == "" {
		t.Priority = "none"
	}
	if t.Name == "" {
		t.Name = nameFrom(t.Instruction)
	}
	if in.Parent != "" {
		id, err := tx.TaskID(ctx, c.Scope, in.Parent)
		if err != nil {
			return t, errs.BadField("body.parent", "invalid", in.Parent, "There is no task %s.", in.Parent)
		}
		t.ParentID = &id
	}
	if !in.NoAgent {
		id, err := s.agentID(ctx, tx, c.Scope, in.AssigneeAgent)
		if err != nil {
			return t, err
		}
		t.AssigneeAgentID = &id
	}
	if err := checkRich(&t.InstructionRich); err != nil {
		return t, err
	}
	return t, s.check(ctx, tx, c, &t, now, time.Time{})
}

func (s *Steerer) agentID(ctx context.Context, tx *store.Tx, sc access.Scope, ref string) (string, error) {
	if ref == "" {
		a, err := tx.DefaultAgent(ctx, sc)
		return a.ID, err
	}
	a, err := tx.Agent(ctx, sc, ref)
	if errs.KindOf(err) == errs.NotFound {
		return "", errs.BadField("body.assigneeAgent", "invalid", ref, "There is no agent %s.", ref)
	}
	return a.ID, err
}

// check refuses what a task may not hold, and brings its automation to its
// canonical form. keptAnchor is the grid's point before an edit.
func (s *Steerer) check(ctx context.Context, tx *store.Tx, c access.Caller, t *task.Task, now, keptAnchor time.Time) error {
	switch n := utf8.RuneCountInString(t.Instruction); {
	case n == 0:
		return errs.BadField("body.instruction", "invalid", nil, "A task needs an instruction.")
	case n > maxInstruction:
		return errs.BadField("body.instruction", "invalid", nil, "The instruction has %d characters; at most %d are allowed.", n, maxInstruction)
	}
	if utf8.RuneCountInString(t.Name) > maxName || utf8.RuneCountInString(t.MadeName) > maxName {
		return errs.BadField("body.name", "invalid", nil, "A name has at most %d characters.", maxName)
	}
	if t.CronJob != task.NoCronJob && (t.Automation == nil || t.AssigneeAgentID == nil) {
		return errs.BadField("body.automation", "invalid", nil, "%s is a cron job: it has an agent and a schedule. Disable or delete it to end it.", t.Identifier)
	}
	if utf8.RuneCountInString(t.Description) > maxDescription {
		return errs.BadField("body.description", "invalid", nil, "A description has at most %d characters.", maxDescription)
	}
	if !slices.Contains(task.Priorities, t.Priority) {
		return errs.BadField("body.priority", "invalid", t.Priority, "%q is not a priority. Use none, urgent, high, normal or low.", t.Priority)
	}
	if err := checkLabels(t.Labels); err != nil {
		return err
	}
	if t.MaxTopics != nil && (*t.MaxTopics < 1 || *t.MaxTopics > maxTopics) {
		return errs.BadField("body.maxTopics", "invalid", *t.MaxTopics, "maxTopics is between 1 and %d; leave it out for no limit.", maxTopics)
	}
	if err := s.checkConfig(t.Config); err != nil {
		return err
	}
	if t.Automation != nil && t.StartAt != nil {
		return errs.BadField("body.startAt", "invalid", *t.StartAt, "A task has either an automation or startAt. Use automation.startsAt to begin a schedule later.")
	}
	if t.StartAt != nil {
		if !t.StartAt.After(now) {
			return errs.BadField("body.startAt", "invalid", *t.StartAt, "startAt is in the past. Use start to run the task now.")
		}
		at := t.StartAt.UTC().Truncate(time.Microsecond)
		t.StartAt = &at
	}
	if t.Automation == nil {
		return nil
	}
	zone, err := s.zone(ctx, tx, c)
	if err != nil {
		return err
	}
	canonical, err := schedule.Canonical(*t.Automation, schedule.Defaults{
		Zone: zone, MinPeriodSeconds: int64(s.minHeartbeat / time.Second), Now: now, KeptAnchor: keptAnchor,
	})
	if err != nil {
		return inBody(err)
	}
	if e := canonical.Exclusions; e != nil {
		missing, err := tx.HoldCalendars(ctx, c.Scope, e.Calendars)
		if err != nil {
			return err
		}
		if missing != "" {
			return errs.BadField("body.automation.exclusions.calendars", "invalid", missing, "There is no calendar %q. Make it first, or write its dates into dates or ranges.", missing)
		}
	}
	t.Automation = &canonical
	return nil
}

// zone is where times are told when an automation names none: the caller's, else
// the workspace's, never the host's.
func (s *Steerer) zone(ctx context.Context, r *store.Tx, c access.Caller) (string, error) {
	if c.Timezone != "" {
		return c.Timezone, nil
	}
	ws, err := r.Workspace(ctx, c.Scope)
	return ws.Timezone, err
}

func (s *Steerer) checkConfig(cfg task.Config) error {
	if cfg.Model != "" && !s.models.Known(cfg.Model) {
		return errs.BadField("body.config.model", "invalid", cfg.Model, "The model %q is not configured. Write provider/model.", cfg.Model)
	}
	switch cfg.Acceptance {
	case "", task.Review, task.Auto:
	default:
		return errs.BadField("body.config.acceptance", "invalid", cfg.Acceptance, "acceptance is review or auto.")
	}
	if len(cfg.Review) > 0 && string(cfg.Review) != "null" {
		return errs.BadField("body.config.review", "invalid", nil, "This version does not review work by a rubric. Leave review out; acceptance decides who accepts.")
	}
	if utf8.RuneCountInString(cfg.ConcurrencyKey) > maxName {
		return errs.BadField("body.config.concurrencyKey", "invalid", cfg.ConcurrencyKey, "A concurrency key has at most %d characters.", maxName)
	}
	if cfg.Brief != nil {
		switch cfg.Brief.Mode {
		case "", task.BriefOnNews, task.BriefAlways, task.BriefNever:
		default:
			return errs.BadField("body.config.brief.mode", "invalid", cfg.Brief.Mode, "brief.mode is news, always or never.")
		}
	}
	if cfg.Brief != nil && (cfg.Brief.AfterSkips < 0 || cfg.Brief.AfterSkips > task.MaxAfterSkips) {
		return errs.BadField("body.config.brief.afterSkips", "invalid", cfg.Brief.AfterSkips, "brief.afterSkips is between 1 and %d.", task.MaxAfterSkips)
	}
	if cfg.FailureFuse < 0 || cfg.FailureFuse > 100 {
		return errs.BadField("body.config.failureFuse", "invalid", cfg.FailureFuse, "failureFuse is between 1 and 100.")
	}
	for name, a := range map[string]task.Allowance{"operation": cfg.Budget.Operation, "day": cfg.Budget.Day} {
		at := "body.config.budget." + name
		if a.USD != nil && *a.USD < 0 || a.Tokens < 0 || a.Minutes < 0 || a.Steps < 0 {
			return errs.BadField(at, "invalid", nil, "A budget is not negative.")
		}
		if a.Tokens > maxTokens || a.Minutes > maxMinutes || a.Steps > maxSteps {
			return errs.BadField(at, "invalid", nil, "A budget has at most %d tokens, %d minutes and %d steps. Leave out what has no limit.", int64(maxTokens), maxMinutes, maxSteps)
		}
		model := cfg.Model
		if model == "" {
			model = s.models.Default()
		}
		if a.USD != nil && !s.models.Priced(model) {
			return errs.BadField(at+".usd", "invalid", a.USD.String(), "The price of %s is not known, so a limit in money would not hold. Limit tokens or minutes, or add the price.", model)
		}
	}
	if cfg.Budget.Day.Steps != 0 {
		return errs.BadField("body.config.budget.day.steps", "invalid", cfg.Budget.Day.Steps, "Steps are limited per operation.")
	}
	return nil
}

func checkLabels(labels []string) error {
	if len(labels) > maxLabels {
		return errs.BadField("body.labels", "invalid", len(labels), "A task has at most %d labels.", maxLabels)
	}
	for _, l := range labels {
		if strings.TrimSpace(l) == "" || utf8.RuneCountInString(l) > maxLabel {
			return errs.BadField("body.labels", "invalid", l, "A label has 1 to %d characters.", maxLabel)
		}
	}
	return nil
}

func resolveDependencies(ctx context.Context, tx *store.Tx, sc access.Scope, ds []NewDependency) ([]store.Dependency, error) {
	out := make([]store.Dependency, len(ds))
	for i, d := range ds {
		at := fmt.Sprintf("body.dependsOn[%d]", i)
		id, err := tx.TaskID(ctx, sc, d.Task)
		if err != nil {
			return nil, errs.BadField(at, "invalid", d.Task, "There is no task %s.", d.Task)
		}
		out[i] = store.Dependency{UpstreamID: id, Type: d.Type}
		switch d.Type {
		case "", "blocks":
			out[i].Type = "blocks"
			condition := d.Condition
			if condition == "" {
				condition = "done"
			}
			if !slices.Contains([]string{"done", "success", "failure", "finished"}, condition) {
				return nil, errs.BadField(at+".condition", "invalid", d.Condition, "A condition is done, success, failure or finished.")
			}
			out[i].Condition = &condition
		case "relates":
			if d.Condition != "" {
				return nil, errs.BadField(at+".condition", "invalid", d.Condition, "Only a blocks edge has a condition.")
			}
		default:
			return nil, errs.BadField(at+".type", "invalid", d.Type, "A dependency blocks or relates.")
		}
	}
	return out, nil
}

// nameFrom makes a name of the first line of an instruction.
func nameFrom(instruction string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(instruction), "\n")
	line = strings.TrimSpace(strings.TrimLeft(line, "#>*- \t"))
	if line == "" {
		line = instruction
	}
	return handoff.Cut(strings.Join(strings.Fields(line), " "), 80)
}

// inBody moves the fields of an error from the automation to the request's body.
func inBody(err error) error {
	var e *errs.Error
	if !asError(err, &e) {
		return err
	}
	out := *e
	out.Fields = slices.Clone(e.Fields)
	for i := range out.Fields {
		out.Fields[i].Location = "body." + out.Fields[i].Location
	}
	return &out
}
