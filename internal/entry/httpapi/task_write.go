package httpapi

import (
	"context"
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
)

// TaskCreate is what a task is made of.
type TaskCreate struct {
	Instruction     string            `json:"instruction" minLength:"1" maxLength:"100000" doc:"What it is to do, run after run"`
	InstructionRich json.RawMessage   `json:"instructionRich,omitempty" doc:"The editor's document"`
	Name            string            `json:"name,omitempty" maxLength:"200" doc:"Default: from the instruction"`
	Description     string            `json:"description,omitempty" maxLength:"20000" doc:"For people: why it is there"`
	Priority        string            `json:"priority,omitempty" enum:"none,urgent,high,normal,low" doc:"Who goes first of what is due at once; default none"`
	Parent          *string           `json:"parent,omitempty" maxLength:"100" doc:"A task that it is part of"`
	AssigneeAgent   Maybe[string]     `json:"assigneeAgent,omitzero" maxLength:"100" doc:"Its id or slug; absent: the default agent; null: no agent runs it"`
	AssigneeUser    *string           `json:"assigneeUser,omitempty" maxLength:"100" doc:"A person's id, or me"`
	DependsOn       []DependsOn       `json:"dependsOn,omitempty" maxItems:"100" doc:"Tasks that it waits for"`
	Automation      Maybe[Automation] `json:"automation,omitzero" doc:"When it runs by itself; absent or null: it does not"`
	StartAt         *Time             `json:"startAt,omitempty" doc:"Run it once, then"`
	MaxTopics       *int              `json:"maxTopics,omitempty" minimum:"1" doc:"Runs after which it is completed; absent: no limit"`
	Labels          []string          `json:"labels,omitempty" maxItems:"20" doc:"At most 20, of up to 50 characters each"`
	Files           []string          `json:"files,omitempty" maxItems:"100" doc:"Ids of uploaded files"`
	Documents       []string          `json:"documents,omitempty" maxItems:"100" doc:"Ids of documents to pin at once"`
	Config          *TaskConfig       `json:"config,omitempty" doc:"Model, acceptance, checkpoints, budgets and the like"`
	Start           bool              `json:"start,omitempty" doc:"Run it now"`
}

// DependsOn names a task to wait for: alone, or with how.
type DependsOn struct {
	Task      string `json:"task" maxLength:"100" doc:"Its id, or its identifier in any case: T-12"`
	Type      string `json:"type,omitempty" enum:"blocks,relates" doc:"blocks (default) holds it up, relates only says so"`
	Condition string `json:"condition,omitempty" enum:"done,success,failure,finished" doc:"Of blocks, how the other has to end: done (default), success, failure or finished"`
}

type dependsOn DependsOn // without the methods

// UnmarshalJSON reads either form.
func (d *DependsOn) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &d.Task)
	}
	return json.Unmarshal(b, (*dependsOn)(d))
}

// Schema allows either form.
func (DependsOn) Schema(r huma.Registry) *huma.Schema {
	longest := 100
	return &huma.Schema{OneOf: []*huma.Schema{
		{Type: huma.TypeString, MaxLength: &longest, Description: "A task"},
		r.Schema(typeOf[dependsOn](), false, "DependsOn"),
	}}
}

// TaskPatch is a JSON merge patch of a task.
type TaskPatch struct {
	Instruction     Maybe[string]                 `json:"instruction,omitzero" minLength:"1" maxLength:"100000" doc:"What it is to do, run after run"`
	InstructionRich json.RawMessage               `json:"instructionRich,omitempty" doc:"The editor's document"`
	Name            Maybe[string]                 `json:"name,omitzero" maxLength:"200" doc:"null: from the instruction"`
	Description     Maybe[string]                 `json:"description,omitzero" maxLength:"20000" doc:"For people: why it is there; null: nothing"`
	Priority        Maybe[string]                 `json:"priority,omitzero" enum:"none,urgent,high,normal,low" doc:"Who goes first of what is due at once"`
	Parent          Maybe[string]                 `json:"parent,omitzero" maxLength:"100" doc:"A task that it is part of; null: at the top"`
	AssigneeAgent   Maybe[string]                 `json:"assigneeAgent,omitzero" maxLength:"100" doc:"null: no agent runs it"`
	AssigneeUser    Maybe[string]                 `json:"assigneeUser,omitzero" maxLength:"100" doc:"A person's id, or me; null: nobody"`
	Automation      Maybe[rawAs[AutomationPatch]] `json:"automation,omitzero" doc:"With mode: in place of the old one. Without: what it names is changed"`
	StartAt         Maybe[Time]                   `json:"startAt,omitzero" doc:"Run it once, then; null: not"`
	MaxTopics       Maybe[int]                    `json:"maxTopics,omitzero" minimum:"1" doc:"Runs after which it is completed; null: no limit"`
	Labels          *[]string                     `json:"labels,omitempty" maxItems:"20" doc:"In place of all there were: at most 20, of up to 50 characters each"`
	Config          Maybe[rawAs[TaskConfig]]      `json:"config,omitzero" doc:"What it names is changed; null: all defaults"`
	Version         *int64                        `json:"version,omitempty" doc:"The version that was read; a newer one is refused as stale"`
}

// AutomationPatch is an automation of which any part may be absent.
type AutomationPatch struct {
	Mode string `json:"mode,omitempty" doc:"heartbeat, schedule or every: in place of the old automation. Absent: what is named changes"`
	Automation
}

func (s *Server) createTask(ctx context.Context, in *struct{ Body TaskCreate }) (*taskOut, error) {
	b := in.Body
	want := steer.NewTask{
		Instruction: b.Instruction, InstructionRich: b.InstructionRich, Name: b.Name, Description: b.Description, Priority: task.Priority(b.Priority),
		Parent: deref(b.Parent), AssigneeAgent: deref(b.AssigneeAgent.V), NoAgent: b.AssigneeAgent.isNull(),
		StartAt: b.StartAt.std(), MaxTopics: b.MaxTopics, Labels: b.Labels, Files: b.Files, Documents: b.Documents, Start: b.Start,
		DependsOn: each(b.DependsOn, func(d DependsOn) steer.NewDependency { return steer.NewDependency(d) }),
	}
	if b.Automation.V != nil {
		a := b.Automation.V.domain()
		want.Automation = &a
	}
	var err error
	if b.Config != nil {
		if want.Config, err = b.Config.domain(); err != nil {
			return nil, err
		}
	}
	if want.AssigneeUser, err = s.member(ctx, b.AssigneeUser); err != nil {
		return nil, err
	}
	t, err := s.Steer.CreateTask(ctx, caller(ctx), want)
	return s.taskAnswer(ctx, t, err)
}

// member returns the id of a person of the workspace that a task is given to.
func (s *Server) member(ctx context.Context, ref *string) (*string, error) {
	if ref == nil {
		return nil, nil
	}
	c := caller(ctx)
	if *ref == "me" {
		return &c.PersonID, nil
	}
	ok := id.Valid(*ref)
	var err error
	if ok {
		ok, err = s.Store.IsMember(ctx, c.Scope, *ref)
	}
	if err == nil && !ok {
		err = errs.BadField("body.assigneeUser", "invalid", *ref, "There is no such person in this workspace.")
	}
	return ref, err
}

// patchTries is how often a patch of what is inside a field is tried again when
// somebody else changed the task in between.
const patchTries = 3

func (s *Server) editTask(ctx context.Context, in *struct {
	ByTask
	IfMatch string `header:"If-Match" doc:"The ETag that was read; a newer version is refused as stale"`
	Body    TaskPatch
}) (*taskOut, error) {
	b, c := in.Body, caller(ctx)
	if err := notNull("instruction", b.Instruction, "priority", b.Priority); err != nil {
		return nil, err
	}
	version := expected(in.IfMatch, b.Version)
	patch := steer.TaskPatch{
		Name: orCleared(b.Name), Description: orCleared(b.Description), Instruction: b.Instruction.V, Labels: b.Labels,
		Parent: b.Parent.pointer(), AssigneeAgent: b.AssigneeAgent.pointer(), MaxTopics: b.MaxTopics.pointer(),
	}
	if b.Priority.V != nil {
		p := task.Priority(*b.Priority.V)
		patch.Priority = &p
	}
	if b.InstructionRich != nil {
		patch.InstructionRich = &b.InstructionRich
	}
	if b.StartAt.Set {
		at := b.StartAt.V.std()
		patch.StartAt = &at
	}
	if b.AssigneeUser.Set {
		user, err := s.member(ctx, b.AssigneeUser.V)
		if err != nil {
			return nil, err
		}
		patch.AssigneeUser = &user
	}
	if !b.Automation.Set && !b.Config.Set {
		t, err := s.Steer.EditTask(ctx, c, in.Task, version, patch)
		return s.taskAnswer(ctx, t, err)
	}
	for try := 1; ; try++ {
		read, err := s.mergeTask(ctx, in.Task, b, &patch)
		if err != nil {
			return nil, err
		}
		v := version
		if v == nil {
			v = &read
		}
		t, err := s.Steer.EditTask(ctx, c, in.Task, v, patch)
		if version == nil && errs.KindOf(err) == errs.Stale && try < patchTries {
			continue
		}
		return s.taskAnswer(ctx, t, err)
	}
}

// mergeTask works out what automation and config become, from what they are now.
// It returns the version that this is true of.
func (s *Server) mergeTask(ctx context.Context, ref string, b TaskPatch, patch *steer.TaskPatch) (int64, error) {
	c := caller(ctx)
	taskID, err := s.Store.TaskID(ctx, c.Scope, ref)
	if err != nil {
		return 0, err
	}
	t, err := s.Store.Task(ctx, c.Scope, taskID)
	if err != nil {
		return 0, err
	}
	if b.Config.Set {
		now := configOf(t.Config)
		if b.Config.V == nil {
			now = TaskConfig{}
		} else if err := mergeInto(&now, b.Config.V.json); err != nil {
			return 0, err
		}
		cfg, err := now.domain()
		if err != nil {
			return 0, err
		}
		patch.Config = &cfg
	}
	if b.Automation.Set {
		var to *schedule.Automation
		if b.Automation.V != nil {
			a, err := mergeAutomation(t, b.Automation.V.json)
			if err != nil {
				return 0, err
			}
			to = &a
		}
		patch.Automation = &to
	}
	return t.Version, nil
}

func mergeAutomation(t task.Task, patch json.RawMessage) (schedule.Automation, error) {
	var named struct {
		Mode *string `json:"mode"`
	}
	if err := json.Unmarshal(patch, &named); err != nil {
		return schedule.Automation{}, errs.New(errs.Malformed, "invalid", "The automation cannot be read.")
	}
	var a Automation
	if named.Mode == nil {
		if t.Automation == nil {
			return schedule.Automation{}, errs.BadField("body.automation.mode", "invalid", nil, "%s has no automation yet. Say its mode: heartbeat, schedule or every.", t.Identifier)
		}
		a = automationOf(*t.Automation)
	}
	err := mergeInto(&a, patch)
	return a.domain(), err
}

// orCleared is a text of a patch, of which null makes an empty one.
func orCleared(m Maybe[string]) *string {
	if m.isNull() {
		return new(string)
	}
	return m.V
}
