package budget

import (
	"math"
	"math/big"
	"strings"
)

// Usage is what one model call, or the sum of several, used. Tokens that a
// provider does not report are zero.
type Usage struct {
	InputTokens      int64 `json:"inputTokens"` // all of the input, cached or not
	OutputTokens     int64 `json:"outputTokens"`
	CacheReadTokens  int64 `json:"cacheReadTokens,omitempty"`  // the part of the input that was read from a cache
	CacheWriteTokens int64 `json:"cacheWriteTokens,omitempty"` // the part of the input that was written to one
	ReasoningTokens  int64 `json:"reasoningTokens,omitempty"`  // the part of the output that was not shown
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		u.InputTokens + v.InputTokens, u.OutputTokens + v.OutputTokens, u.CacheReadTokens + v.CacheReadTokens,
		u.CacheWriteTokens + v.CacheWriteTokens, u.ReasoningTokens + v.ReasoningTokens,
	}
}

// Total returns the tokens that a limit on tokens counts: input and output.
func (u Usage) Total() int64 { return u.InputTokens + u.OutputTokens }

// Price is what a model costs, in dollars per million tokens. CacheRead and
// CacheWrite fall back to Input.
type Price struct {
	Model      string `yaml:"model" json:"model"` // "provider/model"; a trailing * matches any ending
	Input      USD    `yaml:"input" json:"inputUsd"`
	Output     USD    `yaml:"output" json:"outputUsd"`
	CacheRead  *USD   `yaml:"cacheRead" json:"cacheReadUsd"`
	CacheWrite *USD   `yaml:"cacheWrite" json:"cacheWriteUsd"`
}

// Prices is a price list.
type Prices []Price

// Find returns the price of a model: an exact name wins, then the longest
// pattern that matches.
func (ps Prices) Find(model string) (Price, bool) {
	best, found := Price{}, false
	for _, p := range ps {
		if p.Model == model {
			return p, true
		}
		stem, pattern := strings.CutSuffix(p.Model, "*")
		if pattern && strings.HasPrefix(model, stem) && (!found || len(p.Model) > len(best.Model)) {
			best, found = p, true
		}
	}
	return best, found
}

// Cost returns what usage of a model costs, rounded to the nearest billionth of
// a dollar, or nil when its price is not known.
func (ps Prices) Cost(model string, u Usage) *USD {
	p, ok := ps.Find(model)
	if !ok {
		return nil
	}
	or := func(a *USD, b USD) USD {
		if a != nil {
			return *a
		}
		return b
	}
	fresh := max(u.InputTokens-u.CacheReadTokens-u.CacheWriteTokens, 0)
	sum, part := new(big.Int), new(big.Int) // a year's tokens times a price overflow 64 bits
	add := func(tokens int64, price USD) {
		part.Mul(big.NewInt(max(tokens, 0)), big.NewInt(int64(price)))
		sum.Add(sum, part)
	}
	add(fresh, p.Input)
	add(u.OutputTokens, p.Output)
	add(u.CacheReadTokens, or(p.CacheRead, p.Input))
	add(u.CacheWriteTokens, or(p.CacheWrite, p.Input))
	sum.Add(sum, big.NewInt(perTokens/2)).Quo(sum, big.NewInt(perTokens))
	cost := USD(math.MaxInt64)
	if sum.IsInt64() {
		cost = USD(sum.Int64())
	}
	return &cost
}

// perTokens is how many tokens a price is for.
const perTokens = 1_000_000

// Sum adds amounts; one that is not known makes the sum not known.
func Sum(amounts ...*USD) *USD {
	var sum USD
	for _, a := range amounts {
		if a == nil {
			return nil
		}
		sum += *a
	}
	return &sum
}
