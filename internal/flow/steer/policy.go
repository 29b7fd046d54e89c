package steer

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/agent"
	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// PauseWorkspace begins no new run in the workspace until it is resumed. Runs that
// are open go on to their end. A pause that is there already keeps its beginning and
// takes the new note.
func (s *Steerer) PauseWorkspace(ctx context.Context, c access.Caller, note string) (store.Workspace, error) {
	return s.hold(ctx, c, "workspace.pause", note, func(_ *store.Tx, h *store.Hold) error {
		h.Paused, h.PauseNote, h.PausedBy = true, note, &c.Actor
		return nil
	})
}

// MaintainWorkspace lets the workspace run dry: no new run begins, those that are
// open go to their end. It stands in the database and outlasts every restart.
func (s *Steerer) MaintainWorkspace(ctx context.Context, c access.Caller, note string) (store.Workspace, error) {
	return s.hold(ctx, c, "workspace.maintenance", note, func(_ *store.Tx, h *store.Hold) error {
		h.Maintenance, h.MaintenanceNote, h.MaintenanceBy = true, note, &c.Actor
		return nil
	})
}

// StopWorkspace pauses the workspace and interrupts every run that is open. The runs
// are stopped by a job, each under its task's lock; none can begin meanwhile.
func (s *Steerer) StopWorkspace(ctx context.Context, c access.Caller, note string) (store.Workspace, error) {
	return s.hold(ctx, c, "workspace.stop", note, func(tx *store.Tx, h *store.Hold) error {
		h.Paused, h.PauseNote, h.PausedBy = true, note, &c.Actor
		ws := c.Scope.Workspace()
		return tx.PostJobs(ctx, job.Post{Kind: job.Stop, Key: ws, IDs: job.IDs{Workspace: ws}})
	})
}

// ResumeWorkspace ends pause and maintenance. Times that passed meanwhile are not
// caught up, unless one run is asked for of each task that was refused one.
func (s *Steerer) ResumeWorkspace(ctx context.Context, c access.Caller, catchUp bool) (store.Workspace, error) {
	var out store.Workspace
	err := s.store.InTx(ctx, func(tx *store.Tx) error {
		ws, err := tx.LockWorkspace(ctx, c.Scope)
		if err != nil {
			return err
		}
		if err := tx.HoldWorkspace(ctx, c.Scope, store.Hold{}); err != nil {
			return err
		}
		n := 0
		if since := earliest(ws.PausedAt, ws.MaintenanceAt); catchUp && since != nil {
			if n, err = catchUpRuns(ctx, tx, c, *since, "", task.WorkspacePaused, task.Maintenance); err != nil {
				return err
			}
		}
		detail := map[string]any{"catchUp": catchUp, "runs": n}
		if err := audit(ctx, tx, c, "workspace.resume", "workspace", ws.ID, detail); err != nil {
			return err
		}
		out, err = tx.Workspace(ctx, c.Scope)
		return err
	})
	return out, err
}

func (s *Steerer) hold(ctx context.Context, c access.Caller, action, note string, change func(*store.Tx, *store.Hold) error) (store.Workspace, error) {
	var out store.Workspace
	err := s.store.InTx(ctx, func(tx *store.Tx) error {
		ws, err := tx.LockWorkspace(ctx, c.Scope)
		if err != nil {
			return err
		}
		h := store.Hold{
			Paused: ws.PausedAt != nil, PauseNote: deref(ws.PauseNote), PausedBy: ws.PausedBy.V,
			Maintenance: ws.MaintenanceAt != nil, MaintenanceNote: deref(ws.MaintenanceNote), MaintenanceBy: ws.MaintenanceBy.V,
		}
		if err := change(tx, &h); err != nil {
			return err
		}
		if err := tx.HoldWorkspace(ctx, c.Scope, h); err != nil {
			return err
		}
		if err := audit(ctx, tx, c, action, "workspace", ws.ID, map[string]any{"note": note}); err != nil {
			return err
		}
		out, err = tx.Workspace(ctx, c.Scope)
		return err
	})
	return out, err
}

// catchUpRuns posts one run for each task that a pause held since a time, and says
// how many.
func catchUpRuns(ctx context.Context, tx *store.Tx, c access.Caller, since time.Time, agentID string, why ...task.Reason) (int, error) {
	key := "catch-up:" + since.UTC().Format(time.RFC3339Nano)
	ticks, err := tx.CatchUpTicks(ctx, c.Scope, why, since, agentID, key, c.Actor)
	if err != nil {
		return 0, err
	}
	posts := make([]job.Post, len(ticks))
	for i, t := range ticks {
		posts[i] = store.TickOf(t)
	}
	return len(ticks), tx.PostJobs(ctx, posts...)
}

// stopBatch is how many runs are looked up at a time; each is stopped in a
// transaction of its own.
const stopBatch = 200

// StopRuns handles [job.Stop]: interrupt whatever runs in a workspace that was
// stopped. A workspace that was resumed meanwhile keeps what still runs.
func (s *Steerer) StopRuns(ctx context.Context, c job.Claim) error {
	sc := access.In(c.IDs.Workspace)
	after := ""
	for {
		ws, err := s.store.Workspace(ctx, sc)
		if errs.KindOf(err) == errs.NotFound || err == nil && ws.PausedAt == nil {
			return nil
		}
		if err != nil {
			return err
		}
		runs, err := s.store.WorkingTopics(ctx, sc, after, stopBatch)
		if err != nil {
			return err
		}
		for _, r := range runs {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			err := s.store.InTx(ctx, func(tx *store.Tx) error {
				if _, err := tx.LockTask(ctx, sc, r.TaskID); err != nil {
					return err
				}
				return tx.StopTopic(ctx, sc, r.TopicID, operation.DetailByPerson)
			})
			if err != nil && errs.KindOf(err) != errs.NotFound {
				return err
			}
			after = r.TopicID
		}
		if len(runs) < stopBatch {
			return nil
		}
	}
}

// WorkspacePatch is an edit of the workspace; a nil field is left as it is.
type WorkspacePatch struct {
	Name, Timezone *string
	ReadOnly       *bool
	QuietHours     **schedule.QuietHours
}

// EditWorkspace changes what holds for the whole workspace. version is the one that
// was read; nil for whatever it is now.
func (s *Steerer) EditWorkspace(ctx context.Context, c access.Caller, version *int64, p WorkspacePatch) (store.Workspace, error) {
	var out store.Workspace
	err := s.store.InTx(ctx, func(tx *store.Tx) error {
		ws, err := tx.LockWorkspace(ctx, c.Scope)
		if err != nil {
			return err
		}
		if version != nil {
			ws.Version = *version
		}
		set(&ws.Name, p.Name)
		set(&ws.ReadOnly, p.ReadOnly)
		if ws.Name = strings.TrimSpace(ws.Name); ws.Name == "" || utf8.RuneCountInString(ws.Name) > maxName {
			return errs.BadField("body.name", "invalid", ws.Name, "A name has 1 to %d characters.", maxName)
		}
		if p.Timezone != nil {
			_, zone, err := schedule.Zone(*p.Timezone)
			if err != nil {
				return errs.BadField("body.timezone", schedule.CodeTimezone, *p.Timezone, "%s", err)
			}
			ws.Timezone = zone
		}
		if p.QuietHours != nil {
			if ws.QuietHours.V, err = quietHours(*p.QuietHours, ws.Timezone); err != nil {
				return err
			}
		}
		if err := tx.EditWorkspace(ctx, c.Scope, ws); err != nil {
			return err
		}
		detail := map[string]any{}
		for field, changed := range map[string]bool{"name": p.Name != nil, "timezone": p.Timezone != nil, "quietHours": p.QuietHours != nil} {
			if changed {
				detail[field] = true
			}
		}
		if p.ReadOnly != nil {
			detail["readOnly"] = *p.ReadOnly
		}
		if err := audit(ctx, tx, c, "workspace.edit", "workspace", ws.ID, detail); err != nil {
			return err
		}
		out, err = tx.Workspace(ctx, c.Scope)
		return err
	})
	return out, err
}

// QuietHoursOf brings quiet hours that somebody asks for to their one spelling; nil
// stays nil. The workspace's zone stands in for one that is not named.
func (s *Steerer) QuietHoursOf(ctx context.Context, r store.Reader, c access.Caller, h *schedule.QuietHours) (*schedule.QuietHours, error) {
	ws, err := r.Workspace(ctx, c.Scope)
	if err != nil {
		return nil, err
	}
	return quietHours(h, ws.Timezone)
}

func quietHours(h *schedule.QuietHours, zone string) (*schedule.QuietHours, error) {
	if h == nil {
		return nil, nil
	}
	out, err := h.Canonical(zone)
	return &out, inBody(err)
}

// PauseAgent begins no new run of an agent until it is resumed. Runs that are open
// go on to their end.
func (s *Steerer) PauseAgent(ctx context.Context, c access.Caller, ref, note string) (agent.Agent, error) {
	return s.onAgent(ctx, c, ref, func(tx *store.Tx, a agent.Agent) error {
		if err := tx.PauseAgent(ctx, c.Scope, a.ID, &c.Actor, note); err != nil {
			return err
		}
		return audit(ctx, tx, c, "agent.pause", "agent", a.ID, map[string]any{"slug": a.Slug, "note": note})
	})
}

// ResumeAgent lets an agent begin runs again. Times that passed meanwhile are not
// caught up, unless one run is asked for of each task that was refused one.
func (s *Steerer) ResumeAgent(ctx context.Context, c access.Caller, ref string, catchUp bool) (agent.Agent, error) {
	return s.onAgent(ctx, c, ref, func(tx *store.Tx, a agent.Agent) error {
		if err := tx.PauseAgent(ctx, c.Scope, a.ID, nil, ""); err != nil {
			return err
		}
		n := 0
		if catchUp && a.PausedAt != nil {
			var err error
			if n, err = catchUpRuns(ctx, tx, c, *a.PausedAt, a.ID, task.AgentPaused); err != nil {
				return err
			}
		}
		return audit(ctx, tx, c, "agent.resume", "agent", a.ID, map[string]any{"slug": a.Slug, "catchUp": catchUp, "runs": n})
	})
}

func (s *Steerer) onAgent(ctx context.Context, c access.Caller, ref string, f func(*store.Tx, agent.Agent) error) (agent.Agent, error) {
	var out agent.Agent
	err := s.store.InTx(ctx, func(tx *store.Tx) error {
		a, err := tx.Agent(ctx, c.Scope, ref)
		if err != nil {
			return err
		}
		if err := f(tx, a); err != nil {
			return err
		}
		out, err = tx.Agent(ctx, c.Scope, a.ID)
		return err
	})
	return out, err
}

func earliest(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.Before(*a) {
		return b
	}
	return a
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
