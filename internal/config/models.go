package config

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dogwatch/dogwatch/internal/infra/llm"
)

const modelAllowed = "provider/model, such as openai/gpt-5.4-mini or offline/extractive"

// provider is one entry of the file's list.
type provider struct {
	Name    string            `yaml:"name"`
	Kind    string            `yaml:"kind"`
	BaseURL string            `yaml:"baseUrl"`
	APIKey  string            `yaml:"apiKey"`
	Model   string            `yaml:"model"`
	Dialect string            `yaml:"dialect"`
	Headers map[string]string `yaml:"headers"`
	at      string            // where it stands, for errors
}

var providerKeys = []string{"name", "kind", "baseUrl", "apiKey", "model", "dialect", "headers"}

func (e *Error) readProviders(at, file string, list *yaml.Node) []provider {
	if list.Tag == "!!null" {
		return nil
	}
	if list.Kind != yaml.SequenceNode {
		e.add(at, "", "it has to be a list of providers with "+strings.Join(providerKeys, ", "))
		return nil
	}
	var out []provider
	for i, n := range list.Content {
		p := provider{at: fmt.Sprintf("%s:%d: providers[%d]", file, n.Line, i)}
		if n.Kind == yaml.MappingNode {
			for j := 0; j < len(n.Content); j += 2 {
				if k := n.Content[j]; !slices.Contains(providerKeys, k.Value) {
					e.unknown(fmt.Sprintf("%s:%d: providers[%d].%s", file, k.Line, i, k.Value), k.Value, providerKeys)
				}
			}
		}
		if err := n.Decode(&p); err != nil {
			e.add(p.at, "", "it has to have "+strings.Join(providerKeys, ", ")+" with plain values")
			continue
		}
		if p.Name == "" {
			e.add(p.at+".name", "", "it is missing; it is the first part of a model's name")
			continue
		}
		p.Kind = cmp.Or(p.Kind, string(llm.KindOpenAI))
		out = append(out, p)
	}
	return out
}

// models puts the providers of the environment and the file together. Those of
// the environment come first, because the first is the default one, and their
// keys and addresses win over those of the same name in the file.
func (e *Error) models(src Source, cfg *Config, fromFile []provider) {
	var list []provider
	for _, of := range []struct{ kind, prefix string }{
		{string(llm.KindOpenAI), "OPENAI"}, {string(llm.KindAnthropic), "ANTHROPIC"},
	} {
		key, base := strings.TrimSpace(src.env(of.prefix+"_API_KEY")), strings.TrimSpace(src.env(of.prefix+"_BASE_URL"))
		if key == "" && base == "" {
			continue
		}
		p := provider{Name: of.kind, Kind: of.kind}
		if i := slices.IndexFunc(fromFile, func(p provider) bool { return p.Name == of.kind }); i >= 0 {
			p = fromFile[i]
			fromFile = slices.Delete(slices.Clone(fromFile), i, i+1)
		}
		p.APIKey, p.BaseURL = cmp.Or(key, p.APIKey), cmp.Or(base, p.BaseURL)
		p.at = of.prefix + "_API_KEY, " + of.prefix + "_BASE_URL"
		list = append(list, p)
	}
	known := []string{string(llm.KindOffline)}
	for _, p := range append(list, fromFile...) {
		c := llm.ProviderConfig{
			Name: p.Name, Kind: llm.Kind(p.Kind), BaseURL: p.BaseURL, APIKey: p.APIKey, DefaultModel: p.Model,
			Dialect: llm.Dialect(p.Dialect), Headers: p.Headers,
		}
		// One by one, so that the error says where.
		if r, err := llm.New(llm.Config{Providers: []llm.ProviderConfig{c}}); err != nil {
			e.add(p.at, "", err.Error())
			continue
		} else {
			r.Close()
		}
		if slices.Contains(known, p.Name) {
			e.add(p.at, "", fmt.Sprintf("there is a provider %q already", p.Name))
			continue
		}
		known = append(known, p.Name)
		cfg.Models.Providers = append(cfg.Models.Providers, c)
	}
	if m := cfg.Models.DefaultModel; m != "" && len(e.Problems) == 0 {
		if name, _, _ := strings.Cut(m, "/"); !slices.Contains(known, name) {
			e.add("DOGWATCH_MODEL", fmt.Sprintf("%q", m), "a model of a configured provider, and those are "+strings.Join(known, ", ")+
				"; set "+strings.ToUpper(name)+"_API_KEY or "+strings.ToUpper(name)+"_BASE_URL, or list it under providers in the file")
		} else if name == string(llm.KindOffline) && m != llm.OfflineModel {
			e.add("DOGWATCH_MODEL", fmt.Sprintf("%q", m), llm.OfflineModel+", the only one of that provider")
		}
	}
}

func isModel(v string) bool {
	provider, name, ok := strings.Cut(v, "/")
	return ok && provider != "" && name != ""
}

func setPrices(c *llm.Config, file string) bool {
	b, err := os.ReadFile(file)
	if err != nil || len(bytes.TrimSpace(b)) == 0 {
		return false
	}
	c.Prices, err = llm.LoadPrices(b)
	return err == nil
}
