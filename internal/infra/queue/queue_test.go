package queue_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/infra/queue"
	"github.com/dogwatch/dogwatch/internal/testkit/redistest"
)

// table plays the jobs' table: due jobs go out once, and what comes back is due
// again under the next delivery.
type table struct {
	mu      sync.Mutex
	due     []job.Sent
	sent    map[int64]job.Sent
	overdue bool // everything that is sent is past its time
	allowed []job.Allowance
	unsent  []job.Sent
	extends int
	epoch   string
	renewed int
	relayed func() // after jobs were marked as sent
}

func (t *table) RelayJobs(_ context.Context, allow []job.Allowance, _ string, _ time.Duration, _ bool) ([]job.Sent, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.allowed = allow
	var out []job.Sent
	for _, a := range allow {
		n := a.Jobs
		for _, s := range t.sent {
			if s.Queue == a.Queue {
				n--
			}
		}
		t.due = slices.DeleteFunc(t.due, func(s job.Sent) bool {
			if s.Queue != a.Queue || n <= 0 {
				return false
			}
			n--
			s.Delivery++
			t.sent[s.ID] = s
			out = append(out, s)
			return true
		})
	}
	if len(out) > 0 && t.relayed != nil {
		t.relayed()
	}
	return out, nil
}

func (t *table) UnsendJob(_ context.Context, s job.Sent) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sent[s.ID] == s {
		delete(t.sent, s.ID)
		t.due, t.unsent = append(t.due, s), append(t.unsent, s)
	}
	return nil
}

func (t *table) ReapJobs(context.Context) (int, error) { return 0, nil }

func (t *table) OverdueJobs(context.Context) (list []job.Sent, _ error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.sent {
		if t.overdue {
			list = append(list, s)
		}
	}
	return list, nil
}

func (t *table) ExtendJob(context.Context, job.Sent, time.Duration) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.extends++
	return nil
}

func (t *table) RenewQueueEpoch(ctx context.Context, next string, look func(context.Context) (string, error), keep func(context.Context, string) error) (string, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	have, err := look(ctx)
	if err != nil || have == t.epoch && have != "" {
		return t.epoch, false, err
	}
	for id, s := range t.sent {
		delete(t.sent, id)
		t.due = append(t.due, s)
	}
	t.epoch = next
	t.renewed++
	return next, true, keep(ctx, next)
}

// claim is what a worker does with a message: the row leaves the table.
func (t *table) claim(s job.Sent) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.sent[s.ID]
	delete(t.sent, s.ID)
	return ok
}

func (t *table) look(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
}

func newTable(q job.Queue, n int) *table {
	t := &table{sent: map[int64]job.Sent{}}
	for i := range n {
		t.due = append(t.due, job.Sent{ID: int64(i + 1), Queue: q})
	}
	return t
}

// run starts a queue over the table and stops it with the test.
func run(t *testing.T, url string, rows *table, slots map[job.Queue]int, deliver func(job.Sent)) *queue.Queue {
	t.Helper()
	r, err := queue.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	q := queue.New(r, rows, queue.Config{Worker: "w", Slots: slots, Lease: time.Second, Visible: time.Second, Abandon: time.Second},
		slog.New(slog.DiscardHandler), deliver)
	if err := q.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Stop(); q.Shutdown(); r.Close() })
	return q
}

func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for begin := time.Now(); !f(); time.Sleep(2 * time.Millisecond) {
		if time.Since(begin) > 20*time.Second {
			t.Fatalf("%s did not happen", what)
		}
	}
}

func TestEveryJobArrivesOnceThroughItsOwnLane(t *testing.T) {
	redistest.Each(t, func(t *testing.T, url string) {
		t.Parallel()
		rows := newTable(job.Fast, 50)
		for _, q := range []job.Queue{job.Operations, job.Housekeeping, job.Suspect} {
			rows.due = append(rows.due, job.Sent{ID: int64(1000 + len(rows.due)), Queue: q})
		}
		arrived := map[job.Queue]int{}
		run(t, url, rows, nil, func(s job.Sent) {
			if rows.claim(s) {
				rows.look(func() { arrived[s.Queue]++ })
			}
		})
		until(t, "every arrival", func() (all bool) {
			rows.look(func() {
				all = arrived[job.Fast] == 50 && arrived[job.Operations] == 1 && arrived[job.Housekeeping] == 1 && arrived[job.Suspect] == 1
			})
			return all
		})
	})
}

// busy is how many slots of a lane are taken.
func busy(q *queue.Queue, class job.Queue) int {
	for _, l := range q.Lanes() {
		if l.Queue == class {
			return l.Busy
		}
	}
	return -1
}

// While ticks are late the other lanes go on with a few of their slots.
func TestOtherWorkGivesWayToTicksThatAreLate(t *testing.T) {
	t.Parallel()
	rows := newTable(job.Fast, 0)
	run(t, redistest.Mini(t), rows, map[job.Queue]int{job.Fast: 2, job.Effects: 8, job.Operations: 64, job.Housekeeping: 2},
		func(s job.Sent) { rows.claim(s) })
	allowed := func(effects, operations, housekeeping int) func() bool {
		want := []job.Allowance{{Queue: job.Fast, Jobs: 8}, {Queue: job.Effects, Jobs: effects}, {Queue: job.Operations, Jobs: operations},
			{Queue: job.Housekeeping, Jobs: housekeeping}, {Queue: job.Suspect, Jobs: 1}}
		return func() (same bool) {
			rows.look(func() { same = slices.Equal(rows.allowed, want) })
			return same
		}
	}
	until(t, "the whole allowance", allowed(32, 64, 2))
	rows.look(func() { rows.due = append(rows.due, job.Sent{ID: 1, Queue: job.Operations, Late: time.Minute}) })
	until(t, "an operation that has waited long", func() (taken bool) {
		rows.look(func() { taken = len(rows.due) == 0 })
		return taken
	})
	until(t, "the whole allowance all the same", allowed(32, 64, 2))
	rows.look(func() { rows.due = append(rows.due, job.Sent{ID: 2, Queue: job.Fast, Late: time.Second}) })
	until(t, "a small allowance", allowed(1, 1, 1))
	until(t, "the whole allowance again", allowed(32, 64, 2))
}

func TestTheAllowanceFollowsTheFreeSlots(t *testing.T) {
	t.Parallel()
	rows := newTable(job.Operations, 10)
	release := make(chan struct{})
	q := run(t, redistest.Mini(t), rows, map[job.Queue]int{job.Fast: 3, job.Effects: 2, job.Operations: 2, job.Housekeeping: 1},
		func(s job.Sent) { rows.claim(s); <-release })
	until(t, "two running operations", func() bool { return busy(q, job.Operations) == 2 })
	q.Wake()
	want := []job.Allowance{{Queue: job.Fast, Jobs: 12}, {Queue: job.Effects, Jobs: 8}, {Queue: job.Housekeeping, Jobs: 1}, {Queue: job.Suspect, Jobs: 1}}
	until(t, "an allowance without operations", func() (same bool) {
		rows.look(func() { same = slices.Equal(rows.allowed, want) })
		return same
	})
	rows.look(func() {
		if taken := 10 - len(rows.due); taken > 4 {
			t.Errorf("%d operations were taken for two slots", taken)
		}
	})
	close(release)
}

func TestAFailedEnqueuePutsTheRowsBackAtOnce(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	rows := newTable(job.Fast, 0)
	run(t, s.URL(), rows, nil, func(s job.Sent) { rows.claim(s) })
	until(t, "the first epoch", func() (ok bool) { rows.look(func() { ok = rows.renewed == 1 }); return ok })
	rows.look(func() {
		rows.relayed = s.Kill // between the commit and the first message
		rows.due = append(rows.due, job.Sent{ID: 1, Queue: job.Fast}, job.Sent{ID: 2, Queue: job.Fast})
	})
	until(t, "the hand-back, with Redis away", func() (ok bool) { rows.look(func() { ok = len(rows.unsent) == 2 }); return ok })
	rows.look(func() { rows.relayed = nil })
	s.Start()
	until(t, "the jobs", func() (ok bool) { rows.look(func() { ok = len(rows.due) == 0 && len(rows.sent) == 0 }); return ok })
}

func TestAWipedRedisGetsANewEpochAndWhatWasSentAgain(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	rows := newTable(job.Operations, 1)
	release := make(chan struct{})
	var got sync.Map
	q := run(t, s.URL(), rows, map[job.Queue]int{job.Operations: 1}, func(s job.Sent) {
		if rows.claim(s) {
			got.Store(s.ID, true)
		}
		<-release
	})
	until(t, "a busy slot", func() bool { return busy(q, job.Operations) == 1 })
	// Sent, as if by another worker, and wiped.
	rows.look(func() { rows.sent[2] = job.Sent{ID: 2, Delivery: 1, Queue: job.Operations} })
	s.FlushAll()
	close(release)
	until(t, "the second job", func() bool { _, ok := got.Load(int64(2)); return ok })
	if waiting, err := q.Waiting(); err != nil || waiting[job.Operations] != 0 {
		t.Errorf("after the wipe the inspector says %v, %v", waiting, err)
	}
}

// What is past its time is looked for: still in Redis, it gets more time; gone, it
// is sent anew.
func TestOverdueJobsAreLookedFor(t *testing.T) {
	t.Parallel()
	url := redistest.Mini(t)
	opt, err := asynq.ParseRedisURI(url)
	if err != nil {
		t.Fatal(err)
	}
	client := asynq.NewClient(opt)
	defer client.Close()
	rows := newTable(job.Housekeeping, 2)
	block, first := make(chan struct{}), make(chan job.Sent, 10)
	q := run(t, url, rows, map[job.Queue]int{job.Housekeeping: 1}, func(s job.Sent) { rows.claim(s); first <- s; <-block })
	<-first // one runs; the slot is taken
	pending := job.Sent{ID: 77, Delivery: 3, Queue: job.Housekeeping}
	if _, err := client.Enqueue(asynq.NewTask("job", []byte(pending.String())), asynq.TaskID(pending.String()), asynq.Queue("dogwatch-housekeeping")); err != nil {
		t.Fatal(err)
	}
	gone := job.Sent{ID: 78, Delivery: 1, Queue: job.Housekeeping}
	rows.look(func() { rows.sent[77], rows.sent[78], rows.overdue = pending, gone, true })
	until(t, "the search", func() (ok bool) {
		rows.look(func() { ok = rows.extends > 0 && slices.Contains(rows.unsent, gone) })
		return ok
	})
	rows.look(func() {
		if slices.Contains(rows.unsent, pending) {
			t.Error("a job whose message waits was taken back")
		}
	})
	if n, err := q.Waiting(); err != nil || n[job.Housekeeping] < 1 {
		t.Errorf("waiting: %v, %v", n, err)
	}
	close(block)
}

func TestAfterStopNothingIsTaken(t *testing.T) {
	t.Parallel()
	rows := newTable(job.Fast, 0)
	q := run(t, redistest.Mini(t), rows, nil, func(s job.Sent) { t.Errorf("%v was delivered", s) })
	q.Stop()
	rows.look(func() { rows.due = append(rows.due, job.Sent{ID: 1, Queue: job.Fast}) })
	q.Wake()
	time.Sleep(300 * time.Millisecond)
	rows.look(func() {
		if len(rows.due) != 1 {
			t.Errorf("due %v, sent %v", rows.due, rows.sent)
		}
	})
}

func TestStartFailsWithoutRedis(t *testing.T) {
	t.Parallel()
	s := redistest.StartMini(t)
	s.Kill()
	r, err := queue.Dial(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	q := queue.New(r, newTable(job.Fast, 0), queue.Config{Lease: time.Second}, slog.New(slog.DiscardHandler), func(job.Sent) {})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := q.Start(ctx); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("it started: %v", err)
	}
}
