package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/dogwatch/dogwatch/internal/cli/client"
)

func (p *program) taskBackfill() *cobra.Command {
	var from, to, zone string
	var most int
	var all, cancel bool
	c := &cobra.Command{
		Use: "backfill TASK", Short: "Make up for planned times that did not run, the oldest first and one at a time", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			if cancel {
				answer, err := c.Delete(cmd.Context(), taskPath(args[0], "/backfill"))
				if err != nil || p.json {
					return p.rawIf(err, answer)
				}
				p.printf("✓ the rest is let go; a run that is open goes on to its end\n")
				return nil
			}
			if from == "" {
				return usagef("--from is missing; say from which time on to make up for, such as --from \"2026-05-01 00:00\"")
			}
			body := map[string]any{}
			for name, value := range map[string]string{"from": from, "to": to} {
				if value == "" {
					continue
				}
				at, err := parseMoment("--"+name, value, zone, p.now().Location())
				if err != nil {
					return err
				}
				body[name] = at.UTC().Format(time.RFC3339)
			}
			if most != 0 {
				body["max"] = most
			}
			if all {
				body["onlyMissing"] = false
			}
			answer, err := c.Post(cmd.Context(), taskPath(args[0], "/backfill"), body)
			if err != nil || p.json {
				return p.rawIf(err, answer)
			}
			plan, err := read[struct {
				Planned           int        `json:"planned"`
				SkippedAlreadyRan int        `json:"skippedAlreadyRan"`
				SkippedRefused    int        `json:"skippedRefused"`
				First             *time.Time `json:"first"`
				Last              *time.Time `json:"last"`
				More              bool       `json:"more"`
			}](answer)
			if err != nil {
				return err
			}
			if plan.Planned == 0 {
				p.printf("nothing to make up for")
			} else {
				p.printf("✓ %s, from %s to %s, one at a time", plural(plan.Planned, "run"), p.stamp(plan.First), p.stamp(plan.Last))
			}
			if plan.SkippedAlreadyRan > 0 {
				p.printf(" · %d ran already", plan.SkippedAlreadyRan)
			}
			if plan.SkippedRefused > 0 {
				p.printf(" · %d are refused by the schedule", plan.SkippedRefused)
			}
			if plan.Planned > 0 {
				if waits := p.backfillWaits(cmd, c, args[0]); waits != "" {
					p.printf(" · it waits: %s", waits)
				}
			}
			if plan.More {
				p.printf(" · there are more: ask again when these are through, or raise --max")
			}
			p.printf("\n")
			return nil
		},
	}
	c.Flags().StringVar(&from, "from", "", `from this time on: "2026-05-01 07:00" or RFC 3339`)
	c.Flags().StringVar(&to, "to", "", "until this time; until now when left out")
	c.Flags().StringVar(&zone, "zone", "", "zone of the times above, such as Europe/Berlin; this host's when left out")
	c.Flags().IntVar(&most, "max", 0, "at most so many, the oldest: 25 when left out, 100 at most")
	c.Flags().BoolVar(&all, "all", false, "those that ran already, too")
	c.Flags().BoolVar(&cancel, "cancel", false, "let go of what is still to be made up for")
	return c
}

// backfillWaits is what a backfill waits for, such as for its task to be resumed.
// It was ordered already: not to learn this is no failure.
func (p *program) backfillWaits(cmd *cobra.Command, c *client.Client, ref string) string {
	answer, err := c.Get(cmd.Context(), taskPath(ref), nil)
	if err != nil {
		return ""
	}
	if t, err := read[task](answer); err == nil && t.Status == "paused" {
		return fmt.Sprintf("%s is paused (%s); dogwatch task resume %s lets it begin", t.Identifier, t.StatusReason, t.Identifier)
	}
	if answer, err = c.Get(cmd.Context(), taskPath(ref, "/why"), nil); err != nil {
		return ""
	}
	w, err := read[struct {
		Backfill *struct {
			WaitsFor string `json:"waitsFor"`
		} `json:"backfill"`
	}](answer)
	if err != nil || w.Backfill == nil {
		return ""
	}
	return oneLine(w.Backfill.WaitsFor)
}
