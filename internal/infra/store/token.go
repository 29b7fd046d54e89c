package store

import (
	"context"
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
)

// Token lets a program act in one workspace in the name of a person. The secret
// is not kept, only its hash and the beginning by which people tell it apart.
type Token struct {
	ID, WorkspaceID, PersonID string
	Name                      string
	Role                      access.Role // as asked for
	OwnerRole                 access.Role // of its person in the workspace, "" when they left
	OwnerTimezone             string
	Scopes                    []string // nouns it is limited to; none: all
	Prefix                    string
	ExpiresAt, LastUsedAt     *time.Time
	CreatedAt                 time.Time
}

// Effective returns what the token may do now: at most what its owner may, and
// nothing ("") once they have left the workspace.
func (t Token) Effective() access.Role {
	if !t.OwnerRole.Valid() {
		return ""
	}
	return access.Least(t.Role, t.OwnerRole)
}

type tokenRow struct {
	ID, WorkspaceID, PersonID string
	Name                      string
	Role                      access.Role
	OwnerRole                 *string
	OwnerTimezone             string
	Scopes                    texts
	Prefix                    string
	ExpiresAt, LastUsedAt     *time.Time
	CreatedAt                 time.Time
	Stale                     bool
}

func (r tokenRow) token() Token {
	return Token{
		r.ID, r.WorkspaceID, r.PersonID, r.Name, r.Role, access.Role(orEmpty(r.OwnerRole)), r.OwnerTimezone,
		r.Scopes, r.Prefix, r.ExpiresAt, r.LastUsedAt, r.CreatedAt,
	}
}

const tokenSelect = `
	select t.id, t.workspace_id, t.person_id, t.name, t.role, m.role as owner_role, p.timezone as owner_timezone,
	  t.scopes, t.prefix, t.expires_at, t.last_used_at, t.created_at,
	  t.last_used_at is null or t.last_used_at < clock_timestamp() - interval '1 minute' as stale
	from tokens t join people p on p.id = t.person_id
	left join memberships m on m.workspace_id = t.workspace_id and m.person_id = t.person_id `

// CreateToken keeps a token under the hash of its secret.
func (tx *Tx) CreateToken(ctx context.Context, sc access.Scope, t Token, secretHash []byte) (Token, error) {
	t.ID = id.New()
	_, err := tx.exec(ctx, `
		insert into tokens (id, workspace_id, person_id, name, role, scopes, token_hash, prefix, expires_at)
		values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		t.ID, sc.Workspace(), t.PersonID, t.Name, t.Role, texts(t.Scopes), secretHash, t.Prefix, t.ExpiresAt)
	if violates(err, "tokens_token_hash_key") {
		return Token{}, errs.New(errs.Conflict, "conflict", "There is a token with this secret already.")
	}
	if err != nil {
		return Token{}, fmt.Errorf("create a token: %w", err)
	}
	return tx.Token(ctx, sc, t.ID)
}

// Token returns one token of the workspace.
func (r Reader) Token(ctx context.Context, sc access.Scope, tokenID string) (Token, error) {
	if !id.Valid(tokenID) {
		return Token{}, errs.Missing("token", tokenID)
	}
	var row tokenRow
	err := r.db(ctx).Raw(tokenSelect+`where t.workspace_id = ? and t.id = ?`, sc.Workspace(), tokenID).Take(&row).Error
	return row.token(), found(err, "token", tokenID)
}

// Tokens lists the tokens of the workspace, the newest first.
func (r Reader) Tokens(ctx context.Context, sc access.Scope, p Page) ([]Token, string, error) {
	var rows []tokenRow
	err := r.db(ctx).Raw(tokenSelect+`
		where t.workspace_id = ? and (? = '' or t.id < nullif(?, '')::uuid) order by t.id desc limit ?`,
		sc.Workspace(), p.After, p.After, p.limit()+1).Scan(&rows).Error
	if err != nil {
		return nil, "", fmt.Errorf("list tokens: %w", err)
	}
	rows, next := cut(rows, p, func(r tokenRow) string { return r.ID })
	out := make([]Token, len(rows))
	for i, row := range rows {
		out[i] = row.token()
	}
	return out, next, nil
}

// DeleteToken makes a token useless.
func (tx *Tx) DeleteToken(ctx context.Context, sc access.Scope, tokenID string) error {
	if !id.Valid(tokenID) {
		return errs.Missing("token", tokenID)
	}
	n, err := tx.exec(ctx, `delete from tokens where workspace_id = ? and id = ?`, sc.Workspace(), tokenID)
	if err != nil {
		return fmt.Errorf("delete a token: %w", err)
	}
	if n == 0 {
		return errs.Missing("token", tokenID)
	}
	return nil
}

// TokenOf returns the living token of a secret, for the house as a whole: it is
// the token that says which workspace it is for. It is NotFound when there is
// none, when it has expired, or when its person was disabled.
func (s *Store) TokenOf(ctx context.Context, secretHash []byte) (Token, error) {
	var row tokenRow
	err := s.db(ctx).Raw(tokenSelect+`
		where t.token_hash = ? and (t.expires_at is null or t.expires_at > clock_timestamp()) and p.disabled_at is null`,
		secretHash).Take(&row).Error
	if err := found(err, "token", "of this secret"); err != nil {
		return Token{}, err
	}
	if row.Stale {
		if err := s.db(ctx).Exec(`update tokens set last_used_at = clock_timestamp() where id = ?`, row.ID).Error; err != nil {
			return Token{}, fmt.Errorf("note that a token is used: %w", err)
		}
	}
	return row.token(), nil
}
