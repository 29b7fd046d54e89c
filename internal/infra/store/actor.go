package store

import (
	"context"
	"fmt"

	"github.com/dogwatch/dogwatch/internal/domain/access"
)

// ActorNames returns what people, tokens and agents of the workspace are called,
// by their ids. Who has left is left out.
func (r Reader) ActorNames(ctx context.Context, sc access.Scope, ids []string) (map[string]string, error) {
	out := map[string]string{}
	if len(ids) == 0 {
		return out, nil
	}
	var rows []struct{ ID, Name string }
	err := r.db(ctx).Raw(`
		select p.id, p.name from people p join memberships m on m.person_id = p.id where m.workspace_id = ? and p.id in ?
		union all select id, name from tokens where workspace_id = ? and id in ?
		union all select id, name from agents where workspace_id = ? and id in ?`,
		sc.Workspace(), ids, sc.Workspace(), ids, sc.Workspace(), ids).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read the names of actors: %w", err)
	}
	for _, row := range rows {
		out[row.ID] = row.Name
	}
	return out, nil
}
