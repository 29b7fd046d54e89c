package journey

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
	"github.com/dogwatch/dogwatch/internal/domain/turn"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
	"github.com/dogwatch/dogwatch/internal/infra/store"
	"github.com/dogwatch/dogwatch/internal/testkit/rig"
)

// world is the state of everything but the jobs and the events themselves.
func (s story) world() map[string]string {
	s.Helper()
	out := map[string]string{}
	for _, table := range []string{"tasks", "task_moves", "task_comments", "ticks", "topics", "operations", "steps", "tool_calls", "messages", "briefs", "documents"} {
		var all string
		err := s.Store.Pool().QueryRow(s.Context(), `select coalesce(string_agg(x::text, E'\n' order by x::text), '') from `+table+` x`).Scan(&all)
		s.Must(err)
		out[table] = all
	}
	return out
}

func (s story) unchanged(before map[string]string, after string) {
	s.Helper()
	for table, now := range s.world() {
		if now != before[table] {
			s.Errorf("%s changes %s:\n%s\n--- before:\n%s", after, table, now, before[table])
		}
	}
}

// past are the jobs that were carried out, as claims that have run out.
func (s story) past() []job.Claim {
	s.Helper()
	rows, err := s.Store.Pool().Query(s.Context(), `select id, token, delivery, kind, queue, key, coalesce(workspace_id::text, ''),
		coalesce(body->>'task', ''), coalesce(body->>'tick', ''), coalesce(body->>'topic', ''), coalesce(body->>'operation', '') from jobs where state = 'done' order by id`)
	s.Must(err)
	defer rows.Close()
	var out []job.Claim
	for rows.Next() {
		c := job.Claim{Lease: time.Minute}
		s.Must(rows.Scan(&c.ID, &c.Token, &c.Delivery, &c.Kind, &c.Queue, &c.Key, &c.IDs.Workspace, &c.IDs.Task, &c.IDs.Tick, &c.IDs.Topic, &c.IDs.Operation))
		out = append(out, c)
	}
	s.Must(rows.Err())
	return out
}

// told is a story with every kind of job in it: a heartbeat whose agent calls a
// tool, and a task that is unlocked by the end of another.
func told(t *testing.T) story {
	s := begin(t)
	s.calls("write_document", `{"title": "Report", "content": "All is well."}`)
	up := s.create(steer.NewTask{Instruction: "First.", Config: task.Config{Acceptance: task.Auto}, Start: true})
	s.create(steer.NewTask{Instruction: "Then.", DependsOn: []steer.NewDependency{{Task: up.ID}}})
	s.create(steer.NewTask{Instruction: "Watch.", Automation: heartbeat(600)})
	s.Tick()
	return s
}

// Whoever comes late, with a lease that has run out, changes nothing.
func TestAJobThatIsCarriedOutTwiceUnderItsOldLeaseChangesNothing(t *testing.T) {
	s := told(t)
	handlers := map[string]func(context.Context, job.Claim) error{
		job.Tick.Name: s.Launch.Tick, job.Unlock.Name: s.Launch.Unlock, job.Step.Name: s.Engine.Step,
		job.Settle.Name: s.Settle.Settle, job.Handoff.Name: s.Settle.Handoff,
	}
	before := s.world()
	for _, c := range s.past() {
		if err := handlers[c.Kind](s.Context(), c); err != nil && !errors.Is(err, job.ErrLost) {
			t.Errorf("%s: %v", c.Kind, err)
		}
		s.unchanged(before, "an old "+c.Kind)
	}
}

// A job may be posted again, by whoever is not sure that it was carried out: it
// re-reads the truth, and finds nothing left to do.
func TestAJobThatIsPostedAgainChangesNothing(t *testing.T) {
	s := told(t)
	calls := len(s.Model.Calls)
	seen := map[string]int{}
	before := s.world()
	for _, c := range s.past() {
		kind, ok := job.ByName(c.Kind)
		if !ok {
			t.Fatalf("kind %s", c.Kind)
		}
		seen[c.Kind]++
		s.Must(s.Store.InTx(s.Context(), func(tx *store.Tx) error {
			return tx.PostJobs(s.Context(), job.Post{Kind: kind, Key: c.Key, IDs: c.IDs})
		}))
		s.Drain()
		s.unchanged(before, "a second "+c.Kind)
	}
	for _, k := range []job.Kind{job.Tick, job.Step, job.Settle, job.Handoff, job.Unlock} {
		if seen[k.Name] == 0 {
			t.Errorf("the story has no job of kind %s", k.Name)
		}
	}
	if n := len(s.Model.Calls) - calls; n != 0 {
		t.Errorf("the model is paid %d times more", n)
	}
}

// reconcile loses all jobs, lets time pass, and lets the house look after itself.
func (s story) reconcile() {
	s.Helper()
	s.sql(`delete from jobs`)
	for _, column := range []string{"tasks.updated_at", "tasks.completed_at", "task_dependencies.created_at", "task_moves.at", "ticks.created_at", "topics.started_at", "topics.completed_at", "operations.created_at", "operations.last_step_at", "operations.completed_at"} {
		table, name, _ := strings.Cut(column, ".")
		s.sql(fmt.Sprintf(`update %s set %s = %s - interval '1 minute' where %s is not null`, table, name, name, name))
	}
	s.Must(s.Sweep.Begin(s.Context()))
	s.Drain()
}

func TestTheHouseRepairsWhatIsMissing(t *testing.T) {
	t.Run("the step of an operation", func(t *testing.T) {
		s := begin(t)
		tk := s.create(steer.NewTask{Instruction: "Work.", Start: true})
		s.reconcile()
		s.is(tk.ID, task.Paused, task.AwaitingReview)
	})
	t.Run("the settling of a topic", func(t *testing.T) {
		s := begin(t)
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: heartbeat(600), Start: true})
		_, err := s.Steer.CancelTopic(s.Context(), s.Caller, s.topics(tk.ID)[0].ID)
		s.Must(err)
		s.reconcile()
		s.is(tk.ID, task.Scheduled, task.Interrupted)
		if tp := s.topics(tk.ID)[0]; tp.Status != topic.Canceled || tp.Handoff == nil {
			t.Errorf("%+v", tp)
		}
	})
	t.Run("a handoff", func(t *testing.T) {
		s := begin(t)
		tk := s.create(steer.NewTask{Instruction: "Work.", Start: true})
		s.Drain()
		s.sql(`update topics set handoff = null, handoff_source = null, handoff_at = null`)
		s.reconcile()
		if tp := s.topics(tk.ID)[0]; tp.Handoff == nil || tp.HandoffSource != "model" {
			t.Errorf("%+v", tp)
		}
	})
	t.Run("the handling of a tick", func(t *testing.T) {
		s := begin(t)
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: heartbeat(600)})
		_, err := s.Sweep.Sweep(s.Context())
		s.Must(err)
		s.reconcile()
		s.is(tk.ID, task.Scheduled, task.RanOn)
		if got := s.ledger(tk.ID); got != "ran" {
			t.Errorf("ledger: %s", got)
		}
	})
	t.Run("a queued tick", func(t *testing.T) {
		s, tk := queued(t)
		s.reconcile()
		if got := s.ledger(tk.ID); got != "ran ran" {
			t.Errorf("ledger: %s", got)
		}
	})
	t.Run("no tick that waits for its turn", func(t *testing.T) {
		s := begin(t)
		turn := task.Config{ConcurrencyKey: "mailbox"}
		s.create(steer.NewTask{Instruction: "First.", Config: turn, Start: true})
		second := s.create(steer.NewTask{Instruction: "Second.", Config: turn})
		if started := s.run(second.ID); !started.Queued {
			t.Fatalf("%+v", started)
		}
		s.sql(`update ticks set created_at = created_at - interval '1 minute'`)
		missing, err := s.Store.MissingJobs(s.Context(), 10)
		s.Must(err)
		if len(missing) != 0 {
			t.Errorf("missing: %+v", missing)
		}
		s.Drain()
		s.is(second.ID, task.Paused, task.AwaitingReview)
	})
	t.Run("the start of what waited", func(t *testing.T) {
		s := begin(t)
		up := s.create(steer.NewTask{Instruction: "First."})
		down := s.create(steer.NewTask{Instruction: "Then.", DependsOn: []steer.NewDependency{{Task: up.ID}}})
		_, err := s.Steer.CompleteTask(s.Context(), s.Caller, up.ID)
		s.Must(err)
		late := s.create(steer.NewTask{Instruction: "Later.", DependsOn: []steer.NewDependency{{Task: up.ID}}})
		s.reconcile()
		s.is(down.ID, task.Paused, task.AwaitingReview)
		s.is(late.ID, task.Backlog, task.Created) // nothing ended since it waits
	})
	t.Run("a task that nothing would start", func(t *testing.T) {
		s := begin(t)
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: heartbeat(600)})
		s.sql(`update tasks set next_planned_at = null, next_fire_at = null where id = $1`, tk.ID)
		s.reconcile()
		if got := s.is(tk.ID, task.Scheduled, task.Armed); got.NextFireAt == nil {
			t.Error("it has no next fire")
		}
	})
	t.Run("a one-shot that nothing would start", func(t *testing.T) {
		s := begin(t)
		at := time.Now().Add(time.Hour)
		tk := s.create(steer.NewTask{Instruction: "Work.", StartAt: &at})
		s.sql(`update tasks set next_planned_at = null, next_fire_at = null where id = $1`, tk.ID)
		s.reconcile()
		if got := s.is(tk.ID, task.Scheduled, task.Armed); got.NextFireAt == nil || !got.NextFireAt.Equal(*got.StartAt) {
			t.Errorf("its time is %v, want %v", got.NextFireAt, got.StartAt)
		}
	})
	t.Run("a task that runs without a run", func(t *testing.T) {
		s := begin(t)
		repeats := s.create(steer.NewTask{Instruction: "Work.", Automation: heartbeat(600)})
		s.Tick()
		s.put(repeats.ID, task.Running)
		s.sql(`update tasks set current_topic_id = (select id from topics where task_id = $1 limit 1), next_planned_at = null, next_fire_at = null where id = $1`, repeats.ID)
		once := s.create(steer.NewTask{Instruction: "Work."})
		s.put(once.ID, task.Running)
		s.reconcile()
		if got := s.is(repeats.ID, task.Scheduled, task.Interrupted); got.NextFireAt == nil || got.CurrentTopicID != nil {
			t.Errorf("%+v", got)
		}
		s.is(once.ID, task.Paused, task.Interrupted)
	})
	t.Run("nothing, where nothing is wrong", func(t *testing.T) {
		s := told(t)
		s.reconcile()
		before := s.world()
		s.reconcile()
		after := s.world()
		for _, table := range []string{"messages", "briefs", "documents", "tool_calls"} {
			if after[table] != before[table] {
				t.Errorf("%s changed", table)
			}
		}
		var jobs int
		s.Must(s.Store.Pool().QueryRow(s.Context(), `select count(*) from jobs where kind not in ('reconcile', 'retention')`).Scan(&jobs))
		if jobs != 0 {
			t.Errorf("%d jobs were posted", jobs)
		}
	})
}

// queued is a schedule whose second time waits for the first run, which has ended
// without anybody hearing of it.
func queued(t *testing.T) (story, task.Task) {
	s := begin(t)
	a := everyTenMinutes()
	a.Overlap = schedule.OverlapQueue
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: a})
	first := true
	s.Model.Reply = func(r turn.Request) (turn.Reply, error) {
		if r.Output == nil && first {
			first = false
			if second := s.run(tk.ID); !second.Queued {
				t.Errorf("%+v", second)
			}
		}
		return rig.Plain(r)
	}
	s.run(tk.ID)
	s.Drain()
	// Back to where the run has been settled and the tick not yet posted.
	if got := s.ledger(tk.ID); got != "ran ran" {
		t.Fatalf("ledger: %s", got)
	}
	second := s.topics(tk.ID)[0]
	s.sql(`update ticks set state = 'queued', reason = 'in_flight', topic_id = null, ended_at = null, dispatched_at = null where topic_id = $1`, second.ID)
	s.sql(`delete from briefs where topic_id = $1`, second.ID)
	s.sql(`delete from messages where topic_id = $1`, second.ID)
	s.sql(`delete from operations where topic_id = $1`, second.ID)
	s.sql(`delete from topics where id = $1`, second.ID)
	s.sql(`update tasks set total_topics = 1 where id = $1`, tk.ID)
	return s, tk
}

// A schedule that cannot be read does not keep its run from ending, nor others from
// being swept.
func TestAScheduleThatCannotBeRead(t *testing.T) {
	s := begin(t)
	bad := s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()})
	good := s.create(steer.NewTask{Instruction: "Work.", Automation: everyTenMinutes()})
	spoil := func() {
		s.sql(`update tasks set automation = jsonb_set(automation, '{timezone}', '"Mars/Olympus"') where id = $1`, bad.ID)
	}
	s.during(spoil)
	s.run(bad.ID)
	s.Drain()
	s.is(bad.ID, task.Paused, task.NoPattern)
	if tp := s.topics(bad.ID)[0]; tp.Status != topic.Completed {
		t.Errorf("%+v", tp)
	}
	s.Model.Reply = nil
	s.put(bad.ID, task.Scheduled)
	for _, tk := range []task.Task{bad, good} {
		s.sql(`update tasks set next_planned_at = now() - interval '1 second', next_fire_at = now() - interval '1 second' where id = $1`, tk.ID)
	}
	s.Tick()
	s.is(bad.ID, task.Paused, task.NoPattern)
	s.is(good.ID, task.Scheduled, task.RanOn)
	if c := s.causes(bad.ID); !strings.Contains(c, "no_pattern") {
		t.Errorf("briefs: %q", c)
	}
	again := everyTenMinutes()
	_, err := s.Steer.EditTask(s.Context(), s.Caller, bad.ID, nil, steer.TaskPatch{Automation: &again})
	s.Must(err)
	if c := s.causes(bad.ID); strings.Contains(c, "no_pattern") {
		t.Errorf("it can be read again, and %q is open", c)
	}
}
