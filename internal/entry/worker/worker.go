// Package worker runs background jobs: it claims what the queue delivers, keeps
// the lease while a handler works, and writes down how it ended. docs/jobs.md is
// the contract. What a job does is in the flows; they are registered by kind.
package worker

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/base/killpoint"
	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/infra/queue"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// Handler does the work of one kind.
type Handler struct {
	// Run does the job. It writes its effects and closes the job with
	// [store.Store.Finish]; a job that had nothing to do may just return nil. An
	// error says what is next: see [job.RetryAfter] and [job.Permanent], any other
	// is tried again after a back-off.
	//
	// ctx is cancelled with a cause: job.ErrLost, ErrDrain, ErrStop or ErrTimeLimit.
	// Run checks it before it pays for something.
	Run func(ctx context.Context, c job.Claim) error
	// Ending writes down what it means that the job is given up, in the
	// transaction that makes it dead. Nil: nothing hangs on it.
	Ending func(ctx context.Context, tx *store.Tx, c job.Claim, cause error) error
}

// Config has sensible values for what is left out.
type Config struct {
	Name    string            // of this worker in the rows; made up when empty
	Slots   map[job.Queue]int // see [queue.DefaultSlots]
	Lease   time.Duration     // how soon a dead worker's job is taken over
	Visible time.Duration     // how soon a message that went astray is looked for
	Drain   time.Duration     // how long running jobs may go on after Drain
}

// The defaults: a lease is renewed three times in its life, so it bears two slow
// answers of the database; a message is normally there within milliseconds.
const (
	defaultLease   = 15 * time.Second
	defaultVisible = 10 * time.Second
	defaultDrain   = 20 * time.Second

	// handBack is how long cancelled handlers have to return.
	handBack = 3 * time.Second
	// abandon is how long asynq then waits for one that does not.
	abandon = 5 * time.Second
)

// Worker runs the jobs of this process.
type Worker struct {
	store    *store.Store
	queue    *queue.Queue
	cfg      Config
	log      *slog.Logger
	metrics  *metrics
	handlers map[string]registration

	base       context.Context // of all handlers: values only, cancelled by Drain
	cancel     context.CancelCauseFunc
	deaf       context.CancelFunc // ends the listening
	background sync.WaitGroup

	mu       sync.Mutex
	running  map[*run]struct{}
	draining bool
	idle     chan struct{} // closed when draining and nothing runs
}

type registration struct {
	kind job.Kind
	Handler
}

// New makes a worker. reg may be nil.
func New(st *store.Store, r *queue.Redis, cfg Config, log *slog.Logger, reg prometheus.Registerer) (*Worker, error) {
	if cfg.Name == "" {
		host, _ := os.Hostname() // only for people who read the rows
		cfg.Name = fmt.Sprintf("%s/%d/%s", host, os.Getpid(), id.Secret(4))
	}
	defaults := []struct {
		d   *time.Duration
		val time.Duration
	}{{&cfg.Lease, defaultLease}, {&cfg.Visible, defaultVisible}, {&cfg.Drain, defaultDrain}}
	for _, o := range defaults {
		if *o.d == 0 {
			*o.d = o.val
		}
	}
	w := &Worker{store: st, cfg: cfg, log: log, handlers: map[string]registration{},
		running: map[*run]struct{}{}, idle: make(chan struct{})}
	w.queue = queue.New(r, st, queue.Config{Worker: cfg.Name, Slots: cfg.Slots, Lease: cfg.Lease,
		Visible: cfg.Visible, Abandon: abandon}, log, w.deliver)
	var err error
	if w.metrics, err = newMetrics(reg, st, w.queue); err != nil {
		return nil, fmt.Errorf("register the metrics of the worker: %w", err)
	}
	return w, nil
}

// Handle registers what runs the jobs of a kind, before Start.
func (w *Worker) Handle(k job.Kind, h Handler) { w.handlers[k.Name] = registration{k, h} }

// Start begins to run jobs, until Drain. It fails when Redis does not answer.
// Handlers see the values of ctx, not its end.
func (w *Worker) Start(ctx context.Context) error {
	w.base, w.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	if err := w.queue.Start(ctx); err != nil {
		w.cancel(nil)
		return err
	}
	listen, deaf := context.WithCancel(context.WithoutCancel(ctx))
	w.deaf = deaf
	w.background.Go(func() {
		w.store.Listen(listen, []string{store.ChannelJobs, store.ChannelStop}, w.hear, w.queue.Wake)
	})
	return nil
}

func (w *Worker) hear(channel, payload string) {
	switch channel {
	case store.ChannelJobs:
		w.queue.Wake()
	case store.ChannelStop:
		w.stop(payload)
	}
}

// stop cancels what this process runs for an operation.
func (w *Worker) stop(operation string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for r := range w.running {
		if r.stops != "" && r.stops == operation {
			r.cancel(job.ErrStop)
		}
	}
}

// Drain takes no more work, lets running jobs go on for a while, then hands them
// back and returns. When ctx ends it does not wait any longer for them.
func (w *Worker) Drain(ctx context.Context) {
	if w.deaf == nil {
		return // never started
	}
	w.mu.Lock()
	w.draining = true
	if len(w.running) == 0 {
		close(w.idle)
	}
	w.mu.Unlock()
	w.queue.Stop()

	limit := time.NewTimer(w.cfg.Drain)
	defer limit.Stop()
	select {
	case <-w.idle:
	case <-ctx.Done():
	case <-limit.C:
	}
	w.cancel(job.ErrDrain)
	limit.Reset(handBack)
	select {
	case <-w.idle:
	case <-limit.C: // it does not listen: its lease runs out after we are gone
		w.log.Warn("a job does not end and is left to another worker")
	}
	w.deaf()
	w.background.Wait()
	w.queue.Shutdown()
	killpoint.Hit("drained")
}

// begin makes room for a job, unless the worker drains.
func (w *Worker) begin() (*run, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.draining {
		return nil, false
	}
	r := &run{}
	w.running[r] = struct{}{}
	return r, true
}

func (w *Worker) end(r *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.running, r)
	if w.draining && len(w.running) == 0 {
		close(w.idle)
	}
}

func (w *Worker) isDraining() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.draining
}

// safely runs f and turns a panic into an error, with the stack in the log.
func (w *Worker) safely(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			w.log.Error("a job panicked", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}
