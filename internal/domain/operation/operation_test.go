package operation

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dogwatch/dogwatch/internal/domain/budget"
)

func usd(n budget.USD) *budget.USD { return &n }

func TestWhichLimitEndsAnOperation(t *testing.T) {
	all := Limits{Steps: 10, Tokens: 1000, USD: usd(5), Seconds: 60}
	for _, c := range []struct {
		name   string
		limits Limits
		used   Usage
		reason Reason
		detail string
	}{
		{"nothing used", all, Usage{}, "", ""},
		{"all but there", all, Usage{Steps: 9, Tokens: budget.Usage{InputTokens: 999}, CostUSD: usd(4), Elapsed: time.Minute - 1}, "", ""},
		{"steps", all, Usage{Steps: 10}, ReasonMaxSteps, ""},
		{"tokens, in and out", all, Usage{Tokens: budget.Usage{InputTokens: 600, OutputTokens: 400}}, ReasonCostLimit, DetailTokenLimit},
		{"money", all, Usage{CostUSD: usd(5)}, ReasonCostLimit, DetailMoneyLimit},
		{"money that is not known", all, Usage{CostUSD: nil, Steps: 1}, "", ""},
		{"steps still bite when money is not known", all, Usage{CostUSD: nil, Steps: 11}, ReasonMaxSteps, ""},
		{"wall clock", all, Usage{Elapsed: time.Minute}, ReasonInterrupted, DetailTimeLimit},
		{"time before money before tokens before steps", all, Usage{Steps: 99, Tokens: budget.Usage{InputTokens: 9999}, CostUSD: usd(99), Elapsed: time.Hour}, ReasonInterrupted, DetailTimeLimit},
		{"money before tokens", all, Usage{Steps: 99, Tokens: budget.Usage{InputTokens: 9999}, CostUSD: usd(99)}, ReasonCostLimit, DetailMoneyLimit},
		{"tokens before steps", all, Usage{Steps: 99, Tokens: budget.Usage{InputTokens: 9999}}, ReasonCostLimit, DetailTokenLimit},
		{"no limits", Limits{}, Usage{Steps: 1 << 30, Tokens: budget.Usage{InputTokens: 1 << 40}, CostUSD: usd(1 << 40), Elapsed: 1e6 * time.Hour}, "", ""},
		{"an allowance of no money", Limits{USD: usd(0)}, Usage{CostUSD: usd(0)}, ReasonCostLimit, DetailMoneyLimit},
	} {
		reason, detail, over := c.limits.Exceeded(c.used)
		if reason != c.reason || detail != c.detail || over != (c.reason != "") {
			t.Errorf("%s: %s(%s) %v", c.name, reason, detail, over)
		}
	}
}

func TestTheNearestLimitWins(t *testing.T) {
	own := Limits{Steps: 3, USD: usd(0)}
	agents := Limits{Steps: 20, Tokens: 7, USD: usd(9)}
	got := own.Or(agents).Or(DefaultLimits)
	if got.Steps != 3 || got.Tokens != 7 || *got.USD != 0 || got.Seconds != DefaultLimits.Seconds {
		t.Errorf("%+v", got)
	}
}

func TestTheDefaultsHoldEveryOperation(t *testing.T) {
	if DefaultLimits.Steps != 40 || DefaultLimits.Tokens != 500_000 || DefaultLimits.Seconds != 30*60 || DefaultLimits.USD != nil {
		t.Errorf("docs/states.md says otherwise: %+v", DefaultLimits)
	}
}

// What is used only grows, so a limit that is reached stays reached.
func TestALimitStaysReached(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Limits{Steps: rapid.IntRange(0, 5).Draw(t, "steps"), Tokens: rapid.Int64Range(0, 5).Draw(t, "tokens"), Seconds: rapid.IntRange(0, 5).Draw(t, "seconds")}
		u := Usage{Steps: rapid.IntRange(0, 6).Draw(t, "used steps"), Tokens: budget.Usage{InputTokens: rapid.Int64Range(0, 6).Draw(t, "used")}, Elapsed: time.Duration(rapid.IntRange(0, 6).Draw(t, "elapsed")) * time.Second}
		_, _, over := l.Exceeded(u)
		u.Steps++
		u.Tokens.OutputTokens++
		u.Elapsed += time.Second
		if _, _, still := l.Exceeded(u); over && !still {
			t.Fatalf("%+v is exceeded, and with more it is not", l)
		}
	})
}

func TestTheStatusThatAReasonLeaves(t *testing.T) {
	for r, want := range map[Reason]Status{
		ReasonDone: Done, ReasonMaxSteps: Done, ReasonCostLimit: Done, ReasonError: Error, ReasonInterrupted: Interrupted,
		ReasonWaitingForHuman: WaitingForHuman, ReasonWaitingForAsyncTool: WaitingForAsyncTool,
	} {
		if got := r.Status(); got != want {
			t.Errorf("%s: %s, want %s", r, got, want)
		}
	}
}

func TestAnOperationWorksWaitsOrHasEnded(t *testing.T) {
	for _, s := range Statuses {
		waits := s == WaitingForHuman || s == WaitingForAsyncTool
		n := 0
		for _, b := range []bool{s.Working(), s.Ended(), waits} {
			if b {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s: working %v, ended %v, waits %v", s, s.Working(), s.Ended(), waits)
		}
	}
}
