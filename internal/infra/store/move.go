package store

import (
	"context"
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/task"
)

type moveRow struct {
	ID, WorkspaceID, TaskID string
	FromStatus              *string
	ToStatus                task.Status
	Reason                  string
	ActorKind               access.ActorKind
	ActorID, Note, TopicID  *string
	At                      time.Time
}

func (moveRow) TableName() string { return "task_moves" }

// Move is a change of a task's status that happened.
type Move struct {
	ID     string
	From   *string // nil for the first
	To     task.Status
	Reason string
	Actor  access.Actor
	Note   *string
	At     time.Time
}

// recordFirstMove records the status in which a task begins.
func (tx *Tx) recordFirstMove(ctx context.Context, sc access.Scope, m moveRow) error {
	now, err := tx.Now(ctx)
	if err != nil {
		return err
	}
	m.ID, m.WorkspaceID, m.At = id.New(), sc.Workspace(), now
	if err := tx.db(ctx).Create(&m).Error; err != nil {
		return fmt.Errorf("record a move: %w", err)
	}
	return nil
}

// Moves lists the changes of a task's status, the newest first.
func (r Reader) Moves(ctx context.Context, sc access.Scope, taskID string, p Page) ([]Move, string, error) {
	q := r.db(ctx).Where("workspace_id = ? and task_id = ?", sc.Workspace(), taskID)
	if p.After != "" {
		q = q.Where("id < ?", p.After)
	}
	var rows []moveRow
	if err := q.Order("id desc").Limit(p.limit() + 1).Find(&rows).Error; err != nil {
		return nil, "", fmt.Errorf("list moves: %w", err)
	}
	out := make([]Move, len(rows))
	for i, row := range rows {
		out[i] = Move{row.ID, row.FromStatus, row.ToStatus, row.Reason, actor(row.ActorKind, row.ActorID), row.Note, row.At}
	}
	out, next := cut(out, p, func(m Move) string { return m.ID })
	return out, next, nil
}
