package httpapi

import (
	"context"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// Automation is when a task runs by itself. What is saved comes back in its one
// canonical spelling.
type Automation struct {
	Mode string `json:"mode" doc:"heartbeat, schedule or every"`

	IntervalSeconds int64 `json:"intervalSeconds,omitempty" doc:"heartbeat, needed: from the end of a run to the next, from the least that this instance allows (10 unless configured) to 316,224,000 (ten years)"`
	MinSeconds      int64 `json:"minSeconds,omitempty" doc:"heartbeat: the soonest that its agent may ask for; absent: intervalSeconds"`
	MaxSeconds      int64 `json:"maxSeconds,omitempty" doc:"heartbeat: the latest that its agent may ask for, up to 316,224,000 (ten years); absent: intervalSeconds"`

	Pattern  string  `json:"pattern,omitempty" doc:"schedule, needed: five fields of cron, or a word such as @daily or @every 90m"`
	Timezone *string `json:"timezone,omitempty" doc:"IANA name, of its times, days and hours; absent: the creator's"`

	EverySeconds int64 `json:"everySeconds,omitempty" doc:"every, needed: a fixed grid in absolute time, from the least that this instance allows to 316,224,000 (ten years)"`
	Anchor       *Time `json:"anchor,omitempty" doc:"every: a point of the grid; absent: startsAt, else when it was saved"`

	Overlap        string `json:"overlap,omitempty" doc:"What becomes of a time while a run is open: skip (default), queue behind it, or cancel it"`
	Missed         string `json:"missed,omitempty" doc:"What becomes of times that nobody was up for: latest runs the newest of them (default), skip none, all up to 25"`
	CatchUpSeconds *int64 `json:"catchUpSeconds,omitempty" doc:"How old a missed time may be to run, 0 to 2,678,400; absent: 3600 when it comes more often than daily, else 43,200"`
	JitterSeconds  int64  `json:"jitterSeconds,omitempty" doc:"How much later a time may come, so that not all come at once: 0 to 86,400, at most half the way to the next; default 0"`
	MaxExecutions  int    `json:"maxExecutions,omitempty" doc:"Runs after which the task is completed, 0 to 1,000,000,000; 0 or absent: no limit"`
	StartsAt       *Time  `json:"startsAt,omitempty" doc:"No time comes before it; absent: from now on"`
	EndsAt         *Time  `json:"endsAt,omitempty" doc:"No time comes after it; absent: without end"`
	TimeoutSeconds int64  `json:"timeoutSeconds,omitempty" doc:"No progress for so long ends a run as timeout, 0 to 2,678,400; 0 or absent: no such limit"`

	Conditions *Conditions `json:"conditions,omitempty" doc:"Which days and hours count; absent: all"`
	Exclusions *Exclusions `json:"exclusions,omitempty" doc:"Dates on which nothing runs; absent: none"`

	NextFires []Time `json:"nextFires,omitempty" readOnly:"true" doc:"The next five, in answers"`
}

// Conditions restrict the week and the day.
type Conditions struct {
	ActiveDays          []int  `json:"activeDays,omitempty" doc:"0 is Sunday"`
	ActiveHours         *Hours `json:"activeHours,omitempty" doc:"The span of the wall clock in the timezone in which times count; absent: the whole day"`
	MaxExecutionsPerDay int    `json:"maxExecutionsPerDay,omitempty" doc:"Runs per day of the timezone, 0 to 100,000; 0 or absent: no limit"`
}

// Hours is a span of the wall clock; it may reach over midnight.
type Hours struct {
	Start string `json:"start" doc:"HH:MM"`
	End   string `json:"end" doc:"HH:MM, excluded"`
}

// Exclusions are dates on which nothing runs.
type Exclusions struct {
	Dates     []string    `json:"dates,omitempty" doc:"Like 2026-12-25; at most 366"`
	Ranges    []DateRange `json:"ranges,omitempty" doc:"At most 100"`
	Calendars []string    `json:"calendars,omitempty" doc:"Names of calendars of the workspace; at most 20"`
}

// DateRange is a range of dates, both included.
type DateRange struct {
	From string `json:"from" doc:"The first day: 2026-12-24"`
	To   string `json:"to" doc:"The last day, included: 2027-01-01"`
}

func (a Automation) domain() schedule.Automation {
	out := schedule.Automation{
		Mode: schedule.Mode(a.Mode), IntervalSeconds: a.IntervalSeconds, MinSeconds: a.MinSeconds, MaxSeconds: a.MaxSeconds,
		Pattern: a.Pattern, Timezone: a.Timezone, EverySeconds: a.EverySeconds, Anchor: a.Anchor.std(), Overlap: a.Overlap, Missed: a.Missed,
		CatchUpSeconds: a.CatchUpSeconds, JitterSeconds: a.JitterSeconds, MaxExecutions: a.MaxExecutions,
		StartsAt: a.StartsAt.std(), EndsAt: a.EndsAt.std(), TimeoutSeconds: a.TimeoutSeconds,
	}
	out.Conditions = a.Conditions.domain()
	if e := a.Exclusions; e != nil {
		out.Exclusions = &schedule.Exclusions{
			Dates: e.Dates, Calendars: e.Calendars,
			Ranges: each(e.Ranges, func(r DateRange) schedule.DateRange { return schedule.DateRange(r) }),
		}
	}
	return out
}

func (c *Conditions) domain() *schedule.Conditions {
	if c == nil {
		return nil
	}
	out := &schedule.Conditions{ActiveDays: c.ActiveDays, MaxExecutionsPerDay: c.MaxExecutionsPerDay}
	if h := c.ActiveHours; h != nil {
		out.ActiveHours = &schedule.Hours{Start: h.Start, End: h.End}
	}
	return out
}

func automationOf(a schedule.Automation) Automation {
	out := Automation{
		Mode: string(a.Mode), IntervalSeconds: a.IntervalSeconds, MinSeconds: a.MinSeconds, MaxSeconds: a.MaxSeconds,
		Pattern: a.Pattern, Timezone: a.Timezone, EverySeconds: a.EverySeconds, Anchor: timeOf(a.Anchor), Overlap: a.Overlap, Missed: a.Missed,
		CatchUpSeconds: a.CatchUpSeconds, JitterSeconds: a.JitterSeconds, MaxExecutions: a.MaxExecutions,
		StartsAt: timeOf(a.StartsAt), EndsAt: timeOf(a.EndsAt), TimeoutSeconds: a.TimeoutSeconds,
	}
	if c := a.Conditions; c != nil {
		out.Conditions = &Conditions{ActiveDays: c.ActiveDays, MaxExecutionsPerDay: c.MaxExecutionsPerDay}
		if h := c.ActiveHours; h != nil {
			out.Conditions.ActiveHours = &Hours{h.Start, h.End}
		}
	}
	if e := a.Exclusions; e != nil {
		out.Exclusions = &Exclusions{
			Dates: e.Dates, Calendars: e.Calendars,
			Ranges: each(e.Ranges, func(r schedule.DateRange) DateRange { return DateRange(r) }),
		}
	}
	return out
}

const (
	shownFires = 5
	// soughtFires bounds the search for times that the rules of a schedule allow.
	soughtFires = 200
)

// around is what refuses times besides the schedules themselves.
type around struct {
	holidays store.Holidays
	quiet    map[string][]schedule.Quiet // by task
}

// around reads what stands around the schedules of some tasks: the calendars that
// they name and the quiet hours of workspace and agents, in a statement each.
func (s *Server) around(ctx context.Context, ts []task.Task) (a around, err error) {
	named := map[string][]string{}
	var ids []string
	for _, t := range ts {
		if t.Automation == nil {
			continue
		}
		ids = append(ids, t.ID)
		if e := t.Automation.Exclusions; e != nil {
			named[t.WorkspaceID] = append(named[t.WorkspaceID], e.Calendars...)
		}
	}
	if a.holidays, err = s.Store.Holidays(ctx, named); err != nil {
		return a, err
	}
	a.quiet, err = s.Store.QuietHours(ctx, ids)
	return a, err
}

// nextFires returns the next times of a task that its rules and those around it
// allow: from the one that is planned, else from now. A task that is paused or has
// ended has none.
func nextFires(t task.Task, now time.Time, a around) []Time {
	spec, err := t.Spec()
	if err != nil || spec == nil || t.Automation == nil {
		return nil // a stored automation has been read before; none is no time
	}
	if t.Status == task.Paused || t.Status.Terminal() {
		return nil // nothing comes until it is resumed or reopened
	}
	var out []Time
	holidays, quiet := a.holidays.Of(t.WorkspaceID, spec.Calendars()), a.quiet[t.ID]
	take := func(at time.Time) {
		if _, ok := spec.Refusal(at, holidays, quiet...); ok && len(out) < shownFires {
			out = append(out, Time{at})
		}
	}
	from := now
	if t.NextPlannedAt != nil {
		take(*t.NextPlannedAt)
		from = latest(*t.NextPlannedAt, now)
		if spec.Mode() == schedule.Heartbeat {
			from = *t.NextPlannedAt
		}
	}
	for range soughtFires {
		f, ok := spec.Next(from)
		if !ok || len(out) == shownFires {
			break
		}
		take(f.At)
		from = f.At
	}
	return out
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Fire is one time of a preview.
type Fire struct {
	At     Time   `json:"at"`
	Local  string `json:"local" doc:"On the clock of the zone"`
	Offset string `json:"offset"`
	Note   string `json:"note,omitempty" doc:"What a clock change did to it: gap, first_of_two, second_of_two; earliest for a heartbeat"`
	Reason string `json:"reason,omitempty" doc:"Why it will be refused"`
}

// GapDay is a day on which a clock change takes times away.
type GapDay struct {
	Date string `json:"date"`
	Note string `json:"note"`
	From string `json:"from"`
	To   string `json:"to"`
	Lost int64  `json:"lost"`
}

// Preview is when an automation would fire.
type Preview struct {
	Items      []Fire     `json:"items"`
	Days       []GapDay   `json:"days,omitempty"`
	Automation Automation `json:"automation" doc:"As it would be saved"`
}

type previewIn struct {
	Body struct {
		Automation Automation `json:"automation" doc:"As POST /tasks takes it"`
		From       *Time      `json:"from,omitempty" doc:"Default: now"`
		Count      int        `json:"count,omitempty" minimum:"1" maximum:"100" doc:"Default: 5"`
		Agent      string     `json:"agent,omitempty" maxLength:"100" doc:"Id or slug of who would run it: its quiet hours count as well"`
	}
}

type previewOut struct{ Body Preview }

func (s *Server) preview(ctx context.Context, in *previewIn) (*previewOut, error) {
	now, err := s.Store.Clock(ctx)
	if err != nil {
		return nil, err
	}
	zone, err := s.zone(ctx)
	if err != nil {
		return nil, err
	}
	a, err := schedule.Canonical(in.Body.Automation.domain(), schedule.Defaults{
		Zone: zone, MinPeriodSeconds: int64(s.MinPeriod / time.Second), Now: now,
	})
	if err != nil {
		return nil, err
	}
	spec, err := schedule.Parse(a)
	if err != nil {
		return nil, err
	}
	c := caller(ctx)
	ws, err := s.Store.Workspace(ctx, c.Scope)
	if err != nil {
		return nil, err
	}
	holidays, err := s.Store.Holidays(ctx, map[string][]string{ws.ID: spec.Calendars()})
	if err != nil {
		return nil, err
	}
	for _, name := range spec.Calendars() {
		if _, there := holidays[ws.ID][name]; !there {
			return nil, errs.BadField("body.automation.exclusions.calendars", "invalid", name, "There is no calendar %q. Make it first, or list the dates.", name)
		}
	}
	var agentHours *schedule.QuietHours
	var agentName string
	if ref := in.Body.Agent; ref != "" {
		ag, err := s.Store.Agent(ctx, c.Scope, ref)
		if err != nil {
			return nil, errs.BadField("body.agent", "invalid", ref, "There is no agent %s.", ref)
		}
		agentHours, agentName = ag.QuietHours, ag.Name
	}
	quiet, err := store.Quiet(ws.QuietHours.V, agentHours, agentName)
	if err != nil {
		return nil, err
	}
	from, count := now, 5
	if in.Body.From != nil {
		from = in.Body.From.Time
	}
	if in.Body.Count > 0 {
		count = in.Body.Count
	}
	f := schedule.Preview(spec, from, count, holidays.Of(ws.ID, spec.Calendars()), quiet...)
	return &previewOut{Preview{
		Items:      each(f.Items, func(i schedule.Item) Fire { return Fire{Time{i.At}, i.Local, i.Offset, i.Note, i.Reason} }),
		Days:       each(f.Days, func(d schedule.GapDay) GapDay { return GapDay(d) }),
		Automation: automationOf(a),
	}}, nil
}

// zone is the zone of an automation that names none: the caller's, else the workspace's.
func (s *Server) zone(ctx context.Context) (string, error) {
	c := caller(ctx)
	if c.Timezone != "" {
		return c.Timezone, nil
	}
	ws, err := s.Store.Workspace(ctx, c.Scope)
	return ws.Timezone, err
}
