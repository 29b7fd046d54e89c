package tools

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/brief"
	"github.com/dogwatch/dogwatch/internal/domain/handoff"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

var briefTools = []tool{{
	name: "create_brief",
	about: "Put a card into people's inbox. decision: they have to choose; give the facts and the choices. insight: they should know. " +
		"With priority urgent a decision holds the task until it is answered. Asking the same thing again updates the open card.",
	schema: `{"type": "object", "additionalProperties": false, "required": ["type", "title", "summary"], "properties": {
		"type": {"enum": ["decision", "insight"]},
		"title": {"type": "string", "minLength": 1, "maxLength": 200, "description": "The question or the news, in one line"},
		"summary": {"type": "string", "minLength": 1, "maxLength": 8000, "description": "The facts, in Markdown"},
		"priority": {"enum": ["urgent", "normal", "info"], "description": "normal by default"},
		"choices": {"type": "array", "maxItems": 6, "description": "Of a decision; approve and reject by default", "items": {
			"type": "object", "additionalProperties": false, "required": ["key", "label"], "properties": {
				"key": {"type": "string", "pattern": "^[a-z][a-z0-9_]{0,39}$"},
				"label": {"type": "string", "minLength": 1, "maxLength": 60}}}},
		"key": {"type": "string", "maxLength": 100, "description": "Names the matter, so that the same one is asked once; made from the title by default"}}}`,
	run: typed(createBrief),
}}

type briefArgs struct {
	Type, Title, Summary, Priority, Key string
	Choices                             []struct{ Key, Label string }
}

// defaultChoices are the buttons of a decision that names none.
var defaultChoices = []brief.Action{
	{Key: "approve", Label: "Approve", Kind: brief.Resolve},
	{Key: "reject", Label: "Reject", Kind: brief.Resolve},
}

func createBrief(ctx context.Context, c call, a briefArgs) (string, error) {
	key := a.Key
	if key == "" {
		key = a.Title
	}
	d := brief.Draft{
		Type: brief.Type(a.Type), Priority: brief.Normal, Title: a.Title, Summary: a.Summary,
		Cause: brief.CauseAsked + slug(key),
	}
	if a.Priority != "" {
		d.Priority = brief.Priority(a.Priority)
	}
	switch d.Type {
	case brief.Decision:
		if d.Priority == brief.Info {
			d.Priority = brief.Normal // a decision that nobody sees is none
		}
		for _, ch := range a.Choices {
			if ch.Key == brief.Feedback.Key {
				return "", errs.New(errs.Invalid, "invalid", "The key %q is taken: every brief offers it. Name the choice otherwise.", ch.Key)
			}
			d.Actions = append(d.Actions, brief.Action{Key: ch.Key, Label: ch.Label, Kind: brief.Resolve})
		}
		if len(d.Actions) == 0 {
			d.Actions = append(d.Actions, defaultChoices...)
		}
	default:
		if a.Priority == "" {
			d.Priority = brief.Info
		}
		d.Actions = append(d.Actions, brief.Acknowledge)
	}
	d.Actions = append(d.Actions, brief.Feedback)
	if dup := firstTwice(d.Actions); dup != "" {
		return "", errs.New(errs.Invalid, "invalid", "Two choices have the key %q.", dup)
	}
	b, isNew, err := c.tx.OpenBrief(ctx, c.Scope, d, store.BriefFrom{
		TaskID: c.Operation.TaskID, TopicID: c.Operation.TopicID, OperationID: c.Operation.ID, AgentID: c.Agent.ID,
	})
	if err != nil {
		return "", err
	}
	if !isNew {
		return fmt.Sprintf("B-%d about this was open already; it is updated.", b.Number), nil
	}
	return fmt.Sprintf("Opened B-%d. The answer comes with a later run; do not wait for it.", b.Number), nil
}

func firstTwice(actions []brief.Action) string {
	seen := map[string]bool{}
	for _, a := range actions {
		if seen[a.Key] {
			return a.Key
		}
		seen[a.Key] = true
	}
	return ""
}

// slug makes a key that two spellings of one matter share: letters and digits in
// lower case, of any script.
func slug(s string) string {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	out := handoff.Cut(strings.Join(words, "-"), 150)
	if out == "" {
		return "question"
	}
	return out
}
