package cli

import "testing"

func TestTaskPreview(t *testing.T) {
	const fires = `{"automation":{"mode":"schedule","pattern":"30 2 * * *","timezone":"Europe/Berlin"},"items":[
		{"at":"2027-03-27T01:30:00.000Z","local":"2027-03-27T02:30:00+01:00","offset":"+01:00","reason":"excluded_date"},
		{"at":"2027-03-28T01:00:00.000Z","local":"2027-03-28T03:00:00+02:00","offset":"+02:00","note":"gap"}],
		"days":[{"date":"2027-03-28","note":"gap","from":"02:00","to":"03:00","lost":1}]}`
	const path = "POST /schedules/preview"
	with := map[string][]string{path: {fires}, "GET /tasks/T-2": {`{"version":1,"automation":null}`},
		"GET /tasks/T-1": {`{"version":3,"assigneeAgent":"a1","automation":{"mode":"schedule","pattern":"30 2 * * *","timezone":"Europe/Berlin",
			"conditions":{"activeDays":[1],"maxExecutionsPerDay":2},"nextFires":["2027-03-27T01:30:00.000Z"]}}`}}
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"before it is saved", []string{"--cron", "30 2 * * *", "--zone", "Europe/Berlin", "--from", "2027-03-27", "--count", "2"},
			path + ` {"automation":{"mode":"schedule","pattern":"30 2 * * *","timezone":"Europe/Berlin"},"count":2,"from":"2027-03-26T23:00:00.000Z"}`},
		{"of a task", []string{"T-1"},
			path + ` {"agent":"a1","automation":{"conditions":{"activeDays":[1],"maxExecutionsPerDay":2},"mode":"schedule","pattern":"30 2 * * *","timezone":"Europe/Berlin"}}`},
		{"of a task as it would be", []string{"T-1", "--active-days", "", "--cron", "0 3 * * *", "--agent", "scout"},
			path + ` {"agent":"scout","automation":{"conditions":{"maxExecutionsPerDay":2},"mode":"schedule","pattern":"0 3 * * *","timezone":"Europe/Berlin"}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := cli(t, "", with, append([]string{"task", "preview"}, tt.args...)...)
			r.check(t, 0, "30 2 * * * Europe/Berlin", "Sat 2027-03-27 02:30  +01:00  will not run: the date is excluded, by the schedule or a calendar", "Sun 2027-03-28 03:00  +02:00  the clocks skip its time",
				"On 2027-03-28 the clocks skip from 02:00 to 03:00: 1 time fewer.")
			if len(r.asked) == 0 || r.asked[len(r.asked)-1] != tt.want {
				t.Errorf("asked %q", r.asked)
			}
		})
	}
	cli(t, "", with, "task", "preview", "T-1", "--json").check(t, 0, `"local": "2027-03-27T02:30:00+01:00"`)
	cli(t, "", with, "task", "preview").check(t, 2, "no schedule to preview")
	cli(t, "", with, "task", "preview", "T-2").check(t, 2, "no schedule to preview")
	cli(t, "", with, "task", "preview", "--every", "often").check(t, 2, "such as 90s")
}
