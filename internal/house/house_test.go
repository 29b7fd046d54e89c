// Package house holds the test of the floors: where a package lives says what
// it may know. ARCHITECTURE.md has the picture and the reasons.
package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/dogwatch/dogwatch/"

// floors, from the ground up. A package knows its own floor and those below.
var floors = []string{"base", "domain", "infra", "flow", "entry", "app"}

// rooms outside internal/<floor>/ and the floor they stand on. Embedded files
// are at the bottom, because whoever is above may need them.
var rooms = map[string]string{
	"config":          "base",
	"migrations":      "base",
	"web":             "base",
	"examples":        "base",
	"internal/app":    "app",
	"internal/config": "app",
	"internal/cli":    "app",
}

// sealed floors are those whose rooms do not know each other: flows talk by
// posting jobs, infrastructure by values of the domain, entries not at all.
var sealed = []string{"infra", "flow", "entry"}

// The domain decides; it does not wait, look around or ask for the time.
var (
	impureLibrary = []string{"context", "sync", "os", "net", "log", "database", "io/ioutil", "time/tzdata", "testing", "unsafe", "syscall", "math/rand"}
	pureException = map[string]string{
		"database/sql/driver": "names the interface of a value that is stored exactly; opens nothing",
		"net/url":             "parses",
	}
	pureModules = []string{
		"github.com/robfig/cron/v3",
		"github.com/santhosh-tekuri/jsonschema/v6",
		"go.yaml.in/yaml/v3",
	}
	// Of these the first three read it; the others wait.
	clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
)

// What is decided and written by the rows of the database is by its clock: a host's may
// be wrong. Flows and the store read the host's nowhere else but here, and why.
var hostClock = map[string]string{
	"internal/flow/steer/bulk.go":   "a stopwatch, which no wrong clock stops: how long an order is carried out in one request",
	"internal/infra/store/store.go": "gorm's own time, for columns that are left empty; none is, and internal/chaos looks",
}

// Names that say where code was put, and not what it is.
var sayNothing = []string{"util", "utils", "common", "helper", "helpers", "manager", "service", "services", "types", "models", "misc", "shared"}

func TestFloors(t *testing.T) {
	root := filepath.Join("..", "..")
	files, edges := 0, 0
	excused := map[string]bool{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			hidden := rel != "." && strings.HasPrefix(d.Name(), ".")
			if hidden || d.Name() == "node_modules" || d.Name() == "testdata" || rel == "data" || rel == "bin" {
				return filepath.SkipDir
			}
			if slices.Contains(sayNothing, d.Name()) && strings.HasPrefix(rel, "internal/") {
				t.Errorf("%s: the name says nothing; which concept is it?", rel)
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files++
		self, test := path.Dir(rel), strings.HasSuffix(rel, "_test.go")
		if why := homeless(self); why != "" {
			t.Errorf("%s: %s", rel, why)
		}
		for _, imp := range f.Imports {
			edges++
			target, _ := strconv.Unquote(imp.Path.Value)
			if why := forbidden(self, target, test); why != "" {
				t.Errorf("%s imports %s: %s", rel, target, why)
			}
		}
		if name, _ := floor(self); name == "domain" && !test {
			for _, call := range clockCalls(f) {
				t.Errorf("%s uses time.%s: the domain is told the time", rel, call)
			}
		}
		if !test && (within(self, "internal/flow") || self == "internal/infra/store") {
			for _, call := range clockCalls(f) {
				if excused[rel] = hostClock[rel] != ""; !excused[rel] && slices.Contains(clock[:3], call) {
					t.Errorf("%s uses time.%s: the clock is the database's", rel, call)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for rel := range hostClock {
		if !excused[rel] {
			t.Errorf("%s reads no clock and needs no excuse", rel)
		}
	}
	// A walk that found nothing would prove nothing.
	if files < 30 || edges < 100 {
		t.Errorf("only %d files with %d imports were seen", files, edges)
	}
}

// floor returns the name and the height of a package's floor, -1 for none.
func floor(pkg string) (name string, height int) {
	for dir := pkg; dir != "."; dir = path.Dir(dir) {
		if f, ok := rooms[dir]; ok {
			return f, slices.Index(floors, f)
		}
	}
	rest, ok := strings.CutPrefix(pkg, "internal/")
	if name, room, below := strings.Cut(rest, "/"); ok && below && room != "" && name != "app" {
		if i := slices.Index(floors, name); i >= 0 {
			return name, i
		}
	}
	return "", -1
}

// room returns the part of a package's path that is its room: infra/llm for
// infra/llm/offline.
func room(pkg string) string {
	parts := strings.SplitN(strings.TrimPrefix(pkg, "internal/"), "/", 3)
	return strings.Join(parts[:min(2, len(parts))], "/")
}

func isTestkit(pkg string) bool {
	return pkg == "internal/testkit" || strings.HasPrefix(pkg, "internal/testkit/")
}

// homeless says why a package of internal/ has no place in the house.
func homeless(pkg string) string {
	if _, height := floor(pkg); height >= 0 || isTestkit(pkg) || pkg == "internal/house" || pkg == "internal/chaos" || !strings.HasPrefix(pkg, "internal/") {
		return ""
	}
	return "a room stands on one of the floors " + strings.Join(floors, ", ")
}

// forbidden says why a file of package self may not import target, "" when it
// may. Tests may import what they need to set a scene.
func forbidden(self, target string, test bool) string {
	name, from := floor(self)
	pkg, ours := strings.CutPrefix(target, module)
	switch {
	case test || isTestkit(self):
		return ""
	case ours && isTestkit(pkg):
		return "only tests import the test kit"
	case from < 0:
		return ""
	case !ours:
		return impure(name, target)
	}
	_, to := floor(pkg)
	switch {
	case to < 0:
		return "it stands on no floor"
	case to > from:
		return "that is a floor above"
	case name == "domain" && !strings.HasPrefix(pkg, "internal/"):
		return "the domain is given what it needs"
	case to == from && slices.Contains(sealed, name) && room(self) != room(pkg):
		return "rooms of this floor do not know each other"
	}
	return ""
}

// impure says why a package that is not ours is too much for a floor.
func impure(floor, target string) string {
	module := strings.Contains(strings.SplitN(target, "/", 2)[0], ".")
	switch {
	case floor == "base" && module:
		return "base stands on the standard library alone"
	case floor != "domain":
		return ""
	case module && !slices.ContainsFunc(pureModules, func(m string) bool { return within(target, m) }):
		return "not on the short list of pure libraries"
	case pureException[target] != "":
		return ""
	case slices.ContainsFunc(impureLibrary, func(p string) bool { return within(target, p) }):
		return "the domain decides; it does not wait or look around"
	}
	return ""
}

func within(target, parent string) bool {
	return target == parent || strings.HasPrefix(target, parent+"/")
}

// clockCalls lists what a file uses of package time that reads or waits for
// the clock.
func clockCalls(f *ast.File) []string {
	local := ""
	for _, imp := range f.Imports {
		if imp.Path.Value == `"time"` {
			local = "time"
			if imp.Name != nil {
				local = imp.Name.Name
			}
		}
	}
	var found []string
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == local && slices.Contains(clock, s.Sel.Name) {
				found = append(found, s.Sel.Name)
			}
		}
		return true
	})
	return found
}

func TestForbidden(t *testing.T) {
	for _, tt := range []struct {
		self, target string
		test, ok     bool
	}{
		{self: "internal/domain/task", target: "time", ok: true},
		{self: "internal/domain/task", target: "encoding/json", ok: true},
		{self: "internal/domain/task", target: module + "internal/domain/topic", ok: true},
		{self: "internal/domain/task", target: module + "internal/base/errs", ok: true},
		{self: "internal/domain/schedule", target: "github.com/robfig/cron/v3", ok: true},
		{self: "internal/domain/task", target: "gorm.io/gorm"},
		{self: "internal/domain/task", target: "context"},
		{self: "internal/domain/task", target: "net/http"},
		{self: "internal/domain/task", target: "log/slog"},
		{self: "internal/domain/task", target: "sync/atomic"},
		{self: "internal/domain/task", target: "database/sql"},
		{self: "internal/domain/task", target: module + "config"},
		{self: "internal/domain/task", target: module + "internal/infra/store"},
		{self: "internal/domain/task", target: "os", test: true, ok: true},
		{self: "internal/base/id", target: "sync", ok: true},
		{self: "internal/base/id", target: "github.com/google/uuid"},
		{self: "internal/base/id", target: module + "internal/domain/task"},
		{self: "internal/infra/llm", target: module + "internal/infra/llm/offline", ok: true},
		{self: "internal/infra/llm/offline", target: module + "internal/infra/llm", ok: true},
		{self: "internal/infra/llm", target: module + "config", ok: true},
		{self: "internal/infra/queue", target: module + "internal/infra/store"},
		{self: "internal/infra/store", target: module + "migrations", ok: true},
		{self: "internal/infra/store", target: module + "internal/flow/settle"},
		{self: "internal/infra/queue", target: module + "internal/infra/store", test: true, ok: true},
		{self: "internal/flow/settle", target: module + "internal/infra/store", ok: true},
		{self: "internal/flow/settle", target: module + "internal/flow/launch"},
		{self: "internal/entry/httpapi", target: module + "internal/flow/steer", ok: true},
		{self: "internal/entry/httpapi", target: module + "internal/entry/worker"},
		{self: "internal/entry/httpapi", target: module + "internal/app"},
		{self: "internal/app", target: module + "internal/entry/httpapi", ok: true},
		{self: "internal/app", target: module + "internal/config", ok: true},
		{self: "internal/app", target: module + "internal/testkit/pgtest"},
		{self: "internal/app", target: module + "internal/testkit/pgtest", test: true, ok: true},
		{self: "internal/testkit/pgtest", target: module + "internal/infra/embedded", ok: true},
		{self: "cmd/dogwatch", target: module + "internal/cli", ok: true},
		{self: "cmd/dogwatch", target: module + "internal/testkit/pgtest"},
		{self: "internal/app", target: module + "internal/new"},
	} {
		name := fmt.Sprintf("%s -> %s", tt.self, strings.TrimPrefix(tt.target, module))
		if why := forbidden(tt.self, tt.target, tt.test); (why == "") != tt.ok {
			t.Errorf("%s: got %q, want ok = %v", name, why, tt.ok)
		}
	}
}

func TestClockCalls(t *testing.T) {
	const src = `package p
import clock "time"
var at = clock.Now()
var d = clock.Since(at)
var fine clock.Duration = clock.Minute
func f(time struct{ Now func() }) { time.Now() }`
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := clockCalls(f); !slices.Equal(got, []string{"Now", "Since"}) {
		t.Errorf("got %v", got)
	}
}

func TestHomeless(t *testing.T) {
	for pkg, ok := range map[string]bool{
		"internal/domain/task":    true,
		"internal/cli/client":     true,
		"internal/testkit/pgtest": true,
		"internal/house":          true,
		"cmd/dogwatch":            true,
		"internal/domain":         false,
		"internal/things":         false,
	} {
		if why := homeless(pkg); (why == "") != ok {
			t.Errorf("%s: %q", pkg, why)
		}
	}
}
