package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/killpoint"
	"github.com/dogwatch/dogwatch/internal/domain/agent"
	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/domain/prompt"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/domain/turn"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// think asks the model and commits its answer.
func (r run) think(ctx context.Context, began time.Time) error {
	profile, err := r.profile(ctx)
	if err != nil {
		return err
	}
	seq := r.o.Steps + 1
	var added []store.Message // to the conversation by this step
	var consumed []string     // comments that the prompt took up
	history, err := r.store.OperationMessages(ctx, r.sc, r.o.ID)
	if err != nil {
		return err
	}
	if len(history) == 0 {
		text, comments, err := r.prompt(ctx)
		if err != nil {
			return err
		}
		consumed = comments
		added = append(added, store.Message{StepSeq: seq, Part: 0, Message: turn.Message{Role: turn.User, Content: text}})
	} else if nudge := r.s.Nudge(); nudge != "" {
		added = append(added, store.Message{StepSeq: seq, Part: 0, Message: turn.Message{Role: turn.User, Content: nudge}})
	}
	req := turn.Request{Model: r.o.Model, System: profile.System, Messages: conversation(append(history, added...))}
	req.Tools, req.ToolsOff = r.tools.Specs(profile, r.task), r.s.Final != nil
	req.Messages = turn.Fit(req.Messages, r.room(), 6, prompt.Estimate)
	if r.s.Final == nil {
		if r.s.Final = turn.Last(r.o.Used(began), r.need(req), r.limits); r.s.Final != nil { // its report, then
			added = told(added, seq, r.s.Nudge())
			req.Messages, req.ToolsOff = turn.Fit(conversation(append(history, added...)), r.room(), 6, prompt.Estimate), true
		}
	}

	reply, err := r.call(ctx, req, seq)
	if err != nil {
		return err
	}
	killpoint.Hit("model-answered")
	usage := reply.Usage
	added = append(added, store.Message{
		StepSeq: seq, Part: 1, Message: turn.Message{Role: turn.Assistant, Content: reply.Text, ToolCalls: reply.ToolCalls},
		Reasoning: reply.Reasoning, Model: reply.Model, Usage: &usage,
	})
	stop := string(reply.Stop)
	step := store.Step{Seq: seq, Kind: string(turn.DoThink), Model: &r.o.Model, StopReason: &stop, Estimated: reply.Estimated, CostUSD: reply.Cost, StartedAt: began}
	step.SetUsage(usage)
	return r.commit(ctx, step, r.s.AfterReply(reply), added, store.Progress{ModelCalls: 1, Usage: usage, Cost: reply.Cost},
		func(ctx context.Context, tx *store.Tx) error {
			if err := tx.ConsumeComments(ctx, r.sc, r.o.TopicID, consumed); err != nil {
				return err
			}
			return r.warn(ctx, tx, reply)
		})
}

// warn tells a person when an answer brings the task near the end of its budget of the
// day.
func (r run) warn(ctx context.Context, tx *store.Tx, reply turn.Reply) error {
	day := r.task.Config.Budget.Day
	b := task.BriefOfSpending(r.task, day.Percent(r.day.CostUSD, r.day.Tokens),
		day.Percent(budget.Sum(r.day.CostUSD, reply.Cost), r.day.Tokens+reply.Usage.Total()))
	if b == nil {
		return nil
	}
	_, _, err := tx.OpenBrief(ctx, r.sc, *b, store.BriefFrom{TaskID: r.o.TaskID, TopicID: r.o.TopicID, OperationID: r.o.ID, AgentID: deref(r.o.AgentID)})
	return err
}

// told adds what the model is told to what this step adds to the conversation.
func told(added []store.Message, seq int, text string) []store.Message {
	if n := len(added); n > 0 { // one message of the user's, not two in a row
		added[n-1].Content += "\n\n" + text
		return added
	}
	return []store.Message{{StepSeq: seq, Part: 0, Message: turn.Message{Role: turn.User, Content: text}}}
}

// need is what a request is expected to use.
func (r run) need(req turn.Request) operation.Usage {
	used := operation.Usage{Tokens: r.o.Usage, CostUSD: r.o.CostUSD}
	return turn.Need(req.Tokens(prompt.Estimate), used, r.o.ModelCalls, func(u budget.Usage) *budget.USD { return r.models.Cost(r.o.Model, u) })
}

// call makes one attempt. What may heal is tried again by the job, after a delay
// that fits what went wrong; what will not heal ends the operation.
func (r run) call(ctx context.Context, req turn.Request, seq int) (turn.Reply, error) {
	if r.limits.Seconds > 0 && r.o.StartedAt != nil {
		now, err := r.store.Clock(ctx)
		if err != nil {
			return turn.Reply{}, err
		}
		var cancel context.CancelFunc
		left := time.Duration(r.limits.Seconds)*time.Second - now.Sub(*r.o.StartedAt)
		ctx, cancel = context.WithTimeoutCause(ctx, left, errOutOfTime)
		defer cancel()
	}
	if err := context.Cause(ctx); err != nil {
		return turn.Reply{}, err // fenced already: do not pay
	}
	reply, err := r.models.Call(ctx, req, func(text string) {
		r.deltas.Delta(ctx, r.sc.Workspace(), r.o.ID, seq, text)
	})
	if err == nil {
		return reply, nil
	}
	if errors.Is(context.Cause(ctx), errOutOfTime) {
		return turn.Reply{}, job.RetryAfter(err, 0) // the next try finds the limit reached and ends the operation
	}
	var me *turn.ModelError
	if !errors.As(err, &me) {
		return turn.Reply{}, err
	}
	r.log.Warn("a model call failed", "operation", r.o.ID, "model", r.o.Model, "class", me.Class, "attempt", r.c.Attempt+1, "err", me)
	attempt := r.c.Attempt + 1
	if attempt >= me.Class.Attempts() {
		return turn.Reply{}, job.Permanent(me)
	}
	return turn.Reply{}, job.RetryAfter(me, turn.Backoff(me.Class, attempt, me.RetryAfter, rand.Float64()))
}

var errOutOfTime = errors.New("the operation's time is used up")

// room is how many tokens a request may have: three quarters of the model's
// window, so that tools, system prompt and answer fit beside it.
func (r run) room() int {
	if window := r.models.ContextWindow(r.o.Model); window > 0 {
		return window * 3 / 4
	}
	return promptTokens * 3
}

func (r run) profile(ctx context.Context) (agent.Profile, error) {
	if r.o.AgentID == nil || r.o.AgentRevisionID == nil {
		return agent.DefaultProfile, nil // the agent was deleted while it worked
	}
	return r.store.AgentRevision(ctx, r.sc, *r.o.AgentID, *r.o.AgentRevisionID)
}

// conversation is what the model is told of what was said. An empty answer is left
// out: providers refuse one.
func conversation(ms []store.Message) []turn.Message {
	var out []turn.Message
	for _, m := range ms {
		if m.Role == turn.Assistant && m.Content == "" && len(m.ToolCalls) == 0 {
			continue
		}
		out = append(out, m.Message)
	}
	return out
}
