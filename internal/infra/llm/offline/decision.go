package offline

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// decision is a sentence that asks somebody to decide.
type decision struct {
	sentence
	source  string // the document's title
	context []string
}

var (
	// asks is how a decision is asked for, in English and Chinese.
	asks = regexp.MustCompile(`(?i)\bplease\s+(?:\w+\s+)?(approve|decide|authori[sz]e|sign off|advise whether|confirm (?:whether|if|that we)|let (?:me|us) know (?:whether|if)|choose)\b` +
		`|\b(should|shall|may|can|could) (?:we|i)\b[^.?!]*\?` +
		`|\bdo you (?:want|approve|agree)\b[^.?!]*\?` +
		`|\b(?:needs?|requires?|awaiting|awaits?|waiting for|pending) (?:your |a |an |the |my )?(?:\w+ )?(?:decision|approval|sign-?off|go-ahead)\b` +
		`|\b(?:refund|replacement|credit|compensation|discount)\b[^.?!]*\?` +
		`|\b(?:i|we) (?:would like|want|demand|request|ask for) (?:a |my |our |the )?(?:full |partial )?(?:refund|money back|replacement)\b` +
		`|请(?:您)?(?:尽快)?(?:批准|审批|决定|定夺|确认是否)|需要(?:您|你|领导)?(?:的)?(?:决定|批准|审批|拍板)|是否(?:同意|批准|应该|可以|要)|要不要|能否退款|要求退款`)
	// settled is how a text says that there is nothing to decide any more.
	settled = regexp.MustCompile(`(?i)\b(?:was|were|has been|have been|already|got) (?:approved|decided|declined|refunded|authori[sz]ed|rejected|signed off)\b` +
		`|\bno (?:\w+ )?(?:approval|decision|sign-?off)\b|\bnothing to decide\b|已(?:经)?(?:批准|决定|退款|拒绝)|无需(?:批准|决定|审批)`)
	urgent = regexp.MustCompile(`(?i)\b(urgent|urgently|asap|immediately|by (?:today|tonight|tomorrow)|right away|deadline)\b|紧急|尽快|立即|马上`)
)

// findDecisions returns the requests to decide in documents. One that what is
// known already (the prompt's briefs, answers and handoffs) speaks of is in old.
func findDecisions(sentences []sentence, title func(doc int) string, known string) (open, old []decision) {
	var lines []map[string]bool
	for _, s := range split(known) {
		lines = append(lines, wordSet(s))
	}
	for i, s := range sentences {
		if !asks.MatchString(s.text) || settled.MatchString(s.text) {
			continue
		}
		d := decision{sentence: s, source: title(s.doc)}
		for j := max(0, i-2); j <= min(len(sentences)-1, i+1); j++ {
			if j != i && sentences[j].doc == s.doc {
				d.context = append(d.context, sentences[j].text)
			}
		}
		same := func(o decision) bool { return sameRequest(d.words, o.words) }
		switch {
		case slices.ContainsFunc(open, same), slices.ContainsFunc(old, same):
		case strings.Contains(known, d.key()), slices.ContainsFunc(lines, d.spokenOf):
			old = append(old, d)
		case len(open) < mostDecisions:
			open = append(open, d)
		}
	}
	return open, old
}

// sameRequest reports whether a line speaks of a request: most of its words,
// and all of its numbers.
func sameRequest(request, line map[string]bool) bool {
	for _, n := range numbers(request) {
		if !line[n] {
			return false
		}
	}
	return overlap(request, line) >= 0.7
}

// spokenOf reports whether a line of what is known speaks of the request, by its
// words or by its title, which is what a brief shows of it.
func (d decision) spokenOf(line map[string]bool) bool {
	return sameRequest(d.words, line) || sameRequest(wordSet(d.title()), line)
}

// key names a request for good: the same words of the same document.
func (d decision) key() string {
	return "ask-" + fingerprint(d.source+"\x00"+strings.Join(sortedKeys(d.words), " "))
}

// title is the request as a question.
func (d decision) title() string {
	t := regexp.MustCompile(`(?i)^please\s+`).ReplaceAllString(d.text, "")
	t = strings.TrimRight(t, ".!。！ ")
	if r := []rune(t); len(r) > 0 {
		t = string(unicode.ToUpper(r[0])) + string(r[1:])
	}
	if t = short(t, 79); !strings.HasSuffix(t, "?") && !strings.HasSuffix(t, "？") {
		t += "?"
	}
	return t
}

// brief writes the arguments of create_brief.
func (d decision) brief() string {
	var b strings.Builder
	fmt.Fprintf(&b, "> %s\n\n— from “%s”.\n", short(d.text, 500), d.source)
	if len(d.context) > 0 {
		fmt.Fprintf(&b, "\nBeside it stands: %s\n", short(strings.Join(d.context, " "), 500))
	}
	fmt.Fprintf(&b, "\n_%s It found the wording of a request here; read the source before you decide._", Disclaimer)
	approve, decline := "Approve", "Decline"
	if strings.ContainsFunc(d.text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		approve, decline = "批准", "拒绝"
	}
	priority := "normal"
	if urgent.MatchString(d.text + " " + strings.Join(d.context, " ")) {
		priority = "urgent"
	}
	out, _ := json.Marshal(map[string]any{ // strings always marshal
		"type": "decision", "title": d.title(), "summary": b.String(), "priority": priority, "key": d.key(),
		"choices": []map[string]string{{"key": "approve", "label": approve}, {"key": "decline", "label": decline}},
	})
	return string(out)
}
