package journey

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/brief"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
	"github.com/dogwatch/dogwatch/internal/domain/turn"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
	"github.com/dogwatch/dogwatch/internal/infra/store"
	"github.com/dogwatch/dogwatch/internal/testkit/rig"
)

// press presses a button of a brief.
func (s story) press(ref, action, comment string) []string {
	s.Helper()
	_, effects, err := s.Steer.ResolveBrief(s.Context(), s.Caller, ref, action, comment)
	s.Must(err)
	return effects
}

// refused presses a button that answers with a code.
func (s story) refused(ref, action, comment, code string) {
	s.Helper()
	if _, _, err := s.Steer.ResolveBrief(s.Context(), s.Caller, ref, action, comment); errs.CodeOf(err) != code {
		s.Errorf("%s on %s: %v, want %s", action, ref, err, code)
	}
}

// card opens a brief under a task.
func (s story) card(taskID string, d brief.Draft) brief.Brief {
	s.Helper()
	var b brief.Brief
	s.Must(s.Store.InTx(s.Context(), func(tx *store.Tx) (err error) {
		if taskID != "" {
			if _, err := tx.LockTask(s.Context(), s.Scope(), taskID); err != nil {
				return err
			}
		}
		b, _, err = tx.OpenBrief(s.Context(), s.Scope(), d, store.BriefFrom{TaskID: taskID})
		return err
	}))
	return b
}

func (s story) brief(id string) brief.Brief {
	s.Helper()
	b, err := s.Store.Brief(s.Context(), s.Scope(), id)
	s.Must(err)
	return b
}

func TestApproveOnAnAutomatedTaskConfirms(t *testing.T) {
	s := begin(t)
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: heartbeat(60)})
	s.Tick()
	if b := s.open(tk.ID)[0]; b.Actions[0] != brief.Confirm {
		t.Errorf("%+v", b.Actions)
	}
	s.press("B-1", "approve", "")
	if got := s.is(tk.ID, task.Scheduled, task.RanOn); got.NextFireAt == nil {
		t.Error("it does not go on")
	}
	if b := s.brief(s.allBriefs(tk.ID)[0].ID); b.ResolvedAt == nil || *b.ResolvedAction != "approve" || b.ResolvedBy.ID != s.Caller.ID {
		t.Errorf("%+v", b)
	}
}

func (s story) allBriefs(taskID string) []brief.Brief {
	s.Helper()
	bs, _, err := s.Store.Briefs(s.Context(), s.Scope(), store.BriefFilter{Task: taskID, State: "all"}, store.Page{})
	s.Must(err)
	return bs
}

func TestApproveOnATaskThatDoesNotWait(t *testing.T) {
	s := begin(t)
	tk := s.create(steer.NewTask{Instruction: "Work.", Start: true})
	s.Drain()
	s.run(tk.ID) // it runs again, with the card still open
	s.refused("B-1", "approve", "", "conflict")
	if b := s.open(tk.ID); len(b) != 1 {
		t.Errorf("nothing is resolved by a refusal: %+v", b)
	}
	s.Drain()
	s.press("B-1", "approve", "")
	s.is(tk.ID, task.Completed, task.Approved)
}

func TestRetryClosesItsBriefAfterAGoodRun(t *testing.T) {
	s := begin(t)
	s.fails()
	tk := s.create(steer.NewTask{Instruction: "Work.", Start: true})
	s.Drain()
	s.is(tk.ID, task.Paused, task.RunFailed)

	s.press("B-1", "retry", "")
	if b := s.open(tk.ID); len(b) != 1 || b[0].RetryTickID == nil {
		t.Fatalf("it closes when the run is done: %+v", b)
	}
	s.refused("B-1", "retry", "", "in_flight")
	s.Drain()
	if b := s.open(tk.ID); len(b) != 1 || b[0].Count != 2 {
		t.Fatalf("it failed again: %+v", b)
	}
	s.Model.Reply = nil
	s.press("B-1", "retry", "")
	s.Drain()
	s.is(tk.ID, task.Paused, task.AwaitingReview)
	if c := s.causes(tk.ID); c != brief.CauseResult {
		t.Errorf("open: %s", c)
	}
	if k := s.ticks(tk.ID)[0]; k.Origin != topic.Retry || k.State != topic.TickRan {
		t.Errorf("tick %+v", k)
	}
	s.refused("B-1", "retry", "", "already_resolved")
}

func TestAnErrorClosesByItselfWhenTheTaskRunsWellAgain(t *testing.T) {
	s := begin(t)
	s.fails()
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: heartbeat(60)})
	s.Tick()
	s.Model.Reply = nil
	s.Age(tk.ID, time.Minute)
	s.Tick()
	if c := s.causes(tk.ID); c != brief.CauseResult {
		t.Errorf("open: %s", c)
	}
	for _, b := range s.allBriefs(tk.ID) {
		if b.Cause == brief.CauseRunFailed && b.ResolvedBy.Kind != "system" {
			t.Errorf("%+v", b)
		}
	}
}

func TestResolvingTwice(t *testing.T) {
	s := begin(t)
	s.fails()
	tk := s.create(steer.NewTask{Instruction: "Work.", Start: true})
	s.Drain()
	s.press("B-1", "ignore", "")
	s.is(tk.ID, task.Paused, task.RunFailed)
	s.refused("B-1", "ignore", "", "already_resolved")
	s.refused("B-1", "retry", "", "already_resolved")
	s.refused("B-1", "explode", "", "already_resolved")
}

func TestFeedbackOnATaskThatHasEndedIsAComment(t *testing.T) {
	s := begin(t)
	tk := s.create(steer.NewTask{Instruction: "Work.", Start: true, Config: task.Config{Acceptance: task.Auto}})
	s.Drain()
	s.is(tk.ID, task.Completed, task.RanOn)
	s.press("B-1", "feedback", "Shorter next time.")
	s.Drain()
	s.is(tk.ID, task.Completed, task.RanOn)
	cs, _, err := s.Store.Comments(s.Context(), s.Scope(), tk.ID, store.Page{})
	s.Must(err)
	if len(cs) != 1 || cs[0].Content != "Shorter next time." || cs[0].BriefID == nil || len(s.topics(tk.ID)) != 1 {
		t.Errorf("comments %+v, %d runs", cs, len(s.topics(tk.ID)))
	}
	s.run(tk.ID)
	s.Drain()
	if p := s.lastPrompt(); !strings.Contains(p, "Shorter next time.") {
		t.Errorf("%s", p)
	}
}

func TestFeedbackRunsATaskThatWaits(t *testing.T) {
	s := begin(t)
	tk := s.create(steer.NewTask{Instruction: "Work.", Start: true})
	s.Drain()
	s.refused("B-1", "feedback", "   ", "invalid")
	s.refused("B-1", "feedback", strings.Repeat("x", 100_001), "invalid")
	s.press("B-1", "feedback", "Shorter.")
	s.Drain()
	if k := s.ticks(tk.ID)[0]; k.Origin != topic.Comment || k.State != topic.TickRan {
		t.Errorf("tick %+v", k)
	}
	if p := s.lastPrompt(); !strings.Contains(p, "Shorter.") {
		t.Errorf("%s", p)
	}
	s.is(tk.ID, task.Paused, task.AwaitingReview)
}

func TestTheAgentsOwnChoiceIsItsAnswer(t *testing.T) {
	s := begin(t)
	s.calls("create_brief", `{"type": "decision", "title": "Two mails from a bank", "summary": "They look odd.",
		"choices": [{"key": "ignore", "label": "Ignore them"}, {"key": "stop", "label": "Stop the sender"}]}`)
	tk := s.create(steer.NewTask{Instruction: "Look after the mails.", Automation: heartbeat(60)})
	s.Tick()
	s.press("B-1", "ignore", "")
	s.Drain()
	s.is(tk.ID, task.Scheduled, task.RanOn)
	if p := s.lastPrompt(); !strings.Contains(p, "ignore (Ignore them)") {
		t.Errorf("the agent is not told:\n%s", p)
	}
}

func TestTheButtonsOfTheFuse(t *testing.T) {
	blow := func(t *testing.T) (story, task.Task) {
		s := begin(t)
		s.fails()
		tk := s.create(steer.NewTask{Instruction: "Work.", Automation: heartbeat(60), Config: task.Config{FailureFuse: 1}})
		s.Tick()
		s.is(tk.ID, task.Paused, task.Fuse)
		s.refused("B-1", "edit", "", "invalid")
		s.Model.Reply = nil
		return s, tk
	}
	t.Run("resume", func(t *testing.T) {
		s, tk := blow(t)
		s.press("B-1", "resume", "")
		if got := s.is(tk.ID, task.Scheduled, task.ByPerson); got.Failures != 0 || len(s.topics(tk.ID)) != 1 {
			t.Errorf("%+v", got)
		}
	})
	t.Run("run once", func(t *testing.T) {
		s, tk := blow(t)
		s.press("B-1", "run_once", "")
		s.Drain()
		if got := s.is(tk.ID, task.Scheduled, task.RanOn); got.Failures != 0 || len(s.topics(tk.ID)) != 2 {
			t.Errorf("%+v", got)
		}
	})
}

func TestTheButtonsOfABudget(t *testing.T) {
	spend := func(t *testing.T) (story, task.Task) {
		s := begin(t)
		s.Model.Reply = func(r turn.Request) (turn.Reply, error) {
			if r.Output != nil {
				return rig.Plain(r)
			}
			reply := rig.Wants("current_time", `{}`)
			reply.Usage.InputTokens = 49_000
			return reply, nil
		}
		tk := s.create(steer.NewTask{Instruction: "Work.", Start: true, Config: task.Config{Budget: task.Budget{Operation: task.Allowance{Tokens: 50_000}}}})
		s.Drain()
		s.is(tk.ID, task.Paused, task.OverBudget)
		if b := s.open(tk.ID)[0]; b.Type != brief.Decision || b.Priority != brief.Urgent || b.Cause != brief.CauseBudget {
			t.Errorf("%+v", b)
		}
		if tp := s.topics(tk.ID)[0]; tp.Status != topic.Completed || tp.Handoff == nil || tp.Handoff.Unfinished == "" {
			t.Errorf("a partial run's handoff says what is unfinished: %+v", tp.Handoff)
		}
		s.Model.Reply = nil
		return s, tk
	}
	t.Run("continue", func(t *testing.T) {
		s, tk := spend(t)
		s.press("B-1", "continue", "")
		s.Drain()
		s.is(tk.ID, task.Paused, task.AwaitingReview)
	})
	t.Run("stop", func(t *testing.T) {
		s, tk := spend(t)
		s.press("B-1", "stop", "")
		s.is(tk.ID, task.Canceled, task.ByPerson)
	})
	t.Run("resume of the task answers it", func(t *testing.T) {
		s, tk := spend(t)
		_, err := s.Steer.ResumeTask(s.Context(), s.Caller, tk.ID, false)
		s.Must(err)
		if c := s.causes(tk.ID); c != "" {
			t.Errorf("it still waits for %s", c)
		}
	})
}

func TestARunAtItsLimitOfStepsSaysWhatIsLeft(t *testing.T) {
	s := begin(t)
	s.Model.Reply = func(r turn.Request) (turn.Reply, error) {
		if r.Output != nil {
			return rig.Says(`{"title": "Half", "summary": "Half is done.", "keyFindings": [], "nextAction": "", "unfinished": "The mails of May."}`), nil
		}
		return rig.Wants("current_time", `{}`), nil
	}
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: heartbeat(60), Config: task.Config{Budget: task.Budget{Operation: task.Allowance{Steps: 2}}}})
	s.Tick()
	s.is(tk.ID, task.Scheduled, task.RanOnPartial)
	bs := s.open(tk.ID)
	if len(bs) != 1 || bs[0].Type != brief.Insight || bs[0].Count != 1 || !strings.Contains(bs[0].Summary, "The mails of May.") {
		t.Errorf("%+v", bs)
	}
	s.press("B-1", "acknowledge", "")
	s.is(tk.ID, task.Scheduled, task.RanOnPartial)
}

func TestDocumentsOfARunStandOnItsCard(t *testing.T) {
	s := begin(t)
	s.calls("write_document", `{"title": "Report", "content": "All is well."}`)
	tk := s.create(steer.NewTask{Instruction: "Work.", Start: true})
	s.Drain()
	if b := s.open(tk.ID)[0]; len(b.Artifacts) != 1 || b.Artifacts[0].Title != "Report" {
		t.Errorf("%+v", b)
	}
}

// The refused beat set the next one an interval away: once nobody is in the way any
// more, it comes now.
func TestAnAnswerLetsAHeldHeartbeatBeat(t *testing.T) {
	s := begin(t)
	tk := s.create(steer.NewTask{Instruction: "Work.", Automation: heartbeat(86_400)})
	b := s.card(tk.ID, brief.Draft{Type: brief.Insight, Priority: brief.Urgent, Cause: "asked:disk", Title: "The disk is full", Summary: "See.", Actions: []brief.Action{brief.Acknowledge}})
	s.Tick()
	if k := s.ticks(tk.ID)[0]; k.State != topic.TickSkipped || *k.Reason != string(task.WaitingForHuman) {
		t.Fatalf("tick %+v", k)
	}
	s.Tick()
	if n := len(s.ticks(tk.ID)); n != 1 {
		t.Fatalf("%d ticks", n)
	}
	s.press(b.ID, "acknowledge", "")
	s.Tick()
	s.is(tk.ID, task.Scheduled, task.RanOn)
}

func TestABriefAboutNoTask(t *testing.T) {
	s := begin(t)
	b := s.card("", brief.Draft{Type: brief.Result, Priority: brief.Normal, Cause: "news", Title: "News", Summary: "Some.", Actions: []brief.Action{brief.Approve}})
	s.press(b.ID, "approve", "")
	s.refused(b.ID, "approve", "", "already_resolved")
}

// The recorded cases of pressing buttons.
func TestCasesOfBriefs(t *testing.T) {
	offers := map[brief.Type][]brief.Action{
		brief.Decision: {{Key: "approve", Label: "Approve", Kind: brief.Resolve}, brief.Feedback},
		brief.Result:   {brief.Approve, brief.Feedback},
		brief.Insight:  {brief.Acknowledge, brief.Feedback},
		brief.Error:    {brief.Retry, brief.Feedback, brief.Ignore},
	}
	causes := map[brief.Type]string{brief.Decision: "asked:it", brief.Result: brief.CauseResult, brief.Insight: brief.CauseLimit, brief.Error: brief.CauseRunFailed}
	s := begin(t)
	for _, c := range readCases(t, "brief-resolve") {
		t.Run(c.ID, func(t *testing.T) {
			s := s.in(t)
			var in struct {
				Brief           *struct{ Type brief.Type }
				Task            *struct{ Status task.Status }
				Action, Comment string
			}
			s.Must(json.Unmarshal(c.Input, &in))
			var want struct {
				Found, BriefResolved, CompletedAtSet, CascadeStarted bool
				ResolvedAction                                       string
				TaskStatus                                           task.Status
			}
			s.Must(json.Unmarshal(c.Expect, &want))
			asked := steer.NewTask{Instruction: "Work."}
			if in.Task != nil && in.Task.Status == task.Scheduled {
				asked.Automation = heartbeat(86_400)
			}
			tk := s.create(asked)
			down := s.create(steer.NewTask{Instruction: "After.", DependsOn: []steer.NewDependency{{Task: tk.ID, Condition: "success"}}})
			if in.Task == nil {
				s.sql(`update tasks set deleted_at = now(), status = 'canceled', completed_at = now() where id = $1`, tk.ID)
			} else {
				s.put(tk.ID, in.Task.Status)
			}
			id := "0198c0de-0000-7000-8000-000000000000"
			if in.Brief != nil {
				id = s.card(tk.ID, brief.Draft{Type: in.Brief.Type, Priority: brief.Normal, Cause: causes[in.Brief.Type], Title: "T", Summary: "S", Actions: offers[in.Brief.Type]}).ID
			}
			_, _, err := s.Steer.ResolveBrief(s.Context(), s.Caller, id, in.Action, in.Comment)
			if found := errs.KindOf(err) != errs.NotFound; found != want.Found {
				t.Errorf("found %v: %v", found, err)
			}
			if in.Brief != nil {
				b := s.brief(id)
				if action := deref(b.ResolvedAction); !b.Open() != want.BriefResolved || action != want.ResolvedAction {
					t.Errorf("resolved %v with %q, want %v with %q (%v)", !b.Open(), action, want.BriefResolved, want.ResolvedAction, err)
				}
			}
			got := s.task(tk.ID)
			if in.Task != nil && (got.Status != want.TaskStatus || (got.Status == task.Completed && in.Task.Status != task.Completed) != want.CompletedAtSet && want.CompletedAtSet) {
				t.Errorf("the task is %s, want %s", got.Status, want.TaskStatus)
			}
			s.Model.Reply = func(r turn.Request) (turn.Reply, error) { return rig.Plain(r) }
			before := len(s.topics(down.ID))
			if want.CascadeStarted {
				s.Drain()
			}
			if started := len(s.topics(down.ID)) > before; started != want.CascadeStarted {
				t.Errorf("what waited was started: %v", started)
			}
		})
	}
}

// in is the story told in a subtest.
func (s story) in(t *testing.T) story {
	r := *s.Rig
	r.TB = t
	return story{&r}
}

// put gives a task a status, as if it had come to it by the usual road.
func (s story) put(taskID string, status task.Status) {
	s.Helper()
	reason := map[task.Status]task.Reason{
		task.Backlog: task.Created, task.Scheduled: task.Armed, task.Running: task.Launched, task.Paused: task.AwaitingReview,
		task.Completed: task.ByPerson, task.Failed: task.RunFailed, task.Canceled: task.ByPerson,
	}[status]
	s.sql(`update tasks set status = $2, status_reason = $3, completed_at = case when $4 then now() end,
		next_planned_at = case when $2 in ('scheduled', 'running') then next_planned_at end,
		next_fire_at = case when $2 in ('scheduled', 'running') then next_fire_at end where id = $1`, taskID, status, reason, status.Terminal())
}

type recordedCase struct {
	ID, Kind      string
	Input, Expect json.RawMessage
	Ours          json.RawMessage
	OursOpen      json.RawMessage
}

// readCases returns the recorded cases of a kind, with our answer laid over the
// recording. Those that do not apply to us, or that our rules leave open, are left out.
func readCases(t *testing.T, kind string) []recordedCase {
	t.Helper()
	dir := os.Getenv("DOGWATCH_CASES")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "cases")
	}
	data, err := os.ReadFile(filepath.Join(dir, "lifecycle.json"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the recorded cases are not part of a clone; DOGWATCH_CASES names their folder")
	}
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []recordedCase }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	file.Cases = slices.DeleteFunc(file.Cases, func(c recordedCase) bool {
		return c.Kind != kind || c.OursOpen != nil || string(c.Ours) == "null"
	})
	for i, c := range file.Cases {
		fields := map[string]json.RawMessage{}
		if err := json.Unmarshal(c.Expect, &fields); err != nil {
			t.Fatalf("%s: %v", c.ID, err)
		}
		if c.Ours != nil {
			if err := json.Unmarshal(c.Ours, &fields); err != nil {
				t.Fatalf("%s: %v", c.ID, err)
			}
		}
		if file.Cases[i].Expect, err = json.Marshal(fields); err != nil {
			t.Fatal(err)
		}
	}
	if len(file.Cases) == 0 {
		t.Fatalf("no case of kind %s", kind)
	}
	return file.Cases
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
