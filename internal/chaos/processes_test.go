//go:build linux

// Package chaos proves on the real program that nothing is lost and nothing is
// doubled: its processes are killed at named points and at random, stopped for
// longer than their leases, and lose Redis and Postgres under their feet, while
// people and agents go on working. When it is quiet again the rows are judged by
// what people asked for and by what the model was asked, both of which are kept
// outside the database.
//
// A short version runs with the other tests. DOGWATCH_SOAK=1 runs the long one.
package chaos

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/cli"
)

// beProgram tells this binary to be the program.
const beProgram = "DOGWATCH_TEST_BE_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(beProgram) != "" {
		if err := setClock(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(cli.Main(context.Background(), os.Args[1:]))
	}
	os.Exit(m.Run())
}

// soak says that the long versions are wanted.
var soak = os.Getenv("DOGWATCH_SOAK") != ""

// patience is how long anything may take: the machine may be busy with other tests.
const patience = 60 * time.Second

// chronicle is what the processes of a test said and suffered, and when.
type chronicle struct {
	mu      sync.Mutex
	lines   []entry
	strikes []entry
}

type entry struct {
	at        time.Time
	who, text string
}

func (c *chronicle) say(who, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, entry{time.Now(), who, text})
}

// strike notes a disturbance. Only after one may something be paid for twice.
func (c *chronicle) strike(who, what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.strikes = append(c.strikes, entry{time.Now(), who, what})
}

// said returns the lines that hold one of the texts.
func (c *chronicle) said(texts ...string) []entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []entry
	for _, l := range c.lines {
		if slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(l.text, t) }) {
			out = append(out, l)
		}
	}
	return out
}

// saidBy returns the lines of one process that hold a text.
func (c *chronicle) saidBy(who, text string) []entry {
	return slices.DeleteFunc(c.said(text), func(e entry) bool { return e.who != who })
}

func (c *chronicle) struck() []entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.strikes)
}

// tally counts the strikes by what they were.
func (c *chronicle) tally() string {
	n := map[string]int{}
	var order []string
	for _, s := range c.struck() {
		if n[s.text]++; n[s.text] == 1 {
			order = append(order, s.text)
		}
	}
	for i, what := range order {
		order[i] = fmt.Sprintf("%d %s", n[what], what)
	}
	return strings.Join(order, ", ")
}

// process is a run of the program.
type process struct {
	t    testing.TB
	name string
	cmd  *exec.Cmd
	log  *chronicle
	done chan struct{}
}

// launch starts the program with only the environment that is given.
func launch(t testing.TB, log *chronicle, name string, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, name: name, log: log, done: make(chan struct{})}
	p.cmd = exec.Command(os.Args[0], args...)
	p.cmd.Env = append([]string{beProgram + "=1", "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}, env...)
	p.cmd.Dir = filepath.Join("..", "..") // where Postgres programs from npm are found
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.cmd.WaitDelay = 5 * time.Second // a child of its may outlive it and hold the pipe
	out := &lines{log: log, who: name}
	p.cmd.Stdout, p.cmd.Stderr = out, out
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the signal at our death follows the thread
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait()
			log.strike(name, p.end())
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

// end words how the process ended.
func (p *process) end() string {
	if p.signaled(syscall.SIGKILL) {
		return "SIGKILL"
	}
	return fmt.Sprintf("exit %d", p.cmd.ProcessState.ExitCode())
}

func (p *process) signaled(s syscall.Signal) bool {
	w, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && w.Signaled() && w.Signal() == s
}

func (p *process) dead() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// kill ends the process at once.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

// pause stops the process for a while without its knowing.
func (p *process) pause(d time.Duration) {
	p.signal(syscall.SIGSTOP)
	p.log.strike(p.name, "SIGSTOP")
	time.Sleep(d)
	p.signal(syscall.SIGCONT)
}

// died waits until the process has ended by itself, for at most d.
func (p *process) died(d time.Duration) bool {
	select {
	case <-p.done:
		return true
	case <-time.After(d):
		return false
	}
}

// lines takes what a process writes and keeps it line by line.
type lines struct {
	log  *chronicle
	who  string
	rest []byte
}

func (l *lines) Write(b []byte) (int, error) {
	l.rest = append(l.rest, b...)
	for {
		i := bytes.IndexByte(l.rest, '\n')
		if i < 0 {
			return len(b), nil
		}
		l.log.say(l.who, string(l.rest[:i]))
		l.rest = l.rest[i+1:]
	}
}

// until waits for something.
func until(t testing.TB, limit time.Duration, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still not after %v: %s", limit, what)
		}
	}
}
