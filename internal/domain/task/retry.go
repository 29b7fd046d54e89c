package task

import (
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/domain/turn"
)

// retries are the waits before the further tries of a run, by what ended the one
// before. A step has asked its model several times over a minute or so by then
// (turn.Backoff): what is away for so long is away for minutes. Who has too much to
// do is left alone for longer.
var retries = map[turn.ErrorClass][]time.Duration{
	turn.ErrServer:     {time.Minute, 5 * time.Minute},
	turn.ErrNetwork:    {time.Minute, 5 * time.Minute},
	turn.ErrSilence:    {time.Minute, 5 * time.Minute},
	turn.ErrBadReply:   {time.Minute, 5 * time.Minute},
	turn.ErrRateLimit:  {2 * time.Minute, 10 * time.Minute},
	turn.ErrOverloaded: {2 * time.Minute, 10 * time.Minute},
}

// RetryOf decides whether a run whose last operation failed goes on with another
// one, and how long that waits. tries is how many operations the run has had; spec
// is the task's compiled automation, nil for a one-off.
//
// Only what may heal by itself is tried again, and only while the task is still
// running this topic. Where the schedule comes again before the wait is over, or a
// tick waits for its turn already, that is the next try: a run that only waits must
// not keep it from running. stretch is what the waits are multiplied by: a little
// more than one, differently for each run, so that what failed together does not
// come back together.
func RetryOf(t Task, e Ending, tries int, at time.Time, stretch float64) (wait time.Duration, again bool) {
	waits := retries[turn.ErrorClass(e.Detail)]
	switch {
	case e.Reason != operation.ReasonError || tries < 1 || tries > len(waits):
		return 0, false
	case !t.runs(e) || e.TickWaits || e.TaskBudgetSpent:
		return 0, false
	}
	wait = time.Duration(float64(waits[tries-1]) * stretch)
	begins := at.Add(wait)
	if t.NextFireAt != nil && !t.NextFireAt.After(begins) {
		return 0, false
	}
	if a := t.Automation; a != nil && a.IntervalSeconds > 0 && time.Duration(a.IntervalSeconds)*time.Second <= wait {
		return 0, false
	}
	return wait, true
}

// runs reports whether the task is still running the topic that ended: nobody has
// paused, ended or deleted it meanwhile.
func (t Task) runs(e Ending) bool {
	return t.Status == Running && t.CurrentTopicID != nil && *t.CurrentTopicID == e.TopicID && t.DeletedAt == nil
}
