package job

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestAnErrorSaysWhetherToTryAgain(t *testing.T) {
	cause := errors.New("the provider is away")
	retry := fmt.Errorf("call a model: %w", RetryAfter(cause, 3*time.Second))
	if d, ok := Delay(retry); !ok || d != 3*time.Second || IsPermanent(retry) || !errors.Is(retry, cause) {
		t.Errorf("%v: %v %v", retry, d, ok)
	}
	final := fmt.Errorf("call a model: %w", Permanent(cause))
	if _, ok := Delay(final); ok || !IsPermanent(final) || !errors.Is(final, cause) {
		t.Errorf("%v is not permanent", final)
	}
	if _, ok := Delay(cause); ok || IsPermanent(cause) || IsPermanent(nil) {
		t.Error("a plain error says neither")
	}
	if d, ok := Delay(RetryAfter(cause, 0)); !ok || d != 0 {
		t.Error("at once is a delay too")
	}
}

func TestBackoffGrowsToFiveMinutes(t *testing.T) {
	for attempt, want := range map[int]time.Duration{0: time.Second, 1: 2 * time.Second, 5: 32 * time.Second, 8: 256 * time.Second, 9: 5 * time.Minute, 99: 5 * time.Minute, 1 << 30: 5 * time.Minute} {
		if got := Backoff(attempt); got != want {
			t.Errorf("after attempt %d: %v, want %v", attempt, got, want)
		}
	}
}
