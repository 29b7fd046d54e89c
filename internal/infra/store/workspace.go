package store

import (
	"context"
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
)

// Workspace is a room of its own: nothing in it is seen from another.
type Workspace struct {
	ID, Slug, Name, Timezone string
	PausedAt                 *time.Time
	PauseNote                *string
	ReadOnly                 bool
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

// PauseWorkspace stops every new run of the workspace; nil resumes it.
func (tx *Tx) PauseWorkspace(ctx context.Context, sc access.Scope, paused bool, note string) error {
	_, err := tx.exec(ctx, `
		update workspaces set paused_at = case when ? then coalesce(paused_at, clock_timestamp()) end,
		  pause_note = case when ? then nullif(?, '') end, version = version + 1, updated_at = clock_timestamp()
		where id = ?`, paused, paused, note, sc.Workspace())
	if err != nil {
		return fmt.Errorf("pause the workspace: %w", err)
	}
	return tx.Emit(ctx, sc, Event{Type: "workspace.changed", SubjectKind: "workspace", SubjectID: sc.Workspace()})
}

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
