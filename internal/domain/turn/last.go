package turn

import (
	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
)

// Last says whether the next answer has to be the last one, because a call that needs
// as much as need reaches a limit: it is asked for without tools, so that a run that
// stops at a limit leaves its report, and goes over the limit by this one call at
// most. nil: there is room for the call, and for another.
//
// A limit in time is no reason: nobody knows how long an answer takes.
func Last(used, need operation.Usage, limits operation.Limits) *Final {
	need.Steps, need.Elapsed = 1, 0
	reason, detail, over := limits.Exceeded(used.Plus(need))
	if !over || reason == operation.ReasonInterrupted {
		return nil
	}
	return &Final{reason, detail}
}

// typicalOutput is how many tokens an answer is expected to have before there was one:
// a tool call with a sentence or two beside it.
const typicalOutput = 300

// Need is what a call is expected to use, given its prompt and what the calls before
// it used: at least as much as they did on average, since a conversation grows. price
// says what usage costs, nil where that is not known.
func Need(promptTokens int, used operation.Usage, calls int, price func(budget.Usage) *budget.USD) operation.Usage {
	var need operation.Usage
	need.Tokens.InputTokens = int64(promptTokens)
	need.Tokens.OutputTokens = typicalOutput
	if calls > 0 {
		need.Tokens.InputTokens = max(need.Tokens.InputTokens, used.Tokens.InputTokens/int64(calls))
		need.Tokens.OutputTokens = used.Tokens.OutputTokens / int64(calls)
	}
	need.CostUSD = price(need.Tokens)
	if need.CostUSD != nil && used.CostUSD != nil && calls > 0 {
		average := *used.CostUSD / budget.USD(calls)
		need.CostUSD = new(max(*need.CostUSD, average))
	}
	return need
}
