//go:build !windows

package embedded

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	superuser = "dogwatch"
	// maxSocketDir leaves room for "/.s.PGSQL.5432" in the 107 bytes of a Unix
	// socket address (103 on macOS).
	maxSocketDir = 103 - len("/.s.PGSQL.5432")
	maxLogSize   = 4 << 20 // a later look moves a larger log aside
)

// ClusterConfig says where a cluster lives and how it is run.
type ClusterConfig struct {
	Dir       string // Postgres's own directory; made when it is missing
	Log       *slog.Logger
	Bases     []string // further directories below which tools/pg may lie
	Throwaway bool     // for tests: gives durability against power cuts away for speed
}

// Cluster is one Postgres data directory and, while it runs, the server
// process on it. It starts and stops when told to; Postgres keeps one running.
type Cluster struct {
	cfg     ClusterConfig
	bin     Binaries
	id      identity
	data    string // <dir>/data
	socket  string // directory of the Unix socket
	release func() error
	server  *server // nil before the first start
}

// OpenCluster takes the directory, finds programs that can serve what is in it,
// and creates the cluster when there is none.
func OpenCluster(ctx context.Context, cfg ClusterConfig) (_ *Cluster, err error) {
	if cfg.Dir, err = filepath.Abs(cfg.Dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("making Postgres's directory: %w", err)
	}
	c := &Cluster{cfg: cfg, data: filepath.Join(cfg.Dir, "data")}
	if c.release, err = LockDir(cfg.Dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = c.Close()
		}
	}()
	major, err := dataMajor(c.data)
	if err != nil {
		return nil, err
	}
	if c.bin, err = FindBinaries(ctx, major, cfg.Bases...); err != nil {
		return nil, err
	}
	if c.id, err = chooseIdentity(ctx, cfg.Dir, c.data, c.bin); err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 {
		cfg.Log.Info("Postgres does not run as root", "runs as", c.id.String(), "dir", cfg.Dir)
	}
	if err := c.prepareDirs(); err != nil {
		return nil, err
	}
	if major == 0 {
		if err := c.initialise(ctx); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// HasPostgres reports whether dir is that of a Postgres that was started before.
func HasPostgres(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "data", "PG_VERSION"))
	return !errors.Is(err, fs.ErrNotExist)
}

// dataMajor reads which major version wrote a data directory, 0 for none yet.
func dataMajor(data string) (int, error) {
	b, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	} else if err != nil {
		return 0, fmt.Errorf("reading the version of the database: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0, fmt.Errorf("reading the version of the database: %w", err)
	}
	return major, nil
}

// prepareDirs hands the directory to the identity and settles on a place for
// the socket.
func (c *Cluster) prepareDirs() error {
	if err := os.Chmod(c.cfg.Dir, 0o700); err != nil {
		return err
	}
	if err := os.Lchown(c.cfg.Dir, c.id.uid, c.id.gid); err != nil && os.Geteuid() == 0 {
		return err
	}
	if _, err := os.Lstat(c.data); err == nil {
		if err := c.id.own(c.data); err != nil {
			return err
		}
	}
	c.socket = filepath.Join(c.cfg.Dir, "socket")
	if len(c.socket) > maxSocketDir {
		sum := sha256.Sum256([]byte(c.cfg.Dir))
		c.socket = filepath.Join("/tmp", "dogwatch-"+hex.EncodeToString(sum[:8]))
	}
	if err := os.Mkdir(c.socket, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making the socket's directory: %w", err)
	}
	if err := c.id.own(c.socket); err != nil {
		return err
	}
	// Below /tmp somebody else may have been there first.
	st, err := os.Lstat(c.socket)
	if err != nil {
		return err
	}
	if uid, _, err := owner(c.socket); err != nil || uid != c.id.uid || !st.IsDir() || st.Mode().Perm() != 0o700 {
		return fmt.Errorf("the socket's directory %s is not a private directory of ours", c.socket)
	}
	return nil
}

// initialise creates the cluster beside its place and renames it, so that a
// killed initdb never leaves half a cluster under the name.
func (c *Cluster) initialise(ctx context.Context) error {
	tmp := c.data + ".init"
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return err
	}
	if err := c.id.own(tmp); err != nil {
		return err
	}
	args := []string{"-D", tmp, "-U", superuser, "-E", "UTF8",
		"--auth-local=trust", "--auth-host=reject", "--no-instructions"}
	// Text sorts by code point, the same on every system, and case rules are
	// Unicode's. From 17 on Postgres brings that itself.
	switch {
	case c.bin.Major >= 17:
		args = append(args, "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
	case runtime.GOOS == "linux":
		args = append(args, "--locale=C.UTF-8")
	default:
		args = append(args, "--locale=C", "--lc-ctype=en_US.UTF-8")
	}
	if c.cfg.Throwaway {
		args = append(args, "--no-sync", "--wal-segsize=1")
	}
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin.Dir, "initdb"), args...)
	cmd.SysProcAttr = procAttr(c.id, syscall.SIGKILL)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	cmd.Env, cmd.Dir = childEnv(c.cfg.Dir), "/"
	// The signal at our death follows the thread that starts the child.
	runtime.LockOSThread()
	out, err := cmd.CombinedOutput()
	runtime.UnlockOSThread()
	if err != nil {
		_ = os.RemoveAll(tmp)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &StartError{Dependency: "postgres", Problem: "initdb failed: " + tail(string(out)),
			Try: "free space and permissions of " + c.cfg.Dir + ", or DOGWATCH_DATABASE_URL", Err: err}
	}
	if err := os.Rename(tmp, c.data); err != nil {
		return fmt.Errorf("putting the new database in its place: %w", err)
	}
	c.cfg.Log.Info("a new Postgres database was created", "version", c.bin.Version, "dir", c.data)
	return nil
}

// URL is the address of a database of the cluster, for pgx.
func (c *Cluster) URL(database string) string {
	u := url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/" + database}
	q := url.Values{"host": {c.socket}, "port": {strconv.Itoa(socketPort)}, "sslmode": {"disable"}}
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20") // a + is a + to the driver, and no blank
	return u.String()
}

// Version is the version of the programs that serve the cluster.
func (c *Cluster) Version() string { return c.bin.Version }

// Start brings the server up and returns when it answers queries. It deals
// with everything that a kill of the server, of our process or of both leaves
// behind.
func (c *Cluster) Start(ctx context.Context) error {
	if err := c.clearWreck(ctx); err != nil {
		return err
	}
	// Backends of a killed server take a moment to notice and let go of its
	// shared memory; until then a new one refuses to start.
	giveUp := time.Now().Add(10 * time.Second)
	for {
		s, err := c.launch()
		if err != nil {
			return err
		}
		c.server = s
		err = c.awaitReady(ctx, s)
		if err == nil {
			return nil
		}
		if errors.Is(err, errStillHeld) && time.Now().Before(giveUp) {
			select {
			case <-time.After(100 * time.Millisecond):
				continue
			case <-ctx.Done():
			}
		}
		return err
	}
}

// errStillHeld marks a start that failed because something of the previous
// server still lives.
var errStillHeld = errors.New("the previous server is not quite gone")

// awaitReady connects until the server answers. There is no time limit of its
// own: recovery after a crash takes as long as it takes, and the caller's
// context ends it.
func (c *Cluster) awaitReady(ctx context.Context, s *server) error {
	began, told := time.Now(), 5*time.Second
	for {
		select {
		case <-s.exited:
			out := s.output()
			e := &StartError{Dependency: "postgres", Problem: "the server ended while starting: " + tail(out),
				Try: "the log in " + s.logPath, Err: ErrExited}
			if strings.Contains(out, "pre-existing shared memory block") ||
				strings.Contains(out, `lock file "postmaster.pid" already exists`) {
				e.Err = errors.Join(ErrExited, errStillHeld)
			}
			return e
		case <-ctx.Done():
			s.signal(syscall.SIGINT)
			return &StartError{Dependency: "postgres", Problem: "the server did not answer in time",
				Try: "the log in " + s.logPath, Err: ctx.Err()}
		case <-time.After(10 * time.Millisecond):
		}
		tryCtx, cancel := context.WithTimeout(ctx, time.Second)
		conn, err := pgx.Connect(tryCtx, c.URL("postgres"))
		if err == nil {
			_ = conn.Close(tryCtx)
		}
		cancel()
		if err == nil {
			return nil
		}
		if d := time.Since(began); d > told {
			told = 2 * d
			c.cfg.Log.Info("Postgres is still starting", "for", d.Round(time.Second), "last answer", err.Error())
		}
	}
}

// Exited is closed when the server process of the last Start has ended.
func (c *Cluster) Exited() <-chan struct{} { return c.server.exited }

// PID is the number of the server process of the last Start.
func (c *Cluster) PID() int { return c.server.cmd.Process.Pid }

// Stop ends the server in order: transactions are rolled back, a checkpoint is
// written. When ctx ends first it is stopped hard, and the next start recovers.
func (c *Cluster) Stop(ctx context.Context) error {
	if c.server == nil {
		return nil
	}
	return c.server.stop(ctx)
}

// Kill ends the server and all its processes at once, as a power cut would.
func (c *Cluster) Kill() {
	if c.server != nil {
		c.server.kill()
	}
}

// Close gives the directory free for others. The server must have been stopped.
func (c *Cluster) Close() error {
	if c.socket != "" && filepath.Dir(c.socket) != c.cfg.Dir {
		_ = os.RemoveAll(c.socket)
	}
	return c.release()
}
