package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/cli/client"
)

func (p *program) topic() *cobra.Command {
	show := &cobra.Command{
		Use: "show TOPIC | TASK [RUN]", Short: "Show a run: by id, or a task's last one, or its run of that number", Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			answer, err := findTopic(cmd.Context(), c, args)
			if err != nil || p.json {
				return p.rawIf(err, answer)
			}
			t, err := read[topic](answer)
			if err != nil {
				return err
			}
			p.showTopic(t)
			return nil
		},
	}
	return group("topic", "Runs of a task and what each left behind", show)
}

func findTopic(ctx context.Context, c *client.Client, args []string) (json.RawMessage, error) {
	ref := args[0]
	if !id.Valid(ref) {
		seq := 0
		if len(args) == 2 {
			var err error
			if seq, err = strconv.Atoi(args[1]); err != nil || seq < 1 {
				return nil, usagef("%q is not the number of a run", args[1])
			}
		}
		limit := 1
		if seq > 0 {
			limit = 0
		}
		items, _, err := pages(ctx, c, taskPath(ref, "/topics"), url.Values{}, limit)
		if err != nil {
			return nil, err
		}
		ref = ""
		for _, it := range items {
			t, err := read[topic](it)
			if err != nil {
				return nil, err
			}
			if seq == 0 || t.Seq == seq {
				ref = t.ID
				break
			}
		}
		if ref == "" && seq == 0 {
			return nil, fmt.Errorf("%s has not run yet", args[0])
		} else if ref == "" {
			return nil, fmt.Errorf("%s has no run %d", args[0], seq)
		}
	}
	return c.Get(ctx, "/topics/"+url.PathEscape(ref), nil)
}

// showTopic prints a run and its handoff.
func (p *program) showTopic(t topic) {
	p.printf("run %d %s (%s) · %s", t.Seq, t.Status, t.Origin, p.when(&t.StartedAt))
	if t.CompletedAt != nil {
		p.printf(" · took %s", t.CompletedAt.Sub(t.StartedAt).Round(100*time.Millisecond))
	}
	p.printf(" · %s\n", money(t.CostUSD))
	if t.WaitingFor != nil && *t.WaitingFor != "" {
		p.printf("waits for %s\n", *t.WaitingFor)
	}
	if t.Error != nil && *t.Error != "" {
		p.printf("error: %s\n", oneLine(*t.Error))
	}
	if h := t.Handoff; h != nil {
		p.printf("\n%s\n%s\n", oneLine(h.Title), indent(h.Summary))
		for _, k := range h.KeyFindings {
			p.printf("  • %s\n", oneLine(k))
		}
		if h.NextAction != "" {
			p.printf("  next: %s\n", oneLine(h.NextAction))
		}
		if h.Unfinished != "" {
			p.printf("  unfinished: %s\n", oneLine(h.Unfinished))
		}
	}
	for _, o := range t.Operations {
		p.printf("\noperation %s · %s · %s · %s", o.ID, p.ending(o), cmp.Or(o.Model, "no model yet"), plural(o.StepCount, "step"))
	}
	if len(t.Operations) > 0 {
		p.printf("\n")
	}
}

func (p *program) ending(o operation) string {
	s := o.Status
	if o.CompletionReason != nil && *o.CompletionReason != o.Status {
		s += ": " + *o.CompletionReason
	}
	if o.ReasonDetail != nil && *o.ReasonDetail != "" {
		s += " (" + *o.ReasonDetail + ")"
	}
	return s
}

func (p *program) operation() *cobra.Command {
	c := group("op", "Executions of an agent, step by step", p.operationList(), p.operationShow())
	c.Aliases = []string{"operation"}
	return c
}

func (p *program) operationList() *cobra.Command {
	var status, task string
	var limit int
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List operations", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := url.Values{}
			setQuery(q, "status", status, "task", task)
			return listed(p, cmd, "/operations", q, limit, []string{"OPERATION", "STATUS", "MODEL", "STEPS", "TOKENS", "COST", "SINCE"}, "No operations.",
				func(o operation) []string {
					return []string{o.ID, p.ending(o), o.Model, fmt.Sprint(o.StepCount),
						fmt.Sprintf("%d in, %d out", o.Usage.InputTokens, o.Usage.OutputTokens), money(o.CostUSD), p.when(&o.CreatedAt)}
				})
		},
	}
	c.Flags().StringVar(&status, "status", "", "only in this status, such as running")
	c.Flags().StringVar(&task, "task", "", "only of this task")
	c.Flags().IntVar(&limit, "limit", 50, "at most so many; 0 for all")
	return c
}

func (p *program) operationShow() *cobra.Command {
	return &cobra.Command{
		Use: "show OPERATION", Short: "Show an operation with its steps", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			path := "/operations/" + url.PathEscape(args[0])
			answer, err := c.Get(cmd.Context(), path, nil)
			if err != nil || p.json {
				return p.rawIf(err, answer)
			}
			o, err := read[operation](answer)
			if err != nil {
				return err
			}
			p.printf("%s · %s · %s · %d tokens in, %d out · %s\n", o.ID, p.ending(o), cmp.Or(o.Model, "no model yet"),
				o.Usage.InputTokens, o.Usage.OutputTokens, money(o.CostUSD))
			if o.Error != nil && *o.Error != "" {
				p.printf("error: %s\n", oneLine(*o.Error))
			}
			steps, err := pagesOf[step](cmd.Context(), c, path+"/steps", url.Values{})
			if err != nil {
				return err
			}
			for _, s := range steps {
				p.printf("%3d  %s\n", s.Seq, p.stepLine(s))
			}
			return nil
		},
	}
}

// stepLine says what a step did.
func (p *program) stepLine(s step) string {
	line := s.Kind
	var names []string
	count := map[string]int{}
	for _, t := range s.ToolCalls {
		name := t.Name
		if t.IsError {
			name += " (error)"
		}
		if count[name]++; count[name] == 1 {
			names = append(names, name)
		}
	}
	for i, name := range names {
		if n := count[name]; n > 1 {
			names[i] = fmt.Sprintf("%s ×%d", name, n)
		}
	}
	if len(names) > 0 {
		line += ": " + strings.Join(names, ", ")
	}
	if s.Text != "" {
		line += " · " + cut(s.Text, 120)
	}
	if s.Error != "" {
		line += " · error: " + cut(s.Error, 120)
	}
	return line
}
