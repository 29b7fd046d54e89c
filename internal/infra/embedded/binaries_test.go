package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestParseVersion(t *testing.T) {
	for out, want := range map[string]Binaries{
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n": {Version: "15.18", Major: 15},
		"postgres (PostgreSQL) 18.4\n":                           {Version: "18.4", Major: 18},
		"postgres (PostgreSQL) 19beta1\n":                        {Version: "19beta1", Major: 19},
	} {
		if got, err := parseVersion("", out); err != nil || got != want {
			t.Errorf("%q is %+v, %v; want %+v", out, got, err, want)
		}
	}
	for _, out := range []string{"", "postgres", "postgres (PostgreSQL) ", "mysqld 8.0"} {
		if got, err := parseVersion("", out); err == nil {
			t.Errorf("%q is taken for %+v", out, got)
		}
	}
}

// programs makes a directory with a postgres that prints a version.
func programs(t *testing.T, version string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "bin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"postgres", "initdb"} {
		script := "#!/bin/sh\necho '" + name + " (PostgreSQL) " + version + "'\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTheNamedDirectoryIsTheOnlyOneLookedAt(t *testing.T) {
	for _, tc := range []struct {
		name, dir string
		major     int
		want      error
	}{
		{"usable", programs(t, "16.3"), 0, nil},
		{"of the data's version", programs(t, "16.3"), 16, nil},
		{"of another version than the data", programs(t, "16.3"), 17, ErrWrongMajor},
		{"too old", programs(t, "14.9"), 0, ErrNoBinaries},
		{"empty", t.TempDir(), 0, ErrNoBinaries},
		{"missing", filepath.Join(t.TempDir(), "none"), 0, ErrNoBinaries},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv(BinDirEnv, tc.dir)
			b, err := FindBinaries(within(t, time.Minute), tc.major)
			if !errors.Is(err, tc.want) || (err == nil && b.Dir != tc.dir) {
				t.Fatalf("found %+v, %v; want %v", b, err, tc.want)
			}
			var se *StartError
			if err != nil && (!errors.As(err, &se) || !strings.Contains(err.Error(), "apt-get install postgresql")) {
				t.Fatalf("%v does not say what to try", err)
			}
		})
	}
}

func TestHigherVersionsAreLookedAtFirst(t *testing.T) {
	for path, want := range map[string]int{
		"/usr/lib/postgresql/15/bin": 15, "/usr/pgsql-17/bin": 17, "/opt/homebrew/opt/postgresql@16/bin": 16, "/usr/bin": 0,
	} {
		if got := versionIn(path); got != want {
			t.Errorf("versionIn(%s) = %d, want %d", path, got, want)
		}
	}
}

func TestThePackagesLibraryLinksAreMade(t *testing.T) {
	root := filepath.Join(t.TempDir(), "native")
	if err := os.MkdirAll(filepath.Join(root, "lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("lib/libx.so.1.2", "code")
	write("pg-symlinks.json", `[{"source":"native/lib/libx.so.1.2","target":"native/lib/libx.so.1"}]`)
	for range 2 { // the second start finds them made
		if err := linkLibraries(root); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(root, "lib/libx.so.1")); err != nil || string(b) != "code" {
		t.Fatalf("through the link: %q, %v", b, err)
	}
	write("pg-symlinks.json", `[{"source":"native/lib/libx.so.1.2","target":"../../outside"}]`)
	if err := linkLibraries(root); err == nil {
		t.Fatal("a link outside the package was made")
	}
}

// The npm package is the fallback for machines without Postgres; this runs
// where `npm ci --ignore-scripts --prefix tools/pg` has been.
func TestThePackageFromNPMWorks(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	var dir string
	for _, d := range npmDirs([]string{root}) {
		if _, err := os.Stat(d); err == nil {
			dir = d
		}
	}
	if dir == "" && os.Getenv("DOGWATCH_CI") == "true" {
		t.Fatal("tools/pg is not installed")
	} else if dir == "" {
		t.Skip("tools/pg is not installed (npm ci --ignore-scripts --prefix tools/pg)")
	}
	t.Setenv(BinDirEnv, dir)
	p, err := StartPostgres(within(t, time.Minute), filepath.Join(openBase(t), "pg"), quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, p)
	var version, folded string
	query(t, p.URL(), "select current_setting('server_version'), lower('Ä')", &version, &folded)
	if !strings.HasPrefix(version, "18.") || folded != "ä" {
		t.Fatalf("version %s folds Ä to %s", version, folded)
	}
}
