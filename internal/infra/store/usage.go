package store

import (
	"context"
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/budget"
)

// UsageSum is what operations used, by something.
type UsageSum struct {
	Key        string
	Operations int64
	ModelCalls int64
	Usage      budget.Usage
	CostUSD    *budget.USD // nil: that of one of them is not known
}

// usageKeys are what usage is summed by: day in the workspace's zone, agent,
// model, task.
var usageKeys = map[string]string{
	"day":   `to_char(o.created_at at time zone w.timezone, 'YYYY-MM-DD')`,
	"agent": `coalesce(a.slug, '')`,
	"model": `o.model`,
	"task":  `t.identifier`,
}

// UsageBy sums what the operations that began in [from, to) used: the latest day
// first, else the most tokens. At most a thousand sums.
func (r Reader) UsageBy(ctx context.Context, sc access.Scope, by string, from, to time.Time) ([]UsageSum, error) {
	key, ok := usageKeys[by]
	if !ok {
		return nil, fmt.Errorf("usage is not summed by %q", by)
	}
	order := `sum(o.input_tokens + o.output_tokens) desc, key`
	if by == "day" {
		order = `key desc`
	}
	var rows []struct {
		Key                                                string
		Operations, ModelCalls                             int64
		Unknown                                            bool
		CostUSD                                            *budget.USD `gorm:"column:cost_usd"`
		InputTokens, OutputTokens                          int64
		CacheReadTokens, CacheWriteTokens, ReasoningTokens int64
	}
	err := r.db(ctx).Raw(`
		select `+key+` as key, count(*) as operations, sum(o.model_calls) as model_calls,
		  bool_or(o.cost_usd is null) as unknown, sum(o.cost_usd) as cost_usd,
		  sum(o.input_tokens) as input_tokens, sum(o.output_tokens) as output_tokens, sum(o.cache_read_tokens) as cache_read_tokens,
		  sum(o.cache_write_tokens) as cache_write_tokens, sum(o.reasoning_tokens) as reasoning_tokens
		from operations o
		join workspaces w on w.id = o.workspace_id
		join tasks t on t.id = o.task_id
		left join agents a on a.id = o.agent_id
		where o.workspace_id = ? and o.created_at >= ? and o.created_at < ?
		group by 1 order by `+order+` limit 1000`, sc.Workspace(), from, to).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("sum the usage: %w", err)
	}
	out := make([]UsageSum, len(rows))
	for i, r := range rows {
		out[i] = UsageSum{r.Key, r.Operations, r.ModelCalls, budget.Usage{
			InputTokens: r.InputTokens, OutputTokens: r.OutputTokens, CacheReadTokens: r.CacheReadTokens,
			CacheWriteTokens: r.CacheWriteTokens, ReasoningTokens: r.ReasoningTokens,
		}, r.CostUSD}
		if r.Unknown {
			out[i].CostUSD = nil
		}
	}
	return out, nil
}
