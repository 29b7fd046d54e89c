package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
)

type taskRow struct {
	ID, WorkspaceID                             string
	Seq                                         int64
	Identifier                                  string `gorm:"->"`
	Name, Description, Instruction              string
	InstructionRich                             *doc[json.RawMessage]
	Status                                      task.Status
	StatusReason                                string
	Error                                       *string
	Priority                                    task.Priority
	Labels                                      texts
	ParentID, AssigneeAgentID, AssigneeUserID   *string
	Config                                      doc[task.Config]
	CreatedByKind                               access.ActorKind
	CreatedByID                                 *string
	CreatedByOperationID                        *string
	CronJob, MadeName                           *string
	Automation                                  *doc[schedule.Automation]
	AutomationMode                              *schedule.Mode
	AutomationRevision                          int64
	StartAt, ArmedAt, NextPlannedAt, NextFireAt *time.Time
	Executions, Failures, Repeats, Skips        int
	NextWhy                                     *string
	MaxTopics                                   *int
	TotalTopics                                 int
	CurrentTopicID                              *string
	LastRunAt                                   *time.Time
	CostUSD                                     *budget.USD `gorm:"column:cost_usd"`
	Version                                     int64
	CreatedAt, UpdatedAt                        time.Time
	StartedAt, CompletedAt, DeletedAt           *time.Time
}

func (taskRow) TableName() string { return "tasks" }

func (row taskRow) task() task.Task {
	t := task.Task{
		ID: row.ID, WorkspaceID: row.WorkspaceID, Identifier: row.Identifier, Seq: row.Seq,
		Name: row.Name, Description: row.Description, Instruction: row.Instruction,
		Status: row.Status, StatusReason: row.StatusReason, Error: row.Error, Priority: row.Priority,
		Labels: row.Labels, ParentID: row.ParentID, AssigneeAgentID: row.AssigneeAgentID, AssigneeUserID: row.AssigneeUserID,
		Config: row.Config.V, CreatedBy: actor(row.CreatedByKind, row.CreatedByID), CreatedByOperationID: row.CreatedByOperationID,
		AutomationRevision: row.AutomationRevision, StartAt: row.StartAt, ArmedAt: row.ArmedAt,
		NextPlannedAt: row.NextPlannedAt, NextFireAt: row.NextFireAt, Executions: row.Executions, Failures: row.Failures,
		Repeats: row.Repeats, Skips: row.Skips, NextWhy: orEmpty(row.NextWhy), CronJob: task.CronJob(orEmpty(row.CronJob)), MadeName: orEmpty(row.MadeName),
		MaxTopics: row.MaxTopics, TotalTopics: row.TotalTopics, CurrentTopicID: row.CurrentTopicID, LastRunAt: row.LastRunAt,
		CostUSD: row.CostUSD, Version: row.Version, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
		StartedAt: row.StartedAt, CompletedAt: row.CompletedAt, DeletedAt: row.DeletedAt,
	}
	if row.InstructionRich != nil {
		t.InstructionRich = row.InstructionRich.V
	}
	if row.Automation != nil {
		t.Automation = &row.Automation.V
	}
	return t
}

// Task returns a task by its id; deleted ones too.
func (r Reader) Task(ctx context.Context, sc access.Scope, taskID string) (task.Task, error) {
	var row taskRow
	err := r.db(ctx).Where("workspace_id = ? and id = ?", sc.Workspace(), taskID).Take(&row).Error
	return row.task(), found(err, "task", taskID)
}

// LockTask returns a task and holds it until the transaction ends: it is the lock
// of everything that hangs on the task. Rows that only point at it can still be
// added by others.
func (tx *Tx) LockTask(ctx context.Context, sc access.Scope, taskID string) (task.Task, error) {
	var rows []struct {
		Task     taskRow `gorm:"embedded"`
		LockedAt time.Time
	}
	// The clock is read around the lock, so that it is read after the wait for it.
	err := tx.db(ctx).Raw(`
		select t.*, clock_timestamp() as locked_at
		from (select * from tasks where workspace_id = ? and id = ? for no key update) t`, sc.Workspace(), taskID).Scan(&rows).Error
	if err != nil {
		return task.Task{}, fmt.Errorf("lock a task: %w", err)
	}
	if len(rows) == 0 {
		return task.Task{}, errs.Missing("task", taskID)
	}
	if tx.now.IsZero() {
		tx.now = rows[0].LockedAt.UTC()
	}
	return rows[0].Task.task(), nil
}

// TasksByID returns tasks by their ids, in no order; unknown ids are left out.
func (r Reader) TasksByID(ctx context.Context, sc access.Scope, ids []string) ([]task.Task, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var rows []taskRow
	if err := r.db(ctx).Where("workspace_id = ? and id in ?", sc.Workspace(), ids).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read tasks: %w", err)
	}
	out := make([]task.Task, len(rows))
	for i, row := range rows {
		out[i] = row.task()
	}
	return out, nil
}

// SubtaskCounts counts the direct subtasks of a task by status.
func (r Reader) SubtaskCounts(ctx context.Context, sc access.Scope, taskID string) (map[task.Status]int, error) {
	var rows []struct {
		Status task.Status
		N      int
	}
	err := r.db(ctx).Raw(`select status, count(*) n from tasks where workspace_id = ? and parent_id = ? and deleted_at is null group by status`,
		sc.Workspace(), taskID).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("count subtasks: %w", err)
	}
	out := map[task.Status]int{}
	for _, row := range rows {
		out[row.Status] = row.N
	}
	return out, nil
}

// CreateTask writes down a task, as it was decided to begin: in the status that it
// carries, with its first move. It gives id, number and version.
func (tx *Tx) CreateTask(ctx context.Context, sc access.Scope, t task.Task) (task.Task, error) {
	seq, err := tx.nextNumber(ctx, sc, "task_seq")
	if err != nil {
		return task.Task{}, err
	}
	row := taskRow{
		ID: id.New(), WorkspaceID: sc.Workspace(), Seq: seq, Name: t.Name, Description: t.Description, Instruction: t.Instruction,
		Status: t.Status, StatusReason: t.StatusReason, Priority: t.Priority, Labels: append(texts{}, t.Labels...),
		ParentID: t.ParentID, AssigneeAgentID: t.AssigneeAgentID, AssigneeUserID: t.AssigneeUserID, Config: doc[task.Config]{t.Config},
		CreatedByKind: t.CreatedBy.Kind, CreatedByID: optional(t.CreatedBy.ID), CreatedByOperationID: t.CreatedByOperationID,
		StartAt: t.StartAt, MaxTopics: t.MaxTopics, CostUSD: new(budget.USD), Version: 1,
		CronJob: optional(string(t.CronJob)), MadeName: optional(t.MadeName),
	}
	if len(t.InstructionRich) > 0 {
		row.InstructionRich = &doc[json.RawMessage]{t.InstructionRich}
	}
	if t.Automation != nil {
		row.Automation, row.AutomationMode, row.AutomationRevision = &doc[schedule.Automation]{*t.Automation}, &t.Automation.Mode, 1
	}
	row.ArmedAt, row.NextPlannedAt, row.NextFireAt = t.ArmedAt, t.NextPlannedAt, t.NextFireAt
	now, err := tx.Now(ctx)
	if err != nil {
		return task.Task{}, err
	}
	row.CreatedAt, row.UpdatedAt = now, now
	if err := tx.db(ctx).Create(&row).Error; err != nil {
		return task.Task{}, fmt.Errorf("create a task: %w", err)
	}
	out := row.task()
	out.Identifier = fmt.Sprintf("T-%d", seq)
	if err := tx.recordFirstMove(ctx, sc, moveRow{
		TaskID: out.ID, ToStatus: t.Status, Reason: t.StatusReason, ActorKind: t.CreatedBy.Kind, ActorID: optional(t.CreatedBy.ID),
	}); err != nil {
		return task.Task{}, err
	}
	return out, tx.Emit(ctx, sc, taskEvent("task.created", out.ID, t.Status))
}

// MoveTask carries out a move. It is the only statement that changes a task's
// status, and it does so only if the status is still the one the move was decided
// on. An end posts the job that starts what waited for it.
func (tx *Tx) MoveTask(ctx context.Context, sc access.Scope, m task.Move) error {
	return tx.moveTask(ctx, sc, m, nil, "", columns{})
}

// columns are further columns that a statement sets, as it spells them.
type columns struct {
	sets []string
	args []any
}

func (c *columns) set(sql string, args ...any) {
	c.sets, c.args = append(c.sets, sql), append(c.args, args...)
}

// next sets a task's next fire and, in words, why it is then, "" where it is simply
// the schedule's; the zero slot clears it.
func (c *columns) next(next schedule.Slot, why string) {
	if next == (schedule.Slot{}) {
		c.set(`next_planned_at = null, next_fire_at = null, next_why = null`)
		return
	}
	c.set(`next_planned_at = ?, next_fire_at = ?, next_why = ?`, next.PlannedAt, next.FireAt, optional(clean(why)))
}

// moveTask carries out a move and sets what else changes on the task by it: next,
// when not nil, its next fire, which else stays while the task is scheduled or
// running and goes when it is not.
func (tx *Tx) moveTask(ctx context.Context, sc access.Scope, m task.Move, next *schedule.Slot, why string, also columns) error {
	var c columns
	c.set(`status = ?, status_reason = ?, version = version + 1, updated_at = clock_timestamp()`, m.To(), m.Reason())
	if m.To().Terminal() {
		c.set(`completed_at = clock_timestamp()`)
	} else {
		c.set(`completed_at = null`)
	}
	if m.To() == task.Running {
		c.set(`started_at = coalesce(started_at, clock_timestamp())`)
	}
	switch {
	case next != nil:
		c.next(*next, why)
	case m.To() != task.Scheduled && m.To() != task.Running:
		c.next(schedule.Slot{}, "")
	}
	c.sets, c.args = append(c.sets, also.sets...), append(c.args, also.args...)
	n, err := tx.exec(ctx, `
		with moved as (update tasks set `+strings.Join(c.sets, ", ")+` where workspace_id = ? and id = ? and status = ? returning workspace_id, id)
		insert into task_moves (id, workspace_id, task_id, from_status, to_status, reason, actor_kind, actor_id, note)
		select ?, workspace_id, id, ?, ?, ?, ?, ?, ? from moved`,
		append(c.args, sc.Workspace(), m.TaskID(), m.From(),
			id.New(), m.From(), m.To(), m.Reason(), m.Actor().Kind, optional(m.Actor().ID), optional(m.Note()))...)
	if err != nil {
		return fmt.Errorf("move a task to %s: %w", m.To(), err)
	}
	if n == 0 {
		return errs.New(errs.Conflict, "conflict", "The task is no longer %s.", m.From())
	}
	if err := tx.Emit(ctx, sc, taskEvent("task.changed", m.TaskID(), m.To())); err != nil || !m.To().Terminal() {
		return err
	}
	if _, err := tx.EndBackfill(ctx, sc, m.TaskID(), task.Ended); err != nil {
		return err
	}
	return tx.PostJobs(ctx, job.Post{Kind: job.Unlock, Key: m.TaskID(), IDs: job.IDs{Workspace: sc.Workspace(), Task: m.TaskID()}})
}

func taskEvent(typ, taskID string, s task.Status) Event {
	return Event{Type: typ, SubjectKind: "task", SubjectID: taskID, Payload: map[string]any{"status": s}}
}

// SetNext stores a task's next fire; the zero slot clears it.
func (tx *Tx) SetNext(ctx context.Context, sc access.Scope, taskID string, next schedule.Slot) error {
	return tx.SetNextBecause(ctx, sc, taskID, next, "")
}

// SetNextBecause stores a task's next fire with, in words, why it is then. The next
// change of the fire takes the words away.
func (tx *Tx) SetNextBecause(ctx context.Context, sc access.Scope, taskID string, next schedule.Slot, why string) error {
	var c columns
	c.next(next, why)
	if err := tx.setTask(ctx, sc, taskID, c); err != nil {
		return fmt.Errorf("set the next fire: %w", err)
	}
	return nil
}

// setTask sets columns of a task other than its status.
func (tx *Tx) setTask(ctx context.Context, sc access.Scope, taskID string, c columns) error {
	_, err := tx.exec(ctx, `update tasks set `+strings.Join(c.sets, ", ")+` where workspace_id = ? and id = ?`,
		append(c.args, sc.Workspace(), taskID)...)
	return err
}

// armed is what an armed task begins with: its schedule counts from now.
const armed = `armed_at = clock_timestamp(), executions = 0, failures = 0, repeats = 0, skips = 0`

// Arm notes that a task's schedule counts its executions from now.
func (tx *Tx) Arm(ctx context.Context, sc access.Scope, taskID string) error {
	if err := tx.setTask(ctx, sc, taskID, columns{sets: []string{armed}}); err != nil {
		return fmt.Errorf("arm a task: %w", err)
	}
	return nil
}

// TaskRun is what the launch of a topic changes on its task.
type TaskRun struct {
	TopicID   string
	AgentID   string         // who runs it, from now on
	Scheduled bool           // it counts as an execution of the schedule
	Once      bool           // it was the one time of a one-shot
	Rearm     bool           // the task had ended: its schedule counts from now
	Next      *schedule.Slot // its next fire; nil: the one that it has
}

// LaunchTask moves a task to running and counts the topic on it, in one statement.
func (tx *Tx) LaunchTask(ctx context.Context, sc access.Scope, m task.Move, run TaskRun) error {
	var c columns
	c.set(`current_topic_id = ?, total_topics = total_topics + 1, last_run_at = clock_timestamp(), error = null,
		assignee_agent_id = coalesce(assignee_agent_id, ?)`, run.TopicID, run.AgentID)
	switch {
	case run.Rearm:
		c.set(armed)
	case run.Scheduled:
		c.set(`executions = executions + 1, skips = 0`)
	}
	if run.Once {
		c.set(`start_at = null`)
	}
	return tx.moveTask(ctx, sc, m, run.Next, "", c)
}

// NoteMade counts on a template that it made a task. Only a planned one is an
// execution of its schedule.
func (tx *Tx) NoteMade(ctx context.Context, sc access.Scope, taskID string, planned bool) error {
	var c columns
	c.set(`last_run_at = clock_timestamp()`)
	if planned {
		c.set(`executions = executions + 1`)
	}
	if err := tx.setTask(ctx, sc, taskID, c); err != nil {
		return fmt.Errorf("note that a task was made: %w", err)
	}
	return tx.Emit(ctx, sc, Event{Type: "task.changed", SubjectKind: "task", SubjectID: taskID})
}

// CopyMaterial gives a task the documents and files of another.
func (tx *Tx) CopyMaterial(ctx context.Context, sc access.Scope, from, to string) error {
	_, err := tx.exec(ctx, `insert into task_documents (workspace_id, task_id, document_id, pinned_by_kind)
		select workspace_id, ?, document_id, pinned_by_kind from task_documents where workspace_id = ? and task_id = ?`, to, sc.Workspace(), from)
	if err == nil {
		_, err = tx.exec(ctx, `insert into task_files (workspace_id, task_id, file_id)
			select workspace_id, ?, file_id from task_files where workspace_id = ? and task_id = ?`, to, sc.Workspace(), from)
	}
	if err != nil {
		return fmt.Errorf("copy what hangs on a task: %w", err)
	}
	return nil
}

// RunEnd is what the end of a topic changes on its task.
type RunEnd struct {
	TopicID  string
	Failures int
	Cost     *budget.USD    // nil: not known, and the task's is not known any more
	Move     *task.Move     // nil: its status stays
	Error    *string        // that the move leaves; nil: none
	Next     *schedule.Slot // its next fire; nil: what a move leaves of the one that it has
	Why      string         // why the next fire is when it is, where it is not simply the schedule's
}

// EndRun writes what the end of a topic changes on its task, in one statement.
func (tx *Tx) EndRun(ctx context.Context, sc access.Scope, taskID string, e RunEnd) error {
	var c columns
	c.set(`current_topic_id = nullif(current_topic_id, ?), failures = ?, cost_usd = cost_usd + ?::numeric`, optional(e.TopicID), e.Failures, e.Cost)
	if e.Move != nil {
		c.set(`error = ?`, e.Error)
		return tx.moveTask(ctx, sc, *e.Move, e.Next, e.Why, c)
	}
	c.set(`updated_at = clock_timestamp()`)
	if e.Next != nil {
		c.next(*e.Next, e.Why)
	}
	if err := tx.setTask(ctx, sc, taskID, c); err != nil {
		return fmt.Errorf("note the end of a run: %w", err)
	}
	return nil
}

// AddCost adds what was paid for a topic after it had ended to the topic and its task.
func (tx *Tx) AddCost(ctx context.Context, sc access.Scope, taskID, topicID string, cost *budget.USD) error {
	_, err := tx.exec(ctx, `update topics set cost_usd = cost_usd + ?::numeric where workspace_id = ? and id = ?`, cost, sc.Workspace(), topicID)
	if err == nil {
		_, err = tx.exec(ctx, `update tasks set cost_usd = cost_usd + ?::numeric where workspace_id = ? and id = ?`, cost, sc.Workspace(), taskID)
	}
	if err != nil {
		return fmt.Errorf("add a cost: %w", err)
	}
	return nil
}

// ClearStartAt takes a one-shot's time away.
func (tx *Tx) ClearStartAt(ctx context.Context, sc access.Scope, taskID string) error {
	_, err := tx.exec(ctx, `update tasks set start_at = null where workspace_id = ? and id = ?`, sc.Workspace(), taskID)
	if err != nil {
		return fmt.Errorf("clear a task's time: %w", err)
	}
	return nil
}

// ResetFailures starts the counts of failed ticks, of repeated handoffs and of skipped
// times anew.
func (tx *Tx) ResetFailures(ctx context.Context, sc access.Scope, taskID string) error {
	_, err := tx.exec(ctx, `update tasks set failures = 0, repeats = 0, skips = 0 where workspace_id = ? and id = ?`, sc.Workspace(), taskID)
	if err != nil {
		return fmt.Errorf("reset a task's failures: %w", err)
	}
	return nil
}

// CountRepeats notes how many runs in a row have left the handoff of the run before.
func (tx *Tx) CountRepeats(ctx context.Context, sc access.Scope, taskID string, repeats int) error {
	_, err := tx.exec(ctx, `update tasks set repeats = ? where workspace_id = ? and id = ? and repeats <> ?`,
		repeats, sc.Workspace(), taskID, repeats)
	if err != nil {
		return fmt.Errorf("count repeated handoffs: %w", err)
	}
	return nil
}

// CountSkip counts one more planned time in a row that did not run, and returns how
// many there are.
func (tx *Tx) CountSkip(ctx context.Context, sc access.Scope, taskID string) (n int, err error) {
	err = tx.db(ctx).Raw(`update tasks set skips = skips + 1 where workspace_id = ? and id = ? returning skips`, sc.Workspace(), taskID).Row().Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count a skipped time: %w", err)
	}
	return n, nil
}

// EditTask stores the parts of a task that a person may edit. Its caller holds the
// task's lock and has compared the version.
func (tx *Tx) EditTask(ctx context.Context, sc access.Scope, t task.Task) error {
	set := map[string]any{
		"name": t.Name, "description": t.Description, "instruction": t.Instruction, "priority": t.Priority,
		"labels": append(texts{}, t.Labels...), "parent_id": t.ParentID, "assignee_agent_id": t.AssigneeAgentID,
		"assignee_user_id": t.AssigneeUserID, "config": doc[task.Config]{t.Config}, "max_topics": t.MaxTopics,
		"start_at": t.StartAt, "automation": nil, "automation_mode": nil, "automation_revision": t.AutomationRevision,
		"instruction_rich": nil, "made_name": optional(t.MadeName), "repeats": 0, "skips": 0, "version": t.Version + 1,
	}
	if t.Automation != nil {
		set["automation"], set["automation_mode"] = doc[schedule.Automation]{*t.Automation}, t.Automation.Mode
	}
	if len(t.InstructionRich) > 0 {
		set["instruction_rich"] = doc[json.RawMessage]{t.InstructionRich}
	}
	now, err := tx.Now(ctx)
	if err != nil {
		return err
	}
	set["updated_at"] = now
	err = tx.db(ctx).Model(&taskRow{}).Where("workspace_id = ? and id = ?", sc.Workspace(), t.ID).Updates(set).Error
	if err != nil {
		return fmt.Errorf("edit a task: %w", err)
	}
	return tx.Emit(ctx, sc, taskEvent("task.changed", t.ID, t.Status))
}

// CountCreatedBy counts the tasks that an operation's agent created.
func (r Reader) CountCreatedBy(ctx context.Context, sc access.Scope, operationID string) (int, error) {
	var n int
	err := r.db(ctx).Raw(`select count(*) from tasks where workspace_id = ? and created_by_operation_id = ?`, sc.Workspace(), operationID).Row().Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the tasks of an operation: %w", err)
	}
	return n, nil
}

// IsWithin reports whether a task is another one, or one of its subtasks at any depth.
func (r Reader) IsWithin(ctx context.Context, sc access.Scope, taskID, ancestorID string) (bool, error) {
	var within bool
	err := r.db(ctx).Raw(`
		with recursive up as (
		  select id, parent_id from tasks where workspace_id = ? and id = ?
		  union select t.id, t.parent_id from tasks t join up on t.id = up.parent_id where t.workspace_id = ?)
		select exists (select 1 from up where id = ?)`, sc.Workspace(), taskID, sc.Workspace(), ancestorID).Row().Scan(&within)
	if err != nil {
		return false, fmt.Errorf("walk up the subtasks: %w", err)
	}
	return within, nil
}

// SetDeleted hides a task, or shows it again. The children of a hidden task become top-level.
func (tx *Tx) SetDeleted(ctx context.Context, sc access.Scope, taskID string, deleted bool) error {
	_, err := tx.exec(ctx, `
		update tasks set deleted_at = case when ? then clock_timestamp() end, version = version + 1, updated_at = clock_timestamp(),
		  next_planned_at = null, next_fire_at = null, next_why = null where workspace_id = ? and id = ?`, deleted, sc.Workspace(), taskID)
	if err == nil && deleted {
		_, err = tx.exec(ctx, `update tasks set parent_id = null where workspace_id = ? and parent_id = ?`, sc.Workspace(), taskID)
	}
	if err != nil {
		return fmt.Errorf("delete a task: %w", err)
	}
	typ := "task.changed"
	if deleted {
		typ = "task.deleted"
	}
	return tx.Emit(ctx, sc, Event{Type: typ, SubjectKind: "task", SubjectID: taskID})
}
