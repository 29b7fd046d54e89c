package task

import (
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/access"
)

// CronJob says what a task does that stands for a cron job of its agent. Such a task
// is on a schedule and stands apart from the lists; all else that holds for tasks
// holds for it: the gate, the ledger, the policies, its pauses and its history.
type CronJob string

const (
	NoCronJob    CronJob = ""
	CronPrompt   CronJob = "prompt"   // each of its times runs the task itself
	CronTemplate CronJob = "template" // each of its times makes a task after it
)

// Makes reports whether a time of the task makes another one instead of a run.
func (t Task) Makes() bool { return t.CronJob == CronTemplate }

// Made returns the task that a template makes at an instant: work of the same kind for
// the same agent, due at once. It is the agent's own, so nobody has to accept it unless
// the template says so. One that waits for a person before its first run is not due.
func (t Task) Made(agentID string, at time.Time) Task {
	made := Task{
		Name: t.Name, Description: t.Description, Instruction: t.Instruction, InstructionRich: t.InstructionRich, Priority: t.Priority,
		Labels: t.Labels, AssigneeAgentID: &agentID, AssigneeUserID: t.AssigneeUserID, Config: t.Config, MaxTopics: t.MaxTopics,
		CreatedBy: access.Actor{Kind: access.Agent, ID: agentID},
	}
	if t.MadeName != "" {
		made.Name = t.MadeName
	}
	if cp := t.Config.Checkpoint; cp != nil && cp.Before {
		made.Status, made.StatusReason = Paused, string(CheckpointBefore)
		return made
	}
	made.Status, made.StatusReason = Scheduled, string(Armed)
	made.StartAt, made.ArmedAt, made.NextPlannedAt, made.NextFireAt = &at, &at, &at, &at
	return made
}

// Enabled reports whether a cron job goes on by itself.
func (t Task) Enabled() bool { return t.Status == Scheduled || t.Status == Running }

// RunsLeft is how many of its runs a schedule has left; nil when it has no limit.
func (t Task) RunsLeft() *int {
	if t.Automation == nil || t.Automation.MaxExecutions == 0 {
		return nil
	}
	left := max(t.Automation.MaxExecutions-t.Executions, 0)
	return &left
}
