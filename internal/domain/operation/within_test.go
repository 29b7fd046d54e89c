package operation

import (
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/budget"
)

func TestLimitsAreNarrowedToWhatIsLeft(t *testing.T) {
	usd := func(n int64) *budget.USD { u := budget.USD(n); return &u }
	used := Usage{Tokens: budget.Usage{InputTokens: 100}, CostUSD: usd(10), Elapsed: time.Minute}
	for _, c := range []struct {
		name         string
		limits, left Limits
		want         Limits
	}{
		{"nothing narrows", Limits{Steps: 4, Tokens: 500}, Limits{}, Limits{Steps: 4, Tokens: 500}},
		{"what is left is less", Limits{USD: usd(50), Tokens: 500, Seconds: 600}, Limits{USD: usd(5), Tokens: 50, Seconds: 30},
			Limits{USD: usd(15), Tokens: 150, Seconds: 90}},
		{"what is left is more", Limits{USD: usd(50), Tokens: 500, Seconds: 600}, Limits{USD: usd(500), Tokens: 5000, Seconds: 6000},
			Limits{USD: usd(50), Tokens: 500, Seconds: 600}},
		{"there was no limit", Limits{}, Limits{USD: usd(5), Tokens: 50, Seconds: 30}, Limits{USD: usd(15), Tokens: 150, Seconds: 90}},
		{"nothing is left", Limits{}, Limits{USD: usd(-20), Tokens: -500, Seconds: -500}, Limits{USD: usd(-10), Tokens: 1, Seconds: 1}},
	} {
		got := c.limits.Within(used, c.left)
		if got.Steps != c.want.Steps || got.Tokens != c.want.Tokens || got.Seconds != c.want.Seconds ||
			(got.USD == nil) != (c.want.USD == nil) || got.USD != nil && *got.USD != *c.want.USD {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	if _, _, over := (Limits{}).Within(used, Limits{Tokens: -500}).Exceeded(used); !over {
		t.Error("nothing is left of the tokens, and it may go on")
	}
	unknown := used
	unknown.CostUSD = nil
	if got := (Limits{}).Within(unknown, Limits{USD: usd(5)}); got.USD != nil {
		t.Errorf("money that is not known is limited: %v", *got.USD)
	}
}
