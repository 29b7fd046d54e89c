package id

import (
	"testing"
	"time"
)

func TestNewIsValidAndAscends(t *testing.T) {
	before := ""
	for range 10_000 {
		s := New()
		if !Valid(s) || s[14] != '7' || s[19] < '8' || s[19] > 'b' {
			t.Fatalf("%s is not a UUIDv7", s)
		}
		if s <= before {
			t.Fatalf("%s does not follow %s", s, before)
		}
		before = s
	}
}

func TestNewHoldsTheTime(t *testing.T) {
	want := time.Now().UnixMilli()
	s := New()
	var got int64
	for _, c := range s[:8] + s[9:13] {
		d := int64(c - '0')
		if c >= 'a' {
			d = int64(c-'a') + 10
		}
		got = got<<4 | d
	}
	if got < want || got > want+10_000 {
		t.Errorf("time in %s is %d, want about %d", s, got, want)
	}
}

func TestValid(t *testing.T) {
	for s, want := range map[string]bool{
		"":                                     false,
		"T-12":                                 false,
		"0190163d-8694-739b-aea5-966c26f8ad91": true,
		"0190163D-8694-739B-AEA5-966C26F8AD91": true,
		"0190163d-8694-739b-aea5-966c26f8ad9":  false,
		"0190163d-8694-739b-aea5-966c26f8ad9g": false,
		"0190163d086940739b0aea50966c26f8ad91": false,
	} {
		if Valid(s) != want {
			t.Errorf("Valid(%q) = %v", s, !want)
		}
	}
}

func TestSecretsDiffer(t *testing.T) {
	if a, b := Secret(32), Secret(32); a == b || len(a) != 43 {
		t.Errorf("%q, %q", a, b)
	}
}
