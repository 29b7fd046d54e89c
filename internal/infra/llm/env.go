package llm

import (
	"fmt"
	"strings"
)

// ConfigFromEnv reads the configuration of models from the environment.
// A base URL alone is enough: many servers at home need no key. The first
// provider is the default one.
func ConfigFromEnv(getenv func(string) string) (Config, error) {
	get := func(key string) string { return strings.TrimSpace(getenv(key)) }
	cfg := Config{DefaultModel: get("DOGWATCH_MODEL")}
	for _, p := range []struct {
		kind   Kind
		prefix string
	}{{KindOpenAI, "OPENAI"}, {KindAnthropic, "ANTHROPIC"}} {
		key, base := get(p.prefix+"_API_KEY"), get(p.prefix+"_BASE_URL")
		if key == "" && base == "" {
			continue
		}
		cfg.Providers = append(cfg.Providers, ProviderConfig{Name: string(p.kind), Kind: p.kind, BaseURL: base, APIKey: key})
	}
	if m := cfg.DefaultModel; m != "" {
		provider, name, ok := strings.Cut(m, "/")
		if !ok || name == "" {
			return Config{}, fmt.Errorf("DOGWATCH_MODEL is %q; a model is named provider/model, such as openai/gpt-5.4-mini", m)
		}
		configured := provider == string(KindOffline)
		for _, p := range cfg.Providers {
			configured = configured || p.Name == provider
		}
		if !configured {
			return Config{}, fmt.Errorf("DOGWATCH_MODEL is %q, but no provider %q is configured; set %s_API_KEY or %s_BASE_URL",
				m, provider, strings.ToUpper(provider), strings.ToUpper(provider))
		}
	}
	// New says what is wrong with an address or a key without showing the key.
	if _, err := New(cfg); err != nil {
		return Config{}, err
	}
	return cfg, nil
}
