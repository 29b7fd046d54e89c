package store

import (
	"context"
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/budget"
)

// Used is what a task's operations used in a span of time.
type Used struct {
	CostUSD *budget.USD `gorm:"column:cost_usd"` // nil: of some it is not known
	Tokens  int64
	Seconds int
}

// UsedSince sums what a task's operations that began after a moment have used.
func (r Reader) UsedSince(ctx context.Context, sc access.Scope, taskID string, from time.Time) (Used, error) {
	var u Used
	err := r.db(ctx).Raw(`
		select case when bool_or(cost_usd is null) then null else coalesce(sum(cost_usd), 0) end as cost_usd,
		  coalesce(sum(input_tokens + output_tokens), 0) as tokens,
		  coalesce(sum(extract(epoch from coalesce(completed_at, clock_timestamp()) - started_at)), 0)::int as seconds
		from operations where workspace_id = ? and task_id = ? and created_at >= ?`, sc.Workspace(), taskID, from).Scan(&u).Error
	if err != nil {
		return Used{}, fmt.Errorf("sum what a task used: %w", err)
	}
	return u, nil
}
