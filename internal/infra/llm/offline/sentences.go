package offline

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// sentence is one sentence of a document.
type sentence struct {
	text  string
	doc   int // which document
	place int // which sentence of it
	words map[string]bool
	score float64
}

var (
	mailHeader   = regexp.MustCompile(`(?i)^(from|to|cc|bcc|date|message-id|reply-to|sent|received|in-reply-to):`)
	leadingMarks = regexp.MustCompile(`^\s*(?:[>#*•-]+\s+|\d+[.)]\s+|\[[ x]\]\s+)*`)
	subject      = regexp.MustCompile(`(?i)^subject:\s*`)
)

// abbreviations end in a point that ends no sentence.
var abbreviations = map[string]bool{
	"mr": true, "mrs": true, "ms": true, "dr": true, "st": true, "no": true, "vs": true, "etc": true, "e.g": true,
	"i.e": true, "approx": true, "fig": true, "inc": true, "ltd": true, "jr": true, "a.m": true, "p.m": true, "u.s": true,
}

// split cuts a text into sentences: at . ! ? before white space, at 。！？ and at
// the end of a line that ends a paragraph or an item. Lines of a paragraph that
// was wrapped are joined first.
func split(text string) []string {
	var out []string
	var paragraph strings.Builder
	flush := func() {
		out = append(out, splitParagraph(paragraph.String())...)
		paragraph.Reset()
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		bare := leadingMarks.ReplaceAllString(line, "")
		if line == "" || bare != line || mailHeader.MatchString(line) || subject.MatchString(line) {
			flush()
		}
		if mailHeader.MatchString(line) || strings.Trim(bare, "-=*_#> ") == "" {
			continue
		}
		if paragraph.Len() > 0 {
			paragraph.WriteByte(' ')
		}
		paragraph.WriteString(subject.ReplaceAllString(bare, ""))
		if strings.HasPrefix(line, "#") || subject.MatchString(line) {
			flush()
		}
	}
	flush()
	return out
}

func splitParagraph(s string) []string {
	var out []string
	r := []rune(s)
	start := 0
	cut := func(end int) {
		if t := strings.TrimSpace(string(r[start:end])); t != "" {
			out = append(out, t)
		}
		start = end
	}
	for i := 0; i < len(r); i++ {
		switch r[i] {
		case '。', '！', '？', '；':
			for i+1 < len(r) && strings.ContainsRune("。！？”’」』）)\"", r[i+1]) {
				i++
			}
			cut(i + 1)
		case '.', '!', '?':
			for i+1 < len(r) && strings.ContainsRune(".!?\"'”’)", r[i+1]) {
				i++
			}
			if i+1 < len(r) && !unicode.IsSpace(r[i+1]) {
				continue // 1.5, example.com
			}
			word := strings.ToLower(strings.Trim(lastWord(r[start:i+1]), ".!?\"'()"))
			if r[i] == '.' && (abbreviations[word] || len(word) == 1 && word >= "a") {
				continue
			}
			cut(i + 1)
		}
	}
	cut(len(r))
	return out
}

func lastWord(r []rune) string {
	i := len(r)
	for i > 0 && !unicode.IsSpace(r[i-1]) {
		i--
	}
	return string(r[i:])
}

// stopWords carry no information. For Chinese, pairs of characters stand for
// words, and common ones are rare enough as pairs.
var stopWords = map[string]bool{}

func init() {
	for _, w := range strings.Fields(`the and for are was were has have had this that with from they them their there here
		will would can could should may might must shall not but you your yours our ours its his her she him who whom which
		what when where why how all any some each more most other than then into over under about after before again also
		been being does did doing just only very too per via yes been please thank thanks dear hello regards best hi`) {
		stopWords[w] = true
	}
}

// words returns the words of a text that carry information: of scripts with
// spaces the words without their plural s, of Han characters each pair.
func words(s string) []string {
	var out []string
	var word, han []rune
	flush := func() {
		if w := strings.ToLower(string(word)); len(word) > 0 {
			number := strings.ContainsFunc(w, unicode.IsDigit)
			if !number && len(w) > 4 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") {
				w = w[:len(w)-1]
			}
			if number || len(word) >= 3 && !stopWords[w] {
				out = append(out, w)
			}
		}
		for i := 0; i+1 < len(han); i++ {
			out = append(out, string(han[i:i+2]))
		}
		word, han = word[:0], han[:0]
	}
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Han, r):
			if len(word) > 0 {
				flush()
			}
			han = append(han, r)
		case unicode.IsLetter(r), unicode.IsDigit(r):
			if len(han) > 0 {
				flush()
			}
			word = append(word, r)
		default:
			flush()
		}
	}
	flush()
	return out
}

func wordSet(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range words(s) {
		set[w] = true
	}
	return set
}

// numbers returns the words of a set that hold a digit: order numbers, amounts,
// dates. Two sentences with different ones speak of different things.
func numbers(set map[string]bool) []string {
	var out []string
	for w := range set {
		if strings.ContainsFunc(w, unicode.IsDigit) {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return out
}

// overlap returns the part of a's words that are in b.
func overlap(a, b map[string]bool) float64 {
	if len(a) == 0 {
		return 0
	}
	n := 0
	for w := range a {
		if b[w] {
			n++
		}
	}
	return float64(n) / float64(len(a))
}

// rank scores sentences: rare words count (inverse document frequency over all
// sentences), averaged so that length alone wins nothing; the beginning of a
// text and figures count more.
func rank(sentences []sentence) {
	frequency := map[string]int{}
	for _, s := range sentences {
		for w := range s.words {
			frequency[w]++
		}
	}
	total := float64(len(sentences))
	for i := range sentences {
		s := &sentences[i]
		if len(s.words) < 4 {
			continue // a heading, a greeting
		}
		sum := 0.0
		for _, w := range sortedKeys(s.words) { // in one order: a sum of floats depends on it
			sum += math.Log(1 + total/float64(frequency[w]))
		}
		s.score = sum / math.Sqrt(float64(len(s.words))) * math.Min(1, float64(len(s.words))/8)
		s.score *= 1 + 0.4/float64(1+s.place)
		if len(numbers(s.words)) > 0 {
			s.score *= 1.2
		}
		if len([]rune(s.text)) > 400 {
			s.score *= 0.5 // a table or a log, not a sentence
		}
	}
}

// pick returns the best sentences in their order, at most perDoc of one
// document, and none that says what another says.
func pick(sentences []sentence, most, perDoc int) []sentence {
	order := slices.Clone(sentences)
	slices.SortStableFunc(order, func(a, b sentence) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	var out []sentence
	count := map[int]int{}
	for _, s := range order {
		if len(out) == most || s.score == 0 {
			break
		}
		same := func(o sentence) bool { return overlap(s.words, o.words) > 0.6 }
		if count[s.doc] < perDoc && !slices.ContainsFunc(out, same) {
			count[s.doc]++
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b sentence) int {
		if a.doc != b.doc {
			return a.doc - b.doc
		}
		return a.place - b.place
	})
	return out
}

func sortedKeys(m map[string]bool) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// short cuts a text to a number of characters, at a space where one is near.
func short(s string, most int) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) <= most {
		return string(r)
	}
	cut := most - 1
	for i := cut; i > cut-15 && i > 0; i-- {
		if r[i] == ' ' {
			cut = i
			break
		}
	}
	return strings.TrimRight(string(r[:cut]), " ,;:") + "…"
}
