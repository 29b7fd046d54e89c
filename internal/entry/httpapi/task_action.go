package httpapi

import (
	"context"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/flow/launch"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

type runIn struct {
	ByTask
	Body *struct {
		Note          string  `json:"note,omitempty" maxLength:"20000" doc:"For the agent, at the top of its prompt"`
		ContinueTopic *string `json:"continueTopic,omitempty" format:"uuid" doc:"The run to go on from"`
	}
}

// Run is a run that was started, or that waits for the open one.
type Run struct {
	TickID        string        `json:"tickId"`
	TopicID       *string       `json:"topicId,omitempty"`
	OperationID   *string       `json:"operationId,omitempty"`
	MadeTaskID    *string       `json:"madeTaskId,omitempty" doc:"Of a template: the task that it made, which runs next"`
	SkippedChecks []task.Reason `json:"skippedChecks" doc:"What the schedule would have said against it"`
	Queued        bool          `json:"queued,omitempty" doc:"It runs when the open run has ended"`
}

type runOut struct{ Body Run }

type pauseIn struct {
	ByTask
	Body *struct {
		Interrupt bool   `json:"interrupt,omitempty" doc:"Also stop the open run"`
		Note      string `json:"note,omitempty" maxLength:"2000" doc:"Why, for others"`
	}
}

type resumeIn struct {
	ByTask
	Body *struct {
		CatchUp bool `json:"catchUp,omitempty" doc:"Run once now for the times that passed"`
	}
}

type taskNoteIn struct {
	ByTask
	NoteIn
}

// Why is the gate's answer about the present.
type Why struct {
	Status       task.Status `json:"status"`
	StatusReason string      `json:"statusReason"`
	Checks       []WhyCheck  `json:"checks" doc:"In their order: the first that is not ok decides"`
	Outcome      string      `json:"outcome" doc:"What would become of the next fire: run, or the reason of its refusal"`
	Detail       string      `json:"detail" doc:"The refusal in words"`
	NextRunAt    *Time       `json:"nextRunAt" nullable:"true" doc:"null: time alone does not start it"`
	NextRunWhy   *string     `json:"nextRunWhy" doc:"Why then, where it is not simply the schedule's"`
	Backfill     *Backfill   `json:"backfill,omitempty" doc:"The backfill that is under way"`
}

// WhyCheck is the answer to one question of the gate.
type WhyCheck struct {
	Check  task.Reason `json:"check"`
	OK     bool        `json:"ok"`
	Detail string      `json:"detail,omitempty"`
}

type whyOut struct{ Body Why }

// TaskMove is a change of a task's status.
type TaskMove struct {
	ID     string      `json:"id"`
	From   *string     `json:"from" doc:"null for the first"`
	To     task.Status `json:"to"`
	Reason string      `json:"reason"`
	Actor  Actor       `json:"actor"`
	Note   *string     `json:"note"`
	At     Time        `json:"at"`
}

func (s *Server) taskActionRoutes() {
	add(s, route{method: "POST", path: "/tasks/{task}/run", name: "runTask", noun: "tasks", role: access.Operator, status: 202, once: true, does: "Run a task now"}, s.runTask)
	add(s, route{method: "POST", path: "/tasks/{task}/pause", name: "pauseTask", noun: "tasks", role: access.Operator, once: true, does: "Pause a task; an open run goes on to its end"},
		func(ctx context.Context, in *pauseIn) (*taskOut, error) {
			b := deref(in.Body)
			t, err := s.Steer.PauseTask(ctx, caller(ctx), in.Task, b.Interrupt, b.Note)
			return s.taskAnswer(ctx, t, err)
		})
	add(s, route{method: "POST", path: "/tasks/{task}/resume", name: "resumeTask", noun: "tasks", role: access.Operator, once: true, does: "Take a paused task up again"},
		func(ctx context.Context, in *resumeIn) (*taskOut, error) {
			t, err := s.Steer.ResumeTask(ctx, caller(ctx), in.Task, deref(in.Body).CatchUp)
			return s.taskAnswer(ctx, t, err)
		})
	add(s, route{method: "POST", path: "/tasks/{task}/cancel", name: "cancelTask", noun: "tasks", role: access.Operator, once: true, does: "End a task and stop its run"},
		func(ctx context.Context, in *taskNoteIn) (*taskOut, error) {
			t, err := s.Steer.CancelTask(ctx, caller(ctx), in.Task, in.note())
			return s.taskAnswer(ctx, t, err)
		})
	for _, a := range []struct {
		verb, does string
		do         func(ctx context.Context, c access.Caller, ref string) (task.Task, error)
	}{
		{"complete", "Mark a task as done", s.Steer.CompleteTask},
		{"reopen", "Take an ended task up again", s.Steer.ReopenTask},
		{"restore", "Bring a deleted task back", s.Steer.RestoreTask},
	} {
		add(s, route{method: "POST", path: "/tasks/{task}/" + a.verb, name: a.verb + "Task", noun: "tasks", role: access.Operator, once: true, does: a.does},
			func(ctx context.Context, in *taskNoteIn) (*taskOut, error) {
				t, err := a.do(ctx, caller(ctx), in.Task)
				return s.taskAnswer(ctx, t, err)
			})
	}
	add(s, route{method: "GET", path: "/tasks/{task}/why", name: "whyTask", noun: "tasks", role: access.Viewer, does: "Why a task runs or does not"}, s.why)
	add(s, route{method: "GET", path: "/tasks/{task}/moves", name: "listMoves", noun: "tasks", role: access.Viewer, does: "What became of a task's status, by whom and why"}, s.moves)
}

func (s *Server) runTask(ctx context.Context, in *runIn) (*runOut, error) {
	b := deref(in.Body)
	started, err := s.Launch.RunTask(ctx, caller(ctx), in.Task, launch.Request{Note: b.Note, ContinueTopic: b.ContinueTopic})
	if err != nil {
		return nil, err
	}
	return &runOut{Run{
		started.TickID, textOrNull(started.TopicID), textOrNull(started.OperationID), textOrNull(started.MadeTaskID), orNone(started.SkippedChecks), started.Queued,
	}}, nil
}

func (s *Server) why(ctx context.Context, in *ByTask) (*whyOut, error) {
	e, err := s.Launch.Why(ctx, caller(ctx), in.Task)
	if err != nil {
		return nil, err
	}
	out := Why{
		Status: e.Task.Status, StatusReason: e.Task.StatusReason, Outcome: "run", Detail: e.Verdict.Detail, NextRunAt: timeOf(e.NextRunAt),
		NextRunWhy: textOrNull(e.Task.NextWhy), Backfill: backfillOf(e.Backfill),
		Checks: each(e.Checks, func(c task.CheckResult) WhyCheck { return WhyCheck{c.Check, c.OK, c.Detail} }),
	}
	if !e.Verdict.OK() {
		out.Outcome = string(e.Verdict.Reason)
	}
	return &whyOut{out}, nil
}

func (s *Server) moves(ctx context.Context, in *taskPageIn) (*listOut[TaskMove], error) {
	p, err := s.page(ctx, in.Paging)
	if err != nil {
		return nil, err
	}
	c := caller(ctx)
	taskID, err := s.Store.TaskID(ctx, c.Scope, in.Task)
	if err != nil {
		return nil, err
	}
	items, next, err := s.Store.Moves(ctx, c.Scope, taskID, p)
	if err != nil {
		return nil, err
	}
	out := listed(ctx, s, items, next, func(m store.Move) TaskMove {
		return TaskMove{m.ID, m.From, m.To, m.Reason, actorOf(m.Actor), m.Note, Time{m.At}}
	})
	return out, named(ctx, s, out.Body.Items, func(m *TaskMove) *Actor { return &m.Actor })
}
