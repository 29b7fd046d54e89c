package task

import (
	"strings"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/brief"
	"github.com/dogwatch/dogwatch/internal/domain/handoff"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
)

func repeated(n int) func(*Task) { return func(t *Task) { t.Repeats = n } }

var (
	stuck = handoff.Handoff{
		Title: "No entry", Summary: "The CRM asks for a password that I do not have.", NextAction: "Log in to the CRM.",
		Unfinished: "The leads were not read.",
	}
	watch = handoff.Handoff{Title: "Quiet", Summary: "Nothing new.", KeyFindings: []string{}, NextAction: "Look again."}
)

// left is what a heartbeat's run left, after another that left the same.
func left(h handoff.Handoff) Left {
	return Left{Handoff: h, Previous: &h, Origin: topic.Heartbeat, Status: topic.Completed, Reason: operation.ReasonDone}
}

func (l Left) after(h handoff.Handoff) Left           { l.Previous = &h; return l }
func (l Left) first() Left                            { l.Previous = nil; return l }
func (l Left) of(o topic.Origin) Left                 { l.Origin = o; return l }
func (l Left) ended(s topic.Status) Left              { l.Status = s; return l }
func (l Left) because(r operation.Reason) Left        { l.Reason = r; return l }
func but(edit func(*handoff.Handoff)) handoff.Handoff { h := stuck; edit(&h); return h }

func TestWhichRunsCountAsGettingNowhere(t *testing.T) {
	const starts, stays = 0, 2 // of a task that has two repeats
	for _, c := range []struct {
		name string
		task Task
		left Left
		want int
	}{
		{"the same again", running(beats, repeated(2)), left(stuck), 3},
		{"in other signs, spaces and case", running(beats, repeated(2)),
			left(stuck).after(but(func(h *handoff.Handoff) {
				h.Summary, h.NextAction = "the CRM asks for a password (that I do not have)", "LOG IN to the CRM"
			})), 3},
		{"on a schedule", running(hourly, repeated(2)), left(stuck).of(topic.Schedule), 3},
		{"at its limit of steps", running(beats, repeated(2)), left(stuck).because(operation.ReasonMaxSteps), 3},
		{"at its limit of steps, with nothing to say of what is left", running(beats, repeated(2)), left(watch).because(operation.ReasonMaxSteps), 3},
		{"the same findings over again", running(beats, repeated(2)),
			left(handoff.Handoff{Summary: "S", NextAction: "N", KeyFindings: []string{"The key is missing."}}), 3},
		{"another summary", running(beats, repeated(2)), left(stuck).after(but(func(h *handoff.Handoff) { h.Summary = "The CRM is down." })), starts},
		{"another next action", running(beats, repeated(2)), left(stuck).after(but(func(h *handoff.Handoff) { h.NextAction = "Ask for the password." })), starts},
		{"nothing to be done next", running(beats, repeated(2)), left(but(func(h *handoff.Handoff) { h.NextAction = " " })), starts},
		{"a quiet watch", running(beats, repeated(2)), left(watch), starts},
		{"the first run", running(beats, repeated(2)), left(stuck).first(), starts},
		{"by hand: the same is no news", running(beats, repeated(2)), left(stuck).of(topic.Manual), stays},
		{"by hand: another is", running(beats, repeated(2)), left(stuck).of(topic.Manual).after(watch), starts},
		{"made up for by a backfill", running(hourly, repeated(2)), left(stuck).of(topic.Backfill), stays},
		{"a failure is the fuse's", running(beats, repeated(2)), left(stuck).ended(topic.Failed).because(operation.ReasonError), stays},
		{"stopped", running(beats, repeated(2)), left(stuck).ended(topic.Canceled).because(operation.ReasonInterrupted), stays},
		{"at its budget: that has a card of its own", running(beats, repeated(2)), left(stuck).because(operation.ReasonCostLimit), stays},
		{"a one-off", running(repeated(2)), left(stuck), stays},
	} {
		if got := c.task.RepeatsAfter(c.left); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestHowFarAHeartbeatIsSlowedDown(t *testing.T) {
	for repeats, want := range []int{1, 1, 1, 2, 4, 8, 8, 8} {
		if got := Slower(repeats); got != want {
			t.Errorf("after %d repeats %d times, want %d", repeats, got, want)
		}
	}
	if got := Slower(1 << 30); got != 8 {
		t.Errorf("after very many %d times", got)
	}
}

func specOf(t *testing.T, tk Task) *schedule.Spec {
	t.Helper()
	s, err := tk.Spec()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheBrake(t *testing.T) {
	waits := func(t *Task) { t.Status = Scheduled; nextIn(10 * time.Minute)(t) }
	for _, c := range []struct {
		name    string
		task    Task
		repeats int
		latest  bool
		next    time.Duration // from the end of the run; 0: stays
		paused  bool
	}{
		{"two are nothing", running(beats, waits, repeated(1)), 2, true, 0, false},
		{"three slow it down", running(beats, waits, repeated(2)), 3, true, 20 * time.Minute, false},
		{"four more", running(beats, waits, repeated(3)), 4, true, 40 * time.Minute, false},
		{"five most", running(beats, waits, repeated(4)), 5, true, 80 * time.Minute, false},
		{"six pause it", running(beats, waits, repeated(5)), 6, true, 0, true},
		{"and each one after a run by hand", running(beats, waits, repeated(6)), 7, true, 0, true},
		{"a run by hand at six does not pause it again", running(beats, waits, repeated(6)), 6, true, 0, false},
		{"one that gets on lets go", running(beats, waits, repeated(5)), 0, true, 10 * time.Minute, false},
		{"the next fire is not this run's any more", running(beats, waits, repeated(2)), 3, false, 0, false},
		{"the next run is open: it slows down when that ends", running(beats, repeated(2)), 3, false, 0, false},
		{"the next run is open: it is paused all the same", running(beats, repeated(5)), 6, false, 0, true},
		{"a schedule keeps its times", running(hourly, waits, repeated(2)), 3, true, 0, false},
		{"a schedule is paused", running(hourly, waits, repeated(5)), 6, true, 0, true},
		{"paused already", running(beats, becomes(Paused), repeated(5)), 6, true, 0, false},
		{"ended", running(beats, becomes(Completed), repeated(5)), 6, true, 0, false},
		{"deleted", running(beats, deleted, repeated(5)), 6, true, 0, false},
		{"a one-off", running(repeated(5)), 6, true, 0, false},
	} {
		b, err := BrakeOf(c.task, c.repeats, left(stuck), specOf(t, c.task), noon, operation.Wishes{}, c.latest)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := b.Next.Set; c.next == 0 && got != (schedule.Slot{}) || c.next > 0 && !got.PlannedAt.Equal(noon.Add(c.next)) {
			t.Errorf("%s: next at %v, want %v after the run", c.name, got.PlannedAt, c.next)
		}
		if paused := b.Move != nil && b.Move.To() == Paused && b.Move.Reason() == NoProgress; paused != c.paused || paused != (b.Brief != nil) {
			t.Errorf("%s: %+v", c.name, b)
		}
	}
}

func TestTheBrakesCardShowsWhatWasSaid(t *testing.T) {
	b, err := BrakeOf(running(beats, repeated(5)), 6, left(stuck), specOf(t, running(beats)), noon, operation.Wishes{}, true)
	if err != nil {
		t.Fatal(err)
	}
	d := b.Brief
	if d.Type != brief.Decision || d.Priority != brief.Urgent || d.Cause != brief.CauseNoProgress || len(d.Actions) != 3 {
		t.Errorf("%+v", d)
	}
	for _, quoted := range []string{"6 runs", "> " + stuck.Summary, "> " + stuck.NextAction, "> " + stuck.Unfinished} {
		if !strings.Contains(d.Summary, quoted) {
			t.Errorf("it does not say %q:\n%s", quoted, d.Summary)
		}
	}
}

// A heartbeat's agent has a say inside the bounds (here 600 to 3600 s), and the
// brake beyond them.
func TestWhenAHeartbeatBeatsNext(t *testing.T) {
	for _, c := range []struct {
		name    string
		task    Task
		seconds int64
		next    time.Duration
		why     string
	}{
		{"nothing asked for", running(beats), 0, 10 * time.Minute, ""},
		{"later", running(beats), 1800, 30 * time.Minute, "Its agent asked for 30m0s: the shop is closed."},
		{"too late", running(beats), 7200, time.Hour, "Its agent asked for 2h0m0s, held to 1h0m0s: the shop is closed."},
		{"too soon", running(beats), 5, 10 * time.Minute, "Its agent asked for 5s, held to 10m0s: the shop is closed."},
		{"slowed down", running(beats, repeated(3)), 0, 20 * time.Minute, "The last handoffs said the same 3 times over, so it beats 2 times slower."},
		{"both", running(beats, repeated(4)), 1800, 2 * time.Hour,
			"Its agent asked for 30m0s: the shop is closed. The last handoffs said the same 4 times over, so it beats 4 times slower."},
	} {
		e := done.from(topic.Heartbeat).wishes(operation.Wishes{NextBeatSeconds: c.seconds, NextBeatWhy: "the shop is closed."})
		p, err := AfterTopic(c.task, e, specOf(t, c.task), noon)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if !p.Next.Set.PlannedAt.Equal(noon.Add(c.next)) || p.Next.Why != c.why {
			t.Errorf("%s: at %v because %q", c.name, p.Next.Set.PlannedAt, p.Next.Why)
		}
	}
}
