package httpapi

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/dogwatch/dogwatch/internal/domain/access"
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

type workspaceOut struct{ Body Workspace }

func (s *Server) workspaceRoutes() {
	pause := func(paused bool) func(context.Context, *NoteIn) (*workspaceOut, error) {
		return func(ctx context.Context, in *NoteIn) (*workspaceOut, error) {
			c := caller(ctx)
			action := "workspace.resume"
			if paused {
				action = "workspace.pause"
			}
			var ws store.Workspace
			err := s.Store.InTx(ctx, func(tx *store.Tx) (err error) {
				if err = tx.PauseWorkspace(ctx, c.Scope, paused, in.note()); err != nil {
					return err
				}
				err = tx.Audit(ctx, c.Scope, store.AuditEntry{Actor: c.Actor, Action: action, SubjectKind: "workspace", SubjectID: c.Scope.Workspace()})
				if err == nil {
					ws, err = tx.Workspace(ctx, c.Scope)
				}
				return err
			})
			return &workspaceOut{workspaceOf(ws)}, err
		}
	}
	add(s, route{method: "POST", path: "/workspace/pause", name: "pauseWorkspace", noun: "workspace", role: access.Admin, once: true, does: "Begin no new run"}, pause(true))
	add(s, route{method: "POST", path: "/workspace/resume", name: "resumeWorkspace", noun: "workspace", role: access.Admin, once: true, does: "Begin runs again"}, pause(false))
	add(s, route{method: "GET", path: "/audit", name: "listAudit", noun: "audit", role: access.Admin, does: "Who changed what, the newest first"},
		func(ctx context.Context, in *Paging) (*listOut[AuditEntry], error) {
			p, err := s.page(ctx, "audit", *in)
			if err != nil {
				return nil, err
			}
			items, next, err := s.Store.AuditEntries(ctx, caller(ctx).Scope, p)
			if err != nil {
				return nil, err
			}
			out := listed(ctx, s, "audit", items, next, func(e store.AuditEntry) AuditEntry {
				return AuditEntry{e.ID, actorOf(e.Actor), e.Action, Subject{e.SubjectKind, e.SubjectID}, e.Detail, Time{e.At}}
			})
			return out, named(ctx, s, out.Body.Items, func(e *AuditEntry) *Actor { return &e.Actor })
		})
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
