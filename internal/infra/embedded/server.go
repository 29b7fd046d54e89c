//go:build !windows

package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// server is one run of the postgres program.
type server struct {
	cmd     *exec.Cmd
	exited  chan struct{}
	logPath string
	logFrom int64 // where this run's output begins
}

// launch runs postgres itself, not pg_ctl: a child of ours can be waited for,
// and the kernel ends it when we die.
func (c *Cluster) launch() (*server, error) {
	s := &server{exited: make(chan struct{}), logPath: filepath.Join(c.cfg.Dir, "postgres.log")}
	trimLog(s.logPath)
	log, err := os.OpenFile(s.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening Postgres's log: %w", err)
	}
	defer log.Close()
	if s.logFrom, err = log.Seek(0, io.SeekEnd); err != nil {
		return nil, err
	}
	args := []string{"-D", c.data}
	for _, kv := range settings(c.bin.Major, c.socket, c.cfg.Throwaway) {
		args = append(args, "-c", kv)
	}
	s.cmd = exec.Command(filepath.Join(c.bin.Dir, "postgres"), args...) //nolint:noctx // it outlives the call; Stop ends it in order
	s.cmd.SysProcAttr = procAttr(c.id, syscall.SIGINT)                  // SIGINT: fast shutdown
	s.cmd.Env, s.cmd.Dir = childEnv(c.cfg.Dir), "/"
	s.cmd.Stdout, s.cmd.Stderr = log, log

	started := make(chan error)
	go func() {
		// The kernel signals the child when the thread that started it ends,
		// so the thread must live as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := s.cmd.Start()
		started <- err
		if err == nil {
			_ = s.cmd.Wait()
		}
		close(s.exited)
	}()
	if err := <-started; err != nil {
		return nil, &StartError{Dependency: "postgres", Problem: "the server program could not be run",
			Try: "permissions of " + s.cmd.Path, Err: err}
	}
	return s, nil
}

// trimLog moves a large log aside, over the one before. The server appends to
// the file it has open, so the file is emptied and not renamed.
func trimLog(path string) {
	st, err := os.Stat(path)
	if err != nil || st.Size() <= maxLogSize {
		return
	}
	if b, err := os.ReadFile(path); err == nil {
		_ = os.WriteFile(path+".1", b, 0o600)
	}
	_ = os.Truncate(path, 0)
}

// output is what this run has logged.
func (s *server) output() string {
	f, err := os.Open(s.logPath)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, _ := io.ReadAll(io.NewSectionReader(f, s.logFrom, 64<<10))
	return string(b)
}

func (s *server) signal(sig syscall.Signal) { _ = s.cmd.Process.Signal(sig) }

func (s *server) stop(ctx context.Context) error {
	s.signal(syscall.SIGINT)
	select {
	case <-s.exited:
		return nil
	case <-ctx.Done():
	}
	s.signal(syscall.SIGQUIT)
	select {
	case <-s.exited:
	case <-time.After(2 * time.Second):
		s.kill()
	}
	return fmt.Errorf("Postgres was stopped hard, the next start recovers: %w", ctx.Err())
}

func (s *server) kill() {
	select {
	case <-s.exited: // its number may be another's by now
		return
	default:
	}
	children := childrenOf(s.cmd.Process.Pid)
	s.signal(syscall.SIGKILL)
	for _, pid := range children {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-s.exited
}

// childrenOf lists the processes that pid started. Where the system does not
// tell, a killed server's children are left to notice by themselves.
func childrenOf(pid int) []int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil
	}
	var out []int
	for _, f := range strings.Fields(string(b)) {
		if n, err := strconv.Atoi(f); err == nil {
			out = append(out, n)
		}
	}
	return out
}

// clearWreck removes what a killed predecessor left. We hold the lock of the
// directory, so whatever still runs on it has lost its owner.
func (c *Cluster) clearWreck(ctx context.Context) error {
	pidFile := filepath.Join(c.data, "postmaster.pid")
	if pid := readPID(pidFile); pid > 1 && alive(pid) {
		if c.serves(pid) {
			c.cfg.Log.Warn("stopping a Postgres that a killed instance left running", "pid", pid)
			if err := stopOrphan(ctx, pid); err != nil {
				return err
			}
		} else if err := disownPIDFile(pidFile); err != nil {
			return err
		}
	}
	// Sockets without a server, and their lock files with a number that may be
	// another process's by now.
	left, _ := filepath.Glob(filepath.Join(c.socket, ".s.PGSQL.*"))
	for _, f := range left {
		if err := os.Remove(f); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("removing a stale socket: %w", err)
		}
	}
	return nil
}

func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// serves reports whether the process is a postmaster on our data directory;
// the number in a stale file may belong to anybody.
func (c *Cluster) serves(pid int) bool {
	args := commandLine(pid)
	return len(args) > 0 && filepath.Base(args[0]) == "postgres" &&
		strings.Contains(strings.Join(args, " "), " -D "+c.data+" -c ")
}

// stopOrphan asks a postmaster to end, more firmly as time passes.
func stopOrphan(ctx context.Context, pid int) error {
	for _, step := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGINT, 10 * time.Second}, {syscall.SIGQUIT, 3 * time.Second}, {syscall.SIGKILL, 2 * time.Second}} {
		_ = syscall.Kill(pid, step.signal)
		for end := time.Now().Add(step.wait); time.Now().Before(end); {
			if !alive(pid) || isZombie(pid) {
				return nil
			}
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return &StartError{Dependency: "postgres", Problem: fmt.Sprintf("the left-over server process %d does not end", pid),
		Try: fmt.Sprintf("kill -9 %d", pid)}
}

// isZombie: an ended process whose parent does not collect it has no arguments.
func isZombie(pid int) bool { return len(strings.Join(commandLine(pid), "")) == 0 }

// disownPIDFile replaces the process number in postmaster.pid, which by now is
// another program's, by one that no system hands out. The rest stays, because
// Postgres finds there whether a predecessor's shared memory is still in use.
func disownPIDFile(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(string(b), "\n")
	if err := os.WriteFile(path, []byte("2147483647\n"+rest), 0o600); err != nil {
		return fmt.Errorf("clearing the stale lock of the database: %w", err)
	}
	return nil
}
