package httpapi

import (
	"context"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// Backfill is how far the making up for planned times is.
type Backfill struct {
	From        Time    `json:"from"`
	To          Time    `json:"to"`
	OnlyMissing bool    `json:"onlyMissing"`
	Planned     int     `json:"planned" doc:"How many times it makes up for"`
	Done        int     `json:"done" doc:"How many of them are through"`
	Next        *Time   `json:"next" nullable:"true" doc:"The planned time that is under way, or comes next"`
	WaitsFor    *string `json:"waitsFor" doc:"The reason that holds it up at present"`
	CreatedAt   Time    `json:"createdAt"`
}

func backfillOf(b *store.Backfill) *Backfill {
	if b == nil {
		return nil
	}
	out := &Backfill{
		From: Time{b.From}, To: Time{b.To}, OnlyMissing: b.OnlyMissing, Planned: len(b.Times), Done: b.Done,
		WaitsFor: textOrNull(b.Reason), CreatedAt: Time{b.CreatedAt},
	}
	if b.Done < len(b.Times) {
		out.Next = &Time{b.Times[b.Done]}
	}
	return out
}

// BackfillPlan says what will be made up for.
type BackfillPlan struct {
	Planned           int    `json:"planned" doc:"How many times will run"`
	SkippedAlreadyRan int    `json:"skippedAlreadyRan" doc:"How many times of the range have run, or are about to"`
	AlreadyRan        []Time `json:"alreadyRan" doc:"The first hundred of them"`
	SkippedRefused    int    `json:"skippedRefused" doc:"How many times the schedule itself refuses: its bounds, dates, days and hours"`
	First             *Time  `json:"first" nullable:"true"`
	Last              *Time  `json:"last" nullable:"true"`
	More              bool   `json:"more" doc:"The range has more times than max"`
}

type backfillIn struct {
	ByTask
	Body struct {
		From        Time  `json:"from" doc:"The range includes both its ends"`
		To          *Time `json:"to,omitempty" doc:"Default, and at most: now"`
		Max         int   `json:"max,omitempty" minimum:"1" maximum:"100" doc:"The oldest so many; 25 by default"`
		OnlyMissing *bool `json:"onlyMissing,omitempty" doc:"Only times that did not run; true by default"`
	}
}

type backfillOut struct{ Body BackfillPlan }

func (s *Server) backfillRoutes() {
	add(s, route{method: "POST", path: "/tasks/{task}/backfill", name: "backfillTask", noun: "tasks", role: access.Operator, status: 202, once: true,
		does: "Make up for planned times that did not run: the oldest first, one at a time, after the schedule's own"}, s.backfill)
	add(s, route{method: "DELETE", path: "/tasks/{task}/backfill", name: "cancelBackfill", noun: "tasks", role: access.Operator,
		does: "Let the times go that are still to be made up for; an open run goes on to its end"},
		func(ctx context.Context, in *ByTask) (*struct{}, error) {
			return nil, s.Steer.CancelBackfill(ctx, caller(ctx), in.Task)
		})
}

func (s *Server) backfill(ctx context.Context, in *backfillIn) (*backfillOut, error) {
	ask := steer.BackfillAsk{From: in.Body.From.Time, To: in.Body.To.std(), Max: in.Body.Max}
	ask.All = in.Body.OnlyMissing != nil && !*in.Body.OnlyMissing
	p, err := s.Steer.Backfill(ctx, caller(ctx), in.Task, ask)
	if err != nil {
		return nil, err
	}
	out := BackfillPlan{
		Planned: len(p.Times), SkippedAlreadyRan: len(p.AlreadyRan), SkippedRefused: p.Refused, More: p.More,
		AlreadyRan: each(p.AlreadyRan[:min(len(p.AlreadyRan), 100)], func(t time.Time) Time { return Time{t} }),
	}
	if n := len(p.Times); n > 0 {
		out.First, out.Last = &Time{p.Times[0]}, &Time{p.Times[n-1]}
	}
	return &backfillOut{out}, nil
}
