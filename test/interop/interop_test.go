// Package interop holds the scripted model server against the official clients:
// what they read out of its streams is what our own client must read. That ties
// both ends of our tests to something that we did not write.
//
//	cd test/interop && go test ./...
package interop

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"

	"github.com/dogwatch/dogwatch/internal/domain/turn"
	"github.com/dogwatch/dogwatch/internal/infra/llm"
	"github.com/dogwatch/dogwatch/internal/testkit/modelserver"
)

// said is what a client made of an answer.
type said struct {
	Text, Name, Arguments, Stop string
	Input, Output               int64
}

var scripted = modelserver.Reply{
	Text:  "I look it up. 请稍候。",
	Calls: []modelserver.Call{{ID: "call_1", Name: "read_document", Arguments: `{"id":"mail-17","part":{"from":1}}`}},
	Usage: &modelserver.Usage{Input: 120, Output: 30},
}

// ours returns what our own client makes of the same script.
func ours(t *testing.T, kind llm.Kind, s *modelserver.Server) said {
	t.Helper()
	r, err := llm.New(llm.Config{Providers: []llm.ProviderConfig{{Name: "p", Kind: kind, BaseURL: s.URL(), DefaultModel: "scripted-1"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := r.Call(t.Context(), turn.Request{Messages: []turn.Message{{Role: turn.User, Content: "Go."}}}, nil)
	if err != nil || len(got.ToolCalls) != 1 || got.Stop != turn.StopTools {
		t.Fatalf("%+v, %v", got, err)
	}
	c := got.ToolCalls[0]
	return said{got.Text, c.Name, c.Arguments, "tools", got.Usage.InputTokens, got.Usage.OutputTokens}
}

func TestOpenAIClientReadsTheSame(t *testing.T) {
	for _, profile := range []modelserver.Profile{modelserver.OpenAI, modelserver.VLLM, modelserver.DeepSeek, modelserver.Ollama} {
		s := modelserver.New(t, modelserver.As(profile))
		s.Script(scripted, scripted)
		client := openai.NewClient(openaioption.WithBaseURL(s.URL()), openaioption.WithAPIKey("sk-none"), openaioption.WithMaxRetries(0))
		stream := client.Chat.Completions.NewStreaming(t.Context(), openai.ChatCompletionNewParams{
			Model:         "scripted-1",
			Messages:      []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Go.")},
			StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
		})
		var acc openai.ChatCompletionAccumulator
		for stream.Next() {
			if !acc.AddChunk(stream.Current()) {
				t.Fatalf("%s: the official client refuses a chunk", profile)
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatalf("%s: %v", profile, err)
		}
		m := acc.Choices[0].Message
		if len(m.ToolCalls) != 1 {
			t.Fatalf("%s: %d tool calls", profile, len(m.ToolCalls))
		}
		theirs := said{
			m.Content, m.ToolCalls[0].Function.Name, m.ToolCalls[0].Function.Arguments, "tools",
			acc.Usage.PromptTokens, acc.Usage.CompletionTokens,
		}
		if got := ours(t, llm.KindOpenAI, s); got != theirs {
			t.Errorf("%s: they read %+v, we %+v", profile, theirs, got)
		}
	}
}

func TestOpenAIClientSeesTheSameErrors(t *testing.T) {
	s := modelserver.New(t)
	s.Script(modelserver.Reply{Status: 429, Error: "slow down", ErrorCode: "rate_limit_exceeded", RetryAfter: "1"})
	client := openai.NewClient(openaioption.WithBaseURL(s.URL()), openaioption.WithAPIKey("sk-none"), openaioption.WithMaxRetries(0))
	_, err := client.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{
		Model: "scripted-1", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Go.")},
	})
	var e *openai.Error
	if !errors.As(err, &e) || e.StatusCode != 429 || e.Code != "rate_limit_exceeded" {
		t.Errorf("%v", err)
	}
}

func TestAnthropicClientReadsTheSame(t *testing.T) {
	s := modelserver.New(t)
	s.Script(scripted, scripted)
	base := s.URL()[:len(s.URL())-len("/v1")]
	client := anthropic.NewClient(anthropicoption.WithBaseURL(base), anthropicoption.WithAPIKey("sk-none"), anthropicoption.WithMaxRetries(0))
	stream := client.Messages.NewStreaming(t.Context(), anthropic.MessageNewParams{
		Model: "scripted-1", MaxTokens: 1000,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Go."))},
	})
	var m anthropic.Message
	for stream.Next() {
		if err := m.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	theirs := said{Stop: "tools", Input: m.Usage.InputTokens, Output: m.Usage.OutputTokens}
	for _, b := range m.Content {
		switch b := b.AsAny().(type) {
		case anthropic.TextBlock:
			theirs.Text += b.Text
		case anthropic.ToolUseBlock:
			theirs.Name = b.Name
			raw, err := json.Marshal(b.Input)
			if err != nil {
				t.Fatal(err)
			}
			theirs.Arguments = string(raw)
		}
	}
	if m.StopReason != anthropic.StopReasonToolUse {
		t.Errorf("stop reason %s", m.StopReason)
	}
	if got := ours(t, llm.KindAnthropic, s); got != theirs {
		t.Errorf("they read %+v, we %+v", theirs, got)
	}
}
