package task

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/domain/turn"
)

func failedOf(class turn.ErrorClass) Ending { return ends(operation.ReasonError, string(class)) }

func every(seconds int64) func(*Task) {
	return func(t *Task) { t.Automation.IntervalSeconds = seconds }
}

func nextIn(d time.Duration) func(*Task) {
	return func(t *Task) { at := noon.Add(d); t.NextPlannedAt, t.NextFireAt = &at, &at }
}

func TestWhichRunsAreTriedAgain(t *testing.T) {
	server, busy := failedOf(turn.ErrServer), failedOf(turn.ErrOverloaded)
	for _, c := range []struct {
		name  string
		task  Task
		end   Ending
		tries int
		wait  time.Duration // 0: it is not
	}{
		{"a provider that breaks: in a minute", running(), server, 1, time.Minute},
		{"once more: in five", running(), server, 2, 5 * time.Minute},
		{"three tries are all", running(), server, 3, 0},
		{"no connection", running(), failedOf(turn.ErrNetwork), 1, time.Minute},
		{"silence", running(), failedOf(turn.ErrSilence), 1, time.Minute},
		{"answers that are none", running(), failedOf(turn.ErrBadReply), 2, 5 * time.Minute},
		{"who has too much to do is left alone for longer", running(), busy, 1, 2 * time.Minute},
		{"and longer", running(), busy, 2, 10 * time.Minute},
		{"a limit of requests", running(), failedOf(turn.ErrRateLimit), 1, 2 * time.Minute},
		{"a key that is refused needs a person", running(), failedOf(turn.ErrAuth), 1, 0},
		{"so does an account without money", running(), failedOf(turn.ErrQuota), 1, 0},
		{"a prompt that is too long stays so", running(), failedOf(turn.ErrTooLong), 1, 0},
		{"a worker that dies of it", running(), ends(operation.ReasonError, operation.DetailPoison), 1, 0},
		{"a fault of ours", running(), ends(operation.ReasonError, operation.DetailInternal), 1, 0},
		{"done", running(), done, 1, 0},
		{"out of time", running(), timeLimit, 1, 0},
		{"stopped by a person", running(), interrupted, 1, 0},
		{"at its limit of steps", running(), maxSteps, 1, 0},
		{"paused meanwhile", running(becomes(Paused)), server, 1, 0},
		{"canceled meanwhile", running(becomes(Canceled)), server, 1, 0},
		{"deleted meanwhile", running(deleted), server, 1, 0},
		{"another run is open", running(func(t *Task) { other := "run 8"; t.CurrentTopicID = &other }), server, 1, 0},
		{"the day's budget is spent", running(), server.spent(), 1, 0},
		{"a tick waits for its turn: that is the next try", running(hourly), server.ticked(), 1, 0},
		{"a schedule whose next time is far", running(hourly), server, 2, 5 * time.Minute},
		{"a schedule that comes before the wait is over", running(hourly, nextIn(30*time.Second)), server, 1, 0},
		{"at the same moment", running(hourly, nextIn(time.Minute)), server, 1, 0},
		{"a second try would be too late, the first is not", running(hourly, nextIn(4*time.Minute)), server, 1, time.Minute},
		{"and the second is", running(hourly, nextIn(4*time.Minute)), server, 2, 0},
		{"a heartbeat of ten minutes", running(beats), server, 2, 5 * time.Minute},
		{"a heartbeat that beats sooner", running(beats, every(60)), server, 1, 0},
		{"a one-shot run by hand before its time", running(startsAt(noon.Add(time.Hour)), nextIn(time.Hour)), server, 1, time.Minute},
	} {
		wait, again := RetryOf(c.task, c.end, c.tries, noon, 1)
		if wait != c.wait || again != (c.wait > 0) {
			t.Errorf("%s: %v, %v; want %v", c.name, wait, again, c.wait)
		}
	}
}

// What is tried again is what turn calls retryable, whatever classes there come to be.
func TestExactlyWhatMayHealIsTriedAgain(t *testing.T) {
	for _, c := range []turn.ErrorClass{
		turn.ErrAuth, turn.ErrRateLimit, turn.ErrQuota, turn.ErrOverloaded, turn.ErrServer, turn.ErrNetwork, turn.ErrSilence,
		turn.ErrBadReply, turn.ErrBadRequest, turn.ErrTooLong, turn.ErrUnsupported, turn.DetailEmpty, "of another version",
	} {
		if _, again := RetryOf(running(), failedOf(c), 1, noon, 1); again != c.Retryable() {
			t.Errorf("%s: tried again %v", c, again)
		}
	}
}

// A run that waits never keeps its schedule from running.
func TestARetryBeginsBeforeTheNextFire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		next := time.Duration(rapid.Int64Range(-60, 3600).Draw(t, "next")) * time.Second
		tries := rapid.IntRange(0, 5).Draw(t, "tries")
		stretch := rapid.Float64Range(0, 1.2).Draw(t, "stretch")
		class := rapid.SampledFrom([]turn.ErrorClass{turn.ErrServer, turn.ErrRateLimit}).Draw(t, "class")
		wait, again := RetryOf(running(hourly, nextIn(next)), failedOf(class), tries, noon, stretch)
		if again && (wait >= next || wait < 0) {
			t.Fatalf("waits %v, and its next time is in %v", wait, next)
		}
		if !again && wait != 0 {
			t.Fatalf("waits %v for nothing", wait)
		}
	})
}
