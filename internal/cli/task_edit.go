package cli

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/dogwatch/dogwatch/internal/cli/client"
)

func (p *program) taskEdit() *cobra.Command {
	var noSchedule bool
	var instruction string
	var documents, unpinned []string
	c := &cobra.Command{
		Use: "edit TASK", Short: "Change a task; says when it runs next",
		Long: `Change what a task does, when and under which limits. Only what is named changes; an empty value removes one.`,
		Example: `  dogwatch task edit T-1 --cron "30 8 * * 1-5" --active-days mon-fri --exclude 2026-12-24..2027-01-01
  dogwatch task edit T-1 --model "" --budget-day 0.50
  dogwatch task edit T-1 --document notes.md
  dogwatch task edit T-1 --no-schedule`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			answer, err := c.Get(cmd.Context(), taskPath(args[0]), nil)
			if err != nil {
				return err
			}
			was, err := read[editedTask](answer)
			if err != nil {
				return err
			}
			body, err := p.editBody(cmd, was, noSchedule)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("instruction") {
				if body["instruction"], err = p.textOrStdin(instruction); err != nil {
					return err
				}
			}
			if len(body)+len(documents)+len(unpinned) == 0 {
				return usagef("say what to change, such as --name, --cron or --budget-day; dogwatch task edit --help lists it all")
			}
			pins, err := p.documentIDs(cmd.Context(), c, documents)
			if err != nil {
				return err
			}
			if len(body) > 0 {
				body["version"] = was.Version
				if answer, err = c.Patch(cmd.Context(), taskPath(args[0]), body); err != nil {
					return staleIn(err, args[0], "dogwatch task show "+args[0])
				}
			}
			for _, doc := range pins {
				if _, err := c.Put(cmd.Context(), taskPath(args[0], "/documents/", url.PathEscape(doc)), nil); err != nil {
					return err
				}
			}
			for _, doc := range unpinned {
				if _, err := c.Delete(cmd.Context(), taskPath(args[0], "/documents/", url.PathEscape(doc))); err != nil {
					return err
				}
			}
			if p.json {
				return p.raw(answer)
			}
			t, err := read[task](answer)
			if err != nil {
				return err
			}
			p.printf("✓ %s changed", t.Identifier)
			if t.Automation != nil {
				p.printf(" · %s", t.Automation.order())
			}
			if next := p.fires(t.Automation, 3); next != "" {
				p.printf(" · %s", next)
			} else if t.NextRunAt != nil { // in the zone that was asked for
				p.printf(" · %s", p.fires(&automation{Timezone: flagText(cmd, "zone"), NextFires: []fire{{At: *t.NextRunAt}}}, 1))
			} else {
				p.printf(" · %s", t.Status)
			}
			p.printf("\n")
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&instruction, "instruction", "", `what it is to do; "-" reads it from the standard input`)
	params(f, taskParams, orderParams, policyParams)
	documentFlag(f, &documents)
	f.StringArrayVar(&unpinned, "no-document", nil, "take a pinned document off it, by its id; it stays in the library; repeatable")
	f.BoolVar(&noSchedule, "no-schedule", false, "it does not run by itself any more")
	return c
}

// editedTask is what an edit has to know of the task.
type editedTask struct {
	Version       int64          `json:"version"`
	Automation    map[string]any `json:"automation"`
	AssigneeAgent string         `json:"assigneeAgent"`
}

// editBody is the merge patch: what stays out of it is left as it is.
func (p *program) editBody(cmd *cobra.Command, was editedTask, noSchedule bool) (map[string]any, error) {
	mode, err := orderOf(cmd)
	if err != nil {
		return nil, err
	}
	before, _ := was.Automation["mode"].(string)
	had, _ := was.Automation["timezone"].(string)
	zone := flagText(cmd, "zone")
	in := zone
	if in == "" {
		in = had
	}
	body, err := typed(cmd, in, p.zone, true)
	if err != nil {
		return nil, err
	}
	if noSchedule {
		if mode != "" {
			return nil, usagef("--no-schedule excludes --heartbeat, --every and --cron")
		}
		if err := policyWithoutOrder(cmd); err != nil {
			return nil, usagef("--no-schedule takes the standing order away; leave out what changes it")
		}
		body["automation"] = nil
		return body, nil
	}
	if mode == "" && before == "" {
		if err := policyWithoutOrder(cmd); err != nil {
			return nil, err
		}
		delete(body, "automation") // --zone of --at
		return body, nil
	}
	if zone == "" && mode == "schedule" && had == "" {
		put(body, "automation.timezone", hostZone(p.zone))
	}
	if mode != "" && mode != before {
		put(body, "automation.mode", mode)
		keep(body["automation"].(map[string]any), was.Automation)
	}
	return body, nil
}

// keep carries over to an order of another mode what the old one said beside how
// often: an order that names its mode takes the place of the old one.
func keep(order, old map[string]any) {
	for _, field := range []string{"timezone", "overlap", "missed", "catchUpSeconds", "jitterSeconds", "timeoutSeconds", "startsAt", "endsAt",
		"maxExecutions", "conditions", "exclusions"} {
		v, there := old[field]
		now, named := order[field]
		switch inner, _ := now.(map[string]any); {
		case !there:
		case !named:
			order[field] = v
		case inner != nil:
			if was, ok := v.(map[string]any); ok {
				for k, x := range was {
					if _, ok := inner[k]; !ok {
						inner[k] = x
					}
				}
			}
		}
	}
	// What was cleared is left out: there is no old value under it any more.
	var drop func(map[string]any)
	drop = func(m map[string]any) {
		for k, v := range m {
			if v == nil {
				delete(m, k)
			} else if inner, ok := v.(map[string]any); ok {
				drop(inner)
			}
		}
	}
	drop(order)
}

// staleIn says what to do about a change that somebody else made first.
func staleIn(err error, what, look string) error {
	var problem *client.Problem
	if errors.As(err, &problem) && problem.Status == http.StatusPreconditionFailed {
		return &staleError{what, look}
	}
	return err
}

type staleError struct{ what, look string }

func (e *staleError) Error() string {
	return e.what + " was changed by somebody else at the same time, so nothing was changed now (stale). Look at it (" + e.look + ") and give the command again"
}
