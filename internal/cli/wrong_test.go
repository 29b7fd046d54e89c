package cli

import (
	"strings"
	"testing"
)

// What the server refuses is told by the flag or argument that it came from, in
// the form in which that is given.
func TestRefusedValuesAreTheFlags(t *testing.T) {
	const oneOf = "expected one of skip, queue, cancel"
	for _, tt := range []struct {
		name, errors string
		args         []string
		says         string
	}{
		{"a word of a list", `{"location":"body.automation.overlap","message":"` + oneOf + `","value":"never"}`,
			[]string{"task", "create", "x", "--every", "1h", "--overlap", "never"}, `dogwatch: --overlap "never" is not usable; allowed is one of skip, queue, cancel` + "\n"},
		{"seconds of a field that the message names", `{"location":"body.automation.minSeconds","message":"minSeconds must not be larger than intervalSeconds. Use at most 5400."}`,
			[]string{"task", "create", "x", "--heartbeat", "90m", "--min-heartbeat", "2h"}, "dogwatch: --min-heartbeat must not be larger than --heartbeat. Use at most 90 min.\n"},
		{"an inner field of a flag", `{"location":"body.automation.conditions.activeHours.start","message":"08:61 is no time."}`,
			[]string{"task", "create", "x", "--every", "1h"}, "dogwatch: --active-hours: 08:61 is no time.\n"},
		{"more than one", `{"location":"body.name","message":"Too long."},{"location":"body.automation.jitterSeconds","message":"jitterSeconds cannot be 90000. Use 0 to 86400."}`,
			[]string{"task", "create", "x", "--every", "1h"}, "dogwatch: these values are not usable:\n  --name: Too long.\n  --jitter cannot be 25 h. Use 0 s to 24 h.\n"},
		{"an argument", `{"location":"body.instruction","message":"Say what to do."}`, []string{"task", "create", ""}, "dogwatch: INSTRUCTION: Say what to do.\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cli(t, "", map[string][]string{"POST /tasks": {`422 {"title":"Unprocessable Entity","detail":"The request is not valid.","code":"invalid","errors":[` + tt.errors + `]}`}}, tt.args...).
				check(t, 2, tt.says)
		})
	}
	cli(t, "", map[string][]string{"GET /tasks": {`422 {"title":"x","detail":"x","code":"invalid","errors":[{"location":"query.status[0]","message":"expected one of backlog","value":"foo"}]}`}},
		"task", "list", "--status", "foo").check(t, 2, `--status "foo" is not usable; allowed is one of backlog`)
}

// No command answers in the words of the library that reads it.
func TestWrongUseIsAnsweredInOurWords(t *testing.T) {
	for args, says := range map[string]string{
		"task creat":             `there is no command "creat" in dogwatch task; did you mean create?`,
		"task edit":              "TASK is missing; give dogwatch task edit TASK, such as: dogwatch task edit T-1 --cron",
		"task create Look here":  `"here" is one too many (text of several words needs quotation marks)`,
		"workspace show it":      `"it" is one too many; give dogwatch workspace show`,
		"task list --status":     "--status needs a value: only tasks in this status",
		"task list -z":           "there is no flag -z",
		"task run T-1 --timeout": "--timeout needs a value",
		"brief resolve B-1":      "--action is missing; say which button",
		"undo":                   "name the order",
		"undo abc":               `"abc" is not the id of an order; it looks like 0198c0de`,
		"task list --limit x":    `--limit "x" is not usable; allowed is a whole number`,
	} {
		t.Run(args, func(t *testing.T) { cli(t, "", nil, strings.Fields(args)...).check(t, 2, says) })
	}
}
