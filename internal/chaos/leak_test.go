//go:build linux

package chaos

import (
	"bufio"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/testkit/pgtest"
)

// usage is what a process holds when it is quiet.
type usage struct{ goroutines, files, connections, kilobytes int }

// usage waits until the process is quiet and asks it what it holds.
func (s *site) usage() (u usage) {
	s.Helper()
	res, err := http.Get(s.url + "/metrics")
	s.must(err)
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		v, _ := strconv.ParseFloat(value, 64)
		switch name {
		case "go_goroutines":
			u.goroutines = int(v)
		case "process_open_fds":
			u.files = int(v)
		case "process_resident_memory_bytes":
			u.kilobytes = int(v) / 1024
		}
	}
	u.connections = s.count(`select count(*) from pg_stat_activity where datname = current_database()`)
	return u
}

// Thousands of ticks through one process leave nothing behind in it. What a run
// needs it needs in the first hundred ticks too.
func TestManyTicksLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	warm, ticks, tasks := 60, 240, 40
	if soak {
		warm, ticks, tasks = 1000, 10_000, 100
	}
	s := prepare(t)
	s.database = pgtest.New(t)
	s.env = append(s.env, "DOGWATCH_DATABASE_URL="+s.database, "DOGWATCH_LOG=warn")
	s.run("up")
	p := newPerson(s)
	for i := range tasks {
		p.create("every-"+strconv.Itoa(i), "plain", object{"automation": every(1, "skip", "latest")})
	}
	// A tick that came while its task was busy was handled, too.
	handled := func() int { return s.count(`select count(*) from ticks where state in ('ran', 'skipped')`) }
	quiet := func() usage {
		s.settle(p)
		p.http.CloseIdleConnections()
		var least usage
		for range 10 { // connections that are idle are closed after a while, and memory is swept
			time.Sleep(300 * time.Millisecond)
			if u := s.usage(); least.goroutines == 0 || u.goroutines < least.goroutines {
				least = u
			}
		}
		return least
	}
	limit := time.Duration(ticks) * 200 * time.Millisecond
	until(s, patience+limit, "the first ticks are handled", func() bool { return handled() >= warm })
	before, began, from := quiet(), time.Now(), handled()
	for _, task := range p.list("paused") {
		p.ask("POST", "/tasks/"+task.Identifier+"/resume", nil, "", nil)
	}
	until(s, patience+limit, "all ticks are handled", func() bool { return handled()-from >= ticks })
	took := time.Since(began)
	after := quiet()
	t.Logf("%d ticks were handled in %v (%.0f a second), %d of them ran; before %+v, after %+v", handled()-from, took.Round(time.Second), float64(handled()-from)/took.Seconds(), s.count(`select count(*) from ticks where state = 'ran'`), before, after)
	if grown := after.goroutines - before.goroutines; grown > 10 {
		t.Errorf("%d more goroutines", grown)
	}
	if grown := after.files - before.files; grown > 10 {
		t.Errorf("%d more open files and connections", grown)
	}
	if grown := after.connections - before.connections; grown > 5 {
		t.Errorf("%d more connections to the database", grown)
	}
	// The heap of a quiet process goes up and down by some megabytes.
	if grown := after.kilobytes - before.kilobytes; grown > 24<<10 {
		t.Errorf("%d KB more memory", grown)
	}
	_, err := s.db().Exec(t.Context(), excuses(0))
	s.must(err)
	for _, l := range laws {
		if strings.HasPrefix(l.holds, "no ") {
			s.none(l.holds, s.rows(l.broken))
		}
	}
}
