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

	"github.com/dogwatch/dogwatch/internal/cli/client"
)

func (p *program) task() *cobra.Command {
	return group("task", "Standing orders and one-off work",
		p.taskCreate(), p.taskEdit(), p.taskPreview(), p.taskList(), p.taskShow(), p.taskRun(), p.taskBackfill(),
		p.taskMove("pause", "Hold a task; a run that is open goes on to its end", "paused"),
		p.taskMove("resume", "Go on with a paused task", "resumed"),
		p.taskMove("cancel", "Stop a task and its run", "canceled"),
		p.taskMove("complete", "Mark a task as done", "completed"),
		p.taskMove("reopen", "Take a completed, failed or canceled task up again", "reopened"),
		p.taskDelete(), p.taskBulk(), p.taskWatch(), p.why())
}

func taskPath(ref string, more ...string) string {
	return "/tasks/" + url.PathEscape(ref) + strings.Join(more, "")
}

func (p *program) taskList() *cobra.Command {
	var status, query, sort string
	var limit int
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List tasks", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := url.Values{}
			setQuery(q, "status", status, "q", query, "sort", sort)
			return listed(p, cmd, "/tasks", q, limit, []string{"TASK", "STATUS", "NAME", "RUNS", "LAST", "NEXT", "COST"}, "No tasks yet. Make one: dogwatch task create \"…\" --every 10m",
				func(t task) []string {
					status := t.Status
					if t.Status == "paused" {
						status += " (" + t.StatusReason + ")"
					}
					return []string{t.Identifier, status, cut(t.Name, 48), cut(t.Automation.order(), 28), p.when(t.LastRunAt), p.planned(t.NextRunAt, t.Automation), money(t.CostUSD)}
				})
		},
	}
	c.Flags().StringVar(&status, "status", "", "only tasks in this status: backlog, scheduled, running, paused, completed, failed, canceled")
	c.Flags().StringVarP(&query, "query", "q", "", "only tasks whose name, identifier or instruction holds this")
	c.Flags().StringVar(&sort, "sort", "", "order, as the API has it")
	c.Flags().IntVar(&limit, "limit", 50, "at most so many; 0 for all")
	return c
}

func setQuery(q url.Values, pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
}

// listed prints a list of the API as a table, or as one JSON document.
func listed[T any](p *program, cmd *cobra.Command, path string, q url.Values, limit int, header []string, empty string, row func(T) []string) error {
	c, err := p.client(cmd)
	if err != nil {
		return err
	}
	if limit < 0 {
		return usagef("--limit %d is not usable; allowed is a number from 0 (all) on", limit)
	}
	items, cursor, err := pages(cmd.Context(), c, path, q, limit)
	if err != nil {
		return err
	}
	if p.json {
		b, err := json.Marshal(list[json.RawMessage]{items, cursor})
		if err != nil {
			return err
		}
		return p.raw(b)
	}
	if len(items) == 0 {
		p.note("%s", empty)
		return nil
	}
	var rows [][]string
	for _, it := range items {
		v, err := read[T](it)
		if err != nil {
			return err
		}
		rows = append(rows, row(v))
	}
	if err := p.table(header, rows); err != nil {
		return err
	}
	if cursor != nil {
		p.note("There are more; --limit 0 lists all.")
	}
	return nil
}

// pages reads a list, page by page, up to limit items (0: all).
func pages(ctx context.Context, c *client.Client, path string, q url.Values, limit int) ([]json.RawMessage, *string, error) {
	const most = 200 // of a page, by the contract
	items := []json.RawMessage{}
	for {
		want := most
		if limit > 0 {
			want = min(most, limit-len(items))
		}
		q.Set("limit", strconv.Itoa(want))
		answer, err := c.Get(ctx, path, q)
		if err != nil {
			return nil, nil, err
		}
		page, err := read[list[json.RawMessage]](answer)
		if err != nil {
			return nil, nil, err
		}
		items = append(items, page.Items...)
		if page.NextCursor == nil || limit > 0 && len(items) >= limit {
			return items, page.NextCursor, nil
		}
		q.Set("cursor", *page.NextCursor)
	}
}

func (p *program) taskShow() *cobra.Command {
	return &cobra.Command{
		Use: "show TASK", Short: "Show a task with its last runs", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			answer, err := c.Get(cmd.Context(), taskPath(args[0]), nil)
			if err != nil || p.json {
				return p.rawIf(err, answer)
			}
			t, err := read[task](answer)
			if err != nil {
				return err
			}
			p.printf("%s %q\n%s\n\n", t.Identifier, oneLine(t.Name), indent(t.Instruction))
			p.printf("status   %s (%s)\n", t.Status, t.StatusReason)
			if t.Error != nil && *t.Error != "" {
				p.printf("error    %s\n", oneLine(*t.Error))
			}
			if t.Automation != nil {
				p.printf("runs     %s\n", t.Automation.order())
			}
			if next := p.fires(t.Automation, 3); next != "" {
				p.printf("next     %s\n", strings.TrimPrefix(next, "next "))
			} else if t.NextRunAt != nil {
				p.printf("next     %s\n", p.when(t.NextRunAt))
			}
			if t.NextRunWhy != "" {
				p.printf("because  %s\n", oneLine(t.NextRunWhy))
			}
			if t.MadeBy != "" {
				p.printf("made by  %s\n", t.MadeBy)
			}
			if c := t.Cadence.String(); c != "" {
				p.printf("cadence  %s\n", c)
			}
			p.printf("so far   %s, %s\n", plural(t.TotalTopics, "run"), money(t.CostUSD))
			topics, err := readList[topic](cmd.Context(), c, taskPath(args[0], "/topics"), url.Values{"limit": {"5"}})
			if err != nil {
				return err
			}
			for _, o := range topics {
				p.printf("\n%s  run %d %s (%s)", p.when(&o.StartedAt), o.Seq, o.Status, o.Origin)
				if o.Handoff != nil {
					p.printf(" · %s", cut(o.Handoff.Title, 100))
				}
				if o.Error != nil && *o.Error != "" {
					p.printf(" · %s", cut(*o.Error, 100))
				}
			}
			if len(topics) > 0 {
				p.printf("\n\nMore: dogwatch topic show %s, dogwatch why %s\n", t.Identifier, t.Identifier)
			}
			return nil
		},
	}
}

// rawIf prints an answer unless there was an error, which it returns.
func (p *program) rawIf(err error, answer json.RawMessage) error {
	if err != nil {
		return err
	}
	return p.raw(answer)
}

func readList[T any](ctx context.Context, c *client.Client, path string, q url.Values) ([]T, error) {
	answer, err := c.Get(ctx, path, q)
	if err != nil {
		return nil, err
	}
	l, err := read[list[T]](answer)
	return l.Items, err
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func (p *program) taskRun() *cobra.Command {
	var note, continues string
	var wait bool
	var timeout time.Duration
	c := &cobra.Command{
		Use: "run TASK", Short: "Run a task now", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			body := map[string]any{}
			if note != "" {
				body["note"] = note
			}
			if continues != "" {
				body["continueTopic"] = continues
			}
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			answer, err := c.Post(cmd.Context(), taskPath(args[0], "/run"), body)
			if err != nil {
				return err
			}
			started, err := read[struct {
				TopicID       string   `json:"topicId"`
				MadeTaskID    string   `json:"madeTaskId"`
				Queued        bool     `json:"queued"`
				SkippedChecks []string `json:"skippedChecks"`
			}](answer)
			if err != nil {
				return err
			}
			if p.json && !wait {
				return p.raw(answer)
			}
			if !p.json {
				switch {
				case started.MadeTaskID != "":
					p.printf("✓ a task was made and runs next: dogwatch task show %s\n", started.MadeTaskID)
				case started.Queued:
					p.printf("✓ queued: it runs when the open run has ended\n")
				case len(started.SkippedChecks) > 0:
					p.printf("✓ started (without asking: %s)\n", strings.Join(started.SkippedChecks, ", "))
				default:
					p.printf("✓ started\n")
				}
			}
			if !wait {
				return nil
			}
			if started.MadeTaskID != "" {
				return fmt.Errorf("%s makes tasks and has no run of its own to wait for; watch the task that it made: dogwatch task watch %s", args[0], started.MadeTaskID)
			}
			if started.TopicID == "" {
				return usagef("a queued run cannot be waited for; see dogwatch task watch %s", args[0])
			}
			ctx := cmd.Context()
			if timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeoutCause(ctx, timeout, fmt.Errorf("the run has not ended within %s; it goes on", timeout))
				defer cancel()
			}
			return p.awaitTopic(ctx, c, started.TopicID)
		},
	}
	c.Flags().StringVar(&note, "note", "", "something to tell the agent with this run")
	c.Flags().StringVar(&continues, "continue", "", "go on with the conversation of this topic")
	c.Flags().BoolVar(&wait, "wait", false, "wait until the run ends; exit code 1 when it did not complete")
	c.Flags().DurationVar(&timeout, "timeout", 0, "with --wait: wait at most so long")
	return c
}

// pollEvery is how often --wait looks: a run takes seconds at least.
const pollEvery = 400 * time.Millisecond

func (p *program) awaitTopic(ctx context.Context, c *client.Client, id string) error {
	told := ""
	for {
		answer, err := c.Get(ctx, "/topics/"+url.PathEscape(id), nil)
		if err != nil {
			return cmp.Or(context.Cause(ctx), err)
		}
		t, err := read[topic](answer)
		if err != nil {
			return err
		}
		// The handoff is written after the end; give it a moment to be there.
		if t.Status != "running" && (t.Handoff != nil || t.CompletedAt == nil || p.now().Sub(*t.CompletedAt) > 10*time.Second) {
			if p.json {
				err = p.raw(answer)
			} else {
				p.showTopic(t)
			}
			if err == nil && t.Status != "completed" {
				err = errFailed
			}
			return err
		}
		if t.WaitingFor != nil && *t.WaitingFor != told {
			told = *t.WaitingFor
			p.note("The run waits for %s; see dogwatch brief list.", map[string]string{"human": "a person", "tool": "a tool", "device": "a device"}[told])
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (p *program) why() *cobra.Command {
	return &cobra.Command{
		Use: "why TASK", Short: "Say what happens next with a task, and why", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			answer, err := c.Get(cmd.Context(), taskPath(args[0], "/why"), nil)
			if err != nil || p.json {
				return p.rawIf(err, answer)
			}
			w, err := read[struct {
				Checks []struct {
					Check  string `json:"check"`
					OK     bool   `json:"ok"`
					Detail string `json:"detail"`
				} `json:"checks"`
				Outcome    string     `json:"outcome"`
				NextRunAt  *time.Time `json:"nextRunAt"`
				NextRunWhy string     `json:"nextRunWhy"`
				Backfill   *struct {
					Planned  int        `json:"planned"`
					Done     int        `json:"done"`
					Next     *time.Time `json:"next"`
					WaitsFor string     `json:"waitsFor"`
				} `json:"backfill"`
			}](answer)
			if err != nil {
				return err
			}
			for _, k := range w.Checks {
				mark := "✓"
				if !k.OK {
					mark = "✗"
				}
				p.printf("%s %-22s %s\n", mark, k.Check, oneLine(k.Detail))
			}
			p.printf("→ %s", cmp.Or(oneLine(w.Outcome), "nothing is planned"))
			order := p.orders(cmd.Context(), c)
			if w.NextRunAt != nil {
				p.printf(" · next %s", p.planned(w.NextRunAt, order(args[0])))
			} else if w.Outcome == "run" {
				p.printf(" · nothing is planned; dogwatch task run %s starts it", args[0])
			}
			if w.NextRunWhy != "" {
				p.printf(" · %s", oneLine(w.NextRunWhy))
			}
			if b := w.Backfill; b != nil {
				p.printf("\n→ a backfill is at %d of %d", b.Done, b.Planned)
				if b.Next != nil {
					p.printf(", for %s", p.planned(b.Next, order(args[0])))
				}
				if b.WaitsFor != "" {
					said := b.WaitsFor
					for _, k := range w.Checks { // the check of that name says it in words
						if k.Check == b.WaitsFor && !k.OK {
							said = k.Detail
						}
					}
					p.printf(", and waits: %s", oneLine(said))
				}
			}
			p.printf("\n")
			return nil
		},
	}
}
