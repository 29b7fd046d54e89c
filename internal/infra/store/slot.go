package store

import (
	"context"
	"fmt"

	"github.com/dogwatch/dogwatch/internal/domain/access"
)

// TakeSlot takes the slot of a concurrency key for a topic of this transaction. It
// reports false when another topic holds it. Slots are locked last.
func (tx *Tx) TakeSlot(ctx context.Context, sc access.Scope, key, taskID, topicID string) (bool, error) {
	n, err := tx.exec(ctx, `insert into slots (workspace_id, key, topic_id, task_id) values (?, ?, ?, ?) on conflict (workspace_id, key) do nothing`,
		sc.Workspace(), key, topicID, taskID)
	if err != nil {
		return false, fmt.Errorf("take a slot: %w", err)
	}
	return n == 1, nil
}

// FreeSlot gives a topic's slot back and returns the ticks that wait for its key,
// the oldest first.
func (tx *Tx) FreeSlot(ctx context.Context, sc access.Scope, topicID string) ([]Tick, error) {
	var keys []string
	err := tx.db(ctx).Raw(`delete from slots where workspace_id = ? and topic_id = ? returning key`, sc.Workspace(), topicID).Scan(&keys).Error
	if err != nil {
		return nil, fmt.Errorf("free a slot: %w", err)
	}
	if len(keys) == 0 {
		return nil, nil
	}
	var waiting []Tick
	err = tx.db(ctx).Raw(`
		select k.* from ticks k join tasks t on t.id = k.task_id
		where k.workspace_id = ? and k.state = 'queued' and t.config ->> 'concurrencyKey' = ? order by k.id limit 2`,
		sc.Workspace(), keys[0]).Scan(&waiting).Error
	if err != nil {
		return nil, fmt.Errorf("look for what waits for a slot: %w", err)
	}
	return waiting, nil
}
