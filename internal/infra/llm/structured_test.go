package llm

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/dogwatch/dogwatch/internal/domain/turn"
	"github.com/dogwatch/dogwatch/internal/testkit/modelserver"
)

// serve serves a handler and returns its base URL.
func serve(t *testing.T, h http.Handler) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

var handoff = &turn.OutputSchema{Name: "handoff", Schema: json.RawMessage(
	`{"type":"object","properties":{"title":{"type":"string"}},"required":["title"],"additionalProperties":false}`)}

func TestStructuredOutput(t *testing.T) {
	for _, kind := range wires {
		for _, profile := range []modelserver.Profile{modelserver.OpenAI, modelserver.Ollama, modelserver.VLLM, modelserver.DeepSeek} {
			s := modelserver.New(t, modelserver.As(profile))
			s.Script(reply{JSON: json.RawMessage(`{"title":"Baseline taken"}`)})
			r := registry(t, kind, s, func(p *ProviderConfig) { p.Dialect = Dialect(profile) })
			req := ask("Write the handoff.")
			req.Output = handoff
			got, err := r.Call(t.Context(), req, nil)
			if err != nil || got.Text != `{"title":"Baseline taken"}` || got.Stop != turn.StopEnd {
				t.Errorf("%s, %s: %+v, %v", kind, profile, got, err)
			}
			if sent := s.Requests(); len(sent) != 1 || sent[0].Format == nil {
				t.Errorf("%s, %s: %d requests, the first with format %s", kind, profile, len(sent), sent[0].Format)
			}
		}
	}
}

// A server that refuses a way of asking is asked in the next, once; the way
// that worked is remembered.
func TestStructuredOutputFallsBack(t *testing.T) {
	for _, c := range []struct {
		kind    Kind
		refuses map[string]string // a part of the request to the words of its refusal
		modes   []string          // what the requests must hold, in this order
	}{
		{KindOpenAI, map[string]string{"json_schema": "This response_format type is unavailable now"}, []string{"json_schema", "json_object"}},
		{KindOpenAI, map[string]string{"response_format": "Unknown field: response_format"}, []string{"json_schema", "json_object", "JSON Schema"}},
		{KindAnthropic, map[string]string{"output_config": "output_config: Extra inputs are not permitted"}, []string{"output_config", "tool_choice"}},
		{KindAnthropic, map[string]string{
			"output_config": "output_config.format.schema: maxItems is not supported",
			"tool_choice":   "tool_choice: forced tool use is not supported on this model",
		}, []string{"output_config", "tool_choice", "JSON Schema"}},
	} {
		s := modelserver.New(t)
		s.Rule(func(r modelserver.Request) reply {
			for part, words := range c.refuses {
				if strings.Contains(string(r.Body), part) {
					return reply{Status: 400, Error: words}
				}
			}
			if r.Format == nil {
				return reply{Text: "Sure! Here you are:\n```json\n{\"title\": \"Baseline\"}\n```\nAnything else?"}
			}
			return reply{JSON: json.RawMessage(`{"title": "Baseline"}`)}
		})
		r := registry(t, c.kind, s)
		req := ask("Write the handoff.")
		req.Output = handoff
		for range 2 {
			if got, err := r.Call(t.Context(), req, nil); err != nil || got.Text != `{"title": "Baseline"}` {
				t.Fatalf("%s, %v: %+v, %v", c.kind, c.refuses, got, err)
			}
		}
		want := append(slices.Clone(c.modes), c.modes[len(c.modes)-1])
		sent := s.Requests()
		if len(sent) != len(want) {
			t.Fatalf("%s, %v: %d requests, want %d", c.kind, c.refuses, len(sent), len(want))
		}
		for i, w := range want {
			if !strings.Contains(string(sent[i].Body), w) {
				t.Errorf("%s: request %d does not ask by %s: %s", c.kind, i, w, sent[i].Body)
			}
		}
	}
}

func TestStructuredOutputThatIsNoneIsABadReply(t *testing.T) {
	for _, kind := range wires {
		s := modelserver.New(t)
		s.Script(reply{Text: "I would rather not. [1] {oops"})
		req := ask("Write the handoff.")
		req.Output = handoff
		if got, err := registry(t, kind, s).Call(t.Context(), req, nil); classOf(t, err) != turn.ErrBadReply {
			t.Errorf("%s: %+v, %v", kind, got, err)
		}
		s.Script(reply{Text: `{"title":"cut o`, Stop: map[Kind]string{KindOpenAI: "length", KindAnthropic: "max_tokens"}[kind]})
		if got, err := registry(t, kind, s).Call(t.Context(), req, nil); err != nil || got.Stop != turn.StopLength {
			t.Errorf("%s: an answer that was cut off: %+v, %v", kind, got, err)
		}
	}
}

// Parts of a request that a server does not know are left out, once.
func TestParametersThatAServerDoesNotKnow(t *testing.T) {
	for _, c := range []struct {
		name, part, words string
		model             string
	}{
		{"usage in the stream", "stream_options", "Unrecognized request argument supplied: stream_options", "scripted-1"},
		{"old name of the limit", `"max_tokens"`, "", "gpt-5-scripted"}, // the server itself refuses it
		{"tools with reasoning", `"reasoning_effort"`, "Function tools with reasoning_effort are not supported", "scripted-1"},
	} {
		s := modelserver.New(t, modelserver.Models("scripted-1", "gpt-5-scripted"))
		s.Rule(func(r modelserver.Request) reply {
			has := strings.Contains(string(r.Body), c.part)
			if c.part == `"reasoning_effort"` {
				has = !has
			}
			if has && c.words != "" {
				return reply{Status: 400, Error: c.words}
			}
			return reply{Text: "Fine."}
		})
		r := registry(t, KindOpenAI, s)
		req := ask("Go.")
		req.Model, req.MaxOutputTokens = "p/"+c.model, 500
		req.Tools = []turn.ToolSpec{{Name: "note", Schema: json.RawMessage(`{"type":"object"}`)}}
		for range 2 {
			if got, err := r.Call(t.Context(), req, nil); err != nil || got.Text != "Fine." {
				t.Errorf("%s: %+v, %v", c.name, got, err)
			}
		}
		if n := len(s.Requests()); n != 3 {
			t.Errorf("%s: %d requests for two calls, want 3", c.name, n)
		}
		if s.Requests()[2].MaxTokens != 500 {
			t.Errorf("%s: the limit was lost", c.name)
		}
	}
	// A limit that is refused for its size is the caller's, and no question of names.
	s := modelserver.New(t)
	s.Script(reply{Status: 400, Error: "max_tokens is too large: 500000. This model supports at most 16384 completion tokens"})
	req := ask("Go.")
	req.MaxOutputTokens = 500000
	if _, err := registry(t, KindOpenAI, s).Call(t.Context(), req, nil); classOf(t, err) != turn.ErrBadRequest || len(s.Requests()) != 1 {
		t.Errorf("%v after %d requests", err, len(s.Requests()))
	}
}

func TestStrict(t *testing.T) {
	for schema, want := range map[string]bool{
		string(handoff.Schema): true,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`:                               false,
		`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`:                   false,
		`{"type":"object","properties":{"a":{"type":"object"}},"required":["a"],"additionalProperties":false}`:  false,
		`{"type":"array","items":{"type":"object","properties":{},"additionalProperties":false,"required":[]}}`: true,
		`{"type":"object","properties":{},"additionalProperties":true}`:                                         false,
		`nonsense`: false,
	} {
		if got := strict(json.RawMessage(schema)); got != want {
			t.Errorf("strict(%s) = %v", schema, got)
		}
	}
}

func TestFindJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1}`:                              `{"a":1}`,
		" [1,2] ":                              `[1,2]`,
		"```json\n{\"a\": {\"b\": 2}}\n```":    `{"a": {"b": 2}}`,
		`<think>{"a":0}</think>{"a":1}`:        `{"a":1}`,
		`As in [1], {curly} is {"a":"}"} here`: `{"a":"}"}`,
	} {
		if got, err := findJSON(in); err != nil || got != want {
			t.Errorf("findJSON(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", "no", "{", strings.Repeat("{", 1<<20)} {
		if got, err := findJSON(in); err == nil {
			t.Errorf("findJSON(%.20q) = %q", in, got)
		}
	}
}
