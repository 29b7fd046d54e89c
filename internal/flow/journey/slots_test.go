package journey

import (
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/brief"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
	"github.com/dogwatch/dogwatch/internal/domain/turn"
	"github.com/dogwatch/dogwatch/internal/flow/launch"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
	"github.com/dogwatch/dogwatch/internal/testkit/rig"
)

func TestOneRunAtATimeForAConcurrencyKey(t *testing.T) {
	s := begin(t)
	crm := task.Config{ConcurrencyKey: "crm"}
	a := s.create(steer.NewTask{Instruction: "First on the CRM.", Config: crm, Start: true})
	b := s.create(steer.NewTask{Instruction: "Second on the CRM.", Config: crm})
	c := s.create(steer.NewTask{Instruction: "Third on the CRM.", Config: crm, Automation: heartbeat(60)})
	other := s.create(steer.NewTask{Instruction: "On something else.", Config: task.Config{ConcurrencyKey: "mail"}, Start: true})

	// While the first runs, the others wait: by hand or by time.
	started, err := s.Launch.RunTask(s.Context(), s.Caller, b.ID, launch.Request{})
	s.Must(err)
	if !started.Queued || started.TopicID != "" {
		t.Fatalf("started %+v", started)
	}
	why, err := s.Launch.Why(s.Context(), s.Caller, b.ID)
	s.Must(err)
	if why.Verdict.Reason != task.Concurrency {
		t.Errorf("why = %+v", why.Verdict)
	}
	if _, err := s.Sweep.Sweep(s.Context()); err != nil {
		t.Fatal(err)
	}
	// Everything runs in the end, one after the other.
	most, open := 0, 0
	s.Model.Reply = func(r turn.Request) (turn.Reply, error) {
		s.Must(s.Store.Pool().QueryRow(s.Context(), `select count(*) from topics p join tasks t on t.id = p.task_id
			where p.status = 'running' and t.config ->> 'concurrencyKey' = 'crm'`).Scan(&open))
		most = max(most, open)
		return rig.Plain(r)
	}
	s.Drain()
	for _, id := range []string{a.ID, b.ID, c.ID, other.ID} {
		if ts := s.topics(id); len(ts) != 1 || ts[0].Status != topic.Completed {
			t.Errorf("%s: topics %+v", s.task(id).Identifier, ts)
		}
	}
	if most != 1 {
		t.Errorf("%d runs on one key at once", most)
	}
	var slots int
	s.Must(s.Store.Pool().QueryRow(s.Context(), `select count(*) from slots`).Scan(&slots))
	if slots != 0 {
		t.Errorf("%d slots are still held", slots)
	}
}

func TestARunWithoutProgressTimesOut(t *testing.T) {
	s := begin(t)
	beat := heartbeat(60)
	beat.TimeoutSeconds = 30
	tk := s.create(steer.NewTask{Instruction: "Get stuck.", Automation: beat})
	_, err := s.Sweep.Sweep(s.Context())
	s.Must(err)
	s.Model.Reply = func(turn.Request) (turn.Reply, error) { // the provider is away, and the step is tried again and again
		return turn.Reply{}, &turn.ModelError{Class: turn.ErrOverloaded, Status: 503, Msg: "too much to do"}
	}
	if n, err := s.Sweep.EndStalled(s.Context()); n != 0 || err != nil {
		t.Fatalf("ended %d, %v", n, err)
	}
	s.Must(s.Store.Pool().QueryRow(s.Context(), `select 1`).Scan(new(int)))
	run, err := s.Launch.RunTask(s.Context(), s.Caller, tk.ID, launch.Request{})
	s.Must(err)
	_, err = s.Store.Pool().Exec(s.Context(), `update operations set deadline_at = clock_timestamp() - interval '1 second' where id = $1`, run.OperationID)
	s.Must(err)
	if n, err := s.Sweep.EndStalled(s.Context()); n != 1 || err != nil {
		t.Fatalf("ended %d, %v", n, err)
	}
	if n, err := s.Sweep.EndStalled(s.Context()); n != 0 || err != nil {
		t.Fatalf("ended again: %d, %v", n, err)
	}
	s.Drain()
	tp := s.topics(tk.ID)[0]
	if tp.Status != topic.Timeout || tp.ReasonDetail != operation.DetailHeartbeatTimeout || tp.Handoff == nil {
		t.Errorf("topic %+v", tp)
	}
	if bs := s.open(tk.ID); len(bs) != 1 || bs[0].Type != brief.Error {
		t.Errorf("briefs %+v", bs)
	}
	if got := s.is(tk.ID, task.Scheduled, task.RunFailed); got.NextFireAt == nil {
		t.Errorf("%+v", got)
	}
}

func TestACommittedStepMovesTheDeadline(t *testing.T) {
	s := begin(t)
	beat := heartbeat(60)
	beat.TimeoutSeconds = 30
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: beat})
	var deadlines []time.Time
	s.Model.Reply = func(r turn.Request) (turn.Reply, error) {
		if r.Output != nil {
			return rig.Plain(r)
		}
		ops, err := s.Store.TopicOperations(s.Context(), s.Scope(), s.topics(tk.ID)[0].ID)
		s.Must(err)
		deadlines = append(deadlines, *ops[0].DeadlineAt)
		if len(deadlines) < 3 {
			return rig.Wants("current_time", `{}`), nil
		}
		return rig.Plain(r)
	}
	s.Tick()
	if len(deadlines) != 3 || !deadlines[0].Before(deadlines[1]) || !deadlines[1].Before(deadlines[2]) {
		t.Errorf("deadlines %v", deadlines)
	}
}
