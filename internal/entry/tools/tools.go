// Package tools holds the tools that an agent may call. Each works on our own
// database inside the transaction that notes the call, so that it happens once.
//
// Arguments are checked against the tool's JSON Schema before anything else; what
// is wrong with them goes back to the model in words. What a tool answers is text
// for a model, and what it quotes from documents and people is material to it.
package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	words "github.com/dogwatch/dogwatch/internal/base/text"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/agent"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/domain/turn"
	"github.com/dogwatch/dogwatch/internal/flow/engine"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// call is one call on its way.
type call struct {
	engine.Site
	tx    *store.Tx
	steer *steer.Steerer
}

// caller is the agent as somebody who does something. It may do what an operator may.
func (c call) caller() access.Caller {
	return access.Caller{Actor: c.Agent, Role: access.Operator, Scope: c.Scope}
}

// tool is one tool.
type tool struct {
	name, about string
	schema      string
	// mutates says that a call changes what others find: it is refused while the
	// workspace is read-only. What a run says to people, a brief or the wish for a
	// checkpoint, is no such change: that is how it tells what it would have done.
	mutates bool
	// polls says that the answer changes by itself: calling it again is no loop.
	polls    bool
	fits     func(task.Task) bool // whether it is of use to an agent that works on the task; nil: always
	run      func(ctx context.Context, c call, args json.RawMessage) (string, error)
	compiled *jsonschema.Schema
}

// Registry is the list of tools.
type Registry struct {
	steer *steer.Steerer
	tools []tool
}

// New returns the tools that every agent may be given.
func New(s *steer.Steerer) *Registry {
	r := &Registry{steer: s, tools: slices.Concat(documentTools, taskTools, briefTools, timeTools, paceTools)}
	for i := range r.tools {
		r.tools[i].compiled = compile(r.tools[i])
	}
	return r
}

// compile compiles a schema of ours; that it cannot be is a fault of the build.
func compile(t tool) *jsonschema.Schema {
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(t.schema))
	if err != nil {
		panic(fmt.Sprintf("tool %s: %v", t.name, err))
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(refuse{})
	if err := c.AddResource("tool:"+t.name, value); err != nil {
		panic(fmt.Sprintf("tool %s: %v", t.name, err))
	}
	return c.MustCompile("tool:" + t.name)
}

// refuse loads nothing: a schema refers to nothing outside itself.
type refuse struct{}

func (refuse) Load(url string) (any, error) { return nil, fmt.Errorf("%s is not loaded", url) }

// Specs tells a model of the tools that its agent may call while it works on a
// task. What could do nothing for the task is left out.
func (r *Registry) Specs(p agent.Profile, on task.Task) []turn.ToolSpec {
	var out []turn.ToolSpec
	for _, t := range r.tools {
		if p.MayCall(t.name) && (t.fits == nil || t.fits(on)) {
			out = append(out, turn.ToolSpec{Name: t.name, Description: t.about, Schema: json.RawMessage(t.schema)})
		}
	}
	return out
}

// Call makes a call. An unknown tool, one that the agent may not call, and broken
// arguments are errors for the model to read.
func (r *Registry) Call(ctx context.Context, tx *store.Tx, at engine.Site, p agent.Profile, c turn.ToolCall) (string, error) {
	i := slices.IndexFunc(r.tools, func(t tool) bool { return t.name == c.Name && p.MayCall(t.name) })
	if i < 0 {
		on, err := tx.Task(ctx, at.Scope, at.Operation.TaskID)
		if err != nil {
			return "", err
		}
		return "", errs.New(errs.Invalid, "invalid", "There is no tool %q. You may call: %s.", c.Name, strings.Join(r.names(p, on), ", "))
	}
	args, err := arguments(r.tools[i], c.Arguments)
	if err != nil {
		return "", err
	}
	if r.tools[i].mutates {
		readOnly, err := tx.ReadOnly(ctx, at.Scope)
		if err != nil {
			return "", err
		}
		if readOnly {
			return "", errs.New(errs.Forbidden, "read_only", "The workspace is read-only at present: %s would change something, and was not called. "+
				"Go on without it and report what you would have done.", c.Name)
		}
	}
	return r.tools[i].run(ctx, call{at, tx, r.steer}, args)
}

func (r *Registry) names(p agent.Profile, on task.Task) []string {
	var out []string
	for _, s := range r.Specs(p, on) {
		out = append(out, s.Name)
	}
	return out
}

// Polls reports whether a tool's answer changes by itself.
func (r *Registry) Polls(name string) bool {
	return slices.ContainsFunc(r.tools, func(t tool) bool { return t.name == name && t.polls })
}

// Mutating returns the names of the tools that change something.
func (r *Registry) Mutating() []string {
	var out []string
	for _, t := range r.tools {
		if t.mutates {
			out = append(out, t.name)
		}
	}
	return out
}

// maxArguments is how many bytes of arguments are looked at: a document of the
// largest size, escaped.
const maxArguments = 2 * store.MaxDocument

// arguments checks what a model wrote against the tool's schema.
func arguments(t tool, text string) (json.RawMessage, error) {
	if strings.TrimSpace(text) == "" {
		text = "{}"
	}
	if len(text) > maxArguments {
		return nil, errs.New(errs.Invalid, "invalid", "The arguments of %s are too long.", t.name)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, errs.New(errs.Invalid, "invalid", "The arguments of %s are not JSON (%v). Write one JSON object.", t.name, err)
	}
	if words.HoldsNUL(value) {
		return nil, errs.New(errs.Invalid, "invalid", "The arguments of %s hold the character U+0000, which is no text. Leave it out.", t.name)
	}
	if err := t.compiled.Validate(value); err != nil {
		return nil, errs.New(errs.Invalid, "invalid", "The arguments of %s do not fit: %s", t.name, readable(err))
	}
	return json.RawMessage(text), nil
}

// english writes the validator's sentences.
var english = message.NewPrinter(language.English)

// readable says what is wrong where, one clause for each wrong value.
func readable(err error) string {
	var ve *jsonschema.ValidationError
	if !errors.As(err, &ve) {
		return err.Error()
	}
	var out []string
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 {
			at := "the object"
			if len(e.InstanceLocation) > 0 {
				at = strings.Join(e.InstanceLocation, ".")
			}
			out = append(out, at+": "+e.ErrorKind.LocalizedString(english))
		}
		for _, c := range e.Causes {
			walk(c)
		}
	}
	walk(ve)
	return strings.Join(out, "; ") + "."
}

// typed reads arguments that fit their schema.
func typed[A any](f func(ctx context.Context, c call, args A) (string, error)) func(context.Context, call, json.RawMessage) (string, error) {
	return func(ctx context.Context, c call, raw json.RawMessage) (string, error) {
		var args A
		if err := json.NewDecoder(bytes.NewReader(raw)).Decode(&args); err != nil {
			return "", errs.New(errs.Invalid, "invalid", "The arguments cannot be read: %v.", err)
		}
		return f(ctx, c, args)
	}
}
