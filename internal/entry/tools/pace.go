package tools

import (
	"context"
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/domain/task"
)

var paceTools = []tool{{
	name: "propose_next_run",
	about: "Say when your task should run next, in seconds after this run ends: sooner when something is about to happen, later when nothing will. " +
		"It is held inside the bounds that were set for the task, and holds for the next run only. The last proposal of a run counts.",
	schema: `{"type": "object", "additionalProperties": false, "required": ["seconds", "why"], "properties": {
		"seconds": {"type": "integer", "minimum": 1, "maximum": 316224000},
		"why": {"type": "string", "minLength": 1, "maxLength": 500, "description": "People read it beside the time of the next run"}}}`,
	fits: beats,
	run:  typed(proposeNextRun),
}}

// beats reports whether the task is on a heartbeat whose agent has a say in it.
func beats(t task.Task) bool {
	spec, err := t.Spec()
	if err != nil || spec == nil || spec.Mode() != schedule.Heartbeat {
		return false
	}
	shortest, longest := spec.PaceBounds()
	return shortest < longest
}

type proposal struct {
	Seconds int64
	Why     string
}

func proposeNextRun(ctx context.Context, c call, a proposal) (string, error) {
	t, err := c.tx.Task(ctx, c.Scope, c.Operation.TaskID)
	if err != nil {
		return "", err
	}
	spec, err := t.Spec()
	if err != nil {
		return "", err
	}
	if spec == nil || spec.Mode() != schedule.Heartbeat {
		return "", errs.New(errs.Conflict, "mode_changed", "Your task is not on a heartbeat: you have no say in when it runs next.")
	}
	w := c.Operation.Wishes
	w.NextBeatSeconds, w.NextBeatWhy = a.Seconds, a.Why
	if err := c.tx.SetWishes(ctx, c.Scope, c.Operation.ID, w); err != nil {
		return "", err
	}
	asked := time.Duration(a.Seconds) * time.Second
	pace := spec.Pace(asked)
	text := fmt.Sprintf("Noted. The next run comes %d seconds after this one ends", pace/time.Second)
	if pace != asked {
		shortest, longest := spec.PaceBounds()
		text += fmt.Sprintf(": your %d are held between %d and %d", a.Seconds, shortest/time.Second, longest/time.Second)
	}
	return text + ".", nil
}
