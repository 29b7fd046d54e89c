package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// param is a flag that stands for one field of a task: `task create`, `task edit`
// and `task preview` take the same ones and mean the same by them.
type param struct {
	flag, path, kind, usage string
}

// What a value of a flag looks like.
const (
	aText     = "text"
	aNumber   = "number"
	aCount    = "count"
	aDuration = "duration"
	aTime     = "time"
	aSwitch   = "true|false"
	theHours  = "HH:MM-HH:MM"
	theDays   = "days"
	aList     = "text…" // repeatable
	theDates  = "date…" // repeatable; a date or FROM..TO
)

// taskParams are the fields that a task has whether or not it runs by itself.
var taskParams = []param{
	{"name", "name", aText, "a name; else the beginning of the instruction"},
	{"description", "description", aText, "what people should know about it"},
	{"priority", "priority", aText, "urgent, high, normal, low, none"},
	{"agent", "assigneeAgent", aText, "the agent that works on it (default: the workspace's; edited to be empty: none)"},
	{"assignee-user", "assigneeUser", aText, "the person whose task it is: an id, or me"},
	{"parent", "parent", aText, "make it a subtask of this one"},
	{"label", "labels", aList, "a label; repeatable"},
	{"at", "startAt", aTime, `run once at, or start at: "2026-05-01 07:00" or RFC 3339`},
	{"max-runs", "maxTopics", aCount, "most runs of any kind; the last one completes the task"},
	{"model", "config.model", aText, "provider/model"},
	{"accept", "config.acceptance", aText, "when a one-off run is done: review (a person looks) or auto"},
	{"brief", "config.brief.mode", aText, "when a finished run tells a person: news, always, never"},
	{"brief-after-skips", "config.brief.afterSkips", aCount, "tell a person after so many planned times in a row that did not run"},
	{"checkpoint-before", "config.checkpoint.before", aSwitch, "a person looks before its first run"},
	{"checkpoint-after", "config.checkpoint.after", aSwitch, "a person looks after each run"},
	{"failure-fuse", "config.failureFuse", aCount, "failures in a row that pause it"},
	{"concurrency-key", "config.concurrencyKey", aText, "tasks with the same key run one at a time"},
	{"budget-day", "config.budget.day.usd", aNumber, "most USD a day"},
	{"budget-run", "config.budget.operation.usd", aNumber, "most USD a run"},
	{"tokens-day", "config.budget.day.tokens", aCount, "most tokens a day"},
	{"tokens-run", "config.budget.operation.tokens", aCount, "most tokens a run"},
	{"max-steps", "config.budget.operation.steps", aCount, "most steps of a run"},
	{"max-minutes", "config.budget.operation.minutes", aCount, "most minutes of a run"},
	{"max-minutes-day", "config.budget.day.minutes", aCount, "most minutes of all runs of a day"},
}

// orderParams say how often it runs; one of them at a time, each its own mode.
var orderParams = []param{
	{"heartbeat", "automation.intervalSeconds", aDuration, "run again so long after the last run ended, such as 10m"},
	{"every", "automation.everySeconds", aDuration, "run at fixed distances, such as 90m"},
	{"cron", "automation.pattern", aText, `run at the times of a cron pattern, such as "0 7 * * 1-5"`},
}

var modeOf = map[string]string{"heartbeat": "heartbeat", "every": "every", "cron": "schedule"}

// policyParams are what a standing order says beside how often.
var policyParams = []param{
	{"zone", "automation.timezone", aText, "time zone, such as Europe/Berlin (default: this host's, or the one that the schedule has)"},
	{"overlap", "automation.overlap", aText, "when it is time and a run is still open: skip, queue, cancel"},
	{"missed", "automation.missed", aText, "after a downtime: latest, skip, all"},
	{"catch-up", "automation.catchUpSeconds", aDuration, "how old a missed time may be to run, such as 2h"},
	{"jitter", "automation.jitterSeconds", aDuration, "come up to so much later, so that not all come at once"},
	{"timeout", "automation.timeoutSeconds", aDuration, "end a run that made no progress for so long"},
	{"starts-at", "automation.startsAt", aTime, "no time comes before it"},
	{"ends-at", "automation.endsAt", aTime, "no time comes after it"},
	{"anchor", "automation.anchor", aTime, "with --every: a point of the grid"},
	{"max-executions", "automation.maxExecutions", aCount, "most scheduled runs"},
	{"min-heartbeat", "automation.minSeconds", aDuration, "the soonest that its agent may ask for"},
	{"max-heartbeat", "automation.maxSeconds", aDuration, "the latest that its agent may ask for"},
	{"active-hours", "automation.conditions.activeHours", theHours, "only in these hours, such as 08:00-18:00"},
	{"active-days", "automation.conditions.activeDays", theDays, "only on these days, such as mon-fri or sat,sun"},
	{"max-executions-per-day", "automation.conditions.maxExecutionsPerDay", aCount, "most scheduled runs a day"},
	{"exclude", "automation.exclusions", theDates, "not on this date, or FROM..TO; repeatable"},
	{"calendar", "automation.exclusions.calendars", aList, "not on the dates of this calendar; repeatable"},
}

// given is a flag's value as it was typed. It is read when the command runs, so
// that what is wrong with it is said in one way.
type given struct {
	param
	values []string
}

func (g *given) String() string { return "" }
func (g *given) Type() string   { return strings.TrimSuffix(g.kind, "…") }
func (g *given) Set(v string) error {
	if !strings.HasSuffix(g.kind, "…") {
		g.values = nil
	}
	g.values = append(g.values, v)
	return nil
}

// params adds flags to a command.
func params(f *pflag.FlagSet, lists ...[]param) {
	for _, list := range lists {
		for _, q := range list {
			f.Var(&given{param: q}, q.flag, q.usage)
		}
	}
}

// typed reads the flags that were given into a request. An empty value is null
// where that clears a field, and left out where there is nothing to clear yet.
func typed(cmd *cobra.Command, zone string, local *time.Location, clear bool) (map[string]any, error) {
	body := map[string]any{}
	var fail error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		g, ok := f.Value.(*given)
		if !ok || fail != nil {
			return
		}
		empty := len(g.values) == 1 && strings.TrimSpace(g.values[0]) == ""
		switch {
		case empty && !clear:
			return
		case empty && g.flag == "priority":
			fail = usagef("--priority cannot be empty; take --priority none")
			return
		case empty && g.flag == "label":
			put(body, g.path, []string{})
			return
		case empty && g.kind == theDates:
			put(body, g.path+".dates", nil)
			put(body, g.path+".ranges", nil)
			return
		case empty:
			put(body, g.path, nil)
			return
		}
		v, err := g.read(zone, local)
		if err != nil {
			fail = err
			return
		}
		if dates, ok := v.(closedDates); ok {
			put(body, g.path+".dates", dates.Dates)
			put(body, g.path+".ranges", dates.Ranges)
			return
		}
		put(body, g.path, v)
	})
	return body, fail
}

// put sets a field of a document by its path.
func put(doc map[string]any, path string, v any) {
	keys := strings.Split(path, ".")
	for _, k := range keys[:len(keys)-1] {
		inner, ok := doc[k].(map[string]any)
		if !ok {
			inner = map[string]any{}
			doc[k] = inner
		}
		doc = inner
	}
	doc[keys[len(keys)-1]] = v
}

type closedDates struct {
	Dates  []string
	Ranges []dateRange
}

// read is the value in the API's form.
func (g *given) read(zone string, local *time.Location) (any, error) {
	v := strings.TrimSpace(g.values[0])
	wrong := func(allowed string) error {
		return usagef("--%s %q is not usable; allowed is %s", g.flag, v, allowed)
	}
	switch g.kind {
	case aNumber:
		n, err := strconv.ParseFloat(v, 64)
		if err != nil || n < 0 || n != n || n > 1e15 {
			return nil, wrong("an amount, such as 0.50")
		}
		return n, nil
	case aCount:
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < 0 {
			return nil, wrong("a whole number from 0 on, such as 3")
		}
		return n, nil
	case aDuration:
		s, ok := secondsIn(v)
		if !ok {
			return nil, wrong("a time in whole seconds, such as 90s, 10m, 1h30m or 2d")
		}
		return s, nil
	case aSwitch:
		b, err := strconv.ParseBool(v)
		if err != nil {
			return nil, wrong("true or false")
		}
		return b, nil
	case aTime:
		at, err := parseMoment("--"+g.flag, v, zone, local)
		if err != nil {
			return nil, err
		}
		return at.UTC().Format("2006-01-02T15:04:05.000Z"), nil
	case theHours:
		from, to, ok := strings.Cut(v, "-")
		if from, to = strings.TrimSpace(from), strings.TrimSpace(to); !ok || !clock(from) || !clock(to) {
			return nil, wrong("a span of the day, such as 08:00-18:00")
		}
		return map[string]any{"start": from, "end": to}, nil
	case theDays:
		days, ok := daysOf(v)
		if !ok {
			return nil, wrong("days of the week, such as mon-fri or sat,sun")
		}
		return days, nil
	case aList:
		return g.values, nil
	case theDates:
		c := closedDates{[]string{}, []dateRange{}}
		for _, d := range g.values {
			from, to, isRange := strings.Cut(d, "..")
			for _, one := range []string{from, to} {
				if _, err := time.Parse(time.DateOnly, one); err != nil && (isRange || one != "") {
					return nil, usagef("--%s %q is not usable; allowed is a date such as 2026-12-25, or 2026-12-24..2027-01-01", g.flag, d)
				}
			}
			if isRange {
				c.Ranges = append(c.Ranges, dateRange{from, to})
			} else {
				c.Dates = append(c.Dates, d)
			}
		}
		return c, nil
	}
	return v, nil
}

func clock(v string) bool {
	_, err := time.Parse("15:04", v)
	return (err == nil || v == "24:00") && len(v) == 5
}

func secondsIn(v string) (int64, bool) {
	var whole time.Duration
	if days, rest, ok := strings.Cut(v, "d"); ok { // days of 24 hours, which Go does not read
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, false
		}
		if whole = time.Duration(n) * 24 * time.Hour; rest == "" {
			rest = "0s"
		}
		v = rest
	}
	d, err := time.ParseDuration(v)
	return int64((whole + d) / time.Second), err == nil && d >= 0 && d%time.Second == 0
}

func wholeSeconds(flag string, d time.Duration) (int64, error) {
	if d < 0 || d%time.Second != 0 {
		return 0, usagef("%s %s is not usable; allowed are whole seconds, such as 90s or 10m", flag, d)
	}
	return int64(d / time.Second), nil
}

// daysOf reads days of the week: names and spans of names, with commas.
func daysOf(v string) ([]int, bool) {
	names := []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
	days := []int{}
	for part := range strings.SplitSeq(strings.ToLower(v), ",") {
		from, to, span := strings.Cut(strings.TrimSpace(part), "-")
		if !span {
			to = from
		}
		a, b := slices.Index(names, from), slices.Index(names, to)
		if a < 0 || b < 0 {
			return nil, false
		}
		for d := a; ; d = (d + 1) % 7 {
			if !slices.Contains(days, d) {
				days = append(days, d)
			}
			if d == b {
				break
			}
		}
	}
	slices.Sort(days)
	return days, true
}

// orderOf is the mode that the flags name, or "" for none.
func orderOf(cmd *cobra.Command) (string, error) {
	mode, by := "", ""
	for _, q := range orderParams {
		f := cmd.Flags().Lookup(q.flag)
		if f == nil || !f.Changed {
			continue
		}
		if g := f.Value.(*given); strings.TrimSpace(g.values[0]) == "" {
			return "", usagef("--%s is empty; say when it runs, such as --%s, or take --no-schedule on dogwatch task edit", q.flag,
				map[string]string{"heartbeat": "heartbeat 10m", "every": "every 90m", "cron": `cron "0 7 * * 1-5"`}[q.flag])
		}
		if mode != "" {
			return "", usagef("--%s and --%s exclude each other; a task has one way to run", by, q.flag)
		}
		mode, by = modeOf[q.flag], q.flag
	}
	return mode, nil
}

// flagText is what was given for a flag that stands for a text.
func flagText(cmd *cobra.Command, flag string) string {
	if g, ok := cmd.Flags().Lookup(flag).Value.(*given); ok && len(g.values) > 0 {
		return g.values[0]
	}
	return ""
}

// policyWithoutOrder names what was given for a standing order that there is not.
func policyWithoutOrder(cmd *cobra.Command) error {
	for _, q := range policyParams {
		if q.flag != "zone" && cmd.Flags().Changed(q.flag) {
			return usagef("--%s belongs to a standing order: add --heartbeat, --every or --cron", q.flag)
		}
	}
	return nil
}

// hostZone is the name of the zone that times are read in when none is given.
func hostZone(local *time.Location) string {
	if name := fmt.Sprint(local); name != "Local" {
		return name
	}
	return localZone()
}
