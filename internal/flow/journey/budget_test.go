package journey

import (
	"slices"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/brief"
	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
	"github.com/dogwatch/dogwatch/internal/domain/turn"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
	"github.com/dogwatch/dogwatch/internal/testkit/rig"
)

func cents(n int64) *budget.USD { u := budget.USD(n) * budget.Dollar / 100; return &u }

// spends lets every answer cost so much, and ask for a tool as long as it may.
func (s story) spends(cost *budget.USD, tokens int64) {
	s.Model.Price = func(budget.Usage) *budget.USD { return cost }
	s.Model.Reply = func(r turn.Request) (turn.Reply, error) {
		if r.Output != nil {
			return rig.Plain(r)
		}
		reply := rig.Wants("current_time", `{}`)
		if r.ToolsOff {
			reply = rig.Says("So far I came.")
		}
		reply.Cost, reply.Usage.InputTokens = cost, tokens
		return reply, nil
	}
}

// A run ends at its limits with its report, and goes over them by one call at most.
func TestARunAtALimitWritesItsReport(t *testing.T) {
	for _, c := range []struct {
		name   string
		cost   *budget.USD
		tokens int64
		budget task.Budget
		calls  int
		reason operation.Reason
		detail string
	}{
		{"BUG-077: half a dollar, and each answer costs twenty cents", cents(20), 10, task.Budget{Operation: task.Allowance{USD: cents(50)}},
			3, operation.ReasonCostLimit, operation.DetailMoneyLimit},
		{"BUG-077: the same of a day", cents(20), 10, task.Budget{Day: task.Allowance{USD: cents(50)}},
			3, operation.ReasonCostLimit, operation.DetailMoneyLimit},
		{"BUG-078: tokens of a day, where nobody knows the price", nil, 40_000, task.Budget{Day: task.Allowance{Tokens: 100_000, USD: cents(1)}},
			3, operation.ReasonCostLimit, operation.DetailTokenLimit},
		{"seven steps", cents(0), 10, task.Budget{Operation: task.Allowance{Steps: 7}}, 4, operation.ReasonMaxSteps, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := begin(t)
			s.spends(c.cost, c.tokens)
			tk := s.create(steer.NewTask{Instruction: "Go on and on.", Start: true, Config: task.Config{Budget: c.budget}})
			s.Drain()
			tp := s.topics(tk.ID)[0]
			if tp.Status != topic.Completed || tp.Reason != c.reason || tp.ReasonDetail != c.detail || tp.Handoff == nil {
				t.Errorf("%s, %s(%s), handoff %+v", tp.Status, tp.Reason, tp.ReasonDetail, tp.Handoff)
			}
			calls := slices.DeleteFunc(slices.Clone(s.Model.Calls), func(r turn.Request) bool { return r.Output != nil })
			if len(calls) != c.calls || !calls[len(calls)-1].ToolsOff || len(calls) > 1 && calls[len(calls)-2].ToolsOff {
				t.Errorf("%d calls of the model, want %d, the last without tools", len(calls), c.calls)
			}
			var said string
			s.Must(s.Store.Pool().QueryRow(s.Context(), `select content from messages where role = 'assistant' order by id desc limit 1`).Scan(&said))
			if said != "So far I came." {
				t.Errorf("its last word is %q", said)
			}
		})
	}
}

// The day of a task is spent by its runs together: the second stops where the first
// left off, a person hears of it before, and then the gate is shut.
func TestTheBudgetOfADayHoldsAcrossRuns(t *testing.T) {
	s := begin(t)
	s.spends(cents(20), 10)
	tk := s.create(steer.NewTask{
		Instruction: "Watch.", Automation: heartbeat(60),
		Config: task.Config{Budget: task.Budget{Day: task.Allowance{USD: cents(100)}, Operation: task.Allowance{Steps: 3}}},
	})
	s.Tick() // two calls: 40 cents
	s.Age(tk.ID, time.Minute)
	s.Tick() // 80 cents
	if c := s.causes(tk.ID); c != "spending max_steps" {
		t.Errorf("at 80 of 100 cents it waits for %q", c)
	}
	s.Age(tk.ID, time.Minute)
	s.Tick() // its one call is the last
	got := s.is(tk.ID, task.Paused, task.OverBudget)
	if *got.CostUSD != *cents(100) {
		t.Errorf("it cost %v", got.CostUSD)
	}
	b := s.open(tk.ID)
	if i := slices.IndexFunc(b, func(b brief.Brief) bool { return b.Cause == brief.CauseBudget }); i < 0 {
		t.Errorf("nobody is asked: %+v", b)
	}
}
