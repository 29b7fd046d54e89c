package store

import (
	"context"
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/domain/handoff"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
)

type topicRow struct {
	ID, WorkspaceID, TaskID, TickID string
	Seq                             int
	Origin                          topic.Origin
	Status                          topic.Status
	Reason                          *operation.Reason
	ReasonDetail, Error             *string
	Title                           string
	ContinuesTopicID                *string
	Handoff                         *doc[handoff.Handoff]
	HandoffSource                   *string
	HandoffAt                       *time.Time
	FinalText                       *string
	CostUSD                         *budget.USD `gorm:"column:cost_usd"`
	StartedAt                       time.Time
	CompletedAt                     *time.Time
}

func (topicRow) TableName() string { return "topics" }

func (row topicRow) topic() topic.Topic {
	t := topic.Topic{
		ID: row.ID, WorkspaceID: row.WorkspaceID, TaskID: row.TaskID, TickID: row.TickID, Seq: row.Seq, Origin: row.Origin,
		Status: row.Status, ReasonDetail: orEmpty(row.ReasonDetail), Error: row.Error, Title: row.Title,
		ContinuesTopicID: row.ContinuesTopicID, HandoffSource: orEmpty(row.HandoffSource), FinalText: row.FinalText,
		CostUSD: row.CostUSD, StartedAt: row.StartedAt, CompletedAt: row.CompletedAt,
	}
	if row.Reason != nil {
		t.Reason = *row.Reason
	}
	if row.Handoff != nil {
		t.Handoff = &row.Handoff.V
	}
	return t
}

// Topic returns a topic.
func (r Reader) Topic(ctx context.Context, sc access.Scope, topicID string) (topic.Topic, error) {
	if !id.Valid(topicID) {
		return topic.Topic{}, errs.Missing("topic", topicID)
	}
	var row topicRow
	err := r.db(ctx).Where("workspace_id = ? and id = ?", sc.Workspace(), topicID).Take(&row).Error
	return row.topic(), found(err, "topic", topicID)
}

// RunningTopic returns the task's open run, if one is open.
func (r Reader) RunningTopic(ctx context.Context, sc access.Scope, taskID string) (*topic.Topic, error) {
	var rows []topicRow
	err := r.db(ctx).Where("workspace_id = ? and task_id = ? and status = 'running'", sc.Workspace(), taskID).Limit(1).Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("look for an open topic: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	t := rows[0].topic()
	return &t, nil
}

// Topics lists the topics of a task, the newest first.
func (r Reader) Topics(ctx context.Context, sc access.Scope, taskID string, p Page) ([]topic.Topic, string, error) {
	return r.topics(ctx, p, "workspace_id = ? and task_id = ?", sc.Workspace(), taskID)
}

// RecentTopics lists the topics of the workspace, the newest first.
func (r Reader) RecentTopics(ctx context.Context, sc access.Scope, p Page) ([]topic.Topic, string, error) {
	return r.topics(ctx, p, "workspace_id = ?", sc.Workspace())
}

func (r Reader) topics(ctx context.Context, p Page, where string, args ...any) ([]topic.Topic, string, error) {
	q := r.db(ctx).Where(where, args...)
	if p.After != "" {
		q = q.Where("id < ?", p.After)
	}
	var rows []topicRow
	if err := q.Order("id desc").Limit(p.limit() + 1).Find(&rows).Error; err != nil {
		return nil, "", fmt.Errorf("list topics: %w", err)
	}
	out := make([]topic.Topic, len(rows))
	for i, row := range rows {
		out[i] = row.topic()
	}
	out, next := cut(out, p, func(t topic.Topic) string { return t.ID })
	return out, next, nil
}

// LastHandoffs returns the last n topics of a task that have a handoff, the oldest
// first, without the one that is given.
func (r Reader) LastHandoffs(ctx context.Context, sc access.Scope, taskID, withoutTopicID string, n int) ([]topic.Topic, error) {
	var rows []topicRow
	err := r.db(ctx).Where("workspace_id = ? and task_id = ? and id <> ? and handoff is not null", sc.Workspace(), taskID, withoutTopicID).
		Order("seq desc").Limit(n).Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read the last handoffs: %w", err)
	}
	out := make([]topic.Topic, len(rows))
	for i, row := range rows {
		out[len(rows)-1-i] = row.topic()
	}
	return out, nil
}

// OpenTopic opens a topic for a tick that is handled by it, in one statement. The
// tick must still wait.
func (tx *Tx) OpenTopic(ctx context.Context, sc access.Scope, t topic.Topic) error {
	n, err := tx.exec(ctx, `
		with opened as (
		  insert into topics (id, workspace_id, task_id, tick_id, seq, origin, status, title, continues_topic_id, started_at)
		  values (?, ?, ?, ?, ?, ?, 'running', ?, ?, clock_timestamp()) returning id, workspace_id, tick_id)
		update ticks k set state = 'dispatched', topic_id = opened.id, dispatched_at = clock_timestamp(), reason = null
		from opened where k.workspace_id = opened.workspace_id and k.id = opened.tick_id and k.state in ('pending', 'queued')`,
		t.ID, sc.Workspace(), t.TaskID, t.TickID, t.Seq, t.Origin, t.Title, t.ContinuesTopicID)
	if violates(err, "topics_one_open") {
		return errs.New(errs.Conflict, "in_flight", "A run of the task is open.")
	}
	if err != nil {
		return fmt.Errorf("open a topic: %w", err)
	}
	if n == 0 {
		return errs.New(errs.Conflict, "conflict", "The tick was handled meanwhile.")
	}
	tx.countTicks(topic.TickDispatched, "", 1)
	return tx.Emit(ctx, sc, topicEvent("topic.opened", t.ID, t.TaskID, topic.Running), tickEvent(t.TickID))
}

// TopicEnd is what the end of a topic writes.
type TopicEnd struct {
	TopicID, TaskID      string
	Status               topic.Status
	Reason               operation.Reason
	Detail, Error, Final string
	Cost                 *budget.USD
}

// EndTopic ends a topic that is open. A second end finds nothing to end.
func (tx *Tx) EndTopic(ctx context.Context, sc access.Scope, e TopicEnd) error {
	n, err := tx.exec(ctx, `
		update topics set status = ?, reason = ?, reason_detail = ?, error = ?, final_text = ?, cost_usd = ?, completed_at = clock_timestamp()
		where workspace_id = ? and id = ? and status = 'running'`,
		e.Status, e.Reason, optional(e.Detail), optional(clean(e.Error)), optional(clean(e.Final)), e.Cost, sc.Workspace(), e.TopicID)
	if err != nil {
		return fmt.Errorf("end a topic: %w", err)
	}
	if n == 0 {
		return errs.New(errs.Conflict, "conflict", "The run has ended already.")
	}
	return tx.Emit(ctx, sc, topicEvent("topic.ended", e.TopicID, e.TaskID, e.Status))
}

// SetHandoff writes what a topic leaves for the next. The first one stays; it
// reports whether this was the first.
func (tx *Tx) SetHandoff(ctx context.Context, sc access.Scope, t topic.Topic, h handoff.Handoff, source string) (bool, error) {
	n, err := tx.exec(ctx, `
		update topics set handoff = ?, handoff_source = ?, handoff_at = clock_timestamp(), title = ?
		where workspace_id = ? and id = ? and handoff is null and status <> 'running'`,
		doc[handoff.Handoff]{h}, source, h.Title, sc.Workspace(), t.ID)
	if err != nil {
		return false, fmt.Errorf("write a handoff: %w", err)
	}
	if n == 0 {
		return false, nil
	}
	return true, tx.Emit(ctx, sc, topicEvent("topic.changed", t.ID, t.TaskID, t.Status))
}

func topicEvent(typ, topicID, taskID string, s topic.Status) Event {
	return Event{Type: typ, SubjectKind: "topic", SubjectID: topicID, Payload: map[string]any{"taskId": taskID, "status": s}}
}
