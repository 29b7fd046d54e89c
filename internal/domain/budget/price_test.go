package budget

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func usd(s string) USD {
	u, err := ParseUSD(s)
	if err != nil {
		panic(err)
	}
	return u
}

func ptr(u USD) *USD { return &u }

func TestFindPrefersTheMostExactName(t *testing.T) {
	ps := Prices{
		{Model: "*", Input: 1},
		{Model: "openai/gpt-4o*", Input: 2},
		{Model: "openai/gpt-4o-mini*", Input: 3},
		{Model: "openai/*", Input: 4},
		{Model: "openai/gpt-4o-mini", Input: 5},
	}
	for model, want := range map[string]USD{
		"openai/gpt-4o":                 2,
		"openai/gpt-4o-2024-11-20":      2,
		"openai/gpt-4o-mini-2024-07-18": 3,
		"openai/gpt-4o-mini":            5,
		"openai/o3":                     4,
		"anthropic/x":                   1,
	} {
		if p, ok := ps.Find(model); !ok || p.Input != want {
			t.Errorf("Find(%q) = %v, %v; want price %d", model, p, ok, want)
		}
	}
	if p, ok := ps[1:4].Find("anthropic/x"); ok {
		t.Errorf("found %v for a model that no pattern matches", p)
	}
}

func TestCost(t *testing.T) {
	ps := Prices{
		{Model: "a/full", Input: usd("3"), Output: usd("15"), CacheRead: ptr(usd("0.3")), CacheWrite: ptr(usd("3.75"))},
		{Model: "a/plain", Input: usd("2"), Output: usd("8")},
		{Model: "a/free"},
		{Model: "a/tiny", Input: usd("0.0004")},
	}
	for _, c := range []struct {
		name, model string
		use         Usage
		want        string
	}{
		{"input and output", "a/plain", Usage{InputTokens: 1_000_000, OutputTokens: 500_000}, "6"},
		{"the cached part is not counted twice", "a/full",
			Usage{InputTokens: 1_000_000, CacheReadTokens: 600_000, CacheWriteTokens: 100_000}, "1.455"},
		{"a cache without a price of its own costs as input", "a/plain",
			Usage{InputTokens: 1_000_000, CacheReadTokens: 1_000_000}, "2"},
		{"reasoning is part of the output", "a/plain", Usage{OutputTokens: 1000, ReasoningTokens: 900}, "0.008"},
		{"a price of nothing is known, not unknown", "a/free", Usage{InputTokens: 5}, "0"},
		{"rounded down below half a billionth", "a/tiny", Usage{InputTokens: 1}, "0"},
		{"rounded up from half a billionth", "a/tiny", Usage{InputTokens: 2}, "0.000000001"},
		{"a provider that reports more cached than input", "a/plain", Usage{InputTokens: 1, CacheReadTokens: 1_000_000}, "2"},
		{"a provider that reports negative tokens", "a/plain", Usage{InputTokens: -5, OutputTokens: -5}, "0"},
	} {
		if got := ps.Cost(c.model, c.use); got == nil || *got != usd(c.want) {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
	}
	if got := ps.Cost("b/unknown", Usage{InputTokens: 1}); got != nil {
		t.Errorf("the cost of a model without a price is %s, want unknown", got)
	}
	if got := ps.Cost("a/full", Usage{OutputTokens: math.MaxInt64}); *got != math.MaxInt64 {
		t.Errorf("an absurd report costs %s, want the largest amount", got)
	}
}

func TestCostNeverFallsWithMoreTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		price := USD(rapid.Int64Range(0, int64(1000*Dollar)).Draw(t, "price"))
		ps := Prices{{Model: "m", Input: price, Output: price}}
		n := rapid.Int64Range(0, 1<<50).Draw(t, "n")
		a, b := ps.Cost("m", Usage{InputTokens: n}), ps.Cost("m", Usage{InputTokens: n, OutputTokens: 1})
		if *a < 0 || *b < *a {
			t.Fatalf("%d tokens cost %s, one more %s", n, a, b)
		}
	})
}

func TestSumIsUnknownWhenAPartIs(t *testing.T) {
	if got := Sum(ptr(1), ptr(2)); *got != 3 {
		t.Errorf("sum = %d", *got)
	}
	if got := Sum(); *got != 0 {
		t.Errorf("the sum of nothing = %d", *got)
	}
	if got := Sum(ptr(1), nil); got != nil {
		t.Errorf("sum with an unknown part = %d", *got)
	}
}
