package httpapi

import (
	"context"
	"slices"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
)

// names are the identifiers of tasks, by their ids: what people call them.
type names map[string]string

func (n names) task(taskID string) string {
	if name, ok := n[taskID]; ok {
		return name
	}
	return taskID
}

// names looks identifiers up, all at once.
func (s *Server) names(ctx context.Context, taskIDs []string) (names, error) {
	slices.Sort(taskIDs)
	taskIDs = slices.DeleteFunc(slices.Compact(taskIDs), func(id string) bool { return id == "" })
	tasks, err := s.Store.TasksByID(ctx, caller(ctx).Scope, taskIDs)
	out := names{}
	for _, t := range tasks {
		out[t.ID] = t.Identifier
	}
	return out, err
}

// named fills in what actors are called: of each item, the one that f points at,
// nil for none.
func named[T any](ctx context.Context, s *Server, items []T, f func(*T) *Actor) error {
	var ids []string
	for i := range items {
		if a := f(&items[i]); a != nil && id.Valid(a.ID) {
			ids = append(ids, a.ID)
		}
	}
	slices.Sort(ids)
	called, err := s.Store.ActorNames(ctx, caller(ctx).Scope, slices.Compact(ids))
	for i := range items {
		if a := f(&items[i]); a != nil {
			a.Name = called[a.ID]
		}
	}
	return err
}

// taskRef returns the id of a task that a filter names, "" for none.
func (s *Server) taskRef(ctx context.Context, ref string) (string, error) {
	if ref == "" {
		return "", nil
	}
	return s.Store.TaskID(ctx, caller(ctx).Scope, ref)
}

// agentRef returns the id of an agent that a filter names, "" for none.
func (s *Server) agentRef(ctx context.Context, ref string) (string, error) {
	if ref == "" {
		return "", nil
	}
	a, err := s.Store.Agent(ctx, caller(ctx).Scope, ref)
	return a.ID, err
}

// ByTask is the address of a task.
type ByTask struct {
	Task string `path:"task" maxLength:"100" doc:"Its id, or its identifier in any case: T-12"`
}

// personRef returns the id of a person that a filter names, "" for none. Whether
// there is such a person need not be known to filter by them.
func personRef(ctx context.Context, ref string) (string, error) {
	switch {
	case ref == "me":
		return caller(ctx).PersonID, nil
	case ref != "" && !id.Valid(ref):
		return "", errs.Missing("person", ref)
	}
	return ref, nil
}
