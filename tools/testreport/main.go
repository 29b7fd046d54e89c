// Command testreport runs `go test` with the arguments it is given and says what
// happened in few lines: a line per package, the output of what failed, what was
// skipped and why, and the sums.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// event is a line of `go test -json`, see `go doc test2json`.
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64
}

type report struct {
	out                     io.Writer
	passed, failed, skipped int
	inPackage               map[string]int // passed tests
	output                  map[string][]string
	skips                   []string
	broken                  []string // packages that failed
}

func main() {
	cmd := exec.Command("go", append([]string{"test", "-json"}, os.Args[1:]...)...) //nolint:noctx // Ctrl-C reaches it as well as us
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(2)
	}
	r := report{out: os.Stdout, inPackage: map[string]int{}, output: map[string][]string{}}
	r.read(stdout)
	err = cmd.Wait()
	r.sum()
	if err != nil || r.failed > 0 || len(r.broken) > 0 {
		os.Exit(1)
	}
}

func (r *report) read(lines io.Reader) {
	s := bufio.NewScanner(lines)
	s.Buffer(make([]byte, 64<<10), 16<<20)
	for s.Scan() {
		var e event
		if json.Unmarshal(s.Bytes(), &e) != nil {
			fmt.Fprintln(r.out, s.Text())
			continue
		}
		r.take(e)
	}
}

func (r *report) take(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		r.output[key] = append(r.output[key], e.Output)
	case "pass":
		if e.Test == "" {
			fmt.Fprintf(r.out, "ok    %-58s %7.1fs  %d passed\n", short(e.Package), e.Elapsed, r.inPackage[e.Package])
			break
		}
		r.passed++
		r.inPackage[e.Package]++
		delete(r.output, key)
	case "skip":
		if e.Test == "" {
			break // a package without tests
		}
		r.skipped++
		r.skips = append(r.skips, fmt.Sprintf("%s %s: %s", short(e.Package), e.Test, why(r.output[key])))
	case "fail":
		if e.Test != "" {
			r.failed++
			fmt.Fprintf(r.out, "FAIL  %s %s\n%s", short(e.Package), e.Test, strings.Join(r.output[key], ""))
			break
		}
		r.broken = append(r.broken, short(e.Package))
		fmt.Fprintf(r.out, "FAIL  %-58s %7.1fs\n%s", short(e.Package), e.Elapsed, strings.Join(r.output[key], ""))
	}
}

// why takes the reason out of the output of a skipped test: the line that says
// where it was skipped.
func why(output []string) string {
	for _, line := range slices.Backward(output) {
		line = strings.TrimSpace(line)
		if at, reason, ok := strings.Cut(line, ".go:"); ok && !strings.Contains(at, " ") {
			if _, reason, ok = strings.Cut(reason, ": "); ok {
				return reason
			}
		}
	}
	return "no reason given"
}

func short(pkg string) string {
	return strings.TrimPrefix(pkg, "github.com/dogwatch/dogwatch/")
}

func (r *report) sum() {
	slices.Sort(r.skips)
	for _, s := range r.skips {
		fmt.Fprintln(r.out, "skip ", s)
	}
	for _, p := range r.broken {
		fmt.Fprintln(r.out, "failed:", p)
	}
	fmt.Fprintf(r.out, "Go tests: %d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
}
