package modelserver_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/dogwatch/dogwatch/internal/testkit/modelserver"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"))
}

// post sends a body and returns the status and what came back.
func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body) // a cut stream ends in an error, and what came counts
	return resp.StatusCode, string(b)
}

const hello = `{"model":"scripted-1","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Task T-7: hello"}]}`

// What the real servers send, here for eyes: if a profile changes, this says how.
func TestProfilesOnTheWire(t *testing.T) {
	for profile, want := range map[modelserver.Profile][]string{
		modelserver.OpenAI:   {`"tool_calls":[{"function":{"arguments":"","name":"f"},"id":"call_1_0","index":0`, `"choices":[],`, `"finish_reason":"tool_calls"`, "data: [DONE]\n\n"},
		modelserver.Ollama:   {`"reasoning":"hm"`, `"arguments":"{}"`, `"finish_reason":"stop"`},
		modelserver.VLLM:     {`"reasoning_content":"hm"`, `"finish_reason":"tool_calls"`},
		modelserver.DeepSeek: {": keep-alive\n\n", `"prompt_cache_hit_tokens":3`},
	} {
		s := modelserver.New(t, modelserver.As(profile))
		s.Script(modelserver.Reply{
			Reasoning: "hm", Text: "hi", Calls: []modelserver.Call{{Name: "f", Arguments: "{}"}},
			Usage: &modelserver.Usage{Input: 9, Output: 2, CacheRead: 3},
		})
		status, body := post(t, s.URL()+"/chat/completions", hello)
		for _, w := range want {
			if status != 200 || !strings.Contains(body, w) {
				t.Errorf("%s: %d, no %q in\n%s", profile, status, w, body)
			}
		}
	}
}

func TestRefusesWhatTheRealServersRefuse(t *testing.T) {
	s := modelserver.New(t)
	for name, c := range map[string]struct{ path, body string }{
		"no JSON":               {"/chat/completions", `{`},
		"unknown model":         {"/chat/completions", `{"model":"x","messages":[{"role":"user","content":"a"}]}`},
		"no messages":           {"/chat/completions", `{"model":"scripted-1","messages":[]}`},
		"result without a call": {"/chat/completions", `{"model":"scripted-1","messages":[{"role":"user","content":"a"},{"role":"tool","tool_call_id":"c","content":"x"}]}`},
		"call without a result": {"/chat/completions", `{"model":"scripted-1","messages":[{"role":"user","content":"a"},
			{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"b"}]}`},
		"tool without an object":    {"/chat/completions", `{"model":"scripted-1","messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":"f","parameters":{}}}]}`},
		"no max_tokens":             {"/messages", `{"model":"scripted-1","messages":[{"role":"user","content":"a"}]}`},
		"two users in a row":        {"/messages", `{"model":"scripted-1","max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}`},
		"empty text":                {"/messages", `{"model":"scripted-1","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":""}]}]}`},
		"tool input that is a text": {"/messages", `{"model":"scripted-1","max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":"{}"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c"}]}]}`},
		"another path":              {"/responses", `{}`},
	} {
		if status, body := post(t, s.URL()+c.path, c.body); status != 400 && status != 404 || !strings.Contains(body, "message") {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}

func TestFaultsOnTheWire(t *testing.T) {
	s := modelserver.New(t)
	s.Script(
		modelserver.Reply{Status: 429, RetryAfter: "3"},
		modelserver.Reply{Text: "a long text that is cut somewhere in the middle of it", CutAfter: 400},
		modelserver.Reply{Body: "<html>", ContentType: "text/html"},
	)
	if status, _ := post(t, s.URL()+"/chat/completions", hello); status != 429 {
		t.Errorf("%d", status)
	}
	if _, body := post(t, s.URL()+"/chat/completions", hello); len(body) != 400 {
		t.Errorf("%d bytes", len(body))
	}
	if _, body := post(t, s.URL()+"/chat/completions", hello); body != "<html>" {
		t.Errorf("%q", body)
	}
	if n := len(s.Requests()); n != 3 {
		t.Errorf("%d requests", n)
	}
}

func TestLogHasOneLinePerRequest(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := modelserver.New(t, modelserver.LogTo(f, regexp.MustCompile(`Task (T-\d+)`)))
	s.Rule(func(modelserver.Request) modelserver.Reply { return modelserver.Reply{Text: "hi"} })
	post(t, s.URL()+"/chat/completions", hello)
	post(t, s.URL()+"/chat/completions", hello)
	f.Seek(0, 0)
	lines := 0
	for sc := bufio.NewScanner(f); sc.Scan(); lines++ {
		var line struct {
			N   int
			Key string
		}
		if err := json.Unmarshal(sc.Bytes(), &line); err != nil || line.N != lines+1 || line.Key != "T-7" {
			t.Errorf("%s, %v", sc.Text(), err)
		}
	}
	if lines != 2 {
		t.Errorf("%d lines", lines)
	}
}

func TestScript(t *testing.T) {
	script, err := modelserver.ReadScript([]byte(`{"models":["scripted-1"],"rules":[
		{"when":"T-(\\d+)","times":1,"reply":{"text":"task ${1}"}},
		{"format":true,"reply":{"json":{"title":"x"}}},
		{"last":"tool","reply":{"text":"after the tool"}},
		{"when":"nothing like it","reply":{"text":"no"}},
		{"last":"user","reply":{"text":"then this","delay":"1ms"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	s := modelserver.New(t, script.Options()...)
	ask := func(body string) string {
		_, out := post(t, s.URL()+"/chat/completions", strings.Replace(body, `"stream":true,`, "", 1))
		return out
	}
	for _, c := range []struct{ body, want string }{
		{hello, "task 7"},
		{hello, "then this"},
		{strings.Replace(hello, `"messages"`, `"response_format":{"type":"json_schema"},"messages"`, 1), `{\"title\":\"x\"}`},
		{strings.Replace(hello, `hello"}]`, `hello"},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"x"}]`, 1), "after the tool"},
	} {
		if got := ask(c.body); !strings.Contains(got, c.want) {
			t.Errorf("want %s, got %s", c.want, got)
		}
	}
	for _, bad := range []string{`{`, `{}`, `{"rules":[{"when":"("}]}`, `{"rules":[{"reply":{"txt":"x"}}]}`, `{"rules":[{"reply":{"delay":"soon"}}]}`} {
		if _, err := modelserver.ReadScript([]byte(bad)); err == nil {
			t.Errorf("accepted %s", bad)
		}
	}
}
