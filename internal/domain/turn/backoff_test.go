package turn

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var classes = []ErrorClass{
	ErrAuth, ErrRateLimit, ErrQuota, ErrOverloaded, ErrServer, ErrNetwork, ErrSilence, ErrBadReply, ErrBadRequest,
	ErrTooLong, ErrUnsupported,
}

func TestBackoffDoublesUpToTheMostOfItsClass(t *testing.T) {
	for _, c := range []struct {
		class ErrorClass
		want  []time.Duration // with the most jitter
	}{
		{ErrRateLimit, []time.Duration{5, 10, 20, 40, 60, 60}},
		{ErrOverloaded, []time.Duration{5, 10, 20, 40, 80, 120, 120}},
		{ErrServer, []time.Duration{1, 2, 4, 8, 16, 30, 30}},
		{ErrNetwork, []time.Duration{1, 2, 4, 8, 16, 30, 30}},
		{ErrSilence, []time.Duration{1, 2}},
		{ErrBadReply, []time.Duration{1, 2, 4}},
		{ErrAuth, []time.Duration{0, 0}},
	} {
		for i, want := range c.want {
			if got := Backoff(c.class, i+1, 0, 1); got != want*time.Second {
				t.Errorf("%s, attempt %d: %s, want %ds", c.class, i+1, got, want)
			}
			if got := Backoff(c.class, i+1, 0, 0); got != want*time.Second/2 {
				t.Errorf("%s, attempt %d without jitter: %s, want half of %ds", c.class, i+1, got, want)
			}
		}
	}
}

func TestBackoffHonoursRetryAfter(t *testing.T) {
	for _, c := range []struct {
		name     string
		attempt  int
		asked    time.Duration
		jitter   float64
		min, max time.Duration
	}{
		{"longer than ours", 1, 30 * time.Second, 0, 30 * time.Second, 30 * time.Second},
		{"spread a little beyond it", 1, 30 * time.Second, 0.5, 30*time.Second + 1, 33 * time.Second},
		{"shorter than ours", 4, time.Second, 0, 20 * time.Second, 20 * time.Second},
		{"tomorrow", 1, 24 * time.Hour, 0.9, MaxBackoff, MaxBackoff},
		{"negative", 1, -time.Hour, 0, 2500 * time.Millisecond, 2500 * time.Millisecond},
	} {
		got := Backoff(ErrRateLimit, c.attempt, c.asked, c.jitter)
		if got < c.min || got > c.max {
			t.Errorf("%s: %s, want %s to %s", c.name, got, c.min, c.max)
		}
	}
}

func TestBackoffIsBoundedForAnyInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		class := rapid.SampledFrom(classes).Draw(t, "class")
		attempt := rapid.Int().Draw(t, "attempt")
		asked := time.Duration(rapid.Int64().Draw(t, "asked"))
		jitter := rapid.Float64().Draw(t, "jitter")
		if rapid.Bool().Draw(t, "nan") {
			jitter = math.NaN()
		}
		got := Backoff(class, attempt, asked, jitter)
		if got < 0 || got > MaxBackoff {
			t.Fatalf("waits %s", got)
		}
		if class.Retryable() && got < min(max(asked, 0), MaxBackoff) {
			t.Fatalf("waits %s although %s was asked for", got, asked)
		}
		if class.Retryable() && got == 0 {
			t.Fatal("comes back at once")
		}
	})
}

func TestOnlyRetryableClassesHaveSeveralAttempts(t *testing.T) {
	for _, c := range classes {
		if got := c.Attempts(); (got > 1) != c.Retryable() || got < 1 {
			t.Errorf("%s: %d attempts, retryable %v", c, got, c.Retryable())
		}
	}
}
