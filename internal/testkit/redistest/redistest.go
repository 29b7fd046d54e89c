// Package redistest gives tests a queue to talk to: the in-process one that
// `dogwatch up` uses, a real redis-server, or both in turn. Each test gets its
// own, and can kill, restart and wipe it.
//
// Without redis-server on the machine its tests skip and say so; under
// DOGWATCH_CI=true they fail instead.
package redistest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// Mini returns the address of an in-process queue with a moving clock.
func Mini(t testing.TB) string { t.Helper(); return StartMini(t).URL() }

// Real returns the address of a redis-server of the test's own.
func Real(t testing.TB) string { t.Helper(); return StartReal(t).URL() }

// Each runs a test on the in-process queue and on redis-server.
func Each(t *testing.T, f func(t *testing.T, url string)) {
	EachServer(t, func(t *testing.T, s *Server) { f(t, s.URL()) })
}

// EachServer is Each for tests that disturb the queue.
func EachServer(t *testing.T, f func(t *testing.T, s *Server)) {
	t.Run("miniredis", func(t *testing.T) { f(t, StartMini(t)) })
	t.Run("redis-server", func(t *testing.T) { f(t, StartReal(t)) })
}

// Server is a queue of one test's own. Its address stays the same when it is
// killed and started again.
type Server struct {
	t        testing.TB
	addr     string
	password string
	engine   engine
}

// engine is what the two kinds of queue do differently.
type engine interface {
	start(addr, password string) error
	kill()
}

// StartMini starts an in-process queue.
func StartMini(t testing.TB) *Server {
	t.Helper()
	return begin(t, &mini{})
}

// StartReal starts a redis-server with an append-only file synced every second,
// so that it comes back from Kill with its data.
func StartReal(t testing.TB) *Server {
	t.Helper()
	program, err := findServer()
	if err != nil {
		if on, _ := strconv.ParseBool(os.Getenv("DOGWATCH_CI")); on {
			t.Fatalf("redistest: %v", err)
		}
		t.Skipf("redistest: needs redis-server (apt-get install redis-server): %v", err)
	}
	return begin(t, &real{program: program, dir: t.TempDir()})
}

func findServer() (string, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		path, err = exec.LookPath("valkey-server")
	}
	return path, err
}

func begin(t testing.TB, e engine) *Server {
	t.Helper()
	s := &Server{t: t, password: rand.Text(), engine: e}
	// Another process may take a free port between our look and the start.
	var err error
	for range 5 {
		if s.addr, err = freeAddr(); err != nil {
			break
		}
		if err = s.up(); err == nil {
			t.Cleanup(e.kill)
			return s
		}
		e.kill()
	}
	t.Fatalf("redistest: %v", err)
	return nil
}

// URL is the address, for go-redis and asynq.
func (s *Server) URL() string {
	u := url.URL{Scheme: "redis", User: url.UserPassword("default", s.password), Host: s.addr, Path: "/0"}
	return u.String()
}

// Kill ends the queue at once. Clients see broken connections.
func (s *Server) Kill() { s.engine.kill() }

// Start brings a killed queue back on the same address: redis-server with what
// it held, the in-process queue empty.
func (s *Server) Start() {
	s.t.Helper()
	if err := s.up(); err != nil {
		s.t.Fatalf("redistest: %v", err)
	}
}

// Restart kills the queue and brings it back.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	s.Start()
}

// FlushAll wipes the queue while it runs.
func (s *Server) FlushAll() {
	s.t.Helper()
	c := s.client()
	defer c.Close()
	if err := c.FlushAll(context.Background()).Err(); err != nil {
		s.t.Fatalf("redistest: wiping the queue: %v", err)
	}
}

func (s *Server) client() *redis.Client {
	return redis.NewClient(&redis.Options{Addr: s.addr, Password: s.password, MaxRetries: -1,
		DialTimeout: time.Second, DisableIdentity: true})
}

// up starts the engine and waits until it answers.
func (s *Server) up() error {
	if err := s.engine.start(s.addr, s.password); err != nil {
		return err
	}
	c := s.client()
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		err := c.Ping(ctx).Err()
		if err == nil {
			return nil
		}
		if r, ok := s.engine.(*real); ok && r.ended() {
			return fmt.Errorf("redis-server ended while starting: %s", r.output())
		}
		if ctx.Err() != nil {
			return fmt.Errorf("the queue does not answer: %w", err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// mini is the in-process queue, with its clock moved on as in production.
type mini struct {
	m     *miniredis.Miniredis
	stop  chan struct{}
	ended sync.WaitGroup
}

func (e *mini) start(addr, password string) error {
	if e.m != nil {
		return errors.New("the queue runs already")
	}
	m := miniredis.NewMiniRedis()
	m.RequireAuth(password)
	if err := m.StartAddr(addr); err != nil {
		return err
	}
	stop := make(chan struct{})
	e.m, e.stop = m, stop
	e.ended.Go(func() {
		const step = 50 * time.Millisecond
		tick := time.NewTicker(step)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case <-stop:
				return
			case <-tick.C:
				now := time.Now()
				m.FastForward(now.Sub(last))
				last = now
			}
		}
	})
	return nil
}

func (e *mini) kill() {
	if e.m == nil {
		return
	}
	close(e.stop)
	e.ended.Wait()
	e.m.Close()
	e.m = nil
}

// real is a redis-server process.
type real struct {
	program, dir string
	cmd          *exec.Cmd
	exited       chan struct{}
}

func (e *real) start(addr, password string) error {
	if e.cmd != nil {
		return errors.New("the queue runs already")
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	log, err := os.Create(e.logPath())
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(e.program, "--bind", host, "--port", port, "--requirepass", password, "--dir", e.dir,
		"--appendonly", "yes", "--appendfsync", "everysec", "--save", "", "--daemonize", "no")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = diesWithUs()
	exited, started := make(chan struct{}), make(chan error)
	go func() {
		runtime.LockOSThread() // the signal at our death follows the thread
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(exited)
	}()
	if err := <-started; err != nil {
		return err
	}
	e.cmd, e.exited = cmd, exited
	return nil
}

func (e *real) kill() {
	if e.cmd == nil {
		return
	}
	_ = e.cmd.Process.Kill()
	<-e.exited
	e.cmd = nil
}

func (e *real) ended() bool {
	select {
	case <-e.exited:
		return true
	default:
		return false
	}
}

func (e *real) logPath() string { return e.dir + "/redis.log" }

func (e *real) output() string {
	b, _ := os.ReadFile(e.logPath())
	return string(b)
}
