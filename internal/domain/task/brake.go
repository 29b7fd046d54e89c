package task

import (
	"fmt"
	"strings"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/brief"
	"github.com/dogwatch/dogwatch/internal/domain/handoff"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
)

// The brake for runs that get nowhere. One handoff that says what the one before
// said is a quiet day; three in a row are a task that turns on the spot, and each
// turn costs money. A heartbeat slows down first, since what it waits for may come;
// six are for a person to look at.
const (
	SlowAfter = 3 // repeats from which a heartbeat beats slower
	StopAfter = 6 // repeats at which the task is paused
	maxSlower = 8 // times the interval, at most
)

// Left is what a run that has ended left behind.
type Left struct {
	Handoff  handoff.Handoff
	Previous *handoff.Handoff // of the run before, nil for the first
	Origin   topic.Origin
	Status   topic.Status
	Reason   operation.Reason
}

// RepeatsAfter counts automated runs in a row that got nowhere: whose handoff says
// the same as the one before, with a next action that is never done. A handoff that
// differs starts the count anew. Failed runs are the fuse's, and what a person
// started or a backfill made up for neither counts nor is it a sign of progress
// when it says the same.
//
// A watch that reports no news does its job: a run that found nothing and left
// nothing undone never counts, however often it says so.
func (t Task) RepeatsAfter(l Left) int {
	switch {
	case !t.Automated() || l.Status != topic.Completed || l.Reason == operation.ReasonCostLimit:
		return t.Repeats
	case l.Previous == nil || !handoff.Same(*l.Previous, l.Handoff):
		return 0
	case l.Handoff.Quiet() && l.Reason != operation.ReasonMaxSteps:
		return 0
	case !l.Origin.Planned() || l.Origin == topic.Backfill:
		return t.Repeats
	}
	return t.Repeats + 1
}

// Slower is by how much a heartbeat is slowed down after so many repeats.
func Slower(repeats int) int {
	if repeats < SlowAfter {
		return 1
	}
	return min(1<<min(repeats-SlowAfter+1, 30), maxSlower)
}

// Brake is what follows from a run that got nowhere, or from one that got on after
// such runs. The zero Brake leaves everything.
type Brake struct {
	Next  Next
	Move  *Move
	Brief *brief.Draft
}

// BrakeOf decides what follows once a handoff is written and counted: t is the task
// as it was before, repeats the new count. spec is its compiled automation, ended
// when the run ended, proposal when its agent asked to run next. latest says that no
// run has begun since, so that the next fire is the one that this run left.
func BrakeOf(t Task, repeats int, l Left, spec *schedule.Spec, ended time.Time, w operation.Wishes, latest bool) (Brake, error) {
	open := t.Status == Scheduled || t.Status == Running
	if spec == nil || !t.Automated() || !open || t.DeletedAt != nil {
		return Brake{}, nil
	}
	if repeats >= StopAfter && repeats > t.Repeats {
		m, err := t.Move(Paused, NoProgress, access.House)
		if err != nil {
			return Brake{}, fmt.Errorf("brake %s: %w", t.Identifier, err)
		}
		return Brake{Move: &m, Brief: briefOfBrake(t, repeats, l)}, nil
	}
	if t.Status == Scheduled && t.NextPlannedAt != nil && latest && Slower(repeats) != Slower(t.Repeats) {
		t.Repeats = repeats
		return Brake{Next: t.beat(spec, ended, w)}, nil
	}
	return Brake{}, nil
}

// beat is a heartbeat's next beat after a run: as its agent proposes, and slower
// when its runs get nowhere. It is the zero Next for every other automation, and
// when the bounds leave no beat.
func (t Task) beat(spec *schedule.Spec, ended time.Time, w operation.Wishes) Next {
	if spec.Mode() != schedule.Heartbeat {
		return Next{}
	}
	asked := time.Duration(w.NextBeatSeconds) * time.Second
	pace := spec.Pace(asked)
	var why []string
	if asked > 0 {
		words := fmt.Sprintf("Its agent asked for %s", asked)
		if pace != asked {
			words += fmt.Sprintf(", held to %s", pace)
		}
		if w.NextBeatWhy != "" {
			words += ": " + w.NextBeatWhy
		}
		why = append(why, strings.TrimRight(words, ".")+".")
	}
	if by := Slower(t.Repeats); by > 1 {
		pace *= time.Duration(by)
		why = append(why, fmt.Sprintf("The last handoffs said the same %d times over, so it beats %d times slower.", t.Repeats, by))
	}
	return Next{Set: spec.BeatAfter(t.ID, ended, pace), Why: strings.Join(why, " ")}
}

// briefOfBrake shows a person what was said again and again.
func briefOfBrake(t Task, repeats int, l Left) *brief.Draft {
	quote := func(head, text string) string {
		if text == "" {
			return ""
		}
		return "\n\n" + head + "\n> " + strings.ReplaceAll(handoff.Cut(text, 1000), "\n", "\n> ")
	}
	return &brief.Draft{
		Type: brief.Decision, Priority: brief.Urgent, Cause: brief.CauseNoProgress,
		Title: "Paused without progress: " + handoff.Cut(t.Name, 150),
		Summary: fmt.Sprintf("%d runs in a row left the handoff of the run before. The last of them:", repeats) +
			quote("It said", l.Handoff.Summary) + quote("To be done next, each time", l.Handoff.NextAction) + quote("Unfinished", l.Handoff.Unfinished),
		Actions: []brief.Action{brief.Resume, brief.Edit.At(brief.EditURL(t.Identifier)), brief.RunOnce},
	}
}
