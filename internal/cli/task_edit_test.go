package cli

import (
	"strings"
	"testing"
)

// What each flag of a standing order means in the API's words; create and edit
// take the same ones.
func TestTheFlagsOfAnOrder(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--active-hours", "08:00-18:00", "--active-days", "fri-mon,wed"}, `"conditions":{"activeDays":[0,1,3,5,6],"activeHours":{"end":"18:00","start":"08:00"}}`},
		{[]string{"--exclude", "2026-12-25", "--exclude", "2026-12-27..2027-01-03", "--calendar", "Feast days"},
			`"exclusions":{"calendars":["Feast days"],"dates":["2026-12-25"],"ranges":[{"from":"2026-12-27","to":"2027-01-03"}]}`},
		{[]string{"--jitter", "5m"}, `"jitterSeconds":300`},
		{[]string{"--catch-up", "2h"}, `"catchUpSeconds":7200`},
		{[]string{"--missed", "all", "--overlap", "queue"}, `"missed":"all"`},
		{[]string{"--starts-at", "2026-07-01 07:00", "--zone", "Europe/Berlin"}, `"startsAt":"2026-07-01T05:00:00.000Z"`},
		{[]string{"--ends-at", "2026-07-01T07:00:00Z"}, `"endsAt":"2026-07-01T07:00:00.000Z"`},
		{[]string{"--max-executions-per-day", "3"}, `"maxExecutionsPerDay":3`},
		{[]string{"--min-heartbeat", "5m", "--max-heartbeat", "1h"}, `"maxSeconds":3600`},
		{[]string{"--concurrency-key", "crm"}, `"concurrencyKey":"crm"`},
		{[]string{"--brief", "never", "--checkpoint-after", "true", "--failure-fuse", "5"}, `"brief":{"mode":"never"},"checkpoint":{"after":true},"failureFuse":5`},
	} {
		r := cli(t, "", map[string][]string{"POST /tasks": {cron}}, append([]string{"task", "create", "Do it", "--heartbeat", "10m"}, tt.args...)...)
		r.check(t, 0)
		if len(r.asked) != 1 || !strings.Contains(r.asked[0], tt.want) {
			t.Errorf("create %v: asked %q, want %s", tt.args, r.asked, tt.want)
		}
		r = cli(t, "", map[string][]string{"GET /tasks/T-1": {versioned}, "PATCH /tasks/T-1": {heartbeat}}, append([]string{"task", "edit", "T-1"}, tt.args...)...)
		r.check(t, 0)
		if len(r.asked) != 2 || !strings.Contains(r.asked[1], tt.want) {
			t.Errorf("edit %v: asked %q, want %s", tt.args, r.asked, tt.want)
		}
	}
}

const versioned = `{"identifier":"T-1","version":7,"automation":{"mode":"schedule","pattern":"0 7 * * *","timezone":"Europe/Berlin","overlap":"queue",
	"conditions":{"activeDays":[1],"maxExecutionsPerDay":2},"nextFires":[]}}`

// An edit names what changes, and the version that it was decided on.
func TestTaskEdit(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"a pattern leaves the rest of its order", []string{"--cron", "0 8 * * *"}, `{"automation":{"pattern":"0 8 * * *"},"version":7}`},
		{"another mode takes the rest along", []string{"--every", "90m"},
			`{"automation":{"conditions":{"activeDays":[1],"maxExecutionsPerDay":2},"everySeconds":5400,"mode":"every","overlap":"queue","timezone":"Europe/Berlin"},"version":7}`},
		{"but for what is cleared with it", []string{"--every", "90m", "--active-days", "", "--overlap", ""},
			`{"automation":{"conditions":{"maxExecutionsPerDay":2},"everySeconds":5400,"mode":"every","timezone":"Europe/Berlin"},"version":7}`},
		{"no order any more", []string{"--no-schedule"}, `{"automation":null,"version":7}`},
		{"empty clears", []string{"--name", "", "--label", "", "--model", "", "--max-runs", "", "--active-hours", "", "--exclude", ""},
			`{"automation":{"conditions":{"activeHours":null},"exclusions":{"dates":null,"ranges":null}},"config":{"model":null},"labels":[],"maxTopics":null,"name":null,"version":7}`},
		{"a wall clock is the schedule's", []string{"--ends-at", "2026-07-01 07:00"}, `{"automation":{"endsAt":"2026-07-01T05:00:00.000Z"},"version":7}`},
		{"what to do", []string{"--instruction", "-"}, `{"instruction":"Look again","version":7}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := cli(t, "Look again\n", map[string][]string{"GET /tasks/T-1": {versioned}, "PATCH /tasks/T-1": {heartbeat}}, append([]string{"task", "edit", "T-1"}, tt.args...)...)
			r.check(t, 0, "✓ T-1 changed · heartbeat 10 min · next 21:14 UTC")
			if len(r.asked) != 2 || r.asked[1] != "PATCH /tasks/T-1 "+tt.want {
				t.Errorf("asked %q", r.asked)
			}
		})
	}
}

func TestWhatCannotBeEdited(t *testing.T) {
	task := map[string][]string{"GET /tasks/T-1": {versioned}, "GET /tasks/T-2": {`{"identifier":"T-2","version":1,"automation":null}`},
		"PATCH /tasks/T-1": {`412 {"title":"Precondition Failed","detail":"It is at version 8.","code":"stale"}`}}
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"T-1"}, 2, "say what to change"},
		{[]string{"T-1", "--name", "x"}, 1, "changed by somebody else at the same time"},
		{[]string{"T-1", "--name", "x"}, 1, "dogwatch task show T-1"},
		{[]string{"T-2", "--jitter", "1m"}, 2, "--jitter belongs to a standing order"},
		{[]string{"T-1", "--no-schedule", "--every", "1m"}, 2, "--no-schedule excludes"},
		{[]string{"T-1", "--every", "soon"}, 2, `--every "soon" is not usable; allowed is a time in whole seconds, such as 90s`},
		{[]string{"T-1", "--active-hours", "8 to 6"}, 2, "such as 08:00-18:00"},
		{[]string{"T-1", "--active-days", "holidays"}, 2, "such as mon-fri"},
		{[]string{"T-1", "--exclude", "christmas"}, 2, "2026-12-24..2027-01-01"},
		{[]string{"T-1", "--max-steps", "many"}, 2, "a whole number"},
		{[]string{"T-1", "--budget-day", "-1"}, 2, "an amount"},
		{[]string{"T-1", "--priority", ""}, 2, "--priority none"},
		{[]string{"T-1", "--cron", ""}, 2, "--no-schedule"},
	} {
		cli(t, "", task, append([]string{"task", "edit"}, tt.args...)...).check(t, tt.code, tt.says)
	}
}
