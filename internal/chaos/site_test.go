//go:build linux

package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/dogwatch/dogwatch/internal/testkit/pgtest"
	"github.com/dogwatch/dogwatch/internal/testkit/redistest"
)

const adminToken = "chaos-admin-token-0123456789"

// Leases are short, so that what a dead process held is taken over while we wait;
// a run that is to see the real ones says so.
const (
	lease   = 2 * time.Second
	visible = 1500 * time.Millisecond
)

// site is an installation: what it stands on, its model, and its processes.
type site struct {
	testing.TB
	pg    *pgtest.Server    // nil: inside the process
	redis *redistest.Server // nil: inside the process
	model *model
	log   *chronicle
	url   string // of the API; the same over restarts
	data  string
	env   []string
	pool  *pgxpool.Pool
	named int

	database string // its address; "": inside the process
}

// newSite prepares an installation whose parts are spread over processes. What
// env says again counts.
func newSite(t testing.TB, env ...string) *site {
	s := prepare(t)
	s.pg, s.redis = pgtest.Cluster(t), redistest.StartReal(t)
	s.database = s.pg.URL()
	s.env = append(append(s.env, "DOGWATCH_DATABASE_URL="+s.pg.URL(), "DOGWATCH_REDIS_URL="+s.redis.URL()), env...)
	return s
}

// newUp prepares an installation in one process with everything inside.
func newUp(t testing.TB, env ...string) *site {
	pgtest.New(t) // skips by name where there is no Postgres
	s := prepare(t)
	s.env = append(s.env, env...)
	return s
}

func prepare(t testing.TB) *site {
	s := &site{TB: t, model: newModel(t), log: &chronicle{}, data: filepath.Join(t.TempDir(), "data")}
	address := freeAddress(t)
	s.url = "http://" + address
	s.env = []string{
		"HOME=" + t.TempDir(), "DOGWATCH_LISTEN=" + address, "DOGWATCH_ADMIN_TOKEN=" + adminToken,
		"DOGWATCH_SECRET_KEY=" + strings.Repeat("5e", 32), "OPENAI_BASE_URL=" + s.model.URL + "/v1",
		"DOGWATCH_MODEL=openai/scripted-1", "DOGWATCH_TICK_INTERVAL=50ms", "DOGWATCH_MIN_HEARTBEAT=1s", "DOGWATCH_DRAIN=200ms",
		"DOGWATCH_TEST_LEASE=" + lease.String(), "DOGWATCH_TEST_VISIBLE=" + visible.String(),
		"DOGWATCH_TEST_RETRY=100ms",
	}
	t.Cleanup(func() {
		if s.pool != nil {
			s.pool.Close()
		}
		if keep := os.Getenv("CHAOS_KEEP"); keep != "" || t.Failed() {
			s.writeLog(keep)
		}
	})
	return s
}

// freeAddress is one that nobody listens at.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// ready says whether the process at an address takes work.
func ready(url string) bool {
	res, err := http.Get(url + "/readyz")
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// writeLog keeps what the processes said for whoever looks for a fault.
func (s *site) writeLog(dir string) {
	if dir == "" {
		dir = os.TempDir()
	}
	f, err := os.CreateTemp(dir, "chaos-"+strings.ReplaceAll(s.Name(), "/", "-")+"-*.log")
	if err != nil {
		return
	}
	defer f.Close()
	for _, l := range s.log.said("") {
		fmt.Fprintf(f, "%s %-12s %s\n", l.at.Format("15:04:05.000"), l.who, l.text)
	}
	for _, l := range s.log.struck() {
		fmt.Fprintf(f, "%s %-12s STRIKE %s\n", l.at.Format("15:04:05.000"), l.who, l.text)
	}
	s.Logf("what the processes said is in %s", f.Name())
}

func (s *site) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// run starts a process of a role. Each has its own data directory, but for `up`,
// which is one installation with it.
func (s *site) run(role string, env ...string) *process {
	s.Helper()
	s.named++
	name := fmt.Sprintf("%s-%d", role, s.named)
	data := s.data
	if role != "up" {
		data = filepath.Join(s.data, name)
	}
	return launch(s, s.log, name, append(append([]string{"DOGWATCH_DATA=" + data, "OPENAI_API_KEY=" + name}, s.env...), env...), role)
}

// armed starts a process that is killed when it passes a point.
func (s *site) armed(role, point string, pass int) *process {
	s.Helper()
	return s.run(role, fmt.Sprintf("DOGWATCH_KILL=%s:%d", point, pass))
}

// db is the database, also when it comes and goes.
func (s *site) db() *pgxpool.Pool {
	s.Helper()
	if s.pool != nil {
		return s.pool
	}
	url := s.database
	if url == "" {
		b, err := os.ReadFile(filepath.Join(s.data, "database"))
		s.must(err)
		url = strings.TrimSpace(string(b))
	}
	var err error
	s.pool, err = pgxpool.New(context.Background(), url)
	s.must(err)
	return s.pool
}

// rows returns what a query finds, one text per row.
func (s *site) rows(sql string, args ...any) []string {
	s.Helper()
	var out []string
	rows, err := s.db().Query(context.Background(), sql, args...)
	s.must(err)
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		s.must(err)
		for i, v := range values {
			if id, ok := v.([16]byte); ok {
				values[i] = pgtype.UUID{Bytes: id, Valid: true}.String()
			}
		}
		out = append(out, strings.TrimSuffix(fmt.Sprintln(values...), "\n"))
	}
	s.must(rows.Err())
	return out
}

func (s *site) count(sql string, args ...any) int {
	s.Helper()
	var n int
	s.must(s.db().QueryRow(context.Background(), sql, args...).Scan(&n))
	return n
}

// powerCut ends everything at once: the processes that are given, Postgres and Redis.
func (s *site) powerCut(all ...*process) {
	s.Helper()
	s.log.strike("everything", "power cut")
	for _, p := range all {
		p.signal(9)
	}
	if s.pg != nil {
		s.pg.Kill()
	}
	if s.redis != nil {
		s.redis.Kill()
	}
	for _, p := range all {
		<-p.done
	}
	time.Sleep(rand.N(300 * time.Millisecond))
	if s.pg != nil {
		s.pg.Start()
	}
	if s.redis != nil {
		s.redis.Start()
	}
}
