package cli

import (
	"net/url"
	"strings"

	"github.com/spf13/cobra"
)

func (p *program) brief() *cobra.Command {
	return group("brief", "What waits for a person: decisions, results, errors", p.briefList(), p.briefShow(), p.briefResolve())
}

func (p *program) briefList() *cobra.Command {
	var state, kind, priority, task string
	var limit int
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List briefs that are open", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := url.Values{}
			setQuery(q, "state", state, "type", kind, "priority", priority, "task", task)
			return listed(p, cmd, "/briefs", q, limit, []string{"BRIEF", "TYPE", "PRIORITY", "TITLE", "SINCE", "ACTIONS"}, "Nothing waits for you.",
				func(b brief) []string {
					doing := keysOf(b.Actions)
					if b.ResolvedAction != nil {
						doing = "resolved: " + *b.ResolvedAction
					}
					return []string{b.Number, b.Type, b.Priority, cut(b.Title, 60), p.when(&b.CreatedAt), doing}
				})
		},
	}
	c.Flags().StringVar(&state, "state", "", "unresolved (the default), resolved or all")
	c.Flags().StringVar(&kind, "type", "", "only decision, result, insight or error")
	c.Flags().StringVar(&priority, "priority", "", "only urgent, normal or info")
	c.Flags().StringVar(&task, "task", "", "only of this task")
	c.Flags().IntVar(&limit, "limit", 50, "at most so many; 0 for all")
	return c
}

func keysOf(actions []action) string {
	var keys []string
	for _, a := range actions {
		if a.Kind != "link" {
			keys = append(keys, oneLine(a.Key))
		}
	}
	return strings.Join(keys, ", ")
}

func (p *program) briefShow() *cobra.Command {
	return &cobra.Command{
		Use: "show BRIEF", Short: "Show a brief", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			answer, err := c.Get(cmd.Context(), "/briefs/"+url.PathEscape(args[0]), nil)
			if err != nil || p.json {
				return p.rawIf(err, answer)
			}
			b, err := read[brief](answer)
			if err != nil {
				return err
			}
			p.printf("%s %s (%s) · %s\n%s\n\n%s\n", b.Number, b.Type, b.Priority, p.when(&b.CreatedAt), oneLine(b.Title), indent(b.Summary))
			if b.Count > 1 {
				p.printf("\nhappened %d times\n", b.Count)
			}
			if b.ResolvedAt != nil {
				p.printf("\nresolved %s", p.when(b.ResolvedAt))
				if b.ResolvedAction != nil {
					p.printf(": %s", oneLine(*b.ResolvedAction))
				}
				p.printf("\n")
				return nil
			}
			p.printf("\n")
			for _, a := range b.Actions {
				if a.Kind == "link" {
					p.printf("  %s: %s\n", oneLine(a.Label), oneLine(a.URL))
					continue
				}
				hint := ""
				if a.Kind == "comment" {
					hint = ` --comment "…"`
				}
				p.printf("  %-16s dogwatch brief resolve %s --action %s%s\n", oneLine(a.Label), b.Number, oneLine(a.Key), hint)
			}
			return nil
		},
	}
}

func (p *program) briefResolve() *cobra.Command {
	var action, comment string
	c := &cobra.Command{
		Use: "resolve BRIEF", Short: "Press one of a brief's buttons", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if action == "" {
				return usagef("--action is missing; say which button, such as --action approve; dogwatch brief show %s lists them", args[0])
			}
			comment, err := p.textOrStdin(comment)
			if err != nil {
				return err
			}
			body := map[string]any{"action": action}
			if comment != "" {
				body["comment"] = comment
			}
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			answer, err := c.Post(cmd.Context(), "/briefs/"+url.PathEscape(args[0])+"/resolve", body)
			if err != nil || p.json {
				return p.rawIf(err, answer)
			}
			r, err := read[struct {
				Brief   brief    `json:"brief"`
				Effects []string `json:"effects"`
			}](answer)
			if err != nil {
				return err
			}
			p.printf("✓ %s: %s\n", r.Brief.Number, oneLine(action))
			for _, e := range r.Effects {
				p.printf("  %s\n", oneLine(e))
			}
			return nil
		},
	}
	c.Flags().StringVar(&action, "action", "", "which button; dogwatch brief show lists them")
	c.Flags().StringVar(&comment, "comment", "", `text to go with it; "-" reads it from the standard input`)
	return c
}
