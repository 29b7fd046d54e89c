//go:build linux

package chaos

import (
	"bufio"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestFaults tells those faults of public systems that need a process to kill, a Redis
// to lose or a page to scrape; internal/flow/journey tells the others.
func TestFaults(t *testing.T) {
	t.Parallel()
	for id, tell := range map[string]func(*testing.T){
		"BUG-011": aBeatAfterAKill, "BUG-018": skippedTimesAreCounted, "BUG-063": aRunWithoutItsServer, "BUG-072": schedulesWithoutTheirQueue,
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			tell(t)
		})
	}
}

// Between two beats of a heartbeat its worker is killed. The next beat comes when it
// was planned, and nobody had to arm it again.
func aBeatAfterAKill(t *testing.T) {
	s := newSite(t)
	s.run("server")
	first := s.run("worker")
	p := newPerson(s)
	p.create("beat", "plain", object{"automation": heartbeat(4)})
	const between = `select count(*) from tasks where status = 'scheduled' and next_planned_at > clock_timestamp() and total_topics > 0`
	until(s, patience, "the first beat is over", func() bool { return s.count(between) == 1 })
	first.kill()
	var planned time.Time
	s.must(s.db().QueryRow(t.Context(), `select next_planned_at from tasks`).Scan(&planned))
	second := s.run("worker")
	until(s, patience, "the second worker is ready", func() bool { return len(s.log.saidBy(second.name, "the worker is ready")) > 0 })
	due := planned
	if ready := s.log.saidBy(second.name, "the worker is ready")[0].at; ready.After(due) {
		due = ready
	}
	until(s, patience, "the next beat has begun", func() bool {
		return s.count(`select count(*) from ticks where planned_at = $1 and dispatched_at is not null`, planned) == 1
	})
	var began time.Time
	s.must(s.db().QueryRow(t.Context(), `select dispatched_at from ticks where planned_at = $1`, planned).Scan(&began))
	if late := began.Sub(due); late > 5*time.Second || began.Before(planned) {
		t.Errorf("planned for %v, possible from %v, it began at %v", planned, due, began)
	}
	s.judge(p, s.settle(p))
}

// Runs take longer than the period of their task. Each time that is skipped for it is
// counted where an operator's alarm looks, with its reason.
func skippedTimesAreCounted(t *testing.T) {
	s := newSite(t)
	s.model.delay = func(mark) time.Duration { return 3 * time.Second }
	s.replica(0, 0)
	p := newPerson(s)
	p.create("every", "plain", object{"automation": every(1, "skip", "latest")})
	const skipped = `select count(*) from ticks where state = 'skipped' and reason = 'in_flight'`
	until(s, patience, "times are skipped", func() bool { return s.count(skipped) >= 3 })
	s.settle(p)
	if got, want := s.counter(`dogwatch_ticks_total{reason="in_flight",state="skipped"}`), s.count(skipped); got != want {
		t.Errorf("%d are counted, and %d are in the ledger", got, want)
	}
}

// counter reads a counter from /metrics.
func (s *site) counter(series string) int {
	s.Helper()
	res, err := http.Get(s.url + "/metrics")
	s.must(err)
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), series+" "); ok {
			n, err := strconv.Atoi(value)
			s.must(err)
			return n
		}
	}
	s.Errorf("nobody counts %s", series)
	return 0
}

// While a worker waits for its model, server and Redis are away for longer than its
// lease. It keeps the run: nobody else begins it anew, and the model is asked once.
func aRunWithoutItsServer(t *testing.T) {
	s := newSite(t)
	away := lease + time.Second
	if soak {
		away = time.Minute
	}
	s.model.delay = func(m mark) time.Duration {
		if m.stage == 0 {
			return away + time.Second
		}
		return 0
	}
	server := s.run("server")
	workers := []*process{s.run("worker"), s.run("worker")}
	p := newPerson(s)
	p.create("long", "note", object{"start": true, "config": object{"acceptance": "auto"}})
	until(s, patience, "the model is asked", func() bool { return len(s.model.asks("", "long")) == 1 })
	server.kill()
	s.redis.Kill()
	time.Sleep(away)
	s.redis.Start()
	s.run("server")
	until(s, patience, "the run is complete", func() bool { return s.count(`select count(*) from topics where status = 'completed'`) == 1 })
	for _, w := range workers {
		if w.dead() {
			t.Errorf("%s has ended", w.name)
		}
	}
	s.judge(p, s.settle(p))
	asked := map[string]int{}
	for _, a := range s.model.payments() {
		asked[a.question()]++
	}
	for question, n := range asked {
		if n != 1 {
			t.Errorf("%s was asked %d times", question, n)
		}
	}
	if n := s.count(`select count(*) from operations`); n != 1 {
		t.Errorf("the run was begun %d times", n)
	}
}

// Redis is emptied and everything is started anew after schedules were made. All of
// them fire: Postgres alone knows of them.
func schedulesWithoutTheirQueue(t *testing.T) {
	s := newSite(t)
	server, worker := s.run("server"), s.run("worker")
	p := newPerson(s)
	now := time.Now()
	all := append(grids()[:2], patterns(t, now)[0])
	for _, task := range all {
		p.create(task.name, "plain", object{"automation": task.automation})
	}
	server.kill()
	worker.kill()
	s.log.strike("redis", "wiped Redis")
	s.redis.FlushAll()
	s.closeFor(2*time.Minute, all)
	s.redis.Restart()
	before := s.count(`select count(*) from topics`)
	s.run("server")
	s.run("worker")
	until(s, patience, "all have run", func() bool {
		return s.count(`select count(distinct task_id) from ticks where state = 'ran' and ended_at > $1`, now) == len(all)
	})
	if after := s.count(`select count(*) from topics`); after < before+1 {
		t.Errorf("%d runs before, %d after", before, after)
	}
	until(s, patience, "everything that is due is written down", func() bool {
		return s.count(`select count(*) from tasks where next_planned_at <= clock_timestamp()`) == 0
	})
	s.judgeLedgers(all)
	s.judge(p, s.settle(p))
}
