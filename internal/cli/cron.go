package cli

import (
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"
)

// cronJob is a schedule of an agent.
type cronJob struct {
	Task                string     `json:"task"`
	Name                string     `json:"name"`
	Prompt              *string    `json:"prompt"`
	RemainingExecutions *int       `json:"remainingExecutions"`
	Enabled             bool       `json:"enabled"`
	StatusReason        string     `json:"statusReason"`
	HeldBy              *string    `json:"heldBy"`
	NextRunAt           *time.Time `json:"nextRunAt"`
	LastRunAt           *time.Time `json:"lastRunAt"`
	Automation          automation `json:"automation"`
	NextFires           []fire     `json:"nextFires"`
}

func (j cronJob) state() string {
	switch {
	case j.HeldBy != nil:
		return "held: " + *j.HeldBy
	case !j.Enabled:
		return "disabled: " + j.StatusReason
	case j.RemainingExecutions != nil:
		return fmt.Sprintf("%d left", *j.RemainingExecutions)
	}
	return "enabled"
}

func (j cronJob) does() string {
	if j.Prompt == nil {
		return "makes a task"
	}
	return "runs a prompt"
}

func cronPath(ref string) string { return "/cron-jobs/" + url.PathEscape(ref) }

func (p *program) cron() *cobra.Command {
	enabled := func(verb, short string, on bool) *cobra.Command {
		return &cobra.Command{
			Use: verb + " JOB", Short: short, Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				return p.cronEdit(cmd, args[0], map[string]any{"enabled": on}, verb+"d")
			},
		}
	}
	remove := &cobra.Command{
		Use: "delete JOB", Aliases: []string{"rm"}, Short: "Delete a cron job; tasks that it made stay", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			answer, err := c.Delete(cmd.Context(), cronPath(args[0]))
			if err != nil || p.json {
				return p.rawIf(err, answer)
			}
			p.printf("✓ %s is deleted\n", args[0])
			return nil
		},
	}
	return group("cron", "Cron jobs: schedules of agents that stand apart from the list of tasks", p.cronList(), p.cronAdd(), p.cronSet(),
		enabled("enable", "Let a cron job go on; nothing is caught up", true),
		enabled("disable", "Hold a cron job, and cancel what it has planned", false), remove)
}

func (p *program) cronList() *cobra.Command {
	var agent string
	var limit int
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List cron jobs", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := url.Values{}
			setQuery(q, "agent", agent)
			return listed(p, cmd, "/cron-jobs", q, limit, []string{"JOB", "NAME", "WHEN", "DOES", "STATE", "LAST", "NEXT"},
				"No cron jobs. Make one: dogwatch cron add watchkeeper \"0 7 * * 1-5\" \"Look through the inbox\"", func(j cronJob) []string {
					return []string{j.Task, cut(j.Name, 40), cut(j.Automation.order(), 32), j.does(), j.state(), p.when(j.LastRunAt), p.planned(j.NextRunAt, &j.Automation)}
				})
		},
	}
	c.Flags().StringVar(&agent, "agent", "", "only of this agent")
	c.Flags().IntVar(&limit, "limit", 50, "at most so many; 0 for all")
	return c
}

func (p *program) cronAdd() *cobra.Command {
	var name, zone string
	var labels, documents []string
	var most int
	var template, disabled bool
	c := &cobra.Command{
		Use: "add AGENT PATTERN TEXT", Short: "Give an agent a cron job; \"-\" reads the text from the standard input",
		Example: "  dogwatch cron add watchkeeper \"0 7 * * 1-5\" \"Look through the inbox\" --zone Europe/Berlin\n" +
			"  dogwatch cron add watchkeeper @daily \"Write the report\" --template --name Report", Args: cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := p.textOrStdin(args[2])
			if err != nil {
				return err
			}
			if len(labels) > 0 && !template {
				return usagef("--label is for the tasks of a template; add --template")
			}
			body := map[string]any{"agent": args[0], "pattern": args[1]}
			if template {
				t := map[string]any{"instruction": text}
				if len(labels) > 0 {
					t["labels"] = labels
				}
				body["template"] = t
			} else {
				body["prompt"] = text
			}
			for field, value := range map[string]string{"name": name, "timezone": zone} {
				if value != "" {
					body[field] = value
				}
			}
			if most != 0 {
				body["maxExecutions"] = most
			}
			if disabled {
				body["enabled"] = false
			}
			if len(documents) > 0 {
				body["documents"] = documents
			}
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			answer, err := c.Post(cmd.Context(), "/cron-jobs", body)
			if err != nil || p.json {
				return p.rawIf(err, answer)
			}
			j, err := read[cronJob](answer)
			if err != nil {
				return err
			}
			p.sayCronJob(j, "made")
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&name, "name", "", "what it is called; from the text when left out")
	f.StringVar(&zone, "zone", "", "time zone of the pattern, such as Europe/Berlin; yours when left out")
	f.BoolVar(&template, "template", false, "make a task of the text each time, in place of running one and the same again")
	f.StringArrayVar(&labels, "label", nil, "a label of the tasks that a template makes; may be repeated")
	f.StringArrayVar(&documents, "document", nil, "id of a document to pin; may be repeated")
	f.IntVar(&most, "max-executions", 0, "end after so many times")
	f.BoolVar(&disabled, "disabled", false, "do not begin yet")
	return c
}

func (p *program) cronSet() *cobra.Command {
	var agent, name, pattern, zone, text string
	var most int
	c := &cobra.Command{
		Use: "set JOB", Short: "Change a cron job; its next time is planned anew", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			body := map[string]any{}
			for field, value := range map[string]string{"agent": agent, "name": name, "pattern": pattern, "timezone": zone, "prompt": text} {
				if value != "" {
					body[field] = value
				}
			}
			if cmd.Flags().Changed("max-executions") {
				body["maxExecutions"] = nil
				if most != 0 {
					body["maxExecutions"] = most
				}
			}
			if len(body) == 0 {
				return usagef("say what to change, such as --pattern or --prompt")
			}
			return p.cronEdit(cmd, args[0], body, "changed")
		},
	}
	f := c.Flags()
	f.StringVar(&agent, "agent", "", "whose job it is from now on")
	f.StringVar(&name, "name", "", "what it is called")
	f.StringVar(&pattern, "pattern", "", "when it runs")
	f.StringVar(&zone, "zone", "", "time zone of the pattern")
	f.StringVar(&text, "prompt", "", "what a prompt job runs")
	f.IntVar(&most, "max-executions", 0, "end after so many times; 0 for no limit")
	return c
}

func (p *program) cronEdit(cmd *cobra.Command, ref string, body any, done string) error {
	c, err := p.client(cmd)
	if err != nil {
		return err
	}
	answer, err := c.Patch(cmd.Context(), cronPath(ref), body)
	if err != nil || p.json {
		return p.rawIf(err, answer)
	}
	j, err := read[cronJob](answer)
	if err != nil {
		return err
	}
	p.sayCronJob(j, done)
	return nil
}

func (p *program) sayCronJob(j cronJob, done string) {
	p.printf("✓ %s %q %s · %s · %s", j.Task, oneLine(j.Name), done, j.does(), j.Automation.order())
	j.Automation.NextFires = j.NextFires
	if next := p.fires(&j.Automation, 3); next != "" {
		p.printf(" · %s", next)
	}
	if j.HeldBy != nil {
		p.printf(" · held: %s", *j.HeldBy)
	}
	p.printf("\n")
}
