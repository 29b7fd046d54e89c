package worker_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/killpoint"
	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/entry/worker"
	"github.com/dogwatch/dogwatch/internal/infra/queue"
	"github.com/dogwatch/dogwatch/internal/infra/store"
	"github.com/dogwatch/dogwatch/internal/testkit/pgtest"
	"github.com/dogwatch/dogwatch/internal/testkit/redistest"
)

// The points at which a process is killed, in the order a job passes them.
var points = []string{"posted", "relayed", "enqueued", "claimed", "mid-step", "call-started", "renew",
	"before-close", "closed", "ended", "drain", "drained"}

const (
	chaosTasks = 8
	chaosLease = 1200 * time.Millisecond
	chaosPause = 2500 * time.Millisecond // of a stopped process: longer than the lease
)

// TestMain: the test's program is also the worker and the person of the chaos
// tests, each a process of its own that may be killed.
func TestMain(m *testing.M) {
	role := os.Getenv("WORKER_ROLE")
	if role == "" {
		os.Exit(m.Run())
	}
	if err := play(role); err != nil {
		fmt.Fprintln(os.Stderr, role, err)
		time.Sleep(100 * time.Millisecond) // the parent starts another one
		os.Exit(1)
	}
	os.Exit(0)
}

func play(role string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	st, err := store.Open(ctx, os.Getenv("WORKER_POSTGRES"))
	if err != nil {
		return err
	}
	log, err := openWitness(os.Getenv("WORKER_WITNESS"))
	if err != nil {
		return err
	}
	m := &miniature{st, log, chaosLease}
	if role == "person" {
		for {
			time.Sleep(rand.N(80 * time.Millisecond))
			if err := m.person(ctx, 1+rand.IntN(chaosTasks)); err == nil {
				killpoint.Hit("posted")
			}
		}
	}
	redis, err := queue.Dial(os.Getenv("WORKER_REDIS"))
	if err != nil {
		return err
	}
	w, err := worker.New(st, redis, worker.Config{Lease: chaosLease, Visible: 2 * time.Second, Drain: 20 * time.Millisecond,
		Slots: map[job.Queue]int{job.Operations: 8, job.Fast: 4, job.Housekeeping: 4}},
		slog.New(slog.NewTextHandler(os.Stderr, nil)), nil)
	if err != nil {
		return err
	}
	m.handle(w)
	if err := w.Start(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	w.Drain(context.Background())
	return nil
}

// process is a child that dies with us.
type process struct {
	*exec.Cmd
	gone chan struct{}
}

func (p *process) dead() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

func (p *process) kill() { _ = p.Process.Kill(); <-p.gone }

func (p *process) killed() bool {
	return p.dead() && p.ProcessState.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
}

// theatre is one run of the miniature.
type theatre struct {
	t       *testing.T
	rig     *rig // for looking at the rows; its worker does not run
	pg      string
	redis   *redistest.Server
	witness string
	stderr  *os.File
	killed  map[int]bool // process ids that were killed: what they paid for may have come to nothing
	did     map[string]int
}

func newTheatre(t *testing.T, pg string, redis *redistest.Server) *theatre {
	t.Helper()
	st, err := store.Open(t.Context(), pg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	dir := t.TempDir()
	errs, err := os.Create(dir + "/stderr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if keep := os.Getenv("WORKER_KEEP"); keep != "" {
			_ = os.CopyFS(keep+"/"+strings.ReplaceAll(t.Name(), "/", "-")+fmt.Sprint(time.Now().UnixNano()), os.DirFS(dir))
		}
		errs.Close()
	})
	h := &theatre{t: t, pg: pg, redis: redis, witness: dir + "/witness", stderr: errs, killed: map[int]bool{}, did: map[string]int{},
		rig: &rig{t: t, ctx: context.WithoutCancel(t.Context()), store: st}}
	h.rig.exec(miniatureSchema)
	for i := range chaosTasks {
		h.rig.exec(`insert into mini_tasks (id, every, until) values ($1, $2 * interval '1 millisecond', clock_timestamp() + interval '1 day')`, i+1, 100+30*i)
		h.rig.must(st.InTx(t.Context(), func(tx *store.Tx) error { return sql{tx}.arm(t.Context(), i+1, 1) }))
	}
	return h
}

// start starts a child. Its thread is pinned: the signal at our death follows the
// thread, not the process.
func (h *theatre) start(role, kill string) *process {
	h.t.Helper()
	p := &process{exec.Command(os.Args[0]), make(chan struct{})}
	p.Env = []string{"WORKER_ROLE=" + role, "WORKER_POSTGRES=" + h.pg, "WORKER_REDIS=" + h.redis.URL(), "WORKER_WITNESS=" + h.witness,
		killpoint.Env + "=" + kill, "GOMAXPROCS=2"}
	p.Stderr = h.stderr
	p.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := p.Start()
		if started <- err; err == nil {
			_ = p.Wait()
			close(p.gone)
		}
	}()
	if err := <-started; err != nil {
		h.t.Fatal(err)
	}
	return p
}

// bury notes how a child ended.
func (h *theatre) bury(p *process) {
	if p.killed() {
		h.killed[p.Process.Pid] = true
		h.did["killed"]++
	}
}

// settle ends the run with one healthy worker, and lets the judge look.
func (h *theatre) settle(children ...*process) {
	h.t.Helper()
	for _, p := range children {
		p.kill()
		h.bury(p)
	}
	h.rig.exec(`update mini_tasks set until = clock_timestamp()`)
	last := h.start("worker", "")
	defer last.kill()
	begin := time.Now()
	for h.rig.count(`jobs where state in ('ready', 'sent', 'running')`) > 0 {
		if time.Since(begin) > time.Minute {
			h.t.Error("the work does not come to an end")
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	h.t.Logf("%v, at rest after %v", h.did, time.Since(begin).Round(10*time.Millisecond))
	h.judge()
}

// length is how long a run lasts: a taste of it in every test, DOGWATCH_SOAK for
// the real thing.
func length(taste time.Duration) time.Duration {
	if os.Getenv("DOGWATCH_SOAK") != "" {
		return 4 * time.Minute
	}
	return taste
}

// TestAKillAtEachPoint kills one worker after the other, each at its point, while
// people go on.
func TestAKillAtEachPoint(t *testing.T) {
	t.Parallel()
	h, end := newTheatre(t, pgtest.New(t), redistest.StartMini(t)), time.Now().Add(length(0))
	for pass := 1; pass == 1 || time.Now().Before(end); pass++ {
		for _, point := range points {
			role := "worker"
			if point == "posted" {
				role = "person"
			}
			nth := 1 + rand.IntN(pass)
			if strings.HasPrefix(point, "drain") {
				nth = 1 // once in the life of a process
			}
			h.await(h.start(role, fmt.Sprintf("%s:%d", point, nth)), role, point)
		}
	}
	h.settle()
}

// await waits until a child died at its point. The points of a drain are reached
// by asking for one when a step is under way; a worker that had none is replaced.
func (h *theatre) await(p *process, role, point string) {
	h.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		if strings.HasPrefix(point, "drain") {
			time.Sleep(700 * time.Millisecond)
			_ = p.Process.Signal(syscall.SIGTERM)
		}
		for !p.dead() && time.Now().Before(deadline) {
			time.Sleep(2 * time.Millisecond)
		}
		h.bury(p)
		if p.killed() {
			h.did[point]++
			return
		}
		if time.Now().After(deadline) {
			p.kill()
			h.bury(p)
			h.t.Errorf("nobody passed the point %q", point)
			return
		}
		p = h.start(role, point)
	}
}

// storm disturbs three workers and a person at random until its time is over. The
// weights are of kills, polite stops, pauses, wipes and restarts of the queue, and
// restarts of the database.
type storm struct {
	kill, term, pause, wipe, redis, postgres int
}

func (h *theatre) rage(s storm, end time.Time, pg *pgtest.Server) {
	h.t.Helper()
	children := make([]*process, 4)
	var lastPG time.Time
	for time.Now().Before(end) {
		for i, p := range children {
			if p != nil && !p.dead() {
				continue
			}
			if p != nil {
				h.bury(p)
			}
			role, kill := "worker", ""
			if i == 3 {
				role, kill = "person", fmt.Sprint("posted:", 1+rand.IntN(60))
			} else if rand.IntN(2) == 0 && s.kill > 0 {
				kill = fmt.Sprintf("%s:%d", points[1+rand.IntN(len(points)-1)], 1+rand.IntN(5))
			}
			children[i] = h.start(role, kill)
		}
		time.Sleep(100*time.Millisecond + rand.N(200*time.Millisecond))
		victim := children[rand.IntN(3)]
		n := rand.IntN(100)
		hit := func(weight int) bool { n -= weight; return n < 0 && n+weight >= 0 }
		switch {
		case hit(s.kill):
			h.did["SIGKILL"]++
			_ = victim.Process.Kill()
		case hit(s.term):
			h.did["SIGTERM"]++
			_ = victim.Process.Signal(syscall.SIGTERM)
		case hit(s.pause):
			h.did["SIGSTOP"]++
			_ = victim.Process.Signal(syscall.SIGSTOP)
			time.AfterFunc(chaosPause, func() { _ = victim.Process.Signal(syscall.SIGCONT) })
		case hit(s.wipe):
			h.did["wiped redis"]++
			h.redis.FlushAll()
		case hit(s.redis):
			h.did["restarted redis"]++
			h.redis.Kill()
			time.Sleep(rand.N(500 * time.Millisecond))
			h.redis.Start()
		case hit(s.postgres) && time.Since(lastPG) > 4*time.Second:
			h.did["restarted postgres"]++
			pg.Kill()
			time.Sleep(rand.N(500 * time.Millisecond))
			pg.Start()
			lastPG = time.Now()
		}
	}
	time.Sleep(chaosPause) // who stands still goes on, and must be seen to write nothing
	h.settle(children...)
}

// TestKillsAlone: a wiped queue would hide a missing recovery of what was sent, so
// here it keeps what it has.
func TestKillsAlone(t *testing.T) {
	t.Parallel()
	end := time.Now().Add(length(7 * time.Second))
	s := redistest.StartReal(t)
	newTheatre(t, pgtest.New(t), s).rage(storm{kill: 35, term: 20}, end, nil)
}

// TestPauses: a process that stands still longer than its lease goes on as if
// nothing had happened; only the fence keeps it from writing.
func TestPauses(t *testing.T) {
	t.Parallel()
	end := time.Now().Add(length(7 * time.Second))
	s := redistest.StartMini(t)
	newTheatre(t, pgtest.New(t), s).rage(storm{pause: 70}, end, nil)
}

func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, s *redistest.Server) {
		t.Parallel()
		pg := pgtest.Cluster(t)
		end := time.Now().Add(length(7 * time.Second))
		newTheatre(t, pg.URL(), s).rage(storm{kill: 25, term: 15, pause: 10, wipe: 8, redis: 6, postgres: 10}, end, pg)
	})
}
