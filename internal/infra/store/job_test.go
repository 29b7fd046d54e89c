package store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/infra/store"
	"github.com/dogwatch/dogwatch/internal/testkit/pgtest"
)

const jobLease = 10 * time.Second

// jobBench is a store with the few moves that the tests are made of.
type jobBench struct {
	*store.Store
	t   testing.TB
	ctx context.Context
}

func newJobBench(t testing.TB) *jobBench {
	t.Helper()
	s, err := store.Open(t.Context(), pgtest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &jobBench{s, t, t.Context()}
}

func (b *jobBench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *jobBench) post(posts ...job.Post) {
	b.t.Helper()
	b.must(b.InTx(b.ctx, func(tx *store.Tx) error { return tx.PostJobs(b.ctx, posts...) }))
}

func (b *jobBench) relay(q job.Queue, n int) []job.Sent {
	b.t.Helper()
	list, err := b.RelayJobs(b.ctx, []job.Allowance{{Queue: q, Jobs: n}}, "w", time.Minute, false)
	b.must(err)
	return list
}

// take relays and claims the one job of a queue that is due.
func (b *jobBench) take(q job.Queue) job.Claim {
	b.t.Helper()
	list := b.relay(q, 1)
	if len(list) != 1 {
		b.t.Fatalf("%d jobs are due in %s, want one", len(list), q)
	}
	c, err := b.ClaimJob(b.ctx, list[0].ID, "w", jobLease)
	b.must(err)
	return c
}

func (b *jobBench) exec(sql string, args ...any) int64 {
	b.t.Helper()
	tag, err := b.Pool().Exec(b.ctx, sql, args...)
	b.must(err)
	return tag.RowsAffected()
}

// jobRow is what the tests look at of a job.
type jobRow struct {
	State, Queue             string
	Attempt, Losses, Rows    int
	Due                      time.Duration
	Again                    *time.Duration
	LastError                string
	Token, Delivery, OpenNow int
}

func (b *jobBench) row(key string) jobRow {
	b.t.Helper()
	var r jobRow
	var due float64
	var again *float64
	b.must(b.Pool().QueryRow(b.ctx, `select state, queue, attempt, losses, coalesce(last_error, ''), token, delivery,
		extract(epoch from run_at - clock_timestamp())::float8, extract(epoch from again_at - clock_timestamp())::float8,
		(select count(*) from jobs where key = $1) from jobs where key = $1 order by id desc limit 1`, key).
		Scan(&r.State, &r.Queue, &r.Attempt, &r.Losses, &r.LastError, &r.Token, &r.Delivery, &due, &again, &r.Rows))
	r.Due = time.Duration(due * float64(time.Second))
	if again != nil {
		d := time.Duration(*again * float64(time.Second))
		r.Again = &d
	}
	return r
}

func tickPost(key string) job.Post { return job.Post{Kind: job.Tick, Key: key} }

func delayed(p job.Post, d time.Duration) job.Post { p.Delay = d; return p }

func nearly(got, want time.Duration) bool { return (got - want).Abs() < 5*time.Second }

func TestAPostMeetsTheOpenRowOfItsKey(t *testing.T) {
	for _, c := range []struct {
		name  string
		state func(b *jobBench) // how the row of the key "k" stands
		post  time.Duration
		check func(r jobRow) bool
	}{
		{"ready: the earlier time wins", func(b *jobBench) { b.post(delayed(tickPost("k"), time.Hour)) }, time.Minute,
			func(r jobRow) bool { return r.State == "ready" && nearly(r.Due, time.Minute) }},
		{"ready: a later time changes nothing", func(b *jobBench) { b.post(delayed(tickPost("k"), time.Minute)) }, time.Hour,
			func(r jobRow) bool { return r.State == "ready" && nearly(r.Due, time.Minute) }},
		{"in back-off: the time stays", func(b *jobBench) {
			b.post(tickPost("k"))
			b.must(b.BackJob(b.ctx, b.take(job.Fast), time.Hour, 1, "overloaded"))
		}, 0, func(r jobRow) bool { return r.State == "ready" && nearly(r.Due, time.Hour) && r.Attempt == 1 }},
		{"sent: nothing", func(b *jobBench) { b.post(tickPost("k")); b.relay(job.Fast, 1) }, time.Hour,
			func(r jobRow) bool { return r.State == "sent" && nearly(r.Due, 0) && r.Again == nil }},
		{"running: once more after it", func(b *jobBench) { b.post(tickPost("k")); b.take(job.Fast) }, time.Minute,
			func(r jobRow) bool { return r.State == "running" && r.Again != nil && nearly(*r.Again, time.Minute) }},
		{"running: the earliest again wins", func(b *jobBench) {
			b.post(tickPost("k"))
			b.take(job.Fast)
			b.post(delayed(tickPost("k"), time.Minute))
		}, time.Hour, func(r jobRow) bool { return r.Again != nil && nearly(*r.Again, time.Minute) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newJobBench(t)
			c.state(b)
			b.post(delayed(tickPost("k"), c.post))
			if r := b.row("k"); !c.check(r) || r.Rows != 1 {
				t.Errorf("the row is %+v", r)
			}
		})
	}
}

func TestAClosedRowMakesWayForANewOne(t *testing.T) {
	b := newJobBench(t)
	b.post(tickPost("k"))
	b.must(b.CloseJob(b.ctx, b.take(job.Fast)))
	b.post(tickPost("k"))
	if r := b.row("k"); r.State != "ready" || r.Rows != 2 {
		t.Errorf("the row is %+v", r)
	}
}

func TestManyPostsAreOneStatementAndTheEarliestOfAKeyWins(t *testing.T) {
	b := newJobBench(t)
	var posts []job.Post
	for i := range 200 {
		posts = append(posts, delayed(tickPost(fmt.Sprint("k", i)), time.Hour))
	}
	b.post(append(posts, delayed(tickPost("k7"), time.Minute), delayed(tickPost("k7"), 2*time.Hour), job.Post{Kind: job.Step, Key: "k7"})...)
	var n int
	b.must(b.Pool().QueryRow(b.ctx, `select count(*) from jobs`).Scan(&n))
	if n != 201 {
		t.Errorf("%d rows, want 200 ticks and a step", n)
	}
	var due float64
	b.must(b.Pool().QueryRow(b.ctx, `select extract(epoch from run_at - clock_timestamp())::float8 from jobs where kind = 'tick' and key = 'k7'`).Scan(&due))
	if !nearly(time.Duration(due*float64(time.Second)), time.Minute) {
		t.Errorf("the tick is due in %v s, want the earliest of three", due)
	}
}

// Posters lock rows; without one order among them this deadlocks within a second.
func TestPostersInAnyOrderDoNotWaitForEachOther(t *testing.T) {
	b := newJobBench(t)
	var all sync.WaitGroup
	for w := range 6 {
		all.Go(func() {
			for i := range 40 {
				var posts []job.Post
				for k := range 30 {
					if w%2 == 0 {
						k = 29 - k
					}
					posts = append(posts, tickPost(fmt.Sprint((k+i)%30)))
				}
				if err := b.InTx(b.ctx, func(tx *store.Tx) error { return tx.PostJobs(b.ctx, posts...) }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	var deadlocks int
	b.must(b.Pool().QueryRow(b.ctx, `select deadlocks from pg_stat_database where datname = current_database()`).Scan(&deadlocks))
	if deadlocks > 0 {
		t.Errorf("%d deadlocks", deadlocks)
	}
}

func TestOnlyDuePostsWakeAndOnlyAfterTheCommit(t *testing.T) {
	b := newJobBench(t)
	heard, ready := make(chan string, 10), make(chan struct{}, 10)
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	go b.Listen(ctx, []string{store.ChannelJobs, store.ChannelStop},
		func(channel, payload string) { heard <- channel + " " + payload }, func() { ready <- struct{}{} })
	<-ready
	b.post(delayed(tickPost("later"), time.Hour))
	b.must(b.InTx(b.ctx, func(tx *store.Tx) error {
		if err := tx.PostJobs(b.ctx, tickPost("a"), tickPost("b")); err != nil {
			return err
		}
		select {
		case s := <-heard:
			t.Errorf("heard %q before the commit", s)
		case <-time.After(50 * time.Millisecond):
		}
		return tx.NotifyStop(b.ctx, "op")
	}))
	for _, want := range []string{"jobs fast", "stop op"} {
		if got := <-heard; got != want {
			t.Errorf("heard %q, want %q", got, want)
		}
	}
	b.exec(`select pg_terminate_backend(pid) from pg_stat_activity where query ilike 'listen%' and datname = current_database()`)
	<-ready // a new connection, and the listener is told to look
	b.post(job.Post{Kind: job.Step, Key: "s"})
	if got := <-heard; got != "jobs operations" {
		t.Errorf("after a lost connection heard %q", got)
	}
}

func TestRelayTakesTheOldestAndNoMoreThanAllowed(t *testing.T) {
	b := newJobBench(t)
	for i := range 5 {
		b.post(tickPost(fmt.Sprint(i)))
	}
	b.post(delayed(tickPost("not due"), time.Hour), job.Post{Kind: job.Step, Key: "other queue"})
	first := b.relay(job.Fast, 3)
	if len(first) != 3 {
		t.Fatalf("relayed %d, want 3", len(first))
	}
	if again := b.relay(job.Fast, 3); len(again) != 0 {
		t.Errorf("relayed %d more, although three are on their way", len(again))
	}
	// What another worker sent, perhaps one that died, does not count.
	list, err := b.RelayJobs(b.ctx, []job.Allowance{{Queue: job.Fast, Jobs: 3}, {Queue: job.Operations, Jobs: 1}}, "another", time.Minute, false)
	b.must(err)
	if len(list) != 3 {
		t.Errorf("another worker relayed %v, want the two ticks left and the step", list)
	}
	for i := range 3 {
		if r := b.row(fmt.Sprint(i)); r.State != "sent" {
			t.Errorf("the oldest tick %d is %s", i, r.State)
		}
	}
	b.must(b.UnsendJob(b.ctx, first[0]))
	if r := b.row("0"); r.State != "ready" {
		t.Errorf("unsent, it is %+v", r)
	}
	re := b.relay(job.Fast, 3)
	if len(re) != 1 || re[0].Delivery != 2 {
		t.Errorf("relayed again: %v, want delivery 2", re)
	}
	b.must(b.UnsendJob(b.ctx, first[0])) // late: the delivery is another one
	if r := b.row("0"); r.State != "sent" {
		t.Errorf("a late unsend took back a new delivery: %+v", r)
	}
}

func TestEveryJobIsClaimedOnce(t *testing.T) {
	b := newJobBench(t)
	b.post(tickPost("k"))
	sent := b.relay(job.Fast, 1)[0]
	var won, lost int
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			_, err := b.ClaimJob(b.ctx, sent.ID, "w", jobLease)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			} else if errors.Is(err, job.ErrLost) {
				lost++
			} else {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if won != 1 || lost != 7 {
		t.Errorf("claimed %d times, refused %d times", won, lost)
	}
}

func TestTheFenceKeepsOutWhoLostTheLease(t *testing.T) {
	b := newJobBench(t)
	b.post(tickPost("k"))
	old := b.take(job.Fast)
	b.exec(`update jobs set lease_until = clock_timestamp() - interval '1 second'`)
	if n, err := b.ReapJobs(b.ctx); n != 1 || err != nil {
		t.Fatalf("reaped %d, %v", n, err)
	}
	now := b.take(job.Fast) // somebody else runs it
	if now.Token == old.Token {
		t.Fatal("two claims share a token")
	}
	for name, write := range map[string]func() error{
		"renew":  func() error { _, err := b.RenewJob(b.ctx, old); return err },
		"back":   func() error { return b.BackJob(b.ctx, old, 0, 1, "x") },
		"close":  func() error { return b.CloseJob(b.ctx, old) },
		"hold":   func() error { return b.InTx(b.ctx, func(tx *store.Tx) error { return tx.HoldJob(b.ctx, old) }) },
		"bury":   func() error { return b.InTx(b.ctx, func(tx *store.Tx) error { return tx.BuryJob(b.ctx, old, "x") }) },
		"finish": func() error { return b.Finish(b.ctx, old, func(context.Context, *store.Tx) error { return nil }) },
	} {
		if err := write(); !errors.Is(err, job.ErrLost) {
			t.Errorf("%s with a stale token: %v, want ErrLost", name, err)
		}
	}
	if r := b.row("k"); r.State != "running" || r.Losses != 1 || r.Attempt != 0 || r.LastError == "" {
		t.Errorf("the row is %+v", r)
	}
	b.must(b.InTx(b.ctx, func(tx *store.Tx) error { return tx.HoldJob(b.ctx, now) }))
}

func TestFinishWritesAllOrNothing(t *testing.T) {
	b := newJobBench(t)
	b.exec(`create table effects (n int)`)
	effect := func(ctx context.Context, tx *store.Tx) error {
		return tx.PostJobs(ctx, job.Post{Kind: job.Settle, Key: "after"})
	}
	b.post(tickPost("k"))
	c := b.take(job.Fast)

	boom := errors.New("boom")
	if err := b.Finish(b.ctx, c, func(ctx context.Context, tx *store.Tx) error {
		b.must(effect(ctx, tx))
		return boom
	}); !errors.Is(err, boom) {
		t.Fatal(err)
	}
	stale := c
	stale.Token--
	if err := b.Finish(b.ctx, stale, effect); !errors.Is(err, job.ErrLost) {
		t.Fatal(err)
	}
	if n := b.count(`jobs where key = 'after'`); n != 0 || b.row("k").State != "running" {
		t.Errorf("%d effects of failed tries; the job is %+v", n, b.row("k"))
	}
	// A handler that was cancelled still writes what it did.
	ctx, cancel := context.WithCancelCause(b.ctx)
	cancel(job.ErrStop)
	b.must(b.Finish(ctx, c, effect))
	if b.count(`jobs where key = 'after'`) != 1 || b.row("k").State != "done" {
		t.Errorf("finished: %+v", b.row("k"))
	}
	// One that lost its lease does not even try.
	ctx, cancel = context.WithCancelCause(b.ctx)
	cancel(job.ErrLost)
	if err := b.Finish(ctx, c, func(context.Context, *store.Tx) error { t.Error("ran"); return nil }); !errors.Is(err, job.ErrLost) {
		t.Error(err)
	}
}

func (b *jobBench) count(from string) (n int) {
	b.t.Helper()
	b.must(b.Pool().QueryRow(b.ctx, `select count(*) from `+from).Scan(&n))
	return n
}

func TestAStepPostsTheNextAndTheSameRowRunsAgain(t *testing.T) {
	b := newJobBench(t)
	p := job.Post{Kind: job.Step, Key: "op"}
	b.post(p)
	b.must(b.BackJob(b.ctx, b.take(job.Operations), 0, 1, "overloaded"))
	for range 3 {
		b.must(b.Finish(b.ctx, b.take(job.Operations), func(ctx context.Context, tx *store.Tx) error { return tx.PostJobs(ctx, p) }))
		if r := b.row("op"); r.State != "ready" || r.Rows != 1 || r.Attempt != 0 || r.Again != nil {
			t.Fatalf("between steps the row is %+v", r)
		}
	}
	b.must(b.Finish(b.ctx, b.take(job.Operations), func(context.Context, *store.Tx) error { return nil }))
	if r := b.row("op"); r.State != "done" || r.Token != 5 {
		t.Errorf("after the last step the row is %+v", r)
	}
}

func TestABackedJobCoversThePostsThatCameMeanwhile(t *testing.T) {
	b := newJobBench(t)
	b.post(tickPost("k"))
	c := b.take(job.Fast)
	b.post(delayed(tickPost("k"), time.Hour))
	b.must(b.BackJob(b.ctx, c, 0, 0, "a broken \xff byte, a \x00 and "+strings.Repeat("length ", 1000)))
	r := b.row("k")
	if r.State != "ready" || r.Again != nil || r.Attempt != 0 || !nearly(r.Due, 0) || len(r.LastError) > 1100 {
		t.Errorf("the row is %+v", r)
	}
}

func TestAJobThatWasLostOftenRunsAloneUntilItSucceeds(t *testing.T) {
	b := newJobBench(t)
	b.post(job.Post{Kind: job.Step, Key: "op"})
	lose := func(q job.Queue) {
		b.take(q)
		b.exec(`update jobs set lease_until = clock_timestamp() where state = 'running'`)
		n, err := b.ReapJobs(b.ctx)
		b.must(err)
		if n != 1 {
			t.Fatalf("reaped %d", n)
		}
	}
	for range job.SuspectAfter {
		lose(job.Operations)
	}
	c := b.take(job.Suspect)
	if c.Losses != job.SuspectAfter || c.Poison() {
		t.Fatalf("claimed %+v", c)
	}
	b.post(job.Post{Kind: job.Step, Key: "op"})
	b.must(b.CloseJob(b.ctx, c))
	if r := b.row("op"); r.Queue != "operations" || r.Losses != 0 || r.State != "ready" {
		t.Errorf("after a success it is not back in its class: %+v", r)
	}
}

func TestRenewalProlongsAndBringsTheStop(t *testing.T) {
	b := newJobBench(t)
	op := b.operation("running")
	b.post(job.Post{Kind: job.Step, Key: op, IDs: job.IDs{Operation: op}})
	c := b.take(job.Operations)
	renew := func() bool {
		t.Helper()
		stop, err := b.RenewJob(b.ctx, c)
		b.must(err)
		return stop
	}
	b.exec(`update jobs set lease_until = clock_timestamp() - interval '1 hour'`)
	if renew() {
		t.Error("a running operation is reported as stopped")
	}
	if n, _ := b.ReapJobs(b.ctx); n != 0 {
		t.Error("a renewed job was reaped")
	}
	b.exec(`update operations set interrupt_at = clock_timestamp()`)
	if !renew() {
		t.Error("the request to interrupt did not arrive")
	}
	b.exec(`update operations set interrupt_at = null, status = 'error', completion_reason = 'error', completed_at = clock_timestamp()`)
	if !renew() {
		t.Error("the end of the operation did not arrive")
	}
}

// operation makes an operation alone, without the task and topic it hangs on.
func (b *jobBench) operation(status string) string {
	b.t.Helper()
	op := id.New()
	conn, err := b.Pool().Acquire(b.ctx)
	b.must(err)
	defer conn.Release()
	for _, s := range []string{`set session_replication_role = replica`, // no foreign keys
		fmt.Sprintf(`insert into operations (id, workspace_id, task_id, topic_id, status, model, limits)
			values ('%s', '%s', '%s', '%s', '%s', 'offline/extractive', '{}')`, op, id.New(), id.New(), id.New(), status),
		`reset session_replication_role`} {
		_, err := conn.Exec(b.ctx, s)
		b.must(err)
	}
	return op
}

// The relay takes the youngest now and then, so that a backlog does not hold it up.
func TestTheYoungestCanBeTakenFirst(t *testing.T) {
	b := newJobBench(t)
	for _, key := range []string{"old", "young", "to come"} {
		b.post(tickPost(key))
	}
	b.exec(`update jobs set run_at = run_at + case key when 'old' then interval '-1 hour' when 'young' then interval '0' else interval '1 hour' end`)
	list, err := b.RelayJobs(b.ctx, []job.Allowance{{Queue: job.Fast, Jobs: 1}}, "w", time.Minute, true)
	b.must(err)
	if len(list) != 1 || b.row("young").State != "sent" {
		t.Fatalf("taken: %v", list)
	}
	if list = b.relay(job.Fast, 2); len(list) != 1 || b.row("old").State != "sent" {
		t.Errorf("then: %v", list)
	}
}

func TestASentJobIsLookedForAfterItsTime(t *testing.T) {
	b := newJobBench(t)
	b.post(tickPost("k"))
	list, err := b.RelayJobs(b.ctx, []job.Allowance{{Queue: job.Fast, Jobs: 1}}, "w", -time.Second, false)
	b.must(err)
	over, err := b.OverdueJobs(b.ctx)
	b.must(err)
	if len(over) != 1 || over[0].String() != list[0].String() {
		t.Fatalf("overdue: %v, want %v", over, list)
	}
	b.must(b.ExtendJob(b.ctx, over[0], time.Minute))
	if over, _ := b.OverdueJobs(b.ctx); len(over) != 0 {
		t.Errorf("still overdue: %v", over)
	}
}

func TestALostRedisMakesWhatWasSentReadyOnce(t *testing.T) {
	b := newJobBench(t)
	b.post(tickPost("sent"), job.Post{Kind: job.Step, Key: "running"})
	b.take(job.Operations)
	b.relay(job.Fast, 1)
	redis := "" // what the queue holds
	look := func(context.Context) (string, error) { return redis, nil }
	keep := func(_ context.Context, e string) error { redis = e; return nil }

	away := errors.New("redis is away")
	if _, _, err := b.RenewQueueEpoch(b.ctx, "one", look, func(context.Context, string) error { return away }); !errors.Is(err, away) {
		t.Fatal(err)
	}
	if r := b.row("sent"); r.State != "sent" {
		t.Errorf("without a kept epoch the job is %s", r.State)
	}
	epoch, renewed, err := b.RenewQueueEpoch(b.ctx, "one", look, keep)
	if b.must(err); epoch != "one" || !renewed || redis != "one" {
		t.Errorf("renewed to %q, %v, redis has %q", epoch, renewed, redis)
	}
	if b.row("sent").State != "ready" || b.row("running").State != "running" {
		t.Errorf("sent is %s, running is %s", b.row("sent").State, b.row("running").State)
	}
	b.relay(job.Fast, 1)
	epoch, renewed, err = b.RenewQueueEpoch(b.ctx, "two", look, keep) // another worker was faster
	if b.must(err); epoch != "one" || renewed || b.row("sent").State != "sent" {
		t.Errorf("renewed a second time: %q, %v, %s", epoch, renewed, b.row("sent").State)
	}
	if have, err := b.QueueEpoch(b.ctx); err != nil || have != "one" {
		t.Errorf("the row says %q, %v", have, err)
	}
}

// A connection that breaks inside a transaction leaves open what became of it, so
// that nothing may be concluded; outside of one, the same error may be anybody's.
func TestABrokenConnectionIsTheDatabasesOnlyInsideATransaction(t *testing.T) {
	b := newJobBench(t)
	for _, broken := range []error{io.EOF, io.ErrUnexpectedEOF, &net.OpError{Op: "read", Err: syscall.ECONNRESET}} {
		err := b.InTx(b.ctx, func(*store.Tx) error { return fmt.Errorf("read task: %w", broken) })
		if !store.Transient(err) || !errors.Is(err, broken) {
			t.Errorf("%v in a transaction is not transient", err)
		}
		if store.Transient(broken) {
			t.Errorf("%v from anywhere is transient", broken)
		}
	}
	err := b.InTx(b.ctx, func(tx *store.Tx) error {
		_, _ = tx.Conn(b.ctx).ExecContext(b.ctx, `select pg_terminate_backend(pg_backend_pid())`)
		return tx.PostJobs(b.ctx, tickPost("k"))
	})
	if !store.Transient(err) {
		t.Errorf("a terminated connection is not transient: %v", err)
	}
}
