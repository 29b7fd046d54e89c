package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dogwatch/dogwatch/internal/cli/client"
)

type workspace struct {
	Name            string     `json:"name"`
	Timezone        string     `json:"timezone"`
	PausedAt        *time.Time `json:"pausedAt"`
	PauseNote       *string    `json:"pauseNote"`
	MaintenanceAt   *time.Time `json:"maintenanceAt"`
	MaintenanceNote *string    `json:"maintenanceNote"`
	QuietHours      *quiet     `json:"quietHours"`
	ReadOnly        bool       `json:"readOnly"`
	OpenRuns        int        `json:"openRuns"`
}

type quiet struct {
	Days     []int  `json:"days"`
	Start    string `json:"start"`
	End      string `json:"end"`
	Timezone string `json:"timezone"`
}

func (q *quiet) String() string {
	if q == nil {
		return ""
	}
	days := ""
	for _, d := range q.Days {
		days += time.Weekday(d % 7).String()[:3] + " "
	}
	return fmt.Sprintf("%s%s to %s %s", days, q.Start, q.End, q.Timezone)
}

func (p *program) workspace() *cobra.Command {
	return group("workspace", "Hold the whole workspace, let it go on, and say what holds for it",
		p.workspaceShow(),
		p.workspaceHold("pause", "Begin no new run; runs that are open go on to their end"),
		p.workspaceHold("stop", "Begin no new run, and interrupt every open one"),
		p.workspaceHold("maintenance", "Let the workspace run dry before work on it; it stays so over restarts, until resumed"),
		p.workspaceResume(), p.workspaceEdit())
}

func (p *program) workspaceShow() *cobra.Command {
	return &cobra.Command{
		Use: "show", Short: "Show what holds for the workspace, and how many runs are open", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			answer, err := c.Get(cmd.Context(), "/workspace", nil)
			if err != nil || p.json {
				return p.rawIf(err, answer)
			}
			ws, err := read[workspace](answer)
			if err != nil {
				return err
			}
			p.printf("%s · %s · %s\n", oneLine(ws.Name), ws.Timezone, plural(ws.OpenRuns, "open run"))
			held := func(what string, since *time.Time, note *string) {
				if since == nil {
					return
				}
				p.printf("%s since %s", what, p.when(since))
				if note != nil {
					p.printf(": %s", oneLine(*note))
				}
				p.printf("\n")
			}
			held("paused", ws.PausedAt, ws.PauseNote)
			held("in maintenance", ws.MaintenanceAt, ws.MaintenanceNote)
			if ws.ReadOnly {
				p.printf("read-only: agents may change nothing\n")
			}
			if ws.QuietHours != nil {
				p.printf("quiet hours %s\n", ws.QuietHours)
			}
			return nil
		},
	}
}

func (p *program) workspaceHold(verb, short string) *cobra.Command {
	var note string
	var wait bool
	c := &cobra.Command{
		Use: verb, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			answer, err := c.Post(cmd.Context(), "/workspace/"+verb, noteBody(note))
			if err != nil {
				return err
			}
			ws, err := read[workspace](answer)
			if err != nil {
				return err
			}
			for left := -1; wait && ws.OpenRuns > 0; {
				if ws.OpenRuns != left {
					left = ws.OpenRuns
					p.note("%s left", plural(left, "open run"))
				}
				select {
				case <-cmd.Context().Done():
					return cmd.Context().Err()
				case <-time.After(pollEvery):
				}
				if answer, err = c.Get(cmd.Context(), "/workspace", nil); err != nil {
					return err
				}
				if ws, err = read[workspace](answer); err != nil {
					return err
				}
			}
			if p.json {
				return p.raw(answer)
			}
			switch verb {
			case "stop":
				p.printf("✓ stopped: no new run begins, and %s\n", cmp.Or(beingInterrupted(ws.OpenRuns), "none is open"))
			case "maintenance":
				p.printf("✓ in maintenance · %s left\n", plural(ws.OpenRuns, "open run"))
			default:
				p.printf("✓ paused · %s\n", plural(ws.OpenRuns, "open run"))
			}
			return nil
		},
	}
	c.Flags().StringVar(&note, "note", "", "why, for whoever finds nothing running")
	c.Flags().BoolVar(&wait, "wait", false, "wait until no run is open")
	return c
}

func beingInterrupted(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 open run is being interrupted"
	}
	return fmt.Sprintf("%d open runs are being interrupted", n)
}

func noteBody(note string) map[string]any {
	body := map[string]any{}
	if note != "" {
		body["note"] = note
	}
	return body
}

func (p *program) workspaceResume() *cobra.Command {
	var catchUp bool
	c := &cobra.Command{
		Use: "resume", Short: "End pause and maintenance; nothing is caught up unless asked for", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.resume(cmd, "/workspace/resume", "the workspace", catchUp)
		},
	}
	c.Flags().BoolVar(&catchUp, "catch-up", false, "run each task once now that was refused a run meanwhile")
	return c
}

func (p *program) resume(cmd *cobra.Command, path, what string, catchUp bool) error {
	body := map[string]any{}
	if catchUp {
		body["catchUp"] = true
	}
	did := what + " goes on"
	if catchUp {
		did += "; each task that was refused a run meanwhile gets one now"
	}
	return p.does(cmd, path, body, did)
}

// does posts something, and says what that did.
func (p *program) does(cmd *cobra.Command, path string, body any, did string) error {
	c, err := p.client(cmd)
	if err != nil {
		return err
	}
	answer, err := c.Post(cmd.Context(), path, body)
	if err != nil || p.json {
		return p.rawIf(err, answer)
	}
	p.printf("✓ %s\n", did)
	return nil
}

type agent struct {
	Slug       string     `json:"slug"`
	Name       string     `json:"name"`
	IsDefault  bool       `json:"isDefault"`
	PausedAt   *time.Time `json:"pausedAt"`
	PauseNote  *string    `json:"pauseNote"`
	DisabledAt *time.Time `json:"disabledAt"`
	QuietHours *quiet     `json:"quietHours"`
	Profile    struct {
		Model string `json:"model"`
	} `json:"profile"`
}

func (a agent) state() string {
	switch {
	case a.DisabledAt != nil:
		return "disabled"
	case a.PausedAt != nil && a.PauseNote != nil:
		return "paused: " + cut(*a.PauseNote, 40)
	case a.PausedAt != nil:
		return "paused"
	}
	return "active"
}

// mark says whether it is the agent of tasks that name none.
func (a agent) mark() string {
	if a.IsDefault {
		return "default"
	}
	return "–"
}

func (p *program) agent() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List agents", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return listed(p, cmd, "/agents", url.Values{}, 0, []string{"AGENT", "NAME", "STATE", "DEFAULT", "MODEL", "QUIET HOURS"}, "No agents.", func(a agent) []string {
				return []string{a.Slug, cut(a.Name, 40), a.state(), a.mark(), cmp.Or(a.Profile.Model, "the instance's"), cmp.Or(a.QuietHours.String(), "–")}
			})
		},
	}
	path := func(ref, verb string) string { return "/agents/" + url.PathEscape(ref) + "/" + verb }
	var note string
	pause := &cobra.Command{
		Use: "pause AGENT", Short: "Begin no new run of an agent; runs that are open go on to their end", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.does(cmd, path(args[0], "pause"), noteBody(note), args[0]+" is paused")
		},
	}
	pause.Flags().StringVar(&note, "note", "", "why, for whoever finds its tasks idle")
	var catchUp bool
	resume := &cobra.Command{
		Use: "resume AGENT", Short: "Let a paused agent go on; nothing is caught up unless asked for", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.resume(cmd, path(args[0], "resume"), args[0], catchUp)
		},
	}
	resume.Flags().BoolVar(&catchUp, "catch-up", false, "run each of its tasks once now that was refused a run meanwhile")
	return group("agent", "Who works: list agents, hold one, let it go on, change it", list, pause, resume, p.agentEdit())
}

type calendar struct {
	ID     string      `json:"id"`
	Name   string      `json:"name"`
	Dates  []string    `json:"dates"`
	Ranges []dateRange `json:"ranges"`
}

type dateRange struct {
	From string `json:"from"`
	To   string `json:"to"`
}

func (p *program) calendar() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List calendars", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return listed(p, cmd, "/calendars", url.Values{}, 0, []string{"CALENDAR", "CLOSED"}, "No calendars. Make one: dogwatch calendar add Holidays 2026-12-25", func(c calendar) []string {
				closed := c.Dates
				for _, r := range c.Ranges {
					closed = append(closed, r.From+".."+r.To)
				}
				return []string{c.Name, cut(strings.Join(closed, " "), 100)}
			})
		},
	}
	add := &cobra.Command{
		Use: "add NAME DATE|FROM..TO…", Short: "Add dates to a calendar, which is made when there is none of that name",
		Example: "  dogwatch calendar add Holidays 2026-12-25 2026-12-27..2027-01-03", Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			return p.calendarAdd(cmd, c, args[0], args[1:])
		},
	}
	remove := &cobra.Command{
		Use: "delete NAME", Aliases: []string{"rm"}, Short: "Delete a calendar that no schedule names", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			if _, err := c.Delete(cmd.Context(), "/calendars/"+url.PathEscape(args[0])); err != nil {
				return err
			}
			if !p.json {
				p.printf("✓ %s is deleted\n", args[0])
			}
			return nil
		},
	}
	return group("calendar", "Dates on which nothing runs, kept once for many schedules", list, add, remove)
}

func (p *program) calendarAdd(cmd *cobra.Command, c *client.Client, name string, closed []string) error {
	cal := calendar{Dates: []string{}, Ranges: []dateRange{}}
	path := "/calendars/" + url.PathEscape(name)
	answer, err := c.Get(cmd.Context(), path, nil)
	var problem *client.Problem
	there := true
	switch {
	case errors.As(err, &problem) && problem.Status == 404:
		there = false
	case err != nil:
		return err
	default:
		if cal, err = read[calendar](answer); err != nil {
			return err
		}
	}
	for _, text := range closed {
		if from, to, isRange := strings.Cut(text, ".."); isRange {
			cal.Ranges = append(cal.Ranges, dateRange{from, to})
		} else {
			cal.Dates = append(cal.Dates, text)
		}
	}
	body := map[string]any{"dates": cal.Dates, "ranges": cal.Ranges}
	if there {
		answer, err = c.Patch(cmd.Context(), path, body)
	} else {
		body["name"] = name
		answer, err = c.Post(cmd.Context(), "/calendars", body)
	}
	if err != nil || p.json {
		return p.rawIf(err, answer)
	}
	if cal, err = read[calendar](answer); err != nil {
		return err
	}
	p.printf("✓ %s · %s, %s\n", oneLine(cal.Name), plural(len(cal.Dates), "date"), plural(len(cal.Ranges), "range"))
	return nil
}

// ledgerRow is a tick in the list across tasks.
type ledgerRow struct {
	tick
	Task  string `json:"task"`
	LagMS *int64 `json:"lagMs"`
	Count int    `json:"count"`
	Made  string `json:"madeTask"`
}

func (p *program) tick() *cobra.Command {
	var task, state, reason string
	var limit int
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the tick ledger, the newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := url.Values{}
			setQuery(q, "task", task, "state", state, "reason", reason)
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			order := p.orders(cmd.Context(), c)
			return listed(p, cmd, "/ticks", q, limit, []string{"TASK", "PLANNED", "FROM", "STATE", "LAG"}, "No ticks.", func(t ledgerRow) []string {
				planned := p.when(t.CreatedAt)
				if t.PlannedAt != nil {
					planned = p.planned(t.PlannedAt, order(t.Task))
				}
				became := t.State
				if t.Reason != nil && *t.Reason != "" && *t.Reason != t.State {
					became += ": " + *t.Reason
				}
				if t.Made != "" {
					became += ": made " + t.Made
				}
				if t.Count > 1 {
					became += fmt.Sprintf(" ×%d", t.Count)
				}
				lag := ""
				if t.LagMS != nil {
					lag = (time.Duration(*t.LagMS) * time.Millisecond).String()
				}
				if t.Late {
					lag += " late"
				}
				return []string{t.Task, planned, t.Origin, became, lag}
			})
		},
	}
	list.Flags().StringVar(&task, "task", "", "only of this task")
	list.Flags().StringVar(&state, "state", "", "only in this state: pending, queued, dispatched, ran, skipped, missed, coalesced, canceled")
	list.Flags().StringVar(&reason, "reason", "", "only for this reason, such as workspace_paused")
	list.Flags().IntVar(&limit, "limit", 50, "at most so many; 0 for all")
	return group("tick", "The tick ledger: every time that was planned, and what became of it", list)
}
