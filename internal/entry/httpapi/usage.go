package httpapi

import (
	"context"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// Usage is what model calls used.
type Usage struct {
	InputTokens      int64 `json:"inputTokens"`
	OutputTokens     int64 `json:"outputTokens"`
	CacheReadTokens  int64 `json:"cacheReadTokens"`
	CacheWriteTokens int64 `json:"cacheWriteTokens"`
	ReasoningTokens  int64 `json:"reasoningTokens"`
}

func usageOf(u budget.Usage) Usage {
	return Usage{u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheWriteTokens, u.ReasoningTokens}
}

// UsageSum is what was used by one day, agent, model or task.
type UsageSum struct {
	Key        string      `json:"key" doc:"2026-01-31, the agent's slug, provider/model or T-12; empty for an agent that is gone"`
	Operations int64       `json:"operations"`
	ModelCalls int64       `json:"modelCalls"`
	Usage      Usage       `json:"usage"`
	CostUSD    *budget.USD `json:"costUsd" nullable:"true" doc:"null: not all of it is known"`
}

type usageIn struct {
	By   string `query:"by" enum:"day,agent,model,task" default:"day" doc:"What a sum is of"`
	From Time   `query:"from" doc:"Default: 30 days before to"`
	To   Time   `query:"to" doc:"Default: now"`
}

func (s *Server) usageRoutes() {
	add(s, route{method: "GET", path: "/usage", name: "getUsage", noun: "usage", role: access.Viewer, does: "What operations used, by day, agent, model or task"},
		func(ctx context.Context, in *usageIn) (*listOut[UsageSum], error) {
			now, err := s.Store.Clock(ctx)
			if err != nil {
				return nil, err
			}
			if in.To.IsZero() {
				in.To.Time = now
			}
			if in.From.IsZero() {
				in.From.Time = in.To.AddDate(0, 0, -30)
			}
			if in.To.Before(in.From.Time) {
				return nil, errs.BadField("query.to", "invalid", in.To.Format(timeFormat), "The end is before the beginning.")
			}
			sums, err := s.Store.UsageBy(ctx, caller(ctx).Scope, in.By, in.From.Time, in.To.Time)
			return whole(sums, func(u store.UsageSum) UsageSum {
				return UsageSum{u.Key, u.Operations, u.ModelCalls, usageOf(u.Usage), u.CostUSD}
			}), err
		})
}
