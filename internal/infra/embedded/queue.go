package embedded

import (
	"crypto/rand"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// queueTick is how often the queue's clock is moved on. miniredis lets keys
// expire only when it is told that time has passed; the locks and leases of
// asynq that depend on it are a second or longer.
const queueTick = 250 * time.Millisecond

// Queue is an in-process server that speaks Redis's protocol on loopback. It
// holds nothing that Postgres does not know: when it goes, jobs that it carried
// are sent again, and only time is lost.
type Queue struct {
	mini     *miniredis.Miniredis
	password string
	stop     chan struct{}
	once     sync.Once
	ended    sync.WaitGroup
}

// StartQueue starts the queue on a free loopback port, behind a password,
// because other accounts of the machine can reach the port.
func StartQueue(log *slog.Logger) (*Queue, error) {
	q := &Queue{mini: miniredis.NewMiniRedis(), password: rand.Text(), stop: make(chan struct{})}
	q.mini.RequireAuth(q.password)
	if err := q.mini.StartAddr("127.0.0.1:0"); err != nil {
		return nil, &StartError{Dependency: "queue", Problem: "the in-process queue could not listen on 127.0.0.1: " + err.Error(),
			Try: "DOGWATCH_REDIS_URL for a running Redis", Err: err}
	}
	q.ended.Go(q.moveClock)
	log.Info("the queue is in memory; when this process ends nothing but time is lost, Postgres keeps every job",
		"address", q.mini.Addr())
	return q, nil
}

// URL is the address of the queue, for go-redis and asynq.
func (q *Queue) URL() string {
	u := url.URL{Scheme: "redis", User: url.UserPassword("default", q.password), Host: q.mini.Addr(), Path: "/0"}
	return u.String()
}

// Close ends the queue and forgets what it holds.
func (q *Queue) Close() {
	q.once.Do(func() {
		close(q.stop)
		q.ended.Wait()
		q.mini.Close()
	})
}

// moveClock hands on the time that really passed: a tick may come late.
func (q *Queue) moveClock() {
	tick := time.NewTicker(queueTick)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-q.stop:
			return
		case <-tick.C:
			now := time.Now()
			q.mini.FastForward(now.Sub(last))
			last = now
		}
	}
}
