package steer

import (
	"context"
	"strings"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// maxCalendarName is also the bound of the names in an automation, in bytes.
const maxCalendarName = 100

// CreateCalendar keeps dates under a name for schedules to exclude.
func (s *Steerer) CreateCalendar(ctx context.Context, c access.Caller, name string, list schedule.DateList) (store.Calendar, error) {
	name, list, err := checkCalendar(name, list)
	if err != nil {
		return store.Calendar{}, err
	}
	var out store.Calendar
	err = s.store.InTx(ctx, func(tx *store.Tx) (err error) {
		if out, err = tx.CreateCalendar(ctx, c.Scope, name, list); err != nil {
			return err
		}
		return audit(ctx, tx, c, "calendar.create", "calendar", out.ID, map[string]any{"name": name})
	})
	return out, err
}

// CalendarPatch is an edit of a calendar; a nil field is left as it is.
type CalendarPatch struct {
	Name   *string
	Dates  *[]string
	Ranges *[]schedule.DateRange
}

// EditCalendar changes a calendar. Its new dates hold for every schedule that names
// it from now on: planned times stay, and are judged when they come. The name of one
// that is in use stays, too. version is the one that was read; nil for any.
func (s *Steerer) EditCalendar(ctx context.Context, c access.Caller, ref string, version *int64, p CalendarPatch) (store.Calendar, error) {
	var out store.Calendar
	err := s.store.InTx(ctx, func(tx *store.Tx) error {
		cal, err := tx.LockCalendar(ctx, c.Scope, ref)
		if err != nil {
			return err
		}
		if version != nil && *version != cal.Version {
			return errs.New(errs.Stale, "stale", "The calendar was changed meanwhile: it has version %d.", cal.Version)
		}
		old := cal.Name
		set(&cal.Name, p.Name)
		set(&cal.List.Dates, p.Dates)
		set(&cal.List.Ranges, p.Ranges)
		if cal.Name, cal.List, err = checkCalendar(cal.Name, cal.List); err != nil {
			return err
		}
		if cal.Name != old {
			if err := unused(ctx, tx, c, old, "renamed"); err != nil {
				return err
			}
		}
		if err := tx.EditCalendar(ctx, c.Scope, cal); err != nil {
			return err
		}
		if err := audit(ctx, tx, c, "calendar.edit", "calendar", cal.ID, map[string]any{"name": cal.Name}); err != nil {
			return err
		}
		out, err = tx.Calendar(ctx, c.Scope, cal.ID)
		return err
	})
	return out, err
}

// DeleteCalendar removes a calendar that no schedule names: dates that silently
// stopped to count would be worse than a refusal.
func (s *Steerer) DeleteCalendar(ctx context.Context, c access.Caller, ref string) error {
	return s.store.InTx(ctx, func(tx *store.Tx) error {
		cal, err := tx.LockCalendar(ctx, c.Scope, ref)
		if err != nil {
			return err
		}
		if err := unused(ctx, tx, c, cal.Name, "deleted"); err != nil {
			return err
		}
		if err := tx.DeleteCalendar(ctx, c.Scope, cal.ID); err != nil {
			return err
		}
		return audit(ctx, tx, c, "calendar.delete", "calendar", cal.ID, map[string]any{"name": cal.Name})
	})
}

// shownUsers is how many tasks a refusal names.
const shownUsers = 5

func unused(ctx context.Context, tx *store.Tx, c access.Caller, name, verb string) error {
	users, err := tx.CalendarUsers(ctx, c.Scope, name, shownUsers+1)
	if err != nil || len(users) == 0 {
		return err
	}
	list := strings.Join(users[:min(len(users), shownUsers)], ", ")
	if len(users) > shownUsers {
		list += " and more"
	}
	return errs.New(errs.Conflict, "conflict", "The calendar %q cannot be %s: %s excludes its dates. Take it out there first.", name, verb, list)
}

func checkCalendar(name string, list schedule.DateList) (string, schedule.DateList, error) {
	name = strings.TrimSpace(name)
	if name == "" || len(name) > maxCalendarName {
		return "", list, errs.BadField("body.name", "invalid", name, "A calendar needs a name of 1 to %d characters.", maxCalendarName)
	}
	list, err := list.Canonical()
	return name, list, inBody(err)
}
