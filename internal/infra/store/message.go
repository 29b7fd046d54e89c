package store

import (
	"context"
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/domain/turn"
)

type messageRow struct {
	ID, WorkspaceID, TopicID string
	OperationID              *string
	StepSeq                  *int
	Part                     int
	ParentID, ThreadID       *string
	GroupID, AgentID         *string
	Role                     turn.Role
	Content                  string
	Reasoning                *string
	ToolCalls                *doc[[]turn.ToolCall]
	ToolCallID               *string
	IsError                  bool
	Model                    *string
	Usage                    *doc[budget.Usage]
	Metadata                 doc[map[string]any]
	CreatedAt, UpdatedAt     time.Time
}

func (messageRow) TableName() string { return "messages" }

// Message is one message of a topic's conversation.
type Message struct {
	ID, TopicID string
	OperationID *string
	StepSeq     int // of the operation; 0 is the prompt
	Part        int // within the step
	ParentID    *string
	AgentID     *string
	turn.Message
	Reasoning string
	Model     string
	Usage     *budget.Usage
	CreatedAt time.Time
}

func (row messageRow) message() Message {
	m := Message{
		ID: row.ID, TopicID: row.TopicID, OperationID: row.OperationID, Part: row.Part, ParentID: row.ParentID, AgentID: row.AgentID,
		Message:   turn.Message{Role: row.Role, Content: row.Content, ToolCallID: orEmpty(row.ToolCallID), IsError: row.IsError},
		Reasoning: orEmpty(row.Reasoning), Model: orEmpty(row.Model), CreatedAt: row.CreatedAt,
	}
	if row.StepSeq != nil {
		m.StepSeq = *row.StepSeq
	}
	if row.ToolCalls != nil {
		m.ToolCalls = row.ToolCalls.V
	}
	if row.Usage != nil {
		m.Usage = &row.Usage.V
	}
	return m
}

// AddMessages appends messages of an operation to its topic's conversation. Each
// hangs below the one before it; the first below the topic's last.
func (tx *Tx) AddMessages(ctx context.Context, sc access.Scope, o Operation, ms []Message) error {
	if len(ms) == 0 {
		return nil
	}
	now, err := tx.Clock(ctx)
	if err != nil {
		return err
	}
	var last []string
	err = tx.db(ctx).Raw(`select id from messages where workspace_id = ? and topic_id = ? order by id desc limit 1`, sc.Workspace(), o.TopicID).Scan(&last).Error
	if err != nil {
		return fmt.Errorf("find the end of the conversation: %w", err)
	}
	var parent *string
	if len(last) > 0 {
		parent = &last[0]
	}
	rows := make([]messageRow, len(ms))
	for i, m := range ms {
		seq := m.StepSeq
		rows[i] = messageRow{
			ID: id.New(), WorkspaceID: sc.Workspace(), TopicID: o.TopicID, OperationID: &o.ID, StepSeq: &seq, Part: m.Part, ParentID: parent,
			AgentID: o.AgentID, Role: m.Role, Content: clean(m.Content), Reasoning: optional(clean(m.Reasoning)), ToolCallID: optional(m.ToolCallID),
			IsError: m.IsError, Model: optional(m.Model), Metadata: doc[map[string]any]{map[string]any{}}, CreatedAt: now, UpdatedAt: now,
		}
		if len(m.ToolCalls) > 0 {
			rows[i].ToolCalls = &doc[[]turn.ToolCall]{cleanCalls(m.ToolCalls)}
		}
		if m.Usage != nil {
			rows[i].Usage = &doc[budget.Usage]{*m.Usage}
		}
		parent = &rows[i].ID
	}
	if err := tx.db(ctx).Create(&rows).Error; err != nil {
		return fmt.Errorf("append messages: %w", err)
	}
	return nil
}

// OperationMessages returns the messages of an operation, in their order.
func (r Reader) OperationMessages(ctx context.Context, sc access.Scope, operationID string) ([]Message, error) {
	return r.messages(ctx, "step_seq, part", "workspace_id = ? and operation_id = ?", sc.Workspace(), operationID)
}

// TopicMessages returns the conversation of a topic, in its order.
func (r Reader) TopicMessages(ctx context.Context, sc access.Scope, topicID string) ([]Message, error) {
	return r.messages(ctx, "id", "workspace_id = ? and topic_id = ?", sc.Workspace(), topicID)
}

func (r Reader) messages(ctx context.Context, order, where string, args ...any) ([]Message, error) {
	var rows []messageRow
	if err := r.db(ctx).Where(where, args...).Order(order).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read messages: %w", err)
	}
	out := make([]Message, len(rows))
	for i, row := range rows {
		out[i] = row.message()
	}
	return out, nil
}

func cleanCalls(calls []turn.ToolCall) []turn.ToolCall {
	out := make([]turn.ToolCall, len(calls))
	for i, c := range calls {
		out[i] = turn.ToolCall{ID: clean(c.ID), Name: clean(c.Name), Arguments: clean(c.Arguments)}
	}
	return out
}
