package store

import (
	"context"
	"errors"
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

// KeyFingerprint returns the fingerprint of the secret key that the database is used
// with, which is mine for the first who asks. It is the whole house's.
func (s *Store) KeyFingerprint(ctx context.Context, mine []byte) (kept []byte, err error) {
	if _, err := s.pool.Exec(ctx, `insert into key_fingerprint (fingerprint) values ($1) on conflict do nothing`, mine); err != nil {
		return nil, fmt.Errorf("keep the fingerprint of the secret key: %w", err)
	}
	// A statement of its own: who came second waited for the first, and sees it now.
	if err := s.pool.QueryRow(ctx, `select fingerprint from key_fingerprint`).Scan(&kept); err != nil {
		return nil, fmt.Errorf("read the fingerprint of the secret key: %w", err)
	}
	return kept, nil
}

// ErrInUse says that other processes work on the database.
var ErrInUse = errors.New("other processes work on this database; stop them first")

// ForgetKey lets the next who starts bring another secret key, and returns how many
// secrets were sealed until now. It is the whole house's, and refused while somebody is
// in: a process that runs keeps its key, and would not be one house with the next.
func (s *Store) ForgetKey(ctx context.Context) (sealed int, err error) {
	var others int
	err = s.pool.QueryRow(ctx, `select count(*) from pg_stat_activity a join pg_stat_activity me on me.pid = pg_backend_pid()
		where a.datname = me.datname and a.application_name = me.application_name and a.pid <> me.pid`).Scan(&others)
	if err != nil {
		return 0, fmt.Errorf("look who works on the database: %w", err)
	}
	if others > 0 {
		return 0, ErrInUse
	}
	if _, err := s.pool.Exec(ctx, `delete from key_fingerprint`); err != nil {
		return 0, fmt.Errorf("forget the fingerprint of the secret key: %w", err)
	}
	if err := s.pool.QueryRow(ctx, `select count(*) from secrets`).Scan(&sealed); err != nil {
		return 0, fmt.Errorf("count the secrets: %w", err)
	}
	return sealed, nil
}
