package store

import (
	"context"
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
)

// Comment is what somebody wrote under a task.
type Comment struct {
	ID, WorkspaceID, TaskID string
	AuthorKind              access.ActorKind
	AuthorID                *string
	Content                 string
	TopicID, BriefID        *string
	ConsumedTopicID         *string // the run that took it up as feedback
	Version                 int64
	CreatedAt, UpdatedAt    time.Time
	DeletedAt               *time.Time
}

// TableName names the table for gorm.
func (Comment) TableName() string { return "task_comments" }

// Comments lists the comments of a task, the newest first.
func (r Reader) Comments(ctx context.Context, sc access.Scope, taskID string, p Page) ([]Comment, string, error) {
	q := r.db(ctx).Where("workspace_id = ? and task_id = ? and deleted_at is null", sc.Workspace(), taskID)
	if p.After != "" {
		q = q.Where("id < ?", p.After)
	}
	var out []Comment
	if err := q.Order("id desc").Limit(p.limit() + 1).Find(&out).Error; err != nil {
		return nil, "", fmt.Errorf("list comments: %w", err)
	}
	out, next := cut(out, p, func(c Comment) string { return c.ID })
	return out, next, nil
}

// Comment returns a comment that is not deleted.
func (r Reader) Comment(ctx context.Context, sc access.Scope, commentID string) (Comment, error) {
	if !id.Valid(commentID) {
		return Comment{}, errs.Missing("comment", commentID)
	}
	var c Comment
	err := r.db(ctx).Where("workspace_id = ? and id = ? and deleted_at is null", sc.Workspace(), commentID).Take(&c).Error
	return c, found(err, "comment", commentID)
}

// FreshComments returns what people wrote under a task since the last run took
// their words up, the oldest first: at most limit of the newest. What the given run
// itself took up in an earlier try is fresh to it.
func (r Reader) FreshComments(ctx context.Context, sc access.Scope, taskID, topicID string, limit int) ([]Comment, error) {
	var out []Comment
	err := r.db(ctx).Raw(`
		select * from (
		  select * from task_comments where workspace_id = ? and task_id = ? and (consumed_topic_id is null or consumed_topic_id = ?) and deleted_at is null
		    and author_kind in ('person', 'token') order by id desc limit ?) c order by id`, sc.Workspace(), taskID, topicID, limit).Scan(&out).Error
	if err != nil {
		return nil, fmt.Errorf("read fresh comments: %w", err)
	}
	return out, nil
}

// ConsumeComments notes that a run took comments up.
func (tx *Tx) ConsumeComments(ctx context.Context, sc access.Scope, topicID string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := tx.exec(ctx, `update task_comments set consumed_topic_id = ? where workspace_id = ? and id in ? and consumed_topic_id is null`,
		topicID, sc.Workspace(), ids)
	if err != nil {
		return fmt.Errorf("consume comments: %w", err)
	}
	return nil
}

// AddComment writes a comment under a task.
func (tx *Tx) AddComment(ctx context.Context, sc access.Scope, c Comment) (Comment, error) {
	now, err := tx.Clock(ctx)
	if err != nil {
		return Comment{}, err
	}
	c.ID, c.WorkspaceID, c.Content, c.Version = id.New(), sc.Workspace(), clean(c.Content), 1
	c.CreatedAt, c.UpdatedAt = now, now
	if err := tx.db(ctx).Create(&c).Error; err != nil {
		return Comment{}, fmt.Errorf("add a comment: %w", err)
	}
	return c, tx.Emit(ctx, sc, Event{Type: "task.changed", SubjectKind: "task", SubjectID: c.TaskID, Payload: map[string]any{"commentId": c.ID}})
}

// EditComment changes a comment's text, or deletes it when content is empty.
func (tx *Tx) EditComment(ctx context.Context, sc access.Scope, c Comment, content string) (Comment, error) {
	var rows []Comment
	err := tx.db(ctx).Raw(`
		update task_comments set content = case when ? = '' then content else ? end, version = version + 1, updated_at = clock_timestamp(),
		  deleted_at = case when ? = '' then clock_timestamp() end
		where workspace_id = ? and id = ? and deleted_at is null and version = ? returning *`,
		content, clean(content), content, sc.Workspace(), c.ID, c.Version).Scan(&rows).Error
	if err != nil {
		return Comment{}, fmt.Errorf("edit a comment: %w", err)
	}
	if len(rows) == 0 {
		return Comment{}, stale("comment")
	}
	return rows[0], tx.Emit(ctx, sc, Event{Type: "task.changed", SubjectKind: "task", SubjectID: c.TaskID, Payload: map[string]any{"commentId": c.ID}})
}
