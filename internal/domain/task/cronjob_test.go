package task

import (
	"reflect"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
)

func TestATemplateMakesATaskOfItsKind(t *testing.T) {
	at := time.Date(2026, 6, 1, 7, 0, 0, 0, time.UTC)
	limit := 3
	template := Task{
		ID: "template", Identifier: "T-1", CronJob: CronTemplate, Name: "Nightly", MadeName: "Report", Instruction: "Write the report.",
		Description: "d", Priority: "high", Labels: []string{"reports"}, Config: Config{Model: "a/b", ConcurrencyKey: "crm"}, MaxTopics: &limit,
		Status: Scheduled, Automation: &schedule.Automation{Mode: schedule.Schedule, Pattern: "0 7 * * *"}, AutomationRevision: 4, Executions: 9,
		CreatedBy: access.Actor{Kind: access.Person, ID: "ada"},
	}
	agent := "watchkeeper"
	want := Task{
		Name: "Report", Instruction: "Write the report.", Description: "d", Priority: "high", Labels: []string{"reports"},
		Config: Config{Model: "a/b", ConcurrencyKey: "crm"}, MaxTopics: &limit, AssigneeAgentID: &agent,
		Status: Scheduled, StatusReason: "armed", StartAt: &at, ArmedAt: &at, NextPlannedAt: &at, NextFireAt: &at,
		CreatedBy: access.Actor{Kind: access.Agent, ID: "watchkeeper"},
	}
	made := template.Made(agent, at)
	if !reflect.DeepEqual(made, want) {
		t.Errorf("made %+v\nwant %+v", made, want)
	}
	if made.PlannedOrigin() != "once" || made.Acceptance() != Auto || made.Makes() {
		t.Errorf("it is %s, accepted %s", made.PlannedOrigin(), made.Acceptance())
	}
	template.MadeName = ""
	if got := template.Made(agent, at).Name; got != "Nightly" {
		t.Errorf("called %q", got)
	}
	template.Config.Checkpoint = &Checkpoint{Before: true}
	if waits := template.Made(agent, at); waits.Status != Paused || waits.StatusReason != "checkpoint_before" || waits.StartAt != nil || waits.NextFireAt != nil {
		t.Errorf("one that waits for a person: %+v", waits)
	}
}

func TestTheRunsThatACronJobHasLeft(t *testing.T) {
	for _, c := range []struct{ most, ran, left int }{{0, 7, -1}, {5, 0, 5}, {5, 4, 1}, {5, 5, 0}, {5, 6, 0}} {
		tk := Task{Automation: &schedule.Automation{MaxExecutions: c.most}, Executions: c.ran}
		left := -1
		if n := tk.RunsLeft(); n != nil {
			left = *n
		}
		if left != c.left {
			t.Errorf("%d of %d: %d left, want %d", c.ran, c.most, left, c.left)
		}
	}
}
