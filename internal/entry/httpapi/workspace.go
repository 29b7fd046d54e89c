package httpapi

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// AuditEntry says who changed what.
type AuditEntry struct {
	ID      string         `json:"id"`
	Actor   Actor          `json:"actor"`
	Action  string         `json:"action"`
	Subject Subject        `json:"subject"`
	Detail  map[string]any `json:"detail"`
	At      Time           `json:"at"`
}

// Subject is what something is about.
type Subject struct {
	Kind string `json:"kind"`
	ID   string `json:"id,omitempty"`
}

// NoteIn is a body in which there may be a note.
type NoteIn struct {
	Body *struct {
		Note string `json:"note,omitempty" maxLength:"2000" doc:"Why, for others"`
	}
}

func (in NoteIn) note() string {
	if in.Body == nil {
		return ""
	}
	return in.Body.Note
}

// Workspace is a room of its own.
type Workspace struct {
	ID              string            `json:"id"`
	Slug            string            `json:"slug"`
	Name            string            `json:"name"`
	Timezone        string            `json:"timezone"`
	PausedAt        *Time             `json:"pausedAt" nullable:"true" doc:"Since when no new run begins"`
	PauseNote       *string           `json:"pauseNote"`
	PausedBy        Maybe[Actor]      `json:"pausedBy" doc:"Who paused it, or changed the note; null when it is not paused, or that was not kept"`
	MaintenanceAt   *Time             `json:"maintenanceAt" nullable:"true" doc:"Since when it runs dry: no new run begins, open ones go to their end"`
	MaintenanceNote *string           `json:"maintenanceNote"`
	MaintenanceBy   Maybe[Actor]      `json:"maintenanceBy" doc:"Likewise"`
	QuietHours      Maybe[QuietHours] `json:"quietHours" doc:"When nothing starts by itself"`
	ReadOnly        bool              `json:"readOnly" doc:"Agents may call no tool that changes something"`
	Version         int64             `json:"version"`
}

// WorkspaceState is the workspace with what goes on in it.
type WorkspaceState struct {
	Workspace
	OpenRuns int `json:"openRuns" doc:"What a pause or maintenance still waits for"`
}

// QuietHours is a window of the week in which nothing starts by itself. It may reach
// over midnight, and then belongs to the day on which it begins.
type QuietHours struct {
	Days     []int  `json:"days,omitempty" maxItems:"7" doc:"On which it begins; 0 is Sunday, none is every day"`
	Start    string `json:"start" doc:"HH:MM"`
	End      string `json:"end" doc:"HH:MM, excluded"`
	Timezone string `json:"timezone,omitempty" maxLength:"100" doc:"IANA name; absent: the workspace's"`
}

func (h *QuietHours) domain() *schedule.QuietHours {
	if h == nil {
		return nil
	}
	return &schedule.QuietHours{Days: h.Days, Start: h.Start, End: h.End, Timezone: h.Timezone}
}

func quietOf(h *schedule.QuietHours) *QuietHours {
	if h == nil {
		return nil
	}
	return &QuietHours{h.Days, h.Start, h.End, h.Timezone}
}

func workspaceOf(w store.Workspace) Workspace {
	return Workspace{
		ID: w.ID, Slug: w.Slug, Name: w.Name, Timezone: w.Timezone, PausedAt: timeOf(w.PausedAt), PauseNote: w.PauseNote, PausedBy: maybeActor(w.PausedBy.V),
		MaintenanceAt: timeOf(w.MaintenanceAt), MaintenanceNote: w.MaintenanceNote, MaintenanceBy: maybeActor(w.MaintenanceBy.V), QuietHours: maybe(quietOf(w.QuietHours.V)),
		ReadOnly: w.ReadOnly, Version: w.Version,
	}
}

// WorkspacePatch changes the workspace.
type WorkspacePatch struct {
	Name       Maybe[string]     `json:"name,omitzero" minLength:"1" maxLength:"200" doc:"What people see"`
	Timezone   Maybe[string]     `json:"timezone,omitzero" maxLength:"100" doc:"IANA name: of schedules and days that name none"`
	QuietHours Maybe[QuietHours] `json:"quietHours,omitzero" doc:"As a whole; null for none"`
	ReadOnly   Maybe[bool]       `json:"readOnly,omitzero" doc:"Agents may call no tool that changes something"`
	Version    *int64            `json:"version,omitempty" doc:"The version that was read"`
}

// CatchUpIn is a body that may ask for what was held.
type CatchUpIn struct {
	Body *struct {
		CatchUp bool `json:"catchUp,omitempty" doc:"One run now of each task that was refused one meanwhile"`
	}
}

type workspaceOut struct {
	ETag string `header:"ETag"`
	Body WorkspaceState
}

func (s *Server) workspaceRoutes() {
	add(s, route{method: "GET", path: "/workspace", name: "getWorkspace", noun: "workspace", role: access.Viewer, does: "The workspace, and how many runs are open"},
		func(ctx context.Context, _ *struct{}) (*workspaceOut, error) {
			ws, err := s.Store.Workspace(ctx, caller(ctx).Scope)
			return s.workspaceAnswer(ctx, ws, err)
		})
	add(s, route{method: "PATCH", path: "/workspace", name: "editWorkspace", noun: "workspace", role: access.Admin, does: "Change the workspace, by JSON merge patch"},
		func(ctx context.Context, in *struct {
			IfMatch string `header:"If-Match" doc:"The ETag that was read; a newer version is refused as stale"`
			Body    WorkspacePatch
		}) (*workspaceOut, error) {
			b := in.Body
			if err := notNull("name", b.Name, "timezone", b.Timezone, "readOnly", b.ReadOnly); err != nil {
				return nil, err
			}
			p := steer.WorkspacePatch{Name: b.Name.V, Timezone: b.Timezone.V, ReadOnly: b.ReadOnly.V}
			if b.QuietHours.Set {
				hours := b.QuietHours.V.domain()
				p.QuietHours = &hours
			}
			ws, err := s.Steer.EditWorkspace(ctx, caller(ctx), expected(in.IfMatch, b.Version), p)
			return s.workspaceAnswer(ctx, ws, err)
		})
	for _, a := range []struct {
		verb, does string
		do         func(ctx context.Context, c access.Caller, note string) (store.Workspace, error)
	}{
		{"pause", "Begin no new run; open runs go on to their end", s.Steer.PauseWorkspace},
		{"stop", "Begin no new run, and interrupt every open one", s.Steer.StopWorkspace},
		{"maintenance", "Run dry: begin no new run, until resumed; openRuns says how many are left", s.Steer.MaintainWorkspace},
	} {
		add(s, route{method: "POST", path: "/workspace/" + a.verb, name: a.verb + "Workspace", noun: "workspace", role: access.Admin, once: true, does: a.does},
			func(ctx context.Context, in *NoteIn) (*workspaceOut, error) {
				ws, err := a.do(ctx, caller(ctx), in.note())
				return s.workspaceAnswer(ctx, ws, err)
			})
	}
	add(s, route{method: "POST", path: "/workspace/resume", name: "resumeWorkspace", noun: "workspace", role: access.Admin, once: true, does: "End pause and maintenance; nothing is caught up unless asked for"},
		func(ctx context.Context, in *CatchUpIn) (*workspaceOut, error) {
			ws, err := s.Steer.ResumeWorkspace(ctx, caller(ctx), deref(in.Body).CatchUp)
			return s.workspaceAnswer(ctx, ws, err)
		})
	add(s, route{method: "GET", path: "/audit", name: "listAudit", noun: "audit", role: access.Admin, does: "Who changed what, the newest first"},
		func(ctx context.Context, in *Paging) (*listOut[AuditEntry], error) {
			p, err := s.page(ctx, *in)
			if err != nil {
				return nil, err
			}
			items, next, err := s.Store.AuditEntries(ctx, caller(ctx).Scope, p)
			if err != nil {
				return nil, err
			}
			out := listed(ctx, s, items, next, func(e store.AuditEntry) AuditEntry {
				return AuditEntry{e.ID, actorOf(e.Actor), e.Action, Subject{e.SubjectKind, e.SubjectID}, e.Detail, Time{e.At}}
			})
			return out, named(ctx, s, out.Body.Items, func(e *AuditEntry) *Actor { return &e.Actor })
		})
}

// workspaceAnswer words what a flow answered.
func (s *Server) workspaceAnswer(ctx context.Context, ws store.Workspace, err error) (*workspaceOut, error) {
	if err != nil {
		return nil, err
	}
	n, err := s.Store.OpenRuns(ctx, caller(ctx).Scope)
	if err != nil {
		return nil, err
	}
	out := &workspaceOut{etag(ws.Version), WorkspaceState{workspaceOf(ws), n}}
	return out, s.nameHolders(ctx, &out.Body.Workspace)
}

// nameHolders fills in what those are called who hold the workspace.
func (s *Server) nameHolders(ctx context.Context, ws *Workspace) error {
	return named(ctx, s, []*Actor{ws.PausedBy.V, ws.MaintenanceBy.V}, func(a **Actor) *Actor { return *a })
}

// operations lists the operations of an address.
func operations(item *huma.PathItem) (out []*huma.Operation) {
	for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Delete, item.Patch} {
		if op != nil {
			out = append(out, op)
		}
	}
	return out
}
