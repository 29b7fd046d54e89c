package llm

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/dogwatch/dogwatch/internal/domain/turn"
)

// outputMode is how a structured reply is asked for, from the surest to the
// one that every server understands.
type outputMode int

const (
	bySchema outputMode = iota // response_format json_schema: the server holds the model to it
	byObject                   // response_format json_object: some JSON, the schema stands in the prompt
	byPrompt                   // the prompt alone
)

// askForJSON is what the prompt says in the modes that need it. The word JSON
// must be in it: OpenAI and DeepSeek refuse json_object otherwise.
func askForJSON(o *turn.OutputSchema) string {
	return "Answer with one JSON object and nothing else: no Markdown, no explanation. It must be valid against this JSON Schema:\n" +
		string(o.Schema)
}

// strict reports whether OpenAI's strict mode accepts a schema: every object
// closed, every property required. Elsewhere strict makes the request a 400.
func strict(schema json.RawMessage) bool {
	var v any
	return json.Unmarshal(schema, &v) == nil && strictValue(v)
}

func strictValue(v any) bool {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			if !strictValue(x) {
				return false
			}
		}
	case map[string]any:
		if props, ok := v["properties"].(map[string]any); ok {
			required := map[string]bool{}
			list, _ := v["required"].([]any)
			for _, r := range list {
				name, _ := r.(string)
				required[name] = true
			}
			for name := range props {
				if !required[name] {
					return false
				}
			}
			if closed, ok := v["additionalProperties"].(bool); !ok || closed {
				return false
			}
		} else if v["type"] == "object" {
			return false
		}
		for _, x := range v {
			if !strictValue(x) {
				return false
			}
		}
	}
	return true
}

var errNoJSON = errors.New("it holds no JSON object")

// findJSON returns the JSON that an answer consists of, also when the model put
// it into a Markdown fence, or thoughts or a sentence before it.
func findJSON(s string) (string, error) {
	if _, after, ok := strings.Cut(s, "</think>"); ok {
		s = after
	}
	s = strings.TrimSpace(s)
	if s != "" && json.Valid([]byte(s)) {
		return s, nil
	}
	for range 32 { // a model that has not come to it by then will not
		i := strings.IndexByte(s, '{')
		if i < 0 {
			break
		}
		s = s[i:]
		var v json.RawMessage
		if json.NewDecoder(strings.NewReader(s)).Decode(&v) == nil {
			return string(v), nil
		}
		s = s[1:]
	}
	return "", errNoJSON
}
