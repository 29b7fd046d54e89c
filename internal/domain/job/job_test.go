package job_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/job"
)

func TestEveryKindCanBeRunAndFound(t *testing.T) {
	for _, k := range job.Kinds {
		if got, ok := job.ByName(k.Name); !ok || got != k {
			t.Errorf("ByName(%q) = %v, %v: two kinds share a name, or one is not listed", k.Name, got, ok)
		}
		if k.MaxAttempts < 1 || k.Limit <= 0 {
			t.Errorf("%s may never run: %d attempts of %v", k.Name, k.MaxAttempts, k.Limit)
		}
		found := false
		for _, q := range job.Queues {
			found = found || q == k.Queue
		}
		if !found {
			t.Errorf("%s has the queue %q, which nobody works on", k.Name, k.Queue)
		}
	}
	if _, ok := job.ByName("from a newer version"); ok {
		t.Error("an unknown kind was found")
	}
}

func TestOnlyTheStepIsCancelledWithItsOperation(t *testing.T) {
	for _, k := range job.Kinds {
		if k.Stoppable() != (k.Name == "step") {
			t.Errorf("%s: stoppable is %v; what follows the end of an operation must go on after a stop", k.Name, k.Stoppable())
		}
	}
}

func TestAMessageNamesItsDelivery(t *testing.T) {
	want := job.Sent{ID: 1 << 40, Delivery: 7, Queue: job.Fast}
	if got, err := job.ParseSent(want.String(), job.Fast); err != nil || got != want {
		t.Errorf("ParseSent(%q) = %v, %v", want.String(), got, err)
	}
	for _, bad := range []string{"", "1", "1:", ":1", "a:1", "1:b", "0:1", "1:0", "-1:1", "1:2:3"} {
		if got, err := job.ParseSent(bad, job.Fast); err == nil {
			t.Errorf("ParseSent(%q) = %v, want an error", bad, got)
		}
	}
}

func TestAJobReturnsToTheClassOfItsKind(t *testing.T) {
	if got := (job.Claim{Kind: "step", Queue: job.Suspect}).Home(); got != job.Operations {
		t.Errorf("the home of a suspect step is %s", got)
	}
	if got := (job.Claim{Kind: "unknown", Queue: job.Fast}).Home(); got != job.Fast {
		t.Errorf("an unknown kind moved to %s", got)
	}
}

func TestErrorsSayWhatToDoNext(t *testing.T) {
	base := errors.New("overloaded")
	wrapped := fmt.Errorf("call the model: %w", job.RetryAfter(base, 3*time.Second))
	if d, ok := job.Delay(wrapped); !ok || d != 3*time.Second || !errors.Is(wrapped, base) {
		t.Errorf("Delay = %v, %v", d, ok)
	}
	if _, ok := job.Delay(base); ok {
		t.Error("a plain error names a delay")
	}
	if !job.IsPermanent(fmt.Errorf("call the model: %w", job.Permanent(base))) || job.IsPermanent(wrapped) {
		t.Error("IsPermanent is wrong")
	}
}

func TestBackoffGrowsToFiveMinutes(t *testing.T) {
	for attempt, want := range map[int]time.Duration{0: time.Second, 1: 2 * time.Second, 5: 32 * time.Second, 9: 5 * time.Minute, 1000: 5 * time.Minute} {
		if got := job.Backoff(attempt); got != want {
			t.Errorf("Backoff(%d) = %v, want %v", attempt, got, want)
		}
	}
}
