package store

import (
	"context"
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
)

// Secret is a sealed value. The key that opens it is not in the database.
type Secret struct {
	ID, WorkspaceID, Name string
	Sealed                []byte
	KeyID                 string
	ExpiresAt             *time.Time
	Version               int64
	CreatedAt, UpdatedAt  time.Time
}

// PutSecret keeps a sealed value under a name, in place of the one before.
func (tx *Tx) PutSecret(ctx context.Context, sc access.Scope, s Secret) error {
	_, err := tx.exec(ctx, `
		insert into secrets (id, workspace_id, name, sealed, key_id, expires_at) values (?, ?, ?, ?, ?, ?)
		on conflict (workspace_id, name) do update set sealed = excluded.sealed, key_id = excluded.key_id,
		  expires_at = excluded.expires_at, version = secrets.version + 1, updated_at = clock_timestamp()`,
		id.New(), sc.Workspace(), s.Name, s.Sealed, s.KeyID, s.ExpiresAt)
	if err != nil {
		return fmt.Errorf("keep a secret: %w", err)
	}
	return nil
}

// Secret returns a sealed value that has not expired.
func (r Reader) Secret(ctx context.Context, sc access.Scope, name string) (Secret, error) {
	var s Secret
	err := r.db(ctx).Where("workspace_id = ? and name = ? and (expires_at is null or expires_at > clock_timestamp())", sc.Workspace(), name).Take(&s).Error
	return s, found(err, "secret", name)
}

// Secrets lists the secrets of the workspace by name, without what is sealed.
func (r Reader) Secrets(ctx context.Context, sc access.Scope) ([]Secret, error) {
	var out []Secret
	err := r.db(ctx).Omit("sealed").Where("workspace_id = ?", sc.Workspace()).Order("name").Limit(1000).Find(&out).Error
	if err != nil {
		return nil, fmt.Errorf("list secrets: %w", err)
	}
	return out, nil
}

// DeleteSecret forgets a secret.
func (tx *Tx) DeleteSecret(ctx context.Context, sc access.Scope, name string) error {
	n, err := tx.exec(ctx, `delete from secrets where workspace_id = ? and name = ?`, sc.Workspace(), name)
	if err != nil {
		return fmt.Errorf("delete a secret: %w", err)
	}
	if n == 0 {
		return errs.Missing("secret", name)
	}
	return nil
}
