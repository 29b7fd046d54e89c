package store

import (
	"context"
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/event"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
)

// Workspace is a room of its own: nothing in it is seen from another.
type Workspace struct {
	ID, Slug, Name, Timezone string
	PausedAt                 *time.Time
	PauseNote                *string
	PausedBy                 doc[*access.Actor] // V is nil: by nobody, or it was not kept
	MaintenanceAt            *time.Time         // no new runs; those that are open go to their end
	MaintenanceNote          *string
	MaintenanceBy            doc[*access.Actor]
	QuietHours               doc[*schedule.QuietHours] // V is nil: none
	ReadOnly                 bool                      // agents may change nothing
	Version                  int64
	CreatedAt, UpdatedAt     time.Time
}

// TableName names the table for gorm.
func (Workspace) TableName() string { return "workspaces" }

// Workspace returns the scope's workspace.
func (r Reader) Workspace(ctx context.Context, sc access.Scope) (Workspace, error) {
	var w Workspace
	err := r.db(ctx).Where("id = ?", sc.Workspace()).Take(&w).Error
	return w, found(err, "workspace", sc.Workspace())
}

// FirstWorkspace returns the oldest workspace of the house, if there is one.
func (r Reader) FirstWorkspace(ctx context.Context) (Workspace, bool, error) {
	var ws []Workspace
	err := r.db(ctx).Order("created_at, id").Limit(1).Find(&ws).Error
	if err != nil || len(ws) == 0 {
		return Workspace{}, false, err
	}
	return ws[0], true, nil
}

// CreateWorkspace makes a workspace.
func (tx *Tx) CreateWorkspace(ctx context.Context, slug, name, timezone string) (Workspace, error) {
	w := Workspace{ID: id.New(), Slug: slug, Name: name, Timezone: timezone}
	_, err := tx.exec(ctx, `insert into workspaces (id, slug, name, timezone) values (?, ?, ?, ?)`, w.ID, slug, name, timezone)
	if err != nil {
		return Workspace{}, fmt.Errorf("create a workspace: %w", err)
	}
	return w, nil
}

// LockWorkspace returns the workspace and locks its row against other changes, but
// not against rows that point at it.
func (tx *Tx) LockWorkspace(ctx context.Context, sc access.Scope) (Workspace, error) {
	var ws []Workspace
	if err := tx.db(ctx).Raw(`select * from workspaces where id = ? for no key update`, sc.Workspace()).Scan(&ws).Error; err != nil {
		return Workspace{}, fmt.Errorf("lock the workspace: %w", err)
	}
	if len(ws) == 0 {
		return Workspace{}, errs.Missing("workspace", sc.Workspace())
	}
	return ws[0], nil
}

// Hold is what a workspace is held by.
type Hold struct {
	Paused, Maintenance        bool
	PauseNote, MaintenanceNote string
	PausedBy, MaintenanceBy    *access.Actor
}

// HoldWorkspace stops every new run of the workspace, or lets them begin again. What
// the gate admitted before has its topic when this returns, and nothing is admitted
// between now and the commit: afterwards the open topics are all there are.
func (tx *Tx) HoldWorkspace(ctx context.Context, sc access.Scope, h Hold) error {
	_, err := tx.exec(ctx, `
		update workspaces set paused_at = case when ? then coalesce(paused_at, clock_timestamp()) end, pause_note = nullif(?, ''), paused_by = ?,
		  maintenance_at = case when ? then coalesce(maintenance_at, clock_timestamp()) end, maintenance_note = nullif(?, ''), maintenance_by = ?,
		  version = version + 1, updated_at = clock_timestamp()
		where id = ?`, h.Paused, h.PauseNote, docOrNull(h.PausedBy), h.Maintenance, h.MaintenanceNote, docOrNull(h.MaintenanceBy), sc.Workspace())
	if err == nil {
		// After the row: a task that is created and started at once holds it first, too.
		_, err = tx.exec(ctx, `select pg_advisory_xact_lock(hashtextextended('gate:' || ?, 0))`, sc.Workspace())
	}
	if err != nil {
		return fmt.Errorf("hold the workspace: %w", err)
	}
	return tx.Emit(ctx, sc, Event{Type: event.WorkspaceChanged, SubjectKind: "workspace", SubjectID: sc.Workspace()})
}

// PassGate is called before the gate is asked: what it then reads of the workspace
// holds until the transaction ends. Any number pass at once.
func (tx *Tx) PassGate(ctx context.Context, sc access.Scope) error {
	_, err := tx.exec(ctx, `select pg_advisory_xact_lock_shared(hashtextextended('gate:' || ?, 0))`, sc.Workspace())
	if err != nil {
		return fmt.Errorf("pass the gate: %w", err)
	}
	return nil
}

// EditWorkspace changes name, zone, quiet hours and whether it is read-only. The
// version is the one that was read.
func (tx *Tx) EditWorkspace(ctx context.Context, sc access.Scope, w Workspace) error {
	n, err := tx.exec(ctx, `
		update workspaces set name = ?, timezone = ?, read_only = ?, quiet_hours = ?, version = version + 1, updated_at = clock_timestamp()
		where id = ? and version = ?`, w.Name, w.Timezone, w.ReadOnly, docOrNull(w.QuietHours.V), sc.Workspace(), w.Version)
	if err != nil {
		return fmt.Errorf("edit the workspace: %w", err)
	}
	if n == 0 {
		return stale("workspace")
	}
	return tx.Emit(ctx, sc, Event{Type: event.WorkspaceChanged, SubjectKind: "workspace", SubjectID: sc.Workspace()})
}

// docOrNull is a document, or null when there is none.
func docOrNull[T any](v *T) any {
	if v == nil {
		return nil
	}
	return doc[*T]{v}
}

// ReadOnly reports whether agents may change nothing in the workspace.
func (r Reader) ReadOnly(ctx context.Context, sc access.Scope) (is bool, err error) {
	err = r.db(ctx).Raw(`select read_only from workspaces where id = ?`, sc.Workspace()).Row().Scan(&is)
	return is, found(notSQL(err), "workspace", sc.Workspace())
}

// OpenRuns counts the runs of the workspace that are open.
func (r Reader) OpenRuns(ctx context.Context, sc access.Scope) (n int, err error) {
	if err := r.db(ctx).Raw(`select count(*) from topics where workspace_id = ? and status = 'running'`, sc.Workspace()).Row().Scan(&n); err != nil {
		return 0, fmt.Errorf("count open runs: %w", err)
	}
	return n, nil
}

// WorkingTopics returns topics of the workspace whose operation has not ended, with
// their tasks, in the order of their ids after one of them.
func (r Reader) WorkingTopics(ctx context.Context, sc access.Scope, after string, limit int) ([]WorkingTopic, error) {
	var out []WorkingTopic
	err := r.db(ctx).Raw(`
		select p.id as topic_id, p.task_id from topics p where p.workspace_id = ? and p.status = 'running' and (? = '' or p.id > nullif(?, '')::uuid)
		and exists (select 1 from operations o where o.topic_id = p.id and o.status not in ('done', 'error', 'interrupted'))
		order by p.id limit ?`, sc.Workspace(), after, after, limit).Scan(&out).Error
	if err != nil {
		return nil, fmt.Errorf("list runs that work: %w", err)
	}
	return out, nil
}

// WorkingTopic is an open run and its task.
type WorkingTopic struct{ TopicID, TaskID string }

// IsMember reports whether a person belongs to the workspace.
func (r Reader) IsMember(ctx context.Context, sc access.Scope, personID string) (bool, error) {
	if !id.Valid(personID) {
		return false, nil
	}
	var is bool
	err := r.db(ctx).Raw(`select exists (select 1 from memberships where workspace_id = ? and person_id = ?)`, sc.Workspace(), personID).Row().Scan(&is)
	if err != nil {
		return false, fmt.Errorf("look for a member: %w", err)
	}
	return is, nil
}
