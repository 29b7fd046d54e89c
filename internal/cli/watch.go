package cli

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dogwatch/dogwatch/internal/cli/client"
)

func (p *program) taskWatch() *cobra.Command {
	var runs int
	c := &cobra.Command{
		Use: "watch TASK", Short: "Follow a task: ticks, runs, steps and briefs as they happen (Ctrl-C ends)", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			answer, err := c.Get(cmd.Context(), taskPath(args[0]), nil)
			if err != nil {
				return err
			}
			t, err := read[task](answer)
			if err != nil {
				return err
			}
			w := &watcher{program: p, c: c, task: t, left: runs, seen: map[string]string{}}
			return w.follow(cmd.Context())
		},
	}
	c.Flags().IntVar(&runs, "runs", 0, "end after so many runs have ended; exit code 1 when the last did not complete")
	return c
}

// watcher prints what is new about a task. An event only says that there may be
// something new; what it is, is read from the API, so that nothing is printed
// twice or made up, whatever was missed.
type watcher struct {
	*program
	c    *client.Client
	task task
	left int // runs to wait for, 0 for no end
	seen map[string]string
	last string // status of the run that ended last

	fresh bool                        // the task was made just now: all of it is news
	ended func(context.Context) error // called after each run that ends
}

// settleTime is how long events are collected before the API is asked: those
// of one transaction come together.
const settleTime = 100 * time.Millisecond

func (w *watcher) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	news := make(chan struct{}, 1)
	poke := func() {
		select {
		case news <- struct{}{}:
		default:
		}
	}
	ended := make(chan error, 1)
	go func() {
		ended <- w.c.Events(ctx, poke, func(e client.Event) error {
			if w.json {
				if w.concerns(e) {
					b, err := json.Marshal(e)
					if err == nil {
						w.printf("%s\n", b)
					}
				}
			}
			if w.concerns(e) {
				poke()
			}
			return nil
		})
	}()
	if !w.json {
		w.printf("%s %q", w.task.Identifier, cut(w.task.Name, 80))
		if a := w.task.Automation; a != nil {
			w.printf("   %s", a.order())
		}
		w.printf("\n")
	}
	if w.fresh {
		w.seen["ready"] = "yes"
	}
	// What was there before is not news.
	if err := w.look(ctx, w.fresh); err != nil {
		return err
	}
	for {
		select {
		case <-news:
			time.Sleep(settleTime)
			if err := w.look(ctx, true); err != nil {
				if errors.Is(err, client.ErrStop) {
					if w.last != "completed" {
						return errFailed
					}
					return nil
				}
				return err
			}
		case err := <-ended:
			if ctx.Err() != nil {
				return nil // Ctrl-C is how this ends
			}
			return err
		}
	}
}

// concerns reports whether an event may be about the task. Ticks do not say
// whose they are.
func (w *watcher) concerns(e client.Event) bool {
	if e.Type == client.Reset || e.Subject.ID == w.task.ID || strings.HasPrefix(e.Type, "tick.") {
		return true
	}
	var about struct {
		TaskID string `json:"taskId"`
		Task   string `json:"task"`
	}
	_ = json.Unmarshal(e.Payload, &about)
	return about.TaskID == w.task.ID || about.Task == w.task.ID || about.Task == w.task.Identifier
}

// look reads what the task's ledger says and prints what has changed.
func (w *watcher) look(ctx context.Context, print bool) error {
	path := taskPath(w.task.ID)
	ticks, err := readList[tick](ctx, w.c, path+"/ticks", url.Values{"limit": {"20"}})
	if err != nil {
		return err
	}
	topics, err := readList[topic](ctx, w.c, path+"/topics", url.Values{"limit": {"3"}})
	if err != nil {
		return err
	}
	briefs, err := readList[brief](ctx, w.c, "/briefs", url.Values{"task": {w.task.ID}, "state": {"all"}, "limit": {"20"}})
	if err != nil {
		return err
	}
	if w.json {
		print = false
	}
	slices.Reverse(ticks)
	slices.Reverse(topics)
	slices.Reverse(briefs)
	for _, t := range ticks {
		w.say(print, "tick "+t.ID, t.State, func() string { return w.tickLine(t) })
	}
	stop, runs := false, 0
	for _, t := range topics {
		before := w.seen["topic "+t.ID]
		if before == "" && t.Status != "running" { // it began and ended between two looks
			w.say(print, "topic "+t.ID, "running", func() string { return w.startLine(t) })
			before = "running"
		}
		if t.Status == "running" {
			w.say(print, "topic "+t.ID, "running", func() string { return w.startLine(t) })
		}
		if err := w.steps(ctx, t, print); err != nil {
			return err
		}
		state := t.Status
		if t.Handoff != nil {
			state += " handoff"
		}
		if t.Status != "running" {
			w.say(print, "topic "+t.ID, state, func() string { return w.endLine(t, before) })
		}
		if before != state && t.Handoff != nil && w.ready() {
			w.last = t.Status
			runs++
			if w.left > 0 {
				w.left--
				stop = w.left == 0
			}
		}
	}
	for _, b := range briefs {
		state := "open"
		if b.ResolvedAt != nil {
			state = "resolved"
		}
		w.say(print, "brief "+b.ID, state, func() string { return w.briefLine(b) })
	}
	w.seen["ready"] = "yes"
	for ; runs > 0 && w.ended != nil; runs-- {
		if err := w.ended(ctx); err != nil {
			return err
		}
	}
	if stop {
		return client.ErrStop
	}
	return nil
}

// ready: the first look has been taken.
func (w *watcher) ready() bool { return w.seen["ready"] != "" }

// say prints a line when a thing is in another state than before.
func (w *watcher) say(print bool, what, state string, line func() string) {
	if w.seen[what] == state {
		return
	}
	w.seen[what] = state
	if !print {
		return
	}
	if l := line(); l != "" {
		w.printf("%s %s\n", w.moment(w.now()), l)
	}
}

func (w *watcher) tickLine(t tick) string {
	switch t.State {
	case "skipped", "missed", "coalesced", "canceled":
		line := "tick " + t.State
		if t.Reason != nil {
			line += ": " + *t.Reason
		}
		return line
	case "queued":
		return "tick queued: a run is still open"
	}
	return "" // what comes of the others shows as a run
}

func (w *watcher) startLine(t topic) string {
	return "run " + itoa(t.Seq) + " started (" + t.Origin + ")"
}

// endLine says how a run ended and what it left. The handoff is written a moment
// after the end, so the two may come one after the other.
func (w *watcher) endLine(t topic, before string) string {
	line := "run " + itoa(t.Seq)
	if !strings.HasPrefix(before, t.Status) {
		line += " " + t.Status
		if t.Error != nil && *t.Error != "" {
			line += ": " + cut(*t.Error, 160)
		}
		line += " · " + money(t.CostUSD)
	}
	if t.Handoff != nil {
		line += " · handoff \"" + cut(t.Handoff.Title, 100) + "\""
		if t.Handoff.NextAction != "" {
			line += " · next: " + cut(t.Handoff.NextAction, 100)
		}
	}
	return line
}

func (w *watcher) briefLine(b brief) string {
	if b.ResolvedAt != nil {
		line := "brief " + b.Number + " resolved"
		if b.ResolvedAction != nil {
			line += ": " + oneLine(*b.ResolvedAction)
		}
		return line
	}
	line := "BRIEF " + b.Number + " " + b.Type + ": \"" + cut(b.Title, 120) + "\""
	if b.Type == "decision" {
		line += "  (dogwatch brief resolve " + b.Number + " --action " + strings.ReplaceAll(keysOf(b.Actions), ", ", "|") + ")"
	}
	return line
}

// steps prints the steps of a run that are new.
func (w *watcher) steps(ctx context.Context, t topic, print bool) error {
	if len(t.Operations) == 0 {
		return nil
	}
	o := t.Operations[len(t.Operations)-1]
	key := "steps " + o.ID
	if w.seen[key] == itoa(o.StepCount) {
		return nil
	}
	if !print {
		w.seen[key] = itoa(o.StepCount)
		return nil
	}
	steps, err := pagesOf[step](ctx, w.c, "/operations/"+url.PathEscape(o.ID)+"/steps", url.Values{})
	if err != nil {
		return err
	}
	for _, s := range steps {
		w.say(true, key+"/"+itoa(s.Seq), "there", func() string {
			if len(s.ToolCalls) == 0 && s.Error == "" {
				return "" // what a model said last is the run's report
			}
			return "  " + w.stepLine(s)
		})
	}
	w.seen[key] = itoa(o.StepCount)
	return nil
}
