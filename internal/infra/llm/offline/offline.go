// Package offline is the model that needs no key, no network and no weights. It
// understands nothing: it reads the documents that the prompt lists with the
// tools that it is offered, picks the sentences that carry the most information
// by counting words, compares with what the last run left, and raises a
// decision where a text asks for one in so many words. It says so in everything
// that it writes. The same request always gets the same reply.
package offline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/dogwatch/dogwatch/internal/domain/turn"
)

// Name is the model's name within its provider.
const Name = "extractive"

// Disclaimer stands in every text that the model writes.
const Disclaimer = "Written by offline/extractive, a built-in model that picks sentences by counting words and understands nothing of them."

const (
	// batch is how many documents are read in one step, side by side.
	batch = 8
	// mostDocuments bounds what one run reads: 4 steps of the 40 that it may take.
	mostDocuments = 32
	// mostDecisions is how many decisions one run raises. More at once are a
	// sign that words were misread, and nobody reads ten cards.
	mostDecisions = 3
)

// Model is the offline model.
type Model struct{}

// New returns the offline model.
func New() *Model { return &Model{} }

// Reply answers a request: with tool calls while there is something to read or
// to raise, then with a report; with JSON when that is asked for.
func (*Model) Reply(req turn.Request) turn.Reply {
	if req.Output != nil {
		return turn.Reply{Text: structured(req), Stop: turn.StopEnd}
	}
	p := readPrompt(req)
	c := readConversation(req.Messages)
	if tool, ok := toolNamed(req.Callable(), "list_documents"); ok && len(p.documents) == 0 && !c.called("list_documents") {
		return calls("Asking which documents there are.", turn.ToolCall{Name: tool.Name, Arguments: "{}"})
	}
	listed := p.documents
	if len(listed) == 0 {
		listed = c.listed()
	}
	if tool, ok := toolNamed(req.Callable(), "read_document"); ok {
		if next := unread(listed, c); len(next) > 0 {
			var cs []turn.ToolCall
			for _, d := range next {
				cs = append(cs, turn.ToolCall{Name: tool.Name, Arguments: arguments(tool, d.ref)})
			}
			return calls(fmt.Sprintf("Reading %d documents.", len(next)), cs...)
		}
	}
	a := analyse(p, listed, c)
	if tool, ok := toolNamed(req.Callable(), "create_brief"); ok && !c.called("create_brief") && len(a.decisions) > 0 {
		var cs []turn.ToolCall
		for _, d := range a.decisions {
			cs = append(cs, turn.ToolCall{Name: tool.Name, Arguments: d.brief()})
		}
		return calls("Raising what the documents ask to decide.", cs...)
	}
	return turn.Reply{Text: a.report(), Stop: turn.StopEnd}
}

// calls makes a reply of tool calls. Their ids follow from what is called, so
// that the same request gets the same reply.
func calls(text string, cs ...turn.ToolCall) turn.Reply {
	for i := range cs {
		cs[i].ID = fmt.Sprintf("offline_%s_%d", fingerprint(cs[i].Name+cs[i].Arguments), i)
	}
	return turn.Reply{Text: text, ToolCalls: cs, Stop: turn.StopTools}
}

func toolNamed(tools []turn.ToolSpec, name string) (turn.ToolSpec, bool) {
	i := slices.IndexFunc(tools, func(t turn.ToolSpec) bool { return t.Name == name })
	if i < 0 {
		return turn.ToolSpec{}, false
	}
	return tools[i], true
}

// arguments writes the arguments of read_document: which property takes the
// document, the tool's schema says.
func arguments(tool turn.ToolSpec, ref string) string {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	_ = json.Unmarshal(tool.Schema, &schema) // a schema that cannot be read leaves the usual name
	key := "id"
	if _, ok := schema.Properties[key]; !ok && len(schema.Required) > 0 {
		key = schema.Required[0]
	}
	b, _ := json.Marshal(map[string]string{key: ref}) // strings always marshal
	return string(b)
}

// unread returns the next documents to read: new and changed ones first.
func unread(listed []document, c conversation) []document {
	var next []document
	for _, wantFresh := range []bool{true, false} {
		for _, d := range listed {
			if d.fresh == wantFresh && !c.asked(d.ref) {
				next = append(next, d)
			}
		}
	}
	return next[:max(0, min(len(next), batch, mostDocuments-c.reads))]
}

// conversation is what the run has done so far.
type conversation struct {
	calls   []turn.ToolCall
	results map[string]turn.Message // by call id
	reads   int
}

func readConversation(messages []turn.Message) conversation {
	c := conversation{results: map[string]turn.Message{}}
	for _, m := range messages {
		c.calls = append(c.calls, m.ToolCalls...)
		if m.Role == turn.Tool {
			c.results[m.ToolCallID] = m
		}
	}
	for _, call := range c.calls {
		if call.Name == "read_document" {
			c.reads++
		}
	}
	return c
}

func (c conversation) called(tool string) bool {
	return slices.ContainsFunc(c.calls, func(call turn.ToolCall) bool { return call.Name == tool })
}

// asked reports whether a document was asked for, with whatever result: what
// could not be read once is not asked for again.
func (c conversation) asked(ref string) bool {
	_, ok := c.readCall(ref)
	return ok
}

func (c conversation) readCall(ref string) (turn.ToolCall, bool) {
	for _, call := range c.calls {
		if call.Name != "read_document" {
			continue
		}
		var args map[string]any
		_ = json.Unmarshal([]byte(call.Arguments), &args) // we wrote them
		for _, v := range args {
			if v == ref {
				return call, true
			}
		}
	}
	return turn.ToolCall{}, false
}

// content returns what reading a document gave.
func (c conversation) content(ref string) (string, bool) {
	call, ok := c.readCall(ref)
	if !ok {
		return "", false
	}
	m, ok := c.results[call.ID]
	if !ok || m.IsError {
		return "", false
	}
	return documentText(m.Content), true
}

// listed returns the documents that list_documents named.
func (c conversation) listed() []document {
	for _, call := range c.calls {
		if call.Name == "list_documents" {
			if m, ok := c.results[call.ID]; ok && !m.IsError {
				return parseDocuments(m.Content)
			}
		}
	}
	return nil
}

// documentText takes the text out of what read_document returned: JSON with a
// content, or an element, or the text itself.
func documentText(s string) string {
	var doc struct {
		Content *string `json:"content"`
		Text    *string `json:"text"`
	}
	if json.Unmarshal([]byte(s), &doc) == nil {
		switch {
		case doc.Content != nil:
			return *doc.Content
		case doc.Text != nil:
			return *doc.Text
		}
	}
	if inner, ok := section(s, "document"); ok {
		return inner
	}
	if inner, ok := section(s, "content"); ok {
		return inner
	}
	return strings.TrimSpace(s)
}
