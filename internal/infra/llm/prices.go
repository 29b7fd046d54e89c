package llm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/dogwatch/dogwatch/internal/domain/budget"
)

// PriceList is what config/prices.yaml says: what models cost and how much they
// read.
type PriceList struct {
	AsOf    string // the day on which the prices were looked up
	Prices  budget.Prices
	windows budget.Prices // tokens in place of a price, so that names are found by one rule
}

// LoadPrices reads a price list. A key that it does not know is an error: a
// misspelled cacheRead would make every bill wrong in silence.
func LoadPrices(b []byte) (*PriceList, error) {
	var file struct {
		AsOf    string   `yaml:"asOf"`
		Sources []string `yaml:"sources"`
		Prices  []struct {
			Models        []string    `yaml:"models"`
			Input         *budget.USD `yaml:"input"`
			Output        *budget.USD `yaml:"output"`
			CacheRead     *budget.USD `yaml:"cacheRead"`
			CacheWrite    *budget.USD `yaml:"cacheWrite"`
			ContextTokens int         `yaml:"contextTokens"`
		} `yaml:"prices"`
	}
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the price list: %w", err)
	}
	l := &PriceList{AsOf: file.AsOf}
	seen := map[string]bool{}
	for _, p := range file.Prices {
		if len(p.Models) == 0 {
			return nil, errors.New("price list: an entry names no models")
		}
		if p.ContextTokens < 0 {
			return nil, fmt.Errorf("price list: %s: contextTokens is negative", p.Models[0])
		}
		for _, m := range p.Models {
			if provider, name, ok := strings.Cut(m, "/"); !ok || provider == "" || name == "" {
				return nil, fmt.Errorf("price list: %q is not of the form provider/model", m)
			}
			if seen[m] {
				return nil, fmt.Errorf("price list: %s is listed twice", m)
			}
			seen[m] = true
			if p.ContextTokens > 0 {
				l.windows = append(l.windows, budget.Price{Model: m, Input: budget.USD(p.ContextTokens)})
			}
			if p.Input == nil && p.Output == nil {
				continue // only the window is known
			}
			if p.Input == nil || p.Output == nil || *p.Input < 0 || *p.Output < 0 ||
				p.CacheRead != nil && *p.CacheRead < 0 || p.CacheWrite != nil && *p.CacheWrite < 0 {
				return nil, fmt.Errorf("price list: %s needs input and output, neither negative", m)
			}
			l.Prices = append(l.Prices, budget.Price{
				Model: m, Input: *p.Input, Output: *p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite,
			})
		}
	}
	return l, nil
}

// ContextWindow returns how many tokens a model ("provider/model") reads, 0
// when that is not known.
func (l *PriceList) ContextWindow(model string) int {
	p, _ := l.windows.Find(model)
	return int(p.Input)
}
