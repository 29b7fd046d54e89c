//go:build linux

package chaos

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"
)

// staff creates the tasks of a test: grids under each policy, heartbeats, and some
// that people meddle with. n says how many of each.
func staff(p *person, n int) {
	policies := []object{
		every(2, "skip", "latest"), every(3, "queue", "latest"), every(2, "skip", "skip"),
		every(3, "cancel", "latest"), every(2, "skip", "all"), every(4, "queue", "all"),
	}
	shapes := []string{"note/say", "note+ask", "share", "note+share/ask+say", "task+note", "odd+note"}
	for i := range n {
		for k, a := range policies {
			p.create(name("every", i, k), shapes[k], object{"automation": a})
		}
		for k, shape := range []string{"note+say", "ask/note", "task"} {
			p.create(name("beat", i, k), shape, object{"automation": heartbeat(1 + k)})
		}
		p.create(name("grid", i, 0), "note", object{"automation": every(2, "skip", "latest")})
		p.create(name("pulse", i, 0), "say", object{"automation": heartbeat(1)})
		p.create(name("doomed", i, 0), "note/fail", object{"automation": heartbeat(2), "config": object{"failureFuse": 2}})
	}
}

// dozens of tasks where there is time for them.
var dozens = map[bool]int{false: 1, true: 3}[soak]

func name(kind string, i, k int) string {
	return kind + "-" + string(rune('a'+i)) + string(rune('a'+k))
}

// The points at which a worker is killed, in the order in which work passes them.
var points = []string{"swept", "relayed", "enqueued", "claimed", "admitted", "model-answered", "tool-started", "tool-finished",
	"step-before-commit", "before-close", "closed", "ended", "settle-before-commit", "handoff-written", "renew", "drain", "drained"}

// One worker after the other is killed, each at its point, and the next goes on.
func TestKilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.model.delay = hesitate(lease)
	server := s.run("server")
	p := newPerson(s)
	staff(p, dozens)
	p.meddle("m")
	rounds := 1
	if soak {
		rounds = 10
	}
	for range rounds {
		for _, i := range rand.Perm(len(points)) {
			s.killedAt(points[i], 1+rand.IntN(3))
		}
		// The server opens runs too: for people.
		server = s.killServer(server, p)
	}
	s.run("worker")
	s.judge(p, s.settle(p))
	_ = server
}

// killedAt runs a worker until it is killed at a point.
func (s *site) killedAt(point string, pass int) {
	s.Helper()
	ending := point == "drain" || point == "drained"
	if ending {
		pass = 1
	}
	s.model.slow.Store(ending) // so that the drain cuts a call of the model off
	w := s.armed("worker", point, pass)
	if ending {
		until(s, patience, "the worker waits for the model", func() bool { return len(s.model.asks(w.name, "")) > 0 })
		w.signal(syscall.SIGTERM)
	}
	if !w.died(patience) {
		s.Errorf("nobody passed the point %s", point)
		w.kill()
	}
	s.model.slow.Store(false)
	if len(s.log.saidBy(w.name, "killed at "+point)) == 0 {
		s.Errorf("the worker ended, and not at the point %s", point)
	}
}

// killServer kills the server while it carries a person's wish out.
func (s *site) killServer(server *process, p *person) *process {
	s.Helper()
	server.kill()
	server = s.armed("server", "admitted", 1)
	var asking sync.WaitGroup
	asking.Go(func() { p.create(fmt.Sprintf("by-hand-%d", s.named), "note", object{"start": true}) })
	if !server.died(patience) {
		s.Errorf("nobody passed the server's point")
	}
	server = s.run("server")
	asking.Wait()
	return server
}

// Several workers share the work of one installation, and everything happens to
// them: kills, stops longer than their leases, a wiped and a restarted Redis, a
// restarted Postgres, and the power cut that takes all of it at once.
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.model.delay = hesitate(lease)
	server := s.run("server")
	workers := []*process{s.run("worker"), s.run("worker")}
	p := newPerson(s)
	staff(p, dozens)
	p.meddle("a")
	p.meddle("b")
	for _, w := range workers {
		until(s, patience, w.name+" has its share of the work", func() bool { return len(s.model.asks(w.name, "")) > 0 })
	}
	length, peace := 8*time.Second, 900*time.Millisecond
	if soak { // long enough between two mishaps that work is done at times
		length, peace = 8*time.Minute, 3*time.Second
	}
	mishaps := []string{"worker", "stop", "worker", "wipe", "server", "redis", "power", "stop", "postgres"}
	for i, end := 0, time.Now().Add(length); time.Now().Before(end) || i < len(mishaps); i++ {
		time.Sleep(100*time.Millisecond + rand.N(peace))
		k := rand.IntN(len(workers))
		switch mishaps[i%len(mishaps)] {
		case "worker":
			workers[k].kill()
		case "stop":
			workers[k].pause(lease + rand.N(lease))
		case "server":
			server.kill()
		case "wipe":
			s.log.strike("redis", "wiped Redis")
			s.redis.FlushAll()
		case "redis":
			s.log.strike("redis", "restart of Redis")
			s.redis.Restart()
		case "postgres":
			s.log.strike("postgres", "restart of Postgres")
			s.pg.Restart()
		case "power":
			s.powerCut(append(workers, server)...)
		}
		server, workers[k] = s.again(server, "server"), s.again(workers[k], "worker")
		for j := range workers {
			workers[j] = s.again(workers[j], "worker")
		}
	}
	s.judge(p, s.settle(p))
}

// again starts a process anew that is dead.
func (s *site) again(p *process, role string) *process {
	s.Helper()
	if p.dead() {
		return s.run(role)
	}
	return p
}

// The one process of a newcomer, with Postgres and queue inside, is killed again
// and again.
func TestUpIsKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	s := newUp(t)
	s.model.delay = hesitate(lease)
	up := s.run("up")
	p := newPerson(s)
	staff(p, dozens)
	p.meddle("m")
	kills := 3
	if soak {
		kills = 60
	}
	for range kills {
		time.Sleep(500*time.Millisecond + rand.N(2*time.Second))
		up.kill()
		up = s.run("up")
	}
	s.judge(p, s.settle(p))
}
