package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/event"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
)

// Calendar is a named list of dates on which nothing runs. Schedules name it, so
// its dates are kept once.
type Calendar struct {
	ID, Name             string
	List                 schedule.DateList
	Version              int64
	CreatedAt, UpdatedAt time.Time
}

type calendarRow struct {
	ID, WorkspaceID, Name string
	Closed                doc[schedule.DateList]
	Version               int64
	CreatedAt, UpdatedAt  time.Time
}

func (r calendarRow) calendar() Calendar {
	return Calendar{r.ID, r.Name, r.Closed.V, r.Version, r.CreatedAt, r.UpdatedAt}
}

const calendarSelect = `select id, workspace_id, name, closed, version, created_at, updated_at from calendars `

// Calendars returns the calendars of the workspace, by name.
func (r Reader) Calendars(ctx context.Context, sc access.Scope) ([]Calendar, error) {
	var rows []calendarRow
	if err := r.db(ctx).Raw(calendarSelect+`where workspace_id = ? order by name limit 1000`, sc.Workspace()).Scan(&rows).Error; err != nil {
		return nil, fmt.Errorf("list calendars: %w", err)
	}
	out := make([]Calendar, len(rows))
	for i, row := range rows {
		out[i] = row.calendar()
	}
	return out, nil
}

// Calendar returns a calendar by its id or name.
func (r Reader) Calendar(ctx context.Context, sc access.Scope, ref string) (Calendar, error) {
	return r.oneCalendar(ctx, sc, ref, "")
}

// LockCalendar returns a calendar and locks it: no schedule can begin to name it
// until the transaction ends.
func (tx *Tx) LockCalendar(ctx context.Context, sc access.Scope, ref string) (Calendar, error) {
	return tx.oneCalendar(ctx, sc, ref, " for update")
}

func (r Reader) oneCalendar(ctx context.Context, sc access.Scope, ref, lock string) (Calendar, error) {
	var rows []calendarRow
	err := r.db(ctx).Raw(calendarSelect+`where workspace_id = ? and `+idOr(ref, "id", "name")+lock, sc.Workspace(), ref).Scan(&rows).Error
	if err != nil {
		return Calendar{}, fmt.Errorf("read a calendar: %w", err)
	}
	if len(rows) == 0 {
		return Calendar{}, errs.Missing("calendar", ref)
	}
	return rows[0].calendar(), nil
}

// CreateCalendar makes a calendar.
func (tx *Tx) CreateCalendar(ctx context.Context, sc access.Scope, name string, list schedule.DateList) (Calendar, error) {
	cal := id.New()
	_, err := tx.exec(ctx, `insert into calendars (id, workspace_id, name, closed) values (?, ?, ?, ?)`, cal, sc.Workspace(), name, doc[schedule.DateList]{list})
	if err != nil {
		return Calendar{}, calendarError("create", name, err)
	}
	if err := tx.Emit(ctx, sc, calendarEvent(cal)); err != nil {
		return Calendar{}, err
	}
	return tx.Calendar(ctx, sc, cal)
}

func calendarEvent(calendarID string) Event {
	return Event{Type: event.CalendarChanged, SubjectKind: "calendar", SubjectID: calendarID}
}

// EditCalendar changes a calendar that the caller holds locked.
func (tx *Tx) EditCalendar(ctx context.Context, sc access.Scope, c Calendar) error {
	_, err := tx.exec(ctx, `update calendars set name = ?, closed = ?, version = version + 1, updated_at = clock_timestamp() where workspace_id = ? and id = ?`,
		c.Name, doc[schedule.DateList]{c.List}, sc.Workspace(), c.ID)
	if err != nil {
		return calendarError("edit", c.Name, err)
	}
	return tx.Emit(ctx, sc, calendarEvent(c.ID))
}

func calendarError(what, name string, err error) error {
	switch {
	case err == nil:
		return nil
	case violates(err, "calendars_workspace_id_name_key"):
		return errs.New(errs.Conflict, "conflict", "There is a calendar %q already.", name)
	}
	return fmt.Errorf("%s a calendar: %w", what, err)
}

// DeleteCalendar removes a calendar that the caller holds locked.
func (tx *Tx) DeleteCalendar(ctx context.Context, sc access.Scope, calendarID string) error {
	if _, err := tx.exec(ctx, `delete from calendars where workspace_id = ? and id = ?`, sc.Workspace(), calendarID); err != nil {
		return fmt.Errorf("delete a calendar: %w", err)
	}
	return tx.Emit(ctx, sc, calendarEvent(calendarID))
}

// CalendarUsers returns the identifiers of tasks whose schedules name a calendar, at
// most limit of them. Deleted tasks do not count.
func (r Reader) CalendarUsers(ctx context.Context, sc access.Scope, name string, limit int) ([]string, error) {
	var out []string
	err := r.db(ctx).Raw(`select identifier from tasks where workspace_id = ? and deleted_at is null
		and automation -> 'exclusions' -> 'calendars' @> to_jsonb(?::text) order by seq limit ?`, sc.Workspace(), name, limit).Scan(&out).Error
	if err != nil {
		return nil, fmt.Errorf("look for the users of a calendar: %w", err)
	}
	return out, nil
}

// HoldCalendars sees to it that calendars stay until the transaction ends, and
// returns the first name that there is none of, "" when all are there.
func (tx *Tx) HoldCalendars(ctx context.Context, sc access.Scope, names []string) (missing string, err error) {
	if len(names) == 0 {
		return "", nil
	}
	var have []string
	err = tx.db(ctx).Raw(`select name from calendars where workspace_id = ? and name in ? order by name for key share`, sc.Workspace(), names).Scan(&have).Error
	if err != nil {
		return "", fmt.Errorf("hold calendars: %w", err)
	}
	for _, n := range names {
		if !slices.Contains(have, n) {
			return n, nil
		}
	}
	return "", nil
}

// Holidays are the dates of calendars, by workspace and name.
type Holidays map[string]map[string]schedule.Dates

// Of returns the dates on which a schedule of a workspace that names calendars does
// not run; nil when there are none. A name that there is no calendar of adds none.
func (h Holidays) Of(workspaceID string, names []string) schedule.Dates {
	var sets []schedule.Dates
	for _, n := range names {
		if set := h[workspaceID][n]; set != nil {
			sets = append(sets, set)
		}
	}
	if sets == nil {
		return nil
	}
	return schedule.Union(sets...)
}

// Holidays reads the calendars that are named in workspaces, in one statement; in
// none when no name is given.
func (r Reader) Holidays(ctx context.Context, named map[string][]string) (Holidays, error) {
	var workspaces, names []string
	for ws, ns := range named {
		if len(ns) > 0 {
			workspaces, names = append(workspaces, ws), append(names, ns...)
		}
	}
	if len(workspaces) == 0 {
		return nil, nil
	}
	slices.Sort(names)
	var rows []calendarRow
	err := r.db(ctx).Raw(calendarSelect+`where workspace_id in ? and name in ?`, workspaces, slices.Compact(names)).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read calendars: %w", err)
	}
	out := Holidays{}
	for _, row := range rows {
		set, err := row.Closed.V.Set()
		if err != nil {
			return nil, fmt.Errorf("read the calendar %q: %w", row.Name, err)
		}
		if out[row.WorkspaceID] == nil {
			out[row.WorkspaceID] = map[string]schedule.Dates{}
		}
		out[row.WorkspaceID][row.Name] = set
	}
	return out, nil
}

// QuietHours returns the quiet hours that hold for tasks, their workspace's and
// their agent's, in one statement. Tasks that none hold for are left out.
func (r Reader) QuietHours(ctx context.Context, taskIDs []string) (map[string][]schedule.Quiet, error) {
	if len(taskIDs) == 0 {
		return nil, nil
	}
	var rows []struct {
		ID, AgentName    string
		Workspace, Agent doc[*schedule.QuietHours]
	}
	err := r.db(ctx).Raw(`
		select t.id, w.quiet_hours as workspace, a.quiet_hours as agent, coalesce(a.name, '') as agent_name
		from tasks t join workspaces w on w.id = t.workspace_id
		left join agents a on a.workspace_id = t.workspace_id
		  and (a.id = t.assignee_agent_id or t.assignee_agent_id is null and t.assignee_user_id is null and a.is_default)
		where t.id in ? and (w.quiet_hours is not null or a.quiet_hours is not null)`, taskIDs).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read quiet hours: %w", err)
	}
	out := map[string][]schedule.Quiet{}
	for _, row := range rows {
		if out[row.ID], err = Quiet(row.Workspace.V, row.Agent.V, row.AgentName); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Quiet compiles the quiet hours of a workspace and of an agent; either may be nil.
func Quiet(workspace, agent *schedule.QuietHours, agentName string) (out []schedule.Quiet, err error) {
	for _, h := range []struct {
		owner string
		hours *schedule.QuietHours
	}{{"the workspace", workspace}, {"the agent " + agentName, agent}} {
		if h.hours == nil {
			continue
		}
		q, err := schedule.ParseQuiet(h.owner, *h.hours)
		if err != nil {
			return nil, err
		}
		out = append(out, q)
	}
	return out, nil
}
