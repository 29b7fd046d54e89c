package cli

import (
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"time"

	"github.com/spf13/cobra"

	"github.com/dogwatch/dogwatch/examples"
	"github.com/dogwatch/dogwatch/internal/cli/client"
)

const (
	demoFolder = "demo"
	demoName   = "What changed, what needs a decision?"
	demoOrder  = `You look after the support desk of Kettle & Co over night. The pinned documents are its mails, release notes, sensor readings and stock.

What changed since the last run, and what needs a decision? Report what is new, with the document it stands in. Compare readings with the limits in the handover. Raise one decision brief for each thing that a person has to decide, and none for what is settled.`
)

func (p *program) demo() *cobra.Command {
	var every time.Duration
	c := &cobra.Command{
		Use: "demo", Short: "Load the worked example into a running instance and watch it: three runs, and a decision for you",
		Long: `Load the worked example: a night at the support desk of a shop. A task looks once a minute at what changed and what
needs a decision; between its runs new mails, readings and release notes arrive. Ctrl-C ends the watching, not the task.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			seconds, err := wholeSeconds("--every", every)
			if err != nil {
				return err
			}
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			return p.runDemo(cmd.Context(), c, examples.Night(), seconds)
		},
	}
	c.Flags().DurationVar(&every, "every", time.Minute, "how often the task runs")
	return c
}

// runDemo loads the first batch, starts the task, and brings one batch more after
// each run that ends.
func (p *program) runDemo(ctx context.Context, c *client.Client, night fs.FS, seconds int64) error {
	batches, err := fs.ReadDir(night, ".")
	if err != nil || len(batches) == 0 {
		return fmt.Errorf("read the example: %w", err)
	}
	documents, err := loadBatch(ctx, c, night, batches[0].Name())
	if err != nil {
		return err
	}
	answer, err := c.Post(ctx, "/tasks", map[string]any{
		"name": demoName, "instruction": demoOrder, "labels": []string{"demo"}, "documents": documents,
		"automation": map[string]any{"mode": "heartbeat", "intervalSeconds": seconds},
	})
	if err != nil {
		return err
	}
	t, err := read[task](answer)
	if err != nil {
		return err
	}
	p.note("%s pinned; more arrives after each run. Ctrl-C ends the watching, not the task; dogwatch task delete %s ends the task.",
		plural(len(documents), "document"), t.Identifier)
	next := 1
	w := &watcher{program: p, c: c, task: t, left: len(batches), fresh: true, seen: map[string]string{}}
	w.ended = func(ctx context.Context) error {
		if next == len(batches) {
			return nil
		}
		documents, err := loadBatch(ctx, c, night, batches[next].Name())
		next++
		for _, id := range documents {
			if err == nil {
				_, err = c.Put(ctx, taskPath(t.Identifier, "/documents/", url.PathEscape(id)), map[string]any{})
			}
		}
		if err == nil && !p.json {
			p.printf("%s   %s arrived\n", p.moment(p.now()), plural(len(documents), "document"))
		}
		return err
	}
	return w.follow(ctx)
}

// loadBatch puts the files of a batch into the library and returns their ids.
func loadBatch(ctx context.Context, c *client.Client, night fs.FS, batch string) ([]string, error) {
	files, err := fs.ReadDir(night, batch)
	if err != nil {
		return nil, fmt.Errorf("read the example: %w", err)
	}
	var ids []string
	for _, f := range files {
		content, err := fs.ReadFile(night, path.Join(batch, f.Name()))
		if err != nil {
			return nil, fmt.Errorf("read the example: %w", err)
		}
		answer, err := putDocument(ctx, c, f.Name(), demoFolder, string(content))
		if err != nil {
			return nil, err
		}
		d, err := read[document](answer)
		if err != nil {
			return nil, err
		}
		ids = append(ids, d.ID)
	}
	return ids, nil
}
