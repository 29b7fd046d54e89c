package cli

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dogwatch/dogwatch/internal/cli/client"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
)

func (p *program) taskCreate() *cobra.Command {
	var start bool
	var documents, dependsOn []string
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
			body, err := p.createBody(cmd, instruction)
			if err != nil {
				return err
			}
			if len(dependsOn) > 0 {
				body["dependsOn"] = dependsOn
			}
			if start {
				body["start"] = true
			}
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			return p.createTask(cmd, c, body, documents)
		},
	}
	f := c.Flags()
	params(f, taskParams, orderParams, policyParams)
	f.BoolVar(&start, "start", false, "run it right away")
	documentFlag(f, &documents)
	f.StringArrayVar(&dependsOn, "depends-on", nil, "a task that has to be done first; repeatable")
	return c
}

// createBody is the request. Whether values make sense says the server; here is
// only decided what they mean.
func (p *program) createBody(cmd *cobra.Command, instruction string) (map[string]any, error) {
	mode, err := orderOf(cmd)
	if err != nil {
		return nil, err
	}
	if err := nothingEmpty(cmd); err != nil {
		return nil, err
	}
	zone := flagText(cmd, "zone")
	body, err := typed(cmd, zone, p.zone, false)
	if err != nil {
		return nil, err
	}
	body["instruction"] = instruction
	if mode == "" {
		if err := policyWithoutOrder(cmd); err != nil {
			return nil, err
		}
		if zone != "" && !cmd.Flags().Changed("at") {
			return nil, usagef("--zone belongs to --cron, --every, --heartbeat or --at")
		}
		delete(body, "automation")
		return body, nil
	}
	put(body, "automation.mode", mode)
	if mode == "schedule" && zone == "" {
		put(body, "automation.timezone", hostZone(p.zone))
	}
	return body, nil
}

// nothingEmpty refuses flags without a value: a new task has nothing that they could
// take away, and a script whose variable is not set would get another task than it means.
func nothingEmpty(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		g, ok := f.Value.(*given)
		if ok && err == nil && !slices.ContainsFunc(g.values, func(v string) bool { return strings.TrimSpace(v) != "" }) {
			err = usagef("--%s is empty; give it a value, or leave it out", f.Name)
		}
	})
	return err
}

// parseMoment reads a time with an offset, or a wall clock of a zone: where a clock
// change makes that ambiguous, it is the instant that a schedule would fire at.
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

// documentFlag adds the flag that pins documents.
func documentFlag(f *pflag.FlagSet, to *[]string) {
	f.StringArrayVar(to, "document", nil, "pin a document: a file (added to the library), or the id of one that is there; repeatable")
}

// documentIDs are the documents to pin, of which files are added to the library.
func (p *program) documentIDs(ctx context.Context, c *client.Client, documents []string) ([]string, error) {
	var ids []string
	for _, d := range documents {
		id, err := p.documentID(ctx, c, d)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// createTask puts the documents into the library first, so that a file that
// cannot be read leaves nothing behind.
func (p *program) createTask(cmd *cobra.Command, c *client.Client, body map[string]any, documents []string) error {
	ctx := cmd.Context()
	pins, err := p.documentIDs(ctx, c, documents)
	if err != nil {
		return err
	}
	if len(pins) > 0 {
		body["documents"] = pins
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
		p.printf(" · %s", p.fires(&automation{Timezone: flagText(cmd, "zone"), NextFires: []fire{{At: *t.NextRunAt}}}, 1))
	case body["start"] != nil: // the task is there, but its start was refused
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
