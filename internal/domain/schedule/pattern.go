package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/dogwatch/dogwatch/internal/base/errs"
)

// pattern is a cron pattern that was understood. Either every is set, for
// @every, or the calendar.
type pattern struct {
	calendar
	text string // canonical; reads back as the same pattern
	// interval is the class of ISC cron: a pattern whose minute or hour begins
	// with * follows absolute time over a clock change. It belongs to the spelling,
	// so it is never derived from the bit sets: 0-23 is the same hours as *.
	interval bool
	every    time.Duration
}

// maxPattern holds a list of all sixty minutes and all days, and stops a megabyte.
const maxPattern = 512

var (
	fieldParser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

	aliases = map[string]string{
		"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
		"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
	}

	patternFields = [5]struct {
		name   string
		lo, hi int
		words  []string
	}{
		{"minute", 0, 59, nil},
		{"hour", 0, 23, nil},
		{"day of month", 1, 31, nil},
		{"month", 1, 12, strings.Fields("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC")},
		{"weekday", 0, 7, strings.Fields("SUN MON TUE WED THU FRI SAT")},
	}
)

const (
	minuteField  = 0
	hourField    = 1
	domField     = 2
	weekdayField = 4

	starBit = 1 << 63 // the parser's mark for a field that * leaves unrestricted
)

func badPattern(suggestion, format string, args ...any) error {
	return errs.New(errs.Invalid, CodePattern, "%s. %s.", fmt.Sprintf(format, args...), suggestion)
}

// parsePattern reads five fields, an alias or @every. Its grammar comes first: it
// explains what is wrong, and keeps from robfig's parser what that accepts by
// accident ("1,,2", "*-5", "+5", "?") or panics on ("TZ=0"). The bit sets are the
// parser's.
func parsePattern(raw string) (pattern, error) {
	if len(raw) > maxPattern || strings.ContainsFunc(raw, func(r rune) bool { return r > '~' || r < ' ' && r != '\t' }) {
		return pattern{}, badPattern("Write it with plain characters, at most 512", "The pattern is too long or holds characters that no pattern has")
	}
	text := strings.ToUpper(strings.Join(strings.Fields(raw), " "))
	if full, ok := aliases[strings.ToLower(text)]; ok {
		text = full
	}
	switch {
	case text == "":
		return pattern{}, badPattern("Write minute, hour, day of month, month and weekday, like 0 9 * * 1-5", "The pattern is empty")
	case strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ="):
		return pattern{}, badPattern("Name it as timezone", "The time zone does not belong into the pattern")
	case strings.HasPrefix(text, "@EVERY "):
		return parseEvery(strings.ToLower(strings.TrimPrefix(text, "@EVERY ")))
	case text == "@REBOOT":
		return pattern{}, badPattern("Use a heartbeat, whose first run follows at once", "@reboot has no time that could be planned")
	case text[0] == '@':
		return pattern{}, badPattern("Use @hourly, @daily, @weekly, @monthly, @yearly or @every 90m", "%s is not known", raw)
	}
	words := strings.Split(text, " ")
	switch {
	case len(words) == 6 || len(words) == 7:
		return pattern{}, badPattern("Leave out seconds and year, like 0 9 * * 1-5", "The pattern has %d fields, not five", len(words))
	case len(words) != 5:
		return pattern{}, badPattern("Write minute, hour, day of month, month and weekday, like 0 9 * * 1-5", "The pattern has %d fields, not five", len(words))
	}
	for i, word := range words {
		field, err := canonicalField(i, word)
		if err != nil {
			return pattern{}, err
		}
		words[i] = field
	}
	return compilePattern(words)
}

// parseEvery reads the period of @every. The smallest one is the caller's rule.
func parseEvery(text string) (pattern, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second || d%time.Second != 0 {
		return pattern{}, badPattern("Write whole seconds, minutes or hours, like @every 90m", "%q is not a period", text)
	}
	return pattern{text: "@every " + d.String(), every: d}, nil
}

// compilePattern turns five canonical fields into bit sets and refuses what never
// fires.
func compilePattern(words []string) (pattern, error) {
	p := pattern{text: strings.Join(words, " ")}
	p.interval = words[minuteField][0] == '*' || words[hourField][0] == '*'
	parsed, err := fieldParser.Parse(p.text)
	if err != nil {
		return pattern{}, badPattern("Write minute, hour, day of month, month and weekday, like 0 9 * * 1-5", "The pattern cannot be read (%v)", err)
	}
	bits := parsed.(*cron.SpecSchedule) // what a parser without descriptors returns
	p.minute, p.hour, p.month = bits.Minute&^starBit, bits.Hour&^starBit, bits.Month&^starBit
	p.dom, p.dow = bits.Dom&^starBit, bits.Dow&^starBit
	p.either = bits.Dom&starBit == 0 && bits.Dow&starBit == 0
	for m := 1; m <= 12; m++ {
		const leapYear = 2000
		exist := uint64(1)<<(monthLength(leapYear, m)+1) - 1
		if p.month>>m&1 == 1 && (p.either || p.dom&exist != 0) {
			return p, nil
		}
	}
	return pattern{}, badPattern("Choose a day that one of the months has", "No chosen month has a chosen day, so %s would never fire", p.text)
}

// canonicalField writes the parts of one field in numbers, in the order given.
func canonicalField(f int, word string) (string, error) {
	parts := strings.Split(word, ",")
	for i, part := range parts {
		canonical, err := canonicalPart(f, part)
		if err != nil {
			return "", err
		}
		parts[i] = canonical
	}
	return strings.Join(parts, ","), nil
}

// canonicalPart writes "*", "a", "a-b", each perhaps with "/n", in numbers, with
// Sunday as 0.
func canonicalPart(f int, part string) (string, error) {
	name := patternFields[f].name
	span, stepText, stepped := strings.Cut(part, "/")
	step, suffix := 1, ""
	if stepped {
		n, err := strconv.ParseUint(stepText, 10, 16)
		if err != nil || n == 0 {
			return "", badPattern("A step is a whole number from 1, like */15", "The step of %q in the %s cannot be used", part, name)
		}
		step, suffix = int(n), fmt.Sprintf("/%d", n)
	}
	if span == "*" {
		if step == 1 {
			suffix = ""
		}
		return "*" + suffix, nil
	}
	fromText, toText, ranged := strings.Cut(span, "-")
	from, err := fieldValue(f, fromText, part)
	if err != nil {
		return "", err
	}
	to := from
	if ranged {
		if to, err = fieldValue(f, toText, part); err != nil {
			return "", err
		}
		if toText == "SUN" {
			to = 7 // FRI-SUN
		}
	}
	switch {
	case from > to:
		k := patternFields[f]
		return "", badPattern(fmt.Sprintf("Write it in two parts, %d-%d,%d-%d", from, k.hi, k.lo, to), "The range %s of the %s runs backwards", span, name)
	case f == weekdayField && to == 7:
		return listToSunday(from, step), nil
	case ranged:
		return fmt.Sprintf("%d-%d%s", from, to, suffix), nil
	}
	return strconv.Itoa(from) + suffix, nil
}

// listToSunday spells out weekdays that end at 7, since the parser knows Sunday as
// 0 only: 5-7 is 5,6,0 and 1-7/2 is 1,3,5,0.
func listToSunday(from, step int) string {
	var days []string
	for day := from; day <= 7; day += step {
		if day < 7 || from > 0 { // 0-7 has named Sunday already
			days = append(days, strconv.Itoa(day%7))
		}
	}
	return strings.Join(days, ",")
}

// fieldValue reads a number or a name of a field and explains what is neither.
func fieldValue(f int, text, part string) (int, error) {
	k := patternFields[f]
	for i, word := range k.words {
		if word == text {
			return i + k.lo, nil
		}
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err == nil && int(n) >= k.lo && int(n) <= k.hi {
		return int(n), nil
	}
	suggestion := fmt.Sprintf("Use %d to %d, *, a step like */2, a range like 1-5 or a list like 1,2", k.lo, k.hi)
	switch {
	case err == nil && f == hourField && n == 24:
		suggestion = "Midnight is hour 0"
	case strings.Contains(text, "?"):
		suggestion = "Write * in its place"
	case strings.Contains(text, "#"):
		suggestion = "The n-th weekday of a month cannot be written; days 8-14 with Monday as the only active day give the second Monday"
	case f == domField && strings.ContainsAny(text, "LW"), f == weekdayField && len(text) > 1 && strings.HasSuffix(text, "L"):
		suggestion = "Last days and nearest weekdays cannot be written; use the first of the month, 28-31, or the weekdays 1-5"
	case k.words != nil:
		suggestion += ", or a name of three letters like " + k.words[0]
	}
	return 0, badPattern(suggestion, "%q is not possible in the %s", part, k.name)
}
