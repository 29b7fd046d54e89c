package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/agent"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
)

// agentRow is an agent beside its current revision.
type agentRow struct {
	ID, WorkspaceID, Slug, Name, Description string
	IsDefault                                bool
	Origin                                   string
	CurrentRevisionID                        string
	Number                                   int
	Digest                                   string
	Profile                                  doc[agent.Profile]
	PausedAt, DisabledAt                     *time.Time
	PauseNote                                *string
	PausedBy                                 doc[*access.Actor]
	QuietHours                               doc[*schedule.QuietHours]
	Version                                  int64
	CreatedAt, UpdatedAt                     time.Time
}

const agentSelect = `
	select a.id, a.workspace_id, a.slug, a.name, a.description, a.is_default, a.origin, a.current_revision_id,
	  v.number, v.digest, v.profile, a.paused_at, a.disabled_at, a.pause_note, a.paused_by, a.quiet_hours, a.version, a.created_at, a.updated_at
	from agents a join agent_revisions v on v.id = a.current_revision_id `

func (row agentRow) agent() agent.Agent {
	return agent.Agent{
		ID: row.ID, WorkspaceID: row.WorkspaceID, Slug: row.Slug, Name: row.Name, Description: row.Description,
		Default: row.IsDefault, Origin: row.Origin, RevisionID: row.CurrentRevisionID, Revision: row.Number,
		Digest: row.Digest, Profile: row.Profile.V, PausedAt: row.PausedAt, PauseNote: orEmpty(row.PauseNote), PausedBy: row.PausedBy.V,
		DisabledAt: row.DisabledAt, QuietHours: row.QuietHours.V,
		Version: row.Version, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}
}

// Agent returns an agent by its id or slug.
func (r Reader) Agent(ctx context.Context, sc access.Scope, ref string) (agent.Agent, error) {
	return r.oneAgent(ctx, ref, `where a.workspace_id = ? and `+idOr(ref, "a.id", "a.slug"), sc.Workspace(), strings.ToLower(ref))
}

// DefaultAgent returns the agent of tasks that name none.
func (r Reader) DefaultAgent(ctx context.Context, sc access.Scope) (agent.Agent, error) {
	return r.oneAgent(ctx, "by default", `where a.workspace_id = ? and a.is_default`, sc.Workspace())
}

func (r Reader) oneAgent(ctx context.Context, ref, where string, args ...any) (agent.Agent, error) {
	var rows []agentRow
	if err := r.db(ctx).Raw(agentSelect+where, args...).Scan(&rows).Error; err != nil {
		return agent.Agent{}, fmt.Errorf("read an agent: %w", err)
	}
	if len(rows) == 0 {
		return agent.Agent{}, errs.Missing("agent", ref)
	}
	return rows[0].agent(), nil
}

// AgentRevision returns an agent as it was in one revision.
func (r Reader) AgentRevision(ctx context.Context, sc access.Scope, agentID, revisionID string) (agent.Profile, error) {
	var p doc[agent.Profile]
	err := r.db(ctx).Raw(`select profile from agent_revisions where workspace_id = ? and agent_id = ? and id = ?`,
		sc.Workspace(), agentID, revisionID).Row().Scan(&p)
	return p.V, found(notSQL(err), "agent revision", revisionID)
}

// Agents returns the agents of the workspace, by name.
func (r Reader) Agents(ctx context.Context, sc access.Scope) ([]agent.Agent, error) {
	var rows []agentRow
	err := r.db(ctx).Raw(agentSelect+`where a.workspace_id = ? order by a.name, a.id limit 1000`, sc.Workspace()).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	out := make([]agent.Agent, len(rows))
	for i, row := range rows {
		out[i] = row.agent()
	}
	return out, nil
}

// CreateAgent makes an agent with its first revision.
func (tx *Tx) CreateAgent(ctx context.Context, sc access.Scope, a agent.Agent, by access.Actor) (agent.Agent, error) {
	a.ID, a.RevisionID, a.Revision, a.Digest = id.New(), id.New(), 1, a.Profile.Digest()
	_, err := tx.exec(ctx, `
		insert into agents (id, workspace_id, slug, name, description, is_default, origin, current_revision_id)
		values (?, ?, ?, ?, ?, ?, ?, ?)`,
		a.ID, sc.Workspace(), a.Slug, a.Name, a.Description, a.Default, a.Origin, a.RevisionID)
	if violates(err, "agents_workspace_id_slug_key") {
		return agent.Agent{}, errs.New(errs.Conflict, "conflict", "There is an agent %s already.", a.Slug)
	}
	if err == nil {
		err = tx.insertRevision(ctx, sc, a, by)
	}
	if err != nil {
		return agent.Agent{}, fmt.Errorf("create an agent: %w", err)
	}
	return a, tx.Emit(ctx, sc, Event{Type: "agent.changed", SubjectKind: "agent", SubjectID: a.ID})
}

// ReviseAgent gives an agent a new revision, when the profile differs from the current one.
func (tx *Tx) ReviseAgent(ctx context.Context, sc access.Scope, a agent.Agent, by access.Actor) (agent.Agent, error) {
	digest := a.Profile.Digest()
	if digest != a.Digest {
		a.RevisionID, a.Digest = id.New(), digest
		a.Revision++
		if err := tx.insertRevision(ctx, sc, a, by); err != nil {
			return agent.Agent{}, fmt.Errorf("revise an agent: %w", err)
		}
	}
	n, err := tx.exec(ctx, `
		update agents set name = ?, description = ?, current_revision_id = ?, quiet_hours = ?, version = version + 1, updated_at = clock_timestamp()
		where workspace_id = ? and id = ? and version = ?`,
		a.Name, a.Description, a.RevisionID, docOrNull(a.QuietHours), sc.Workspace(), a.ID, a.Version)
	if err != nil {
		return agent.Agent{}, fmt.Errorf("revise an agent: %w", err)
	}
	if n == 0 {
		return agent.Agent{}, stale("agent")
	}
	a.Version++
	return a, tx.Emit(ctx, sc, Event{Type: "agent.changed", SubjectKind: "agent", SubjectID: a.ID})
}

// PauseAgent stops every new run of an agent, or lets them begin again when by is nil.
func (tx *Tx) PauseAgent(ctx context.Context, sc access.Scope, agentID string, by *access.Actor, note string) error {
	_, err := tx.exec(ctx, `
		update agents set paused_at = case when ? then coalesce(paused_at, clock_timestamp()) end, pause_note = nullif(?, ''), paused_by = ?,
		  version = version + 1, updated_at = clock_timestamp()
		where workspace_id = ? and id = ?`, by != nil, note, docOrNull(by), sc.Workspace(), agentID)
	if err != nil {
		return fmt.Errorf("pause an agent: %w", err)
	}
	return tx.Emit(ctx, sc, Event{Type: "agent.changed", SubjectKind: "agent", SubjectID: agentID})
}

func (tx *Tx) insertRevision(ctx context.Context, sc access.Scope, a agent.Agent, by access.Actor) error {
	_, err := tx.exec(ctx, `
		insert into agent_revisions (id, workspace_id, agent_id, number, digest, profile, created_by_kind, created_by_id)
		values (?, ?, ?, ?, ?, ?, ?, ?)`,
		a.RevisionID, sc.Workspace(), a.ID, a.Revision, a.Digest, doc[agent.Profile]{a.Profile}, by.Kind, optional(by.ID))
	return err
}

func stale(noun string) error {
	return errs.New(errs.Stale, "stale", "The %s was changed meanwhile. Read it again.", noun)
}
