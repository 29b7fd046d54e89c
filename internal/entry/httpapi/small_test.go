package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/access"
)

func TestAnOperationWithoutARoleCannotBeRegistered(t *testing.T) {
	for _, r := range []route{
		{method: "GET", path: "/x", name: "x", noun: "x"},
		{method: "GET", path: "/x", name: "x", noun: "x", role: "everybody"},
		{method: "GET", path: "/x", name: "x", role: access.Admin},
		{method: "GET", path: "/x", noun: "x", role: access.Admin},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v was registered", r)
				}
			}()
			add(New(Deps{}), r, func(context.Context, *struct{}) (*struct{}, error) { return nil, nil })
		}()
	}
}

// The examples of RFC 7396, appendix A, as far as both sides are objects.
func TestMergePatch(t *testing.T) {
	for _, c := range [][3]string{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{`{"a":0.1}`, `{"b":12345678901234567890.000000001}`, `{"a":0.1,"b":12345678901234567890.000000001}`},
	} {
		var v, want map[string]json.RawMessage
		if err := errors.Join(json.Unmarshal([]byte(c[0]), &v), json.Unmarshal([]byte(c[2]), &want)); err != nil {
			t.Fatal(err)
		}
		if err := mergeInto(&v, json.RawMessage(c[1])); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(v, want) {
			t.Errorf("%s with %s is %s, want %s", c[0], c[1], v, c[2])
		}
	}
}

func TestAVersionIsReadFromItsTag(t *testing.T) {
	seven, none := int64(7), int64(-1)
	for tag, want := range map[string]*int64{
		"": &seven, "*": nil, `"3"`: ptr(3), `W/"3"`: ptr(3), ` "3" `: ptr(3), "3": &none, `"x"`: &none, `"3", "4"`: &none, `"`: &none,
	} {
		got := expected(tag, &seven)
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%q: %v, want %v", tag, got, want)
		}
	}
}

func ptr(n int64) *int64 { return &n }

func TestTriesComeBackWithTime(t *testing.T) {
	now := time.Unix(0, 0)
	th := newThrottle(2, 10*time.Second)
	th.now = func() time.Time { return now }
	take := func(want bool) {
		t.Helper()
		err := th.take("account", "network")
		if (err == nil) != want {
			t.Errorf("taken: %v, want %v", err == nil, want)
		}
		var l limited
		if err != nil && (!errors.As(err, &l) || l.after <= 0 || l.after > 10*time.Second || errs.KindOf(err) != errs.RateLimited) {
			t.Errorf("refused with %v", err)
		}
	}
	take(true)
	take(true)
	take(false)
	now = now.Add(9 * time.Second)
	take(false) // a refusal costs nothing
	now = now.Add(time.Second)
	take(true)
	take(false)
	th.succeed("account")
	if err := th.take("account"); err != nil {
		t.Error("success does not give the tries back")
	}
	take(false) // the network has none
}

func TestAFloodOfNamesDoesNotFillTheMemory(t *testing.T) {
	th := newThrottle(2, time.Hour)
	for i := range 3 * maxBuckets {
		_ = th.take(strings.Repeat("x", i%7) + time.Duration(i).String())
	}
	if n := len(th.buckets); n > maxBuckets+1 {
		t.Errorf("%d are kept", n)
	}
}

func TestANetworkStandsForItsAddresses(t *testing.T) {
	for a, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "::ffff:192.0.2.1": "::ffff:192.0.2.1", "": "",
	} {
		if got := network(a); got != want {
			t.Errorf("%q is of %q, want %q", a, got, want)
		}
	}
}

func TestTypesOfFiles(t *testing.T) {
	for _, c := range []struct {
		name, head, want string
		taken            bool
	}{
		{"notes.md", "# hi", "text/markdown", true},
		{"data.json", `{"a":1}`, "application/json", true},
		{"data", `{"a":1}`, "text/plain", true},
		{"app.log", "x", "text/plain", true},
		{"x.pdf", "%PDF-1.7", "application/pdf", true},
		{"x.png", "\x89PNG\r\n\x1a\n", "image/png", true},
		{"x.docx", "PK\x03\x04", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", true},
		{"x.zip", "PK\x03\x04", "application/zip", true},
		{"x.json", "PK\x03\x04", "application/zip", true},            // the content tells
		{"x.pdf", "plain text", "text/plain", true},                  // and not the name
		{"x.docx", "plain text", "text/plain", true},                 //
		{"x.csv", "\x00\x01\x02", "application/octet-stream", false}, // no text under the name of one
		{"x.exe", "MZ\x90\x00\x03", "application/octet-stream", false},
		{"x.svg", "<?xml version=\"1.0\"?><svg/>", "text/xml", true},
	} {
		got, limit := typeOfFile(c.name, []byte(c.head))
		if got != c.want || (limit > 0) != c.taken {
			t.Errorf("%s with %q is %s, taken %v", c.name, c.head, got, limit > 0)
		}
	}
}

func FuzzFileName(f *testing.F) {
	for _, s := range []string{"", "a.txt", "../../x", `C:\x\y.doc`, "a\x00b", ".", "/", strings.Repeat("é", 400)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name, err := fileName(s)
		if err != nil {
			return
		}
		if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00\n\r") || len([]rune(name)) > 255 {
			t.Errorf("%q became %q", s, name)
		}
	})
}

// A full disk is nobody's mistake, and passes.
func TestAnErrorOfTheDiskIsNoFaultOfOurs(t *testing.T) {
	s := &Server{Deps: Deps{Log: slog.New(slog.DiscardHandler)}, log: slog.New(slog.DiscardHandler)}
	for _, cause := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, &pgconn.PgError{Code: "58P01"}, &pgconn.PgError{Code: "53100"}} {
		if p := s.problemOf(t.Context(), fmt.Errorf("keep a file: %w", cause)); p.Status != 503 {
			t.Errorf("%v is answered with %d", cause, p.Status)
		}
	}
}
