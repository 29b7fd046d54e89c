// Package tick finds what is due and posts it once, and keeps the house in order:
// it proves the invariants and repairs what breaks them.
package tick

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/base/killpoint"
	"github.com/dogwatch/dogwatch/internal/base/outage"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/brief"
	"github.com/dogwatch/dogwatch/internal/domain/handoff"
	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// batch is how many due tasks one transaction accounts for: few enough that its
// locks are held for milliseconds, enough that ten thousand are done in seconds.
const batch = 200

// Sweeper accounts for planned times as they come. Any number of replicas sweep
// at once: a task that one holds is left to it.
type Sweeper struct {
	store *store.Store
	log   *slog.Logger
}

// New returns a sweeper.
func New(s *store.Store, log *slog.Logger) *Sweeper { return &Sweeper{s, log} }

// gather is how long after a sweep that found something the next one comes: what
// becomes due meanwhile is written together. Nobody can tell a tenth of a second,
// and a sweep for each of many ticks would cost more than they do.
const gather = 100 * time.Millisecond

// Run sweeps until ctx ends: at least every interval, and at the moment when the
// next task is due.
func (s *Sweeper) Run(ctx context.Context, interval time.Duration) {
	sweeps, stalled := outage.New(s.log, "sweep"), outage.New(s.log, "end what stalled")
	for ctx.Err() == nil {
		wait, least := interval, time.Duration(0)
		n, err := s.Sweep(ctx)
		sweeps.Note(ctx, err)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil: // the next one comes
		case n == batch:
			wait = 0
		default:
			_, err := s.EndStalled(ctx)
			stalled.Note(ctx, err)
			if until, err := s.store.UntilDue(ctx, interval); err == nil {
				wait = until
			}
			if n > 0 {
				least = gather
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(wait, least, 5*time.Millisecond)):
		}
	}
}

// growthEvery is how often tables that grew are looked for: seconds of slow plans in
// a young house are felt, and the look is one small query.
const growthEvery = 10 * time.Second

// Watch lets the database know its tables as they grow, until ctx ends.
func (s *Sweeper) Watch(ctx context.Context) {
	log := outage.New(s.log, "analyze")
	for ctx.Err() == nil {
		tables, err := s.store.AnalyzeGrown(ctx)
		log.Note(ctx, err)
		if len(tables) > 0 {
			s.log.Debug("tables grew and were analyzed", "tables", tables)
		}
		select {
		case <-ctx.Done():
		case <-time.After(growthEvery):
		}
	}
}

// Sweep accounts for one batch of due tasks, in one transaction: tick rows, next
// fires, and the jobs that handle the ticks. It returns how many tasks were due.
func (s *Sweeper) Sweep(ctx context.Context) (n int, err error) {
	err = s.store.InTx(ctx, func(tx *store.Tx) error {
		due, err := tx.LockDue(ctx, batch)
		n = len(due)
		if err != nil || n == 0 {
			return err
		}
		now, err := tx.Now(ctx)
		if err != nil {
			return err
		}
		w := work{}
		if w.around, err = lookAround(ctx, tx, due, now); err != nil {
			return err
		}
		for _, d := range due {
			if err := w.plan(d, now); err != nil {
				s.log.Error("a schedule cannot be read; the task is paused", "task", d.Task.Identifier, "err", err)
				if err := quarantine(ctx, tx, d.Task, err); err != nil {
					return err
				}
			}
		}
		return w.write(ctx, tx)
	})
	if err != nil {
		return 0, fmt.Errorf("sweep: %w", err)
	}
	killpoint.Hit("swept")
	return n, nil
}

// around is what refuses planned times besides the schedules themselves.
type around struct {
	holidays store.Holidays
	quiet    map[string][]schedule.Quiet // by task
}

// lookAround reads, for a whole batch, the calendars that its schedules name, and the
// quiet hours when one of its tasks has more than a time that has just come: of
// several, those that may not run are taken out before the policy chooses. A time
// that comes alone is judged by the gate.
func lookAround(ctx context.Context, tx *store.Tx, due []store.Due, now time.Time) (a around, err error) {
	named := map[string][]string{}
	var late []string
	for _, d := range due {
		t := d.Task
		if t.Automation != nil && t.Automation.Exclusions != nil {
			named[t.WorkspaceID] = append(named[t.WorkspaceID], t.Automation.Exclusions.Calendars...)
		}
		if d.Pending != nil || now.Sub(*t.NextFireAt) > schedule.Grace {
			late = append(late, t.ID)
		}
	}
	if a.holidays, err = tx.Holidays(ctx, named); err != nil {
		return a, err
	}
	a.quiet, err = tx.QuietHours(ctx, late)
	return a, err
}

// work is what one sweep writes.
type work struct {
	around   around
	ticks    []store.Tick
	posts    []job.Post               // of the ticks that are to be handled, if they are written
	absorbed map[task.Reason][]string // pending ticks that end, by their reason
	next     []store.Planned
	usedUp   []task.Task
	missed   []task.Task // one-shots whose time has passed for good
}

// plan accounts for the due times of one task.
func (w *work) plan(d store.Due, now time.Time) error {
	t := d.Task
	spec, err := t.Spec()
	if err != nil {
		return err
	}
	if spec == nil {
		w.next = append(w.next, store.Planned{TaskID: t.ID})
		return nil
	}
	state := schedule.State{TaskID: t.ID, NextPlanned: *t.NextPlannedAt, Busy: t.Status == task.Running}
	if d.Pending != nil {
		state.Pending = *d.Pending.PlannedAt
	}
	state.Holidays, state.Quiet = w.around.holidays.Of(t.WorkspaceID, spec.Calendars()), w.around.quiet[t.ID]
	dec := schedule.Plan(*spec, state, now)
	pending := d.Pending != nil
	if dec.Pending != (schedule.Verdict{}) {
		if w.absorbed == nil {
			w.absorbed = map[task.Reason][]string{}
		}
		reason := task.Reason(dec.Pending.Reason)
		w.absorbed[reason] = append(w.absorbed[reason], d.Pending.ID)
		pending = false
	}
	lost := false
	for _, r := range dec.Rows {
		tick := store.Tick{
			ID: id.New(), WorkspaceID: t.WorkspaceID, TaskID: t.ID, PlannedAt: &r.PlannedAt, FireAt: r.FireAt, Origin: t.PlannedOrigin(),
			State: topic.TickState(r.State), AutomationRevision: t.AutomationRevision, Count: int(r.Count), ActorKind: access.System,
		}
		if r.Reason != "" {
			tick.Reason = &r.Reason
		}
		if r.Count > 1 {
			tick.FirstPlannedAt, tick.LastPlannedAt = &r.First, &r.Last
		}
		pending = pending || r.State == schedule.TickPending
		lost = lost || r.State == schedule.TickMissed
		w.ticks = append(w.ticks, tick)
		if tick.State == topic.TickPending {
			post := store.TickOf(tick)
			post.Delay = -t.Priority.Lead()
			w.posts = append(w.posts, post)
		}
	}
	w.next = append(w.next, store.Planned{TaskID: t.ID, Next: dec.Next})
	if dec.UsedUp && !pending && t.Status == task.Scheduled {
		if spec.Mode() == schedule.Once && lost {
			w.missed = append(w.missed, t)
		} else {
			w.usedUp = append(w.usedUp, t)
		}
	}
	return nil
}

// write carries the plan out, batch by batch.
func (w *work) write(ctx context.Context, tx *store.Tx) error {
	for reason, ids := range w.absorbed {
		if err := tx.AbsorbTicks(ctx, ids, reason); err != nil {
			return err
		}
	}
	written, err := tx.PlanTicks(ctx, w.ticks)
	if err != nil {
		return err
	}
	if err := tx.SetPlanned(ctx, w.next); err != nil {
		return err
	}
	for _, t := range w.usedUp {
		m, err := t.Move(task.Completed, task.BoundsUsedUp, access.House)
		if err != nil {
			return err
		}
		if err := tx.MoveTask(ctx, access.In(t.WorkspaceID), m); err != nil {
			return err
		}
	}
	for _, t := range w.missed {
		if err := shelve(ctx, tx, t); err != nil {
			return err
		}
	}
	isNew := make(map[string]bool, len(written))
	for _, id := range written {
		isNew[id] = true
	}
	return tx.PostJobs(ctx, slices.DeleteFunc(w.posts, func(p job.Post) bool { return !isNew[p.Key] })...)
}

// shelve puts a one-shot whose time has passed back into the backlog, and says so.
func shelve(ctx context.Context, tx *store.Tx, t task.Task) error {
	sc := access.In(t.WorkspaceID)
	m, err := t.Move(task.Backlog, task.CatchUpExpired, access.House)
	if err != nil {
		return err
	}
	if err := tx.MoveTask(ctx, sc, m); err != nil {
		return err
	}
	if err := tx.ClearStartAt(ctx, sc, t.ID); err != nil {
		return err
	}
	_, _, err = tx.OpenBrief(ctx, sc, brief.Draft{
		Type: brief.Error, Priority: brief.Urgent, Cause: brief.CauseMissed,
		Title:   "Missed its time: " + handoff.Cut(t.Name, 150),
		Summary: fmt.Sprintf("%s was to run at %s, and Dogwatch was not running then or soon after. It has not run.", t.Identifier, t.StartAt.UTC().Format("2006-01-02 15:04 MST")),
		Actions: []brief.Action{brief.Retry, brief.Edit.At(brief.EditURL(t.Identifier)), brief.Ignore},
	}, store.BriefFrom{TaskID: t.ID})
	return err
}

// quarantine pauses a task whose schedule cannot be read, so that it stops
// nobody else's.
func quarantine(ctx context.Context, tx *store.Tx, t task.Task, cause error) error {
	sc := access.In(t.WorkspaceID)
	if err := tx.SetNext(ctx, sc, t.ID, schedule.Slot{}); err != nil {
		return err
	}
	if t.Status == task.Scheduled {
		m, err := t.Move(task.Paused, task.NoPattern, access.House)
		if err != nil {
			return err
		}
		if err := tx.MoveTask(ctx, sc, m); err != nil {
			return err
		}
	}
	_, _, err := tx.OpenBrief(ctx, sc, *task.Unreadable(t, cause.Error()), store.BriefFrom{TaskID: t.ID})
	return err
}
