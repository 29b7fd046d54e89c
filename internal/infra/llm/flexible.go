package llm

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// flexText is text that some servers send as a list of parts, and many as null.
type flexText string

func (t *flexText) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || string(b) == "null" {
		return nil
	}
	if b[0] != '[' {
		return json.Unmarshal(b, (*string)(t))
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	var s strings.Builder
	for _, p := range parts {
		s.WriteString(p.Text)
	}
	*t = flexText(s.String())
	return nil
}

// flexCount is a number of tokens: never negative, never absurd, whatever is
// reported (12, 12.0, null).
type flexCount int64

// mostTokens is far beyond any answer; it keeps sums over a year from overflowing.
const mostTokens = 1e12

func (c *flexCount) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil || !(f > 0) {
		f = 0
	}
	*c = flexCount(min(f, mostTokens))
	return nil
}

// flexArguments is the arguments of a tool call: a string that holds JSON, as
// the protocol has it, or the JSON itself, as some servers have it.
type flexArguments struct {
	text  string
	whole bool // it was JSON itself, hence complete
}

func (a *flexArguments) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || string(b) == "null" {
		return nil
	}
	if b[0] == '"' {
		return json.Unmarshal(b, &a.text)
	}
	var buf bytes.Buffer
	if err := json.Compact(&buf, b); err != nil {
		return err
	}
	a.text, a.whole = buf.String(), true
	return nil
}
