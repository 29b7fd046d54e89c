//go:build linux

package chaos

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// A worker dies while its model thinks. Another one asks again as soon as the
// lease is over, and the run goes on.
func TestTakeover(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		lease time.Duration
		env   string
		long  bool
	}{
		{"short", lease, "", false},
		{"as it is", 15 * time.Second, "DOGWATCH_TEST_LEASE=", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.long && !soak {
				t.Skip("waits for the real lease; set DOGWATCH_SOAK=1")
			}
			s := newSite(t, c.env)
			s.model.delay = func(m mark) time.Duration {
				if m.stage == 0 && len(s.model.asks("", "long")) == 1 {
					return time.Minute // only death ends it
				}
				return 0
			}
			s.run("server")
			first := s.run("worker")
			p := newPerson(s)
			p.create("long", "note", object{"start": true, "config": object{"acceptance": "auto"}})
			until(s, patience, "the model is asked", func() bool { return len(s.model.asks(first.name, "")) == 1 })
			second := s.run("worker")
			until(s, patience, "the second worker is ready", func() bool { return len(s.log.saidBy(second.name, "the worker is ready")) > 0 })
			began := time.Now()
			first.kill()
			until(s, c.lease+patience, "the model is asked again", func() bool { return len(s.model.asks(second.name, "long")) > 0 })
			took := s.model.asks(second.name, "long")[0].at.Sub(began)
			t.Logf("from SIGKILL to the next question %v, with a lease of %v", took.Round(10*time.Millisecond), c.lease)
			if took > c.lease+5*time.Second {
				t.Errorf("the takeover took %v", took)
			}
			s.judge(p, s.settle(p))
		})
	}
}

// A worker stands still for longer than its lease, while its model thinks, and
// then wakes up with all the answers in its hands. Others have taken over.
func TestAStoppedWorkerWritesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const runs = 8
	s.model.delay = func(m mark) time.Duration {
		if m.stage == 0 {
			return lease // of the second worker too, so that it is at it when the first one wakes up
		}
		return 0
	}
	s.run("server")
	first := s.run("worker")
	p := newPerson(s)
	for i := range runs {
		p.create(fmt.Sprintf("still-%d", i), "note+say/ask", object{"start": true, "config": object{"acceptance": "auto"}})
	}
	until(s, patience, "the model is asked by all runs", func() bool { return len(s.model.asks(first.name, "")) >= runs })
	first.signal(syscall.SIGSTOP)
	s.log.strike(first.name, "SIGSTOP")
	second := s.run("worker")
	until(s, patience, "the others are asked for everything", func() bool { return len(s.model.asks(second.name, "")) >= runs })
	first.signal(syscall.SIGCONT)
	s.judge(p, s.settle(p))
	if n := s.count(`select count(*) from topics where status = 'completed'`); n != runs {
		t.Errorf("%d of %d runs are complete", n, runs)
	}
}
