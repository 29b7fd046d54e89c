package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/brief"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
)

type briefRow struct {
	ID, WorkspaceID              string
	Number                       int64
	TaskID, TopicID, OperationID *string
	AgentID                      *string
	Type                         brief.Type
	Priority                     brief.Priority
	Title, Summary, Cause        string
	Count                        int
	Artifacts                    doc[[]brief.Artifact]
	Actions                      doc[[]brief.Action]
	Receipts                     doc[json.RawMessage]
	AssigneeID                   *string
	DueAt, SnoozedUntil, ReadAt  *time.Time
	ResolvedAt                   *time.Time
	ResolvedAction               *string
	ResolvedComment              *string
	ResolvedByKind               *access.ActorKind
	ResolvedByID                 *string
	RetryTickID                  *string
	Version                      int64
	CreatedAt, UpdatedAt         time.Time
}

func (briefRow) TableName() string { return "briefs" }

func (row briefRow) brief() brief.Brief {
	b := brief.Brief{
		ID: row.ID, WorkspaceID: row.WorkspaceID, Number: row.Number, TaskID: row.TaskID, TopicID: row.TopicID,
		OperationID: row.OperationID, AgentID: row.AgentID, Type: row.Type, Priority: row.Priority, Title: row.Title,
		Summary: row.Summary, Cause: row.Cause, Count: row.Count, Artifacts: row.Artifacts.V, Actions: row.Actions.V,
		Receipts: row.Receipts.V, AssigneeID: row.AssigneeID, DueAt: row.DueAt, SnoozedUntil: row.SnoozedUntil,
		ReadAt: row.ReadAt, ResolvedAt: row.ResolvedAt, ResolvedAction: row.ResolvedAction, ResolvedComment: row.ResolvedComment,
		RetryTickID: row.RetryTickID, Version: row.Version, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}
	if row.ResolvedByKind != nil {
		a := actor(*row.ResolvedByKind, row.ResolvedByID)
		b.ResolvedBy = &a
	}
	return b
}

// BriefFrom says where a brief comes from.
type BriefFrom struct {
	TaskID, TopicID, OperationID, AgentID string // "" where there is none
}

// OpenBrief opens a brief, or updates and counts the one that is open for the
// same task and cause. The task's lock is held when there is a task. It reports
// whether the brief is new.
func (tx *Tx) OpenBrief(ctx context.Context, sc access.Scope, d brief.Draft, from BriefFrom) (brief.Brief, bool, error) {
	d.Title, d.Summary = clean(d.Title), clean(d.Summary)
	if from.TaskID != "" {
		n, err := tx.exec(ctx, `
			update briefs set type = ?, priority = ?, title = ?, summary = ?, artifacts = ?, actions = ?, count = count + 1,
			  topic_id = coalesce(?, topic_id), operation_id = coalesce(?, operation_id), agent_id = coalesce(?, agent_id),
			  read_at = null, snoozed_until = null, version = version + 1, updated_at = clock_timestamp()
			where workspace_id = ? and task_id = ? and cause = ? and resolved_at is null`,
			d.Type, d.Priority, d.Title, d.Summary, artifacts(d), actions(d), optional(from.TopicID), optional(from.OperationID),
			optional(from.AgentID), sc.Workspace(), from.TaskID, d.Cause)
		if err != nil {
			return brief.Brief{}, false, fmt.Errorf("update a brief: %w", err)
		}
		if n > 0 {
			b, err := tx.openBriefOf(ctx, sc, from.TaskID, d.Cause)
			if err != nil {
				return brief.Brief{}, false, err
			}
			return *b, false, tx.Emit(ctx, sc, briefEvent("brief.changed", *b))
		}
	}
	number, err := tx.nextNumber(ctx, sc, "brief_seq")
	if err != nil {
		return brief.Brief{}, false, err
	}
	now, err := tx.Clock(ctx)
	if err != nil {
		return brief.Brief{}, false, err
	}
	row := briefRow{
		ID: id.New(), WorkspaceID: sc.Workspace(), Number: number, TaskID: optional(from.TaskID), TopicID: optional(from.TopicID),
		OperationID: optional(from.OperationID), AgentID: optional(from.AgentID), Type: d.Type, Priority: d.Priority,
		Title: d.Title, Summary: d.Summary, Cause: d.Cause, Count: 1, Artifacts: artifacts(d), Actions: actions(d),
		Receipts: doc[json.RawMessage]{json.RawMessage("[]")}, Version: 1, CreatedAt: now, UpdatedAt: now,
	}
	if err := tx.db(ctx).Create(&row).Error; err != nil {
		return brief.Brief{}, false, fmt.Errorf("open a brief: %w", err)
	}
	return row.brief(), true, tx.Emit(ctx, sc, briefEvent("brief.opened", row.brief()))
}

// RewriteBrief says an open brief better, without counting it again: its handoff
// has been written. It reports false when none is open.
func (tx *Tx) RewriteBrief(ctx context.Context, sc access.Scope, taskID, topicID string, d brief.Draft) (bool, error) {
	n, err := tx.exec(ctx, `
		update briefs set title = ?, summary = ?, artifacts = ?, actions = ?, version = version + 1, updated_at = clock_timestamp()
		where workspace_id = ? and task_id = ? and cause = ? and topic_id = ? and resolved_at is null`,
		clean(d.Title), clean(d.Summary), artifacts(d), actions(d), sc.Workspace(), taskID, d.Cause, topicID)
	if err != nil {
		return false, fmt.Errorf("rewrite a brief: %w", err)
	}
	if n == 0 {
		return false, nil
	}
	b, err := tx.openBriefOf(ctx, sc, taskID, d.Cause)
	if err != nil {
		return false, err
	}
	return true, tx.Emit(ctx, sc, briefEvent("brief.changed", *b))
}

func artifacts(d brief.Draft) doc[[]brief.Artifact] {
	return doc[[]brief.Artifact]{append([]brief.Artifact{}, d.Artifacts...)}
}

func actions(d brief.Draft) doc[[]brief.Action] {
	return doc[[]brief.Action]{append([]brief.Action{}, d.Actions...)}
}

func briefEvent(typ string, b brief.Brief) Event {
	return Event{Type: typ, SubjectKind: "brief", SubjectID: b.ID, Payload: map[string]any{
		"number": fmt.Sprintf("B-%d", b.Number), "taskId": b.TaskID, "type": b.Type, "priority": b.Priority,
	}}
}

// Recause makes the task's open brief of one cause another's. When both are open
// the first is closed into the second.
func (tx *Tx) Recause(ctx context.Context, sc access.Scope, taskID, from, to string) error {
	n, err := tx.exec(ctx, `
		update briefs set cause = ? where workspace_id = ? and task_id = ? and cause = ? and resolved_at is null
		  and not exists (select 1 from briefs o where o.task_id = ? and o.cause = ? and o.resolved_at is null)`,
		to, sc.Workspace(), taskID, from, taskID, to)
	if err == nil && n == 0 {
		err = tx.CloseBriefs(ctx, sc, taskID, []string{from})
	}
	if err != nil {
		return fmt.Errorf("change the cause of a brief: %w", err)
	}
	return nil
}

// ResolvedWithin reports whether a person put a brief of that cause away no longer ago
// than d.
func (r Reader) ResolvedWithin(ctx context.Context, sc access.Scope, taskID, cause string, d time.Duration) (known bool, err error) {
	err = r.db(ctx).Raw(`select exists (select 1 from briefs where workspace_id = ? and task_id = ? and cause = ?
		and resolved_by_kind <> ? and resolved_at > clock_timestamp() - ? * interval '1 microsecond')`,
		sc.Workspace(), taskID, cause, access.System, d.Microseconds()).Row().Scan(&known)
	if err != nil {
		return false, fmt.Errorf("look for a brief that was put away: %w", err)
	}
	return known, nil
}

// CloseBriefs resolves the open briefs of a task whose cause is gone.
func (tx *Tx) CloseBriefs(ctx context.Context, sc access.Scope, taskID string, causes []string) error {
	if len(causes) == 0 {
		return nil
	}
	var rows []briefRow
	err := tx.db(ctx).Raw(`
		update briefs set resolved_at = clock_timestamp(), resolved_action = 'closed', resolved_by_kind = 'system',
		  version = version + 1, updated_at = clock_timestamp()
		where workspace_id = ? and task_id = ? and cause in ? and resolved_at is null returning *`, sc.Workspace(), taskID, causes).Scan(&rows).Error
	if err != nil {
		return fmt.Errorf("close briefs: %w", err)
	}
	return tx.emitResolved(ctx, sc, rows)
}

func (tx *Tx) emitResolved(ctx context.Context, sc access.Scope, rows []briefRow) error {
	for _, row := range rows {
		if err := tx.Emit(ctx, sc, briefEvent("brief.resolved", row.brief())); err != nil {
			return err
		}
	}
	return nil
}

// CloseTaskBriefs resolves every open brief of a task: the task has ended, and what
// they ask has no point any more.
func (tx *Tx) CloseTaskBriefs(ctx context.Context, sc access.Scope, taskID string) error {
	var causes []string
	err := tx.db(ctx).Raw(`select cause from briefs where workspace_id = ? and task_id = ? and resolved_at is null`, sc.Workspace(), taskID).Scan(&causes).Error
	if err != nil {
		return fmt.Errorf("find the open briefs of a task: %w", err)
	}
	return tx.CloseBriefs(ctx, sc, taskID, causes)
}

// Brief returns a brief.
func (r Reader) Brief(ctx context.Context, sc access.Scope, briefID string) (brief.Brief, error) {
	var row briefRow
	err := r.db(ctx).Where("workspace_id = ? and id = ?", sc.Workspace(), briefID).Take(&row).Error
	return row.brief(), found(err, "brief", briefID)
}

// LockBrief returns a brief and holds it; its task is locked before it.
func (tx *Tx) LockBrief(ctx context.Context, sc access.Scope, briefID string) (brief.Brief, error) {
	var rows []briefRow
	err := tx.db(ctx).Raw(`select * from briefs where workspace_id = ? and id = ? for update`, sc.Workspace(), briefID).Scan(&rows).Error
	if err != nil {
		return brief.Brief{}, fmt.Errorf("lock a brief: %w", err)
	}
	if len(rows) == 0 {
		return brief.Brief{}, errs.Missing("brief", briefID)
	}
	return rows[0].brief(), nil
}

func (r Reader) openBriefOf(ctx context.Context, sc access.Scope, taskID, cause string) (*brief.Brief, error) {
	var row briefRow
	err := r.db(ctx).Where("workspace_id = ? and task_id = ? and cause = ? and resolved_at is null", sc.Workspace(), taskID, cause).Take(&row).Error
	b := row.brief()
	return &b, found(err, "brief", cause)
}

// OpenBriefFor returns the task's open brief of a cause, nil when none is open.
func (r Reader) OpenBriefFor(ctx context.Context, sc access.Scope, taskID, cause string) (*brief.Brief, error) {
	b, err := r.openBriefOf(ctx, sc, taskID, cause)
	if errs.KindOf(err) == errs.NotFound {
		return nil, nil
	}
	return b, err
}

// blocksRuns is true of the briefs that a person has to answer before their task
// runs again.
const blocksRuns = `resolved_at is null and priority = 'urgent' and type <> 'error'`

// BlockingBrief returns the oldest open urgent brief of a task that is not an
// error: a person has to answer it before the task runs again.
func (r Reader) BlockingBrief(ctx context.Context, sc access.Scope, taskID string) (*brief.Brief, error) {
	var rows []briefRow
	err := r.db(ctx).Where("workspace_id = ? and task_id = ? and "+blocksRuns, sc.Workspace(), taskID).
		Order("id").Limit(1).Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("look for an urgent brief: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	b := rows[0].brief()
	return &b, nil
}

// OperationBriefs returns the briefs that an operation opened.
func (r Reader) OperationBriefs(ctx context.Context, sc access.Scope, operationID string) ([]brief.Brief, error) {
	return r.briefs(ctx, 200, "workspace_id = ? and operation_id = ? and cause like 'asked:%'", sc.Workspace(), operationID)
}

// Told reports whether a person was told of a run for a cause, whatever became of the
// card; with orLater, whether of it or of a later run of the task, which takes over the
// card of one before it.
func (r Reader) Told(ctx context.Context, sc access.Scope, t topic.Topic, cause string, orLater bool) (bool, error) {
	var told bool
	err := r.db(ctx).Raw(`select exists (select 1 from briefs b join topics p on p.id = b.topic_id
		where b.workspace_id = ? and b.task_id = ? and b.cause = ? and (p.seq = ? or ? and p.seq > ?))`,
		sc.Workspace(), t.TaskID, cause, t.Seq, orLater, t.Seq).Row().Scan(&told)
	if err != nil {
		return false, fmt.Errorf("look for a brief of a run: %w", err)
	}
	return told, nil
}

// AskedBriefs returns the latest questions that agents put to people about a task,
// open and answered, the newest first.
func (r Reader) AskedBriefs(ctx context.Context, sc access.Scope, taskID string, n int) ([]brief.Brief, error) {
	return r.briefs(ctx, n, "workspace_id = ? and task_id = ? and cause like 'asked:%'", sc.Workspace(), taskID)
}

func (r Reader) briefs(ctx context.Context, n int, where string, args ...any) ([]brief.Brief, error) {
	var rows []briefRow
	if err := r.db(ctx).Where(where, args...).Order("id desc").Limit(n).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read briefs: %w", err)
	}
	out := make([]brief.Brief, len(rows))
	for i, row := range rows {
		out[i] = row.brief()
	}
	return out, nil
}

// BriefFilter narrows a list of briefs. Empty fields do not.
type BriefFilter struct {
	State    string // unresolved, resolved, all
	Priority string
	Type     string
	Task     string // id
	Assignee string // id
}

// Briefs lists briefs: the open ones with the most urgent first, any others with
// the newest first.
func (r Reader) Briefs(ctx context.Context, sc access.Scope, f BriefFilter, p Page) ([]brief.Brief, string, error) {
	q := r.db(ctx).Where("workspace_id = ?", sc.Workspace())
	for column, v := range map[string]string{"priority": f.Priority, "type": f.Type, "task_id": f.Task, "assignee_id": f.Assignee} {
		if v != "" {
			q = q.Where(column+" = ?", v)
		}
	}
	const rank = `case priority when 'urgent' then 0 when 'normal' then 1 else 2 end`
	switch f.State {
	case "", "unresolved":
		q = q.Where("resolved_at is null").Order(rank).Order("id desc")
		if p.After != "" {
			last := "(select " + rank + " from briefs where id = ? and workspace_id = ?)"
			q = q.Where("("+rank+" > "+last+" or "+rank+" = "+last+" and id < ?)", p.After, sc.Workspace(), p.After, sc.Workspace(), p.After)
		}
	default:
		if f.State == "resolved" {
			q = q.Where("resolved_at is not null")
		}
		q = q.Order("id desc")
		if p.After != "" {
			q = q.Where("id < ?", p.After)
		}
	}
	var rows []briefRow
	if err := q.Limit(p.limit() + 1).Find(&rows).Error; err != nil {
		return nil, "", fmt.Errorf("list briefs: %w", err)
	}
	out := make([]brief.Brief, len(rows))
	for i, row := range rows {
		out[i] = row.brief()
	}
	out, next := cut(out, p, func(b brief.Brief) string { return b.ID })
	return out, next, nil
}

// ResolveBrief closes an open brief.
func (tx *Tx) ResolveBrief(ctx context.Context, sc access.Scope, b brief.Brief, action, comment string, by access.Actor) error {
	n, err := tx.exec(ctx, `
		update briefs set resolved_at = clock_timestamp(), resolved_action = ?, resolved_comment = ?, resolved_by_kind = ?, resolved_by_id = ?,
		  read_at = coalesce(read_at, clock_timestamp()), version = version + 1, updated_at = clock_timestamp()
		where workspace_id = ? and id = ? and resolved_at is null`,
		action, optional(comment), by.Kind, optional(by.ID), sc.Workspace(), b.ID)
	if err != nil {
		return fmt.Errorf("resolve a brief: %w", err)
	}
	if n == 0 {
		return errs.New(errs.Conflict, "already_resolved", "This brief was resolved already.")
	}
	return tx.Emit(ctx, sc, briefEvent("brief.resolved", b))
}

// BriefEdit is what people change on a brief besides resolving it.
type BriefEdit struct {
	Read     bool
	Assignee **string    // nil: leave
	Snooze   **time.Time // nil: leave
	Reopen   bool
	RetryBy  *string // the tick whose good end closes the brief
}

// EditBrief changes a brief.
func (tx *Tx) EditBrief(ctx context.Context, sc access.Scope, briefID string, e BriefEdit) (brief.Brief, error) {
	set := map[string]any{}
	now, err := tx.Now(ctx)
	if err != nil {
		return brief.Brief{}, err
	}
	if e.Read {
		set["read_at"] = now
	}
	if e.Assignee != nil {
		set["assignee_id"] = *e.Assignee
	}
	if e.Snooze != nil {
		set["snoozed_until"] = *e.Snooze
	}
	if e.Reopen {
		for _, c := range []string{"resolved_at", "resolved_action", "resolved_comment", "resolved_by_kind", "resolved_by_id", "retry_tick_id"} {
			set[c] = nil
		}
	}
	if e.RetryBy != nil {
		set["retry_tick_id"] = *e.RetryBy
	}
	set["updated_at"] = now
	if err := tx.db(ctx).Model(&briefRow{}).Where("workspace_id = ? and id = ?", sc.Workspace(), briefID).Updates(set).Error; err != nil {
		if violates(err, "briefs_one_open") {
			return brief.Brief{}, errs.New(errs.Conflict, "conflict", "A newer brief about the same thing is open.")
		}
		return brief.Brief{}, fmt.Errorf("change a brief: %w", err)
	}
	b, err := tx.Brief(ctx, sc, briefID)
	if err != nil {
		return brief.Brief{}, err
	}
	return b, tx.Emit(ctx, sc, briefEvent("brief.changed", b))
}

// CloseRetried resolves the briefs whose retry was this tick, when its run ended well.
func (tx *Tx) CloseRetried(ctx context.Context, sc access.Scope, tickID string) error {
	var rows []briefRow
	err := tx.db(ctx).Raw(`
		update briefs set resolved_at = clock_timestamp(), resolved_action = 'retry', resolved_by_kind = 'system',
		  version = version + 1, updated_at = clock_timestamp()
		where workspace_id = ? and retry_tick_id = ? and resolved_at is null returning *`, sc.Workspace(), tickID).Scan(&rows).Error
	if err != nil {
		return fmt.Errorf("close retried briefs: %w", err)
	}
	return tx.emitResolved(ctx, sc, rows)
}
