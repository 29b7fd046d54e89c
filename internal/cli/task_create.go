package cli

import (
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dogwatch/dogwatch/internal/cli/client"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
)

// newTask is what the flags of `task create` say.
type newTask struct {
	name, description, priority, agent, parent   string
	every, heartbeat                             time.Duration
	cron, zone, at, overlap, missed, accept      string
	model                                        string
	start                                        bool
	budgetDay, budgetRun                         float64
	tokensDay, tokensRun                         int64
	maxRuns, maxExecutions, maxSteps, maxMinutes int
	labels, documents, dependsOn                 []string
}

func (p *program) taskCreate() *cobra.Command {
	var n newTask
	c := &cobra.Command{
		Use:   "create INSTRUCTION",
		Short: "Create a task; says when it runs next",
		Long: `Create a task. The instruction says what to do, in the words you would use to a colleague; "-" reads it from
the standard input. Without --every, --heartbeat, --cron, --at or --start it waits in the backlog.

  dogwatch task create "What changed in our competitors' release notes?" --cron "0 7 * * 1-5" --zone Europe/Berlin
  dogwatch task create - --heartbeat 10m --document notes.md --budget-day 0.50 < order.txt`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			instruction, err := p.textOrStdin(args[0])
			if err != nil {
				return err
			}
			body, err := n.body(instruction, p.zone)
			if err != nil {
				return err
			}
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			return p.createTask(cmd, c, n, body)
		},
	}
	f := c.Flags()
	f.StringVar(&n.name, "name", "", "a name; else the beginning of the instruction")
	f.StringVar(&n.description, "description", "", "what people should know about it")
	f.DurationVar(&n.heartbeat, "heartbeat", 0, "run again so long after the last run ended, such as 10m")
	f.DurationVar(&n.every, "every", 0, "run at fixed distances, such as 90m")
	f.StringVar(&n.cron, "cron", "", `run at the times of a cron pattern, such as "0 7 * * 1-5"`)
	f.StringVar(&n.zone, "zone", "", "time zone of --cron and --at, such as Europe/Berlin (default: this host's)")
	f.StringVar(&n.at, "at", "", `run once at, or start at: "2026-05-01 07:00" or RFC 3339`)
	f.BoolVar(&n.start, "start", false, "run it right away")
	f.StringVar(&n.overlap, "overlap", "", "when it is time and a run is still open: skip, queue, cancel")
	f.StringVar(&n.missed, "missed", "", "after a downtime: latest, skip, all")
	f.Float64Var(&n.budgetDay, "budget-day", 0, "most USD a day")
	f.Float64Var(&n.budgetRun, "budget-run", 0, "most USD a run")
	f.Int64Var(&n.tokensDay, "tokens-day", 0, "most tokens a day")
	f.Int64Var(&n.tokensRun, "tokens-run", 0, "most tokens a run")
	f.IntVar(&n.maxSteps, "max-steps", 0, "most steps of a run")
	f.IntVar(&n.maxMinutes, "max-minutes", 0, "most minutes of a run")
	f.IntVar(&n.maxRuns, "max-runs", 0, "most runs of any kind; the last one completes the task")
	f.IntVar(&n.maxExecutions, "max-executions", 0, "most scheduled runs")
	f.StringArrayVar(&n.documents, "document", nil, "pin a document: a file (added to the library), or the id of one that is there; repeatable")
	f.StringVar(&n.accept, "accept", "", "when a one-off run is done: review (a person looks) or auto")
	f.StringVar(&n.model, "model", "", "provider/model")
	f.StringVar(&n.agent, "agent", "", "the agent that works on it (default: the workspace's)")
	f.StringVar(&n.parent, "parent", "", "make it a subtask of this one")
	f.StringVar(&n.priority, "priority", "", "urgent, high, normal, low, none")
	f.StringArrayVar(&n.labels, "label", nil, "a label; repeatable")
	f.StringArrayVar(&n.dependsOn, "depends-on", nil, "a task that has to be done first; repeatable")
	c.MarkFlagsMutuallyExclusive("heartbeat", "every", "cron")
	return c
}

// body is the request. Whether values make sense says the server; here is only
// decided what they mean.
func (n *newTask) body(instruction string, local *time.Location) (map[string]any, error) {
	body := map[string]any{"instruction": instruction}
	for key, v := range map[string]string{
		"name": n.name, "description": n.description, "priority": n.priority, "assigneeAgent": n.agent, "parent": n.parent,
	} {
		if v != "" {
			body[key] = v
		}
	}
	if len(n.labels) > 0 {
		body["labels"] = n.labels
	}
	if len(n.dependsOn) > 0 {
		body["dependsOn"] = n.dependsOn
	}
	if n.maxRuns != 0 {
		body["maxTopics"] = n.maxRuns
	}
	automation, err := n.automation(local)
	if err != nil {
		return nil, err
	}
	if automation != nil {
		body["automation"] = automation
	}
	if n.at != "" {
		at, err := parseTime(n.at, n.zone, local)
		if err != nil {
			return nil, err
		}
		body["startAt"] = at.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	if config := n.config(); len(config) > 0 {
		body["config"] = config
	}
	return body, nil
}

func (n *newTask) automation(local *time.Location) (map[string]any, error) {
	var a map[string]any
	switch {
	case n.heartbeat != 0:
		s, err := wholeSeconds("--heartbeat", n.heartbeat)
		if err != nil {
			return nil, err
		}
		a = map[string]any{"mode": "heartbeat", "intervalSeconds": s}
	case n.every != 0:
		s, err := wholeSeconds("--every", n.every)
		if err != nil {
			return nil, err
		}
		a = map[string]any{"mode": "every", "everySeconds": s}
	case n.cron != "":
		zone := n.zone
		if zone == "" {
			if zone = local.String(); zone == "Local" {
				zone = localZone()
			}
		}
		a = map[string]any{"mode": "schedule", "pattern": n.cron, "timezone": zone}
	default:
		for flag, given := range map[string]bool{"--overlap": n.overlap != "", "--missed": n.missed != "", "--max-executions": n.maxExecutions != 0} {
			if given {
				return nil, usagef("%s belongs to a standing order: add --heartbeat, --every or --cron", flag)
			}
		}
		if n.zone != "" && n.at == "" {
			return nil, usagef("--zone belongs to --cron or --at")
		}
		return nil, nil
	}
	if n.overlap != "" {
		a["overlap"] = n.overlap
	}
	if n.missed != "" {
		a["missed"] = n.missed
	}
	if n.maxExecutions != 0 {
		a["maxExecutions"] = n.maxExecutions
	}
	return a, nil
}

func wholeSeconds(flag string, d time.Duration) (int64, error) {
	if d < 0 || d%time.Second != 0 {
		return 0, usagef("%s %s is not usable; allowed are whole seconds, such as 90s or 10m", flag, d)
	}
	return int64(d / time.Second), nil
}

func (n *newTask) config() map[string]any {
	config, run, day := map[string]any{}, map[string]any{}, map[string]any{}
	for _, v := range []struct {
		to    map[string]any
		key   string
		value any
		given bool
	}{
		{run, "usd", n.budgetRun, n.budgetRun != 0}, {day, "usd", n.budgetDay, n.budgetDay != 0},
		{run, "tokens", n.tokensRun, n.tokensRun != 0}, {day, "tokens", n.tokensDay, n.tokensDay != 0},
		{run, "steps", n.maxSteps, n.maxSteps != 0}, {run, "minutes", n.maxMinutes, n.maxMinutes != 0},
		{config, "acceptance", n.accept, n.accept != ""}, {config, "model", n.model, n.model != ""},
	} {
		if v.given {
			v.to[v.key] = v.value
		}
	}
	budget := map[string]any{}
	if len(run) > 0 {
		budget["operation"] = run
	}
	if len(day) > 0 {
		budget["day"] = day
	}
	if len(budget) > 0 {
		config["budget"] = budget
	}
	return config
}

// parseTime reads a time with an offset, or a wall clock of a zone: where a clock
// change makes that ambiguous, it is the instant that a schedule would fire at.
func parseTime(v, zone string, local *time.Location) (time.Time, error) {
	return parseMoment("--at", v, zone, local)
}

// parseMoment is parseTime for the flag of that name.
func parseMoment(flag, v, zone string, local *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, v); err == nil {
		return t, nil
	}
	in := local
	if zone != "" {
		var err error
		if in, err = time.LoadLocation(zone); err != nil {
			return time.Time{}, usagef("--zone %q is not a time zone; allowed are names such as Europe/Berlin", zone)
		}
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02 15:04:05", time.DateOnly} {
		if t, err := time.Parse(layout, v); err == nil {
			return schedule.OnWall(t, in), nil
		}
	}
	return time.Time{}, usagef(`%s %q is not a time; allowed are "2026-05-01 07:00", a date for its midnight, and RFC 3339`, flag, v)
}

// localZone is the name of this host's zone, as far as the host says it.
func localZone() string {
	if tz := strings.TrimPrefix(os.Getenv("TZ"), ":"); tz != "" && !strings.HasPrefix(tz, "/") {
		return tz
	}
	if link, err := os.Readlink("/etc/localtime"); err == nil {
		if _, name, ok := strings.Cut(link, "zoneinfo/"); ok {
			return name
		}
	}
	return "UTC"
}

// createTask puts the documents into the library first, so that a file that
// cannot be read leaves nothing behind.
func (p *program) createTask(cmd *cobra.Command, c *client.Client, n newTask, body map[string]any) error {
	ctx := cmd.Context()
	var pins []string
	for _, d := range n.documents {
		id, err := p.documentID(ctx, c, d)
		if err != nil {
			return err
		}
		pins = append(pins, id)
	}
	if len(pins) > 0 {
		body["documents"] = pins
	}
	if n.start {
		body["start"] = true
	}
	answer, err := c.Post(ctx, "/tasks", body)
	if err != nil || p.json {
		return p.rawIf(err, answer)
	}
	t, err := read[task](answer)
	if err != nil {
		return err
	}
	p.printf("✓ %s %q", t.Identifier, cut(t.Name, 60))
	if t.Automation != nil {
		p.printf(" · %s", t.Automation.order())
	}
	switch next := p.fires(t.Automation, 3); {
	case next != "":
		p.printf(" · %s", next)
	case t.Status == "running":
		p.printf(" · running")
	case t.NextRunAt != nil: // in the zone that was asked for
		p.printf(" · %s", p.fires(&automation{Timezone: n.zone, NextFires: []fire{{At: *t.NextRunAt}}}, 1))
	case n.start: // the task is there, but its start was refused
		p.printf(" · %s and was not started; dogwatch why %s says what is in the way", t.Status, t.Identifier)
	default:
		p.printf(" · waits in the %s; start it: dogwatch task run %s", t.Status, t.Identifier)
	}
	if len(pins) > 0 {
		p.printf(" · %s pinned", plural(len(pins), "document"))
	}
	p.printf("\n")
	return nil
}
