//go:build linux

package chaos

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"
)

// Every planned time is accounted for once, with one replica of the program or with
// several, one of which has a clock that is wrong by minutes, while replicas are killed
// and stand still, Redis is wiped and restarted, and Postgres restarts.
func TestEveryPlannedTimeOnce(t *testing.T) {
	t.Parallel()
	needsWrongClocks(t)
	for _, clocks := range [][]time.Duration{
		{-7 * time.Minute},
		{0, 7 * time.Minute},
		{0, -7 * time.Minute, 0},
	} {
		t.Run(fmt.Sprintf("%d replicas", len(clocks)), func(t *testing.T) {
			t.Parallel()
			onceEach(t, clocks)
		})
	}
}

func onceEach(t *testing.T, clocks []time.Duration) {
	began := time.Now()
	s := newSite(t)
	s.model.delay = hesitate(lease)
	// The tasks are made, and then nobody is there for a while.
	all := append(append(grids(), beats()...), patterns(t, began.Add(-closedFor))...)
	maker := s.run("server")
	p := newPerson(s)
	for i, task := range all {
		p.create(task.name, pick("say", "plain", "plain"), object{"automation": all[i].automation})
	}
	maker.kill()
	s.closeFor(closedFor, all)

	replicas := make([]*replica, len(clocks))
	for i, wrong := range clocks {
		replicas[i] = s.replica(i, wrong)
	}
	for _, r := range replicas {
		until(s, patience, r.name()+" answers", r.answers)
		if got := s.wrong(r.url); got != r.wrong {
			t.Fatalf("the clock of %s is wrong by %v, want %v", r.name(), got, r.wrong)
		}
	}
	length, peace := 5*time.Second, 600*time.Millisecond
	if soak { // long enough between two mishaps that work is done at times
		length, peace = 3*time.Minute, 3*time.Second
	}
	mishaps := []string{"kill", "wipe", "postgres", "kill", "stop", "redis", "kill"}
	for i, end := 0, time.Now().Add(length); time.Now().Before(end) || i < len(mishaps); i++ {
		time.Sleep(200*time.Millisecond + rand.N(peace))
		r := replicas[rand.IntN(len(replicas))]
		switch mishaps[i%len(mishaps)] {
		case "kill":
			r.kill()
			r.start()
		case "stop":
			r.pause(lease + rand.N(lease))
		case "wipe":
			s.log.strike("redis", "wiped Redis")
			s.redis.FlushAll()
		case "redis":
			s.log.strike("redis", "restart of Redis")
			s.redis.Restart()
		case "postgres":
			s.log.strike("postgres", "restart of Postgres")
			s.pg.Restart()
		}
		for _, r := range replicas {
			if r.dead() { // a process that finds no Redis when it starts ends
				r.start()
			}
		}
	}
	rest := time.Now()
	until(s, patience, "everything that is due is written down", func() bool {
		return s.count(`select count(*) from tasks where next_planned_at <= clock_timestamp() and next_fire_at is not null`) == 0
	})
	s.judgeLedgers(all)
	caughtUp := time.Now()
	s.judge(p, s.settle(p))
	s.judgeClocks(began)
	tenth := time.Second / 10
	s.Logf("%v until the mishaps were over, %v until all was accounted for, %v to become quiet and be judged",
		rest.Sub(began).Round(tenth), caughtUp.Sub(rest).Round(tenth), time.Since(caughtUp).Round(tenth))
}

// replica is one of several processes that each do everything, on one Postgres and
// one Redis. It keeps its address, its directory and its clock when it is started anew.
type replica struct {
	*process
	site  *site
	url   string
	env   []string
	wrong time.Duration // of its clock
}

// replica starts one of them, the first one at the address of the site.
func (s *site) replica(i int, wrong time.Duration) *replica {
	s.Helper()
	r := &replica{site: s, url: s.url, wrong: wrong}
	r.env = []string{"DOGWATCH_DATA=" + filepath.Join(s.data, fmt.Sprintf("replica-%d", i))}
	if i > 0 {
		address := freeAddress(s)
		r.url = "http://" + address
		r.env = append(r.env, "DOGWATCH_LISTEN="+address)
	}
	if wrong != 0 {
		r.env = append(r.env, wrongBy+"="+wrong.String())
	}
	r.start()
	return r
}

func (r *replica) start() { r.process = r.site.run("up", r.env...) }

func (r *replica) name() string { return r.process.name }

// answers says whether the replica is ready; one that ended is started again.
func (r *replica) answers() bool {
	if r.dead() {
		r.start()
	}
	return ready(r.url)
}
