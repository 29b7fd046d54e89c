package llm

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/domain/turn"
	"github.com/dogwatch/dogwatch/internal/testkit/modelserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type reply = modelserver.Reply

const secret = "sk-test-0123456789abcdef"

// wires are the two protocols; what must hold of both is tested on both.
var wires = []Kind{KindOpenAI, KindAnthropic}

// registry returns a registry with one provider, named p, that is the server.
func registry(t *testing.T, kind Kind, s *modelserver.Server, change ...func(*ProviderConfig)) *Registry {
	t.Helper()
	p := ProviderConfig{
		Name: "p", Kind: kind, BaseURL: s.URL(), APIKey: secret, DefaultModel: "scripted-1",
		Silence: 5 * time.Second,
	}
	for _, c := range change {
		c(&p)
	}
	r, err := New(Config{Providers: []ProviderConfig{p}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func ask(text string) turn.Request {
	return turn.Request{System: "Be short.", Messages: []turn.Message{{Role: turn.User, Content: text}}}
}

func classOf(t *testing.T, err error) turn.ErrorClass {
	t.Helper()
	var e *turn.ModelError
	if !errors.As(err, &e) {
		t.Fatalf("error %v is no model error", err)
	}
	if strings.Contains(err.Error(), secret) {
		t.Fatalf("error shows the key: %v", err)
	}
	return e.Class
}

func TestTextStreams(t *testing.T) {
	for _, kind := range wires {
		for _, profile := range []modelserver.Profile{modelserver.OpenAI, modelserver.Ollama, modelserver.VLLM, modelserver.DeepSeek} {
			s := modelserver.New(t, modelserver.As(profile), modelserver.Key(secret))
			s.Script(reply{
				Text: "The build is green; 今天没有变化。", Reasoning: "Let me look.",
				Usage: &modelserver.Usage{Input: 100, Output: 20, CacheRead: 60},
			})
			var deltas []string
			got, err := registry(t, kind, s).Call(t.Context(), ask("How is the build?"), func(d string) { deltas = append(deltas, d) })
			if err != nil {
				t.Fatalf("%s, %s: %v", kind, profile, err)
			}
			if got.Text != "The build is green; 今天没有变化。" || strings.Join(deltas, "") != got.Text || len(deltas) < 2 {
				t.Errorf("%s, %s: text %q in pieces %q", kind, profile, got.Text, deltas)
			}
			if got.Reasoning != "Let me look." || got.Stop != turn.StopEnd || got.Model != "scripted-1" || got.Estimated {
				t.Errorf("%s, %s: %+v", kind, profile, got)
			}
			want := budget.Usage{InputTokens: 100, OutputTokens: 20, CacheReadTokens: 60}
			if profile == modelserver.Ollama && kind == KindOpenAI {
				want.CacheReadTokens = 0 // it does not say
			}
			if got.Usage != want {
				t.Errorf("%s, %s: usage %+v, want %+v", kind, profile, got.Usage, want)
			}
		}
	}
}

func TestToolCallsGoThereAndBack(t *testing.T) {
	tools := []turn.ToolSpec{
		{Name: "read_document", Description: "Reads.", Schema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"}}}`)},
		{Name: "time", Description: "Tells the time.", Schema: json.RawMessage(`{"type":"object"}`)},
	}
	for _, kind := range wires {
		for _, profile := range []modelserver.Profile{modelserver.OpenAI, modelserver.Ollama, modelserver.VLLM, modelserver.DeepSeek} {
			s := modelserver.New(t, modelserver.As(profile))
			s.Script(
				reply{Text: "I look.", Calls: []modelserver.Call{
					{Name: "read_document", Arguments: `{"id": "mail-17", "part": {"from": 1}}`},
					{Name: "read_document", Arguments: `{"id": "mail-18"}`},
					{Name: "time", Arguments: ``},
				}},
				reply{Text: "Done."})
			r := registry(t, kind, s)
			req := ask("What is new?")
			req.Tools = tools
			first, err := r.Call(t.Context(), req, nil)
			if err != nil {
				t.Fatalf("%s, %s: %v", kind, profile, err)
			}
			if first.Stop != turn.StopTools || first.Text != "I look." || len(first.ToolCalls) != 3 {
				t.Fatalf("%s, %s: %+v", kind, profile, first)
			}
			for i, want := range []string{`{"id": "mail-17", "part": {"from": 1}}`, `{"id": "mail-18"}`, `{}`} {
				if got := first.ToolCalls[i].Arguments; got != want {
					t.Errorf("%s, %s: arguments %s, want %s", kind, profile, got, want)
				}
			}
			req.Messages = append(req.Messages,
				turn.Message{Role: turn.Assistant, Content: first.Text, ToolCalls: first.ToolCalls},
				turn.Message{Role: turn.Tool, ToolCallID: first.ToolCalls[0].ID, Content: "Dear all"},
				turn.Message{Role: turn.Tool, ToolCallID: first.ToolCalls[1].ID, Content: "no such document", IsError: true},
				turn.Message{Role: turn.Tool, ToolCallID: first.ToolCalls[2].ID},
			)
			second, err := r.Call(t.Context(), req, nil)
			if err != nil || second.Text != "Done." {
				t.Fatalf("%s, %s: %+v, %v", kind, profile, second, err)
			}
			sent := s.Requests()[1]
			if len(sent.Messages) != 5 || len(sent.Messages[1].Calls) != 3 || !sent.HasTool("time") || sent.System != "Be short." {
				t.Errorf("%s, %s: sent %+v", kind, profile, sent)
			}
			if m := sent.Messages[3]; !m.IsError && m.Text != "Error: no such document" {
				t.Errorf("%s, %s: the failed tool looks like %+v", kind, profile, m)
			}
		}
	}
}

// An answer without tools, at the end of a conversation in which there were some: one
// protocol wants to see them all the same, servers of the other may not know how to be
// told that they are off.
func TestToolsThatAreOffAreNotOffered(t *testing.T) {
	for _, kind := range wires {
		s := modelserver.New(t)
		s.Script(reply{Text: "The report."})
		req := ask("What is new?")
		req.Tools, req.ToolsOff = []turn.ToolSpec{{Name: "look", Schema: json.RawMessage(`{"type":"object"}`)}}, true
		req.Messages = append(req.Messages,
			turn.Message{Role: turn.Assistant, ToolCalls: []turn.ToolCall{{ID: "a", Name: "look", Arguments: "{}"}}},
			turn.Message{Role: turn.Tool, ToolCallID: "a", Content: "A mail."},
			turn.Message{Role: turn.User, Content: "Report now."})
		got, err := registry(t, kind, s).Call(t.Context(), req, nil)
		if err != nil || got.Text != "The report." {
			t.Fatalf("%s: %+v, %v", kind, got, err)
		}
		sent := s.Requests()[0]
		if offered := sent.HasTool("look") && !sent.ToolsOff; offered || kind == KindAnthropic && !sent.HasTool("look") {
			t.Errorf("%s: tools %v, off %v", kind, sent.Tools, sent.ToolsOff)
		}
	}
}

// A call that the model wrote badly stays in the history. It must not make the
// provider refuse every request from then on.
func TestMalformedToolCallIsHandedOnAndDoesNotPoisonTheConversation(t *testing.T) {
	for _, kind := range wires {
		for _, args := range []string{`{"id": "mail-`, `not json at all`, `["a"]`, `null`, `"text"`} {
			s := modelserver.New(t, modelserver.As(modelserver.VLLM)) // the strictest about history
			s.Script(reply{Calls: []modelserver.Call{{Name: "read document!", Arguments: args}}}, reply{Text: "I see."})
			r := registry(t, kind, s)
			req := ask("Go.")
			first, err := r.Call(t.Context(), req, nil)
			if err != nil || len(first.ToolCalls) != 1 || first.ToolCalls[0].Arguments != args {
				t.Fatalf("%s, %s: %+v, %v", kind, args, first, err)
			}
			req.Messages = append(req.Messages,
				turn.Message{Role: turn.Assistant, ToolCalls: first.ToolCalls},
				turn.Message{Role: turn.Tool, ToolCallID: first.ToolCalls[0].ID, Content: "arguments are not valid", IsError: true})
			if second, err := r.Call(t.Context(), req, nil); err != nil || second.Text != "I see." {
				t.Errorf("%s, %s: %+v, %v", kind, args, second, err)
			}
			if sent := s.Requests()[1].Messages[1].Calls[0].Arguments; args != `null` && !strings.Contains(sent, "not_json") {
				t.Errorf("%s: the model does not see what it wrote: %s", kind, sent)
			}
		}
	}
}

func TestFaultsHaveAClass(t *testing.T) {
	text := strings.Repeat("All is well with the build. ", 20)
	for _, c := range []struct {
		name  string
		reply reply
		want  turn.ErrorClass
		after time.Duration
		only  Kind
	}{
		{name: "rate limit with seconds", reply: reply{Status: 429, RetryAfter: "7"}, want: turn.ErrRateLimit, after: 7 * time.Second},
		{name: "rate limit with a fraction", reply: reply{Status: 429, RetryAfter: "0.5"}, want: turn.ErrRateLimit, after: time.Second / 2},
		{name: "rate limit with nonsense", reply: reply{Status: 429, RetryAfter: "soon"}, want: turn.ErrRateLimit},
		{name: "rate limit until next year", reply: reply{Status: 429, RetryAfter: "31536000"}, want: turn.ErrRateLimit, after: 24 * time.Hour},
		{name: "rate limit of negative length", reply: reply{Status: 429, RetryAfter: "-5"}, want: turn.ErrRateLimit},
		{name: "server error", reply: reply{Status: 500}, want: turn.ErrServer},
		{name: "bad gateway as a web page", reply: reply{Status: 502, Body: "<html><title>502 Bad Gateway</title></html>", ContentType: "text/html"}, want: turn.ErrServer},
		{name: "unavailable", reply: reply{Status: 503, RetryAfter: "2"}, want: turn.ErrOverloaded, after: 2 * time.Second},
		{name: "overloaded", reply: reply{Status: 529}, want: turn.ErrOverloaded},
		{name: "empty account", reply: reply{Status: 429, ErrorCode: "insufficient_quota", Error: "You exceeded your current quota"}, want: turn.ErrQuota},
		{name: "empty account (DeepSeek)", reply: reply{Status: 402, Error: "Insufficient Balance"}, want: turn.ErrQuota},
		{name: "empty account (Anthropic)", reply: reply{Status: 400, Error: "Your credit balance is too low to access the Anthropic API."}, want: turn.ErrQuota},
		{name: "forbidden", reply: reply{Status: 403, Error: "Country not supported"}, want: turn.ErrAuth},
		{name: "bad request", reply: reply{Status: 400, Error: "temperature must be below 2"}, want: turn.ErrBadRequest},
		{name: "unprocessable", reply: reply{Status: 422}, want: turn.ErrBadRequest},
		{name: "request time-out of the server", reply: reply{Status: 408}, want: turn.ErrServer},
		{name: "prompt too long (OpenAI)", reply: reply{Status: 400, ErrorCode: "context_length_exceeded", Error: "This model's maximum context length is 8192 tokens"}, want: turn.ErrTooLong},
		{name: "prompt too long (Anthropic)", reply: reply{Status: 400, Error: "prompt is too long: 210000 tokens > 200000 maximum"}, want: turn.ErrTooLong},
		{name: "request too large", reply: reply{Status: 413}, want: turn.ErrTooLong},
		{name: "no tools (Ollama)", reply: reply{Status: 400, Error: "registry.ollama.ai/library/gemma:2b does not support tools"}, want: turn.ErrUnsupported},
		{name: "redirect", reply: reply{Status: 307}, want: turn.ErrBadRequest},
		{name: "error inside the stream", reply: reply{Text: text, Error: "The server had an error"}, want: turn.ErrServer},
		{name: "overload inside the stream", reply: reply{Text: text, Error: "Overloaded", ErrorCode: "overloaded_error"}, want: turn.ErrOverloaded},
		{name: "limit inside the stream", reply: reply{Text: text, Error: "slow down", ErrorCode: "rate_limit_exceeded"}, want: turn.ErrRateLimit},
		{name: "dropped stream", reply: reply{Text: text, CutAfter: 1500}, want: turn.ErrNetwork},
		{name: "dropped before the first byte", reply: reply{Text: text, CutAfter: 1}, want: turn.ErrNetwork},
		{name: "stream that ends without an end", reply: reply{Text: text, NoEnd: true, Body: "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half\"}}]}\n\n"}, want: turn.ErrNetwork, only: KindOpenAI},
		{name: "stream that ends in an event", reply: reply{Body: "data: {\"choices\":[{\"index\":0,\"del"}, want: turn.ErrNetwork},
		{name: "empty body", reply: reply{Body: "\n"}, want: turn.ErrNetwork},
		{name: "web page with 200", reply: reply{Body: "<!doctype html><title>Sign in</title>", ContentType: "text/html"}, want: turn.ErrBadReply},
		{name: "garbage", reply: reply{Body: "data: \x00\xff\xfe}{\n\ndata: x\n\n"}, want: turn.ErrBadReply},
		{name: "JSON of another kind", reply: reply{Body: `{"ok":true}`, ContentType: "application/json"}, want: turn.ErrBadReply},
		{name: "wrong types", reply: reply{Body: "data: {\"type\":7,\"choices\":\"none\"}\n\n"}, want: turn.ErrBadReply},
		{name: "endless event", reply: reply{Body: "data: " + strings.Repeat("x", maxEvent+1)}, want: turn.ErrBadReply},
		{name: "nothing at all", reply: reply{}, want: turn.ErrBadReply},
		{name: "silence", reply: reply{Hang: true}, want: turn.ErrSilence},
		{name: "silence before the headers", reply: reply{Text: "late", Delay: modelserver.Duration(time.Minute)}, want: turn.ErrSilence},
	} {
		for _, kind := range wires {
			if c.only != "" && c.only != kind {
				continue
			}
			t.Run(string(kind)+"/"+c.name, func(t *testing.T) {
				s := modelserver.New(t)
				s.Script(c.reply)
				r := registry(t, kind, s, func(p *ProviderConfig) {
					if c.want == turn.ErrSilence {
						p.Silence = 50 * time.Millisecond
					}
				})
				got, err := r.Call(t.Context(), ask("How is the build?"), nil)
				if err == nil {
					t.Fatalf("no error, but %+v", got)
				}
				if class := classOf(t, err); class != c.want {
					t.Errorf("%v: class %s, want %s", err, class, c.want)
				}
				var e *turn.ModelError
				errors.As(err, &e)
				if e.RetryAfter != c.after {
					t.Errorf("retry after %s, want %s", e.RetryAfter, c.after)
				}
				if n := len(s.Requests()); n != 1 {
					t.Errorf("%d requests for one attempt", n)
				}
				if len(e.Msg) > 500 || strings.ContainsAny(e.Msg, "\n\x00") {
					t.Errorf("message for people: %q", e.Msg)
				}
			})
		}
	}
}

// What had arrived before a stream broke is kept: people see it, and its tokens
// were paid.
func TestBrokenStreamKeepsWhatArrived(t *testing.T) {
	s := modelserver.New(t)
	s.Script(reply{Text: "First the mails, then the numbers, then the rest of it all.", CutAfter: 900})
	got, err := registry(t, KindOpenAI, s).Call(t.Context(), ask("Go."), nil)
	if classOf(t, err) != turn.ErrNetwork || !strings.HasPrefix(got.Text, "First the ma") {
		t.Errorf("%q, %v", got.Text, err)
	}
}

// Wherever a stream breaks, the answer is complete and right, or it is an error.
func TestStreamCutAnywhere(t *testing.T) {
	for _, kind := range wires {
		whole := reply{Text: "All is well.", Calls: []modelserver.Call{{ID: "c1", Name: "note", Arguments: `{"text":"ok"}`}}}
		s := modelserver.New(t)
		r := registry(t, kind, s)
		complete := 0
		for cut := 1; cut < 2600; cut += 23 {
			cutReply := whole
			cutReply.CutAfter = cut
			s.Script(cutReply)
			got, err := r.Call(t.Context(), ask("Go."), nil)
			if err != nil {
				if class := classOf(t, err); class != turn.ErrNetwork {
					t.Fatalf("%s, cut after %d bytes: %v", kind, cut, err)
				}
				continue
			}
			complete++
			if got.Text != "All is well." || len(got.ToolCalls) != 1 || got.ToolCalls[0].Arguments != `{"text":"ok"}` || got.Stop != turn.StopTools {
				t.Fatalf("%s, cut after %d bytes: taken as complete: %+v", kind, cut, got)
			}
		}
		if complete == 0 {
			t.Errorf("%s: no cut was late enough to be harmless", kind)
		}
	}
}

func TestSlowModelIsWaitedForWhileItSpeaks(t *testing.T) {
	for _, kind := range wires {
		s := modelserver.New(t)
		s.Script(reply{Text: strings.Repeat("slow ", 12), Drip: modelserver.Duration(25 * time.Millisecond)})
		r := registry(t, kind, s, func(p *ProviderConfig) { p.Silence = 150 * time.Millisecond })
		start := time.Now()
		got, err := r.Call(t.Context(), ask("Go."), nil)
		if err != nil || got.Text != strings.Repeat("slow ", 12) {
			t.Errorf("%s: %q, %v", kind, got.Text, err)
		}
		if took := time.Since(start); took < 150*time.Millisecond {
			t.Errorf("%s: took only %s, which tests nothing", kind, took)
		}
	}
}

func TestWholeCallIsBounded(t *testing.T) {
	s := modelserver.New(t)
	s.Script(reply{Text: strings.Repeat("and on ", 500), Drip: modelserver.Duration(5 * time.Millisecond)})
	r, err := New(Config{
		Providers: []ProviderConfig{{Name: "p", Kind: KindOpenAI, BaseURL: s.URL(), DefaultModel: "scripted-1"}},
		Total:     80 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Call(t.Context(), ask("Go."), nil); classOf(t, err) != turn.ErrSilence {
		t.Errorf("%v", err)
	}
}

func TestCancelEndsACallAtOnce(t *testing.T) {
	why := errors.New("a person cancelled the run")
	for _, kind := range wires {
		for name, rep := range map[string]reply{
			"before the headers": {Text: "x", Delay: modelserver.Duration(time.Minute)},
			"in the stream":      {Text: strings.Repeat("on and on ", 100), Drip: modelserver.Duration(20 * time.Millisecond)},
			"in silence":         {Hang: true},
		} {
			s := modelserver.New(t)
			s.Script(rep)
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(60*time.Millisecond, func() { cancel(why) })
			start := time.Now()
			_, err := registry(t, kind, s).Call(ctx, ask("Go."), nil)
			if !errors.Is(err, why) {
				t.Errorf("%s, %s: error %v, want the cause", kind, name, err)
			}
			if took := time.Since(start); took > time.Second {
				t.Errorf("%s, %s: took %s", kind, name, took)
			}
			cancel(nil)
		}
	}
}

func TestNoServer(t *testing.T) {
	s := modelserver.New(nil)
	s.Close()
	for _, kind := range wires {
		_, err := registry(t, kind, s).Call(t.Context(), ask("Go."), nil)
		if classOf(t, err) != turn.ErrNetwork || !strings.Contains(err.Error(), "refused") {
			t.Errorf("%v", err)
		}
	}
}

func TestTheKeyIsNeverShownNorHandedOn(t *testing.T) {
	elsewhere := make(chan http.Header, 1)
	other := modelserver.New(t)
	other.Rule(func(r modelserver.Request) reply { elsewhere <- r.Header; return reply{Text: "caught"} })
	for _, kind := range wires {
		s := modelserver.New(t, modelserver.Key("sk-another-key-entirely")) // it echoes the key that it refuses
		_, err := registry(t, kind, s).Call(t.Context(), ask("Go."), nil)
		if classOf(t, err) != turn.ErrAuth || !strings.Contains(err.Error(), "***") {
			t.Errorf("%s: %v", kind, err)
		}
		s = modelserver.New(t)
		s.Script(reply{Text: "the key is " + secret, Body: `{"error":{"message":"header Authorization: Bearer ` + secret + ` not accepted"}}`, Status: 400})
		_, err = registry(t, kind, s, func(p *ProviderConfig) { p.Headers = map[string]string{"X-Proxy": "Bearer " + secret} }).
			Call(t.Context(), ask("Go."), nil)
		classOf(t, err)
	}
	redirect := http.RedirectHandler(other.URL()+"/chat/completions", http.StatusTemporaryRedirect)
	front := serve(t, redirect)
	r, err := New(Config{Providers: []ProviderConfig{{Name: "p", Kind: KindOpenAI, BaseURL: front, APIKey: secret, DefaultModel: "m"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Call(t.Context(), ask("Go."), nil); classOf(t, err) != turn.ErrBadRequest {
		t.Errorf("%v", err)
	}
	select {
	case h := <-elsewhere:
		t.Errorf("a redirect was followed with %v", h)
	default:
	}
}

func TestStopReasons(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		stop string
		want turn.StopReason
	}{
		{KindOpenAI, "stop", turn.StopEnd},
		{KindOpenAI, "length", turn.StopLength},
		{KindOpenAI, "content_filter", turn.StopFilter},
		{KindOpenAI, "tool_calls", turn.StopEnd}, // there are none
		{KindOpenAI, "eos_token", turn.StopEnd},
		{KindAnthropic, "end_turn", turn.StopEnd},
		{KindAnthropic, "stop_sequence", turn.StopEnd},
		{KindAnthropic, "max_tokens", turn.StopLength},
		{KindAnthropic, "model_context_window_exceeded", turn.StopLength},
		{KindAnthropic, "refusal", turn.StopFilter},
	} {
		s := modelserver.New(t)
		s.Script(reply{Text: "Well.", Stop: c.stop}, reply{Text: "Well.", Stop: c.stop, Whole: true})
		r := registry(t, c.kind, s)
		for range 2 { // as a stream, and whole
			if got, err := r.Call(t.Context(), ask("Go."), nil); err != nil || got.Stop != c.want {
				t.Errorf("%s %s: %s, %v; want %s", c.kind, c.stop, got.Stop, err, c.want)
			}
		}
	}
}

func TestAnswerThatComesWholeAlthoughAStreamWasAsked(t *testing.T) {
	for _, kind := range wires {
		s := modelserver.New(t)
		s.Script(reply{
			Text: "All at once.", Reasoning: "Hm.", Whole: true, Calls: []modelserver.Call{{ID: "c1", Name: "note", Arguments: `{"a":1}`}},
			Usage: &modelserver.Usage{Input: 9, Output: 3},
		})
		got, err := registry(t, kind, s).Call(t.Context(), ask("Go."), nil)
		if err != nil {
			t.Fatal(err)
		}
		want := turn.Reply{
			Text: "All at once.", Reasoning: "Hm.", Stop: turn.StopTools, Model: "scripted-1",
			ToolCalls: []turn.ToolCall{{ID: "c1", Name: "note", Arguments: `{"a":1}`}},
			Usage:     budget.Usage{InputTokens: 9, OutputTokens: 3},
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", kind, d)
		}
	}
}

func TestMissingEndIsNoFaultOnceTheModelHasStopped(t *testing.T) {
	for _, kind := range wires {
		s := modelserver.New(t)
		s.Script(reply{Text: "Done.", NoEnd: true})
		if got, err := registry(t, kind, s).Call(t.Context(), ask("Go."), nil); err != nil || got.Text != "Done." {
			t.Errorf("%s: %+v, %v", kind, got, err)
		}
	}
}

func TestUsageThatIsNotReportedIsEstimated(t *testing.T) {
	for _, kind := range wires {
		s := modelserver.New(t)
		s.Script(reply{Text: strings.Repeat("word ", 80), NoUsage: true})
		got, err := registry(t, kind, s).Call(t.Context(), ask(strings.Repeat("word ", 400)), nil)
		if err != nil || !got.Estimated || got.Usage.InputTokens < 400 || got.Usage.InputTokens > 700 || got.Usage.OutputTokens != 100 {
			t.Errorf("%s: %+v, %v", kind, got.Usage, err)
		}
	}
}

func TestEmptyAnswerAfterToolsIsAnEnd(t *testing.T) {
	for _, kind := range wires {
		s := modelserver.New(t)
		s.Script(reply{})
		req := ask("Go.")
		req.Messages = append(req.Messages,
			turn.Message{Role: turn.Assistant, ToolCalls: []turn.ToolCall{{ID: "c1", Name: "note", Arguments: "{}"}}},
			turn.Message{Role: turn.Tool, ToolCallID: "c1", Content: "noted"})
		if got, err := registry(t, kind, s).Call(t.Context(), req, nil); err != nil || got.Stop != turn.StopEnd {
			t.Errorf("%s: %+v, %v", kind, got, err)
		}
	}
}

// A provider that never ends, or that sends what is no text, does not bring the house
// down: an answer has bounds, and is kept as text.
func TestAnAnswerHasBounds(t *testing.T) {
	long := strings.Repeat("All is well. ", (maxContent/13)+1)
	for _, kind := range wires {
		for name, r := range map[string]reply{
			"its text":      {Text: long},
			"its reasoning": {Reasoning: long, Text: "Done."},
			"its arguments": {Calls: []modelserver.Call{{Name: "write", Arguments: `{"text": "` + long + `"}`}}},
			"all of them":   {Text: long[:maxContent*2/3], Calls: []modelserver.Call{{Name: "write", Arguments: `{"text": "` + long[:maxContent*2/3] + `"}`}}},
			"in one piece":  {Text: long, Whole: true},
		} {
			r.Piece = 64 << 10
			s := modelserver.New(t)
			s.Script(r)
			_, err := registry(t, kind, s).Call(t.Context(), ask("How is it?"), nil)
			var e *turn.ModelError
			if !errors.As(err, &e) || e.Class != turn.ErrBadReply {
				t.Errorf("%s, %s is too long: %v", kind, name, err)
			}
		}
	}
}

func TestWhatIsNoTextInAnAnswerIsReplaced(t *testing.T) {
	for _, kind := range wires {
		s := modelserver.New(t)
		s.Script(reply{Text: "a\x00b", Calls: []modelserver.Call{{ID: "i\x00d", Name: "wri\x00te", Arguments: "{\"a\": \"\x00\"}"}}})
		got, err := registry(t, kind, s).Call(t.Context(), ask("How is it?"), nil)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		all := got.Text + got.ToolCalls[0].ID + got.ToolCalls[0].Name + got.ToolCalls[0].Arguments
		if strings.ContainsRune(all, 0) || got.Text != "a\uFFFDb" {
			t.Errorf("%s: %q", kind, all)
		}
	}
}
