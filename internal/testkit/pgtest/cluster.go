package pgtest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/infra/embedded"
	"github.com/dogwatch/dogwatch/internal/testkit/scratch"
)

// Server is a cluster of one test's own, to be killed and started at will.
type Server struct {
	t   testing.TB
	c   *embedded.Cluster
	url string
}

// Cluster starts a cluster of the test's own with one migrated database. Its
// address stays the same over restarts.
func Cluster(t testing.TB) *Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	c, err := openSeeded(ctx)
	if err == nil {
		err = c.Start(ctx)
	}
	if err != nil {
		unavailable(t, err)
	}
	t.Cleanup(func() { c.Kill(); _ = c.Close() })
	const name = "dogwatch"
	if err := execSQL(ctx, c.URL("postgres"),
		"create database "+name+" template "+templateName()+" strategy file_copy"); err != nil {
		t.Fatalf("pgtest: creating a database: %v", err)
	}
	return &Server{t, c, c.URL(name)}
}

// URL is the address of the migrated database.
func (s *Server) URL() string { return s.url }

// PID is the number of the server process.
func (s *Server) PID() int { return s.c.PID() }

// Kill ends the server and all its processes at once, as a power cut would,
// except that what was written to files stays.
func (s *Server) Kill() { s.c.Kill() }

// Stop ends the server in order.
func (s *Server) Stop() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	if err := s.c.Stop(ctx); err != nil {
		s.t.Fatalf("pgtest: stopping the cluster: %v", err)
	}
}

// Start brings a killed or stopped server back.
func (s *Server) Start() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	if err := s.c.Start(ctx); err != nil {
		s.t.Fatalf("pgtest: starting the cluster: %v", err)
	}
}

// Restart kills the server and brings it back.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	s.Start()
}

// startShared starts the cluster that lives as long as the process.
func startShared(ctx context.Context) (*embedded.Cluster, error) {
	c, err := openSeeded(ctx)
	if err != nil {
		return nil, err
	}
	return c, c.Start(ctx)
}

// openSeeded makes a cluster in a directory of its own, from a ready-made one
// if there is a fitting one in the user's cache, else from nothing, which fills
// the cache. Its directory goes with this process.
func openSeeded(ctx context.Context) (*embedded.Cluster, error) {
	bin, err := embedded.FindBinaries(ctx, 0, moduleRoot())
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(scratch.Root(), "dwpg")
	if err != nil {
		return nil, err
	}
	if err := removeAtExit(dir); err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // the account that root drops to must get in
		return nil, err
	}
	cluster := filepath.Join(dir, "c")
	if err := seed(ctx, bin, cluster); err != nil {
		return nil, fmt.Errorf("making a test cluster: %w", err)
	}
	return openCluster(ctx, cluster)
}

func openCluster(ctx context.Context, dir string) (*embedded.Cluster, error) {
	return embedded.OpenCluster(ctx, embedded.ClusterConfig{
		Dir: dir, Log: slog.New(slog.DiscardHandler), Bases: []string{moduleRoot()}, Throwaway: true,
	})
}

// removeAtExit leaves a small process behind that waits for our end, however
// it comes, then ends the server in dir if the kernel has not done so, and
// removes dir.
func removeAtExit(dir string) error {
	const script = `cat >/dev/null
pid=$(head -n 1 "$1/c/data/postmaster.pid" 2>/dev/null)
if [ -n "$pid" ]; then
	kill -QUIT "$pid" 2>/dev/null
	i=0
	while kill -0 "$pid" 2>/dev/null && [ $i -lt 50 ]; do i=$((i+1)); sleep 0.1; done
fi
rm -rf -- "$1"`
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", script, "dogwatch-test-cleaner", dir)
	cmd.Stdin = r
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C is for us, not for it
	if err := cmd.Start(); err != nil {
		w.Close()
		return err
	}
	untilExit.Store(dir, w) // keeps it open; the kernel closes it
	return nil
}

// untilExit holds the pipes whose end tells the cleaners that we are gone.
var untilExit sync.Map

// moduleRoot is where go.mod lies above this file: tests run in their package's
// directory, and tools/pg is at the root.
func moduleRoot() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "..")
}

// pruneAfter is how long an unused cached cluster is kept.
const pruneAfter = 7 * 24 * time.Hour

// seed puts a data directory with the migrated template into dir.
func seed(ctx context.Context, bin embedded.Binaries, dir string) error {
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	base = filepath.Join(base, "dogwatch-test")
	if err := os.MkdirAll(base, 0o755); err != nil {
		return err
	}
	cached := filepath.Join(base, "pg-"+bin.Version+"-"+schemaDigest()+"-"+strconv.Itoa(seedLayout))
	if err := copyTree(cached, filepath.Join(dir, "data")); err == nil {
		now := time.Now()
		_ = os.Chtimes(cached, now, now)
		return nil
	} else if !os.IsNotExist(err) {
		return err
	}

	unlock, err := lockFile(filepath.Join(base, "lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(cached); err != nil {
		if err := makeSeed(ctx, base, cached); err != nil {
			return err
		}
	}
	return copyTree(cached, filepath.Join(dir, "data"))
}

// seedLayout changes when makeSeed makes something else of the same inputs.
const seedLayout = 1

// makeSeed runs initdb and the migrations once and files the stopped cluster
// under its name in one step.
func makeSeed(ctx context.Context, base, cached string) error {
	prune(base)
	// Not in the cache directory: below /root an unprivileged account could
	// not get at it.
	tmp, err := os.MkdirTemp(scratch.Root(), "dwpg")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	c, err := openCluster(ctx, filepath.Join(tmp, "c"))
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Start(ctx); err != nil {
		return err
	}
	if _, err := ensureTemplate(ctx, c.URL("postgres")); err != nil {
		c.Kill()
		return err
	}
	if err := c.Stop(ctx); err != nil {
		return err
	}
	making := cached + ".making"
	if err := os.RemoveAll(making); err != nil {
		return err
	}
	if err := copyTree(filepath.Join(tmp, "c", "data"), making); err != nil {
		return err
	}
	return os.Rename(making, cached)
}

func prune(base string) {
	entries, _ := os.ReadDir(base)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.IsDir() && time.Since(info.ModTime()) > pruneAfter {
			_ = os.RemoveAll(filepath.Join(base, e.Name()))
		}
	}
}

// copyTree copies directories and plain files, which is all that a stopped
// cluster without tablespaces holds.
func copyTree(from, to string) error {
	if _, err := os.Stat(filepath.Join(from, "PG_VERSION")); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	return os.Chmod(to, 0o700)
}

// lockFile waits for an exclusive lock that goes with the process.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}
