package budget

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

func TestParseUSD(t *testing.T) {
	for _, c := range []struct {
		in   string
		want USD
	}{
		{"0", 0},
		{"1", Dollar},
		{" 0.15 ", 150_000_000},
		{"-2.5", -2_500_000_000},
		{"+1", Dollar},
		{".5", 500_000_000},
		{"0.000000001", 1},
		{"0.0000000004", 0},   // below half of a billionth
		{"0.0000000005", 1},   // half is rounded away from zero
		{"-0.0000000005", -1}, //
		{"1.9999999999", 2e9}, // the carry reaches the dollar
		{"9223372036.854775807", math.MaxInt64},
	} {
		got, err := ParseUSD(c.in)
		if err != nil || got != c.want {
			t.Errorf("ParseUSD(%q) = %d, %v; want %d", c.in, got, err, c.want)
		}
	}
}

func TestParseUSDRefuses(t *testing.T) {
	for _, in := range []string{
		"", " ", "abc", "1/3", "1e3", "0x10", "0b1", "0o7", "1_000", "1,5", "$1", "NaN", "Inf", "1.2.3", "--1", "1-",
		"9223372036.854775808", strings.Repeat("9", 100_000),
	} {
		if got, err := ParseUSD(in); err == nil {
			t.Errorf("ParseUSD(%.20q) = %d, want an error", in, got)
		}
	}
}

func TestUSDSurvivesEveryTextForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := USD(rapid.Int64().Draw(t, "u"))
		if got, err := ParseUSD(u.String()); err != nil || got != u {
			t.Fatalf("ParseUSD(%q) = %d, %v; want %d", u.String(), got, err, u)
		}
		b, err := json.Marshal(struct{ V *USD }{&u})
		if err != nil {
			t.Fatal(err)
		}
		var j struct{ V *USD }
		if err := json.Unmarshal(b, &j); err != nil || *j.V != u {
			t.Fatalf("JSON %s: %v", b, err)
		}
		v, _ := u.Value()
		var s USD
		if err := s.Scan(v); err != nil || s != u {
			t.Fatalf("Scan(%v) = %d, %v", v, s, err)
		}
	})
}

func TestUSDReadsJSONAndYAML(t *testing.T) {
	for in, want := range map[string]USD{`1e-7`: 100, `2.5E0`: 2_500_000_000, `0.15`: 150_000_000, `null`: 7} {
		u := USD(7)
		if err := json.Unmarshal([]byte(in), &u); err != nil || u != want {
			t.Errorf("JSON %s = %d, %v; want %d", in, u, err, want)
		}
	}
	for _, in := range []string{`"1"`, `{}`, `1e400`, `true`} {
		var u USD
		if err := json.Unmarshal([]byte(in), &u); err == nil {
			t.Errorf("JSON %s was read as %d", in, u)
		}
	}
	var y struct{ A, B *USD }
	if err := yaml.Unmarshal([]byte("a: 0.075"), &y); err != nil || *y.A != 75_000_000 || y.B != nil {
		t.Errorf("YAML: %+v, %v", y, err)
	}
	for _, v := range []any{nil, true} {
		if err := new(USD).Scan(v); err == nil {
			t.Errorf("Scan(%v) was accepted", v)
		}
	}
}
