package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
)

// AuditEntry says who changed what.
type AuditEntry struct {
	ID          string
	Actor       access.Actor
	Action      string // "token.create"
	SubjectKind string
	SubjectID   string // "" when the subject has none
	Detail      map[string]any
	At          time.Time
}

// Audit writes down who changed what, in the transaction that changes it. Detail
// never holds a secret.
func (tx *Tx) Audit(ctx context.Context, sc access.Scope, e AuditEntry) error {
	detail, err := json.Marshal(e.Detail)
	if err != nil {
		return fmt.Errorf("write the audit of %s: %w", e.Action, err)
	}
	if e.Detail == nil {
		detail = []byte("{}")
	}
	_, err = tx.exec(ctx, `
		insert into audit (id, workspace_id, actor_kind, actor_id, action, subject_kind, subject_id, detail)
		values (?, ?, ?, ?, ?, ?, ?, ?)`,
		id.New(), sc.Workspace(), e.Actor.Kind, optional(e.Actor.ID), e.Action, e.SubjectKind, optional(e.SubjectID), string(detail))
	if err != nil {
		return fmt.Errorf("audit %s: %w", e.Action, err)
	}
	return nil
}

// AuditEntries lists what was changed in the workspace, the newest first.
func (r Reader) AuditEntries(ctx context.Context, sc access.Scope, p Page) ([]AuditEntry, string, error) {
	var rows []struct {
		ID                  string
		ActorKind           access.ActorKind
		ActorID             *string
		Action, SubjectKind string
		SubjectID           *string
		Detail              doc[map[string]any]
		At                  time.Time
	}
	err := r.db(ctx).Raw(`
		select id, actor_kind, actor_id, action, subject_kind, subject_id, detail, at from audit
		where workspace_id = ? and (? = '' or id < nullif(?, '')::uuid) order by id desc limit ?`,
		sc.Workspace(), p.After, p.After, p.limit()+1).Scan(&rows).Error
	if err != nil {
		return nil, "", fmt.Errorf("list the audit: %w", err)
	}
	out := make([]AuditEntry, len(rows))
	for i, r := range rows {
		out[i] = AuditEntry{r.ID, actor(r.ActorKind, r.ActorID), r.Action, r.SubjectKind, orEmpty(r.SubjectID), r.Detail.V, r.At}
	}
	out, next := cut(out, p, func(e AuditEntry) string { return e.ID })
	return out, next, nil
}
