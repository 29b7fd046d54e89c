//go:build !windows

package embedded

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dogwatch/dogwatch/internal/testkit/scratch"
)

const helperEnv = "DOGWATCH_TEST_EMBEDDED_DIR"

// TestMain lets a test run this binary again as an instance to be killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv(helperEnv); dir != "" {
		p, err := startPostgres(context.Background(), ClusterConfig{Dir: dir, Log: quiet, Throwaway: true})
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println("up", p.URL())
		select {}
	}
	code := m.Run()
	if seedDir != "" {
		_ = os.RemoveAll(seedDir)
	}
	os.Exit(code)
}

var (
	quiet   = slog.New(slog.DiscardHandler)
	seedDir string
)

// seed is a data directory as initdb leaves it, made once for all tests.
var seed = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp(scratch.Root(), "dwpg")
	if err != nil {
		return "", err
	}
	seedDir = dir
	c, err := OpenCluster(context.Background(), ClusterConfig{Dir: filepath.Join(dir, "c"), Log: quiet, Throwaway: true})
	if err != nil {
		return "", err
	}
	return c.data, c.Close()
})

// newDir returns the directory of a cluster that no server has run on yet.
// base must exist; its mode decides who can get in.
func newDir(t *testing.T, base string) string {
	t.Helper()
	from, err := seed()
	if errors.Is(err, ErrNoBinaries) && os.Getenv("DOGWATCH_CI") != "true" {
		t.Skipf("needs Postgres: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "pg")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "data"), os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// openBase is a directory that every account may enter; t.TempDir is not one.
func openBase(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(scratch.Root(), "dwpg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func start(t *testing.T, dir string) *Postgres {
	t.Helper()
	p, err := startPostgres(within(t, time.Minute), ClusterConfig{Dir: dir, Log: quiet, Throwaway: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, p) })
	return p
}

func stop(t *testing.T, p *Postgres) {
	t.Helper()
	if err := p.Stop(within(t, 20*time.Second)); err != nil {
		t.Error(err)
	}
}

// query runs one statement, trying for a while as a connection pool would.
func query(t *testing.T, url, sql string, into ...any) {
	t.Helper()
	var err error
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var conn *pgx.Conn
		if conn, err = pgx.Connect(context.Background(), url); err != nil {
			continue
		}
		if len(into) == 0 {
			_, err = conn.Exec(context.Background(), sql)
		} else {
			err = conn.QueryRow(context.Background(), sql).Scan(into...)
		}
		_ = conn.Close(context.Background())
		if err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", sql, err)
}

func write(t *testing.T, url string) {
	t.Helper()
	query(t, url, "create table kept as select 42 as n")
}

func mustHaveKept(t *testing.T, url string) {
	t.Helper()
	var n int
	if query(t, url, "select n from kept", &n); n != 42 {
		t.Fatalf("kept %d, want 42", n)
	}
}

func TestAFirstStartCreatesADurableDatabaseAndALaterOneFindsIt(t *testing.T) {
	if _, err := seed(); errors.Is(err, ErrNoBinaries) {
		t.Skip(err)
	}
	dir := filepath.Join(openBase(t), "data", "postgres")
	if err := os.MkdirAll(filepath.Join(dir, "data.init", "half"), 0o700); err != nil { // a killed initdb
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := StartPostgres(within(t, time.Minute), dir, quiet)
	if err != nil {
		t.Fatal(err)
	}
	url := p.URL()
	write(t, url)
	for name, want := range map[string]string{
		"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on", "listen_addresses": "",
		"server_encoding": "UTF8", "timezone": "UTC",
	} {
		var got string
		if query(t, url, "select current_setting('"+name+"')", &got); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	var sorted string
	query(t, url, `select string_agg(s, '' order by s) || lower('Ä') from (values ('a'), ('B'), ('ä')) v(s)`, &sorted)
	if sorted != "Baää" {
		t.Errorf("text sorts and folds as %q, want by code point and with Unicode's case rules", sorted)
	}
	began := time.Now()
	stop(t, p)
	t.Logf("stopped in %v", time.Since(began))
	if p.Err() != nil {
		t.Errorf("an orderly stop is reported as %v", p.Err())
	}
	began = time.Now()
	if p, err = StartPostgres(within(t, time.Minute), dir, quiet); err != nil {
		t.Fatal(err)
	}
	t.Logf("started again in %v", time.Since(began))
	defer stop(t, p)
	if p.URL() != url {
		t.Errorf("the address changed from %s to %s", url, p.URL())
	}
	mustHaveKept(t, p.URL())
}

func TestAKilledServerComesBackAtTheSameAddress(t *testing.T) {
	p := start(t, newDir(t, openBase(t)))
	write(t, p.URL())
	for range 2 {
		pid := readPID(filepath.Join(p.cluster.data, "postmaster.pid"))
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			if now := readPID(filepath.Join(p.cluster.data, "postmaster.pid")); now != 0 && now != pid {
				break
			} else if time.Now().After(end) {
				b, _ := os.ReadFile(filepath.Join(p.cluster.cfg.Dir, "postgres.log"))
				t.Fatalf("the server %d was not started again: %v\n%s", pid, p.Err(), b)
			}
		}
		mustHaveKept(t, p.URL())
	}
}

func TestAServerThatCannotComeBackIsReported(t *testing.T) {
	p := start(t, newDir(t, openBase(t)))
	if err := os.Remove(filepath.Join(p.cluster.data, "global", "pg_control")); err != nil {
		t.Fatal(err)
	}
	_ = syscall.Kill(readPID(filepath.Join(p.cluster.data, "postmaster.pid")), syscall.SIGKILL)
	select {
	case <-p.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was reported")
	}
	var se *StartError
	if !errors.As(p.Err(), &se) || !errors.Is(p.Err(), ErrExited) {
		t.Fatalf("reported %v", p.Err())
	}
}

func TestAKilledInstanceIsFollowedByTheNext(t *testing.T) {
	dir := newDir(t, openBase(t))
	for round := range 2 {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		instance := exec.Command(exe)
		instance.Env = append(os.Environ(), helperEnv+"="+dir)
		out, err := instance.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := instance.Start(); err != nil {
			t.Fatal(err)
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		url, ok := strings.CutPrefix(strings.TrimSpace(line), "up ")
		if !ok {
			t.Fatalf("the instance says %q", line)
		}
		if round == 0 {
			write(t, url)
		}
		var inUse *InUseError
		if _, err := StartPostgres(within(t, time.Minute), dir, quiet); !errors.As(err, &inUse) || inUse.PID != instance.Process.Pid {
			t.Fatalf("beside a live instance (process %d) a second one got %v", instance.Process.Pid, err)
		}
		mustHaveKept(t, url) // the second one did no harm
		if err := instance.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = instance.Wait()
	}
	mustHaveKept(t, start(t, dir).URL()) // at once, while the old server is still ending
}

func TestTheServerEndsWithAKilledInstance(t *testing.T) {
	if commandLine(os.Getpid()) == nil || !isLinux() {
		t.Skip("only Linux ties a child's life to its parent's")
	}
	dir := newDir(t, openBase(t))
	exe, _ := os.Executable()
	instance := exec.Command(exe)
	instance.Env = append(os.Environ(), helperEnv+"="+dir)
	out, err := instance.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := instance.Start(); err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); !strings.HasPrefix(line, "up ") {
		t.Fatalf("the instance says %q", line)
	}
	pid := readPID(filepath.Join(dir, "data", "postmaster.pid"))
	_ = instance.Process.Kill()
	_ = instance.Wait()
	for end := time.Now().Add(10 * time.Second); alive(pid) && !isZombie(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("server process %d outlived its instance", pid)
		}
	}
}

func isLinux() bool { _, err := os.Stat("/proc/self/exe"); return err == nil }

func TestAnOrphanedServerIsTakenOver(t *testing.T) {
	ctx := within(t, time.Minute)
	cfg := ClusterConfig{Dir: newDir(t, openBase(t)), Log: quiet, Throwaway: true}
	orphan, err := OpenCluster(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := orphan.Start(ctx); err != nil {
		t.Fatal(err)
	}
	defer orphan.Kill()
	query(t, orphan.URL("postgres"), "create database dogwatch")
	write(t, orphan.URL("dogwatch"))
	if err := orphan.release(); err != nil { // its owner is gone, it is not
		t.Fatal(err)
	}
	mustHaveKept(t, start(t, cfg.Dir).URL())
	select {
	case <-orphan.Exited():
	default:
		t.Fatal("two servers run on one directory")
	}
}

func TestAStaleLockWithAnotherProgramsNumberIsNoObstacle(t *testing.T) {
	ctx := within(t, time.Minute)
	c := newCluster(t)
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	c.Kill()

	// A program of the same account: Postgres would take it for a postmaster.
	other := exec.Command("sleep", "60")
	other.SysProcAttr = procAttr(c.id, 0)
	other.Dir = "/"
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	for _, path := range []string{filepath.Join(c.data, "postmaster.pid"), filepath.Join(c.socket, ".s.PGSQL.5432.lock")} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(b), "\n")
		if err := os.WriteFile(path, []byte(strconv.Itoa(other.Process.Pid)+"\n"+rest), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if !alive(other.Process.Pid) {
		t.Fatal("a program that has nothing to do with us was stopped")
	}
}

func TestAStartWaitsForTheLastProcessesOfAKilledServer(t *testing.T) {
	ctx := within(t, time.Minute)
	c := newCluster(t)
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(ctx, c.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	backend := int(conn.PgConn().PID())
	defer conn.Close(ctx)
	if err := syscall.Kill(backend, syscall.SIGSTOP); err != nil { // holds on to the shared memory
		t.Fatal(err)
	}
	c.server.signal(syscall.SIGKILL)
	<-c.Exited()
	time.AfterFunc(400*time.Millisecond, func() { _ = syscall.Kill(backend, syscall.SIGKILL) })
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if alive(backend) && !isZombie(backend) {
		t.Fatal("the new server runs beside a process of the old one")
	}
}

func newCluster(t *testing.T) *Cluster {
	t.Helper()
	c, err := OpenCluster(within(t, time.Minute), ClusterConfig{Dir: newDir(t, openBase(t)), Log: quiet, Throwaway: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Kill(); _ = c.Close() })
	return c
}

// A directory is called what people call theirs.
func TestADataPathMayHoldWhatAPathMayHold(t *testing.T) {
	base := filepath.Join(openBase(t), "My data + 50% & 'more' ü#?")
	if err := os.MkdirAll(base, 0o755); err != nil {
		t.Fatal(err)
	}
	p := start(t, newDir(t, base))
	write(t, p.URL())
	stop(t, p)
}

func TestALongDataPathGetsAShortSocket(t *testing.T) {
	base := filepath.Join(openBase(t), strings.Repeat("long/", 30))
	if err := os.MkdirAll(base, 0o755); err != nil {
		t.Fatal(err)
	}
	p := start(t, newDir(t, base))
	write(t, p.URL())
	socket := p.cluster.socket
	if len(socket) > maxSocketDir {
		t.Fatalf("%s has %d bytes", socket, len(socket))
	}
	stop(t, p)
	if _, err := os.Stat(socket); !os.IsNotExist(err) {
		t.Errorf("%s was left behind: %v", socket, err)
	}
}

func TestDataOfAnotherMajorVersionIsRefusedAndKept(t *testing.T) {
	dir := filepath.Join(openBase(t), "pg")
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	version := filepath.Join(dir, "data", "PG_VERSION")
	if err := os.WriteFile(version, []byte("12\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := StartPostgres(within(t, time.Minute), dir, quiet)
	var se *StartError
	if !errors.As(err, &se) || !errors.Is(err, ErrWrongMajor) || !strings.Contains(err.Error(), "apt-get install postgresql-12") {
		t.Fatalf("got %v", err)
	}
	if b, err := os.ReadFile(version); err != nil || string(b) != "12\n" {
		t.Fatalf("the data was touched: %q, %v", b, err)
	}
}

func TestAnInterruptedFirstStartIsRepeated(t *testing.T) {
	if _, err := seed(); errors.Is(err, ErrNoBinaries) {
		t.Skip(err)
	}
	dir := filepath.Join(openBase(t), "pg")
	if _, err := startPostgres(within(t, 150*time.Millisecond), ClusterConfig{Dir: dir, Log: quiet, Throwaway: true}); err == nil {
		t.Skip("this machine is too fast to be interrupted")
	} else if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	write(t, start(t, dir).URL())
}

func TestRootRunsPostgresAsSomebodyElse(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	base := openBase(t)
	p := start(t, newDir(t, base))
	write(t, p.URL())
	uid, _, err := owner(p.cluster.data)
	if err != nil || uid == 0 || p.cluster.id.account == "" {
		t.Fatalf("below an open directory the owner is %d, running as %s (%v)", uid, p.cluster.id, err)
	}
	stop(t, p)

	// Somebody closes the directory above: the account is shut out.
	if err := os.Chmod(base, 0o700); err != nil {
		t.Fatal(err)
	}
	p, err = startPostgres(within(t, time.Minute), ClusterConfig{Dir: filepath.Join(base, "pg"), Log: quiet, Throwaway: true})
	if errors.Is(err, ErrNoIdentity) {
		t.Skip("user namespaces are not allowed here")
	} else if err != nil {
		t.Fatal(err)
	}
	defer stop(t, p)
	if uid, _, err = owner(p.cluster.data); err != nil || uid != 0 || !p.cluster.id.namespace {
		t.Fatalf("below a closed directory the owner is %d, running as %s (%v)", uid, p.cluster.id, err)
	}
	mustHaveKept(t, p.URL())
}
