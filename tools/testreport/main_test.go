package main

import (
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	const stream = `{"Action":"run","Package":"github.com/dogwatch/dogwatch/a","Test":"TestA"}
{"Action":"output","Package":"github.com/dogwatch/dogwatch/a","Test":"TestA","Output":"noise\n"}
{"Action":"pass","Package":"github.com/dogwatch/dogwatch/a","Test":"TestA","Elapsed":0.1}
{"Action":"output","Package":"github.com/dogwatch/dogwatch/a","Test":"TestB","Output":"    b_test.go:12: needs Chromium\n"}
{"Action":"output","Package":"github.com/dogwatch/dogwatch/a","Test":"TestB","Output":"--- SKIP: TestB (0.00s)\n"}
{"Action":"skip","Package":"github.com/dogwatch/dogwatch/a","Test":"TestB"}
{"Action":"pass","Package":"github.com/dogwatch/dogwatch/a","Elapsed":1.5}
{"Action":"output","Package":"github.com/dogwatch/dogwatch/b","Test":"TestC","Output":"    c_test.go:1: got 1, want 2\n"}
{"Action":"fail","Package":"github.com/dogwatch/dogwatch/b","Test":"TestC"}
{"Action":"fail","Package":"github.com/dogwatch/dogwatch/b","Elapsed":0.2}
{"Action":"skip","Package":"github.com/dogwatch/dogwatch/c"}
not json
`
	var out strings.Builder
	r := report{out: &out, inPackage: map[string]int{}, output: map[string][]string{}}
	r.read(strings.NewReader(stream))
	r.sum()
	for _, want := range []string{
		"ok    a ", "1 passed\n", "FAIL  b TestC\n    c_test.go:1: got 1, want 2", "skip  a TestB: needs Chromium\n",
		"failed: b\n", "not json\n", "Go tests: 1 passed, 1 failed, 1 skipped\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "noise") {
		t.Errorf("output of a passed test is shown:\n%s", out.String())
	}
}
