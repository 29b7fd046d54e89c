package httpapi

import (
	"context"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// Calendar is dates on which nothing runs, kept once for every schedule whose
// exclusions name it. They are judged in the zone of the schedule.
type Calendar struct {
	ID        string      `json:"id"`
	Name      string      `json:"name"`
	Dates     []string    `json:"dates"`
	Ranges    []DateRange `json:"ranges"`
	Version   int64       `json:"version"`
	CreatedAt Time        `json:"createdAt"`
	UpdatedAt Time        `json:"updatedAt"`
}

func calendarOf(c store.Calendar) Calendar {
	return Calendar{
		c.ID, c.Name, orNone(c.List.Dates), each(c.List.Ranges, func(r schedule.DateRange) DateRange { return DateRange(r) }),
		c.Version, Time{c.CreatedAt}, Time{c.UpdatedAt},
	}
}

// CalendarCreate is what a calendar is made of.
type CalendarCreate struct {
	Name   string      `json:"name" minLength:"1" maxLength:"100" doc:"What schedules name in exclusions.calendars; one of a kind in the workspace"`
	Dates  []string    `json:"dates,omitempty" doc:"2026-12-25"`
	Ranges []DateRange `json:"ranges,omitempty" doc:"Both ends are included"`
}

// CalendarPatch changes a calendar; each list as a whole.
type CalendarPatch struct {
	Name    Maybe[string]      `json:"name,omitzero" minLength:"1" maxLength:"100" doc:"Of a calendar that no schedule names"`
	Dates   Maybe[[]string]    `json:"dates,omitzero" doc:"Like 2026-12-25, in place of all there were; null: none"`
	Ranges  Maybe[[]DateRange] `json:"ranges,omitzero" doc:"In place of all there were; null: none"`
	Version *int64             `json:"version,omitempty" doc:"The version that was read"`
}

// ByCalendar is the address of a calendar.
type ByCalendar struct {
	Calendar string `path:"calendar" maxLength:"100" doc:"Its id or name"`
}

type calendarOut struct {
	ETag string `header:"ETag"`
	Body Calendar
}

func (s *Server) calendarRoutes() {
	answer := func(c store.Calendar, err error) (*calendarOut, error) {
		return &calendarOut{etag(c.Version), calendarOf(c)}, err
	}
	add(s, route{method: "GET", path: "/calendars", name: "listCalendars", noun: "calendars", role: access.Viewer, does: "The calendars that schedules may name, by name"},
		func(ctx context.Context, in *Paging) (*listOut[Calendar], error) {
			items, err := s.Store.Calendars(ctx, caller(ctx).Scope)
			if err != nil {
				return nil, err
			}
			return sliced(ctx, s, *in, items, func(c store.Calendar) string { return c.ID }, calendarOf)
		})
	add(s, route{method: "GET", path: "/calendars/{calendar}", name: "getCalendar", noun: "calendars", role: access.Viewer, does: "One calendar"},
		func(ctx context.Context, in *ByCalendar) (*calendarOut, error) {
			return answer(s.Store.Calendar(ctx, caller(ctx).Scope, in.Calendar))
		})
	add(s, route{method: "POST", path: "/calendars", name: "createCalendar", noun: "calendars", role: access.Operator, status: 201, once: true, does: "Keep dates under a name"},
		func(ctx context.Context, in *struct{ Body CalendarCreate }) (*calendarOut, error) {
			return answer(s.Steer.CreateCalendar(ctx, caller(ctx), in.Body.Name, schedule.DateList{Dates: in.Body.Dates, Ranges: rangesOf(in.Body.Ranges)}))
		})
	add(s, route{method: "PATCH", path: "/calendars/{calendar}", name: "editCalendar", noun: "calendars", role: access.Operator, does: "Change a calendar, for every schedule that names it"},
		func(ctx context.Context, in *struct {
			ByCalendar
			IfMatch string `header:"If-Match" doc:"The ETag that was read; a newer version is refused as stale"`
			Body    CalendarPatch
		}) (*calendarOut, error) {
			b := in.Body
			if err := notNull("name", b.Name); err != nil {
				return nil, err
			}
			p := steer.CalendarPatch{Name: b.Name.V}
			if b.Dates.Set { // null is none
				p.Dates = new(deref(b.Dates.V))
			}
			if b.Ranges.Set {
				p.Ranges = new(rangesOf(deref(b.Ranges.V)))
			}
			return answer(s.Steer.EditCalendar(ctx, caller(ctx), in.Calendar, expected(in.IfMatch, b.Version), p))
		})
	add(s, route{method: "DELETE", path: "/calendars/{calendar}", name: "deleteCalendar", noun: "calendars", role: access.Operator, does: "Delete a calendar that no schedule names"},
		func(ctx context.Context, in *ByCalendar) (*struct{}, error) {
			return nil, s.Steer.DeleteCalendar(ctx, caller(ctx), in.Calendar)
		})
}

func rangesOf(in []DateRange) []schedule.DateRange {
	return each(in, func(r DateRange) schedule.DateRange { return schedule.DateRange(r) })
}
