package httpapi

import (
	"context"
	"strconv"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/domain/turn"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// Operation is one execution of an agent.
type Operation struct {
	ID               string           `json:"id"`
	Task             string           `json:"task" doc:"T-12"`
	TaskID           string           `json:"taskId"`
	TopicID          string           `json:"topicId"`
	Parent           *string          `json:"parent" doc:"The operation that started it"`
	AgentID          *string          `json:"agentId"`
	AgentRevisionID  *string          `json:"agentRevisionId"`
	Try              int              `json:"try"`
	Status           operation.Status `json:"status" enum:"idle,running,waiting_for_human,waiting_for_async_tool,done,error,interrupted"`
	CompletionReason *string          `json:"completionReason"`
	ReasonDetail     *string          `json:"reasonDetail"`
	Error            *string          `json:"error"`
	Model            string           `json:"model"`
	Limits           Limits           `json:"limits"`
	Usage            Usage            `json:"usage"`
	StepCount        int              `json:"stepCount"`
	ModelCalls       int              `json:"modelCalls"`
	ToolCalls        int              `json:"toolCalls"`
	CostUSD          *budget.USD      `json:"costUsd" nullable:"true" doc:"null: not known"`
	BeginAt          *Time            `json:"beginAt" nullable:"true" doc:"Of a further try of a run: it waits until then"`
	CreatedAt        Time             `json:"createdAt"`
	StartedAt        *Time            `json:"startedAt" nullable:"true"`
	CompletedAt      *Time            `json:"completedAt" nullable:"true"`
}

// Limits is what an operation may use; absent is no limit.
type Limits struct {
	Steps   int         `json:"steps,omitempty" doc:"Model calls; 0 or absent: 40"`
	Tokens  int64       `json:"tokens,omitempty" doc:"Input and output together; 0 or absent: 500,000"`
	USD     *budget.USD `json:"usd,omitempty" doc:"Dollars; absent: no limit. Holds for models whose price is known"`
	Seconds int         `json:"seconds,omitempty" doc:"Of the wall clock, from the first step on; 0 or absent: 1800"`
}

func operationOf(names names) func(store.Operation) Operation {
	return func(o store.Operation) Operation {
		return Operation{
			ID: o.ID, Task: names.task(o.TaskID), TaskID: o.TaskID, TopicID: o.TopicID, Parent: o.ParentOperationID,
			AgentID: o.AgentID, AgentRevisionID: o.AgentRevisionID, Try: o.Try, Status: o.Status,
			CompletionReason: textOrNull(o.Reason), ReasonDetail: textOrNull(o.Detail), Error: o.Error, Model: o.Model,
			Limits: Limits{o.Limits.Steps, o.Limits.Tokens, o.Limits.USD, o.Limits.Seconds},
			Usage:  usageOf(o.Usage), StepCount: o.Steps, ModelCalls: o.ModelCalls, ToolCalls: o.ToolCalls, CostUSD: o.CostUSD,
			BeginAt: timeOf(o.BeginAt), CreatedAt: Time{o.CreatedAt}, StartedAt: timeOf(o.StartedAt), CompletedAt: timeOf(o.CompletedAt),
		}
	}
}

// Step is one committed step of an operation.
type Step struct {
	Seq         int         `json:"seq"`
	Kind        string      `json:"kind" enum:"model,tools,finish"`
	Model       *string     `json:"model"`
	StopReason  *string     `json:"stopReason"`
	Text        *string     `json:"text" doc:"What the model wrote"`
	Reasoning   *string     `json:"reasoning"`
	ToolCalls   []ToolCall  `json:"toolCalls"`
	Usage       Usage       `json:"usage"`
	Estimated   bool        `json:"estimated" doc:"The provider reported no usage"`
	CostUSD     *budget.USD `json:"costUsd" nullable:"true"`
	Error       *string     `json:"error"`
	StartedAt   Time        `json:"startedAt"`
	CompletedAt Time        `json:"completedAt"`
}

// ToolCall is a call of a tool.
type ToolCall struct {
	ID         string  `json:"id"`
	Name       string  `json:"name"`
	Arguments  string  `json:"arguments" doc:"JSON, as the model wrote it"`
	State      string  `json:"state" enum:"started,finished,outcome_unknown"`
	Result     *string `json:"result"`
	IsError    bool    `json:"isError"`
	StartedAt  Time    `json:"startedAt"`
	FinishedAt *Time   `json:"finishedAt" nullable:"true"`
}

type operationsIn struct {
	Paging
	Status string `query:"status" enum:"idle,running,waiting_for_human,waiting_for_async_tool,done,error,interrupted" doc:"Of this one"`
	Agent  string `query:"agent" maxLength:"100" doc:"Its id or slug"`
	Task   string `query:"task" maxLength:"100" doc:"Its id or identifier"`
	Parent string `query:"parent" format:"uuid" doc:"Id of the operation that began it"`
}

type operationOut struct{ Body Operation }

type stepsIn struct {
	ByID
	Paging
}

func (s *Server) operationRoutes() {
	add(s, route{method: "GET", path: "/operations", name: "listOperations", noun: "operations", role: access.Viewer, does: "Executions of agents, the newest first"}, s.operations)
	add(s, route{method: "GET", path: "/operations/{id}", name: "getOperation", noun: "operations", role: access.Viewer, does: "One execution of an agent"},
		func(ctx context.Context, in *ByID) (*operationOut, error) { return s.operation(ctx, in.ID) })
	add(s, route{method: "GET", path: "/operations/{id}/steps", name: "listSteps", noun: "operations", role: access.Viewer, does: "The steps of an operation, in their order"}, s.steps)
	add(s, route{method: "POST", path: "/operations/{id}/interrupt", name: "interruptOperation", noun: "operations", role: access.Operator, once: true, does: "Stop an operation"},
		func(ctx context.Context, in *struct {
			ByID
			NoteIn
		}) (*operationOut, error) {
			if _, err := s.Steer.InterruptOperation(ctx, caller(ctx), in.ID); err != nil {
				return nil, err
			}
			return s.operation(ctx, in.ID)
		})
}

func (s *Server) operations(ctx context.Context, in *operationsIn) (*listOut[Operation], error) {
	p, err := s.page(ctx, in.Paging)
	if err != nil {
		return nil, err
	}
	f := store.OperationFilter{Status: in.Status, Parent: in.Parent}
	if f.Task, err = s.taskRef(ctx, in.Task); err != nil {
		return nil, err
	}
	if f.Agent, err = s.agentRef(ctx, in.Agent); err != nil {
		return nil, err
	}
	items, next, err := s.Store.Operations(ctx, caller(ctx).Scope, f, p)
	if err != nil {
		return nil, err
	}
	names, err := s.names(ctx, each(items, func(o store.Operation) string { return o.TaskID }))
	return listed(ctx, s, items, next, operationOf(names)), err
}

func (s *Server) operation(ctx context.Context, operationID string) (*operationOut, error) {
	o, err := s.Store.Operation(ctx, caller(ctx).Scope, operationID)
	if err != nil {
		return nil, err
	}
	names, err := s.names(ctx, []string{o.TaskID})
	return &operationOut{operationOf(names)(o)}, err
}

// steps lists the steps of an operation from the first to the last, as they are
// read.
func (s *Server) steps(ctx context.Context, in *stepsIn) (*listOut[Step], error) {
	sc := caller(ctx).Scope
	o, err := s.Store.Operation(ctx, sc, in.ID)
	if err != nil {
		return nil, err
	}
	steps, err := s.Store.Steps(ctx, sc, o.ID)
	if err != nil {
		return nil, err
	}
	calls, err := s.Store.ToolCalls(ctx, sc, o.ID, 0)
	if err != nil {
		return nil, err
	}
	messages, err := s.Store.OperationMessages(ctx, sc, o.ID)
	if err != nil {
		return nil, err
	}
	key := func(st store.Step) string { return strconv.Itoa(st.Seq) }
	return sliced(ctx, s, in.Paging, steps, key, func(st store.Step) Step {
		out := Step{
			Seq: st.Seq, Kind: st.Kind, Model: st.Model, StopReason: st.StopReason, ToolCalls: []ToolCall{},
			Usage:     Usage{st.InputTokens, st.OutputTokens, st.CacheReadTokens, st.CacheWriteTokens, st.ReasoningTokens},
			Estimated: st.Estimated, CostUSD: st.CostUSD, Error: st.Error, StartedAt: Time{st.StartedAt}, CompletedAt: Time{st.CompletedAt},
		}
		for _, c := range calls {
			if c.StepSeq == st.Seq {
				out.ToolCalls = append(out.ToolCalls, ToolCall{
					c.CallID, c.Name, c.Arguments, c.State, c.Result, c.IsError, Time{c.StartedAt}, timeOf(c.FinishedAt),
				})
			}
		}
		for _, m := range messages {
			if m.StepSeq == st.Seq && m.Role == turn.Assistant {
				out.Text, out.Reasoning = textOrNull(m.Content), textOrNull(m.Reasoning)
			}
		}
		return out
	})
}
