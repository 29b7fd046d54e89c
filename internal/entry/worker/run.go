package worker

import (
	"context"
	"errors"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/killpoint"
	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

const (
	claimRetry = 100 * time.Millisecond // while the database does not answer
	putBack    = 500 * time.Millisecond // after an error of the database itself
	strange    = 15 * time.Second       // a kind that only a newer version knows: it may come
)

// run is one job on its way through this process.
type run struct {
	stops  string // the operation whose stop cancels it
	cancel context.CancelCauseFunc
}

// deliver takes a message of the queue through to the end of its job.
func (w *Worker) deliver(j job.Sent) {
	r, ok := w.begin()
	if !ok {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(w.base), time.Second)
		defer cancel()
		if err := w.store.UnsendJob(ctx, j); err != nil {
			w.log.Debug("a job was not taken back", "job", j.ID, "err", err) // the reaper will
		}
		return
	}
	defer w.end(r)
	c, leased, ok := w.claim(j)
	if !ok {
		return
	}
	killpoint.Hit("claimed")
	began := time.Now()
	outcome := w.work(r, c, leased)
	w.metrics.ended(c, outcome, time.Since(began))
	killpoint.Hit("ended")
}

// claim takes the job, and says since when its lease counts at the latest: from
// before the statement went out, so that our idea of it never lasts longer than
// the row's.
func (w *Worker) claim(j job.Sent) (c job.Claim, leased time.Time, ok bool) {
	for begin := time.Now(); ; time.Sleep(claimRetry) {
		ctx, cancel := context.WithTimeout(w.base, w.cfg.Lease)
		leased = time.Now()
		c, err := w.store.ClaimJob(ctx, j.ID, w.cfg.Name, w.cfg.Lease)
		cancel()
		if err == nil {
			return c, leased, true
		}
		if errors.Is(err, job.ErrLost) {
			w.metrics.duplicates.Inc()
			return c, leased, false
		}
		if w.isDraining() || time.Since(begin) > w.cfg.Visible/2 {
			w.log.Warn("a job could not be claimed", "job", j.ID, "err", err)
			return c, leased, false // the row is looked for when its time is over
		}
	}
}

// work runs the handler under a lease that is kept, and settles how it ended.
func (w *Worker) work(r *run, c job.Claim, leased time.Time) (outcome string) {
	ctx, cancel := context.WithCancelCause(w.base)
	defer cancel(nil)
	h, known := w.handlers[c.Kind]
	if !known {
		return w.back(c, outcomeUnknown, strange, 0, "this version knows no such job")
	}
	w.mu.Lock()
	r.cancel = cancel
	if h.kind.Stoppable() {
		r.stops = c.IDs.Operation
	}
	w.mu.Unlock()
	limit := time.AfterFunc(h.kind.Limit, func() { cancel(job.ErrTimeLimit) })
	defer limit.Stop()
	held := hold(ctx, cancel, c.Lease, leased)
	ended := make(chan struct{})
	defer close(ended)
	go w.renew(held, c, h.kind, ended)

	var err error
	switch {
	case c.Poison():
		err = job.Permanent(job.ErrPoison)
	case c.Attempt >= h.kind.MaxAttempts: // its ending failed
		err = job.Permanent(job.ErrAttempts)
	default:
		err = w.safely(func() error { return h.Run(held, c) })
	}
	return w.settle(c, h, err, context.Cause(ctx))
}

// settle writes down how a run ended, unless the handler did. Every statement is
// fenced: where the job is not ours any more, nothing happens.
func (w *Worker) settle(c job.Claim, h registration, err, cause error) (outcome string) {
	_, timed := job.Delay(err)
	log := w.log.With("kind", c.Kind, "key", c.Key, "job", c.ID, "attempt", c.Attempt+1)
	switch {
	case err == nil:
		return w.close(c)
	case errors.Is(err, job.ErrLost) || errors.Is(cause, job.ErrLost):
		log.Warn("a job is held by somebody else now", "err", err)
		return outcomeLost
	case errors.Is(cause, job.ErrDrain):
		killpoint.Hit("drain")
		return w.back(c, outcomeDrained, 0, 0, cause.Error())
	case errors.Is(cause, job.ErrStop):
		// The handler did not end the operation itself: the next run finds it
		// stopped. It counts, so that one that never looks is ended some day.
		return w.back(c, outcomeStopped, 0, 1, cause.Error())
	case cause == nil && !timed && !job.IsPermanent(err) && store.Transient(err):
		// Perhaps the commit happened, perhaps not: the fence knows.
		log.Warn("a job met trouble with the database and is put back", "err", err)
		return w.back(c, outcomePutBack, putBack, 0, err.Error())
	}
	if errors.Is(cause, job.ErrTimeLimit) {
		err = cause
	}
	if !job.IsPermanent(err) && c.Attempt+1 < h.kind.MaxAttempts {
		delay, ok := job.Delay(err)
		if !ok {
			delay = job.Backoff(c.Attempt)
		}
		log.Warn("a job failed and is tried again", "err", err, "after", delay)
		return w.back(c, outcomeRetried, delay, 1, err.Error())
	}
	log.Error("a job failed for good", "err", err)
	return w.bury(c, h, err)
}

// close ends a job whose handler returned without an error. Most have closed it
// themselves, and there is nothing to find.
func (w *Worker) close(c job.Claim) string {
	err := w.last(c, func(ctx context.Context) error { return w.store.CloseJob(ctx, c) })
	if err != nil && !errors.Is(err, job.ErrLost) {
		w.log.Warn("a job was not closed", "kind", c.Kind, "key", c.Key, "err", err) // it will run again
	}
	return outcomeDone
}

func (w *Worker) back(c job.Claim, outcome string, delay time.Duration, attempts int, why string) string {
	err := w.last(c, func(ctx context.Context) error { return w.store.BackJob(ctx, c, delay, attempts, why) })
	if errors.Is(err, job.ErrLost) {
		return outcomeLost // or closed by its handler, which then returned an error
	}
	if err != nil {
		w.log.Warn("a job was not put back", "kind", c.Kind, "key", c.Key, "err", err) // its lease runs out
	}
	return outcome
}

// bury gives a job up: what this means is written in the same transaction, so that
// nothing dies silently. Where that fails it is tried again.
func (w *Worker) bury(c job.Claim, h registration, cause error) string {
	err := w.last(c, func(ctx context.Context) error {
		return w.store.InTx(ctx, func(tx *store.Tx) error {
			if h.Ending != nil {
				if err := h.Ending(ctx, tx, c, cause); err != nil {
					return err
				}
			}
			return tx.BuryJob(ctx, c, cause.Error())
		})
	})
	switch {
	case err == nil:
		return outcomeDead
	case errors.Is(err, job.ErrLost):
		return outcomeLost
	}
	w.log.Error("the end of a job was not written and is tried again", "kind", c.Kind, "key", c.Key, "err", err)
	return w.back(c, outcomeRetried, job.Backoff(c.Attempt), 1, cause.Error()+"; its ending: "+err.Error())
}

// last runs the statements that end a run, again while the database is away: each
// job that is not put back counts as lost. Their context is not the handler's,
// which may be cancelled: a commit that is cut off leaves its outcome unknown.
func (w *Worker) last(c job.Claim, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.base), c.Lease/3)
	defer cancel()
	for {
		err := w.safely(func() error { return f(ctx) })
		if !store.Transient(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(claimRetry):
		}
	}
}

// renew keeps the lease until the run has ended. It goes on while a cancelled
// handler tidies up, but not past the time limit: a handler that hangs would keep
// its job for ever.
func (w *Worker) renew(held *heldContext, c job.Claim, k job.Kind, ended <-chan struct{}) {
	wait := c.Lease / 3
	for {
		select {
		case <-ended:
			return
		case <-time.After(wait):
		}
		if errors.Is(context.Cause(held), job.ErrTimeLimit) {
			return
		}
		killpoint.Hit("renew")
		at := time.Now()
		call, done := context.WithTimeout(context.WithoutCancel(w.base), max(held.trusted().Sub(at), c.Lease/6))
		stop, err := w.store.RenewJob(call, c)
		done()
		select {
		case <-ended: // our own close came first
			return
		default:
		}
		switch {
		case err == nil:
			held.renewed(at)
			wait = c.Lease / 3
			if stop && k.Stoppable() {
				held.cancel(job.ErrStop)
			}
		case errors.Is(err, job.ErrLost) || !time.Now().Before(held.trusted()):
			held.cancel(job.ErrLost)
			return
		default:
			wait = c.Lease / 12 // the database is away: ask again soon
		}
	}
}
