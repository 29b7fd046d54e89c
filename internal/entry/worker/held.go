package worker

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/job"
)

// heldContext is the context of a handler. It ends, as any other, when somebody
// cancels it; and who asks it directly learns from the clock whether the lease can
// still be trusted. A process that stood still longer than its lease goes on where
// it was, and its handler may well run before the timer that would cancel it:
// then only the clock keeps it from paying for a call whose step is long written.
type heldContext struct {
	context.Context
	cancel context.CancelCauseFunc
	lease  time.Duration
	since  atomic.Pointer[time.Time] // the lease counts from here, by the monotonic clock
}

func hold(ctx context.Context, cancel context.CancelCauseFunc, lease time.Duration, leased time.Time) *heldContext {
	c := &heldContext{Context: ctx, cancel: cancel, lease: lease}
	c.renewed(leased)
	return c
}

func (c *heldContext) renewed(at time.Time) { c.since.Store(&at) }

// trusted is until when the lease is certain: a third of it is kept for what is
// under way.
func (c *heldContext) trusted() time.Time { return c.since.Load().Add(c.lease * 2 / 3) }

func (c *heldContext) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	if time.Now().After(c.trusted()) {
		c.cancel(job.ErrLost)
	}
	return c.Context.Err()
}
