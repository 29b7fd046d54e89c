package handoff

import "strings"

// News returns the findings of cur that prev did not have, in their order. Two
// findings are the same when they differ only in case, space and punctuation.
func News(prev, cur Handoff) []string {
	known := map[string]bool{}
	for _, f := range prev.KeyFindings {
		known[essence(f)] = true
	}
	var news []string
	for _, f := range cur.KeyFindings {
		if !known[essence(f)] {
			news = append(news, f)
		}
	}
	return news
}

// Same reports whether two handoffs say the same and ask for the same to be done
// next, by the essence of their words. One that asks for nothing is like no other.
func Same(prev, cur Handoff) bool {
	next := essence(cur.NextAction)
	return next != "" && next == essence(prev.NextAction) && essence(cur.Summary) == essence(prev.Summary)
}

// Quiet reports whether a run found nothing and left nothing undone: the handoff of
// a watch that has no news.
func (h Handoff) Quiet() bool { return len(h.KeyFindings) == 0 && h.Unfinished == "" }

func essence(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		if !strings.ContainsRune(" \t\n.,;:!?'\"()-–—“”*_`，。；：！？", r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Markdown writes the handoff as a person reads it, without its title.
func (h Handoff) Markdown() string {
	var b strings.Builder
	b.WriteString(h.Summary)
	if len(h.KeyFindings) > 0 {
		b.WriteString("\n")
		for _, f := range h.KeyFindings {
			b.WriteString("\n- " + f)
		}
	}
	if h.NextAction != "" {
		b.WriteString("\n\n**Next:** " + h.NextAction)
	}
	if h.Unfinished != "" {
		b.WriteString("\n\n**Unfinished:** " + h.Unfinished)
	}
	return b.String()
}
