package launch

import (
	"context"
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/agent"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// gather reads what the gate asks about. t may be nil: there is no such task.
func (l *Launcher) gather(ctx context.Context, r store.Reader, sc access.Scope, t *task.Task, spec *schedule.Spec, tick store.Tick) (task.Facts, agent.Agent, error) {
	f := task.Facts{Task: t, Origin: tick.Origin, Revision: tick.AutomationRevision}
	if t == nil {
		return f, agent.Agent{}, nil
	}
	key := t.Config.ConcurrencyKey
	if t.Makes() {
		key = "" // its tasks take their turn themselves
	}
	around, err := r.Standing(ctx, sc, t.ID, key)
	if err != nil {
		return f, agent.Agent{}, err
	}
	if t.Status == task.Paused { // its last move says why
		moves, _, err := r.Moves(ctx, sc, t.ID, store.Page{Limit: 1})
		if err != nil {
			return f, agent.Agent{}, err
		}
		if len(moves) > 0 {
			f.PauseNote = deref(moves[0].Note)
		}
	}
	f.WorkspacePaused, f.WorkspaceNote = around.PausedAt != nil, deref(around.PauseNote)
	f.Maintenance, f.MaintenanceNote = around.MaintenanceAt != nil, deref(around.MaintenanceNote)
	f.OpenTopicSeq, f.OpenSince, f.OpenRetryAt = around.OpenSeq, around.OpenSince, around.OpenRetryAt
	f.BlockedBy, f.SlotHeldBy = around.BlockedBy, around.SlotHeldBy
	if around.UrgentBrief > 0 {
		f.UrgentBrief = fmt.Sprintf("B-%d", around.UrgentBrief)
	}

	ag, found, err := agentOf(ctx, r, sc, *t)
	if err != nil {
		return f, ag, err
	}
	f.AgentMissing = !found || ag.DisabledAt != nil
	f.AgentPaused, f.AgentName, f.AgentNote = found && ag.PausedAt != nil, ag.Name, ag.PauseNote
	at, err := judgedAt(ctx, r, tick)
	if err != nil {
		return f, ag, err
	}
	if err := hush(&f, around.QuietHours.V, ag, at); err != nil {
		return f, ag, err
	}
	if spec != nil {
		holidays, err := r.Holidays(ctx, map[string][]string{t.WorkspaceID: spec.Calendars()})
		if err != nil {
			return f, ag, err
		}
		if reason, ok := spec.Refusal(at, holidays.Of(t.WorkspaceID, spec.Calendars())); !ok {
			f.ScheduleRefusal = task.Reason(reason)
		}
		if c := t.Automation; c != nil && c.Conditions != nil && c.Conditions.MaxExecutionsPerDay > 0 {
			from, to := spec.DayOf(at)
			if f.RanToday, err = r.RanBetween(ctx, sc, t.ID, from, to); err != nil {
				return f, ag, err
			}
		}
	}
	f.BudgetSpent, err = l.budgetSpent(ctx, r, sc, *t)
	return f, ag, err
}

// hush judges the quiet hours of workspace and agent at a planned time.
func hush(f *task.Facts, house *schedule.QuietHours, ag agent.Agent, at time.Time) error {
	quiet, err := store.Quiet(house, ag.QuietHours, ag.Name)
	if err != nil {
		return err
	}
	q := schedule.Hush(at, quiet)
	if q == nil {
		return nil
	}
	f.Quiet = q.String()
	if end, ok := schedule.HushEnds(at, quiet); ok {
		f.QuietUntil = &end
	}
	return nil
}

// agentOf returns who would run a task: its agent, or the workspace's default when
// it has neither an agent nor a person. A cron job is its agent's alone. It reports
// false when there is none.
func agentOf(ctx context.Context, r store.Reader, sc access.Scope, t task.Task) (ag agent.Agent, ok bool, err error) {
	switch {
	case t.AssigneeAgentID != nil:
		ag, err = r.Agent(ctx, sc, *t.AssigneeAgentID)
	case t.AssigneeUserID == nil && t.CronJob == task.NoCronJob:
		ag, err = r.DefaultAgent(ctx, sc)
	default:
		return agent.Agent{}, false, nil
	}
	if errs.KindOf(err) == errs.NotFound {
		return agent.Agent{}, false, nil
	}
	return ag, err == nil, err
}

// judgedAt is the time that bounds, dates and hours are asked about: the planned
// one, or now for a run that nobody planned.
func judgedAt(ctx context.Context, r store.Reader, tick store.Tick) (time.Time, error) {
	if at := tick.Time(); at != nil {
		return *at, nil
	}
	return r.Clock(ctx)
}

// budgetSpent says in words which part of the task's own budget of the day is
// used up, "" when none is. The day is that of the task's zone.
func (l *Launcher) budgetSpent(ctx context.Context, r store.Reader, sc access.Scope, t task.Task) (string, error) {
	day := t.Config.Budget.Day
	if day.USD == nil && day.Tokens == 0 && day.Minutes == 0 {
		return "", nil
	}
	now, err := r.Clock(ctx)
	if err != nil {
		return "", err
	}
	spec, _ := t.Spec() // one that cannot be read is refused elsewhere
	used, err := r.UsedSince(ctx, sc, t.ID, task.DayOf(spec, now))
	if err != nil {
		return "", err
	}
	return day.Spent(used.CostUSD, used.Tokens, used.Seconds), nil
}

// Explanation is the gate's whole answer about the present.
type Explanation struct {
	Task      task.Task
	Checks    []task.CheckResult
	Verdict   task.Verdict // of the next fire, if it came now
	NextRunAt *time.Time   // nil: time alone will not start it
	Backfill  *store.Backfill
}

// Why asks every check of the gate as if the task's next fire, or a run by hand
// where it has none, came now.
func (l *Launcher) Why(ctx context.Context, c access.Caller, ref string) (Explanation, error) {
	taskID, err := l.store.TaskID(ctx, c.Scope, ref)
	if err != nil {
		return Explanation{}, err
	}
	t, err := l.store.Task(ctx, c.Scope, taskID)
	if err != nil {
		return Explanation{}, err
	}
	spec, err := t.Spec()
	if err != nil {
		return Explanation{}, err
	}
	tick := store.Tick{Origin: t.PlannedOrigin(), AutomationRevision: t.AutomationRevision, PlannedAt: t.NextPlannedAt}
	if tick.Origin == "" {
		tick.Origin, tick.PlannedAt = "manual", nil
	}
	facts, _, err := l.gather(ctx, l.store.Reader, c.Scope, &t, spec, tick)
	if err != nil {
		return Explanation{}, err
	}
	backfill, err := l.store.OpenBackfill(ctx, c.Scope, t.ID)
	if err != nil {
		return Explanation{}, err
	}
	return Explanation{Task: t, Checks: task.Explain(facts), Verdict: task.Admit(facts), NextRunAt: t.NextFireAt, Backfill: backfill}, nil
}
