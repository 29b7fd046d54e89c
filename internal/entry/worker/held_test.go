package worker

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/job"
)

func TestWhoAsksTheContextLearnsFromTheClock(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	c := hold(ctx, cancel, 3*time.Second, time.Now())
	child, done := context.WithCancel(c)
	defer done()
	if c.Err() != nil {
		t.Fatal("a fresh lease is not trusted")
	}
	c.renewed(time.Now().Add(-1900 * time.Millisecond))
	if c.Err() != nil {
		t.Error("a lease is not trusted for two thirds of its life")
	}
	c.renewed(time.Now().Add(-2100 * time.Millisecond)) // as after a pause of the process
	if c.Err() == nil || !errors.Is(context.Cause(c), job.ErrLost) {
		t.Errorf("past two thirds: %v, cause %v", c.Err(), context.Cause(c))
	}
	select {
	case <-child.Done():
		if !errors.Is(context.Cause(child), job.ErrLost) {
			t.Errorf("the cause of a call in flight is %v", context.Cause(child))
		}
	default:
		t.Error("a call in flight is not cancelled")
	}
}

func TestAContextThatWasCancelledKeepsItsCause(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	c := hold(ctx, cancel, time.Second, time.Now().Add(-time.Hour))
	cancel(job.ErrStop)
	if c.Err() == nil || !errors.Is(context.Cause(c), job.ErrStop) {
		t.Errorf("%v, cause %v", c.Err(), context.Cause(c))
	}
}
