// Package launch turns a tick into a run: it locks the task, re-reads what is
// true, asks the gate, and opens a topic or records why not. Every road to a run
// goes through [Launcher.Launch].
package launch

import (
	"context"
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/base/killpoint"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/agent"
	"github.com/dogwatch/dogwatch/internal/domain/handoff"
	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// Models says which model works where nobody names one.
type Models interface {
	Default() string // "provider/model"
}

// Launcher opens topics.
type Launcher struct {
	store  *store.Store
	models Models
	limits operation.Limits // of an operation, where task and agent set none

	observe func(o topic.Origin, outcome string)
}

// Outcomes of asking the gate, beside the reasons of its refusals.
const (
	outcomeOpened = "opened"
	outcomeQueued = "queued"
	outcomeMade   = "made"
)

// Observe lets f hear what came of each launch that was committed: opened, queued, or
// the gate's reason. It is set once, before anything runs.
func (l *Launcher) Observe(f func(o topic.Origin, outcome string)) { l.observe = f }

// New returns a launcher.
func New(s *store.Store, m Models, limits operation.Limits) *Launcher {
	return &Launcher{store: s, models: m, limits: limits}
}

// Tick handles [job.Tick]: a tick that is pending or queued becomes a topic, or
// ends with its reason.
func (l *Launcher) Tick(ctx context.Context, c job.Claim) error {
	sc := access.In(c.IDs.Workspace)
	return l.store.Finish(ctx, c, func(ctx context.Context, tx *store.Tx) error {
		t, err := tx.LockTask(ctx, sc, c.IDs.Task)
		if errs.KindOf(err) == errs.NotFound {
			return nil // the workspace went away, and its tasks with it
		}
		if err != nil {
			return err
		}
		tick, err := tx.Tick(ctx, sc, c.IDs.Tick)
		switch {
		case errs.KindOf(err) == errs.NotFound:
			return nil
		case err != nil:
			return err
		case tick.State != topic.TickPending && tick.State != topic.TickQueued:
			return nil // handled before: a duplicate
		}
		_, err = l.Launch(ctx, tx, sc, t, tick)
		return err
	})
}

// Outcome is what became of a tick.
type Outcome struct {
	TopicID, OperationID string // "" when no topic was opened
	MadeTaskID           string // the task that a template made; "" for none
	Verdict              task.Verdict
	Queued               bool
}

// Launch asks the gate about a tick of a task that the caller holds locked, and
// carries out its answer.
func (l *Launcher) Launch(ctx context.Context, tx *store.Tx, sc access.Scope, t task.Task, tick store.Tick) (Outcome, error) {
	out, err := l.decide(ctx, tx, sc, t, tick)
	if err == nil && l.observe != nil {
		outcome := outcomeOpened
		switch {
		case out.Queued:
			outcome = outcomeQueued
		case out.MadeTaskID != "":
			outcome = outcomeMade
		case !out.Verdict.OK():
			outcome = string(out.Verdict.Reason)
		}
		tx.AfterCommit(func() { l.observe(tick.Origin, outcome) })
	}
	return out, err
}

func (l *Launcher) decide(ctx context.Context, tx *store.Tx, sc access.Scope, t task.Task, tick store.Tick) (Outcome, error) {
	spec, err := t.Spec()
	if err != nil {
		return Outcome{}, err
	}
	if tick.PlannedAt != nil && tick.State == topic.TickPending && tick.Origin != topic.Backfill && spec != nil {
		now, err := tx.Now(ctx)
		if err != nil {
			return Outcome{}, err
		}
		// Nobody handled the tick for so long that its policy gives the time up.
		if reason, lapsed := spec.Lapsed(tick.FireAt, now); lapsed {
			if err := tx.EndTick(ctx, sc, tick.ID, topic.TickMissed, task.Reason(reason)); err != nil {
				return Outcome{}, err
			}
			return Outcome{Verdict: task.Verdict{Reason: task.Reason(reason)}}, rearm(ctx, tx, sc, t, spec, tick, nil)
		}
	}
	if t.Makes() { // what it makes takes a number: the workspace's row comes before its gate
		if _, err := tx.LockWorkspace(ctx, sc); err != nil {
			return Outcome{}, err
		}
	}
	if err := tx.PassGate(ctx, sc); err != nil {
		return Outcome{}, err
	}
	facts, ag, err := l.gather(ctx, tx.Reader, sc, &t, spec, tick)
	if err != nil {
		return Outcome{}, err
	}
	v := task.Admit(facts)
	killpoint.Hit("admitted")
	if v.OK() && t.Makes() {
		return l.makeTask(ctx, tx, sc, t, spec, tick, ag, v)
	}
	topicID := id.New()
	if key := t.Config.ConcurrencyKey; v.OK() && key != "" {
		free, err := tx.TakeSlot(ctx, sc, key, t.ID, topicID)
		if err != nil {
			return Outcome{}, err
		}
		if !free { // taken between the question and now
			v.Reason, v.Detail = task.Concurrency, fmt.Sprintf("Another task has the turn on %q; this one waits for it.", key)
		}
	}
	if v.OK() {
		return l.open(ctx, tx, sc, t, spec, tick, ag, v, topicID)
	}
	return l.refuse(ctx, tx, sc, t, spec, tick, v)
}

// open opens the topic with its operation and the job of its first step.
func (l *Launcher) open(ctx context.Context, tx *store.Tx, sc access.Scope, t task.Task, spec *schedule.Spec, tick store.Tick, ag agent.Agent, v task.Verdict, topicID string) (Outcome, error) {
	operationID := id.New()
	title := t.Name
	if tick.Note != nil && *tick.Note != "" {
		title = *tick.Note
	}
	m, err := t.Move(task.Running, task.Launched, access.Actor{Kind: tick.ActorKind, ID: deref(tick.ActorID)})
	if err != nil {
		return Outcome{}, err
	}
	now, err := tx.Now(ctx)
	if err != nil {
		return Outcome{}, err
	}
	// A run by hand before its time leaves a one-shot its time, unless that went by
	// while the task was paused or had ended: nobody wants it twice.
	once := tick.Origin == topic.Once || t.StartAt != nil && !t.StartAt.After(now) && t.Status != task.Scheduled
	err = inOrder(
		func() error {
			return tx.OpenTopic(ctx, sc, topic.Topic{
				ID: topicID, TaskID: t.ID, TickID: tick.ID, Seq: t.TotalTopics + 1, Origin: tick.Origin,
				Title: handoff.Cut(title, 100), ContinuesTopicID: tick.ContinuesTopicID,
			})
		},
		func() error {
			return tx.CreateOperation(ctx, sc, store.Operation{
				ID: operationID, TaskID: t.ID, TopicID: topicID, AgentID: &ag.ID, AgentRevisionID: &ag.RevisionID, Try: 1,
				Model:  first(t.Config.Model, ag.Profile.Model, l.models.Default()),
				Limits: limitsOf(t).Or(ag.Profile.Limits).Or(l.limits),
			})
		},
		func() error {
			return tx.LaunchTask(ctx, sc, m, store.TaskRun{
				TopicID: topicID, AgentID: ag.ID, Scheduled: tick.Origin.Planned(), Once: once,
				Rearm: t.Status.Terminal() && t.Automated(), // running it again reopens it
				Next:  nextAtLaunch(t, spec, now),
			})
		},
		func() error {
			return tx.PostJobs(ctx, job.Post{Kind: job.Step, Key: operationID, IDs: job.IDs{
				Workspace: sc.Workspace(), Task: t.ID, Topic: topicID, Operation: operationID,
			}})
		},
	)
	return Outcome{TopicID: topicID, OperationID: operationID, Verdict: v}, err
}

// nextAtLaunch is the next fire of a task that begins to run; nil: it keeps the one
// that it has while it runs, which is what overlap is about.
func nextAtLaunch(t task.Task, spec *schedule.Spec, now time.Time) *schedule.Slot {
	switch {
	case !t.Automated() || t.Automation.Mode == schedule.Heartbeat:
		return &schedule.Slot{} // armed again when the run ends
	case t.Status != task.Scheduled: // it was paused or had ended, and has no next fire
		next := spec.Arm(t.ID, now)
		return &next
	}
	return nil
}

// refuse ends the tick with the reason of the refusal, or lets it wait. What time
// alone would start is armed again.
func (l *Launcher) refuse(ctx context.Context, tx *store.Tx, sc access.Scope, t task.Task, spec *schedule.Spec, tick store.Tick, v task.Verdict) (Outcome, error) {
	out := Outcome{Verdict: v}
	waits := v.Reason == task.InFlight || v.Reason == task.Concurrency
	if waits && tick.State == topic.TickQueued {
		out.Queued = true // another run came first: it goes on waiting
		return out, nil
	}
	if v.Until != nil && !tick.Origin.Planned() {
		// No schedule comes back to it: it waits until the quiet hours end.
		return l.sleep(ctx, tx, sc, t, tick, v)
	}
	if v.Reason == task.Concurrency && tick.Origin != topic.Backfill { // a backfill asks again by itself
		queued, err := l.wait(ctx, tx, sc, t, tick, v.Reason)
		if out.Queued = queued; queued || err != nil {
			return out, err
		}
	}
	way, err := overlap(ctx, tx, sc, t, spec, tick)
	if err != nil {
		return out, err
	}
	if v.Reason == task.InFlight && tick.State == topic.TickPending && way != schedule.OverlapSkip {
		queued, err := l.queue(ctx, tx, sc, t, way, tick)
		if out.Queued = queued; queued || err != nil {
			return out, err
		}
	}
	if err := tx.EndTick(ctx, sc, tick.ID, topic.TickSkipped, v.Reason); err != nil {
		return out, err
	}
	if err := alarm(ctx, tx, sc, t, tick, v); err != nil {
		return out, err
	}
	if v.Reason.UsesUp() && tick.Origin.Planned() && t.Status == task.Scheduled {
		return out, complete(ctx, tx, sc, t, v.Reason)
	}
	return out, rearm(ctx, tx, sc, t, spec, tick, v.Until)
}

// alarm counts a planned time that did not run for want of something, and tells a
// person when that goes on.
func alarm(ctx context.Context, tx *store.Tx, sc access.Scope, t task.Task, tick store.Tick, v task.Verdict) error {
	if !v.Reason.Alarms() || !tick.Origin.Repeats() {
		return nil
	}
	skips, err := tx.CountSkip(ctx, sc, t.ID)
	if err != nil {
		return err
	}
	b := task.BriefOfSkips(t, skips, v)
	if b == nil {
		return nil
	}
	if known, err := tx.ResolvedWithin(ctx, sc, t.ID, b.Cause, task.SkipsAgainAfter); err != nil || known {
		return err
	}
	_, _, err = tx.OpenBrief(ctx, sc, *b, store.BriefFrom{TaskID: t.ID, TopicID: deref(t.CurrentTopicID)})
	return err
}

// sleep lets a tick wait until a time at which it is asked about again. When another
// one of the task waits already, that one stands for both.
func (l *Launcher) sleep(ctx context.Context, tx *store.Tx, sc access.Scope, t task.Task, tick store.Tick, v task.Verdict) (Outcome, error) {
	if tick.State != topic.TickQueued {
		if queued, err := l.wait(ctx, tx, sc, t, tick, v.Reason); err != nil {
			return Outcome{}, err
		} else if !queued {
			return Outcome{Verdict: v}, tx.EndTick(ctx, sc, tick.ID, topic.TickSkipped, v.Reason)
		}
	}
	now, err := tx.Now(ctx)
	if err != nil {
		return Outcome{}, err
	}
	wake := store.TickOf(tick)
	wake.Delay = max(v.Until.Sub(now), 0) + task.MaxLead - t.Priority.Lead() // the more urgent first
	return Outcome{Verdict: v, Queued: true}, tx.PostJobs(ctx, wake)
}

// wait lets a tick wait for what stands against it. At most one waits; it reports
// whether this one does.
func (l *Launcher) wait(ctx context.Context, tx *store.Tx, sc access.Scope, t task.Task, tick store.Tick, why task.Reason) (bool, error) {
	waiting, err := tx.QueuedTick(ctx, sc, t.ID)
	if err != nil || waiting != nil {
		return false, err
	}
	return true, tx.QueueTick(ctx, sc, tick.ID, why)
}

// overlap says what becomes of a tick while a run is open: what its schedule says,
// but a backfill always gives way to the schedule's own times.
func overlap(ctx context.Context, tx *store.Tx, sc access.Scope, t task.Task, spec *schedule.Spec, tick store.Tick) (string, error) {
	if spec == nil {
		return schedule.OverlapSkip, nil
	}
	if tick.PlannedAt == nil || tick.Origin == topic.Backfill || t.CurrentTopicID == nil {
		return spec.Overlap(), nil
	}
	open, err := tx.Topic(ctx, sc, *t.CurrentTopicID)
	if err == nil && open.Origin == topic.Backfill {
		return schedule.OverlapCancel, nil
	}
	return spec.Overlap(), err
}

// queue lets a tick wait for the open run, which `cancel` also stops.
func (l *Launcher) queue(ctx context.Context, tx *store.Tx, sc access.Scope, t task.Task, way string, tick store.Tick) (bool, error) {
	if queued, err := l.wait(ctx, tx, sc, t, tick, task.InFlight); err != nil || !queued {
		return false, err
	}
	if way != schedule.OverlapCancel || t.CurrentTopicID == nil {
		return true, nil
	}
	return true, tx.StopTopic(ctx, sc, *t.CurrentTopicID, operation.DetailSuperseded)
}

// onceAgain is when a one-shot that was refused asks again: its one time is due,
// and what stood against it may pass.
const onceAgain = time.Minute

// rearm gives a task that a refused tick leaves without a future its next fire,
// or completes it when its bounds are used up. What refused it is known to pass at
// until, unless that is nil.
func rearm(ctx context.Context, tx *store.Tx, sc access.Scope, t task.Task, spec *schedule.Spec, tick store.Tick, until *time.Time) error {
	if t.Status != task.Scheduled || t.DeletedAt != nil || spec == nil {
		return nil // a run is open and arms it when it ends; or it is not armed
	}
	now, err := tx.Now(ctx)
	if err != nil {
		return err
	}
	switch {
	case tick.Origin == topic.Once:
		at := now.Add(onceAgain).Truncate(time.Microsecond)
		if until != nil && until.After(at) {
			at = *until
		}
		return tx.SetNext(ctx, sc, t.ID, schedule.Slot{PlannedAt: at, FireAt: at})
	case t.Automation == nil:
		return nil
	case spec.Mode() == schedule.Heartbeat:
		if t.NextPlannedAt != nil {
			return nil
		}
		if next := spec.Beat(t.ID, now, 0); next != (schedule.Slot{}) {
			return tx.SetNext(ctx, sc, t.ID, next)
		}
	case t.NextPlannedAt != nil:
		return nil
	}
	return complete(ctx, tx, sc, t, task.BoundsUsedUp)
}

// complete ends a task that has had all its runs.
func complete(ctx context.Context, tx *store.Tx, sc access.Scope, t task.Task, why task.Reason) error {
	if why == task.MaxExecutions {
		why = task.BoundsUsedUp
	}
	m, err := t.Move(task.Completed, why, access.House)
	if err != nil {
		return err
	}
	return tx.MoveTask(ctx, sc, m)
}

// limitsOf is what a task sets of its operations' limits.
func limitsOf(t task.Task) operation.Limits {
	l := t.Config.Budget.Operation.Limits()
	if t.Automation != nil {
		l.SilenceSeconds = int(t.Automation.TimeoutSeconds)
	}
	return l
}

func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func first(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
