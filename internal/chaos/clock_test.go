//go:build linux

package chaos

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// wrongBy says by how much the host's clock of a process is wrong.
const wrongBy = "DOGWATCH_TEST_CLOCK_WRONG_BY"

// setClock sets the clock of this process wrong, if a test wants it to be.
func setClock() error {
	wanted := os.Getenv(wrongBy)
	if wanted == "" {
		return nil
	}
	by, err := time.ParseDuration(wanted)
	if err == nil {
		err = shiftClock(by)
	}
	if err != nil {
		return fmt.Errorf("set the clock wrong by %s: %w", wanted, err)
	}
	return nil
}

// needsWrongClocks skips a test where no clock can be set wrong: the machine is of
// another kind, or its kernel does not let a process write to its own code.
func needsWrongClocks(t testing.TB) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "version")
	cmd.Env = []string{beProgram + "=1", wrongBy + "=1h"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("no clock can be set wrong here: %v\n%s", err, out)
	}
}

// wrong is by how much the clock of a process is wrong, as its answers say.
func (s *site) wrong(url string) time.Duration {
	s.Helper()
	res, err := http.Get(url + "/healthz")
	s.must(err)
	_ = res.Body.Close()
	date, err := http.ParseTime(res.Header.Get("Date"))
	s.must(err)
	return time.Until(date).Round(time.Minute)
}

// Columns that may hold another time than the one at which they were written: what
// is planned, and until when something counts.
var notTheTimeOfWriting = []string{"planned_at", "fire_at", "armed_at", "run_at", "visible_at", "due_at", "deadline_at", "expires_at", "_until", "begin_at", "from_at", "to_at", "start_at"}

// judgeClocks: the clock is the database's. Whatever was written since the beginning
// has its time, whoever wrote it.
func (s *site) judgeClocks(began time.Time) {
	s.Helper()
	columns := s.rows(`select table_name::text, column_name::text from information_schema.columns
		where table_schema = 'public' and data_type = 'timestamp with time zone' and table_name not like 'goose%'`)
	looked := 0
	for _, c := range columns {
		table, column, _ := strings.Cut(c, " ")
		if slices.ContainsFunc(notTheTimeOfWriting, func(end string) bool { return strings.HasSuffix(column, end) }) {
			continue
		}
		looked += s.count(`select count(` + column + `) from ` + table)
		s.none(table+"."+column+" is by the clock of the database", s.rows(`select distinct `+column+` from `+table+`
			where `+column+` not between $1 and clock_timestamp() + interval '30 seconds'`, began.Add(-30*time.Second)))
	}
	if looked == 0 {
		s.Error("no time was looked at")
	}
	s.Logf("%d times are the database's", looked)
}
