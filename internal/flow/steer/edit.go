package steer

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/brief"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// TaskPatch is an edit of a task; a nil field is left as it is. Of a pointer to a
// pointer, the outer one says whether to change, the inner one to what.
type TaskPatch struct {
	Name, Description, Instruction *string
	InstructionRich                *json.RawMessage
	Priority                       *task.Priority
	Labels                         *[]string
	Parent                         **string
	AssigneeAgent                  **string
	AssigneeUser                   **string
	Config                         *task.Config
	MaxTopics                      **int
	StartAt                        **time.Time
	Automation                     **schedule.Automation
	MadeName                       *string // of a template
}

// EditTask changes a task. What time starts is planned anew in the same
// transaction, and what was planned under the old schedule is void. version is the
// one that was read; nil for whatever it is now.
func (s *Steerer) EditTask(ctx context.Context, c access.Caller, ref string, version *int64, p TaskPatch) (task.Task, error) {
	return s.live(ctx, c, ref, func(tx *store.Tx, t task.Task) error { return s.edit(ctx, tx, c, t, version, p) },
		func(tx *store.Tx) error {
			if p.Parent == nil || *p.Parent == nil {
				return nil
			}
			return tx.LockGraph(ctx, c.Scope) // or two that are put below each other at once make a cycle
		})
}

func (s *Steerer) edit(ctx context.Context, tx *store.Tx, c access.Caller, t task.Task, version *int64, p TaskPatch) error {
	if version != nil && *version != t.Version {
		return errs.New(errs.Stale, "stale", "%s was changed meanwhile: it has version %d.", t.Identifier, t.Version)
	}
	now, err := tx.Now(ctx)
	if err != nil {
		return err
	}
	old := t
	if err := s.apply(ctx, tx, c, &t, p); err != nil {
		return err
	}
	var anchor time.Time
	if old.Automation != nil && old.Automation.Anchor != nil {
		anchor = *old.Automation.Anchor
	}
	replanned := p.Automation != nil || p.StartAt != nil
	checked := t
	if p.StartAt == nil {
		checked.StartAt = nil // a time that is being waited for was checked when it was given
	}
	if err := s.check(ctx, tx, c, &checked, now, anchor); err != nil {
		return err
	}
	startAt := t.StartAt
	t.Automation = checked.Automation
	if p.StartAt != nil {
		startAt = checked.StartAt
	}
	if t.StartAt = startAt; t.StartAt != nil && t.Automation != nil {
		if p.StartAt != nil {
			return errs.BadField("body.startAt", "invalid", *t.StartAt, "A task has either an automation or startAt.")
		}
		t.StartAt = nil // an automation takes the place of the one time
	}
	if replanned {
		t.AutomationRevision++
		if t.Status == task.Scheduled && t.Automation == nil && t.StartAt == nil { // a scheduled task has something that starts it
			if err := move(ctx, tx, c, t, task.Backlog, task.AutomationRemoved, ""); err != nil {
				return err
			}
			t.Status = task.Backlog
		}
	}
	if err := tx.EditTask(ctx, c.Scope, t); err != nil {
		return err
	}
	if replanned {
		if err := s.replan(ctx, tx, c, old, t, now); err != nil {
			return err
		}
	}
	return audit(ctx, tx, c, auditName(t, "edit"), "task", t.ID, map[string]any{"identifier": t.Identifier})
}

// apply writes the patch into the task.
func (s *Steerer) apply(ctx context.Context, tx *store.Tx, c access.Caller, t *task.Task, p TaskPatch) error {
	set(&t.Name, p.Name)
	set(&t.Description, p.Description)
	set(&t.Instruction, p.Instruction)
	if p.InstructionRich != nil {
		t.InstructionRich = *p.InstructionRich
		if err := checkRich(&t.InstructionRich); err != nil {
			return err
		}
	}
	set(&t.Priority, p.Priority)
	set(&t.Labels, p.Labels)
	set(&t.AssigneeUserID, p.AssigneeUser)
	set(&t.Config, p.Config)
	set(&t.MaxTopics, p.MaxTopics)
	set(&t.StartAt, p.StartAt)
	set(&t.Automation, p.Automation)
	set(&t.MadeName, p.MadeName)
	t.Instruction, t.Name = strings.TrimSpace(t.Instruction), strings.TrimSpace(t.Name)
	if t.Name == "" {
		t.Name = nameFrom(t.Instruction)
	}
	if p.AssigneeAgent != nil {
		t.AssigneeAgentID = nil
		if *p.AssigneeAgent != nil {
			id, err := s.agentID(ctx, tx, c.Scope, **p.AssigneeAgent)
			if err != nil {
				return err
			}
			t.AssigneeAgentID = &id
		}
	}
	if p.Parent != nil {
		t.ParentID = nil
		if *p.Parent != nil {
			id, err := tx.TaskID(ctx, c.Scope, **p.Parent)
			if err != nil {
				return errs.BadField("body.parent", "invalid", **p.Parent, "There is no task %s.", **p.Parent)
			}
			inside, err := tx.IsWithin(ctx, c.Scope, id, t.ID)
			if err != nil {
				return err
			}
			if inside {
				return errs.BadField("body.parent", "dependency_cycle", **p.Parent, "A task cannot be part of itself or of its own subtask.")
			}
			t.ParentID = &id
		}
	}
	return nil
}

// replan voids what was planned and plans anew, with the status that follows.
func (s *Steerer) replan(ctx context.Context, tx *store.Tx, c access.Caller, old, t task.Task, now time.Time) error {
	if err := tx.CancelOpenTicks(ctx, c.Scope, t.ID, true, task.CanceledByEdit); err != nil {
		return err
	}
	if _, err := tx.EndBackfill(ctx, c.Scope, t.ID, task.CanceledByEdit); err != nil {
		return err
	}
	if err := tx.CloseBriefs(ctx, c.Scope, t.ID, []string{string(task.NoPattern), brief.CauseSkips}); err != nil {
		return err
	}
	if kind(old) != kind(t) {
		if err := tx.Arm(ctx, c.Scope, t.ID); err != nil {
			return err
		}
	}
	armed := t.Automation != nil || t.StartAt != nil
	switch {
	case t.Status == task.Backlog && armed:
		if err := move(ctx, tx, c, t, task.Scheduled, task.Armed, ""); err != nil {
			return err
		}
		t.Status = task.Scheduled
	case !armed:
		return nil
	case t.Status == task.Running:
		// A heartbeat and a one-shot are armed when the run ends; a schedule goes on.
		if t.Automation == nil || t.Automation.Mode == schedule.Heartbeat {
			return tx.SetNext(ctx, c.Scope, t.ID, schedule.Slot{})
		}
	case t.Status != task.Scheduled:
		return nil // paused or ended: it is armed when it is resumed
	}
	ok, err := arm(ctx, tx, c.Scope, t, now)
	if err != nil {
		return err
	}
	if !ok {
		return errs.BadField("body.automation", "invalid", nil, "This schedule never fires: no time is left inside its bounds.")
	}
	return nil
}

// kind is what starts a task; a change of it starts the count of executions anew.
func kind(t task.Task) string {
	switch {
	case t.Automation != nil:
		return string(t.Automation.Mode)
	case t.StartAt != nil:
		return "once"
	}
	return ""
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

func asError(err error, e **errs.Error) bool { return errors.As(err, e) }
