package worker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/entry/worker"
	"github.com/dogwatch/dogwatch/internal/infra/queue"
	"github.com/dogwatch/dogwatch/internal/infra/store"
	"github.com/dogwatch/dogwatch/internal/testkit/pgtest"
	"github.com/dogwatch/dogwatch/internal/testkit/redistest"
)

// rig is a worker on a database and a queue of its own.
type rig struct {
	t     testing.TB
	ctx   context.Context
	store *store.Store
	reg   *prometheus.Registry
	redis string
	cfg   worker.Config
	*worker.Worker
}

func newRig(t testing.TB, redisURL string) *rig {
	t.Helper()
	st, err := store.Open(t.Context(), pgtest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	r := &rig{t: t, ctx: context.WithoutCancel(t.Context()), store: st, redis: redisURL,
		cfg: worker.Config{Name: "w", Lease: lease, Visible: time.Second, Drain: 200 * time.Millisecond}}
	r.make()
	return r
}

// The lease of most tests bears a machine that is busy with other tests; those
// that wait for one to run out take the short one.
const (
	lease = 4 * time.Second
	short = time.Second
)

// make builds the worker from the configuration.
func (r *rig) make() {
	r.t.Helper()
	redis, err := queue.Dial(r.redis)
	r.must(err)
	r.t.Cleanup(func() { redis.Close() })
	r.reg = prometheus.NewRegistry()
	r.Worker, err = worker.New(r.store, redis, r.cfg, slog.New(slog.DiscardHandler), r.reg)
	r.must(err)
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// start runs the worker until the test ends.
func (r *rig) start() {
	r.t.Helper()
	r.must(r.Start(r.ctx))
	var once sync.Once
	drain := r.Worker.Drain
	r.t.Cleanup(func() { once.Do(func() { drain(r.ctx) }) })
}

func (r *rig) post(posts ...job.Post) {
	r.t.Helper()
	r.must(r.store.InTx(r.ctx, func(tx *store.Tx) error { return tx.PostJobs(r.ctx, posts...) }))
}

type row struct {
	State           string
	Attempt, Losses int
	Token, Delivery int
	In              time.Duration // until it is due
	Error           string
}

func (r *rig) row(key string) (w row) {
	r.t.Helper()
	var due float64
	r.must(r.store.Pool().QueryRow(r.ctx, `select state, attempt, losses, token, delivery, extract(epoch from run_at - clock_timestamp())::float8,
		coalesce(last_error, '') from jobs where key = $1 order by id desc limit 1`, key).
		Scan(&w.State, &w.Attempt, &w.Losses, &w.Token, &w.Delivery, &due, &w.Error))
	w.In = time.Duration(due * float64(time.Second))
	return w
}

func (r *rig) count(from string) (n int) {
	r.t.Helper()
	r.must(r.store.Pool().QueryRow(r.ctx, `select count(*) from `+from).Scan(&n))
	return n
}

func (r *rig) exec(sql string, args ...any) {
	r.t.Helper()
	_, err := r.store.Pool().Exec(r.ctx, sql, args...)
	r.must(err)
}

// patience is for a busy machine; nothing waits for it when all is well.
const patience = 20 * time.Second

func (r *rig) until(what string, f func() bool) {
	r.t.Helper()
	for begin := time.Now(); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > patience {
			r.t.Fatalf("%s did not happen", what)
		}
	}
}

func receive[T any](t testing.TB, ch <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-ch:
	case <-time.After(patience):
		t.Fatal("nothing came")
	}
	return v
}

func (r *rig) untilState(key, state string) row {
	r.t.Helper()
	r.until(key+" "+state, func() bool { return r.row(key).State == state })
	return r.row(key)
}

func (r *rig) finish(ctx context.Context, c job.Claim) error {
	return r.store.Finish(ctx, c, func(context.Context, *store.Tx) error { return nil })
}

func step(key string) job.Post { return job.Post{Kind: job.Step, Key: key} }

func TestHowARunEnds(t *testing.T) {
	t.Parallel()
	overloaded := errors.New("overloaded")
	for _, c := range []struct {
		name string
		kind func(k *job.Kind)
		run  func(r *rig, ctx context.Context, c job.Claim) error
		want func(w row) bool
		dead error // what its ending is told
	}{
		{name: "finished by its handler",
			run:  func(r *rig, ctx context.Context, c job.Claim) error { return r.finish(ctx, c) },
			want: func(w row) bool { return w.State == "done" && w.Token == 1 }},
		{name: "nothing to do: closed for its handler",
			run:  func(*rig, context.Context, job.Claim) error { return nil },
			want: func(w row) bool { return w.State == "done" && w.Token == 1 }},
		{name: "an error after the finish changes nothing",
			run:  func(r *rig, ctx context.Context, c job.Claim) error { r.must(r.finish(ctx, c)); return overloaded },
			want: func(w row) bool { return w.State == "done" && w.Error == "" }},
		{name: "retryable with a delay",
			run:  func(*rig, context.Context, job.Claim) error { return job.RetryAfter(overloaded, time.Hour) },
			want: func(w row) bool { return w.Attempt == 1 && w.In > 50*time.Minute && w.Error == "overloaded" }},
		{name: "any other error: back-off",
			run:  func(*rig, context.Context, job.Claim) error { return overloaded },
			want: func(w row) bool { return w.Attempt == 1 && w.In > 0 && w.In <= time.Second }},
		{name: "a panic is an error",
			run:  func(*rig, context.Context, job.Claim) error { panic("index out of range") },
			want: func(w row) bool { return w.Attempt == 1 && w.Error == "panic: index out of range" }},
		{name: "the database failed: put back without counting",
			run: func(r *rig, ctx context.Context, c job.Claim) error {
				if c.Token > 1 {
					return r.finish(ctx, c)
				}
				return fmt.Errorf("read: %w", &pgconn.PgError{Code: "57P01"})
			},
			want: func(w row) bool { return w.State == "done" && w.Token == 2 && w.Attempt == 0 }},
		{name: "permanent: dead",
			run:  func(*rig, context.Context, job.Claim) error { return job.Permanent(overloaded) },
			want: func(w row) bool { return w.State == "dead" && w.Error == "overloaded" }, dead: overloaded},
		{name: "out of attempts: dead", kind: func(k *job.Kind) { k.MaxAttempts = 3 },
			run:  func(*rig, context.Context, job.Claim) error { return job.RetryAfter(overloaded, 0) },
			want: func(w row) bool { return w.State == "dead" && w.Token == 3 }, dead: overloaded},
		{name: "past its limit: a failed attempt", kind: func(k *job.Kind) { k.Limit = 50 * time.Millisecond },
			run:  func(_ *rig, ctx context.Context, _ job.Claim) error { <-ctx.Done(); return ctx.Err() },
			want: func(w row) bool { return w.Attempt == 1 && w.Error == job.ErrTimeLimit.Error() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, redistest.Mini(t))
			k := job.Step
			if c.kind != nil {
				c.kind(&k)
			}
			var cause error
			r.exec(`create table endings (n int)`)
			r.Handle(k, worker.Handler{
				Run: func(ctx context.Context, cl job.Claim) error { return c.run(r, ctx, cl) },
				Ending: func(ctx context.Context, tx *store.Tx, _ job.Claim, e error) error {
					cause = e
					return tx.PostJobs(ctx, job.Post{Kind: job.Settle, Key: "ending", Delay: time.Hour})
				}})
			r.post(step("k"))
			r.start()
			r.until(fmt.Sprintf("the end of the run (it is %+v)", r.row("k")), func() bool { return c.want(r.row("k")) })
			if n := r.count(`jobs where key = 'ending'`); n > 0 != (c.dead != nil) || !errors.Is(cause, c.dead) {
				t.Errorf("%d endings with the cause %v, want %v", n, cause, c.dead)
			}
		})
	}
}

func TestAnEndingThatFailsIsTriedAgainWithoutRunningTheJob(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Mini(t))
	var runs, endings atomic.Int32
	k := job.Step
	k.MaxAttempts = 1
	r.Handle(k, worker.Handler{
		Run: func(context.Context, job.Claim) error { runs.Add(1); return errors.New("refused") },
		Ending: func(ctx context.Context, tx *store.Tx, _ job.Claim, cause error) error {
			if endings.Add(1) == 1 {
				panic("first time")
			}
			return nil
		}})
	r.post(step("k"))
	r.start()
	r.untilState("k", "dead")
	if runs.Load() != 1 || endings.Load() != 2 {
		t.Errorf("%d runs and %d endings, want 1 and 2", runs.Load(), endings.Load())
	}
}

func TestPoisonIsGivenUpUnderALeaseAndNotRunAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Mini(t))
	var ran atomic.Bool
	var cause error
	r.Handle(job.Step, worker.Handler{
		Run:    func(context.Context, job.Claim) error { ran.Store(true); return nil },
		Ending: func(_ context.Context, _ *store.Tx, _ job.Claim, e error) error { cause = e; return nil }})
	r.post(step("k"))
	r.exec(`update jobs set losses = 6, queue = 'suspect'`)
	r.start()
	r.untilState("k", "dead")
	if ran.Load() || !errors.Is(cause, job.ErrPoison) {
		t.Errorf("ran %v, cause %v", ran.Load(), cause)
	}
}

func TestAKindOfANewerVersionIsLeftToIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Mini(t))
	r.post(job.Post{Kind: job.Kind{Name: "from the future", Queue: job.Fast}, Key: "k"})
	r.start()
	r.until("the hand-back", func() bool { w := r.row("k"); return w.State == "ready" && w.Token == 1 })
	if w := r.row("k"); w.Attempt != 0 || w.In < 5*time.Second || w.Error == "" {
		t.Errorf("the row is %+v", w)
	}
}

func TestAStopReachesARunningHandler(t *testing.T) {
	t.Parallel()
	for name, announce := range map[string]bool{"by notification": true, "by renewal": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, redistest.Mini(t))
			if r.cfg.Lease = short; announce {
				r.cfg.Lease = time.Hour // the renewal cannot be what brings it
			}
			r.make()
			op, cause := id.New(), make(chan error, 1)
			started := make(chan struct{}, 10)
			var once sync.Once
			r.Handle(job.Step, worker.Handler{Run: func(ctx context.Context, c job.Claim) error {
				if c.Token > 1 {
					return nil // the next run finds the operation stopped
				}
				started <- struct{}{}
				<-ctx.Done()
				once.Do(func() { cause <- context.Cause(ctx) })
				return ctx.Err()
			}})
			settled := make(chan error, 1)
			r.Handle(job.Settle, worker.Handler{Run: func(ctx context.Context, c job.Claim) error {
				select { // what follows the end of an operation goes on
				case <-ctx.Done():
				case <-time.After(600 * time.Millisecond):
				}
				settled <- context.Cause(ctx)
				return nil
			}})
			r.post(job.Post{Kind: job.Step, Key: op, IDs: job.IDs{Operation: op}}, job.Post{Kind: job.Settle, Key: "s", IDs: job.IDs{Operation: op}})
			r.start()
			receive(t, started)
			begin := time.Now()
			if announce {
				r.must(r.store.InTx(r.ctx, func(tx *store.Tx) error { return tx.NotifyStop(r.ctx, op) }))
			} else {
				conn, err := r.store.Pool().Acquire(r.ctx)
				r.must(err)
				defer conn.Release()
				for _, s := range []string{`set session_replication_role = replica`,
					fmt.Sprintf(`insert into operations (id, workspace_id, task_id, topic_id, status, model, limits, interrupt_at)
						values ('%s', '%s', '%s', '%s', 'running', 'm/m', '{}', now())`, op, op, op, op), `reset session_replication_role`} {
					_, err = conn.Exec(r.ctx, s)
					r.must(err)
				}
			}
			if got := receive(t, cause); !errors.Is(got, job.ErrStop) {
				t.Errorf("the cause is %v", got)
			}
			t.Logf("cancelled after %v", time.Since(begin).Round(100*time.Microsecond))
			r.untilState(op, "done")
			if err := receive(t, settled); err != nil {
				t.Errorf("the job that settles was cancelled: %v", err)
			}
		})
	}
}

func TestAHandlerThatLostItsLeaseIsCancelledAndWritesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Mini(t))
	r.cfg.Lease = short
	r.make()
	var late error
	gone := make(chan error, 1)
	r.Handle(job.Step, worker.Handler{Run: func(ctx context.Context, c job.Claim) error {
		if c.Token > 1 {
			return r.finish(ctx, c)
		}
		r.exec(`update jobs set lease_until = clock_timestamp() - interval '1 second'`) // as if we had stood still
		if _, err := r.store.ReapJobs(ctx); err != nil {                                // before our own renewal comes
			t.Error(err)
		}
		<-ctx.Done()
		r.untilState("k", "done") // the other run
		late = r.finish(ctx, c)
		gone <- context.Cause(ctx)
		return ctx.Err()
	}})
	r.post(step("k"))
	r.start()
	if cause := receive(t, gone); !errors.Is(cause, job.ErrLost) || !errors.Is(late, job.ErrLost) {
		t.Errorf("cause %v, finish %v; want ErrLost", cause, late)
	}
	if w := r.row("k"); w.Token != 2 || w.Losses != 1 {
		t.Errorf("the row is %+v", w)
	}
}

func TestALongJobKeepsItsLease(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Mini(t))
	r.Handle(job.Step, worker.Handler{Run: func(ctx context.Context, c job.Claim) error {
		select {
		case <-ctx.Done():
		case <-time.After(lease * 3 / 2):
		}
		return r.finish(ctx, c)
	}})
	r.post(step("k"))
	r.start()
	if w := r.untilState("k", "done"); w.Token != 1 || w.Losses != 0 {
		t.Errorf("the row is %+v: it was taken over", w)
	}
}

func TestAHandlerThatHangsPastItsLimitIsTakenOver(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Mini(t))
	r.cfg.Lease = short
	r.make()
	release := make(chan struct{})
	k := job.Step
	k.Limit = 300 * time.Millisecond
	r.Handle(k, worker.Handler{Run: func(ctx context.Context, c job.Claim) error {
		if c.Token == 1 {
			<-release // deaf to its context
		}
		return r.finish(ctx, c)
	}})
	r.post(step("k"))
	r.start()
	w := r.untilState("k", "done")
	close(release)
	if w.Token != 2 || w.Losses != 1 {
		t.Errorf("the row is %+v", w)
	}
}

func TestSlotsAreNeverExceededAndClassesDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Mini(t))
	r.cfg.Slots = map[job.Queue]int{job.Operations: 2}
	r.make()
	var now, most atomic.Int32
	release := make(chan struct{})
	r.Handle(job.Step, worker.Handler{Run: func(ctx context.Context, c job.Claim) error {
		defer now.Add(-1)
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		<-release
		return nil
	}})
	r.Handle(job.Tick, worker.Handler{Run: func(context.Context, job.Claim) error { return nil }})
	for i := range 8 {
		r.post(step(fmt.Sprint("s", i)))
	}
	r.start()
	r.until("two steps run", func() bool { return now.Load() == 2 })
	r.post(job.Post{Kind: job.Tick, Key: "t"})
	r.untilState("t", "done") // although the operations are full
	if n := r.count(`jobs where kind = 'step' and state in ('sent', 'running')`); n > 4 {
		t.Errorf("%d steps have left Postgres for two slots", n)
	}
	close(release)
	r.until("all steps", func() bool { return r.count(`jobs where state = 'done'`) == 9 })
	if most.Load() != 2 {
		t.Errorf("%d steps ran at once in two slots", most.Load())
	}
}

func TestDrainLetsShortJobsEndAndHandsLongOnesBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Mini(t))
	started := make(chan struct{}, 2)
	r.Handle(job.Step, worker.Handler{Run: func(ctx context.Context, c job.Claim) error {
		started <- struct{}{}
		d := 50 * time.Millisecond
		if c.Key == "long" {
			d = time.Hour
		}
		select {
		case <-ctx.Done():
			if cause := context.Cause(ctx); !errors.Is(cause, job.ErrDrain) {
				t.Errorf("the cause is %v", cause)
			}
			return ctx.Err()
		case <-time.After(d):
			return r.finish(ctx, c)
		}
	}})
	r.post(step("long"), step("short"))
	r.must(r.Start(r.ctx))
	receive(t, started)
	receive(t, started)
	begin := time.Now()
	r.Drain(r.ctx)
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("the drain took %v", took)
	}
	if w := r.row("short"); w.State != "done" {
		t.Errorf("short: %+v", w)
	}
	if w := r.row("long"); w.State != "ready" || w.Attempt != 0 || w.Losses != 0 || w.In > 0 {
		t.Errorf("long: %+v; want it handed back, due now, not counted", w)
	}
	r.post(step("after"))
	time.Sleep(300 * time.Millisecond)
	if w := r.row("after"); w.State != "ready" {
		t.Errorf("a drained worker took a job: %+v", w)
	}
}

func TestADuplicateOrForeignMessageRunsNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, url string) {
		r := newRig(t, url)
		var runs atomic.Int32
		r.Handle(job.Tick, worker.Handler{Run: func(ctx context.Context, c job.Claim) error { runs.Add(1); return r.finish(ctx, c) }})
		opt, err := asynq.ParseRedisURI(url)
		r.must(err)
		c := asynq.NewClient(opt)
		defer c.Close()
		enqueue := func(payload string, opts ...asynq.Option) {
			_, err := c.Enqueue(asynq.NewTask("job", []byte(payload)), append(opts, asynq.Queue("dogwatch-fast"))...)
			r.must(err)
		}
		enqueue("rubbish")
		enqueue("999:1")
		// The name of the first delivery is taken by a leftover that nobody works on.
		enqueue("999:2", asynq.TaskID("1:1"), asynq.ProcessIn(time.Hour))
		r.post(job.Post{Kind: job.Tick, Key: "k"})
		r.start()
		if w := r.untilState("k", "done"); w.Delivery != 2 {
			t.Errorf("the row is %+v, want a second delivery", w)
		}
		for range 3 {
			enqueue("1:2")
		}
		time.Sleep(300 * time.Millisecond)
		if runs.Load() != 1 {
			t.Errorf("%d runs", runs.Load())
		}
	})
}

func TestALostQueueCostsTimeAndNoWork(t *testing.T) {
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, s *redistest.Server) {
		r := newRig(t, s.URL())
		r.cfg.Lease = short
		r.cfg.Slots = map[job.Queue]int{job.Fast: 2}
		r.make()
		var runs atomic.Int32
		r.Handle(job.Tick, worker.Handler{Run: func(ctx context.Context, c job.Claim) error {
			time.Sleep(20 * time.Millisecond)
			return r.store.Finish(ctx, c, func(context.Context, *store.Tx) error { runs.Add(1); return nil })
		}})
		r.start()
		total := 0
		batch := func() {
			for range 20 {
				total++
				r.post(job.Post{Kind: job.Tick, Key: fmt.Sprint(total)})
			}
		}
		batch()
		s.FlushAll()
		batch()
		s.Kill()
		batch()
		time.Sleep(300 * time.Millisecond)
		s.Start()
		batch()
		r.until("every job", func() bool { return r.count(`jobs where state = 'done'`) == total })
		if n := int(runs.Load()); n != total {
			t.Errorf("%d jobs were finished %d times", total, n)
		}
	})
}

func TestMetricsTellWhatHappened(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Mini(t))
	r.Handle(job.Tick, worker.Handler{Run: func(context.Context, job.Claim) error { return nil }})
	r.Handle(job.Step, worker.Handler{Run: func(context.Context, job.Claim) error { return job.Permanent(errors.New("refused")) }})
	r.post(job.Post{Kind: job.Tick, Key: "t"}, step("s"), job.Post{Kind: job.Settle, Key: "later", Delay: time.Hour})
	r.start()
	r.untilState("t", "done")
	r.untilState("s", "dead")
	want := map[string]float64{
		`dogwatch_job_runs_total kind=step outcome=dead`: 1,
		`dogwatch_job_runs_total kind=tick outcome=done`: 1,
		`dogwatch_jobs queue=operations state=dead`:      1,
		`dogwatch_jobs queue=effects state=ready`:        1,
		`dogwatch_worker_slots queue=operations`:         64,
		`dogwatch_worker_slots_busy queue=operations`:    0,
		`dogwatch_job_lag_seconds kind=tick`:             1,
		`dogwatch_job_run_seconds kind=step`:             1,
	}
	r.until("the metrics", func() bool {
		have := gather(t, r.reg)
		for k, v := range want {
			if got, ok := have[k]; !ok || got != v {
				return false
			}
		}
		return true
	})
}

// gather flattens metrics to name and labels; a histogram gives its count.
func gather(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetName() + "=" + l.GetValue()
			}
			switch {
			case m.Histogram != nil:
				have[name] = float64(m.GetHistogram().GetSampleCount())
			case m.Counter != nil:
				have[name] = m.GetCounter().GetValue()
			default:
				have[name] = m.GetGauge().GetValue()
			}
		}
	}
	return have
}

func TestAWorkerDoesNotStartWithoutRedis(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	r := newRig(t, s.URL())
	s.Kill()
	if err := r.Start(r.ctx); err == nil {
		t.Error("it started")
	}
	r.Drain(r.ctx) // must not hang
}

func TestWithoutTheDatabaseTheLeaseIsNotTrustedToItsEnd(t *testing.T) {
	t.Parallel()
	pg := pgtest.Cluster(t)
	st, err := store.Open(t.Context(), pg.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	r := &rig{t: t, ctx: context.WithoutCancel(t.Context()), store: st, redis: redistest.Mini(t),
		cfg: worker.Config{Lease: 3 * time.Second, Drain: time.Millisecond}}
	r.make()
	started, gone := make(chan time.Time, 10), make(chan error, 10)
	r.Handle(job.Step, worker.Handler{Run: func(ctx context.Context, c job.Claim) error {
		started <- time.Now()
		<-ctx.Done()
		gone <- context.Cause(ctx)
		return ctx.Err()
	}})
	r.post(step("k"))
	r.start()
	receive(t, started)
	pg.Kill()
	down := time.Now()
	if cause := receive(t, gone); !errors.Is(cause, job.ErrLost) {
		t.Errorf("the cause is %v", cause)
	}
	if took := time.Since(down); took > r.cfg.Lease { // two thirds, from the last renewal
		t.Errorf("the handler went on for %v without a lease it could be sure of", took)
	}
	pg.Start()
	r.until("another run", func() bool { return len(started) > 0 })
}

func TestSuspectsRunAloneBesideTheirClass(t *testing.T) {
	t.Parallel()
	r := newRig(t, redistest.Mini(t))
	var suspects, most, innocents atomic.Int32
	r.Handle(job.Step, worker.Handler{Run: func(ctx context.Context, c job.Claim) error {
		if c.Losses == 0 {
			innocents.Add(1)
			return nil
		}
		most.Store(max(most.Load(), suspects.Add(1)))
		defer suspects.Add(-1)
		time.Sleep(50 * time.Millisecond)
		return nil
	}})
	r.post(step("a"), step("b"), step("c"), step("d"))
	r.exec(`update jobs set losses = 3, queue = 'suspect' where key <> 'd'`)
	r.start()
	r.until("every job", func() bool { return r.count(`jobs where state = 'done'`) == 4 })
	if most.Load() != 1 || innocents.Load() != 1 {
		t.Errorf("%d suspects ran at once, and %d of 1 innocent jobs", most.Load(), innocents.Load())
	}
}
