package httpapi

import (
	"context"
	"fmt"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/brief"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// Brief is a card in somebody's inbox.
type Brief struct {
	ID              string          `json:"id"`
	Number          string          `json:"number" doc:"B-7"`
	Type            brief.Type      `json:"type" enum:"decision,result,insight,error"`
	Priority        brief.Priority  `json:"priority" enum:"urgent,normal,info"`
	Title           string          `json:"title"`
	Summary         string          `json:"summary" doc:"Markdown"`
	Cause           string          `json:"cause"`
	Count           int             `json:"count" doc:"How often it happened"`
	Artifacts       []BriefArtifact `json:"artifacts"`
	Actions         []BriefAction   `json:"actions"`
	Task            *string         `json:"task" doc:"T-12"`
	TaskID          *string         `json:"taskId"`
	TopicID         *string         `json:"topicId"`
	OperationID     *string         `json:"operationId"`
	AgentID         *string         `json:"agentId"`
	Receipts        []any           `json:"receipts"`
	DueAt           *Time           `json:"dueAt" nullable:"true"`
	Assignee        *string         `json:"assignee"`
	SnoozedUntil    *Time           `json:"snoozedUntil" nullable:"true"`
	ReadAt          *Time           `json:"readAt" nullable:"true"`
	ResolvedAt      *Time           `json:"resolvedAt" nullable:"true"`
	ResolvedAction  *string         `json:"resolvedAction"`
	ResolvedComment *string         `json:"resolvedComment"`
	ResolvedBy      Maybe[Actor]    `json:"resolvedBy"`
	Version         int64           `json:"version"`
	CreatedAt       Time            `json:"createdAt"`
	UpdatedAt       Time            `json:"updatedAt"`
}

// BriefAction is a button.
type BriefAction struct {
	Key   string           `json:"key"`
	Label string           `json:"label"`
	Kind  brief.ActionKind `json:"kind" enum:"resolve,comment,link"`
	URL   string           `json:"url,omitempty"`
}

// BriefArtifact is something that a brief points at.
type BriefArtifact struct {
	Kind  string `json:"kind"`
	ID    string `json:"id"`
	Title string `json:"title"`
}

func briefOf(names names) func(brief.Brief) Brief {
	return func(b brief.Brief) Brief {
		out := Brief{
			ID: b.ID, Number: fmt.Sprintf("B-%d", b.Number), Type: b.Type, Priority: b.Priority, Title: b.Title, Summary: b.Summary,
			Cause: b.Cause, Count: b.Count, TaskID: b.TaskID, TopicID: b.TopicID, OperationID: b.OperationID, AgentID: b.AgentID,
			Artifacts: each(b.Artifacts, func(a brief.Artifact) BriefArtifact { return BriefArtifact{a.Kind, a.ID, a.Title} }),
			Actions:   each(b.Actions, func(a brief.Action) BriefAction { return BriefAction{a.Key, a.Label, a.Kind, a.URL} }),
			Receipts:  []any{}, DueAt: timeOf(b.DueAt), Assignee: b.AssigneeID, SnoozedUntil: timeOf(b.SnoozedUntil), ReadAt: timeOf(b.ReadAt),
			ResolvedAt: timeOf(b.ResolvedAt), ResolvedAction: b.ResolvedAction, ResolvedComment: b.ResolvedComment,
			Version: b.Version, CreatedAt: Time{b.CreatedAt}, UpdatedAt: Time{b.UpdatedAt},
		}
		if b.TaskID != nil {
			name := names.task(*b.TaskID)
			out.Task = &name
		}
		if b.ResolvedBy != nil {
			by := actorOf(*b.ResolvedBy)
			out.ResolvedBy = maybe(&by)
		}
		return out
	}
}

// ByBrief is the address of a brief.
type ByBrief struct {
	Brief string `path:"brief" maxLength:"100" doc:"Its id or number: B-7"`
}

type briefsIn struct {
	Paging
	State    string `query:"state" enum:"unresolved,resolved,all" default:"unresolved" doc:"Which are asked for"`
	Priority string `query:"priority" enum:"urgent,normal,info" doc:"Of this one"`
	Type     string `query:"type" enum:"decision,result,insight,error" doc:"Of this one"`
	Task     string `query:"task" maxLength:"100" doc:"Of this one: its id or identifier"`
	Assignee string `query:"assignee" maxLength:"100" doc:"A person's id, or me"`
}

type briefOut struct {
	ETag string `header:"ETag"`
	Body Brief
}

// BriefResolved is what pressing a button brought about.
type BriefResolved struct {
	Brief   Brief    `json:"brief"`
	Effects []string `json:"effects"`
}

type resolveIn struct {
	ByBrief
	Body struct {
		Action  string `json:"action" minLength:"1" maxLength:"100" doc:"The key of one of its actions"`
		Comment string `json:"comment,omitempty" maxLength:"20000" doc:"An answer in words: the next run reads it first"`
	}
}

type resolveOut struct{ Body BriefResolved }

type assignIn struct {
	ByBrief
	Body struct {
		Assignee Maybe[string] `json:"assignee" required:"false" doc:"A person's id, or me; null for nobody"`
	}
}

type snoozeIn struct {
	ByBrief
	Body struct {
		Until Maybe[Time] `json:"until" required:"false" doc:"null to wake it"`
	}
}

type briefNoteIn struct {
	ByBrief
	NoteIn
}

func (s *Server) briefRoutes() {
	add(s, route{method: "GET", path: "/briefs", name: "listBriefs", noun: "briefs", role: access.Viewer, does: "The inbox: open briefs, the most urgent first"}, s.briefs)
	add(s, route{method: "GET", path: "/briefs/{brief}", name: "getBrief", noun: "briefs", role: access.Viewer, does: "One brief"},
		func(ctx context.Context, in *ByBrief) (*briefOut, error) {
			briefID, err := s.Store.BriefID(ctx, caller(ctx).Scope, in.Brief)
			if err != nil {
				return nil, err
			}
			b, err := s.Store.Brief(ctx, caller(ctx).Scope, briefID)
			return s.briefAnswer(ctx, b, err)
		})
	add(s, route{method: "POST", path: "/briefs/{brief}/read", name: "readBrief", noun: "briefs", role: access.Operator, once: true, does: "Note that somebody has read it"},
		func(ctx context.Context, in *briefNoteIn) (*briefOut, error) {
			b, err := s.Steer.ReadBrief(ctx, caller(ctx), in.Brief)
			return s.briefAnswer(ctx, b, err)
		})
	add(s, route{method: "POST", path: "/briefs/{brief}/resolve", name: "resolveBrief", noun: "briefs", role: access.Operator, once: true, does: "Press one of its buttons"},
		func(ctx context.Context, in *resolveIn) (*resolveOut, error) {
			b, effects, err := s.Steer.ResolveBrief(ctx, caller(ctx), in.Brief, in.Body.Action, in.Body.Comment)
			if err != nil {
				return nil, err
			}
			out, err := s.briefAnswer(ctx, b, nil)
			if err != nil {
				return nil, err
			}
			return &resolveOut{BriefResolved{out.Body, orNone(effects)}}, nil
		})
	add(s, route{method: "POST", path: "/briefs/{brief}/assign", name: "assignBrief", noun: "briefs", role: access.Operator, once: true, does: "Give it to somebody"},
		func(ctx context.Context, in *assignIn) (*briefOut, error) {
			to := in.Body.Assignee.V
			if to != nil && *to == "me" {
				me := caller(ctx).PersonID
				to = &me
			}
			b, err := s.Steer.AssignBrief(ctx, caller(ctx), in.Brief, to)
			return s.briefAnswer(ctx, b, err)
		})
	add(s, route{method: "POST", path: "/briefs/{brief}/snooze", name: "snoozeBrief", noun: "briefs", role: access.Operator, once: true, does: "Put it away until later"},
		func(ctx context.Context, in *snoozeIn) (*briefOut, error) {
			b, err := s.Steer.SnoozeBrief(ctx, caller(ctx), in.Brief, in.Body.Until.V.std())
			return s.briefAnswer(ctx, b, err)
		})
	add(s, route{method: "POST", path: "/briefs/{brief}/reopen", name: "reopenBrief", noun: "briefs", role: access.Operator, once: true, does: "Open it again"},
		func(ctx context.Context, in *briefNoteIn) (*briefOut, error) {
			b, err := s.Steer.ReopenBrief(ctx, caller(ctx), in.Brief)
			return s.briefAnswer(ctx, b, err)
		})
}

func (s *Server) briefs(ctx context.Context, in *briefsIn) (*listOut[Brief], error) {
	p, err := s.page(ctx, in.Paging)
	if err != nil {
		return nil, err
	}
	f := store.BriefFilter{State: in.State, Priority: in.Priority, Type: in.Type}
	if f.Task, err = s.taskRef(ctx, in.Task); err != nil {
		return nil, err
	}
	if f.Assignee, err = personRef(ctx, in.Assignee); err != nil {
		return nil, err
	}
	items, next, err := s.Store.Briefs(ctx, caller(ctx).Scope, f, p)
	if err != nil {
		return nil, err
	}
	names, err := s.names(ctx, each(items, func(b brief.Brief) string { return deref(b.TaskID) }))
	if err != nil {
		return nil, err
	}
	out := listed(ctx, s, items, next, briefOf(names))
	return out, named(ctx, s, out.Body.Items, resolver)
}

func (s *Server) briefAnswer(ctx context.Context, b brief.Brief, err error) (*briefOut, error) {
	if err != nil {
		return nil, err
	}
	names, err := s.names(ctx, []string{deref(b.TaskID)})
	if err != nil {
		return nil, err
	}
	out := &briefOut{etag(b.Version), briefOf(names)(b)}
	return out, named(ctx, s, []*Brief{&out.Body}, func(b **Brief) *Actor { return resolver(*b) })
}

func resolver(b *Brief) *Actor { return b.ResolvedBy.V }
