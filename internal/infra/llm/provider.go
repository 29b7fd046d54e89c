package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/dogwatch/dogwatch/internal/domain/turn"
	"github.com/dogwatch/dogwatch/internal/infra/llm/offline"
)

// Kind is which protocol a provider speaks.
type Kind string

const (
	KindOpenAI    Kind = "openai"
	KindAnthropic Kind = "anthropic"
	KindOffline   Kind = "offline"
)

// ProviderConfig is one provider of models.
type ProviderConfig struct {
	Name         string // the part of a model's name before the slash
	Kind         Kind
	BaseURL      string // "" is the official one of its kind
	APIKey       string
	DefaultModel string            // "" asks the server
	Dialect      Dialect           // of an OpenAI-compatible server; "" is auto
	Headers      map[string]string // sent with every request, never shown
	Silence      time.Duration     // 0: Config.Silence
}

// client is one provider.
type client interface {
	call(ctx context.Context, model string, req turn.Request, onDelta func(text string)) (turn.Reply, error)
	// firstModel returns the model to use when none is named.
	firstModel(ctx context.Context) (string, error)
	// window returns how many tokens a model reads, when the server has said so.
	window(model string) int
}

func newClient(p ProviderConfig, rt http.RoundTripper) (client, error) {
	switch p.Kind {
	case KindOpenAI:
		w, err := newWire(p, rt, "https://api.openai.com/v1")
		if err != nil {
			return nil, err
		}
		c := &openAI{wire: w, dialect: p.Dialect, named: p.DefaultModel, learned: map[string]quirks{}, windows: map[string]int{}}
		switch p.Dialect {
		case "", DialectAuto:
			c.dialect = dialectOf(w.base)
		case DialectOpenAI, DialectOllama, DialectVLLM, DialectDeepSeek:
		default:
			return nil, fmt.Errorf("the dialect %q is not one of auto, openai, ollama, vllm, deepseek", p.Dialect)
		}
		if c.named == "" && w.base.Hostname() == "api.openai.com" {
			// It lists a hundred models in no order, so one has to be named: small,
			// with a price in the list, and able to call tools.
			c.named = "gpt-5.4-mini"
		}
		if p.APIKey != "" {
			w.headers["Authorization"] = "Bearer " + p.APIKey
		}
		return c, nil
	case KindAnthropic:
		return newAnthropic(p, rt)
	}
	return nil, fmt.Errorf("the kind %q is not one of openai, anthropic", p.Kind)
}

// newWire checks how a provider is reached.
func newWire(p ProviderConfig, rt http.RoundTripper, official string) (*wire, error) {
	base, err := url.Parse(strings.TrimSpace(cmp.Or(p.BaseURL, official)))
	switch {
	case err != nil, base.Scheme != "http" && base.Scheme != "https", base.Host == "":
		return nil, errors.New("the base URL is not an http or https address")
	case base.User != nil:
		return nil, errors.New("the base URL holds a password; put it into a header")
	case base.RawQuery != "" || base.Fragment != "":
		return nil, errors.New("the base URL ends in a query or a fragment, which no API path can follow")
	}
	if strings.IndexFunc(p.APIKey, func(r rune) bool { return !unicode.IsPrint(r) || r > unicode.MaxASCII || r == ' ' }) >= 0 {
		return nil, errors.New("the API key holds a character that no key has (a line break, perhaps)")
	}
	w := &wire{
		base: base, silence: p.Silence, now: time.Now, headers: map[string]string{},
		client: &http.Client{
			Transport:     rt,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	// People paste the address of the endpoint, or that of the host.
	base.Path = strings.TrimSuffix(strings.TrimRight(base.Path, "/"), "/chat/completions")
	if base.Path == "" {
		base.Path = "/v1"
	}
	for k, v := range p.Headers {
		w.headers[k] = v
		w.hide(v)
	}
	w.hide(p.APIKey)
	return w, nil
}

// hide makes sure that a value is never shown. Short ones are words, not
// secrets, and taking them out would garble every message.
func (w *wire) hide(secret string) {
	if len(secret) >= 8 {
		w.secrets = append(w.secrets, secret)
		if _, token, ok := strings.Cut(secret, " "); ok { // "Bearer abc…"
			w.hide(token)
		}
	}
}

// offlineClient makes the offline model a provider.
type offlineClient struct{ *offline.Model }

func (c offlineClient) call(ctx context.Context, _ string, req turn.Request, onDelta func(string)) (turn.Reply, error) {
	if err := ctx.Err(); err != nil {
		return turn.Reply{}, context.Cause(ctx)
	}
	reply := c.Reply(req)
	if onDelta != nil && reply.Text != "" {
		onDelta(reply.Text)
	}
	reply.Usage.InputTokens, reply.Usage.OutputTokens = estimate(req, reply)
	reply.Estimated = true
	return reply, nil
}

func (offlineClient) firstModel(context.Context) (string, error) { return offline.Name, nil }

func (offlineClient) window(string) int { return 0 }
