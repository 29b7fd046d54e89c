package killpoint_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/dogwatch/dogwatch/internal/base/killpoint"
)

// TestMain is also the victim: it passes two points three times and says so.
func TestMain(m *testing.M) {
	if os.Getenv("KILLPOINT_VICTIM") == "" {
		os.Exit(m.Run())
	}
	for range 3 {
		os.Stdout.WriteString("a")
		killpoint.Hit("a")
		os.Stdout.WriteString("b")
		killpoint.Hit("b")
	}
	os.Stdout.WriteString(".")
}

func TestThePassThatWasAskedForKills(t *testing.T) {
	for _, c := range []struct {
		env, out string
		killed   bool
	}{
		{"", "ababab.", false},
		{"a", "a", true},
		{"a:1", "a", true},
		{"b:2", "abab", true},
		{"a:4", "ababab.", false},
		{"c", "ababab.", false},
		{"a:0", "ababab.", false},
		{"a:often", "ababab.", false},
	} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = []string{"KILLPOINT_VICTIM=1", killpoint.Env + "=" + c.env}
		var errOut strings.Builder
		cmd.Stderr = &errOut
		out, _ := cmd.Output()
		killed := cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
		if string(out) != c.out || killed != c.killed {
			t.Errorf("%q: passed %q, killed %v; want %q, %v", c.env, out, killed, c.out, c.killed)
		}
		if named := strings.HasPrefix(errOut.String(), "killed at "+c.env[:min(1, len(c.env))]); named != c.killed {
			t.Errorf("%q: said %q", c.env, errOut.String())
		}
	}
}
