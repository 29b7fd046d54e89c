package httpapi

import (
	"context"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// TaskWords narrow a choice of tasks: in the query of a list, and in the body of an
// order for many of them.
type TaskWords struct {
	Status        []string `query:"status" json:"status,omitempty" enum:"backlog,scheduled,running,paused,completed,failed,canceled" doc:"Any of these"`
	Priority      []string `query:"priority" json:"priority,omitempty" enum:"none,urgent,high,normal,low" doc:"Any of these"`
	AssigneeAgent string   `query:"assigneeAgent" json:"assigneeAgent,omitempty" maxLength:"100" doc:"Its id or slug"`
	AssigneeUser  string   `query:"assigneeUser" json:"assigneeUser,omitempty" maxLength:"100" doc:"A person's id, or me"`
	Parent        string   `query:"parent" json:"parent,omitempty" maxLength:"100" doc:"A task, or none for those at the top"`
	Automation    string   `query:"automation" json:"automation,omitempty" enum:"heartbeat,schedule,every,once,none" doc:"What makes it run; once: a start time, none: nothing"`
	Label         string   `query:"label" json:"label,omitempty" maxLength:"50" doc:"Has this one"`
	Standing      string   `query:"standing" json:"standing,omitempty" enum:"false,true,all" doc:"Also, or only, tasks that stand for cron jobs, which are left out otherwise"`
	Q             string   `query:"q" json:"q,omitempty" maxLength:"200" doc:"In name, identifier and instruction"`
}

// taskFilter looks up what the words name.
func (s *Server) taskFilter(ctx context.Context, w TaskWords) (f store.TaskFilter, err error) {
	f = store.TaskFilter{
		Statuses: w.Status, Priorities: w.Priority, Automation: w.Automation, Label: w.Label, Query: w.Q, Parent: w.Parent,
	}
	if w.Standing != "false" {
		f.CronJobs = w.Standing
	}
	if f.AssigneeAgent, err = s.agentRef(ctx, w.AssigneeAgent); err != nil {
		return f, err
	}
	if f.AssigneeUser, err = personRef(ctx, w.AssigneeUser); err != nil {
		return f, err
	}
	if w.Parent != "none" {
		f.Parent, err = s.taskRef(ctx, w.Parent)
	}
	return f, err
}

// BulkAsk is an order for many tasks: those of ids, or those that the filter matches.
type BulkAsk struct {
	Action string     `json:"action" enum:"pause,resume,cancel" doc:"What is done to each, as its own button does it"`
	IDs    []string   `json:"ids,omitempty" maxItems:"1000" doc:"Tasks, by id or identifier; one that there is not refuses the whole"`
	Filter *TaskWords `json:"filter,omitempty" doc:"As GET /tasks takes it; {} is all. More than 1,000 tasks are refused"`
	Note   string     `json:"note,omitempty" maxLength:"2000" doc:"Stands in the history of each task"`
}

// Bulk is what came of an order for many tasks.
type Bulk struct {
	ID        string        `json:"id"`
	Action    string        `json:"action" enum:"pause,resume,cancel,undo"`
	UndoOf    *string       `json:"undoOf" doc:"Of an undo: what it takes back"`
	Note      *string       `json:"note"`
	Matched   int           `json:"matched"`
	Changed   int           `json:"changed"`
	Pending   int           `json:"pending" doc:"Still to come, where there are very many: read it again"`
	Skipped   []BulkSkipped `json:"skipped" doc:"Tasks that stay as they are, and why"`
	Undoable  bool          `json:"undoable"`
	Undone    bool          `json:"undone" doc:"It was taken back"`
	CreatedBy Actor         `json:"createdBy"`
	CreatedAt Time          `json:"createdAt"`
}

// BulkSkipped is a task that an order left as it is.
type BulkSkipped struct {
	Task   string `json:"task" doc:"T-12"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

func bulkOf(b store.Bulk) Bulk {
	out := Bulk{
		ID: b.ID, Action: b.Action, UndoOf: textOrNull(b.UndoOf), Note: textOrNull(b.Note), Matched: len(b.Tasks),
		Changed: b.Count(store.BulkChanged), Pending: b.Count(store.BulkPending), Skipped: []BulkSkipped{},
		Undoable: b.Undoable(), Undone: b.Undone, CreatedBy: actorOf(b.Actor), CreatedAt: Time{b.CreatedAt},
	}
	for _, t := range b.Tasks {
		if t.State == store.BulkSkipped {
			out.Skipped = append(out.Skipped, BulkSkipped{t.Identifier, t.Code, t.Detail})
		}
	}
	return out
}

// ByBulk is the address of an order for many tasks.
type ByBulk struct {
	ID string `path:"id" maxLength:"100" doc:"Its id"`
}

type bulkOut struct{ Body Bulk }

func (s *Server) bulkRoutes() {
	answer := func(ctx context.Context, b store.Bulk, err error) (*bulkOut, error) {
		if err != nil {
			return nil, err
		}
		out := &bulkOut{bulkOf(b)}
		return out, named(ctx, s, []*Bulk{&out.Body}, func(b **Bulk) *Actor { return &(*b).CreatedBy })
	}
	add(s, route{method: "POST", path: "/tasks/bulk", name: "bulkTasks", noun: "tasks", role: access.Operator, once: true,
		does: "Pause, resume or cancel many tasks, each by itself: what cannot be done to one is in the answer"},
		func(ctx context.Context, in *struct{ Body BulkAsk }) (*bulkOut, error) {
			ask := steer.BulkAsk{Action: in.Body.Action, Note: in.Body.Note, Tasks: in.Body.IDs}
			if in.Body.Filter != nil {
				f, err := s.taskFilter(ctx, *in.Body.Filter)
				if err != nil {
					return nil, err
				}
				ask.Filter = &f
			}
			b, err := s.Steer.Bulk(ctx, caller(ctx), ask)
			return answer(ctx, b, err)
		})
	add(s, route{method: "GET", path: "/tasks/bulk/{id}", name: "getBulk", noun: "tasks", role: access.Viewer, does: "What came of an order for many tasks; kept for 30 days"},
		func(ctx context.Context, in *ByBulk) (*bulkOut, error) {
			b, err := s.Store.Bulk(ctx, caller(ctx).Scope, in.ID)
			return answer(ctx, b, err)
		})
	add(s, route{method: "POST", path: "/tasks/bulk/{id}/undo", name: "undoBulk", noun: "tasks", role: access.Operator, once: true,
		does: "Take an order for many tasks back, but for tasks that somebody moved since"},
		func(ctx context.Context, in *ByBulk) (*bulkOut, error) {
			b, err := s.Steer.UndoBulk(ctx, caller(ctx), in.ID)
			return answer(ctx, b, err)
		})
}
