// Package handoff describes what a run leaves for the next one.
package handoff

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of a handoff's parts, in characters. A usual handoff takes some hundred
// tokens, so that five of them fit a quarter of 32,000 in full many times over; one
// that fills every part takes about 2,400, of which three fit.
const (
	MaxTitle      = 120
	MaxSummary    = 2000
	MaxFindings   = 10
	MaxFinding    = 500
	MaxNextAction = 1000
)

// Handoff is what a run leaves: enough for the next run to start where this one
// stopped, and for a person to know what it came to.
type Handoff struct {
	Title       string   `json:"title"`
	Summary     string   `json:"summary"`
	KeyFindings []string `json:"keyFindings"`
	NextAction  string   `json:"nextAction"`
	Unfinished  string   `json:"unfinished,omitempty"` // of a partial run: what is left
}

// Schema is the JSON Schema that a model fills in.
var Schema = json.RawMessage(`{
  "type": "object",
  "additionalProperties": false,
  "required": ["title", "summary", "keyFindings", "nextAction", "unfinished"],
  "properties": {
    "title": {"type": "string", "description": "What this run came to, at most 60 characters"},
    "summary": {"type": "string", "description": "What was done and found, in two to five sentences"},
    "keyFindings": {"type": "array", "items": {"type": "string"}, "description": "At most five facts that the next run must know, with numbers and names; empty when there is nothing new"},
    "nextAction": {"type": "string", "description": "What the next run should do first; empty when it only has to do the same again"},
    "unfinished": {"type": "string", "description": "What this run was asked to do and did not; empty when nothing"}
  }
}`)

// Parse reads what a model wrote. It refuses what is not of the shape and cuts
// what is too long: a long summary is worth more than none.
func Parse(text string) (Handoff, error) {
	text = strings.TrimSpace(text)
	if open := strings.IndexByte(text, '{'); open >= 0 { // some models wrap JSON in prose or a fence
		if end := strings.LastIndexByte(text, '}'); end > open {
			text = text[open : end+1]
		}
	}
	var h Handoff
	if err := json.Unmarshal([]byte(text), &h); err != nil {
		return Handoff{}, fmt.Errorf("read a handoff: %w", err)
	}
	h = h.fit()
	if h.Title == "" || h.Summary == "" {
		return Handoff{}, fmt.Errorf("read a handoff: title and summary may not be empty")
	}
	return h, nil
}

// fit trims and cuts every part to its limit.
func (h Handoff) fit() Handoff {
	out := Handoff{
		Title:       Cut(oneLine(h.Title), MaxTitle),
		Summary:     Cut(strings.TrimSpace(h.Summary), MaxSummary),
		KeyFindings: []string{},
		NextAction:  Cut(strings.TrimSpace(h.NextAction), MaxNextAction),
		Unfinished:  Cut(strings.TrimSpace(h.Unfinished), MaxNextAction),
	}
	for _, f := range h.KeyFindings {
		if f = Cut(oneLine(f), MaxFinding); f != "" && len(out.KeyFindings) < MaxFindings {
			out.KeyFindings = append(out.KeyFindings, f)
		}
	}
	return out
}

// Facts are what is known of a run without asking a model.
type Facts struct {
	TaskName  string
	Status    string   // topic status: completed, failed, timeout, canceled
	Reason    string   // completion reason and detail, in words
	FinalText string   // the agent's last text, perhaps empty
	Error     string   // for people
	Written   []string // titles of documents that the run wrote
	Briefs    []string // titles of briefs that it opened
	Steps     int
	Partial   bool // it stopped at a limit, with what it had
}

// Fallback makes a handoff from facts alone: when the model is down, when its
// answer is of no use, or when there is nothing to summarise. It never invents.
func Fallback(f Facts) Handoff {
	var h Handoff
	lines := contentLines(f.FinalText)
	switch {
	case len(lines) > 0:
		h.Title = lines[0]
	case f.Error != "":
		h.Title = f.TaskName + ": " + f.Error
	default:
		h.Title = f.TaskName + ": " + f.Status
	}
	var sum []string
	if f.Error != "" {
		sum = append(sum, "The run "+f.Status+": "+f.Error)
	} else {
		sum = append(sum, fmt.Sprintf("The run ended as %s after %d steps.", f.Status, f.Steps))
	}
	if text := strings.TrimSpace(f.FinalText); text != "" {
		sum = append(sum, Cut(text, MaxSummary-500))
	}
	h.Summary = strings.Join(sum, "\n\n")
	for _, l := range bullets(f.FinalText) {
		if len(h.KeyFindings) < 5 {
			h.KeyFindings = append(h.KeyFindings, l)
		}
	}
	for _, d := range f.Written {
		h.KeyFindings = append(h.KeyFindings, "Wrote the document “"+d+"”.")
	}
	for _, b := range f.Briefs {
		h.KeyFindings = append(h.KeyFindings, "Opened the brief “"+b+"”.")
	}
	if f.Partial || f.Error != "" {
		h.NextAction = "Take up the task where this run stopped."
	}
	return h.Of(f).fit()
}

// Of makes sure that the handoff of a partial run says that something is left,
// also when the model that wrote it did not.
func (h Handoff) Of(f Facts) Handoff {
	if f.Partial && h.Unfinished == "" {
		h.Unfinished = "The run stopped before it was done (" + f.Reason + ")."
	}
	return h
}

// Cut shortens s to at most n characters, with an ellipsis where it was cut.
func Cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return strings.TrimRight(string(r[:n-1]), " \n\t") + "…"
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// contentLines returns the lines of s that say something, without Markdown's
// signs at their beginning.
func contentLines(s string) []string {
	var out []string
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#>*-_` \t"))
		if line != "" {
			out = append(out, line)
		}
	}
	return out
}

func bullets(s string) []string {
	var out []string
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "- "); ok {
			out = append(out, rest)
		} else if rest, ok := strings.CutPrefix(line, "* "); ok {
			out = append(out, rest)
		}
	}
	return out
}
