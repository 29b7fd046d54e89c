package offline

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dogwatch/dogwatch/internal/domain/turn"
)

// structured answers a request for JSON: what the text at hand gives for the
// properties whose meaning it knows, and the least that the schema allows for
// all others.
func structured(req turn.Request) string {
	var schema any
	if json.Unmarshal(req.Output.Schema, &schema) != nil {
		return "{}"
	}
	f := &filler{root: schema, facts: factsOf(material(req))}
	b, err := json.Marshal(f.value(schema, "", 0))
	if err != nil {
		return "{}"
	}
	return string(b)
}

// material returns the text that a structured answer is about: a report of ours
// wherever it stands, else what flow/settle marks as the report or the ending of
// a run, else the last thing that was said, else all of it.
func material(req turn.Request) string {
	end := "_" + Disclaimer + "_"
	var all []string
	for i := len(req.Messages) - 1; i >= 0; i-- {
		m := req.Messages[i]
		if before, _, ok := strings.Cut(m.Content, end); ok {
			if start := strings.LastIndex("\n"+before, "\n# "); start >= 0 {
				return before[start:] + end
			}
		}
		if m.Role != turn.System {
			all = append(all, m.Content)
		}
	}
	for _, name := range []string{"report", "ending"} {
		for _, text := range all {
			s, ok := section(text, name)
			if intro, rest, several := strings.Cut(s, "\n"); several && name == "report" && len(intro) < 80 {
				s = rest // the line that says what the section is
			}
			if ok && s != "" {
				return s
			}
		}
	}
	for i := len(req.Messages) - 1; i >= 0; i-- {
		if m := req.Messages[i]; m.Role == turn.Assistant && strings.TrimSpace(m.Content) != "" {
			return m.Content
		}
	}
	slices.Reverse(all)
	return strings.Join(all, "\n\n")
}

// factsOf reads a report of ours back into its parts; of any other text it takes
// the sentences that stand out.
func factsOf(text string) map[string]any {
	lists, title := map[string][]string{}, ""
	heading := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "# "):
			title = line[2:]
		case strings.HasPrefix(line, "## "):
			heading = line[3:]
		case strings.HasPrefix(line, "- "):
			lists[heading] = append(lists[heading], line[2:])
		case heading == headRead && line != "" && !strings.HasPrefix(line, "_"):
			lists[headRead] = append(lists[headRead], line)
		}
	}
	if !strings.Contains(text, Disclaimer) || title == "" {
		return factsOfProse(text)
	}
	// What is asked keeps its wording while it stays the same, so that it is news once.
	var findings []string
	for _, h := range []string{headDecisions, headOld} {
		for _, d := range lists[h] {
			findings = append(findings, "Decision asked: "+d)
		}
	}
	for _, d := range lists[headAnswers] {
		findings = append(findings, "Decided: "+d)
	}
	changes := slices.DeleteFunc(slices.Clone(lists[headChanges]), func(s string) bool { return s == noChange })
	for _, list := range [][]string{changes, lists[headFigures], lists[headFindings]} {
		findings = append(findings, list...)
	}
	findings = findings[:min(len(findings), mostFindings)]
	nothing := len(lists[headDecisions]) == 0 && slices.Contains(lists[headChanges], noChange)
	if nothing { // what stands out in texts that did not change was told before
		findings = slices.DeleteFunc(findings, func(s string) bool {
			return !strings.HasPrefix(s, "Decision asked: ") && !strings.HasPrefix(s, "Decided: ")
		})
	}
	summary := []string{title + "."}
	summary = append(summary, lists[headFigures]...)
	if found := lists[headFindings]; len(found) > 0 {
		summary = append(summary, found[0])
	}
	summary = []string{short(strings.Join(summary, " "), 1000), "(" + Disclaimer + ")"}
	if read := lists[headRead]; len(read) > 0 { // last: it is for the next run, not for people
		summary = append(summary, "Read: "+strings.Join(read, " ")+".")
	}
	next := "Compare with this run and look at documents that are new or have a new version."
	if n := len(lists[headDecisions]); n > 0 {
		next = "Look at the answer to " + plural(n, "decision") + " first; then compare documents with this run."
	}
	reason := title
	if nothing {
		reason = "nothing is new since the last run"
	}
	facts := map[string]any{
		"title": short(title, 50), "summary": strings.Join(summary, " "), "keyFindings": findings, "nextAction": next,
		"emit": !nothing, "reason": short(reason, 120),
	}
	if u := lists[headUnread]; len(u) > 0 {
		facts["unfinished"] = u
	}
	return facts
}

func factsOfProse(text string) map[string]any {
	all := sentencesOf(text, 0)
	rank(all)
	picked := pick(all, 5, 5)
	if len(all) <= 5 || len(picked) == 0 { // too short to choose from
		picked = all[:min(len(all), 5)]
	}
	if len(picked) == 0 {
		nothing := "The run left no text."
		return map[string]any{
			"title": nothing, "summary": nothing + " (" + Disclaimer + ")", "keyFindings": []string{},
			"nextAction": "Start from the beginning.", "emit": false, "reason": nothing,
		}
	}
	var findings []string
	for _, s := range picked {
		findings = append(findings, short(s.text, 240))
	}
	return map[string]any{
		"title": short(picked[0].text, 50), "summary": strings.Join(findings[:min(2, len(findings))], " ") + " (" + Disclaimer + ")",
		"keyFindings": findings, "nextAction": "Go on from: " + short(picked[len(picked)-1].text, 150),
		"emit": true, "reason": "the run ended with a text",
	}
}

// mostFindings is how many findings a handoff gets; domain/handoff keeps ten.
const mostFindings = 8

// filler builds a value that a schema accepts.
type filler struct {
	root  any
	facts map[string]any
	made  int // values so far
}

// mostValues bounds what a schema may demand: lists of lists of a million.
const mostValues = 10_000

// deepest bounds a schema that refers to itself.
const deepest = 24

// value returns a value for a schema: the fact of that name when the schema
// takes it, else the least.
func (f *filler) value(schema any, name string, depth int) any {
	s, ok := schema.(map[string]any)
	if f.made++; !ok || depth > deepest || f.made > mostValues {
		return nil
	}
	if ref, ok := s["$ref"].(string); ok {
		return f.value(f.resolve(ref), name, depth+1)
	}
	if c, ok := s["const"]; ok {
		return c
	}
	if e, ok := s["enum"].([]any); ok && len(e) > 0 {
		return e[0]
	}
	for _, k := range []string{"allOf", "anyOf", "oneOf"} {
		if list, ok := s[k].([]any); ok && len(list) > 0 && s["type"] == nil && s["properties"] == nil {
			return f.value(list[0], name, depth+1)
		}
	}
	kind, _ := s["type"].(string)
	if kinds, ok := s["type"].([]any); ok && len(kinds) > 0 {
		kind, _ = kinds[0].(string)
	}
	if kind == "" && s["properties"] != nil {
		kind = "object"
	}
	fact, known := f.facts[name]
	switch kind {
	case "object":
		return f.object(s, depth)
	case "array":
		return f.array(s, fact, depth)
	case "string":
		text, ok := fact.(string)
		if list, isList := fact.([]string); isList {
			text, ok = strings.Join(list, "; "), true
		}
		return fitted(s, text, known && ok)
	case "boolean":
		b, _ := fact.(bool)
		return b
	case "integer", "number":
		for _, k := range []string{"default", "minimum"} {
			if n, ok := s[k].(float64); ok {
				return n
			}
		}
		if n, ok := s["exclusiveMinimum"].(float64); ok {
			return n + 1
		}
		if n, ok := s["maximum"].(float64); ok && n < 0 {
			return n
		}
		return 0
	}
	return nil
}

// object fills the required properties, and of the others those whose meaning
// is known.
func (f *filler) object(s map[string]any, depth int) map[string]any {
	out := map[string]any{}
	props, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, r := range required {
		if name, ok := r.(string); ok {
			out[name] = f.value(props[name], name, depth+1)
		}
	}
	for name, p := range props {
		if _, known := f.facts[name]; known {
			out[name] = f.value(p, name, depth+1)
		}
	}
	return out
}

func (f *filler) array(s map[string]any, fact any, depth int) []any {
	least, _ := s["minItems"].(float64)
	most, bounded := s["maxItems"].(float64)
	out := []any{}
	list, _ := fact.([]string)
	if text, ok := fact.(string); ok {
		list = []string{text}
	}
	item, _ := s["items"].(map[string]any)
	for _, x := range list {
		if bounded && len(out) >= int(most) {
			break
		}
		if kind, ok := item["type"]; item == nil || !ok || kind == "string" {
			out = append(out, fitted(item, x, true))
		}
	}
	for len(out) < int(min(least, mostValues)) && f.made <= mostValues {
		out = append(out, f.value(s["items"], "", depth+1))
	}
	return out
}

// fitted cuts or pads a text to what a schema allows.
func fitted(s map[string]any, text string, known bool) string {
	if !known {
		text, _ = s["default"].(string)
	}
	if most, ok := s["maxLength"].(float64); ok && utf8.RuneCountInString(text) > int(most) {
		if most < 2 {
			return string([]rune(text)[:int(most)])
		}
		text = short(text, int(most))
	}
	if least, ok := s["minLength"].(float64); ok {
		for n := utf8.RuneCountInString(text); n < int(min(least, 10_000)); n++ {
			text += "-"
		}
	}
	return text
}

// resolve follows a reference within the schema.
func (f *filler) resolve(ref string) any {
	at := f.root
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		m, ok := at.(map[string]any)
		if part == "" {
			continue
		}
		if !ok {
			return nil
		}
		at = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	if at == nil {
		return nil
	}
	return at
}
