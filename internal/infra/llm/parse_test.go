package llm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dogwatch/dogwatch/internal/domain/turn"
)

func readEvents(r io.Reader) (events []string, err error) {
	s := newSSEReader(bufio.NewReader(r))
	for {
		ev, err := s.next()
		if err != nil {
			return events, err
		}
		text := string(ev.data)
		if ev.name != "" {
			text = ev.name + "=" + text
		}
		if ev.torn {
			text += "(torn)"
		}
		events = append(events, text)
	}
}

func TestSSE(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"plain", "data: a\n\ndata: b\n\n", []string{"a", "b"}},
		{"no space", "data:a\n\n", []string{"a"}},
		{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"a", "b"}},
		{"CR", "data: a\r\rdata: b\r\r", []string{"a", "b"}},
		{"several lines", "data: a\ndata: b\n\n", []string{"a\nb"}},
		{"name, id, retry", "event: ping\nid: 7\nretry: 5\ndata: {}\n\n", []string{"ping={}"}},
		{"comments", ": keep-alive\n\n: x\ndata: a\n: y\n\n", []string{"a"}},
		{"an event without data is none", "event: ping\n\ndata: a\n\n", []string{"a"}},
		{"empty data", "data:\n\ndata\n\n", []string{"", ""}},
		{"blank lines", "\n\n\ndata: a\n\n\n\n", []string{"a"}},
		{"byte order mark", "\xef\xbb\xbfdata: a\n\n", []string{"a"}},
		{"ends without a blank line", "data: a\n\ndata: b\n", []string{"a", "b(torn)"}},
		{"ends within a line", "data: a\n\ndata: {\"x", []string{"a", "{\"x(torn)"}},
		{"bare JSON", "data: a\n\n{\"error\":1}\n\ndata: b\n\n", []string{"a", "{\"error\":1}", "b"}},
		{"unknown field", "datum: a\n\ndata: b\n\n", []string{"b"}},
		{"nothing", "", nil},
	} {
		for name, r := range map[string]io.Reader{"at once": strings.NewReader(c.in), "byte by byte": iotest.OneByteReader(strings.NewReader(c.in))} {
			got, err := readEvents(r)
			if !errors.Is(err, io.EOF) || cmp.Diff(c.want, got) != "" {
				t.Errorf("%s, %s: %q, %v; want %q", c.name, name, got, err, c.want)
			}
		}
	}
	if _, err := readEvents(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("data: a\n\n")))); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("a broken line reads as %v", err)
	}
	long := "data: " + strings.Repeat("x", maxEvent/2) + "\n"
	if _, err := readEvents(strings.NewReader(long + long + long)); !errors.Is(err, errEventTooLarge) {
		t.Errorf("an endless event reads as %v", err)
	}
}

func FuzzSSE(f *testing.F) {
	f.Add([]byte("event: a\r\ndata: {\"x\":1}\r\n\r\n: c\n\ndata: [DONE]\n\n"))
	f.Add([]byte("{\"error\":\"x\"}\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, err := readEvents(bytes.NewReader(in))
		if !errors.Is(err, io.EOF) {
			t.Fatalf("%v", err)
		}
		parts, _ := readEvents(iotest.OneByteReader(bytes.NewReader(in)))
		if d := cmp.Diff(whole, parts); d != "" {
			t.Fatalf("depends on how it arrives: %s", d)
		}
	})
}

func assemble(t *testing.T, deltas string) []turn.ToolCall {
	t.Helper()
	var ds []callDelta
	if err := json.Unmarshal([]byte(deltas), &ds); err != nil {
		t.Fatal(err)
	}
	var a assembler
	for _, d := range ds {
		if err := a.add(d); err != nil {
			t.Fatal(err)
		}
	}
	return a.done()
}

func TestToolCallPieces(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []turn.ToolCall // an empty id stands for one that we made
	}{
		{"OpenAI: the id comes once", `[
			{"index":0,"id":"a","function":{"name":"f","arguments":""}},{"index":0,"function":{"arguments":"{\"x\""}},
			{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}},{"index":0,"function":{"arguments":":1}"}}]`,
			[]turn.ToolCall{{ID: "a", Name: "f", Arguments: `{"x":1}`}, {ID: "b", Name: "g", Arguments: `{}`}}},
		{"id and name in every piece", `[
			{"index":0,"id":"a","function":{"name":"f","arguments":"{"}},{"index":0,"id":"a","function":{"name":"f","arguments":"}"}}]`,
			[]turn.ToolCall{{ID: "a", Name: "f", Arguments: `{}`}}},
		{"Ollama: every call has index 0", `[
			{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":0,"id":"b","function":{"name":"f","arguments":"{}"}}]`,
			[]turn.ToolCall{{ID: "a", Name: "f", Arguments: `{}`}, {ID: "b", Name: "f", Arguments: `{}`}}},
		{"neither index nor id", `[{"function":{"name":"f","arguments":"{}"}},{"function":{"name":"g","arguments":{"x":[1, 2]}}}]`,
			[]turn.ToolCall{{Name: "f", Arguments: `{}`}, {Name: "g", Arguments: `{"x":[1,2]}`}}},
		{"no index, arguments follow", `[{"id":"a","function":{"name":"f"}},{"function":{"arguments":"{\"x\""}},{"function":{"arguments":":1}"}}]`,
			[]turn.ToolCall{{ID: "a", Name: "f", Arguments: `{"x":1}`}}},
		{"no index, by id", `[{"id":"a","function":{"name":"f"}},{"id":"b","function":{"name":"g","arguments":"2"}},{"id":"a","function":{"arguments":"1"}}]`,
			[]turn.ToolCall{{ID: "a", Name: "f", Arguments: `1`}, {ID: "b", Name: "g", Arguments: `2`}}},
		{"indexes that begin at 1", `[{"index":1,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":2,"id":"b","function":{"name":"g"}}]`,
			[]turn.ToolCall{{ID: "a", Name: "f", Arguments: `{}`}, {ID: "b", Name: "g", Arguments: `{}`}}},
		{"no arguments at all", `[{"index":0,"id":"a","function":{"name":"f","arguments":null}}]`,
			[]turn.ToolCall{{ID: "a", Name: "f", Arguments: `{}`}}},
		{"a name in pieces", `[{"index":0,"id":"a","function":{"name":"read_"}},{"index":0,"function":{"name":"document"}}]`,
			[]turn.ToolCall{{ID: "a", Name: "read_document", Arguments: `{}`}}},
		{"arguments of nothing", `[{"function":{"arguments":"{}"}}]`, []turn.ToolCall{{Arguments: `{}`}}},
	} {
		got := assemble(t, c.in)
		for i := range got {
			if i < len(c.want) && c.want[i].ID == "" && got[i].ID != "" {
				got[i].ID = ""
			}
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

func TestToolCallIDsAreDistinct(t *testing.T) {
	seen := map[string]bool{}
	for range 2 { // also across two answers of one conversation
		for _, c := range assemble(t, `[{"index":0,"function":{"name":"f"}},{"index":1,"function":{"name":"g"}}]`) {
			if c.ID == "" || seen[c.ID] {
				t.Errorf("id %q", c.ID)
			}
			seen[c.ID] = true
		}
	}
	var twice assembler
	for range 2 {
		if err := twice.begin(turn.ToolCall{ID: "a"}); err != nil {
			t.Fatal(err)
		}
	}
	got := twice.done()
	if got[0].ID == got[1].ID {
		t.Errorf("two calls with the id %q", got[0].ID)
	}
}

// However a server cuts the arguments, they come out whole.
func TestToolCallsSurviveAnyCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := map[string]string{}
		var a assembler
		var queues [][]callDelta
		for i := range rapid.IntRange(1, 5).Draw(t, "calls") {
			args := rapid.String().Draw(t, "args") + "x"
			id := "id" + string(rune('a'+i))
			want[id] = args
			first := callDelta{Index: &i, ID: id}
			first.Function.Name = "tool"
			q := []callDelta{first}
			for len(args) > 0 {
				n := rapid.IntRange(1, len(args)).Draw(t, "cut")
				d := callDelta{Index: &i}
				d.Function.Arguments.text, args = args[:n], args[n:]
				q = append(q, d)
			}
			queues = append(queues, q)
		}
		for len(queues) > 0 { // interleaved in any way
			i := rapid.IntRange(0, len(queues)-1).Draw(t, "next")
			if err := a.add(queues[i][0]); err != nil {
				t.Fatal(err)
			}
			if queues[i] = queues[i][1:]; len(queues[i]) == 0 {
				queues = append(queues[:i], queues[i+1:]...)
			}
		}
		got := map[string]string{}
		for _, c := range a.done() {
			got[c.ID] = c.Arguments
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
	})
}

func FuzzChatStream(f *testing.F) {
	f.Add([]byte(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}}]}`))
	f.Add([]byte(`{"error":{"message":"x","code":429}}`))
	f.Add([]byte(`{"choices":[{"delta":{"content":[{"text":"a"}]},"finish_reason":null}],"usage":{"prompt_tokens":1e99}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		w := testWire(t)
		s := chatStream{wire: w}
		for line := range bytes.Lines(in) {
			if s.take(line) != nil {
				return
			}
		}
		seen := map[string]bool{}
		for _, c := range s.calls.done() {
			if c.ID == "" || seen[c.ID] || c.Arguments == "" {
				t.Fatalf("%+v", c)
			}
			seen[c.ID] = true
			if !json.Valid(sentArguments(c.Arguments)) || sentName(c.Name) == "" || sentID(c.ID) == "" {
				t.Fatalf("cannot go back: %+v", c)
			}
		}
		if u := s.usage; u != nil && (u.PromptTokens < 0 || u.PromptTokens > mostTokens) {
			t.Fatalf("%+v", u)
		}
	})
}

func FuzzMessageStream(f *testing.F) {
	f.Add([]byte(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}
{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{"}}`))
	f.Add([]byte(`{"type":"error","error":{"type":"overloaded_error"}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		s := messageStream{wire: testWire(t)}
		for line := range bytes.Lines(in) {
			var e messageEvent
			if json.Unmarshal(line, &e) != nil || s.take(e, line) != nil {
				return
			}
		}
	})
}

func testWire(t testing.TB) *wire {
	w, err := newWire(ProviderConfig{BaseURL: "http://127.0.0.1:1", APIKey: secret}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestComplaintsInEveryForm(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"m","type":"t","code":"c"}}`:                      "m",
		`{"object":"error","message":"m","type":"BadRequestError","code":400}`: "m",
		`{"error":"m"}`:                                       "m",
		`{"detail":"m"}`:                                      "m",
		`{"detail":[{"loc":["body"]}]}`:                       `[{"loc":["body"]}]`,
		`{"message":"m","request_id":"r"}`:                    "m",
		`{"type":"error","error":{"type":"t","message":"m"}}`: "m",
		`{"error":{}}`:                                        "",
	} {
		if c, ok := readComplaint([]byte(body)); !ok || c.message != want {
			t.Errorf("%s reads as %+v, %v", body, c, ok)
		}
	}
	for _, body := range []string{``, `[]`, `null`, `{"choices":[]}`, `{"error":null,"choices":[]}`, `{"error":""}`} {
		if c, ok := readComplaint([]byte(body)); ok {
			t.Errorf("%s reads as a complaint: %+v", body, c)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		header map[string]string
		want   time.Duration
	}{
		{map[string]string{"Retry-After": "120"}, 2 * time.Minute},
		{map[string]string{"Retry-After": " 1.5 "}, 1500 * time.Millisecond},
		{map[string]string{"Retry-After-Ms": "250", "Retry-After": "1"}, 250 * time.Millisecond},
		{map[string]string{"Retry-After": now.Add(90 * time.Second).Format(http.TimeFormat)}, 90 * time.Second},
		{map[string]string{ // their clock is an hour ahead
			"Retry-After": now.Add(61 * time.Minute).Format(http.TimeFormat), "Date": now.Add(time.Hour).Format(http.TimeFormat),
		}, time.Minute},
		{map[string]string{"Retry-After": now.Add(-time.Minute).Format(http.TimeFormat)}, 0},
		{map[string]string{"Retry-After": "1e300"}, 24 * time.Hour},
		{map[string]string{"Retry-After": "NaN"}, 0},
		{map[string]string{"Retry-After": "-Inf"}, 0},
		{map[string]string{}, 0},
	} {
		h := http.Header{}
		for k, v := range c.header {
			h.Set(k, v)
		}
		if got := retryAfter(h, now); got != c.want {
			t.Errorf("%v: %s, want %s", c.header, got, c.want)
		}
	}
}

func TestCleanText(t *testing.T) {
	w := testWire(t)
	got := w.clean("bad key "+secret+" or sk-proj-abcdefgh12345\n\x1b[31mred\x00", 200)
	if strings.Contains(got, secret) || strings.Contains(got, "abcdefgh") || strings.ContainsAny(got, "\n\x00\x1b") {
		t.Errorf("%q", got)
	}
	if got := w.clean(strings.Repeat("字", 400), 300); got != strings.Repeat("字", 300)+"…" {
		t.Errorf("%d runes", len([]rune(got)))
	}
}
