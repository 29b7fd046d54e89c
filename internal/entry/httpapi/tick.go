package httpapi

import (
	"context"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// Tick says "it is time", and what came of it.
type Tick struct {
	ID             string          `json:"id"`
	Task           string          `json:"task" doc:"T-12"`
	TaskID         string          `json:"taskId"`
	PlannedAt      *Time           `json:"plannedAt" nullable:"true" doc:"null: nobody planned it"`
	FireAt         Time            `json:"fireAt" doc:"plannedAt with its jitter"`
	Origin         topic.Origin    `json:"origin"`
	State          topic.TickState `json:"state" enum:"pending,queued,dispatched,ran,skipped,missed,coalesced,canceled"`
	Reason         *string         `json:"reason"`
	TopicID        *string         `json:"topicId"`
	MadeTask       *string         `json:"madeTask" doc:"The task that a template made at this time: T-13"`
	LagMS          *int64          `json:"lagMs" doc:"From fireAt to the dispatch"`
	Late           bool            `json:"late" doc:"Dispatched more than a minute after its time"`
	Count          int             `json:"count" doc:"How many times the row stands for"`
	FirstPlannedAt *Time           `json:"firstPlannedAt" nullable:"true" doc:"Of a row that stands for several times"`
	LastPlannedAt  *Time           `json:"lastPlannedAt" nullable:"true"`
	Note           *string         `json:"note"`
	Actor          Actor           `json:"actor"`
	CreatedAt      Time            `json:"createdAt"`
	EndedAt        *Time           `json:"endedAt" nullable:"true"`
}

func tickOf(names names) func(store.Tick) Tick {
	return func(t store.Tick) Tick {
		out := Tick{
			ID: t.ID, Task: names.task(t.TaskID), TaskID: t.TaskID, PlannedAt: timeOf(t.Time()), FireAt: Time{t.FireAt},
			Origin: t.Origin, State: t.State, Reason: t.Reason, TopicID: t.TopicID, Late: t.Late(), Count: t.Count,
			FirstPlannedAt: timeOf(t.FirstPlannedAt), LastPlannedAt: timeOf(t.LastPlannedAt), Note: t.Note,
			Actor: Actor{Kind: t.ActorKind, ID: deref(t.ActorID)}, CreatedAt: Time{t.CreatedAt}, EndedAt: timeOf(t.EndedAt),
		}
		if t.MadeTaskID != nil {
			out.MadeTask = new(names.task(*t.MadeTaskID))
		}
		if t.DispatchedAt != nil {
			lag := t.Lag().Milliseconds()
			out.LagMS = &lag
		}
		return out
	}
}

// TickFilter narrows a list of ticks.
type TickFilter struct {
	State  []string `query:"state" enum:"pending,queued,dispatched,ran,skipped,missed,coalesced,canceled" doc:"Any of these"`
	Reason string   `query:"reason" maxLength:"100" doc:"A word of docs/states.md"`
	From   Time     `query:"from" doc:"Those that fire at this time or later, by fireAt, the last to fire first"`
	To     Time     `query:"to" doc:"Those that fire before this time, likewise"`
}

type ticksIn struct {
	Paging
	TickFilter
	Task string `query:"task" maxLength:"100" doc:"Of this one: its id or identifier"`
}

type taskTicksIn struct {
	ByTask
	Paging
	TickFilter
}

func (s *Server) tickRoutes() {
	add(s, route{method: "GET", path: "/ticks", name: "listTicks", noun: "tasks", role: access.Viewer, does: "The tick ledger, past and future"},
		func(ctx context.Context, in *ticksIn) (*listOut[Tick], error) {
			return s.ticks(ctx, in.Task, in.TickFilter, in.Paging)
		})
	add(s, route{method: "GET", path: "/tasks/{task}/ticks", name: "listTaskTicks", noun: "tasks", role: access.Viewer, does: "The tick ledger of a task"},
		func(ctx context.Context, in *taskTicksIn) (*listOut[Tick], error) {
			return s.ticks(ctx, in.Task, in.TickFilter, in.Paging)
		})
}

func (s *Server) ticks(ctx context.Context, task string, f TickFilter, in Paging) (*listOut[Tick], error) {
	p, err := s.page(ctx, in)
	if err != nil {
		return nil, err
	}
	sc := caller(ctx).Scope
	if !f.From.IsZero() && !f.To.IsZero() && f.To.Before(f.From.Time) {
		return nil, errs.BadField("query.to", "invalid", f.To.Format(timeFormat), "The end is before the beginning.")
	}
	filter := store.TickFilter{State: f.State, Reason: f.Reason, FireFrom: f.From.Time, FireTo: f.To.Time}
	if task != "" {
		if filter.Task, err = s.Store.TaskID(ctx, sc, task); err != nil {
			return nil, err
		}
	}
	items, next, err := s.Store.Ticks(ctx, sc, filter, p)
	if err != nil {
		return nil, err
	}
	ids := each(items, func(t store.Tick) string { return t.TaskID })
	names, err := s.names(ctx, append(ids, each(items, func(t store.Tick) string { return deref(t.MadeTaskID) })...))
	if err != nil {
		return nil, err
	}
	return listed(ctx, s, items, next, tickOf(names)), nil
}
