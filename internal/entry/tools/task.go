package tools

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// maxCreated is how many tasks one run may create: an agent that wants more has
// lost its way, and each of them may cost money.
const maxCreated = 20

var taskTools = []tool{
	{
		name:    "create_task",
		mutates: true,
		about:   "Create a task for later or for another agent. It becomes a subtask of yours. It waits in the backlog unless start is true.",
		schema: `{"type": "object", "additionalProperties": false, "required": ["instruction"], "properties": {
			"instruction": {"type": "string", "minLength": 1, "maxLength": 100000, "description": "All that whoever takes it must know: they see nothing of this conversation"},
			"name": {"type": "string", "maxLength": 200},
			"priority": {"enum": ["none", "urgent", "high", "normal", "low"]},
			"assigneeAgent": {"type": "string", "description": "Slug of the agent; the default one when left out"},
			"start": {"type": "boolean", "description": "Run it now"}}}`,
		run: typed(createTask),
	},
	{
		name:  "list_tasks",
		about: "List tasks, the newest first: identifier, status, name.",
		schema: `{"type": "object", "additionalProperties": false, "properties": {
			"status": {"enum": ["backlog", "scheduled", "running", "paused", "completed", "failed", "canceled"]},
			"query": {"type": "string", "description": "Words in the name or the instruction"},
			"subtasks": {"type": "boolean", "description": "Only those of your own task"},
			"limit": {"type": "integer", "minimum": 1, "maximum": 100}}}`,
		run: typed(listTasks),
	},
	{
		name:  "view_task",
		about: "Look at a task: what it asks, where it stands, what its last runs left, its comments.",
		schema: `{"type": "object", "additionalProperties": false, "required": ["task"], "properties": {
			"task": {"type": "string", "description": "Identifier like T-12, or id"}}}`,
		run: typed(viewTask),
	},
	{
		name:    "comment_task",
		mutates: true,
		about:   "Write a comment under a task; under your own when none is named. People read it there.",
		schema: `{"type": "object", "additionalProperties": false, "required": ["content"], "properties": {
			"task": {"type": "string", "description": "Identifier like T-12, or id"},
			"content": {"type": "string", "minLength": 1, "maxLength": 20000}}}`,
		run: typed(commentTask),
	},
	{
		name:    "request_completion",
		mutates: true,
		about:   "Say that your whole task is done for good, not just this run: nothing is left to watch or to do. It is applied when this run ends; a person may have to approve.",
		schema: `{"type": "object", "additionalProperties": false, "required": ["summary"], "properties": {
			"summary": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "Why it is done"}}}`,
		run: typed(requestCompletion),
	},
	{
		name:  "request_checkpoint",
		about: "Ask that a person looks at your task before it runs again. It is applied when this run ends.",
		schema: `{"type": "object", "additionalProperties": false, "required": ["reason"], "properties": {
			"reason": {"type": "string", "minLength": 1, "maxLength": 2000}}}`,
		run: typed(func(ctx context.Context, c call, a struct{ Reason string }) (string, error) {
			w := c.Operation.Wishes
			w.Checkpoint, w.CheckpointWhy = true, a.Reason
			return "Noted. The task pauses for a person when this run ends.", c.tx.SetWishes(ctx, c.Scope, c.Operation.ID, w)
		}),
	},
}

type createArgs struct {
	Instruction, Name, Priority, AssigneeAgent string
	Start                                      bool
}

func createTask(ctx context.Context, c call, a createArgs) (string, error) {
	n, err := c.tx.CountCreatedBy(ctx, c.Scope, c.Operation.ID)
	if err != nil {
		return "", err
	}
	if n >= maxCreated {
		return "", errs.New(errs.Invalid, "invalid", "This run has created %d tasks; that is the most it may.", n)
	}
	t, err := c.steer.CreateTaskIn(ctx, c.tx, c.caller(), steer.NewTask{
		Instruction: a.Instruction, Name: a.Name, Priority: task.Priority(a.Priority), AssigneeAgent: a.AssigneeAgent,
		Parent: c.Operation.TaskID, ByOperation: c.Operation.ID,
	})
	if err != nil {
		return "", err
	}
	if !a.Start {
		return fmt.Sprintf("Created %s “%s”. It waits in the backlog.", t.Identifier, t.Name), nil
	}
	// The gate is asked under the new task's own lock, by a job: this transaction
	// holds ours.
	key := "created:" + c.Key
	ticks := []store.Tick{{
		WorkspaceID: t.WorkspaceID, TaskID: t.ID, FireAt: t.CreatedAt, RequestKey: &key, Origin: topic.Manual, State: topic.TickPending,
		AutomationRevision: t.AutomationRevision, ActorKind: c.Agent.Kind, ActorID: &c.Agent.ID,
	}}
	if _, err := c.tx.RequestTicks(ctx, ticks); err != nil {
		return "", err
	}
	if err := c.tx.PostJobs(ctx, store.TickOf(ticks[0])); err != nil {
		return "", err
	}
	return fmt.Sprintf("Created %s “%s”. It starts now.", t.Identifier, t.Name), nil
}

type listArgs struct {
	Status, Query string
	Subtasks      bool
	Limit         int
}

func listTasks(ctx context.Context, c call, a listArgs) (string, error) {
	f := store.TaskFilter{Query: a.Query}
	if a.Status != "" {
		f.Statuses = []string{a.Status}
	}
	if a.Subtasks {
		f.Parent = c.Operation.TaskID
	}
	ts, next, err := c.tx.Tasks(ctx, c.Scope, f, store.Page{Limit: max(a.Limit, 0)})
	if err != nil {
		return "", err
	}
	if len(ts) == 0 {
		return "No tasks.", nil
	}
	var b strings.Builder
	for _, t := range ts {
		fmt.Fprintf(&b, "- %s %s (%s): %s\n", t.Identifier, t.Status, t.StatusReason, t.Name)
	}
	if next != "" {
		b.WriteString("There are more.\n")
	}
	return b.String(), nil
}

func viewTask(ctx context.Context, c call, a struct{ Task string }) (string, error) {
	id, err := c.tx.TaskID(ctx, c.Scope, a.Task)
	if err != nil {
		return "", err
	}
	t, err := c.tx.Task(ctx, c.Scope, id)
	if err != nil {
		return "", err
	}
	if t.DeletedAt != nil {
		return "", errs.Missing("task", a.Task)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\nstatus %s (%s), priority %s, %d runs\n", t.Identifier, t.Name, t.Status, t.StatusReason, t.Priority, t.TotalTopics)
	if t.NextFireAt != nil {
		fmt.Fprintf(&b, "next run %s\n", t.NextFireAt.UTC().Format(time.RFC3339))
	}
	if t.Error != nil {
		fmt.Fprintf(&b, "error: %s\n", *t.Error)
	}
	fmt.Fprintf(&b, "\nInstruction:\n%s\n", t.Instruction)
	runs, err := c.tx.LastHandoffs(ctx, c.Scope, t.ID, c.Operation.TopicID, 3)
	if err != nil {
		return "", err
	}
	for _, r := range runs {
		fmt.Fprintf(&b, "\nRun %d (%s): %s\n%s\n", r.Seq, r.Status, r.Handoff.Title, r.Handoff.Markdown())
	}
	comments, _, err := c.tx.Comments(ctx, c.Scope, t.ID, store.Page{Limit: 10})
	if err != nil {
		return "", err
	}
	for i := len(comments) - 1; i >= 0; i-- {
		fmt.Fprintf(&b, "\nComment by a %s, %s: %s\n", comments[i].AuthorKind, comments[i].CreatedAt.UTC().Format("2006-01-02 15:04"), comments[i].Content)
	}
	return b.String(), nil
}

func commentTask(ctx context.Context, c call, a struct{ Task, Content string }) (string, error) {
	id := c.Operation.TaskID
	if a.Task != "" {
		var err error
		if id, err = c.tx.TaskID(ctx, c.Scope, a.Task); err != nil {
			return "", err
		}
	}
	topicID := c.Operation.TopicID
	comment := store.Comment{TaskID: id, AuthorKind: c.Agent.Kind, Content: a.Content, TopicID: &topicID}
	if c.Agent.ID != "" {
		comment.AuthorID = &c.Agent.ID
	}
	if _, err := c.tx.AddComment(ctx, c.Scope, comment); err != nil {
		return "", err
	}
	return "The comment is written.", nil
}

func requestCompletion(ctx context.Context, c call, a struct{ Summary string }) (string, error) {
	w := c.Operation.Wishes
	w.Complete, w.CompleteWhy = true, a.Summary
	return "Noted. It is applied when this run ends; finish with your report.", c.tx.SetWishes(ctx, c.Scope, c.Operation.ID, w)
}

var timeTools = []tool{{
	name:  "current_time",
	polls: true,
	about: "The time now, in UTC and in a time zone of your choice.",
	schema: `{"type": "object", "additionalProperties": false, "properties": {
		"timezone": {"type": "string", "description": "IANA name like Europe/Berlin"}}}`,
	run: typed(func(ctx context.Context, c call, a struct{ Timezone string }) (string, error) {
		now, err := c.tx.Clock(ctx)
		if err != nil {
			return "", err
		}
		text := now.UTC().Format("Monday, 2006-01-02T15:04:05Z")
		if a.Timezone == "" {
			return text, nil
		}
		loc, name, err := schedule.Zone(a.Timezone)
		if err != nil {
			return "", err
		}
		return text + "; " + now.In(loc).Format("Monday, 2006-01-02T15:04:05-07:00") + " in " + name, nil
	}),
}}
