package httpapi

import (
	"context"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/domain/handoff"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
	"github.com/dogwatch/dogwatch/internal/domain/turn"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// Topic is one run of a task.
type Topic struct {
	ID            string         `json:"id"`
	Task          string         `json:"task" doc:"T-12"`
	TaskID        string         `json:"taskId"`
	TickID        string         `json:"tickId"`
	Seq           int            `json:"seq"`
	Origin        topic.Origin   `json:"origin"`
	Status        topic.Status   `json:"status" enum:"running,completed,failed,timeout,canceled"`
	Reason        *string        `json:"reason"`
	ReasonDetail  *string        `json:"reasonDetail"`
	Error         *string        `json:"error"`
	WaitingFor    *string        `json:"waitingFor" enum:"human,tool,device"`
	Title         string         `json:"title"`
	Handoff       Maybe[Handoff] `json:"handoff" doc:"null until it is written"`
	HandoffSource *string        `json:"handoffSource" enum:"model,fallback"`
	Operations    []Operation    `json:"operations" doc:"The last one counts"`
	Continues     *string        `json:"continues" doc:"The topic that it goes on from"`
	Documents     []DocumentRef  `json:"documents" doc:"What it wrote, with the topic itself"`
	FinalText     *string        `json:"finalText" doc:"The agent's last word, at most 20,000 characters of it; all of it is in the conversation"`
	CostUSD       *budget.USD    `json:"costUsd" nullable:"true" doc:"null: not known"`
	StartedAt     Time           `json:"startedAt"`
	CompletedAt   *Time          `json:"completedAt" nullable:"true"`
}

// Handoff is what a run leaves for the next.
type Handoff struct {
	Title       string   `json:"title"`
	Summary     string   `json:"summary"`
	KeyFindings []string `json:"keyFindings"`
	NextAction  string   `json:"nextAction"`
	Unfinished  string   `json:"unfinished,omitempty"`
}

// DocumentRef points at a document.
type DocumentRef struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

func topicOf(names names, ops []store.Operation) func(topic.Topic) Topic {
	return func(t topic.Topic) Topic {
		out := Topic{
			ID: t.ID, Task: names.task(t.TaskID), TaskID: t.TaskID, TickID: t.TickID, Seq: t.Seq, Origin: t.Origin, Status: t.Status,
			Reason: textOrNull(t.Reason), ReasonDetail: textOrNull(t.ReasonDetail), Error: t.Error, Title: t.Title,
			HandoffSource: textOrNull(t.HandoffSource), Operations: []Operation{}, Continues: t.ContinuesTopicID, Documents: []DocumentRef{},
			FinalText: t.FinalText, CostUSD: t.CostUSD, StartedAt: Time{t.StartedAt}, CompletedAt: timeOf(t.CompletedAt),
		}
		if h := t.Handoff; h != nil {
			out.Handoff = maybe(handoffOf(*h))
		}
		for _, o := range ops {
			if o.TopicID == t.ID {
				out.Operations = append(out.Operations, operationOf(names)(o))
				out.WaitingFor = waitingFor(o.Status)
			}
		}
		if t.CostUSD == nil && t.Status == topic.Running && len(out.Operations) > 0 {
			out.CostUSD = budget.Sum(each(out.Operations, func(o Operation) *budget.USD { return o.CostUSD })...)
		}
		return out
	}
}

func handoffOf(h handoff.Handoff) *Handoff {
	return &Handoff{h.Title, h.Summary, orNone(h.KeyFindings), h.NextAction, h.Unfinished}
}

func waitingFor(s operation.Status) *string {
	switch s {
	case operation.WaitingForHuman:
		return textOrNull("human")
	case operation.WaitingForAsyncTool:
		return textOrNull("tool")
	}
	return nil
}

// Conversation is what was said in a run.
type Conversation struct {
	Messages []Message `json:"messages"`
}

// Message is one message of a conversation.
type Message struct {
	ID          string            `json:"id"`
	ParentID    *string           `json:"parentId"`
	OperationID *string           `json:"operationId"`
	StepSeq     *int              `json:"stepSeq"`
	Role        turn.Role         `json:"role" enum:"system,user,assistant,tool"`
	Content     string            `json:"content"`
	Reasoning   *string           `json:"reasoning"`
	ToolCalls   []MessageToolCall `json:"toolCalls"`
	ToolCallID  *string           `json:"toolCallId"`
	IsError     bool              `json:"isError"`
	Model       *string           `json:"model"`
	AgentID     *string           `json:"agentId"`
	CreatedAt   Time              `json:"createdAt"`
}

// MessageToolCall is a call that a model asked for.
type MessageToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func messageOf(m store.Message) Message {
	seq := m.StepSeq
	return Message{
		ID: m.ID, ParentID: m.ParentID, OperationID: m.OperationID, StepSeq: &seq, Role: m.Role, Content: m.Content,
		Reasoning: textOrNull(m.Reasoning), ToolCallID: textOrNull(m.ToolCallID), IsError: m.IsError, Model: textOrNull(m.Model),
		AgentID: m.AgentID, CreatedAt: Time{m.CreatedAt},
		ToolCalls: each(m.ToolCalls, func(c turn.ToolCall) MessageToolCall { return MessageToolCall{c.ID, c.Name, c.Arguments} }),
	}
}

type topicOut struct{ Body Topic }

type conversationOut struct{ Body Conversation }

type taskPageIn struct {
	ByTask
	Paging
}

func (s *Server) topicRoutes() {
	add(s, route{method: "GET", path: "/tasks/{task}/topics", name: "listTopics", noun: "topics", role: access.Viewer, does: "The runs of a task, the newest first"},
		func(ctx context.Context, in *taskPageIn) (*listOut[Topic], error) {
			p, err := s.page(ctx, in.Paging)
			if err != nil {
				return nil, err
			}
			sc := caller(ctx).Scope
			taskID, err := s.Store.TaskID(ctx, sc, in.Task)
			if err != nil {
				return nil, err
			}
			items, next, err := s.Store.Topics(ctx, sc, taskID, p)
			if err != nil {
				return nil, err
			}
			f, err := s.topicWords(ctx, items)
			return listed(ctx, s, items, next, f), err
		})
	add(s, route{method: "GET", path: "/topics/{id}", name: "getTopic", noun: "topics", role: access.Viewer, does: "One run of a task"},
		func(ctx context.Context, in *ByID) (*topicOut, error) { return s.topic(ctx, in.ID) })
	add(s, route{method: "GET", path: "/topics/{id}/conversation", name: "getConversation", noun: "topics", role: access.Viewer, does: "What was said in a run"},
		func(ctx context.Context, in *ByID) (*conversationOut, error) {
			sc := caller(ctx).Scope
			t, err := s.Store.Topic(ctx, sc, in.ID)
			if err != nil {
				return nil, err
			}
			ms, err := s.Store.TopicMessages(ctx, sc, t.ID)
			return &conversationOut{Conversation{each(ms, messageOf)}}, err
		})
	add(s, route{method: "POST", path: "/topics/{id}/cancel", name: "cancelTopic", noun: "topics", role: access.Operator, once: true, does: "Stop a run"},
		func(ctx context.Context, in *struct {
			ByID
			NoteIn
		}) (*topicOut, error) {
			if _, err := s.Steer.CancelTopic(ctx, caller(ctx), in.ID); err != nil {
				return nil, err
			}
			return s.topic(ctx, in.ID)
		})
}

// topicWords reads what belongs to topics besides themselves.
func (s *Server) topicWords(ctx context.Context, items []topic.Topic) (func(topic.Topic) Topic, error) {
	ops, err := s.Store.OperationsOfTopics(ctx, caller(ctx).Scope, each(items, func(t topic.Topic) string { return t.ID }))
	if err != nil {
		return nil, err
	}
	names, err := s.names(ctx, each(items, func(t topic.Topic) string { return t.TaskID }))
	return topicOf(names, ops), err
}

func (s *Server) topic(ctx context.Context, topicID string) (*topicOut, error) {
	sc := caller(ctx).Scope
	t, err := s.Store.Topic(ctx, sc, topicID)
	if err != nil {
		return nil, err
	}
	f, err := s.topicWords(ctx, []topic.Topic{t})
	if err != nil {
		return nil, err
	}
	out := &topicOut{f(t)}
	docs, err := s.Store.DocumentsWrittenBy(ctx, sc, t.ID)
	out.Body.Documents = each(docs, func(d store.Document) DocumentRef { return DocumentRef{d.ID, d.Title} })
	return out, err
}
