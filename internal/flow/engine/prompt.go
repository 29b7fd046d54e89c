package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/handoff"
	"github.com/dogwatch/dogwatch/internal/domain/prompt"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// How much of the past a prompt looks at: its size does not grow with the number
// of runs.
const (
	freshComments = 50
	askedBriefs   = 10
)

// prompt tells the agent what it is to do and what is known. It also returns the
// comments that it took up.
func (r run) prompt(ctx context.Context) (string, []string, error) {
	t, err := r.store.Task(ctx, r.sc, r.o.TaskID)
	if err != nil {
		return "", nil, err
	}
	tp, err := r.store.Topic(ctx, r.sc, r.o.TopicID)
	if err != nil {
		return "", nil, err
	}
	tick, err := r.store.Tick(ctx, r.sc, tp.TickID)
	if err != nil {
		return "", nil, err
	}
	now, err := r.store.Clock(ctx)
	if err != nil {
		return "", nil, err
	}
	p := prompt.Run{
		Identifier: t.Identifier, Name: t.Name, Description: t.Description, Instruction: t.Instruction, Priority: string(t.Priority),
		Number: tp.Seq, Now: now, Trigger: trigger(tp.Origin, tick.Time()),
	}
	if spec, err := t.Spec(); err == nil && spec != nil {
		p.Zone, p.Now = spec.Zone(), now.In(spec.Location())
	}
	if tick.Note != nil {
		p.Note = *tick.Note
	}
	comments, err := r.store.FreshComments(ctx, r.sc, t.ID, r.o.TopicID, freshComments)
	if err != nil {
		return "", nil, err
	}
	ids := make([]string, len(comments))
	for i, c := range comments {
		ids[i] = c.ID
		p.Feedback = append(p.Feedback, prompt.Feedback{At: c.CreatedAt, Text: c.Content})
	}
	if p.Earlier, err = r.earlier(ctx); err != nil {
		return "", nil, err
	}
	last, err := r.previous(ctx, &p)
	if err != nil {
		return "", nil, err
	}
	if p.Asked, err = r.store.AskedBriefs(ctx, r.sc, t.ID, askedBriefs); err != nil {
		return "", nil, err
	}
	docs, err := r.store.PinnedDocuments(ctx, r.sc, t.ID)
	if err != nil {
		return "", nil, err
	}
	for _, d := range docs {
		p.Documents = append(p.Documents, prompt.Document{
			ID: d.ID, Title: d.Title, Folder: d.Folder, Kind: d.Kind, Version: d.Version, Size: d.Size,
			UpdatedAt: d.UpdatedAt, ChangedSince: !last.IsZero() && d.UpdatedAt.After(last),
		})
	}
	if t.ParentID != nil {
		parent, err := r.store.Task(ctx, r.sc, *t.ParentID)
		if err != nil && errs.KindOf(err) != errs.NotFound {
			return "", nil, err
		}
		if err == nil {
			p.Parent = fmt.Sprintf("%s %s", parent.Identifier, parent.Name)
		}
	}
	text, parts := prompt.Build(p.Sections(), min(promptTokens, r.room()))
	return text, ids[:p.Told(parts)], nil
}

// earlier tells of the tries before this one in the same run. What they did stands.
func (r run) earlier(ctx context.Context) ([]prompt.Try, error) {
	if r.o.Try == 1 {
		return nil, nil
	}
	ops, err := r.store.TopicOperations(ctx, r.sc, r.o.TopicID)
	if err != nil {
		return nil, err
	}
	var tries []prompt.Try
	for _, o := range ops {
		if o.Try >= r.o.Try {
			continue
		}
		calls, err := r.store.ToolCalls(ctx, r.sc, o.ID, 0)
		if err != nil {
			return nil, err
		}
		try := prompt.Try{Number: o.Try, Error: deref(o.Error)}
		for _, c := range calls {
			if c.State == "finished" && !c.IsError {
				try.Calls = append(try.Calls, c.Name)
			}
		}
		tries = append(tries, try)
	}
	return tries, nil
}

// previous tells of the runs before, and returns when the last one began. One
// that has ended and whose handoff is still being written is told from its facts.
func (r run) previous(ctx context.Context, p *prompt.Run) (began time.Time, err error) {
	topics, _, err := r.store.Topics(ctx, r.sc, r.o.TaskID, store.Page{Limit: prompt.MostPrevious + 1})
	if err != nil {
		return time.Time{}, err
	}
	for i := len(topics) - 1; i >= 0; i-- {
		tp := topics[i]
		if tp.ID == r.o.TopicID || tp.Status == topic.Running || tp.CompletedAt == nil {
			continue
		}
		h := tp.Handoff
		if h == nil {
			f := handoff.Fallback(handoff.Facts{
				TaskName: p.Name, Status: string(tp.Status), Reason: string(tp.Reason), FinalText: deref(tp.FinalText), Error: deref(tp.Error),
			})
			h = &f
		}
		p.Previous = append(p.Previous, prompt.Previous{Number: tp.Seq, EndedAt: *tp.CompletedAt, Status: string(tp.Status), Handoff: *h})
		began = tp.StartedAt
	}
	return began, nil
}

func trigger(o topic.Origin, planned *time.Time) string {
	switch o {
	case topic.Backfill:
		if planned != nil {
			return "a person who wants its planned time " + planned.UTC().Format("2006-01-02 15:04 MST") + " made up for: do what was to be done then"
		}
	case topic.Heartbeat:
		return "its heartbeat"
	case topic.Schedule, topic.Every:
		return "its schedule"
	case topic.Once:
		return "its planned time"
	case topic.Manual:
		return "a person"
	case topic.Comment:
		return "a person's comment"
	case topic.Retry:
		return "a person who wants a failed run tried again"
	case topic.Dependency:
		return "the end of a task that it waited for"
	}
	return string(o)
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
