// Package llm calls models: OpenAI-compatible servers, Anthropic, and the
// offline model that is built in. It speaks their wire formats itself, over
// net/http: the official clients take a minute to compile and half of the
// binary, and hide what a server that is only nearly compatible really said.
//
// A call is one attempt. Its failure is a *turn.ModelError whose class says
// whether and when to try again; the caller does that, since it is the one that
// can wait without holding a worker and that survives a crash in between.
package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dogwatch/dogwatch/config"
	"github.com/dogwatch/dogwatch/internal/base/text"
	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/domain/prompt"
	"github.com/dogwatch/dogwatch/internal/domain/turn"
	"github.com/dogwatch/dogwatch/internal/infra/llm/offline"
)

// OfflineModel is the model that is always there.
const OfflineModel = "offline/" + offline.Name

// Auto, as the name of a model, is the first one that its provider lists.
const Auto = "auto"

const (
	// DefaultSilence is how long a model may say nothing. Large models think for
	// minutes before the first token, but their servers send pings meanwhile.
	DefaultSilence = 240 * time.Second
	// DefaultTotal bounds a whole call, for a server that keeps talking. It is the
	// wall clock of an operation.
	DefaultTotal = 30 * time.Minute
	// DefaultConnect bounds dialing and the TLS handshake.
	DefaultConnect = 10 * time.Second
)

// Config is all that a Registry needs to know.
type Config struct {
	Providers      []ProviderConfig
	DefaultModel   string     // "provider/model"; "" is the first provider's default
	Prices         *PriceList // nil is the one that is built in
	Connect        time.Duration
	Silence, Total time.Duration
	Transport      http.RoundTripper // nil: one of our own
}

// Registry knows the providers and their models. It may be used by any number
// of goroutines.
type Registry struct {
	providers map[string]client
	model     string // the default, perhaps provider/auto
	prices    *PriceList
	total     time.Duration
	idle      func()

	mu   sync.Mutex
	auto map[string]string // what provider/auto turned out to be
}

// New makes a registry. The offline model is part of every one.
func New(cfg Config) (*Registry, error) {
	r := &Registry{
		providers: map[string]client{string(KindOffline): offlineClient{offline.New()}},
		prices:    cfg.Prices, total: cmp.Or(cfg.Total, DefaultTotal), idle: func() {},
		auto: map[string]string{},
	}
	if r.prices == nil {
		var err error
		if r.prices, err = LoadPrices(config.Prices); err != nil {
			return nil, err
		}
	}
	rt := cfg.Transport
	if rt == nil {
		own := transport(cmp.Or(cfg.Connect, DefaultConnect))
		rt, r.idle = own, own.CloseIdleConnections
	}
	for _, p := range cfg.Providers {
		if p.Name == "" || strings.Contains(p.Name, "/") || r.providers[p.Name] != nil {
			return nil, fmt.Errorf("provider name %q is empty, taken, or holds a slash", p.Name)
		}
		p.Silence = cmp.Or(p.Silence, cfg.Silence, DefaultSilence)
		c, err := newClient(p, rt)
		if err != nil {
			return nil, fmt.Errorf("provider %s: %w", p.Name, err)
		}
		r.providers[p.Name] = c
	}
	r.model = cfg.DefaultModel
	switch {
	case r.model == "" && len(cfg.Providers) > 0:
		r.model = cfg.Providers[0].Name + "/" + Auto
	case r.model == "":
		r.model = OfflineModel
	}
	if !r.Known(r.model) {
		return nil, fmt.Errorf("the model %q is not of the form provider/model with one of the providers %s",
			r.model, strings.Join(r.names(), ", "))
	}
	if provider, name, _ := strings.Cut(r.model, "/"); name == Auto {
		if c, ok := r.providers[provider].(interface{ fixedModel() string }); ok && c.fixedModel() != "" {
			r.model = provider + "/" + c.fixedModel()
		}
	}
	return r, nil
}

func (r *Registry) names() []string {
	var names []string
	for n := range r.providers {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Default returns the name of the model for agents that name none. It is
// provider/auto until the provider has been asked; see Resolve.
func (r *Registry) Default() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return cmp.Or(r.auto[r.model], r.model)
}

// Known reports whether a model's provider is configured. Which models a
// provider has, it says itself, when it is called.
func (r *Registry) Known(model string) bool {
	provider, name, ok := strings.Cut(model, "/")
	if provider == string(KindOffline) {
		return model == OfflineModel
	}
	return ok && name != "" && r.providers[provider] != nil
}

// Resolve returns the full name of a model: the default for "", and for
// provider/auto what the provider lists first. It asks a provider once.
func (r *Registry) Resolve(ctx context.Context, model string) (string, error) {
	model = cmp.Or(model, r.Default())
	if !r.Known(model) {
		return "", &turn.ModelError{
			Class: turn.ErrUnsupported,
			Msg: fmt.Sprintf("there is no model %q: a model is named provider/model, and the providers are %s",
				model, strings.Join(r.names(), ", ")),
		}
	}
	provider, name, _ := strings.Cut(model, "/")
	if name != Auto {
		return model, nil
	}
	r.mu.Lock()
	known := r.auto[model]
	r.mu.Unlock()
	if known != "" {
		return known, nil
	}
	first, err := r.providers[provider].firstModel(ctx)
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.auto[model] = provider + "/" + first
	return r.auto[model], nil
}

// ContextWindow returns how many tokens a model reads, 0 when that is not known.
func (r *Registry) ContextWindow(model string) int {
	if model, err := r.cached(model); err == nil {
		provider, name, _ := strings.Cut(model, "/")
		if n := r.providers[provider].window(name); n > 0 {
			return n
		}
		return r.prices.ContextWindow(model)
	}
	return 0
}

// Cost returns what usage of a model costs, nil when its price is not known.
func (r *Registry) Cost(model string, u budget.Usage) *budget.USD {
	if known, err := r.cached(model); err == nil {
		model = known
	}
	return r.prices.Prices.Cost(model, u)
}

// cached is Resolve without asking anyone.
func (r *Registry) cached(model string) (string, error) {
	model = cmp.Or(model, r.Default())
	if !r.Known(model) {
		return "", errors.New("unknown")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return cmp.Or(r.auto[model], model), nil
}

// Prices returns the price list in use.
func (r *Registry) Prices() *PriceList { return r.prices }

// Close closes connections that are kept for later calls.
func (r *Registry) Close() { r.idle() }

// Call makes one attempt to call a model. onDelta, when not nil, is called with
// each piece of text as it arrives, from this goroutine.
//
// An error is a *turn.ModelError, except when ctx ended: then it is ctx's cause.
// With an error the reply holds what had arrived until then, its usage and cost
// among it.
func (r *Registry) Call(ctx context.Context, req turn.Request, onDelta func(text string)) (turn.Reply, error) {
	bounded, cancel := context.WithTimeoutCause(ctx, r.total, errTooSlow)
	defer cancel()
	asked := cmp.Or(req.Model, r.Default())
	model, err := r.Resolve(bounded, asked)
	if err != nil {
		return turn.Reply{}, err
	}
	provider, name, _ := strings.Cut(model, "/")
	reply, err := r.providers[provider].call(bounded, name, req, onDelta)
	var e *turn.ModelError
	if errors.As(err, &e) && e.Class == turn.ErrUnsupported {
		r.forget(model) // the server no longer has it; ask for its list again next time
	}
	if reply.Model == "" {
		reply.Model = name
	}
	if err == nil && reply.Usage.Total() == 0 {
		reply.Usage.InputTokens, reply.Usage.OutputTokens = estimate(req, reply)
		reply.Estimated = true
	}
	cleanReply(&reply)
	if reply.Cost == nil {
		reply.Cost = r.prices.Prices.Cost(model, reply.Usage)
	}
	if reply.Cost == nil { // an alias may have no price where the model behind it has
		reply.Cost = r.prices.Prices.Cost(provider+"/"+reply.Model, reply.Usage)
	}
	return reply, err
}

func (r *Registry) forget(model string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for auto, found := range r.auto {
		if found == model {
			delete(r.auto, auto)
		}
	}
}

// cleanReply takes out of an answer what is no text: it is kept, shown and sent back.
func cleanReply(r *turn.Reply) {
	for _, s := range []*string{&r.Text, &r.Reasoning, &r.Model} {
		*s = text.Clean(*s)
	}
	for i := range r.ToolCalls {
		c := &r.ToolCalls[i]
		c.ID, c.Name, c.Arguments = text.Clean(c.ID), text.Clean(c.Name), text.Clean(c.Arguments)
	}
}

// estimate guesses the tokens of a call whose provider reports none.
func estimate(req turn.Request, reply turn.Reply) (input, output int64) {
	input = int64(req.Tokens(prompt.Estimate))
	output = int64(prompt.Estimate(reply.Text) + prompt.Estimate(reply.Reasoning))
	for _, c := range reply.ToolCalls {
		output += int64(prompt.Estimate(c.Name) + prompt.Estimate(c.Arguments))
	}
	return input, output
}
