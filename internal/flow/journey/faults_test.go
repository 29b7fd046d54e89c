package journey

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fault is something that went wrong in a public system.
type fault struct{ ID, Kind, Scenario, Expected string }

// faultKinds are the kinds that are a scheduler's to get right.
var faultKinds = []string{
	"dst", "timezone", "missed tick after restart", "catch-up / backfill policy", "lost wakeup", "duplicate run",
	"overlap / concurrency policy", "pause / quiet hours / maintenance",
}

// elsewhere says which faults cannot be told here, by what their scenario needs, and
// where they are held.
var elsewhere = []struct{ needs, why string }{
	{"kill -9", "needs a process to kill: TestFaults of internal/chaos tells it"},
	{"Redis", "needs a Redis to lose: TestFaults of internal/chaos tells it"},
	{"device", "needs devices, which are to come"},
	{"declared in a file", "needs schedules that are applied from a file, which are to come"},
}

func (f fault) elsewhere() string {
	for _, e := range elsewhere {
		if strings.Contains(f.Scenario, e.needs) {
			return e.why
		}
	}
	return ""
}

// TestFaults tells each of them as a scenario of ours, in our words. Where the
// collection that they are from is at hand, none of its kinds may be missing here.
func TestFaults(t *testing.T) {
	ours := readFaults(t, filepath.Join("testdata", "faults.json"))
	if len(ours) == 0 {
		t.Fatal("there is no fault in testdata")
	}
	scenarios := map[string]func(*testing.T){}
	for _, m := range []map[string]func(*testing.T){faultsOfZones, faultsOfLateness, faultsOfRuns} {
		maps.Copy(scenarios, m)
	}
	untold := maps.Clone(scenarios)
	for _, f := range ours {
		t.Run(f.ID, func(t *testing.T) {
			tell := scenarios[f.ID]
			delete(untold, f.ID)
			switch why := f.elsewhere(); {
			case why != "" && tell != nil:
				t.Errorf("it is told here, and also: %s", why)
			case why != "":
				t.Skip(why)
			case tell == nil:
				t.Errorf("nobody tells it: %s", f.Scenario)
			default:
				tell(t)
			}
		})
	}
	for id := range untold {
		t.Errorf("%s is told and not in testdata", id)
	}
	t.Run("the collection", func(t *testing.T) {
		dir := filepath.Join("..", "..", "..", "..", "shared")
		if cases := os.Getenv("DOGWATCH_CASES"); cases != "" {
			dir = filepath.Dir(filepath.Clean(cases))
		}
		path := filepath.Join(dir, "faults", "public-faults.json")
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			t.Skip("the collection of public faults is not part of a clone; it is looked for beside the folder that DOGWATCH_CASES names")
		}
		known := map[string]string{}
		for _, f := range ours {
			known[f.ID] = f.Kind
		}
		n := 0
		for _, f := range readFaults(t, path) {
			if !slices.Contains(faultKinds, f.Kind) {
				continue
			}
			if n++; known[f.ID] != f.Kind {
				t.Errorf("%s (%s) is not told here: %s", f.ID, f.Kind, f.Scenario)
			}
			delete(known, f.ID)
		}
		if n == 0 {
			t.Error("the collection has no case of these kinds")
		}
		for id := range known {
			t.Errorf("%s is not in the collection", id)
		}
	})
}

func readFaults(t *testing.T, path string) (out []fault) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(fmt.Errorf("read %s: %w", path, err))
	}
	return out
}
