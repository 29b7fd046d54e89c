package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dogwatch/dogwatch/internal/config"
	"github.com/dogwatch/dogwatch/internal/testkit/pgtest"
	"github.com/dogwatch/dogwatch/internal/testkit/redistest"
)

// The tests of this file run the program itself, in processes of its own: this
// binary, told to be it.
const beProgram = "DOGWATCH_TEST_BE_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(beProgram) != "" {
		os.Exit(Main(context.Background(), os.Args[1:]))
	}
	os.Exit(m.Run())
}

// process is a run of the program.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	out  output
	done chan struct{}
}

// output may be read while a process writes to it.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// launch starts the program with only the environment that is given.
func launch(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, done: make(chan struct{})}
	p.cmd = exec.Command(os.Args[0], args...)
	p.cmd.Env = append([]string{beProgram + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + os.TempDir()}, env...)
	p.cmd.Dir = moduleRoot(t)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		if t.Failed() {
			t.Logf("dogwatch %s:\n%s", strings.Join(args, " "), p.out.String())
		}
	})
	return p
}

func moduleRoot(t *testing.T) string {
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(wd, "..", "..")
}

const patience = 60 * time.Second // the machine may be busy with other tests

// exit waits for the end and returns the exit code.
func (p *process) exit() int {
	p.t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		p.t.Fatal("it does not end")
		return -1
	}
}

func (p *process) stop(s syscall.Signal) int {
	p.t.Helper()
	_ = p.cmd.Process.Signal(s)
	return p.exit()
}

// until waits for something, while the process runs.
func (p *process) until(what string, f func() bool) {
	p.t.Helper()
	for end := time.Now().Add(patience); !f(); {
		select {
		case <-p.done:
			p.t.Fatalf("it ended (%d) before %s", p.cmd.ProcessState.ExitCode(), what)
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(end) {
			p.t.Fatalf("still not: %s", what)
		}
	}
}

// address waits until the instance on a data directory is ready. A killed one
// leaves its address behind, so it has to be the one that was announced.
func (p *process) address(data string) string {
	p.t.Helper()
	var base string
	p.until("it wrote its address", func() bool {
		b, err := os.ReadFile(filepath.Join(data, config.AddressFile))
		base = strings.TrimSpace(string(b))
		return err == nil && strings.Contains(p.out.String(), base)
	})
	return base
}

func get(t *testing.T, c *http.Client, url string) (status int, body string) {
	t.Helper()
	res, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// use runs a client command and returns what it printed.
func use(t *testing.T, data string, args ...string) string {
	t.Helper()
	p := launch(t, []string{"DOGWATCH_DATA=" + data}, args...)
	if code := p.exit(); code != 0 {
		t.Fatalf("%v: exit code %d\n%s", args, code, p.out.String())
	}
	return p.out.String()
}

func dataDir(t *testing.T) string {
	pgtest.New(t) // skips by name where there is no Postgres
	return filepath.Join(t.TempDir(), "data")
}

var quick = []string{"DOGWATCH_LISTEN=127.0.0.1:0", "DOGWATCH_TICK_INTERVAL=50ms", "DOGWATCH_MIN_HEARTBEAT=1s", "DOGWATCH_DRAIN=5s"}

// From nothing to a run with its handoff, over a clean stop, a kill, and a second
// instance that is turned away.
func TestUp(t *testing.T) {
	data := dataDir(t)
	env := append([]string{"DOGWATCH_DATA=" + data}, quick...)

	first := launch(t, env, "up")
	base := first.address(data)
	if status, body := get(t, http.DefaultClient, base+"/readyz"); status != 200 {
		t.Errorf("/readyz: %d %s", status, body)
	}
	said := first.out.String()
	for _, want := range []string{"✓ Postgres and queue inside · ready in", "model offline/extractive", "OPENAI_API_KEY", "→ open " + base + "/auth/start/",
		"admin@localhost, password ", "admin token  in " + filepath.Join(data, "admin-token")} {
		if !strings.Contains(said, want) {
			t.Errorf("the first start does not say %q", want)
		}
	}
	for _, name := range []string{"admin-token", "secret-key", "database"} {
		if info, err := os.Stat(filepath.Join(data, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	signsInOnce(t, base, regexp.MustCompile(`/auth/start/\S+`).FindString(said))

	if second := launch(t, env, "up"); second.exit() != 4 || !strings.Contains(second.out.String(), "in use by another instance") {
		t.Errorf("a second instance: %d %s", second.cmd.ProcessState.ExitCode(), second.out.String())
	}

	if out := use(t, data, "task", "create", "Say what there is.", "--cron", "0 0 1 1 *", "--zone", "UTC"); !strings.Contains(out, "✓ T-1") || !strings.Contains(out, "next ") {
		t.Errorf("task create: %s", out)
	}
	if out := use(t, data, "task", "run", "T-1", "--wait", "--timeout", "50s"); !strings.Contains(out, "run 1 completed") {
		t.Errorf("task run: %s", out)
	}
	if out := use(t, data, "task", "show", "t-1"); !strings.Contains(out, "0 0 1 1 * UTC") || !strings.Contains(out, "run 1 completed (manual)") {
		t.Errorf("task show: %s", out)
	}
	use(t, data, "why", "T-1")
	if out := use(t, data, "migrate", "status"); !strings.Contains(out, "schema at version") {
		t.Errorf("migrate status: %s", out)
	}
	if out := use(t, data, "admin", "reset"); !strings.Contains(out, "sign in as admin@localhost") {
		t.Errorf("admin reset: %s", out)
	}
	signsInOnce(t, base, regexp.MustCompile(`/auth/start/\S+`).FindString(use(t, data, "admin", "link")))

	if code := first.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("SIGTERM: exit code %d", code)
	}
	if _, err := os.Stat(filepath.Join(data, config.AddressFile)); err == nil {
		t.Error("a stopped instance still has an address")
	}
	if p := launch(t, env, "task", "list"); p.exit() != 3 {
		t.Errorf("without an instance: %d %s", p.cmd.ProcessState.ExitCode(), p.out.String())
	}

	killed := launch(t, env, "up")
	killed.address(data)
	if strings.Contains(killed.out.String(), "password") {
		t.Errorf("a later start tells secrets:\n%s", killed.out.String())
	}
	killed.stop(syscall.SIGKILL)

	again := launch(t, env, "up")
	again.address(data)
	if out := use(t, data, "task", "list"); !strings.Contains(out, "T-1") {
		t.Errorf("after a kill: %s", out)
	}
	if code := again.stop(syscall.SIGINT); code != 0 {
		t.Errorf("SIGINT: exit code %d", code)
	}
}

// signsInOnce follows a sign-in link twice: the first time it signs in.
func signsInOnce(t *testing.T, base, path string) {
	t.Helper()
	for i, want := range []int{200, 401} {
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		c := &http.Client{Jar: jar}
		get(t, c, base+strings.TrimPrefix(path, base))
		status, body := get(t, c, base+"/api/v1/me")
		if status != want {
			t.Errorf("visit %d of %s: /me says %d %s, want %d", i+1, path, status, body, want)
		}
	}
}

// A configured token and password are the ones that work.
func TestUpWithWhatIsConfigured(t *testing.T) {
	data := dataDir(t)
	env := append([]string{"DOGWATCH_DATA=" + data, "DOGWATCH_ADMIN_TOKEN=chosen-token-of-24-chars", "DOGWATCH_ADMIN_EMAIL=night@example.org",
		"DOGWATCH_ADMIN_PASSWORD=a long sentence"}, quick...)
	p := launch(t, env, "up")
	base := p.address(data)
	if strings.Contains(p.out.String(), "a long sentence") {
		t.Error("the configured password is printed")
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/api/v1/me", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer chosen-token-of-24-chars")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("the configured token: %s", res.Status)
	}
	login, err := http.Post(base+"/api/v1/auth/login", "application/json", strings.NewReader(`{"email":"Night@example.org","password":"a long sentence"}`))
	if err != nil {
		t.Fatal(err)
	}
	login.Body.Close()
	if login.StatusCode != http.StatusOK {
		t.Errorf("the configured password: %s", login.Status)
	}
	if code := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// The same program in several processes on a Postgres and a Redis of their own.
func TestServerAndWorkers(t *testing.T) {
	url, redis := pgtest.New(t), redistest.StartReal(t)
	data := filepath.Join(t.TempDir(), "data")
	env := append([]string{"DOGWATCH_DATA=" + data, "DOGWATCH_DATABASE_URL=" + url, "DOGWATCH_REDIS_URL=" + redis.URL()}, quick...)

	worker := launch(t, env, "worker", "--listen", "127.0.0.1:0")
	worker.until("it is ready", func() bool { return strings.Contains(worker.out.String(), "the worker is ready") })
	health := regexp.MustCompile(`health=(\S+)`).FindStringSubmatch(worker.out.String())[1]
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 200, "/api/v1/me": 404, "/": 404} {
		if status, body := get(t, http.DefaultClient, health+path); status != want {
			t.Errorf("worker's %s: %d %s, want %d", path, status, body, want)
		}
	}
	server := launch(t, env, "server")
	base := server.address(data)
	if p := launch(t, append(env, "DOGWATCH_DATA="+t.TempDir()), "server"); p.exit() != 2 || !strings.Contains(p.out.String(), "another secret key") {
		t.Errorf("a server with another key: %d %s", p.cmd.ProcessState.ExitCode(), p.out.String())
	}
	counts := func(want string) func() bool {
		return func() bool {
			status, body := get(t, http.DefaultClient, base+"/readyz")
			if status != 200 {
				t.Errorf("the server is not ready: %d %s", status, body)
			}
			return strings.Contains(body, want)
		}
	}
	server.until("it counts the worker", counts(`"workers":1`))
	use(t, data, "task", "create", "Say what there is.", "--accept", "auto")
	if out := use(t, data, "task", "run", "T-1", "--wait", "--timeout", "50s"); !strings.Contains(out, "run 1 completed") {
		t.Errorf("task run: %s", out)
	}
	if code := worker.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("worker: exit code %d", code)
	}
	server.until("it counts no worker, and is ready all the same", counts(`"workers":0`))
	if code := server.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("server: exit code %d", code)
	}
}

// The worked example: a baseline, a decision that holds the task, and a run with
// the answer.
func TestDemo(t *testing.T) {
	url, redis := pgtest.New(t), redistest.StartMini(t)
	data := filepath.Join(t.TempDir(), "data")
	up := launch(t, append([]string{"DOGWATCH_DATA=" + data, "DOGWATCH_DATABASE_URL=" + url, "DOGWATCH_REDIS_URL=" + redis.URL()}, quick...), "up")
	up.address(data)
	demo := launch(t, []string{"DOGWATCH_DATA=" + data}, "demo", "--every", "2s")
	demo.until("a tick waits for a person", func() bool { return strings.Contains(demo.out.String(), "tick skipped: waiting_for_human") })
	decision := regexp.MustCompile(`BRIEF (B-\d+) decision`).FindStringSubmatch(demo.out.String())
	if decision == nil {
		t.Fatal("no decision was raised")
	}
	use(t, data, "brief", "resolve", decision[1], "--action", "approve", "--comment", "up to 50 EUR")
	if code := demo.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"16 documents pinned", "Baseline of 16 documents", "3 documents arrived", "order 8812", "resolved: approve", "run 3 completed"} {
		if !strings.Contains(demo.out.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
	if code := up.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// A run that is in the middle of a call to its model when the process has to go.
func TestStoppingWhileAModelThinks(t *testing.T) {
	url, redis := pgtest.New(t), redistest.StartReal(t)
	asked := make(chan struct{}, 10)
	var answers atomic.Bool
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- struct{}{}
		if !answers.Load() {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, `data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":"Nothing new."},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3}}`+"\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(model.Close)
	data := filepath.Join(t.TempDir(), "data")
	env := append([]string{"DOGWATCH_DATA=" + data, "DOGWATCH_DATABASE_URL=" + url, "DOGWATCH_REDIS_URL=" + redis.URL(),
		"OPENAI_BASE_URL=" + model.URL + "/v1", "DOGWATCH_MODEL=openai/slow", "DOGWATCH_TEST_LEASE=1s", "DOGWATCH_TEST_VISIBLE=1s"}, quick...)

	patient := launch(t, append(env, "DOGWATCH_DRAIN=10m"), "up")
	patient.address(data)
	use(t, data, "task", "create", "Think.", "--start", "--accept", "auto")
	<-asked
	_ = patient.cmd.Process.Signal(syscall.SIGTERM)
	patient.until("it says that it is stopping", func() bool { return strings.Contains(patient.out.String(), "stopping") })
	if code := patient.stop(syscall.SIGTERM); code != 1 || !strings.Contains(patient.out.String(), "second signal") {
		t.Errorf("a second signal: exit code %d", code)
	}

	hasty := launch(t, append(env, "DOGWATCH_DRAIN=100ms"), "up")
	hasty.address(data)
	<-asked // the run was taken up again
	if code := hasty.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("a drain that ends by its limit: exit code %d", code)
	}

	answers.Store(true)
	last := launch(t, env, "up")
	last.address(data)
	last.until("the run that was handed back is completed", func() bool {
		return strings.Contains(use(t, data, "topic", "show", "T-1"), "run 1 completed")
	})
	if code := last.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestANewerSchemaIsRefused(t *testing.T) {
	url, redis := pgtest.New(t), redistest.StartReal(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), `insert into goose_db_version (version_id, is_applied) values (99999, true)`); err != nil {
		t.Fatal(err)
	}
	env := append([]string{"DOGWATCH_DATA=" + t.TempDir(), "DOGWATCH_DATABASE_URL=" + url, "DOGWATCH_REDIS_URL=" + redis.URL()}, quick...)
	for _, args := range [][]string{{"up"}, {"server"}, {"worker"}, {"migrate", "up"}} {
		p := launch(t, env, args...)
		if p.exit() != 1 || !strings.Contains(p.out.String(), "newer version of Dogwatch") {
			t.Errorf("%v: %d %s", args, p.cmd.ProcessState.ExitCode(), p.out.String())
		}
	}
}

func TestWhatCannotBeReachedOrUsed(t *testing.T) {
	url := pgtest.New(t)
	for _, tt := range []struct {
		name string
		env  []string
		args []string
		code int
		says string
	}{
		{"database", []string{"DOGWATCH_DATABASE_URL=postgres://u:hunter2@127.0.0.1:1/d"}, []string{"up"}, 3, "postgres: postgres://u:xxxxx@127.0.0.1:1/d"},
		{"queue", []string{"DOGWATCH_DATABASE_URL=" + url, "DOGWATCH_REDIS_URL=redis://127.0.0.1:1"}, []string{"up"}, 3, "redis: redis://127.0.0.1:1"},
		{"no programs", []string{"DOGWATCH_PG_BINDIR=/nowhere"}, []string{"up"}, 3, "DOGWATCH_DATABASE_URL"},
		{"port", []string{"DOGWATCH_LISTEN=192.0.2.1:80"}, []string{"up"}, 1, "--listen"},
		{"nothing configured", nil, []string{"server"}, 2, "DOGWATCH_REDIS_URL"},
		{"configuration", []string{"DOGWATCH_DRAIN=soon"}, []string{"up"}, 2, `DOGWATCH_DRAIN: "soon"`},
		{"another directory", nil, []string{"admin", "link"}, 3, "--data"},
		{"no admin yet", []string{"DOGWATCH_DATABASE_URL=" + url}, []string{"admin", "reset"}, 1, "dogwatch up"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env := append([]string{"DOGWATCH_DATA=" + t.TempDir(), "DOGWATCH_LISTEN=127.0.0.1:0"}, tt.env...)
			p := launch(t, env, tt.args...)
			if p.exit() != tt.code || !strings.Contains(p.out.String(), tt.says) || strings.Contains(p.out.String(), "hunter2") {
				t.Errorf("exit code %d, want %d; %q is missing in (or a secret is shown)\n%s", p.cmd.ProcessState.ExitCode(), tt.code, tt.says, p.out.String())
			}
		})
	}
}

func TestOpenAPIAndVersion(t *testing.T) {
	p := launch(t, nil, "openapi")
	var doc struct {
		OpenAPI string         `json:"openapi"`
		Paths   map[string]any `json:"paths"`
	}
	if p.exit() != 0 {
		t.Fatal(p.out.String())
	}
	if err := json.Unmarshal([]byte(p.out.String()), &doc); err != nil || !strings.HasPrefix(doc.OpenAPI, "3.1") || doc.Paths["/tasks"] == nil {
		t.Errorf("openapi %q, %d paths, %v", doc.OpenAPI, len(doc.Paths), err)
	}
	if p := launch(t, nil, "version"); p.exit() != 0 || !strings.HasPrefix(p.out.String(), "dogwatch dev") {
		t.Error(p.out.String())
	}
}
