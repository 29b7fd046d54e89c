package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
)

// Tick is a row of the tick ledger: "it is time", and what came of it.
type Tick struct {
	ID, WorkspaceID, TaskID string
	PlannedAt               *time.Time // nil: nobody planned it
	FireAt                  time.Time  // planned plus jitter
	RequestKey              *string
	Origin                  topic.Origin
	State                   topic.TickState
	Reason                  *string
	AutomationRevision      int64
	FirstPlannedAt          *time.Time // of a row that stands for several times
	LastPlannedAt           *time.Time
	Count                   int
	Note                    *string
	ContinuesTopicID        *string
	ActorKind               access.ActorKind
	ActorID                 *string
	TopicID                 *string
	MadeTaskID              *string // the task that a template made at this time
	CreatedAt               time.Time
	DispatchedAt, EndedAt   *time.Time
}

// TableName names the table for gorm.
func (Tick) TableName() string { return "ticks" }

// Time is the planned time that the tick stands for: its own, or the one that a
// backfill runs again. It is nil when nobody planned it.
func (t Tick) Time() *time.Time {
	if t.PlannedAt == nil && t.Origin == topic.Backfill {
		return t.FirstPlannedAt
	}
	return t.PlannedAt
}

// LateAfter is how long after its time a dispatched tick is called late.
const LateAfter = time.Minute

// Lag is how long after its time, jitter included, the tick was dispatched.
func (t Tick) Lag() time.Duration {
	if t.DispatchedAt == nil {
		return 0
	}
	return max(t.DispatchedAt.Sub(t.FireAt), 0)
}

// Late reports whether the tick was dispatched more than a minute after its time.
func (t Tick) Late() bool { return t.Lag() > LateAfter }

// Two ways in which a tick stands there already: an edit re-opens a canceled one
// for the same instant; the same request changes nothing.
const (
	samePlan = `(task_id, planned_at) where planned_at is not null do update set
		id = excluded.id, state = excluded.state, reason = excluded.reason, fire_at = excluded.fire_at, origin = excluded.origin,
		automation_revision = excluded.automation_revision, ended_at = excluded.ended_at, created_at = clock_timestamp()
		where ticks.state = 'canceled'`
	sameRequest = `(task_id, request_key) where request_key is not null do nothing`
)

// PlanTicks writes ticks of planned times, in one statement, and returns the ids of
// those that were written: a time that has its tick is left as it is.
func (tx *Tx) PlanTicks(ctx context.Context, ticks []Tick) ([]string, error) {
	return tx.insertTicks(ctx, ticks, samePlan)
}

// RequestTicks writes ticks that somebody asked for, in one statement, and returns
// the ids of those that were written: a request that was made before changes nothing.
func (tx *Tx) RequestTicks(ctx context.Context, ticks []Tick) ([]string, error) {
	return tx.insertTicks(ctx, ticks, sameRequest)
}

func (tx *Tx) insertTicks(ctx context.Context, ticks []Tick, onConflict string) ([]string, error) {
	if len(ticks) == 0 {
		return nil, nil
	}
	for i := range ticks {
		t := &ticks[i]
		if t.ID == "" {
			t.ID = id.New()
		}
		if t.Count == 0 {
			t.Count = 1
		}
		if t.ActorKind == "" {
			t.ActorKind = access.System
		}
	}
	rows := doc[[]Tick]{ticks}
	var written []string
	err := tx.db(ctx).Raw(`
		insert into ticks (id, workspace_id, task_id, planned_at, fire_at, request_key, origin, state, reason, automation_revision,
		  first_planned_at, last_planned_at, count, note, continues_topic_id, actor_kind, actor_id, ended_at)
		select "ID", "WorkspaceID", "TaskID", "PlannedAt", "FireAt", "RequestKey", "Origin", "State", "Reason", "AutomationRevision",
		  "FirstPlannedAt", "LastPlannedAt", "Count", "Note", "ContinuesTopicID", "ActorKind", "ActorID",
		  case when "State" in ('skipped', 'missed', 'coalesced', 'canceled') then clock_timestamp() end
		from jsonb_to_recordset(?::jsonb) as r("ID" uuid, "WorkspaceID" uuid, "TaskID" uuid, "PlannedAt" timestamptz, "FireAt" timestamptz,
		  "RequestKey" text, "Origin" text, "State" text, "Reason" text, "AutomationRevision" bigint, "FirstPlannedAt" timestamptz,
		  "LastPlannedAt" timestamptz, "Count" int, "Note" text, "ContinuesTopicID" uuid, "ActorKind" text, "ActorID" uuid)
		on conflict `+onConflict+`
		returning id`, rows).Scan(&written).Error
	if err != nil {
		return nil, fmt.Errorf("write ticks: %w", err)
	}
	return written, tx.tellWritten(ctx, ticks, written)
}

// tellWritten counts and tells of those of some ticks that were written and have ended
// by that: nobody comes back to them.
func (tx *Tx) tellWritten(ctx context.Context, ticks []Tick, written []string) error {
	isNew := make(map[string]bool, len(written))
	for _, id := range written {
		isNew[id] = true
	}
	for _, t := range ticks {
		if !isNew[t.ID] || t.State == topic.TickPending {
			continue
		}
		tx.countTicks(t.State, orEmpty(t.Reason), t.Count)
		if err := tx.Emit(ctx, access.In(t.WorkspaceID), tickEvent(t.ID)); err != nil {
			return err
		}
	}
	return nil
}

// countTicks tells whoever listens, once it is committed, in which state ticks are.
func (tx *Tx) countTicks(state topic.TickState, reason string, n int) {
	if f := tx.store.onTicks; f != nil && n > 0 {
		tx.AfterCommit(func() { f(state, reason, n) })
	}
}

// Tick returns a tick.
func (r Reader) Tick(ctx context.Context, sc access.Scope, tickID string) (Tick, error) {
	var t Tick
	err := r.db(ctx).Where("workspace_id = ? and id = ?", sc.Workspace(), tickID).Take(&t).Error
	return t, found(err, "tick", tickID)
}

// PendingTick returns the planned tick of a task that nobody has handled yet, if
// there is one.
func (r Reader) PendingTick(ctx context.Context, sc access.Scope, taskID string) (*Tick, error) {
	return r.oneTick(ctx, `workspace_id = ? and task_id = ? and state = 'pending' and planned_at is not null`, sc.Workspace(), taskID)
}

// QueuedTick returns the tick that waits for the task's open run to end, if there is one.
func (r Reader) QueuedTick(ctx context.Context, sc access.Scope, taskID string) (*Tick, error) {
	return r.oneTick(ctx, `workspace_id = ? and task_id = ? and state = 'queued'`, sc.Workspace(), taskID)
}

// LastRefusal returns why the latest planned tick of a task was skipped, "" when it
// was not.
func (r Reader) LastRefusal(ctx context.Context, sc access.Scope, taskID string) (task.Reason, error) {
	var reasons []task.Reason
	err := r.db(ctx).Raw(`select case when state = 'skipped' then reason else '' end from ticks
		where workspace_id = ? and task_id = ? and planned_at is not null order by planned_at desc limit 1`, sc.Workspace(), taskID).Scan(&reasons).Error
	if err != nil {
		return "", fmt.Errorf("look for the last refusal: %w", err)
	}
	if len(reasons) == 0 {
		return "", nil
	}
	return reasons[0], nil
}

// RequestedTick returns the tick of a request that was made before, if it was.
func (r Reader) RequestedTick(ctx context.Context, sc access.Scope, taskID, key string) (*Tick, error) {
	return r.oneTick(ctx, `workspace_id = ? and task_id = ? and request_key = ?`, sc.Workspace(), taskID, key)
}

// CatchUpTicks writes a run by hand for each task of the workspace that was refused a
// run for one of some reasons since a time: one run for whatever it missed. Only
// those of an agent when one is given. It returns the ticks that it wrote; the same
// key writes none twice.
func (tx *Tx) CatchUpTicks(ctx context.Context, sc access.Scope, why []task.Reason, since time.Time, agentID, key string, by access.Actor) ([]Tick, error) {
	var ids []string
	err := tx.db(ctx).Raw(`
		select t.id from tasks t where t.workspace_id = ? and t.deleted_at is null and t.status in ('scheduled', 'backlog')
		and (? = '' or t.assignee_agent_id = nullif(?, '')::uuid or t.assignee_agent_id is null and t.assignee_user_id is null
		  and (select is_default from agents where id = nullif(?, '')::uuid))
		and exists (select 1 from ticks k where k.task_id = t.id and k.state = 'skipped' and k.reason in ? and k.ended_at >= ?
		  and k.origin not in ('manual', 'comment', 'retry'))
		order by t.id`, sc.Workspace(), agentID, agentID, agentID, why, since).Scan(&ids).Error
	if err != nil {
		return nil, fmt.Errorf("look for what was held: %w", err)
	}
	now, err := tx.Now(ctx)
	if err != nil {
		return nil, err
	}
	ticks := make([]Tick, len(ids))
	for i, taskID := range ids {
		ticks[i] = Tick{
			ID: id.New(), WorkspaceID: sc.Workspace(), TaskID: taskID, FireAt: now, RequestKey: &key, Origin: topic.Manual,
			State: topic.TickPending, ActorKind: by.Kind, ActorID: optional(by.ID),
		}
	}
	written, err := tx.RequestTicks(ctx, ticks)
	if err != nil {
		return nil, err
	}
	isNew := make(map[string]bool, len(written))
	for _, id := range written {
		isNew[id] = true
	}
	return slices.DeleteFunc(ticks, func(t Tick) bool { return !isNew[t.ID] }), nil
}

func (r Reader) oneTick(ctx context.Context, where string, args ...any) (*Tick, error) {
	var ts []Tick
	if err := r.db(ctx).Where(where, args...).Limit(1).Find(&ts).Error; err != nil {
		return nil, fmt.Errorf("read a tick: %w", err)
	}
	if len(ts) == 0 {
		return nil, nil
	}
	return &ts[0], nil
}

// QueueTick lets a tick wait until what stands against it has passed.
func (tx *Tx) QueueTick(ctx context.Context, sc access.Scope, tickID string, why task.Reason) error {
	return tx.moveTick(ctx, sc, tickID, topic.TickQueued, why, []topic.TickState{topic.TickPending}, `state = 'queued', reason = ?`, why)
}

// EndTick ends a tick that opened no topic.
func (tx *Tx) EndTick(ctx context.Context, sc access.Scope, tickID string, state topic.TickState, reason task.Reason) error {
	return tx.moveTick(ctx, sc, tickID, state, reason, []topic.TickState{topic.TickPending, topic.TickQueued},
		`state = ?, reason = ?, ended_at = clock_timestamp()`, state, reason)
}

// TickRan ends a tick whose topic has ended.
func (tx *Tx) TickRan(ctx context.Context, sc access.Scope, tickID string) error {
	return tx.moveTick(ctx, sc, tickID, topic.TickRan, "", []topic.TickState{topic.TickDispatched}, `state = 'ran', ended_at = clock_timestamp()`)
}

// TickMade ends a tick of a template with the task that it made.
func (tx *Tx) TickMade(ctx context.Context, sc access.Scope, tickID, taskID string) error {
	return tx.moveTick(ctx, sc, tickID, topic.TickRan, "", []topic.TickState{topic.TickPending, topic.TickQueued},
		`state = 'ran', made_task_id = ?, dispatched_at = clock_timestamp(), ended_at = clock_timestamp(), reason = null`, taskID)
}

func (tx *Tx) moveTick(ctx context.Context, sc access.Scope, tickID string, to topic.TickState, why task.Reason, from []topic.TickState, set string, args ...any) error {
	n, err := tx.exec(ctx, `update ticks set `+set+` where workspace_id = ? and id = ? and state in ?`,
		append(args, sc.Workspace(), tickID, from)...)
	if err != nil {
		return fmt.Errorf("move a tick: %w", err)
	}
	if n == 0 {
		return errs.New(errs.Conflict, "conflict", "The tick was handled meanwhile.")
	}
	tx.countTicks(to, string(why), 1)
	return tx.Emit(ctx, sc, tickEvent(tickID))
}

func tickEvent(tickID string) Event {
	return Event{Type: "tick.changed", SubjectKind: "tick", SubjectID: tickID}
}

// CancelOpenTicks voids what is planned or queued for a task: an edit, a pause
// or a cancel. Only planned ones when planned is set.
func (tx *Tx) CancelOpenTicks(ctx context.Context, sc access.Scope, taskID string, planned bool, why task.Reason) error {
	n, err := tx.exec(ctx, `
		update ticks set state = 'canceled', reason = ?, ended_at = clock_timestamp()
		where workspace_id = ? and task_id = ? and state in ('pending', 'queued') and (planned_at is not null or not ?)`,
		why, sc.Workspace(), taskID, planned)
	if err != nil {
		return fmt.Errorf("cancel the open ticks of a task: %w", err)
	}
	tx.countTicks(topic.TickCanceled, string(why), int(n))
	return nil
}

// RanBetween counts the scheduled runs of a task whose planned time is in [from, to).
func (r Reader) RanBetween(ctx context.Context, sc access.Scope, taskID string, from, to time.Time) (int, error) {
	var n int
	err := r.db(ctx).Raw(`select count(*) from ticks where workspace_id = ? and task_id = ? and planned_at >= ? and planned_at < ?
		and state in ('dispatched', 'ran')`, sc.Workspace(), taskID, from, to).Row().Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count the runs of a day: %w", err)
	}
	return n, nil
}

// How far back the runs of late are looked for, and how many of them tell a cadence:
// a task whose every time is refused must not have its whole ledger read.
const (
	cadenceTicks = 200
	cadenceRuns  = 20
)

// LastRuns returns the scheduled runs of late of a task under a revision of its
// automation, the oldest first. Backfilled ones are left out: they come as they can.
func (r Reader) LastRuns(ctx context.Context, sc access.Scope, taskID string, revision int64) ([]schedule.Ran, error) {
	var out []schedule.Ran
	err := r.db(ctx).Raw(`
		select planned, began from (
		  select planned_at as planned, dispatched_at as began from (
		    select planned_at, dispatched_at, state, origin, automation_revision from ticks
		    where workspace_id = ? and task_id = ? and planned_at is not null order by planned_at desc limit ?) late
		  where state in ('dispatched', 'ran') and origin <> 'backfill' and automation_revision = ? order by planned_at desc limit ?) ran
		order by planned`, sc.Workspace(), taskID, cadenceTicks, revision, cadenceRuns).Scan(&out).Error
	if err != nil {
		return nil, fmt.Errorf("read the runs of late: %w", err)
	}
	return out, nil
}

// TickFilter narrows the tick ledger. Empty fields do not.
type TickFilter struct {
	Task   string // id
	State  []string
	Reason string
	// FireFrom and FireTo are the span in which ticks fire, the end excluded.
	FireFrom, FireTo time.Time
}

// Ticks lists the tick ledger, the newest first: by when they were written down, and
// those of a span of time by when they fire.
func (r Reader) Ticks(ctx context.Context, sc access.Scope, f TickFilter, p Page) ([]Tick, string, error) {
	var out []Tick
	if err := r.ticks(ctx, sc, f, p).Find(&out).Error; err != nil {
		return nil, "", fmt.Errorf("list ticks: %w", err)
	}
	out, next := cut(out, p, func(t Tick) string { return t.ID })
	return out, next, nil
}

func (r Reader) ticks(ctx context.Context, sc access.Scope, f TickFilter, p Page) *gorm.DB {
	q := r.db(ctx).Where("workspace_id = ?", sc.Workspace())
	if f.Task != "" {
		q = q.Where("task_id = ?", f.Task)
	}
	if len(f.State) > 0 {
		q = q.Where("state in ?", f.State)
	}
	if f.Reason != "" {
		q = q.Where("reason = ?", f.Reason)
	}
	if !f.FireFrom.IsZero() {
		q = q.Where("fire_at >= ?", f.FireFrom)
	}
	if !f.FireTo.IsZero() {
		q = q.Where("fire_at < ?", f.FireTo)
	}
	if f.FireFrom.IsZero() && f.FireTo.IsZero() {
		if q = q.Order("id desc"); p.After != "" {
			q = q.Where("id < ?", p.After)
		}
	} else if q = q.Order("fire_at desc, id desc"); p.After != "" {
		q = q.Where("(fire_at, id) < (select fire_at, id from ticks where id = ? and workspace_id = ?)", p.After, sc.Workspace())
	}
	return q.Limit(p.limit() + 1)
}
