package cli

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dogwatch/dogwatch/internal/cli/client"
)

// taskMove is a command that moves a task by hand.
func (p *program) taskMove(verb, short, done string) *cobra.Command {
	var note string
	var interrupt, catchUp bool
	c := &cobra.Command{
		Use: verb + " TASK", Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			body := map[string]any{}
			if note != "" {
				body["note"] = note
			}
			if interrupt {
				body["interrupt"] = true
			}
			if catchUp {
				body["catchUp"] = true
			}
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			caughtUp := ""
			if catchUp && !p.json {
				caughtUp = p.catchUp(cmd.Context(), c, args[0])
			}
			answer, err := c.Post(cmd.Context(), taskPath(args[0], "/", verb), body)
			if err != nil || p.json {
				return p.rawIf(err, answer)
			}
			t, err := read[task](answer)
			if err != nil {
				return err
			}
			p.printf("✓ %s %s · now %s (%s)", t.Identifier, done, t.Status, t.StatusReason)
			if caughtUp != "" {
				p.printf(" · %s", caughtUp)
			}
			if next := p.fires(t.Automation, 3); next != "" {
				p.printf(" · %s", next)
			}
			p.printf("\n")
			return nil
		},
	}
	switch verb {
	case "pause":
		c.Flags().StringVar(&note, "note", "", "why, for whoever reads the task's history")
		c.Flags().BoolVar(&interrupt, "interrupt", false, "also stop the run that is open")
	case "cancel":
		c.Flags().StringVar(&note, "note", "", "why, for whoever reads the task's history")
	case "resume":
		c.Flags().BoolVar(&catchUp, "catch-up", false, "run it once now for all the times that passed meanwhile (dogwatch task backfill runs them one by one)")
	}
	return c
}

func (p *program) taskDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete TASK", Short: "Cancel a task and hide it (restorable for 30 days)", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			answer, err := c.Delete(cmd.Context(), taskPath(args[0]))
			if err != nil || p.json {
				return p.rawIf(err, answer)
			}
			p.printf("✓ %s deleted\n", strings.ToUpper(oneLine(args[0])))
			return nil
		},
	}
}

// catchUp says what the run makes up for that a resumed task is to begin with. It is
// asked before, while the pause is still the task's last move; not to learn it is no
// failure.
func (p *program) catchUp(ctx context.Context, c *client.Client, ref string) string {
	const most = 100 // of a preview, by the contract
	said := "one run now makes up for the times that passed"
	moves, err := readList[struct {
		To string    `json:"to"`
		At time.Time `json:"at"`
	}](ctx, c, taskPath(ref, "/moves"), url.Values{"limit": {"1"}})
	if err != nil || len(moves) == 0 || moves[0].To != "paused" {
		return said
	}
	since := moves[0].At
	answer, err := c.Get(ctx, taskPath(ref), nil)
	if err != nil {
		return said
	}
	t, err := read[editedTask](answer)
	if err != nil || t.Automation == nil || t.Automation["mode"] == "heartbeat" { // it counts from its last run
		return said + " since " + p.when(&since)
	}
	delete(t.Automation, "nextFires")
	body := map[string]any{"automation": t.Automation, "from": since, "count": most}
	if t.AssigneeAgent != "" {
		body["agent"] = t.AssigneeAgent
	}
	if answer, err = c.Post(ctx, "/schedules/preview", body); err != nil {
		return said
	}
	fires, err := read[struct {
		Items []struct {
			At     time.Time `json:"at"`
			Reason string    `json:"reason"`
		} `json:"items"`
	}](answer)
	if err != nil {
		return said
	}
	passed, all := 0, ""
	for _, f := range fires.Items {
		if f.Reason == "" && !f.At.After(p.now()) {
			passed++
		}
	}
	if n := len(fires.Items); n == most && !fires.Items[n-1].At.After(p.now()) {
		all = "at least "
	}
	return fmt.Sprintf("one run now makes up for %s%s that passed since %s", all, plural(passed, "time"), p.when(&since))
}
