// Package queue carries the ids of jobs from Postgres through Redis to the slots
// of a worker. It decides nothing about a job: the rows are the truth, a message
// is a hint that may come twice, late or never. docs/jobs.md is the contract, and
// says what bites in asynq.
package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/base/killpoint"
	"github.com/dogwatch/dogwatch/internal/base/outage"
	"github.com/dogwatch/dogwatch/internal/domain/job"
)

// Rows is what the queue needs of the jobs' table.
type Rows interface {
	RelayJobs(ctx context.Context, allow []job.Allowance, worker string, visible time.Duration, youngest bool) ([]job.Sent, error)
	UnsendJob(ctx context.Context, j job.Sent) error
	ReapJobs(ctx context.Context) (int, error)
	OverdueJobs(ctx context.Context) ([]job.Sent, error)
	ExtendJob(ctx context.Context, j job.Sent, visible time.Duration) error
	RenewQueueEpoch(ctx context.Context, next string, look func(context.Context) (string, error),
		keep func(ctx context.Context, epoch string) error) (epoch string, renewed bool, err error)
}

// Config says how much work a worker takes.
type Config struct {
	Worker  string            // its name in the rows
	Slots   map[job.Queue]int // jobs of a class that run at once; see DefaultSlots
	Lease   time.Duration     // of a job; the reaper looks at least twice as often
	Visible time.Duration     // until a message that did not arrive is looked for
	Abandon time.Duration     // in Shutdown, until asynq no longer waits for a handler
}

// DefaultSlots are for one small machine: work in the class of operations waits
// for models, not for us.
var DefaultSlots = map[job.Queue]int{job.Fast: 8, job.Effects: 8, job.Operations: 64, job.Housekeeping: 2}

const (
	relayEvery = 250 * time.Millisecond // when nothing wakes it
	relayPause = 10 * time.Millisecond  // between two looks: a job that ends wakes it, and many do at once
	reapEvery  = time.Second
	sweepEvery = 20 * time.Second // archived messages: asynq keeps them for 90 days
	callLimit  = 5 * time.Second  // of one look; Postgres and Redis are near

	epochKey = "dogwatch:epoch"

	// noTimeout: asynq retries a message whose time is over while its handler
	// runs on, so its time never ends. A job's own limit is the worker's affair.
	noTimeout = 1000 * time.Hour
)

// Queue is the relay, the reaper and the lanes of one worker.
type Queue struct {
	rows      Rows
	redis     *Redis
	cfg       Config
	log       *slog.Logger
	client    *asynq.Client
	inspector *asynq.Inspector
	lanes     []*lane
	deliver   func(job.Sent)

	epoch    string    // that Redis held when it was last looked at; the relay's own
	crowded  time.Time // until when other lanes give way to ticks; the relay's own
	looks    int       // of the relay, counted
	wake     chan struct{}
	stopping chan struct{}
	stop     sync.Once
	loops    sync.WaitGroup
}

// lane is one asynq server with its slots.
type lane struct {
	queue  job.Queue
	slots  int
	short  bool // its jobs take milliseconds
	busy   atomic.Int32
	server *asynq.Server
}

// New makes the queue of one worker. deliver is called in a slot with each
// message, and has the slot until it returns.
func New(r *Redis, rows Rows, cfg Config, log *slog.Logger, deliver func(job.Sent)) *Queue {
	q := &Queue{
		rows: rows, redis: r, cfg: cfg, log: log, deliver: deliver,
		client: asynq.NewClientFromRedisClient(r.client), inspector: asynq.NewInspectorFromRedisClient(r.client),
		wake: make(chan struct{}, 1), stopping: make(chan struct{}),
	}
	for _, class := range job.Queues {
		slots := cfg.Slots[class]
		if slots < 1 {
			slots = DefaultSlots[class]
		}
		q.lanes = append(q.lanes, &lane{queue: class, slots: slots, short: class == job.Fast || class == job.Effects})
	}
	q.lanes = append(q.lanes, &lane{queue: job.Suspect, slots: 1})
	for _, l := range q.lanes {
		l.server = asynq.NewServerFromRedisClient(r.client, q.asynqConfig(l))
	}
	return q
}

func (q *Queue) asynqConfig(l *lane) asynq.Config {
	check := 50 * time.Millisecond // asynq's own second would be felt; each look is a command
	switch l.queue {
	case job.Effects, job.Operations:
		check *= 2 // between two calls of a model
	case job.Housekeeping, job.Suspect:
		check *= 10 // nobody waits
	}
	return asynq.Config{
		Concurrency: l.slots, Queues: map[string]int{name(l.queue): 1}, TaskCheckInterval: check,
		ShutdownTimeout: q.cfg.Abandon, LogLevel: asynq.WarnLevel, Logger: quieter{q.log},
	}
}

// Start begins to take work. It fails when Redis does not answer.
func (q *Queue) Start(ctx context.Context) error {
	if err := q.redis.Ping(ctx); err != nil {
		return err
	}
	for _, l := range q.lanes {
		err := l.server.Start(asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error {
			q.handle(l, string(t.Payload()))
			return nil // whatever happened is in the row
		}))
		if err != nil {
			return fmt.Errorf("start the queue %s: %w", l.queue, err)
		}
	}
	base := context.WithoutCancel(ctx) // a look that has begun is ended: Stop waits for it
	q.loops.Go(func() { q.loop(base, "relay", relayEvery, q.wake, q.relay) })
	q.loops.Go(func() { q.loop(base, "reap", min(reapEvery, q.cfg.Lease/2), nil, q.reap) })
	q.loops.Go(func() { q.loop(base, "sweep", sweepEvery, nil, q.sweep) })
	return nil
}

// Stop takes no more work, and returns when the relay is still: nothing lies
// between a row marked as sent and its message.
func (q *Queue) Stop() {
	q.stop.Do(func() { close(q.stopping) })
	for _, l := range q.lanes {
		l.server.Stop()
	}
	q.loops.Wait()
}

// Shutdown ends asynq, after Stop and after the handlers.
func (q *Queue) Shutdown() {
	var all sync.WaitGroup
	for _, l := range q.lanes {
		all.Go(l.server.Shutdown)
	}
	all.Wait()
}

// Wake makes the relay look now.
func (q *Queue) Wake() {
	select {
	case q.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// loop calls look every so often, give or take a quarter so that replicas spread.
// It logs the first of several failures and the recovery.
func (q *Queue) loop(ctx context.Context, what string, every time.Duration, wake <-chan struct{}, look func(context.Context) error) {
	log := outage.New(q.log, what)
	for {
		call, cancel := context.WithTimeout(ctx, callLimit)
		err := look(call)
		cancel()
		log.Note(ctx, err)
		pause := time.NewTimer(every*3/4 + rand.N(every/2))
		select {
		case <-q.stopping:
			pause.Stop()
			return
		case <-wake: // nil for the others: never
			pause.Reset(relayPause)
			<-pause.C
		case <-pause.C:
		}
	}
}

// relay moves due jobs from Postgres to Redis, not many more than there are slots
// for: the order is Postgres's, and what lies in Redis is out of its hands.
func (q *Queue) relay(ctx context.Context) error {
	if err := q.checkEpoch(ctx); err != nil {
		return err // Redis is away: the rows wait
	}
	var allow []job.Allowance
	q.looks++
	crowded := time.Now().Before(q.crowded)
	for _, l := range q.lanes {
		n := l.ahead()
		if crowded && l.queue != job.Fast {
			n = min(n, max(1, l.slots/giveWay)-int(l.busy.Load()))
		}
		if n > 0 {
			allow = append(allow, job.Allowance{Queue: l.queue, Jobs: n})
		}
	}
	if len(allow) == 0 {
		return nil
	}
	sent, err := q.rows.RelayJobs(ctx, allow, q.cfg.Worker, q.cfg.Visible, q.looks%youngestEvery == 0)
	if err != nil {
		return err
	}
	if len(sent) > 0 {
		killpoint.Hit("relayed")
	}
	for i, j := range sent {
		if j.Queue == job.Fast && j.Late > tooLate {
			q.crowded = time.Now().Add(crowdFor)
		}
		if err := q.enqueue(ctx, j); err != nil {
			q.unsend(ctx, sent[i:]...)
			return fmt.Errorf("enqueue: %w", err)
		}
		killpoint.Hit("enqueued")
	}
	return nil
}

// youngestEvery is which look of the relay takes the youngest that are due instead of
// the oldest: a backlog of thousands then does not hold up what has just become due.
const youngestEvery = 4

// aheadOfShort is how many short jobs may wait in Redis for each slot. asynq sleeps
// when it finds nothing there, so something should lie ready whenever a slot gets
// free: counting only the free slots here costs a third of the throughput.
const aheadOfShort = 4

// While ticks are late the other lanes go on with a part of their slots, since they
// share the processors; with a part, so that a crowd of ticks holds up nothing for
// good. Ticks are late when the relay finds one that has waited for tooLate, and are
// taken for late a while longer.
const (
	giveWay  = 64 // the part: one slot of so many, at least one
	tooLate  = 200 * time.Millisecond
	crowdFor = 500 * time.Millisecond
)

// ahead is how many jobs may be on their way to the lane: as many as have a slot,
// and some more if they are short.
func (l *lane) ahead() int {
	if l.short {
		return l.slots * aheadOfShort
	}
	return l.slots - int(l.busy.Load())
}

func (q *Queue) enqueue(ctx context.Context, j job.Sent) error {
	_, err := q.client.EnqueueContext(ctx, asynq.NewTask("job", []byte(j.String())),
		asynq.TaskID(j.String()), asynq.Queue(name(j.Queue)), asynq.MaxRetry(0), asynq.Timeout(noTimeout))
	if errors.Is(err, asynq.ErrTaskIDConflict) {
		// This delivery is new, so the message is a leftover, of another database
		// or of an answer that was lost. The next number is free.
		return q.rows.UnsendJob(ctx, j)
	}
	return err
}

// unsend puts rows back at once whose messages are not to be. Where it fails, the
// reaper finds them.
func (q *Queue) unsend(ctx context.Context, list ...job.Sent) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callLimit)
	defer cancel()
	for _, j := range list {
		if q.rows.UnsendJob(ctx, j) != nil {
			return
		}
	}
}

// checkEpoch compares the epoch in Redis with what it was at the last look. When
// it is gone Redis was wiped, and what was sent is sent anew.
func (q *Queue) checkEpoch(ctx context.Context) error {
	have, err := q.lookEpoch(ctx)
	if err != nil || have != "" && have == q.epoch {
		return err
	}
	epoch, renewed, err := q.rows.RenewQueueEpoch(ctx, id.New(), q.lookEpoch, q.keepEpoch)
	if err != nil {
		return err
	}
	q.epoch = epoch
	if renewed {
		q.log.Info("the queue in Redis is new; everything that was sent is sent again")
	}
	return nil
}

func (q *Queue) lookEpoch(ctx context.Context) (string, error) {
	epoch, err := q.redis.client.Get(ctx, epochKey).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("read the queue's epoch: %w", err)
	}
	return epoch, nil
}

func (q *Queue) keepEpoch(ctx context.Context, epoch string) error {
	if err := q.list(ctx); err != nil {
		return err
	}
	if err := q.redis.client.Set(ctx, epochKey, epoch, 0).Err(); err != nil {
		return fmt.Errorf("write the queue's epoch: %w", err)
	}
	return nil
}

// list adds our queues to asynq's list of them. It does so itself once per process
// and queue; after a wipe its inspector would not find them.
func (q *Queue) list(ctx context.Context) error {
	for _, l := range q.lanes {
		if err := q.redis.client.SAdd(ctx, setName, name(l.queue)).Err(); err != nil {
			return fmt.Errorf("list the queue %s: %w", l.queue, err)
		}
	}
	return nil
}

// reap puts back what was lost: a lease that ran out, a message that is gone. Redis
// is asked while no row is locked.
func (q *Queue) reap(ctx context.Context) error {
	n, err := q.rows.ReapJobs(ctx)
	if n > 0 {
		q.log.Warn("jobs were lost by their worker and are run again", "jobs", n)
		q.Wake()
	}
	if err != nil {
		return err
	}
	overdue, err := q.rows.OverdueJobs(ctx)
	if err != nil {
		return err
	}
	for _, j := range overdue {
		pending, err := q.pending(j)
		if err != nil {
			return fmt.Errorf("look for a message: %w", err) // Redis does not answer: the row stays as it is
		}
		if pending {
			err = q.rows.ExtendJob(ctx, j, q.cfg.Visible)
		} else if err = q.rows.UnsendJob(ctx, j); err == nil {
			q.Wake()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (q *Queue) pending(j job.Sent) (bool, error) {
	info, err := q.inspector.GetTaskInfo(name(j.Queue), j.String())
	if errors.Is(err, asynq.ErrTaskNotFound) || errors.Is(err, asynq.ErrQueueNotFound) {
		return false, nil
	}
	return err == nil && info.State == asynq.TaskStatePending, err
}

// sweep deletes the messages of killed workers: asynq notices after a minute and
// archives them.
func (q *Queue) sweep(ctx context.Context) error {
	if err := q.list(ctx); err != nil {
		return err
	}
	for _, l := range q.lanes {
		if _, err := q.inspector.DeleteAllArchivedTasks(name(l.queue)); err != nil {
			return fmt.Errorf("delete archived messages: %w", err)
		}
	}
	return nil
}

// handle gives a message to the worker if there is a slot. asynq gives a slot away
// when it believes that its own lease is over while our goroutine lives on, so
// the slots are counted here.
func (q *Queue) handle(l *lane, payload string) {
	j, err := job.ParseSent(payload, l.queue)
	if err != nil {
		q.log.Warn("a foreign message was dropped", "queue", l.queue, "err", err)
		return
	}
	defer func() {
		l.busy.Add(-1)
		q.Wake()
	}()
	if int(l.busy.Add(1)) > l.slots || q.stopped() {
		q.unsend(context.Background(), j) // the message is used up: do not let the row wait for its time
		return
	}
	q.deliver(j)
}

func (q *Queue) stopped() bool {
	select {
	case <-q.stopping:
		return true
	default:
		return false
	}
}

// Lane is what a lane holds now.
type Lane struct {
	Queue       job.Queue
	Slots, Busy int // of this worker
}

// Lanes says how busy this worker is.
func (q *Queue) Lanes() []Lane {
	list := make([]Lane, len(q.lanes))
	for i, l := range q.lanes {
		list[i] = Lane{l.queue, l.slots, int(l.busy.Load())}
	}
	return list
}

// Waiting counts the messages in Redis by queue, of all workers.
func (q *Queue) Waiting() (map[job.Queue]int, error) {
	n := make(map[job.Queue]int, len(q.lanes))
	for _, l := range q.lanes {
		info, err := q.inspector.GetQueueInfo(name(l.queue))
		if errors.Is(err, asynq.ErrQueueNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("inspect the queue %s: %w", l.queue, err)
		}
		n[l.queue] = info.Pending
	}
	return n, nil
}

// quieter sends what asynq has to say to the log as a detail: when Redis is away
// our own loops say so, once.
type quieter struct{ log *slog.Logger }

func (l quieter) Debug(a ...any) {}
func (l quieter) Info(a ...any)  {}
func (l quieter) Warn(a ...any)  { l.log.Debug("asynq: " + fmt.Sprint(a...)) }
func (l quieter) Error(a ...any) { l.log.Debug("asynq: " + fmt.Sprint(a...)) }
func (l quieter) Fatal(a ...any) { l.log.Error("asynq: " + fmt.Sprint(a...)) }
