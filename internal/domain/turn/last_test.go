package turn

import (
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
)

func TestTheLastAnswerIsAskedForBeforeALimitIsGoneOver(t *testing.T) {
	usd := func(cents int64) *budget.USD { u := budget.USD(cents) * budget.Dollar / 100; return &u }
	tokens := func(n int64) budget.Usage { return budget.Usage{InputTokens: n} }
	for _, c := range []struct {
		name         string
		used, need   operation.Usage
		limits       operation.Limits
		reason       operation.Reason
		detail       string
		roomForAfter bool
	}{
		{"no limit", operation.Usage{Steps: 9}, operation.Usage{Tokens: tokens(9)}, operation.Limits{}, "", "", true},
		{"room for two calls", operation.Usage{CostUSD: usd(0)}, operation.Usage{CostUSD: usd(20)}, operation.Limits{USD: usd(50)}, "", "", true},
		{"the call that goes over it", operation.Usage{CostUSD: usd(40)}, operation.Usage{CostUSD: usd(20)}, operation.Limits{USD: usd(50)}, operation.ReasonCostLimit, operation.DetailMoneyLimit, false},
		{"the call that meets it", operation.Usage{CostUSD: usd(30)}, operation.Usage{CostUSD: usd(20)}, operation.Limits{USD: usd(50)}, operation.ReasonCostLimit, operation.DetailMoneyLimit, false},
		{"a price that is not known is no price", operation.Usage{CostUSD: usd(40)}, operation.Usage{}, operation.Limits{USD: usd(50)}, "", "", true},
		{"and tokens bite all the same", operation.Usage{Tokens: tokens(900)}, operation.Usage{Tokens: tokens(200)}, operation.Limits{USD: usd(50), Tokens: 1000}, operation.ReasonCostLimit, operation.DetailTokenLimit, false},
		{"the last step", operation.Usage{Steps: 39}, operation.Usage{}, operation.Limits{Steps: 40}, operation.ReasonMaxSteps, "", false},
		{"the last but one", operation.Usage{Steps: 38}, operation.Usage{}, operation.Limits{Steps: 40}, "", "", true},
		{"time is no reason", operation.Usage{Elapsed: time.Hour}, operation.Usage{}, operation.Limits{Seconds: 60}, "", "", true},
	} {
		c.used.CostUSD = orZero(c.used.CostUSD)
		got := Last(c.used, c.need, c.limits)
		if (got == nil) != c.roomForAfter || got != nil && (got.Reason != c.reason || got.Detail != c.detail) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func orZero(u *budget.USD) *budget.USD {
	if u == nil {
		return new(budget.USD)
	}
	return u
}

func TestWhatACallNeedsIsLikeThoseBeforeIt(t *testing.T) {
	perToken := func(u budget.Usage) *budget.USD { usd := budget.USD(u.Total()); return &usd }
	dear := budget.USD(60_000)
	used := operation.Usage{Tokens: budget.Usage{InputTokens: 30_000, OutputTokens: 900}, CostUSD: &dear}
	for _, c := range []struct {
		name          string
		prompt        int
		used          operation.Usage
		calls         int
		input, output int64
		cost          budget.USD
	}{
		{"before the first", 100, operation.Usage{CostUSD: new(budget.USD)}, 0, 100, typicalOutput, 100 + typicalOutput},
		{"a prompt that has grown", 12_000, used, 3, 12_000, 300, 20_000},
		{"a prompt that the provider counts higher than we do", 100, used, 3, 10_000, 300, 20_000},
		{"a long one, by the list", 50_000, used, 3, 50_000, 300, 50_300},
	} {
		got := Need(c.prompt, c.used, c.calls, perToken)
		if got.Tokens.InputTokens != c.input || got.Tokens.OutputTokens != c.output || *got.CostUSD != c.cost {
			t.Errorf("%s: %+v, %v", c.name, got.Tokens, *got.CostUSD)
		}
	}
	unknown := func(budget.Usage) *budget.USD { return nil }
	if got := Need(100, used, 3, unknown); got.CostUSD != nil {
		t.Errorf("a price that is not known is guessed: %v", *got.CostUSD)
	}
}

// What the agent is told at its end says why it is over.
func TestTheLastWordIsAskedForWithItsReason(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range []Final{
		{operation.ReasonError, operation.DetailLoop},
		{operation.ReasonMaxSteps, ""},
		{operation.ReasonCostLimit, operation.DetailMoneyLimit},
	} {
		seen[State{Final: &f}.Nudge()] = true
	}
	if len(seen) != 3 {
		t.Errorf("%v", seen)
	}
}
