package httpapi

import (
	"context"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/agent"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// Agent is who works: its current revision.
type Agent struct {
	ID          string            `json:"id"`
	Slug        string            `json:"slug"`
	Name        string            `json:"name"`
	Description string            `json:"description"`
	IsDefault   bool              `json:"isDefault" doc:"Of tasks that name none"`
	Origin      string            `json:"origin" enum:"person,bundle,built_in"`
	Revision    int               `json:"revision"`
	RevisionID  string            `json:"revisionId"`
	Digest      string            `json:"digest"`
	Profile     Profile           `json:"profile"`
	PausedAt    *Time             `json:"pausedAt" nullable:"true" doc:"Since when it begins no new run"`
	PauseNote   *string           `json:"pauseNote"`
	PausedBy    Maybe[Actor]      `json:"pausedBy" doc:"Who paused it, or changed the note; null when it is not paused, or that was not kept"`
	QuietHours  Maybe[QuietHours] `json:"quietHours" doc:"When none of its tasks starts by itself"`
	DisabledAt  *Time             `json:"disabledAt" nullable:"true"`
	Version     int64             `json:"version"`
	CreatedAt   Time              `json:"createdAt"`
	UpdatedAt   Time              `json:"updatedAt"`
}

// Profile is what an agent is.
type Profile struct {
	Model  string   `json:"model,omitempty" maxLength:"200" doc:"provider/model; absent: the instance's default"`
	System string   `json:"system" maxLength:"100000" doc:"The system prompt"`
	Tools  []string `json:"tools" maxItems:"200" doc:"What it may call; * for all"`
	Limits *Limits  `json:"limits,omitempty" doc:"Of one operation"`
}

func agentOf(a agent.Agent) Agent {
	p := Profile{Model: a.Profile.Model, System: a.Profile.System, Tools: orNone(a.Profile.Tools)}
	if l := a.Profile.Limits; l != (operation.Limits{}) {
		p.Limits = &Limits{l.Steps, l.Tokens, l.USD, l.Seconds}
	}
	return Agent{
		ID: a.ID, Slug: a.Slug, Name: a.Name, Description: a.Description, IsDefault: a.Default, Origin: a.Origin,
		Revision: a.Revision, RevisionID: a.RevisionID, Digest: a.Digest, Profile: p,
		PausedAt: timeOf(a.PausedAt), PauseNote: textOrNull(a.PauseNote), PausedBy: maybeActor(a.PausedBy), QuietHours: maybe(quietOf(a.QuietHours)),
		DisabledAt: timeOf(a.DisabledAt), Version: a.Version, CreatedAt: Time{a.CreatedAt}, UpdatedAt: Time{a.UpdatedAt},
	}
}

func (p Profile) domain() agent.Profile {
	out := agent.Profile{Model: p.Model, System: p.System, Tools: orNone(p.Tools)}
	if l := p.Limits; l != nil {
		out.Limits = operation.Limits{Steps: l.Steps, Tokens: l.Tokens, USD: l.USD, Seconds: l.Seconds}
	}
	return out
}

// AgentCreate is what an agent is made of.
type AgentCreate struct {
	Slug        string  `json:"slug" pattern:"^[a-z0-9][a-z0-9-]{0,62}$" doc:"How it is addressed: lower case, digits and hyphens, at most 63; never changed"`
	Name        string  `json:"name" minLength:"1" maxLength:"200" doc:"What people see"`
	Description string  `json:"description,omitempty" maxLength:"10000" doc:"What it is for, for people and for agents that choose"`
	Profile     Profile `json:"profile" doc:"What it is: model, words, tools, limits"`
}

// AgentPatch changes an agent; a changed profile is a new revision.
type AgentPatch struct {
	Name        Maybe[string]     `json:"name,omitzero" minLength:"1" maxLength:"200" doc:"What people see"`
	Description Maybe[string]     `json:"description,omitzero" maxLength:"10000" doc:"What it is for; null: nothing"`
	Profile     Maybe[Profile]    `json:"profile,omitzero" doc:"As a whole"`
	QuietHours  Maybe[QuietHours] `json:"quietHours,omitzero" doc:"As a whole; null for none"`
	Version     *int64            `json:"version,omitempty" doc:"The version that was read"`
}

// ByAgent is the address of an agent.
type ByAgent struct {
	Agent string `path:"agent" maxLength:"100" doc:"Its id or slug"`
}

type agentOut struct {
	ETag string `header:"ETag"`
	Body Agent
}

func (s *Server) agentRoutes() {
	add(s, route{method: "GET", path: "/agents", name: "listAgents", noun: "agents", role: access.Viewer, does: "The agents, by name"},
		func(ctx context.Context, in *Paging) (*listOut[Agent], error) {
			items, err := s.Store.Agents(ctx, caller(ctx).Scope)
			if err != nil {
				return nil, err
			}
			out, err := sliced(ctx, s, *in, items, func(a agent.Agent) string { return a.ID }, agentOf)
			if err != nil {
				return nil, err
			}
			return out, named(ctx, s, out.Body.Items, agentHolder)
		})
	add(s, route{method: "GET", path: "/agents/{agent}", name: "getAgent", noun: "agents", role: access.Viewer, does: "One agent"},
		func(ctx context.Context, in *ByAgent) (*agentOut, error) {
			a, err := s.Store.Agent(ctx, caller(ctx).Scope, in.Agent)
			return s.agentAnswer(ctx, a, err)
		})
	add(s, route{method: "POST", path: "/agents", name: "createAgent", noun: "agents", role: access.Admin, status: 201, once: true, does: "Make an agent"}, s.createAgent)
	add(s, route{method: "PATCH", path: "/agents/{agent}", name: "editAgent", noun: "agents", role: access.Admin, does: "Change an agent"}, s.editAgent)
	add(s, route{method: "POST", path: "/agents/{agent}/pause", name: "pauseAgent", noun: "agents", role: access.Admin, once: true, does: "Begin no new run of an agent; open runs go on to their end"},
		func(ctx context.Context, in *struct {
			ByAgent
			NoteIn
		}) (*agentOut, error) {
			a, err := s.Steer.PauseAgent(ctx, caller(ctx), in.Agent, in.note())
			return s.agentAnswer(ctx, a, err)
		})
	add(s, route{method: "POST", path: "/agents/{agent}/resume", name: "resumeAgent", noun: "agents", role: access.Admin, once: true, does: "Let an agent begin runs again; nothing is caught up unless asked for"},
		func(ctx context.Context, in *struct {
			ByAgent
			CatchUpIn
		}) (*agentOut, error) {
			a, err := s.Steer.ResumeAgent(ctx, caller(ctx), in.Agent, deref(in.Body).CatchUp)
			return s.agentAnswer(ctx, a, err)
		})
}

func agentHolder(a *Agent) *Actor { return a.PausedBy.V }

// agentAnswer words what the store or a flow answered.
func (s *Server) agentAnswer(ctx context.Context, a agent.Agent, err error) (*agentOut, error) {
	if err != nil {
		return nil, err
	}
	out := &agentOut{etag(a.Version), agentOf(a)}
	return out, named(ctx, s, []*Agent{&out.Body}, func(a **Agent) *Actor { return agentHolder(*a) })
}

func (s *Server) createAgent(ctx context.Context, in *struct{ Body AgentCreate }) (*agentOut, error) {
	c, b := caller(ctx), in.Body
	var a agent.Agent
	err := s.Store.InTx(ctx, func(tx *store.Tx) error {
		made, err := tx.CreateAgent(ctx, c.Scope, agent.Agent{
			Slug: b.Slug, Name: b.Name, Description: b.Description, Origin: "person", Profile: b.Profile.domain(),
		}, c.Actor)
		if err != nil {
			return err
		}
		if a, err = tx.Agent(ctx, c.Scope, made.ID); err != nil {
			return err
		}
		return tx.Audit(ctx, c.Scope, store.AuditEntry{Actor: c.Actor, Action: "agent.create", SubjectKind: "agent", SubjectID: a.ID, Detail: map[string]any{"slug": a.Slug}})
	})
	return s.agentAnswer(ctx, a, err)
}

func (s *Server) editAgent(ctx context.Context, in *struct {
	ByAgent
	IfMatch string `header:"If-Match" doc:"The ETag that was read; a newer version is refused as stale"`
	Body    AgentPatch
}) (*agentOut, error) {
	c, b := caller(ctx), in.Body
	if err := notNull("name", b.Name, "profile", b.Profile); err != nil {
		return nil, err
	}
	var a agent.Agent
	err := s.Store.InTx(ctx, func(tx *store.Tx) error {
		old, err := tx.Agent(ctx, c.Scope, in.Agent)
		if err != nil {
			return err
		}
		if v := expected(in.IfMatch, b.Version); v != nil {
			old.Version = *v
		}
		if b.Name.V != nil {
			old.Name = *b.Name.V
		}
		if b.Description.Set {
			old.Description = deref(b.Description.V)
		}
		if b.Profile.V != nil {
			old.Profile = b.Profile.V.domain()
		}
		if b.QuietHours.Set {
			if old.QuietHours, err = s.Steer.QuietHoursOf(ctx, tx.Reader, c, b.QuietHours.V.domain()); err != nil {
				return err
			}
		}
		if _, err := tx.ReviseAgent(ctx, c.Scope, old, c.Actor); err != nil {
			return err
		}
		if a, err = tx.Agent(ctx, c.Scope, old.ID); err != nil {
			return err
		}
		return tx.Audit(ctx, c.Scope, store.AuditEntry{Actor: c.Actor, Action: "agent.edit", SubjectKind: "agent", SubjectID: a.ID, Detail: map[string]any{"revision": a.Revision}})
	})
	return s.agentAnswer(ctx, a, err)
}
