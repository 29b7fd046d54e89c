package offline

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// analysis is what a run found.
type analysis struct {
	first      bool // there is no earlier run
	read       []document
	unreadable []string // references
	notRead    int      // beyond what one run reads
	fresh      []string // titles of documents that are new or have a new version
	changes    []string // in tables
	tables     []string
	odd        []string // values that stand out
	sentences  []sentence
	decisions  []decision
	old        []decision // asked or answered before
	answers    []string   // what people decided
	said       []string   // what people said
	titles     []string
}

// seenName is a document's reference in a report. Of a long one, a UUID, the end
// is enough to tell documents of one task apart, and 32 of them fit a handoff.
func seenName(ref string) string { return ref[max(0, len(ref)-12):] }

// seenDocument is how a report names a document and its version; the next run
// compares with it.
var seenDocument = regexp.MustCompile(`\[([^\[\]]+?) v(\d+)\]`)

// analyse looks at everything that was read.
func analyse(p runPrompt, listed []document, c conversation) analysis {
	a := analysis{first: strings.TrimSpace(p.previous) == ""}
	before := map[string]int{}
	for _, m := range seenDocument.FindAllStringSubmatch(p.previous, -1) {
		v, _ := strconv.Atoi(m[2])
		before[m[1]] = max(before[m[1]], v)
	}
	fresh := map[int]bool{}
	var all []sentence
	for _, d := range listed {
		text, ok := c.content(d.ref)
		if !ok && d.text != "" {
			text, ok = d.text, true
		}
		if !ok {
			if c.asked(d.ref) {
				a.unreadable = append(a.unreadable, d.ref)
			} else {
				a.notRead++
			}
			continue
		}
		i := len(a.read)
		a.read, a.titles = append(a.read, d), append(a.titles, d.title)
		version, known := before[seenName(d.ref)]
		switch {
		case a.first:
		case known && d.version > 0:
			fresh[i] = version < d.version
		default: // the last run did not read it, or was another model's
			fresh[i] = d.fresh || len(before) > 0
		}
		if fresh[i] {
			a.fresh = append(a.fresh, d.title)
		}
		if t, ok := readTable(d.title, text); ok {
			summary, odd, changes := t.facts(p.previous)
			a.tables, a.odd, a.changes = append(a.tables, summary), append(a.odd, odd...), append(a.changes, changes...)
			continue
		}
		all = append(all, sentencesOf(text, i)...)
	}
	if len(listed) == 0 { // then the task is all there is to work on
		a.titles = []string{"the task"}
		all = sentencesOf(p.task, 0)
	}
	rank(all)
	if len(listed) > 0 {
		a.decisions, a.old = findDecisions(all, func(doc int) string { return a.titles[doc] },
			strings.Join([]string{p.decided, p.feedback, p.previous}, "\n"))
	}
	// After the first run only what is new stands out; what asks for a decision
	// stands under its own heading.
	a.sentences = pick(slices.DeleteFunc(all, func(s sentence) bool {
		told := !a.first && len(listed) > 0 && !fresh[s.doc]
		same := func(d decision) bool { return d.doc == s.doc && d.place == s.place }
		return told || slices.ContainsFunc(a.decisions, same) || slices.ContainsFunc(a.old, same)
	}), 6, 2)
	for _, it := range items(p.decided) {
		if strings.Contains(it, "answered with") && len(a.answers) < 5 {
			a.answers = append(a.answers, short(it, 240))
		}
	}
	for _, it := range items(p.feedback) {
		a.said = append(a.said, short(it, 240))
	}
	return a
}

func sentencesOf(text string, doc int) []sentence {
	var out []sentence
	for i, s := range split(text) {
		out = append(out, sentence{text: s, doc: doc, place: i, words: wordSet(s)})
	}
	return out
}

// headline says in a few words what came out.
func (a analysis) headline() string {
	var parts []string
	switch {
	case len(a.read) == 0:
		parts = append(parts, "No documents to read")
	case a.first:
		parts = append(parts, "Baseline of "+plural(len(a.read), "document"))
	case len(a.fresh) == 0:
		parts = append(parts, "No new documents")
	default:
		parts = append(parts, plural(len(a.fresh), "new or changed document"))
	}
	if n := len(a.odd); n > 0 {
		parts = append(parts, plural(n, "odd value"))
	}
	if n := len(a.decisions); n > 0 {
		parts = append(parts, plural(n, "decision"))
	}
	return strings.Join(parts, ", ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Headings of a report; the handoff is read off them.
const (
	headChanges   = "Since the last run"
	headDecisions = "Needs a decision"
	headOld       = "Asked before"
	headFigures   = "Figures"
	headFindings  = "What stands out"
	headAnswers   = "People decided"
	headSaid      = "People said"
	headUnread    = "Not read"
	headRead      = "Read"
	noChange      = "No document is new or has a new version."
)

// report writes the final text of a run.
func (a analysis) report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", a.headline())
	list := func(heading string, items []string) {
		if len(items) == 0 {
			return
		}
		fmt.Fprintf(&b, "\n## %s\n\n", heading)
		for _, it := range items {
			fmt.Fprintf(&b, "- %s\n", it)
		}
	}
	var changes, decisions, old, findings, unread, read []string
	for _, t := range a.fresh {
		changes = append(changes, "New or changed: "+t)
	}
	changes = append(changes, a.changes...)
	if !a.first && len(changes) == 0 && len(a.read) > 0 {
		changes = append(changes, noChange)
	}
	for _, d := range a.decisions {
		decisions = append(decisions, fmt.Sprintf("%s (from “%s”)", short(d.text, 240), d.source))
	}
	for _, d := range a.old {
		old = append(old, fmt.Sprintf("%s (from “%s”)", short(d.text, 240), d.source))
	}
	for _, s := range a.sentences {
		findings = append(findings, fmt.Sprintf("%s (%s)", short(s.text, 240), a.titles[s.doc]))
	}
	for _, ref := range a.unreadable {
		unread = append(unread, ref+" could not be read")
	}
	if a.notRead > 0 {
		unread = append(unread, plural(a.notRead, "further document")+", beyond what one run reads")
	}
	for _, d := range a.read {
		read = append(read, fmt.Sprintf("[%s v%d]", seenName(d.ref), max(d.version, 1)))
	}
	list(headChanges, changes)
	list(headDecisions, decisions)
	list(headOld, old)
	list(headFigures, append(a.tables, a.odd...))
	list(headFindings, findings)
	list(headAnswers, a.answers)
	list(headSaid, a.said)
	list(headUnread, unread)
	if len(read) > 0 {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", headRead, strings.Join(read, " "))
	}
	fmt.Fprintf(&b, "\n_%s_\n", Disclaimer)
	return b.String()
}
