package journey

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
	"github.com/dogwatch/dogwatch/internal/flow/launch"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// cronJob gives the agent a cron job, whose times are far away unless a test brings
// one near.
func (s story) cronJob(in steer.NewCronJob) task.Task {
	s.Helper()
	if in.Agent == "" {
		in.Agent = "watchkeeper"
	}
	if in.Pattern == "" {
		in.Pattern = "0 7 1 1 *"
	}
	t, err := s.Steer.CreateCronJob(s.Context(), s.Caller, in)
	s.Must(err)
	return t
}

// fire lets the next time of a task come now, and whatever follows from it. What was
// there before becomes a day older, so that no time comes twice.
func (s story) fire(taskID string) {
	s.Helper()
	s.sql(`update ticks set planned_at = planned_at - interval '1 day', fire_at = fire_at - interval '1 day' where task_id = $1`, taskID)
	s.due(taskID, time.Now().UTC().Truncate(time.Second))
	s.Tick()
}

func (s story) listed(f store.TaskFilter) string {
	s.Helper()
	ts, _, err := s.Store.Tasks(s.Context(), s.Scope(), f, store.Page{})
	s.Must(err)
	var out []string
	for _, t := range ts {
		out = append(out, t.Identifier)
	}
	return strings.Join(out, " ")
}

// made are the tasks that a template has made, the oldest first.
func (s story) made(taskID string) (out []task.Task) {
	s.Helper()
	for _, k := range s.ticks(taskID) {
		if k.MadeTaskID != nil {
			out = append([]task.Task{s.task(*k.MadeTaskID)}, out...)
		}
	}
	return out
}

func (s story) edit(ref string, p steer.CronJobPatch) task.Task {
	s.Helper()
	t, err := s.Steer.EditCronJob(s.Context(), s.Caller, ref, nil, p)
	s.Must(err)
	return t
}

func TestAPromptJobRunsItsTaskAgainAndAgain(t *testing.T) {
	s := begin(t)
	s.create(steer.NewTask{Instruction: "An ordinary task."})
	job := s.cronJob(steer.NewCronJob{Prompt: "Look through the inbox.", MaxExecutions: 2})
	s.cronJob(steer.NewCronJob{Prompt: "Another one of the same agent."})
	if got := s.listed(store.TaskFilter{}); got != "T-1" {
		t.Errorf("the list has %s", got)
	}
	if got := s.listed(store.TaskFilter{CronJobs: store.OnlyCronJobs}); got != "T-3 T-2" {
		t.Errorf("the cron jobs are %s", got)
	}
	if got := s.listed(store.TaskFilter{CronJobs: store.WithCronJobs}); got != "T-3 T-2 T-1" {
		t.Errorf("all are %s", got)
	}
	s.fire(job.ID)
	if got := s.is(job.ID, task.Scheduled, task.RanOn); got.Executions != 1 || *got.RunsLeft() != 1 || got.NextFireAt == nil {
		t.Errorf("after a run: %+v", got)
	}
	s.fire(job.ID)
	if !strings.Contains(s.lastPrompt(), "It was run.") {
		t.Error("the second run does not know of the first")
	}
	if got := s.is(job.ID, task.Completed, task.BoundsUsedUp); got.Enabled() || *got.RunsLeft() != 0 {
		t.Errorf("after the last run: %+v", got)
	}
	if got := s.ledger(job.ID); got != "ran ran" {
		t.Errorf("the ledger: %s", got)
	}
	on := true
	if got := s.edit(job.ID, steer.CronJobPatch{Enabled: &on}); !got.Enabled() || *got.RunsLeft() != 2 || got.NextFireAt == nil {
		t.Errorf("taken up again: %+v", got)
	}
}

func TestATemplateJobMakesATaskEachTime(t *testing.T) {
	s := begin(t)
	doc, err := s.Steer.CreateDocument(s.Context(), s.Caller, steer.NewDocument{Title: "Notes", Content: "Look here."})
	s.Must(err)
	job := s.cronJob(steer.NewCronJob{
		Name: "Nightly", MaxExecutions: 2, Documents: []string{doc.ID},
		Template: &steer.Template{Name: "Report", Instruction: "Write the report.", Labels: []string{"reports"}, Priority: "high"},
	})
	s.fire(job.ID)
	s.Tick() // the task that was made is due by itself

	if got := s.ledger(job.ID); got != "ran" {
		t.Fatalf("the ledger: %s", got)
	}
	if len(s.topics(job.ID)) != 0 {
		t.Error("the template ran itself")
	}
	first := s.made(job.ID)[0]
	if first.Name != "Report" || first.Priority != "high" || first.CronJob != "" || *first.AssigneeAgentID != s.Agent.ID || first.CreatedBy.ID != s.Agent.ID {
		t.Errorf("made %+v", first)
	}
	s.is(first.ID, task.Completed, task.RanOn)
	if got := s.ledger(first.ID); got != "ran" || s.ticks(first.ID)[0].Origin != topic.Once {
		t.Errorf("its own ledger: %s", got)
	}
	if docs, err := s.Store.PinnedDocuments(s.Context(), s.Scope(), first.ID); err != nil || len(docs) != 1 {
		t.Errorf("it has %d documents (%v)", len(docs), err)
	}
	if got := s.listed(store.TaskFilter{}); got != first.Identifier {
		t.Errorf("the list has %s", got)
	}
	if got := s.is(job.ID, task.Scheduled, task.Armed); got.Executions != 1 || got.NextFireAt == nil || got.LastRunAt == nil {
		t.Errorf("the template afterwards: %+v", got)
	}
	s.fire(job.ID)
	s.is(job.ID, task.Completed, task.BoundsUsedUp) // with its last time, not at the one after
	s.Tick()
	if n := len(s.made(job.ID)); n != 2 {
		t.Errorf("made %d tasks", n)
	}
	// What it has made stays when it goes.
	s.Must(s.Steer.DeleteCronJob(s.Context(), s.Caller, job.ID))
	s.is(first.ID, task.Completed, task.RanOn)
	if _, err := s.Store.CronJob(s.Context(), s.Scope(), job.ID); errs.KindOf(err) != errs.NotFound {
		t.Errorf("a deleted job: %v", err)
	}
}

// By hand a template makes a task at once; it is no execution of the schedule, and
// what somebody says to it is for the agent of the new task.
func TestATemplateIsRunByHand(t *testing.T) {
	s := begin(t)
	job := s.cronJob(steer.NewCronJob{MaxExecutions: 1, Template: &steer.Template{Instruction: "Write the report.", Priority: "none"}, Disabled: true})
	s.is(job.ID, task.Paused, task.ByPerson)
	started, err := s.Launch.RunTask(s.Context(), s.Caller, job.ID, launch.Request{Note: "In verse, please."})
	s.Must(err)
	if started.MadeTaskID == "" || started.TopicID != "" {
		t.Fatalf("started %+v", started)
	}
	s.Tick()
	s.is(started.MadeTaskID, task.Completed, task.RanOn)
	if !strings.Contains(s.lastPrompt(), "In verse, please.") {
		t.Error("the agent was not told")
	}
	if got := s.is(job.ID, task.Paused, task.ByPerson); got.Executions != 0 {
		t.Errorf("it counts: %+v", got)
	}
}

// The gate is the same for both kinds, and what it says stands in the same ledger.
func TestTheGateHoldsCronJobs(t *testing.T) {
	kinds := map[string]steer.NewCronJob{
		"prompt":   {Prompt: "Look."},
		"template": {Template: &steer.Template{Instruction: "Look.", Priority: "none"}},
	}
	for kind, in := range kinds {
		for _, c := range []struct{ obstacle, want string }{
			{`update agents set paused_at = now()`, "skipped(agent_paused)"},
			{`update agents set disabled_at = now()`, "skipped(no_agent)"},
			{`update tasks set assignee_agent_id = null`, "skipped(no_agent)"}, // the agent is gone, and no other takes its place
			{`update workspaces set paused_at = now()`, "skipped(workspace_paused)"},
			{`update workspaces set maintenance_at = now()`, "skipped(maintenance)"},
		} {
			t.Run(kind+" "+c.want, func(t *testing.T) {
				s := begin(t)
				job := s.cronJob(in)
				s.sql(c.obstacle)
				s.fire(job.ID)
				if got := s.ledger(job.ID); got != c.want {
					t.Errorf("the ledger: %s", got)
				}
				if got := s.is(job.ID, task.Scheduled, task.Armed); got.NextFireAt == nil || got.Executions != 0 {
					t.Errorf("afterwards: %+v", got)
				}
				if _, err := s.Launch.RunTask(s.Context(), s.Caller, job.ID, launch.Request{}); errs.KindOf(err) != errs.Conflict {
					t.Errorf("by hand: %v", err)
				}
			})
		}
	}
}

func TestConditionsHoldForWhatATemplateMakes(t *testing.T) {
	s := begin(t)
	job := s.cronJob(steer.NewCronJob{Conditions: &schedule.Conditions{MaxExecutionsPerDay: 1}, Template: &steer.Template{Instruction: "Look.", Priority: "none"}})
	s.due(job.ID, time.Now().UTC().Truncate(time.Second).Add(-2*time.Second))
	s.Tick()
	s.due(job.ID, time.Now().UTC().Truncate(time.Second))
	s.Tick()
	if got := s.ledger(job.ID); got != "ran skipped(daily_limit)" {
		t.Errorf("the ledger: %s", got)
	}
}

func TestDisabledJobsPlanNothingAndEnabledOnesPlanAnew(t *testing.T) {
	s := begin(t)
	job := s.cronJob(steer.NewCronJob{Prompt: "Look."})
	off, on := false, true
	got := s.edit(job.ID, steer.CronJobPatch{Enabled: &off})
	if got.Enabled() || got.NextFireAt != nil {
		t.Errorf("disabled: %+v", got)
	}
	pattern, zone := "30 8 * * *", "Europe/Berlin"
	zoned := &zone
	got = s.edit(job.Identifier, steer.CronJobPatch{Pattern: &pattern, Timezone: &zoned})
	if got.Enabled() || got.NextFireAt != nil || got.Automation.Pattern != pattern {
		t.Errorf("edited while disabled: %+v", got)
	}
	got = s.edit(job.ID, steer.CronJobPatch{Enabled: &on})
	berlin, err := time.LoadLocation(zone)
	s.Must(err)
	if !got.Enabled() || got.NextFireAt.In(berlin).Format("15:04") != "08:30" {
		t.Errorf("enabled: %+v", got)
	}
	// An edit voids what was planned under the old schedule.
	s.due(job.ID, time.Now().UTC().Truncate(time.Second))
	_, err = s.Sweep.Sweep(s.Context())
	s.Must(err)
	pattern = "45 9 * * *"
	got = s.edit(job.ID, steer.CronJobPatch{Pattern: &pattern})
	s.Drain()
	if ledger := s.ledger(job.ID); ledger != "canceled(canceled_by_edit)" || got.NextFireAt.In(berlin).Format("15:04") != "09:45" {
		t.Errorf("the ledger: %s, next %v", ledger, got.NextFireAt)
	}
	if got := s.audited("cron_job."); got != "create edit edit edit edit" {
		t.Errorf("the audit: %s", got)
	}
}

func TestATemplateIsEditedForTheTasksToCome(t *testing.T) {
	s := begin(t)
	job := s.cronJob(steer.NewCronJob{Template: &steer.Template{Instruction: "Old.", Labels: []string{"a"}, Priority: "low"}})
	s.edit(job.ID, steer.CronJobPatch{Template: func(was steer.Template) (steer.Template, error) {
		was.Instruction, was.Name = "New.", "Renamed"
		return was, nil
	}})
	s.fire(job.ID)
	if got := s.made(job.ID)[0]; got.Instruction != "New." || got.Name != "Renamed" || got.Priority != "low" || len(got.Labels) != 1 {
		t.Errorf("made %+v", got)
	}
}

func TestWhatACronJobRefuses(t *testing.T) {
	s := begin(t)
	template := &steer.Template{Instruction: "x", Priority: "none"}
	for what, c := range map[string]struct {
		in   steer.NewCronJob
		at   string
		code string
	}{
		"neither":          {steer.NewCronJob{Agent: "watchkeeper", Pattern: "0 7 * * *"}, "body", "invalid"},
		"both":             {steer.NewCronJob{Agent: "watchkeeper", Pattern: "0 7 * * *", Prompt: "x", Template: template}, "body", "invalid"},
		"no agent":         {steer.NewCronJob{Pattern: "0 7 * * *", Prompt: "x"}, "body.agent", "invalid"},
		"an unknown agent": {steer.NewCronJob{Agent: "nobody", Pattern: "0 7 * * *", Prompt: "x"}, "body.agent", "invalid"},
		"a pattern":        {steer.NewCronJob{Agent: "watchkeeper", Pattern: "0 25 * * *", Prompt: "x"}, "body.pattern", "invalid_pattern"},
		"a zone":           {steer.NewCronJob{Agent: "watchkeeper", Pattern: "0 7 * * *", Timezone: new("Mars/Olympus"), Prompt: "x"}, "body.timezone", "invalid_timezone"},
		"a label": {steer.NewCronJob{Agent: "watchkeeper", Pattern: "0 7 * * *", Template: &steer.Template{Instruction: "x", Priority: "none", Labels: []string{" "}}},
			"body.template.labels", "invalid"},
	} {
		_, err := s.Steer.CreateCronJob(s.Context(), s.Caller, c.in)
		var e *errs.Error
		if !errors.As(err, &e) || e.Code != c.code || len(e.Fields) != 1 || e.Fields[0].Location != c.at {
			t.Errorf("%s: %v (%+v)", what, err, e)
		}
	}
	job := s.cronJob(steer.NewCronJob{Prompt: "x"})
	ordinary := s.create(steer.NewTask{Instruction: "x", Automation: everyTenMinutes()})
	if _, err := s.Steer.EditCronJob(s.Context(), s.Caller, ordinary.ID, nil, steer.CronJobPatch{}); errs.KindOf(err) != errs.NotFound {
		t.Errorf("an ordinary task as a cron job: %v", err)
	}
	if err := s.Steer.DeleteCronJob(s.Context(), s.Caller, ordinary.ID); errs.KindOf(err) != errs.NotFound {
		t.Errorf("an ordinary task deleted as a cron job: %v", err)
	}
	if _, err := s.Steer.EditCronJob(s.Context(), s.Caller, job.ID, nil, steer.CronJobPatch{Template: func(t steer.Template) (steer.Template, error) { return t, nil }}); errs.KindOf(err) != errs.Conflict {
		t.Errorf("a template for a prompt job: %v", err)
	}
	none := (*schedule.Automation)(nil)
	if _, err := s.Steer.EditTask(s.Context(), s.Caller, job.ID, nil, steer.TaskPatch{Automation: &none}); errs.KindOf(err) != errs.Invalid {
		t.Errorf("a cron job without a schedule: %v", err)
	}
	nobody := (*string)(nil)
	if _, err := s.Steer.EditTask(s.Context(), s.Caller, job.ID, nil, steer.TaskPatch{AssigneeAgent: &nobody}); errs.KindOf(err) != errs.Invalid {
		t.Errorf("a cron job of nobody: %v", err)
	}
	stale := int64(99)
	if _, err := s.Steer.EditCronJob(s.Context(), s.Caller, job.ID, &stale, steer.CronJobPatch{}); errs.KindOf(err) != errs.Stale {
		t.Errorf("another version: %v", err)
	}
}

// A time of a template comes to one task, however often its job comes.
func TestATemplateMakesOneTaskForOneTime(t *testing.T) {
	s := begin(t)
	job := s.cronJob(steer.NewCronJob{Template: &steer.Template{Instruction: "x", Priority: "none"}})
	s.due(job.ID, time.Now().UTC().Truncate(time.Second))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := s.Sweep.Sweep(s.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s.Drain()
	for _, c := range s.past() { // every job comes once more
		if c.Kind == "tick" {
			_ = s.Launch.Tick(s.Context(), c)
		}
	}
	if n := len(s.made(job.ID)); n != 1 {
		t.Errorf("%d tasks were made", n)
	}
	var tasks int
	s.Must(s.Store.Pool().QueryRow(s.Context(), `select count(*) from tasks`).Scan(&tasks))
	if tasks != 2 {
		t.Errorf("there are %d tasks", tasks)
	}
}

// Templates make tasks while somebody pauses the workspace and resumes it: whoever
// takes the workspace's row and its gate takes them in the same order.
func TestTemplatesAndAPauseDoNotStandInEachOthersWay(t *testing.T) {
	s := begin(t)
	var jobs []task.Task
	for i := range 8 {
		jobs = append(jobs, s.cronJob(steer.NewCronJob{Name: fmt.Sprint(i), Template: &steer.Template{Instruction: "x", Priority: "none"}}))
	}
	var wg sync.WaitGroup
	for _, j := range jobs {
		wg.Go(func() {
			for range 5 {
				if _, err := s.Launch.RunTask(s.Context(), s.Caller, j.ID, launch.Request{}); err != nil && errs.CodeOf(err) != "workspace_paused" {
					t.Error(err)
				}
			}
		})
	}
	began := time.Now()
	for range 10 {
		s.Must(second(s.Steer.PauseWorkspace(s.Context(), s.Caller, "")))
		s.Must(second(s.Steer.ResumeWorkspace(s.Context(), s.Caller, false)))
	}
	wg.Wait()
	var deadlocks int
	s.Must(s.Store.Pool().QueryRow(s.Context(), `select deadlocks from pg_stat_database where datname = current_database()`).Scan(&deadlocks))
	if deadlocks > 0 {
		t.Errorf("%d deadlocks in %v", deadlocks, time.Since(began))
	}
}

// A backfill of a template makes one task after the other.
func TestABackfillOfATemplate(t *testing.T) {
	s := begin(t)
	job := s.cronJob(steer.NewCronJob{Pattern: "@every 1h", Template: &steer.Template{Instruction: "x", Priority: "none"}, MaxExecutions: 3})
	s.backfill(job, time.Now().Add(-5*time.Hour), atMost(5))
	for range 8 {
		s.goOn()
	}
	if n := len(s.made(job.ID)); n != 3 {
		t.Errorf("made %d tasks: %s", n, s.ledger(job.ID))
	}
	s.is(job.ID, task.Completed, task.BoundsUsedUp)
}
