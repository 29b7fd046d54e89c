package llm

import (
	"errors"
	"strings"
	"testing"

	"github.com/dogwatch/dogwatch/config"
	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/domain/turn"
	"github.com/dogwatch/dogwatch/internal/testkit/modelserver"
)

func TestConfigFromEnv(t *testing.T) {
	for _, c := range []struct {
		name  string
		env   map[string]string
		model string // Default
		fails string // what the error says
	}{
		{"nothing", nil, "offline/extractive", ""},
		{"OpenAI's own", map[string]string{"OPENAI_API_KEY": secret}, "openai/gpt-5.4-mini", ""},
		{"a base URL alone", map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:11434"}, "openai/auto", ""},
		{"Anthropic", map[string]string{"ANTHROPIC_API_KEY": " " + secret + "\n"}, "anthropic/claude-sonnet-5", ""},
		{"both", map[string]string{"OPENAI_API_KEY": secret, "ANTHROPIC_API_KEY": secret}, "openai/gpt-5.4-mini", ""},
		{"named", map[string]string{"OPENAI_API_KEY": secret, "DOGWATCH_MODEL": "openai/meta/llama-3"}, "openai/meta/llama-3", ""},
		{"offline although there is a key", map[string]string{"OPENAI_API_KEY": secret, "DOGWATCH_MODEL": "offline/extractive"}, "offline/extractive", ""},
		{"no provider", map[string]string{"DOGWATCH_MODEL": "gpt-4o"}, "", "provider/model"},
		{"not configured", map[string]string{"DOGWATCH_MODEL": "anthropic/claude"}, "", "ANTHROPIC_API_KEY"},
		{"another offline model", map[string]string{"DOGWATCH_MODEL": "offline/abstractive"}, "", "offline/abstractive"},
		{"no address", map[string]string{"OPENAI_BASE_URL": "localhost:11434"}, "", "http"},
		{"a file", map[string]string{"OPENAI_BASE_URL": "file:///etc/passwd"}, "", "http"},
		{"a password in the address", map[string]string{"OPENAI_BASE_URL": "http://u:" + secret + "@host/v1"}, "", "password"},
		{"a query", map[string]string{"OPENAI_BASE_URL": "http://host/v1?key=" + secret}, "", "query"},
		{"a key with a line break", map[string]string{"OPENAI_API_KEY": secret + "\nX-Evil: 1"}, "", "line break"},
	} {
		cfg, err := ConfigFromEnv(func(k string) string { return c.env[k] })
		if err != nil {
			if c.fails == "" || !strings.Contains(err.Error(), c.fails) || strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		r, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if c.fails != "" || r.Default() != c.model {
			t.Errorf("%s: model %s, want %s %s", c.name, r.Default(), c.model, c.fails)
		}
		r.Close()
	}
}

func TestBaseURLForms(t *testing.T) {
	for in, want := range map[string]string{
		"http://h:1":                    "http://h:1/v1/chat/completions",
		"http://h:1/":                   "http://h:1/v1/chat/completions",
		"http://h:1/v1/":                "http://h:1/v1/chat/completions",
		"https://h/openai/v1":           "https://h/openai/v1/chat/completions",
		"https://h/v1/chat/completions": "https://h/v1/chat/completions",
	} {
		w, err := newWire(ProviderConfig{BaseURL: in}, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := w.base.JoinPath("chat/completions").String(); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestAnthropicBaseURLForms(t *testing.T) {
	for in, want := range map[string]string{
		"":                                   "https://api.anthropic.com/v1/messages",
		"http://h:1":                         "http://h:1/v1/messages",
		"http://h:1/v1/":                     "http://h:1/v1/messages",
		"http://h:1/v1/messages":             "http://h:1/v1/messages",
		"https://api.deepseek.com/anthropic": "https://api.deepseek.com/anthropic/v1/messages",
	} {
		c, err := newAnthropic(ProviderConfig{BaseURL: in}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.(*anthropic).base.JoinPath("messages").String(); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// The model of a server for which none is named is the first one that can chat.
func TestModelIsAskedForWhenNoneIsNamed(t *testing.T) {
	s := modelserver.New(t, modelserver.As(modelserver.VLLM), modelserver.Models("nomic-embed-text", "qwen3", "llama3"))
	s.Rule(func(modelserver.Request) reply { return reply{Text: "Hello."} })
	r := registry(t, KindOpenAI, s, func(p *ProviderConfig) { p.DefaultModel = "" })
	if got := r.Default(); got != "p/auto" {
		t.Errorf("before it was asked: %s", got)
	}
	got, err := r.Call(t.Context(), ask("Go."), nil)
	if err != nil || got.Model != "qwen3" || r.Default() != "p/qwen3" {
		t.Fatalf("%+v, %v, %s", got, err, r.Default())
	}
	if n := r.ContextWindow(""); n != 32768 {
		t.Errorf("window %d, though the server says 32768", n)
	}
	req := ask("Go.")
	req.Model = "p/llama3"
	if got, err := r.Call(t.Context(), req, nil); err != nil || got.Model != "llama3" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestModelThatIsGoneIsAskedForAgain(t *testing.T) {
	s := modelserver.New(t, modelserver.Models("a", "b"))
	s.Script(reply{Text: "Hello."}, reply{Status: 404, Error: "The model `a` does not exist", ErrorCode: "model_not_found"})
	r := registry(t, KindOpenAI, s, func(p *ProviderConfig) { p.DefaultModel = "" })
	if _, err := r.Call(t.Context(), ask("Go."), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Call(t.Context(), ask("Go."), nil); classOf(t, err) != turn.ErrUnsupported {
		t.Errorf("%v", err)
	}
	if got := r.Default(); got != "p/auto" {
		t.Errorf("still uses %s", got)
	}
}

func TestUnknownModels(t *testing.T) {
	s := modelserver.New(t)
	r := registry(t, KindOpenAI, s)
	for model, known := range map[string]bool{
		"p/anything": true, "p/": false, "q/x": false, "x": false, "offline/extractive": true, "offline/other": false,
	} {
		if r.Known(model) != known {
			t.Errorf("Known(%q) = %v", model, !known)
		}
		if known {
			continue
		}
		req := ask("Go.")
		req.Model = model
		_, err := r.Call(t.Context(), req, nil)
		var e *turn.ModelError
		if !errors.As(err, &e) || e.Class != turn.ErrUnsupported || !strings.Contains(e.Msg, "offline, p") {
			t.Errorf("%s: %v", model, err)
		}
	}
	req := ask("Go.")
	req.Model = "p/nonesuch"
	if _, err := r.Call(t.Context(), req, nil); classOf(t, err) != turn.ErrUnsupported {
		t.Errorf("%v", err)
	}
}

func TestCostFollowsThePriceListUnlessTheProviderReportsIt(t *testing.T) {
	prices, err := LoadPrices([]byte(`
asOf: 2026-11-30
prices:
  - {models: ["p/scripted*"], input: 2, output: 8, cacheRead: 0.5, contextTokens: 1000}
`))
	if err != nil {
		t.Fatal(err)
	}
	s := modelserver.New(t)
	s.Script(
		reply{Text: "x", Usage: &modelserver.Usage{Input: 1000, Output: 100, CacheRead: 400}},
		reply{Body: `{"model":"scripted-1","choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":5,"cost":1.25e-05}}`},
	)
	r, err := New(Config{Prices: prices, Providers: []ProviderConfig{{Name: "p", Kind: KindOpenAI, BaseURL: s.URL(), DefaultModel: "scripted-1"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, want := range []string{"0.0022", "0.0000125"} {
		got, err := r.Call(t.Context(), ask("Go."), nil)
		if err != nil || got.Cost == nil || got.Cost.String() != want {
			t.Errorf("%v, %v; want %s", got.Cost, err, want)
		}
	}
	if n := r.ContextWindow("p/scripted-1"); n != 1000 {
		t.Errorf("window %d", n)
	}
	if n := r.ContextWindow("p/other"); n != 0 {
		t.Errorf("window %d of an unknown model", n)
	}
	s.Script(reply{Text: "x"})
	if got, err := registry(t, KindOpenAI, s).Call(t.Context(), ask("Go."), nil); err != nil || got.Cost != nil {
		t.Errorf("a model without a price costs %v, %v", got.Cost, err)
	}
}

func TestBuiltInPrices(t *testing.T) {
	l, err := LoadPrices(config.Prices)
	if err != nil {
		t.Fatal(err)
	}
	if l.AsOf == "" || len(l.Prices) < 10 {
		t.Errorf("%d prices of %q", len(l.Prices), l.AsOf)
	}
	if c := l.Prices.Cost(OfflineModel, budget.Usage{InputTokens: 1e6, OutputTokens: 1e6}); c == nil || *c != 0 {
		t.Errorf("the offline model costs %v", c)
	}
	for _, m := range []string{"openai/gpt-5.4-mini", "anthropic/" + anthropicModel} {
		if _, ok := l.Prices.Find(m); !ok {
			t.Errorf("the default model %s has no price", m)
		}
	}
	for _, p := range l.Prices {
		if p.Output < p.Input || p.CacheRead != nil && *p.CacheRead > p.Input {
			t.Errorf("%s: a price looks mistyped: %+v", p.Model, p)
		}
	}
}

func TestPriceListRefuses(t *testing.T) {
	for _, in := range []string{
		`prices: [{models: ["a/b"], input: 1, output: 1, cacheread: 1}]`,
		`prices: [{models: ["a/b"], input: 1}]`,
		`prices: [{models: ["a/b"], input: -1, output: 1}]`,
		`prices: [{models: ["a/b"], input: free, output: 1}]`,
		`prices: [{models: ["b"], input: 1, output: 1}]`,
		`prices: [{models: ["a/b", "a/b"], input: 1, output: 1}]`,
		`prices: [{input: 1, output: 1}]`,
		`prices: [{models: ["a/b"], contextTokens: -1}]`,
		`prices: {`,
	} {
		if _, err := LoadPrices([]byte(in)); err == nil {
			t.Errorf("accepted: %s", in)
		}
	}
	if l, err := LoadPrices(nil); err != nil || len(l.Prices) != 0 {
		t.Errorf("an empty list: %v, %v", l, err)
	}
}

func TestRegistryRefuses(t *testing.T) {
	ok := ProviderConfig{Name: "p", Kind: KindOpenAI, BaseURL: "http://h"}
	for name, cfg := range map[string]Config{
		"a name that is taken": {Providers: []ProviderConfig{ok, ok}},
		"the offline name":     {Providers: []ProviderConfig{{Name: "offline", Kind: KindOpenAI}}},
		"a name with a slash":  {Providers: []ProviderConfig{{Name: "a/b", Kind: KindOpenAI}}},
		"an unknown kind":      {Providers: []ProviderConfig{{Name: "p", Kind: "grpc"}}},
		"an unknown dialect":   {Providers: []ProviderConfig{{Name: "p", Kind: KindOpenAI, Dialect: "klingon"}}},
		"an unknown default":   {Providers: []ProviderConfig{ok}, DefaultModel: "q/x"},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("accepted %s", name)
		}
	}
}

func TestDialectByAddress(t *testing.T) {
	for base, want := range map[string]Dialect{
		"https://api.openai.com/v1": DialectOpenAI, "https://x.openai.azure.com/openai/v1": DialectOpenAI,
		"https://api.deepseek.com": DialectDeepSeek, "http://127.0.0.1:11434/v1": DialectOllama, "http://gpu:8000/v1": DialectVLLM,
	} {
		w, err := newWire(ProviderConfig{BaseURL: base}, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := dialectOf(w.base); got != want {
			t.Errorf("%s: %s", base, got)
		}
	}
}
