package store

import (
	"context"
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
)

// File gives a name to bytes that the blob store keeps under their hash.
type File struct {
	ID, WorkspaceID string
	Name, MediaType string
	Size            int64
	SHA256          string `gorm:"column:sha256"`
	CreatedByKind   access.ActorKind
	CreatedByID     *string
	CreatedAt       time.Time
}

// CreatedBy returns who uploaded the file.
func (f File) CreatedBy() access.Actor { return actor(f.CreatedByKind, f.CreatedByID) }

// CreateFile gives bytes a name. They are in the blob store before.
func (tx *Tx) CreateFile(ctx context.Context, sc access.Scope, f File, by access.Actor) (File, error) {
	f.ID = id.New()
	_, err := tx.exec(ctx, `
		insert into files (id, workspace_id, name, media_type, size, sha256, created_by_kind, created_by_id)
		values (?, ?, ?, ?, ?, ?, ?, ?)`,
		f.ID, sc.Workspace(), f.Name, f.MediaType, f.Size, f.SHA256, by.Kind, optional(by.ID))
	if err != nil {
		return File{}, fmt.Errorf("create a file: %w", err)
	}
	return tx.File(ctx, sc, f.ID)
}

// File returns a file of the workspace.
func (r Reader) File(ctx context.Context, sc access.Scope, fileID string) (File, error) {
	if !id.Valid(fileID) {
		return File{}, errs.Missing("file", fileID)
	}
	var f File
	err := r.db(ctx).Where("workspace_id = ? and id = ?", sc.Workspace(), fileID).Take(&f).Error
	return f, found(err, "file", fileID)
}

// AttachFile hangs a file on a task; it is no error when it hangs there already.
func (tx *Tx) AttachFile(ctx context.Context, sc access.Scope, taskID, fileID string) error {
	if _, err := tx.File(ctx, sc, fileID); err != nil {
		return errs.BadField("body.files", "invalid", fileID, "There is no file %s.", fileID)
	}
	_, err := tx.exec(ctx, `insert into task_files (workspace_id, task_id, file_id) values (?, ?, ?) on conflict do nothing`, sc.Workspace(), taskID, fileID)
	if err != nil {
		return fmt.Errorf("attach a file: %w", err)
	}
	return nil
}
