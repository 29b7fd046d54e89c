package offline

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"regexp"
	"strconv"
	"strings"

	"github.com/dogwatch/dogwatch/internal/domain/turn"
)

// document is a document that the prompt lists.
type document struct {
	ref     string // what read_document takes
	title   string
	version int
	fresh   bool   // marked as new or changed
	text    string // when the prompt holds it
}

// runPrompt is what a run was told.
type runPrompt struct {
	task      string
	feedback  string // people's comments and answers
	previous  string // handoffs of earlier runs
	decided   string // what people were asked, with their answers
	documents []document
}

// readPrompt takes the sections out of a prompt, as domain/prompt tags them. What
// is missing stays empty, and a prompt without any is all task.
func readPrompt(req turn.Request) runPrompt {
	var text strings.Builder
	for _, m := range req.Messages {
		if m.Role == turn.User {
			text.WriteString(m.Content)
			text.WriteString("\n")
		}
	}
	all := text.String()
	first := func(names ...string) string {
		for _, n := range names {
			if s, ok := section(all, n); ok {
				return s
			}
		}
		return ""
	}
	p := runPrompt{
		task:     first("instruction", "task"),
		feedback: first("feedback"),
		previous: first("previous_runs"),
		decided:  first("decisions"),
	}
	p.documents = parseDocuments(first("documents"))
	if !strings.Contains(all, "</") {
		p.task = all
	}
	return p
}

// section returns what stands between <name …> and </name>.
func section(s, name string) (string, bool) {
	for rest := s; ; {
		i := strings.Index(rest, "<"+name)
		if i < 0 {
			return "", false
		}
		rest = rest[i+1+len(name):]
		if rest == "" || !strings.ContainsRune("> \t\r\n", rune(rest[0])) {
			continue // <taskforce>
		}
		open := strings.IndexByte(rest, '>')
		end := strings.LastIndex(rest, "</"+name+">")
		if open < 0 || end < open {
			return "", false
		}
		return strings.TrimSpace(rest[open+1 : end]), true
	}
}

var (
	documentTag = regexp.MustCompile(`(?s)<(?:document|doc)\s([^>]*?)(/?)>`)
	attribute   = regexp.MustCompile(`([\w-]+)\s*=\s*"([^"]*)"`)
	freshWord   = regexp.MustCompile(`(?i)\b(new|updated|changed|unread|modified)\b`)
	versionWord = regexp.MustCompile(`(?i)\b(?:v|version\s*)(\d+)\b`)
	listLine    = regexp.MustCompile(`^\s*(?:[-*•]|\d+[.)])\s+(.*)$`)
	refWord     = regexp.MustCompile("`([^`]+)`|\\bid[=:]\\s*\"?([\\w./-]+)|\\[([\\w./-]+)\\]|\\b([0-9a-f]{8}-[0-9a-f-]{27})\\b|\\b([A-Z]+-\\d+)\\b")
)

// parseDocuments reads a list of documents in the forms that lists have: JSON,
// elements with attributes, or lines with the reference in some mark.
func parseDocuments(s string) []document {
	if docs := jsonDocuments(s); docs != nil {
		return docs
	}
	var docs []document
	seen := map[string]bool{}
	add := func(d document) {
		if d.ref != "" && !seen[d.ref] {
			seen[d.ref] = true
			if d.title == "" {
				d.title = d.ref
			}
			docs = append(docs, d)
		}
	}
	for _, m := range documentTag.FindAllStringSubmatchIndex(s, -1) {
		var d document
		attrs := s[m[2]:m[3]]
		for _, a := range attribute.FindAllStringSubmatch(attrs, -1) {
			d.set(strings.ToLower(a[1]), a[2])
		}
		if inner, rest := s[m[1]:], s[m[4]:m[5]]; rest == "" {
			if end := strings.Index(inner, "</doc"); end >= 0 {
				d.text = strings.TrimSpace(inner[:end])
			}
		}
		add(d)
	}
	if len(docs) > 0 {
		return docs
	}
	for line := range strings.Lines(s) {
		m := listLine.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil {
			continue
		}
		ref := refWord.FindStringSubmatch(m[1])
		if ref == nil {
			continue
		}
		// What stands after the title says when and how; a title may say "new" too.
		title, tail := strings.Replace(m[1], ref[0], "", 1), ""
		if open, end := strings.Index(title, "“"), strings.LastIndex(title, "”"); open >= 0 && end > open {
			title, tail = title[open:end], title[end:]
		} else if open := strings.LastIndex(title, "("); open >= 0 {
			title, tail = title[:open], title[open:]
		}
		d := document{
			ref: strings.Join(ref[1:], ""), title: strings.Trim(title, " \t:—–-\"“”\n"), fresh: freshWord.MatchString(tail),
		}
		if v := versionWord.FindStringSubmatch(tail); v != nil {
			d.version, _ = strconv.Atoi(v[1])
		}
		add(d)
	}
	return docs
}

func (d *document) set(key, value string) {
	switch key {
	case "id", "ref", "identifier":
		d.ref = value
	case "title", "name":
		d.title = value
	case "version", "v":
		d.version, _ = strconv.Atoi(strings.TrimPrefix(value, "v"))
	case "status", "state", "change", "since":
		d.fresh = d.fresh || freshWord.MatchString(value)
	case "new", "updated", "changed":
		d.fresh = d.fresh || value != "false" && value != ""
	}
}

// jsonDocuments reads a list of documents as JSON, nil when it is none.
func jsonDocuments(s string) []document {
	var entries []map[string]any
	if json.Unmarshal([]byte(s), &entries) != nil {
		var page map[string]json.RawMessage
		if json.Unmarshal([]byte(s), &page) != nil {
			return nil
		}
		for _, k := range []string{"documents", "items", "data"} {
			if json.Unmarshal(page[k], &entries) == nil {
				break
			}
		}
	}
	var docs []document
	for _, e := range entries {
		var d document
		for _, k := range []string{"identifier", "ref", "id", "title", "name", "version", "status", "new", "updated", "changed"} {
			if v, ok := e[k]; ok {
				d.set(k, fmt.Sprint(v))
			}
		}
		if d.ref != "" {
			docs = append(docs, d)
		}
	}
	return docs
}

// items returns the entries of a section that is a list, without its introduction.
func items(section string) []string {
	var out []string
	for line := range strings.Lines(section) {
		if rest, ok := strings.CutPrefix(strings.TrimRight(line, " \n"), "- "); ok {
			out = append(out, rest)
		} else if n := len(out); n > 0 && strings.TrimSpace(line) != "" {
			out[n-1] += " " + strings.TrimSpace(line)
		}
	}
	return out
}

// fingerprint is a short name for a text.
func fingerprint(s string) string {
	h := fnv.New64a()
	h.Write([]byte(s))
	return fmt.Sprintf("%08x", h.Sum64()&0xffffffff)
}
