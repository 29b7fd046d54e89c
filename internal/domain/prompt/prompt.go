// Package prompt turns facts into text for a model, under a budget of tokens.
package prompt

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Estimate returns about how many tokens a model makes of a text: a token is some
// four letters of a Latin script, or one sign of a script without blanks. It is a
// little high rather than low, since it guards limits.
func Estimate(text string) int {
	narrow, wide := 0, 0
	for _, r := range text {
		if r < 0x2E80 {
			narrow++
		} else {
			wide++
		}
	}
	return (narrow+3)/4 + wide
}

// Section is a part of a prompt. A tag keeps material apart from instructions.
type Section struct {
	Tag   string
	Intro string   // one line that says what this is
	Items []string // the most important first; what does not fit is left out from the end
	// Share is the most that the section may take of the whole budget, in percent;
	// what it does not use is free for those after it.
	Share int
	// Must sections are cut, never dropped.
	Must bool
}

// Part is a section as it was written.
type Part struct {
	Tag     string
	Tokens  int
	Items   int
	Omitted int // items that did not fit
}

// MustTokens is what a section that must be there gets at least, however little of
// the budget is left: enough for an instruction of a few sentences.
const MustTokens = 200

// Slack is by how many tokens a prompt of n sections, of which must are there in
// any case, may exceed its budget.
func Slack(n, must int) int { return must*MustTokens + n*noteTokens }

// noteTokens is what a section's line about omitted items takes, and the blank
// lines between sections.
const noteTokens = 12

// Build writes the sections in their order, within budget tokens and [Slack].
// Items are cut at the section's share, with a line that says how many were left
// out, so that a prompt is no larger after a thousand runs than after ten.
func Build(sections []Section, budget int) (string, []Part) {
	var b strings.Builder
	var parts []Part
	left := budget
	for _, s := range sections {
		if len(s.Items) == 0 {
			continue
		}
		room := max(min(left, budget*s.Share/100), 0)
		if s.Must {
			room = max(room, MustTokens)
		}
		text, part := s.write(room)
		if text == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(text)
		left -= part.Tokens
		parts = append(parts, part)
	}
	return b.String(), parts
}

func (s Section) write(room int) (string, Part) {
	open, end := "<"+s.Tag+">\n", "\n</"+s.Tag+">"
	if s.Intro != "" {
		open += s.Intro + "\n"
	}
	room -= Estimate(open + end)
	p := Part{Tag: s.Tag}
	var kept []string
	for i, item := range s.Items {
		item = s.fence(item)
		need := Estimate(item) + 1
		if need > room {
			if len(kept) == 0 && (s.Must || room > 50) {
				kept, p.Items = append(kept, Clip(item, room)), 1
				i++
			}
			p.Omitted = len(s.Items) - i
			break
		}
		kept, room, p.Items = append(kept, item), room-need, p.Items+1
	}
	if len(kept) == 0 {
		return "", p
	}
	text := open + strings.Join(kept, "\n")
	if p.Omitted > 0 {
		text += fmt.Sprintf("\n(%d more are left out here.)", p.Omitted)
	}
	text += end
	p.Tokens = Estimate(text)
	return text, p
}

// fence keeps an item from closing its own section: what people, tools and the
// web write is material, and may not pass for the frame around it.
func (s Section) fence(item string) string { return Fence(item, s.Tag) }

// Fence breaks whatever in a text would close a tag, in any case and with any
// blanks: a model reads "</ TASK >" as well as "</task>". A character without
// width is all that is added.
func Fence(text, tag string) string {
	var b strings.Builder
	for {
		open := strings.IndexByte(text, '<')
		if open < 0 {
			break
		}
		b.WriteString(text[:open+1])
		text = text[open+1:]
		rest := strings.TrimLeftFunc(text, unicode.IsSpace)
		if !strings.HasPrefix(rest, "/") {
			continue
		}
		if rest = strings.TrimLeftFunc(rest[1:], unicode.IsSpace); len(rest) >= len(tag) && strings.EqualFold(rest[:len(tag)], tag) {
			b.WriteRune('\u200b')
		}
	}
	b.WriteString(text)
	return b.String()
}

// Clip cuts a text to about n tokens and says so.
func Clip(text string, n int) string {
	if Estimate(text) <= n {
		return text
	}
	const note = " […cut]"
	n = max(n-Estimate(note), 0)
	used, end := 0, 0 // quarter tokens
	for i, r := range text {
		cost := 1
		if r >= 0x2E80 {
			cost = 4
		}
		if used+cost > n*4 {
			break
		}
		used, end = used+cost, i+utf8.RuneLen(r)
	}
	return text[:end] + note
}
