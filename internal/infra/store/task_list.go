package store

import (
	"context"
	"fmt"
	"strings"

	"gorm.io/gorm"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/task"
)

// TaskFilter narrows a list of tasks. Empty fields do not. The names are those of the
// API, in which an audit tells what was asked for.
type TaskFilter struct {
	Statuses      []string `json:"status,omitempty"`
	Priorities    []string `json:"priority,omitempty"`
	AssigneeAgent string   `json:"assigneeAgent,omitempty"` // id
	AssigneeUser  string   `json:"assigneeUser,omitempty"`  // id
	Parent        string   `json:"parent,omitempty"`        // id, or "none" for top-level tasks
	Automation    string   `json:"automation,omitempty"`    // heartbeat, schedule, every, once, none
	Label         string   `json:"label,omitempty"`
	Query         string   `json:"q,omitempty"`        // in name, identifier and instruction
	Sort          string   `json:"-"`                  // "" newest first, "next" by the next fire
	Deleted       bool     `json:"-"`                  // deleted ones instead
	CronJobs      string   `json:"standing,omitempty"` // "" without those that stand for cron jobs, OnlyCronJobs, WithCronJobs
}

// Whether a list has the tasks that stand for cron jobs.
const (
	OnlyCronJobs = "true"
	WithCronJobs = "all"
)

// filtered narrows the tasks of a workspace.
func (r Reader) filtered(ctx context.Context, sc access.Scope, f TaskFilter) *gorm.DB {
	q := r.db(ctx).Model(&taskRow{}).Where("workspace_id = ?", sc.Workspace())
	if f.Deleted {
		q = q.Where("deleted_at is not null")
	} else {
		q = q.Where("deleted_at is null")
	}
	switch f.CronJobs {
	case "":
		q = q.Where("cron_job is null")
	case OnlyCronJobs:
		q = q.Where("cron_job is not null")
	}
	if len(f.Statuses) > 0 {
		q = q.Where("status in ?", f.Statuses)
	}
	if len(f.Priorities) > 0 {
		q = q.Where("priority in ?", f.Priorities)
	}
	if f.AssigneeAgent != "" {
		q = q.Where("assignee_agent_id = ?", f.AssigneeAgent)
	}
	if f.AssigneeUser != "" {
		q = q.Where("assignee_user_id = ?", f.AssigneeUser)
	}
	switch f.Parent {
	case "":
	case "none":
		q = q.Where("parent_id is null")
	default:
		q = q.Where("parent_id = ?", f.Parent)
	}
	switch f.Automation {
	case "":
	case "none":
		q = q.Where("automation is null and start_at is null")
	case "once":
		q = q.Where("automation is null and start_at is not null")
	default:
		q = q.Where("automation_mode = ?", f.Automation)
	}
	if f.Label != "" {
		q = q.Where("labels @> ?::text[]", texts{f.Label})
	}
	if f.Query != "" {
		like := "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(f.Query) + "%"
		q = q.Where("(name ilike ? or identifier ilike ? or instruction ilike ?)", like, like, like)
	}
	return q
}

// Tasks lists tasks, the newest first.
func (r Reader) Tasks(ctx context.Context, sc access.Scope, f TaskFilter, p Page) ([]task.Task, string, error) {
	q := r.filtered(ctx, sc, f)
	if f.Sort == "next" {
		q = q.Where("next_fire_at is not null").Order("next_fire_at, id")
		if p.After != "" {
			q = q.Where("(next_fire_at, id) > (select next_fire_at, id from tasks where id = ? and workspace_id = ?)", p.After, sc.Workspace())
		}
	} else {
		q = q.Order("id desc")
		if p.After != "" {
			q = q.Where("id < ?", p.After)
		}
	}
	var rows []taskRow
	if err := q.Limit(p.limit() + 1).Find(&rows).Error; err != nil {
		return nil, "", fmt.Errorf("list tasks: %w", err)
	}
	out := make([]task.Task, len(rows))
	for i, row := range rows {
		out[i] = row.task()
	}
	out, next := cut(out, p, func(t task.Task) string { return t.ID })
	return out, next, nil
}

// CronJob returns the task that stands for a cron job, by its id or identifier.
func (r Reader) CronJob(ctx context.Context, sc access.Scope, ref string) (task.Task, error) {
	taskID, err := r.TaskID(ctx, sc, ref)
	if err != nil {
		return task.Task{}, err
	}
	t, err := r.Task(ctx, sc, taskID)
	if err == nil && (t.CronJob == task.NoCronJob || t.DeletedAt != nil) {
		err = errs.Missing("cron job", ref)
	}
	return t, err
}

// MadeBy returns the identifier of the cron job whose template made a task, "" when
// none did.
func (r Reader) MadeBy(ctx context.Context, sc access.Scope, taskID string) (string, error) {
	var out []string
	err := r.db(ctx).Raw(`select t.identifier from ticks k join tasks t on t.id = k.task_id where k.workspace_id = ? and k.made_task_id = ?`,
		sc.Workspace(), taskID).Scan(&out).Error
	if err != nil {
		return "", fmt.Errorf("look for what made a task: %w", err)
	}
	if len(out) == 0 {
		return "", nil
	}
	return out[0], nil
}

// MatchTasks returns the ids of at most limit tasks that a filter matches, the oldest
// first, and how many it matches in all.
func (r Reader) MatchTasks(ctx context.Context, sc access.Scope, f TaskFilter, limit int) (ids []string, all int64, err error) {
	if err := r.filtered(ctx, sc, f).Count(&all).Error; err != nil {
		return nil, 0, fmt.Errorf("count tasks: %w", err)
	}
	if err := r.filtered(ctx, sc, f).Order("seq").Limit(limit).Pluck("id", &ids).Error; err != nil {
		return nil, 0, fmt.Errorf("find tasks: %w", err)
	}
	return ids, all, nil
}
