package task

import (
	"testing"

	"github.com/dogwatch/dogwatch/internal/domain/budget"
)

func TestHowMuchOfABudgetIsUsed(t *testing.T) {
	usd := func(n int64) *budget.USD { u := budget.USD(n); return &u }
	for _, c := range []struct {
		name   string
		day    Allowance
		cost   *budget.USD
		tokens int64
		want   int
	}{
		{"none is set", Allowance{}, usd(5), 5, 0},
		{"money", Allowance{USD: usd(10)}, usd(8), 5, 80},
		{"tokens", Allowance{Tokens: 100}, usd(8), 99, 99},
		{"the nearer of both", Allowance{USD: usd(10), Tokens: 100}, usd(1), 55, 55},
		{"money that is not known", Allowance{USD: usd(10)}, nil, 55, 0},
		{"a budget of nothing", Allowance{USD: usd(0)}, usd(5), 0, 0},
	} {
		if got := c.day.Percent(c.cost, c.tokens); got != c.want {
			t.Errorf("%s: %d %%, want %d", c.name, got, c.want)
		}
	}
}

func TestSpendingIsToldOfOnceBeforeTheEnd(t *testing.T) {
	for _, c := range []struct {
		before, after int
		told          bool
	}{{0, 79, false}, {79, 80, true}, {0, 99, true}, {80, 90, false}, {70, 100, false}} {
		if got := BriefOfSpending(Task{Identifier: "T-1"}, c.before, c.after); (got != nil) != c.told {
			t.Errorf("from %d to %d %%: %+v", c.before, c.after, got)
		}
	}
	quiet := Task{Config: Config{Brief: &BriefConfig{Mode: BriefNever}}}
	if BriefOfSpending(quiet, 0, 90) != nil {
		t.Error("a task that is to be quiet tells of it")
	}
}
