package store

import (
	"context"
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/domain/turn"
)

// Step is one committed step of an operation.
type Step struct {
	WorkspaceID, OperationID  string
	Seq                       int
	Kind                      string // model, tools, finish
	Model, StopReason         *string
	InputTokens, OutputTokens int64
	CacheReadTokens           int64
	CacheWriteTokens          int64
	ReasoningTokens           int64
	Estimated                 bool
	CostUSD                   *budget.USD `gorm:"column:cost_usd"`
	Error                     *string
	JobID                     int64
	Token                     int
	StartedAt, CompletedAt    time.Time
}

// TableName names the table for gorm.
func (Step) TableName() string { return "steps" }

// SetUsage copies a model call's usage into the step.
func (s *Step) SetUsage(u budget.Usage) {
	s.InputTokens, s.OutputTokens, s.ReasoningTokens = u.InputTokens, u.OutputTokens, u.ReasoningTokens
	s.CacheReadTokens, s.CacheWriteTokens = u.CacheReadTokens, u.CacheWriteTokens
}

// AddStep writes down a step with the job that made it.
func (tx *Tx) AddStep(ctx context.Context, sc access.Scope, o Operation, s Step, c job.Claim) error {
	now, err := tx.Clock(ctx)
	if err != nil {
		return err
	}
	s.WorkspaceID, s.OperationID, s.JobID, s.Token, s.CompletedAt = sc.Workspace(), o.ID, c.ID, c.Token, now
	if err := tx.db(ctx).Create(&s).Error; err != nil {
		return fmt.Errorf("write down step %d: %w", s.Seq, err)
	}
	return tx.Emit(ctx, sc, Event{Type: "step.added", SubjectKind: "operation", SubjectID: o.ID,
		Payload: map[string]any{"taskId": o.TaskID, "topicId": o.TopicID, "seq": s.Seq, "kind": s.Kind}})
}

// Steps returns the steps of an operation, in their order.
func (r Reader) Steps(ctx context.Context, sc access.Scope, operationID string) ([]Step, error) {
	var out []Step
	err := r.db(ctx).Where("workspace_id = ? and operation_id = ?", sc.Workspace(), operationID).Order("seq").Find(&out).Error
	if err != nil {
		return nil, fmt.Errorf("read steps: %w", err)
	}
	return out, nil
}

// ToolCall is one call of a tool: started before it is made, finished after.
type ToolCall struct {
	ID, WorkspaceID, OperationID string
	StepSeq, Position            int
	CallID, Name, Arguments      string
	Digest                       *string // what makes it equal to another; nil: it is not counted
	State                        string  // started, finished, outcome_unknown
	Result                       *string
	IsError                      bool
	StartedAt                    time.Time
	FinishedAt                   *time.Time
}

// TableName names the table for gorm.
func (ToolCall) TableName() string { return "tool_calls" }

// ToolCalls returns the tool calls of an operation in their order; of one step
// when stepSeq is not 0.
func (r Reader) ToolCalls(ctx context.Context, sc access.Scope, operationID string, stepSeq int) ([]ToolCall, error) {
	q := r.db(ctx).Where("workspace_id = ? and operation_id = ?", sc.Workspace(), operationID)
	if stepSeq != 0 {
		q = q.Where("step_seq = ?", stepSeq)
	}
	var out []ToolCall
	if err := q.Order("step_seq, position").Find(&out).Error; err != nil {
		return nil, fmt.Errorf("read tool calls: %w", err)
	}
	return out, nil
}

// EqualCalls counts the calls of an operation that came before one and are equal to
// it.
func (r Reader) EqualCalls(ctx context.Context, sc access.Scope, c ToolCall) (turn.Made, error) {
	var made turn.Made
	if c.Digest == nil {
		return made, nil
	}
	err := r.db(ctx).Raw(`
		select count(*) as equal, count(*) filter (where is_error) as failed from tool_calls
		where workspace_id = ? and operation_id = ? and digest = ? and (step_seq, position) < (?, ?)`,
		sc.Workspace(), c.OperationID, *c.Digest, c.StepSeq, c.Position).Scan(&made).Error
	if err != nil {
		return made, fmt.Errorf("count equal tool calls: %w", err)
	}
	return made, nil
}

// StartToolCall writes down that a call is about to be made.
func (tx *Tx) StartToolCall(ctx context.Context, sc access.Scope, c ToolCall) error {
	now, err := tx.Clock(ctx)
	if err != nil {
		return err
	}
	c.ID, c.WorkspaceID, c.State, c.StartedAt = id.New(), sc.Workspace(), "started", now
	c.CallID, c.Name, c.Arguments = clean(c.CallID), clean(c.Name), clean(c.Arguments)
	if err := tx.db(ctx).Create(&c).Error; err != nil {
		return fmt.Errorf("start a tool call: %w", err)
	}
	return nil
}

// FinishToolCall writes down what a call answered.
func (tx *Tx) FinishToolCall(ctx context.Context, sc access.Scope, c ToolCall, result string, isError bool) error {
	result = clean(result)
	return tx.endToolCall(ctx, sc, c, "finished", &result, isError)
}

// LoseToolCall writes down that nobody knows what came of a call.
func (tx *Tx) LoseToolCall(ctx context.Context, sc access.Scope, c ToolCall) error {
	return tx.endToolCall(ctx, sc, c, "outcome_unknown", nil, true)
}

func (tx *Tx) endToolCall(ctx context.Context, sc access.Scope, c ToolCall, state string, result *string, isError bool) error {
	n, err := tx.exec(ctx, `
		update tool_calls set state = ?, result = ?, is_error = ?, finished_at = clock_timestamp()
		where workspace_id = ? and operation_id = ? and step_seq = ? and position = ? and state = 'started'`,
		state, result, isError, sc.Workspace(), c.OperationID, c.StepSeq, c.Position)
	if err != nil {
		return fmt.Errorf("finish a tool call: %w", err)
	}
	if n == 0 {
		return errs.New(errs.Conflict, "conflict", "The tool call was finished before.")
	}
	return nil
}
