package cli

import (
	"net/url"
	"regexp"

	"github.com/spf13/cobra"
)

// bulk is what came of an order for many tasks.
type bulk struct {
	ID      string `json:"id"`
	Action  string `json:"action"`
	Matched int    `json:"matched"`
	Changed int    `json:"changed"`
	Pending int    `json:"pending"`
	Skipped []struct {
		Task   string `json:"task"`
		Code   string `json:"code"`
		Detail string `json:"detail"`
	} `json:"skipped"`
	Undoable bool `json:"undoable"`
}

// orderID is what the id of an order looks like.
var orderID = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

func (p *program) taskBulk() *cobra.Command {
	return group("bulk", "Pause, resume or cancel many tasks at once, and take that back",
		p.taskBulkOrder("pause", "Pause many tasks; open runs go on to their end"),
		p.taskBulkOrder("resume", "Take many paused tasks up again"),
		p.taskBulkOrder("cancel", "End many tasks and stop their runs"),
		p.undo())
}

// undo takes an order for many tasks back. It stands beside why, too: who just
// gave a wrong order looks for that word first.
func (p *program) undo() *cobra.Command {
	return &cobra.Command{
		Use: "undo ORDER", Short: "Take an order for many tasks back, but for tasks that somebody moved since",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("name the order; each order for many tasks prints the id that takes it back")
			}
			return nil
		},
		Example: "  dogwatch undo 0198c0de-1111-7000-8000-000000000001",
		RunE: func(cmd *cobra.Command, args []string) error {
			if !orderID.MatchString(args[0]) {
				return usagef("%q is not the id of an order; it looks like 0198c0de-1111-7000-8000-000000000001, and the order printed it (with --json it is its id)", args[0])
			}
			return p.bulkOrder(cmd, "/tasks/bulk/"+url.PathEscape(args[0])+"/undo", nil)
		},
	}
}

func (p *program) taskBulkOrder(action, short string) *cobra.Command {
	var status, priority []string
	var agent, label, automation, query, note string
	var all bool
	c := &cobra.Command{
		Use: action + " [TASK…]", Short: short,
		Example: "  dogwatch task bulk " + action + " T-4 T-7\n  dogwatch task bulk " + action + " --label crm --note \"migration\"",
		RunE: func(cmd *cobra.Command, tasks []string) error {
			filter := map[string]any{}
			for name, value := range map[string]string{"assigneeAgent": agent, "label": label, "automation": automation, "q": query} {
				if value != "" {
					filter[name] = value
				}
			}
			for name, values := range map[string][]string{"status": status, "priority": priority} {
				if len(values) > 0 {
					filter[name] = values
				}
			}
			body := map[string]any{"action": action}
			switch {
			case len(tasks) > 0 && (len(filter) > 0 || all):
				return usagef("name tasks, or say which by flags, but not both")
			case len(tasks) > 0:
				body["ids"] = tasks
			case len(filter) == 0 && !all:
				return usagef("say which tasks: name them, narrow them by flags such as --label, or take --all")
			default:
				body["filter"] = filter
			}
			if note != "" {
				body["note"] = note
			}
			return p.bulkOrder(cmd, "/tasks/bulk", body)
		},
	}
	f := c.Flags()
	f.StringSliceVar(&status, "status", nil, "tasks in this status; more than one with commas")
	f.StringSliceVar(&priority, "priority", nil, "tasks of this priority; more than one with commas")
	f.StringVar(&agent, "agent", "", "tasks of this agent")
	f.StringVar(&label, "label", "", "tasks with this label")
	f.StringVar(&automation, "automation", "", "tasks on a heartbeat, schedule, every, once, or none")
	f.StringVarP(&query, "query", "q", "", "tasks whose name, identifier or instruction holds this")
	f.BoolVar(&all, "all", false, "all tasks")
	f.StringVar(&note, "note", "", "why, for whoever reads the tasks' histories")
	return c
}

// bulkOrder gives an order and says what came of it.
func (p *program) bulkOrder(cmd *cobra.Command, path string, body any) error {
	c, err := p.client(cmd)
	if err != nil {
		return err
	}
	answer, err := c.Post(cmd.Context(), path, body)
	if err != nil || p.json {
		return p.rawIf(err, answer)
	}
	b, err := read[bulk](answer)
	if err != nil {
		return err
	}
	p.printf("✓ %s: %d of %s changed", b.Action, b.Changed, plural(b.Matched, "task"))
	if b.Pending > 0 {
		p.printf(", %d still to come", b.Pending)
	}
	p.printf("\n")
	for _, s := range b.Skipped {
		p.printf("  %s stays: %s\n", s.Task, oneLine(s.Detail))
	}
	if b.Undoable {
		p.printf("Take it back: dogwatch undo %s\n", b.ID)
	}
	return nil
}
