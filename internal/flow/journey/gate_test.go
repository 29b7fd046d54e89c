package journey

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
	"github.com/dogwatch/dogwatch/internal/domain/turn"
	"github.com/dogwatch/dogwatch/internal/flow/launch"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
	"github.com/dogwatch/dogwatch/internal/infra/store"
	"github.com/dogwatch/dogwatch/internal/testkit/rig"
)

// ledger is the states and reasons of a task's ticks, the oldest first.
func (s story) ledger(taskID string) string {
	s.Helper()
	var out []string
	for _, k := range slices.Backward(s.ticks(taskID)) {
		state := string(k.State)
		if k.Reason != nil {
			state += "(" + *k.Reason + ")"
		}
		if k.Count > 1 {
			state = fmt.Sprintf("%d×%s", k.Count, state)
		}
		out = append(out, state)
	}
	return strings.Join(out, " ")
}

func TestWhatStandsInTheWayOfARun(t *testing.T) {
	for _, c := range []struct {
		name, obstacle string
		want           task.Reason
		byHand         string // code of a run by hand
	}{
		{"the workspace is paused", `update workspaces set paused_at = now()`, task.WorkspacePaused, "workspace_paused"},
		{"its agent is paused", `update agents set paused_at = now()`, task.AgentPaused, "agent_paused"},
		{"its agent is disabled", `update agents set disabled_at = now()`, task.NoAgent, "no_agent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := begin(t)
			tk := s.create(steer.NewTask{Instruction: "Work.", Automation: heartbeat(60)})
			s.sql(c.obstacle)
			s.Tick()
			if got := s.ledger(tk.ID); got != "skipped("+string(c.want)+")" {
				t.Errorf("ledger: %s", got)
			}
			got := s.is(tk.ID, task.Scheduled, task.Armed)
			if got.NextFireAt == nil || time.Until(*got.NextFireAt) < 50*time.Second {
				t.Errorf("a refused heartbeat comes again an interval later: %v", got.NextFireAt)
			}
			if _, err := s.Launch.RunTask(s.Context(), s.Caller, tk.ID, launch.Request{}); errs.CodeOf(err) != c.byHand {
				t.Errorf("by hand: %v", err)
			}
			why, err := s.Launch.Why(s.Context(), s.Caller, tk.ID)
			s.Must(err)
			if why.Verdict.Reason != c.want {
				t.Errorf("why: %+v", why.Verdict)
			}
		})
	}
}

func TestAPersonsTaskIsRunByNoAgentAndNobodysByTheDefaultOne(t *testing.T) {
	s := begin(t)
	mine := s.create(steer.NewTask{Instruction: "Call them.", NoAgent: true, AssigneeUser: &s.Caller.PersonID})
	if _, err := s.Launch.RunTask(s.Context(), s.Caller, mine.ID, launch.Request{}); errs.CodeOf(err) != "no_agent" {
		t.Errorf("%v", err)
	}
	nobodys := s.create(steer.NewTask{Instruction: "Work.", NoAgent: true})
	s.run(nobodys.ID)
	if got := s.task(nobodys.ID); got.AssigneeAgentID == nil || *got.AssigneeAgentID != s.Agent.ID {
		t.Errorf("assigned to %v", got.AssigneeAgentID)
	}
}

func TestARunByHandSaysWhichChecksItSkipped(t *testing.T) {
	s := begin(t)
	a := everyTenMinutes()
	a.Exclusions = &schedule.Exclusions{Dates: []string{time.Now().UTC().Format("2006-01-02"), time.Now().UTC().Add(time.Hour).Format("2006-01-02")}}
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: a})
	if got := s.run(tk.ID).SkippedChecks; !slices.Equal(got, []task.Reason{task.ExcludedDate}) {
		t.Errorf("skipped %v", got)
	}
}

// overlapping fires a second planned time while the first run is open.
func overlapping(t *testing.T, overlap string) (story, task.Task) {
	s := begin(t)
	a := everyTenMinutes()
	a.Overlap = overlap
	var tk task.Task
	calls := 0
	s.Model.Reply = func(r turn.Request) (turn.Reply, error) {
		if r.Output == nil {
			calls++
		}
		if r.Output == nil && calls == 1 {
			s.Age(tk.ID, 10*time.Minute)
			n, err := s.Sweep.Sweep(s.Context())
			s.Must(err)
			if n != 1 {
				t.Errorf("%d tasks are due while one runs", n)
			}
			return rig.Wants("current_time", `{}`), nil
		}
		return rig.Plain(r)
	}
	tk = s.create(steer.NewTask{Instruction: "Work.", Automation: a})
	s.Age(tk.ID, 5*time.Minute+time.Second)
	s.Tick()
	return s, tk
}

func TestOverlap(t *testing.T) {
	for _, c := range []struct {
		overlap, ledger string
		topics          string // the oldest first
	}{
		{schedule.OverlapSkip, "ran skipped(in_flight)", "completed"},
		{schedule.OverlapQueue, "ran ran", "completed completed"},
		{schedule.OverlapCancel, "ran ran", "canceled(superseded) completed"},
	} {
		t.Run(c.overlap, func(t *testing.T) {
			s, tk := overlapping(t, c.overlap)
			if got := s.ledger(tk.ID); got != c.ledger {
				t.Errorf("ledger: %s, want %s", got, c.ledger)
			}
			var topics []string
			for _, tp := range slices.Backward(s.topics(tk.ID)) {
				status := string(tp.Status)
				if tp.ReasonDetail != "" {
					status += "(" + tp.ReasonDetail + ")"
				}
				topics = append(topics, status)
			}
			if got := strings.Join(topics, " "); got != c.topics {
				t.Errorf("topics: %s, want %s", got, c.topics)
			}
			if got := s.is(tk.ID, task.Scheduled, task.RanOn); got.NextFireAt == nil {
				t.Error("it has no next fire")
			}
		})
	}
}

// A tick that waits is not lost when another run comes first.
func TestAQueuedTickGoesOnWaiting(t *testing.T) {
	s := begin(t)
	a := everyTenMinutes()
	a.Overlap = schedule.OverlapQueue
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: a})
	s.run(tk.ID)
	second := s.run(tk.ID)
	if !second.Queued {
		t.Fatalf("%+v", second)
	}
	// The tick is handled, as if its post came early, while the run is still open.
	s.Must(s.Store.InTx(s.Context(), func(tx *store.Tx) error {
		k, err := tx.Tick(s.Context(), s.Scope(), second.TickID)
		if err != nil {
			return err
		}
		locked, err := tx.LockTask(s.Context(), s.Scope(), tk.ID)
		if err != nil {
			return err
		}
		_, err = s.Launch.Launch(s.Context(), tx, s.Scope(), locked, k)
		return err
	}))
	if got := s.ledger(tk.ID); got != "dispatched queued(in_flight)" {
		t.Errorf("ledger: %s", got)
	}
	s.Drain()
	if got := s.ledger(tk.ID); got != "ran ran" {
		t.Errorf("ledger: %s", got)
	}
}

// The last planned time of a schedule waits for the run before it: the task is not
// complete before it has run.
func TestTheLastQueuedTickStillRuns(t *testing.T) {
	s := begin(t)
	a := everyTenMinutes()
	a.Overlap = schedule.OverlapQueue
	end := time.Now().Add(6 * time.Minute) // after the next fire and before the one after
	a.EndsAt = &end
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: a})
	first := true
	s.Model.Reply = func(r turn.Request) (turn.Reply, error) {
		if r.Output == nil && first {
			first = false
			s.sql(`update tasks set next_fire_at = now() - interval '1 second' where id = $1`, tk.ID)
			s.sql(`update tasks set next_planned_at = next_planned_at - interval '6 minutes',
				automation = jsonb_set(automation, '{endsAt}', to_jsonb(now() + interval '1 minute')) where id = $1`, tk.ID)
			_, err := s.Sweep.Sweep(s.Context())
			s.Must(err)
			return rig.Wants("current_time", `{}`), nil
		}
		return rig.Plain(r)
	}
	s.run(tk.ID)
	s.Drain()
	if got := s.ledger(tk.ID); got != "ran ran" {
		t.Errorf("ledger: %s", got)
	}
	s.is(tk.ID, task.Completed, task.BoundsUsedUp)
}

// Five planned times pass while the house is away: 45, 35, 25, 15 and 5 minutes ago.
func TestMissedTimes(t *testing.T) {
	for _, c := range []struct {
		policy, ledger string
		runs           int
	}{
		{schedule.MissedLatest, "4×coalesced(coalesced) ran", 1},
		{schedule.MissedSkip, "5×missed(policy_skip)", 0},
		{schedule.MissedAll, "ran ran ran ran ran", 5},
	} {
		t.Run(c.policy, func(t *testing.T) {
			s := begin(t)
			a := everyTenMinutes()
			a.Missed = c.policy
			tk := s.create(steer.NewTask{Instruction: "Work.", Automation: a})
			s.Age(tk.ID, 50*time.Minute)
			for range 8 {
				s.Tick()
				// One that waits for the run before it is asked about again soon.
				s.sql(`update tasks set next_fire_at = now() where id = $1 and next_planned_at < now()`, tk.ID)
			}
			if got := s.ledger(tk.ID); got != c.ledger {
				t.Errorf("ledger: %s, want %s", got, c.ledger)
			}
			if got := s.task(tk.ID); got.Executions != c.runs || got.NextPlannedAt == nil || !got.NextPlannedAt.After(time.Now()) {
				t.Errorf("%d runs, next %v", got.Executions, got.NextPlannedAt)
			}
		})
	}
	t.Run("older than the window", func(t *testing.T) {
		s := begin(t)
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()})
		s.Age(tk.ID, 3*time.Hour)
		s.Tick()
		if got := s.ledger(tk.ID); got != "12×missed(catch_up_expired) 5×coalesced(coalesced) ran" {
			t.Errorf("ledger: %s", got)
		}
	})
}

func TestAnEditVoidsWhatWasPlannedAndPlansAnew(t *testing.T) {
	s := begin(t)
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()})
	s.Age(tk.ID, 5*time.Minute+time.Second)
	_, err := s.Sweep.Sweep(s.Context()) // a tick is written and not yet handled
	s.Must(err)
	planned := *s.ticks(tk.ID)[0].PlannedAt
	beat := heartbeat(86_400)
	_, err = s.Steer.EditTask(s.Context(), s.Caller, tk.ID, nil, steer.TaskPatch{Automation: &beat})
	s.Must(err)
	if got := s.ledger(tk.ID); got != "canceled(canceled_by_edit)" {
		t.Errorf("ledger: %s", got)
	}
	got := s.task(tk.ID)
	if got.AutomationRevision != tk.AutomationRevision+1 || got.NextFireAt == nil {
		t.Errorf("revision %d, next %v", got.AutomationRevision, got.NextFireAt)
	}
	s.Tick()
	if got := s.ledger(tk.ID); got != "canceled(canceled_by_edit) ran" {
		t.Errorf("ledger: %s", got)
	}

	// Back on the schedule, the same instant is planned again: its row re-opens.
	again := everyTenMinutes()
	_, err = s.Steer.EditTask(s.Context(), s.Caller, tk.ID, nil, steer.TaskPatch{Automation: &again})
	s.Must(err)
	s.sql(`update tasks set next_planned_at = $2, next_fire_at = $2 where id = $1`, tk.ID, planned)
	s.Tick()
	ticks := s.ticks(tk.ID)
	if got := s.ledger(tk.ID); got != "ran ran" || len(ticks) != 2 {
		t.Errorf("ledger: %s", got)
	}
}

func TestAChangeOfKindCountsExecutionsAnew(t *testing.T) {
	s := begin(t)
	for _, status := range []task.Status{task.Scheduled, task.Paused} {
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()})
		s.put(tk.ID, status)
		s.sql(`update tasks set executions = 4, failures = 2 where id = $1`, tk.ID)
		beat := heartbeat(60)
		got, err := s.Steer.EditTask(s.Context(), s.Caller, tk.ID, nil, steer.TaskPatch{Automation: &beat})
		s.Must(err)
		if got.Executions != 0 || got.Failures != 0 || got.Status != status {
			t.Errorf("%s: %d executions, %d failures", got.Status, got.Executions, got.Failures)
		}
	}
}

func TestARunByHandLeavesAOneShotItsTime(t *testing.T) {
	s := begin(t)
	at := time.Now().Add(time.Hour).Truncate(time.Microsecond)
	tk := s.create(steer.NewTask{Instruction: "Work.", StartAt: &at})
	s.run(tk.ID)
	s.Drain()
	got := s.is(tk.ID, task.Scheduled, task.RanOn)
	if got.StartAt == nil || !got.NextFireAt.Equal(at) {
		t.Errorf("startAt %v, next %v", got.StartAt, got.NextFireAt)
	}
	t.Run("but not one that passed while it was paused", func(t *testing.T) {
		s := s.in(t)
		_, err := s.Steer.PauseTask(s.Context(), s.Caller, tk.ID, false, "")
		s.Must(err)
		s.sql(`update tasks set start_at = now() - interval '1 minute' where id = $1`, tk.ID)
		s.run(tk.ID)
		s.Drain()
		if got := s.is(tk.ID, task.Paused, task.AwaitingReview); got.StartAt != nil {
			t.Errorf("it would run twice: %v", got.StartAt)
		}
	})
}

// Time comes for a one-shot while a run by hand is open: it runs after it.
func TestAOneShotWhoseTimeComesDuringARunByHand(t *testing.T) {
	s := begin(t)
	at := time.Now().Add(time.Hour)
	tk := s.create(steer.NewTask{Instruction: "Work.", StartAt: &at})
	first := true
	s.during(func() {
		if first {
			s.sql(`update tasks set start_at = now() - interval '1 second' where id = $1`, tk.ID)
		}
		first = false
	})
	s.run(tk.ID)
	s.Drain()
	s.Tick()
	if got := s.ledger(tk.ID); got != "ran ran" {
		t.Errorf("ledger: %s", got)
	}
	s.is(tk.ID, task.Paused, task.AwaitingReview)
}

func TestAHeldHeartbeatBeatsWhenItsUpstreamEnds(t *testing.T) {
	s := begin(t)
	up := s.create(steer.NewTask{Instruction: "First."})
	down := s.create(steer.NewTask{Instruction: "Then.", Automation: heartbeat(86_400), DependsOn: []steer.NewDependency{{Task: up.ID}}})
	s.Tick()
	if got := s.ledger(down.ID); got != "skipped(blocked_by_dependency)" {
		t.Fatalf("ledger: %s", got)
	}
	_, err := s.Steer.CompleteTask(s.Context(), s.Caller, up.ID)
	s.Must(err)
	s.Drain()
	s.Tick()
	if got := s.ledger(down.ID); got != "skipped(blocked_by_dependency) ran" {
		t.Errorf("ledger: %s", got)
	}
}

func TestOneOfManyRacingRunsWins(t *testing.T) {
	s := begin(t)
	tk := s.create(steer.NewTask{Instruction: "Work."})
	const racers = 8
	codes := make([]string, racers)
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() {
			_, err := s.Launch.RunTask(s.Context(), s.Caller, tk.ID, launch.Request{})
			if codes[i] = "started"; err != nil {
				codes[i] = errs.CodeOf(err)
			}
		})
	}
	wg.Wait()
	slices.Sort(codes)
	want := append(slices.Repeat([]string{"in_flight"}, racers-1), "started")
	if !slices.Equal(codes, want) {
		t.Errorf("%v", codes)
	}
	if n := len(s.topics(tk.ID)); n != 1 {
		t.Errorf("%d topics", n)
	}
	if got := s.task(tk.ID); got.TotalTopics != 1 {
		t.Errorf("%d runs are counted", got.TotalTopics)
	}
}

type runCase struct {
	Task *struct {
		Status                 task.Status
		AutomationMode         string
		Error, AssigneeAgentID *string
		TotalTopics            int
		MaxTopics              *int
		HasUnfinishedBlocker   bool
		Config                 struct{ Model, Provider string }
	}
	Topics           map[string]struct{ Status topic.Status }
	Params           struct{ ContinueTopicID, ExtraPrompt string }
	AgentStartThrows string
}

// arrange writes the rows that a case begins with, and returns the ids of its topics.
func (in runCase) arrange(s story) (task.Task, map[string]string) {
	asked := steer.NewTask{Instruction: "Work.", Name: "N", MaxTopics: in.Task.MaxTopics}
	if in.Task.AutomationMode == "schedule" {
		asked.Automation = everyTenMinutes()
	}
	if in.Task.Config.Model != "" {
		asked.Config.Model = in.Task.Config.Provider + "/" + in.Task.Config.Model
	}
	asked.NoAgent = in.Task.AssigneeAgentID == nil
	if in.Task.HasUnfinishedBlocker {
		asked.DependsOn = []steer.NewDependency{{Task: s.create(steer.NewTask{Instruction: "Before."}).ID}}
	}
	tk := s.create(asked)
	s.put(tk.ID, in.Task.Status)
	s.sql(`update tasks set total_topics = $2, error = $3 where id = $1`, tk.ID, in.Task.TotalTopics, in.Task.Error)
	ids := map[string]string{}
	seq := 0
	for name, tp := range in.Topics {
		seq++
		ids[name] = id.New()
		tick := id.New()
		state := "ran"
		if tp.Status == topic.Running {
			state = "dispatched"
		}
		s.sql(`insert into ticks (id, workspace_id, task_id, fire_at, request_key, origin, state, automation_revision)
			values ($1, $2, $3, now(), $4, 'manual', 'pending', 0)`, tick, tk.WorkspaceID, tk.ID, name)
		s.sql(`insert into topics (id, workspace_id, task_id, tick_id, seq, origin, status, title, completed_at)
			values ($1, $2, $3, $4, $5, 'manual', $6, 'Before', case when $6 <> 'running' then now() end)`, ids[name], tk.WorkspaceID, tk.ID, tick, seq, tp.Status)
		s.sql(`update ticks set state = $2, topic_id = $3, ended_at = case when $2 = 'ran' then now() end where id = $1`, tick, state, ids[name])
		if tp.Status == topic.Running {
			s.sql(`update tasks set current_topic_id = $2 where id = $1`, tk.ID, ids[name])
		}
	}
	return tk, ids
}

// The recorded cases of starting a run. What the reference mounts, pins and asks for
// at a start (tools, approval mode, the model in the task's own configuration) is
// its own; an operation of ours carries its model and its agent's revision.
func TestCasesOfRuns(t *testing.T) {
	s := begin(t)
	for _, c := range readCases(t, "run-task") {
		t.Run(c.ID, func(t *testing.T) {
			s := s.in(t)
			var in runCase
			s.Must(json.Unmarshal(c.Input, &in))
			var want struct {
				Throws         *struct{ Code string }
				TaskStatus     task.Status
				TaskError      *string
				Assignee       *string
				Topics         map[string]map[string]any
				TotalTopics    *int
				CurrentTopicID *string
				RunTitle       *string
			}
			s.Must(json.Unmarshal(c.Expect, &want))
			wantCode := ""
			if want.Throws != nil {
				wantCode = want.Throws.Code
			}
			if in.Task == nil {
				if _, err := s.Launch.RunTask(s.Context(), s.Caller, "T-999999", launch.Request{}); errs.CodeOf(err) != wantCode {
					t.Errorf("%v", err)
				}
				return
			}
			tk, ids := in.arrange(s)
			req := launch.Request{Note: in.Params.ExtraPrompt}
			if old := in.Params.ContinueTopicID; old != "" {
				continued := ids[old]
				req.ContinueTopic = &continued
			}
			_, err := s.Launch.RunTask(s.Context(), s.Caller, tk.ID, req)
			if errs.CodeOf(err) != wantCode {
				t.Fatalf("%v, want %q", err, wantCode)
			}
			if in.AgentStartThrows != "" {
				s.Model.Reply = func(turn.Request) (turn.Reply, error) {
					return turn.Reply{}, &turn.ModelError{Class: turn.ErrAuth, Msg: in.AgentStartThrows}
				}
				s.Drain()
				s.Model.Reply = nil
			}
			got := s.task(tk.ID)
			if got.Status != want.TaskStatus {
				t.Errorf("the task is %s, want %s", got.Status, want.TaskStatus)
			}
			if a, b := deref(got.Error), deref(want.TaskError); (a == "") != (b == "") || !strings.Contains(a, b) {
				t.Errorf("its error is %q, want %q", a, b)
			}
			if want.Assignee != nil && (got.AssigneeAgentID == nil || *got.AssigneeAgentID != s.Agent.ID) {
				t.Errorf("assigned to %v", got.AssigneeAgentID)
			}
			if want.TotalTopics != nil && got.TotalTopics != *want.TotalTopics {
				t.Errorf("%d topics in all, want %d", got.TotalTopics, *want.TotalTopics)
			}
			names := map[string]string{}
			for name, id := range ids {
				names[id] = name
			}
			topics := map[string]map[string]any{}
			for _, tp := range s.topics(tk.ID) {
				name, old := names[tp.ID]
				fields := map[string]any{"status": string(tp.Status)}
				if !old {
					name = "tpN"
					names[tp.ID] = name
					fields["seq"], fields["trigger"] = float64(tp.Seq), string(tp.Origin)
					if tp.ContinuesTopicID != nil {
						fields["continues"] = names[*tp.ContinuesTopicID]
					}
					if want.RunTitle != nil && in.AgentStartThrows == "" { // its handoff gives it another at its end
						checkTitle(t, tp.Title, *want.RunTitle)
					}
				}
				topics[name] = fields
			}
			if !reflect.DeepEqual(topics, want.Topics) {
				t.Errorf("topics %v, want %v", topics, want.Topics)
			}
			current := ""
			if got.CurrentTopicID != nil {
				current = names[*got.CurrentTopicID]
			}
			if current != deref(want.CurrentTopicID) {
				t.Errorf("the current topic is %q, want %q", current, deref(want.CurrentTopicID))
			}
			s.sql(`delete from jobs`) // the next case is another story
		})
	}
}

// checkTitle compares a run's title. One that is cut says so in its last character;
// the reference's does not.
func checkTitle(t *testing.T, got, want string) {
	t.Helper()
	if cut, ok := strings.CutSuffix(got, "…"); ok && len([]rune(got)) == len([]rune(want)) && strings.HasPrefix(want, cut) {
		return
	}
	if got != want {
		t.Errorf("the title is %q, want %q", got, want)
	}
}
