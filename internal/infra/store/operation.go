package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
)

type operationRow struct {
	ID, WorkspaceID, TaskID, TopicID string
	ParentOperationID                *string
	AgentID, AgentRevisionID         *string
	Try                              int
	Status                           operation.Status
	CompletionReason                 *operation.Reason
	ReasonDetail, Error              *string
	Model                            string
	Limits                           doc[operation.Limits]
	State                            doc[json.RawMessage]
	Wishes                           doc[operation.Wishes]
	StepCount                        int
	ModelCalls, ToolCalls            int
	InputTokens, OutputTokens        int64
	CacheReadTokens                  int64
	CacheWriteTokens                 int64
	ReasoningTokens                  int64
	CostUSD                          *budget.USD `gorm:"column:cost_usd"`
	InterruptAt                      *time.Time
	InterruptDetail                  *string
	DeadlineAt, BeginAt              *time.Time
	CreatedAt                        time.Time
	StartedAt, LastStepAt            *time.Time
	CompletedAt                      *time.Time
}

func (operationRow) TableName() string { return "operations" }

// Operation is one execution of an agent.
type Operation struct {
	ID, WorkspaceID, TaskID, TopicID string
	ParentOperationID                *string
	AgentID, AgentRevisionID         *string
	Try                              int
	Status                           operation.Status
	Reason                           operation.Reason // "" while it goes on
	Detail                           string
	Error                            *string
	Model                            string
	Limits                           operation.Limits
	State                            json.RawMessage // the brain's checkpoint
	Wishes                           operation.Wishes
	Steps, ModelCalls, ToolCalls     int
	Usage                            budget.Usage
	CostUSD                          *budget.USD
	InterruptAt                      *time.Time
	InterruptDetail                  string
	DeadlineAt                       *time.Time // of the next committed step; nil: none
	BeginAt                          *time.Time // of a further try: not before; nil: at once
	CreatedAt                        time.Time
	StartedAt, LastStepAt            *time.Time
	CompletedAt                      *time.Time
}

func (row operationRow) operation() Operation {
	o := Operation{
		ID: row.ID, WorkspaceID: row.WorkspaceID, TaskID: row.TaskID, TopicID: row.TopicID, ParentOperationID: row.ParentOperationID,
		AgentID: row.AgentID, AgentRevisionID: row.AgentRevisionID, Try: row.Try, Status: row.Status,
		Detail: orEmpty(row.ReasonDetail), Error: row.Error, Model: row.Model, Limits: row.Limits.V, State: row.State.V,
		Wishes: row.Wishes.V, Steps: row.StepCount, ModelCalls: row.ModelCalls, ToolCalls: row.ToolCalls,
		Usage:   budget.Usage{InputTokens: row.InputTokens, OutputTokens: row.OutputTokens, CacheReadTokens: row.CacheReadTokens, CacheWriteTokens: row.CacheWriteTokens, ReasoningTokens: row.ReasoningTokens},
		CostUSD: row.CostUSD, InterruptAt: row.InterruptAt, InterruptDetail: orEmpty(row.InterruptDetail), DeadlineAt: row.DeadlineAt, BeginAt: row.BeginAt,
		CreatedAt: row.CreatedAt, StartedAt: row.StartedAt, LastStepAt: row.LastStepAt, CompletedAt: row.CompletedAt,
	}
	if row.CompletionReason != nil {
		o.Reason = *row.CompletionReason
	}
	return o
}

// Used returns what the operation has used, at a moment.
func (o Operation) Used(at time.Time) operation.Usage {
	u := operation.Usage{Steps: o.Steps, Tokens: o.Usage, CostUSD: o.CostUSD}
	if o.StartedAt != nil {
		u.Elapsed = at.Sub(*o.StartedAt)
	}
	return u
}

// Operation returns an operation.
func (r Reader) Operation(ctx context.Context, sc access.Scope, operationID string) (Operation, error) {
	if !id.Valid(operationID) {
		return Operation{}, errs.Missing("operation", operationID)
	}
	var row operationRow
	err := r.db(ctx).Where("workspace_id = ? and id = ?", sc.Workspace(), operationID).Take(&row).Error
	return row.operation(), found(err, "operation", operationID)
}

// LockOperation returns an operation and holds it; its task is locked before it.
func (tx *Tx) LockOperation(ctx context.Context, sc access.Scope, operationID string) (Operation, error) {
	var rows []operationRow
	err := tx.db(ctx).Raw(`select * from operations where workspace_id = ? and id = ? for no key update`, sc.Workspace(), operationID).Scan(&rows).Error
	if err != nil {
		return Operation{}, fmt.Errorf("lock an operation: %w", err)
	}
	if len(rows) == 0 {
		return Operation{}, errs.Missing("operation", operationID)
	}
	return rows[0].operation(), nil
}

// TopicOperations returns the operations of a topic, in their order: the last one counts.
func (r Reader) TopicOperations(ctx context.Context, sc access.Scope, topicID string) ([]Operation, error) {
	return r.operationsOf(ctx, sc, []string{topicID})
}

// OperationsOfTopics returns the operations of several topics, by topic and try.
func (r Reader) OperationsOfTopics(ctx context.Context, sc access.Scope, topicIDs []string) ([]Operation, error) {
	if len(topicIDs) == 0 {
		return nil, nil
	}
	return r.operationsOf(ctx, sc, topicIDs)
}

func (r Reader) operationsOf(ctx context.Context, sc access.Scope, topicIDs []string) ([]Operation, error) {
	var rows []operationRow
	err := r.db(ctx).Where("workspace_id = ? and topic_id in ?", sc.Workspace(), topicIDs).Order("topic_id, try").Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read the operations of a topic: %w", err)
	}
	out := make([]Operation, len(rows))
	for i, row := range rows {
		out[i] = row.operation()
	}
	return out, nil
}

// OperationFilter narrows a list of operations. Empty fields do not.
type OperationFilter struct {
	Status, Agent, Task, Parent string
}

// Operations lists operations, the newest first.
func (r Reader) Operations(ctx context.Context, sc access.Scope, f OperationFilter, p Page) ([]Operation, string, error) {
	q := r.db(ctx).Where("workspace_id = ?", sc.Workspace())
	for column, v := range map[string]string{"status": f.Status, "agent_id": f.Agent, "task_id": f.Task, "parent_operation_id": f.Parent} {
		if v != "" {
			q = q.Where(column+" = ?", v)
		}
	}
	if p.After != "" {
		q = q.Where("id < ?", p.After)
	}
	var rows []operationRow
	if err := q.Order("id desc").Limit(p.limit() + 1).Find(&rows).Error; err != nil {
		return nil, "", fmt.Errorf("list operations: %w", err)
	}
	out := make([]Operation, len(rows))
	for i, row := range rows {
		out[i] = row.operation()
	}
	out, next := cut(out, p, func(o Operation) string { return o.ID })
	return out, next, nil
}

// CreateOperation writes down an operation that is to begin.
func (tx *Tx) CreateOperation(ctx context.Context, sc access.Scope, o Operation) error {
	now, err := tx.Now(ctx)
	if err != nil {
		return err
	}
	begins := now
	if o.BeginAt != nil {
		begins = *o.BeginAt
	}
	row := operationRow{
		ID: o.ID, WorkspaceID: sc.Workspace(), TaskID: o.TaskID, TopicID: o.TopicID, ParentOperationID: o.ParentOperationID,
		AgentID: o.AgentID, AgentRevisionID: o.AgentRevisionID, Try: o.Try, Status: operation.Idle, Model: o.Model,
		Limits: doc[operation.Limits]{o.Limits}, DeadlineAt: deadline(o.Limits, begins), BeginAt: o.BeginAt, State: doc[json.RawMessage]{json.RawMessage("{}")}, CostUSD: new(budget.USD), CreatedAt: now,
	}
	if err := tx.db(ctx).Create(&row).Error; err != nil {
		return fmt.Errorf("write down an operation: %w", err)
	}
	return tx.Emit(ctx, sc, operationEvent(o.ID, o.TaskID, o.TopicID, operation.Idle))
}

// deadline is when an operation without a committed step is stalled; nil: never.
func deadline(l operation.Limits, now time.Time) *time.Time {
	if l.SilenceSeconds <= 0 {
		return nil
	}
	at := now.Add(time.Duration(l.SilenceSeconds) * time.Second)
	return &at
}

// StalledOperations returns operations of all workspaces that have committed no
// step for as long as they may.
func (r Reader) StalledOperations(ctx context.Context, limit int) ([]Operation, error) {
	var rows []operationRow
	err := r.db(ctx).Raw(`select * from operations where status in ('idle', 'running') and deadline_at < (select clock_timestamp()) order by deadline_at limit ?`, limit).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("look for stalled operations: %w", err)
	}
	out := make([]Operation, len(rows))
	for i, row := range rows {
		out[i] = row.operation()
	}
	return out, nil
}

// BeginOperation notes that the first step of an operation begins: its clock runs
// from before the first model call, not from the first answer. The job c does it.
func (tx *Tx) BeginOperation(ctx context.Context, sc access.Scope, c job.Claim) (Operation, error) {
	o, err := tx.LockOperation(ctx, sc, c.IDs.Operation)
	if err != nil || o.Status != operation.Idle {
		return o, err
	}
	if err := tx.HoldJob(ctx, c); err != nil {
		return o, err
	}
	_, err = tx.exec(ctx, `update operations set status = 'running', started_at = clock_timestamp() where workspace_id = ? and id = ?`, sc.Workspace(), o.ID)
	if err != nil {
		return o, fmt.Errorf("begin an operation: %w", err)
	}
	if err := tx.Emit(ctx, sc, operationEvent(o.ID, o.TaskID, o.TopicID, operation.Running)); err != nil {
		return o, err
	}
	return tx.Operation(ctx, sc, o.ID)
}

// Progress is what a step changes on its operation.
type Progress struct {
	Steps, ModelCalls, ToolCalls int // added
	Usage                        budget.Usage
	Cost                         *budget.USD // added; nil makes the sum not known
	State                        json.RawMessage
}

// Advance writes what a step changed, on an operation that is still working. The
// caller holds the operation's lock.
func (tx *Tx) Advance(ctx context.Context, sc access.Scope, operationID string, p Progress) error {
	n, err := tx.exec(ctx, `
		update operations set status = 'running', state = ?::jsonb, step_count = step_count + ?, model_calls = model_calls + ?, tool_calls = tool_calls + ?,
		  input_tokens = input_tokens + ?, output_tokens = output_tokens + ?, cache_read_tokens = cache_read_tokens + ?,
		  cache_write_tokens = cache_write_tokens + ?, reasoning_tokens = reasoning_tokens + ?, cost_usd = cost_usd + ?::numeric,
		  started_at = coalesce(started_at, clock_timestamp()), last_step_at = clock_timestamp(),
		  deadline_at = clock_timestamp() + (limits ->> 'silenceSeconds')::int * interval '1 second'
		where workspace_id = ? and id = ? and status in ('idle', 'running')`,
		string(p.State), p.Steps, p.ModelCalls, p.ToolCalls, p.Usage.InputTokens, p.Usage.OutputTokens, p.Usage.CacheReadTokens,
		p.Usage.CacheWriteTokens, p.Usage.ReasoningTokens, p.Cost, sc.Workspace(), operationID)
	if err != nil {
		return fmt.Errorf("advance an operation: %w", err)
	}
	if n == 0 {
		return errs.New(errs.Conflict, "conflict", "The operation is not working.")
	}
	return nil
}

// SetWishes stores what an agent asks for its own task.
func (tx *Tx) SetWishes(ctx context.Context, sc access.Scope, operationID string, w operation.Wishes) error {
	_, err := tx.exec(ctx, `update operations set wishes = ? where workspace_id = ? and id = ?`, doc[operation.Wishes]{w}, sc.Workspace(), operationID)
	if err != nil {
		return fmt.Errorf("note a wish: %w", err)
	}
	return nil
}

// EndOperation ends an operation that goes on or waits. It reports false when it
// had ended before: the first end counts.
func (tx *Tx) EndOperation(ctx context.Context, sc access.Scope, o Operation, reason operation.Reason, detail, text string) (bool, error) {
	n, err := tx.exec(ctx, `
		update operations set status = ?, completion_reason = ?, reason_detail = ?, error = ?, completed_at = clock_timestamp()
		where workspace_id = ? and id = ? and status not in ('done', 'error', 'interrupted')`,
		reason.Status(), reason, optional(detail), optional(clean(text)), sc.Workspace(), o.ID)
	if err != nil {
		return false, fmt.Errorf("end an operation: %w", err)
	}
	if n == 0 {
		return false, nil
	}
	return true, tx.Emit(ctx, sc, operationEvent(o.ID, o.TaskID, o.TopicID, reason.Status()))
}

func operationEvent(operationID, taskID, topicID string, s operation.Status) Event {
	return Event{Type: "operation.changed", SubjectKind: "operation", SubjectID: operationID,
		Payload: map[string]any{"taskId": taskID, "topicId": topicID, "status": s}}
}
