package cli

import "testing"

func TestCronJobsOfAnAgent(t *testing.T) {
	job := `{"task":"T-4","name":"Morning","prompt":"Look.","enabled":true,"heldBy":null,"automation":{"mode":"schedule","pattern":"0 7 * * 1-5","timezone":"Europe/Berlin"},
		"nextFires":["2026-03-03T06:00:00.000Z","2026-03-04T06:00:00.000Z"],"nextRunAt":"2026-03-03T06:00:00.000Z"}`
	template := `{"task":"T-5","name":"Report","prompt":null,"enabled":true,"heldBy":"agent_paused","automation":{"mode":"every","everySeconds":5400},"nextFires":[]}`
	off := `{"task":"T-6","name":"Off","prompt":"x","enabled":false,"statusReason":"person","automation":{"mode":"every","everySeconds":5400},"nextFires":[]}`

	r := cli(t, "", map[string][]string{"GET /cron-jobs": {`{"items":[` + job + `,` + template + `,` + off + `],"nextCursor":null}`}}, "cron", "list", "--agent", "watchkeeper")
	r.check(t, 0, "T-4", "runs a prompt", "enabled", "Tue 06:00", "T-5", "makes a task", "held: agent_paused", "every 90 min", "disabled: person")
	if r.asked[0] != "GET /cron-jobs?agent=watchkeeper&limit=50" {
		t.Errorf("asked %q", r.asked)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"watchkeeper", "0 7 * * 1-5", "Look.", "--zone", "Europe/Berlin", "--name", "Morning", "--max-executions", "5"},
			`POST /cron-jobs {"agent":"watchkeeper","maxExecutions":5,"name":"Morning","pattern":"0 7 * * 1-5","prompt":"Look.","timezone":"Europe/Berlin"}`},
		{[]string{"watchkeeper", "@daily", "-", "--template", "--label", "reports", "--disabled"},
			`POST /cron-jobs {"agent":"watchkeeper","enabled":false,"pattern":"@daily","template":{"instruction":"Write the report.","labels":["reports"]}}`},
	} {
		r := cli(t, "Write the report.\n", map[string][]string{"POST /cron-jobs": {"201 " + job}}, append([]string{"cron", "add"}, c.args...)...)
		r.check(t, 0, `✓ T-4 "Morning" made · runs a prompt · 0 7 * * 1-5 Europe/Berlin · next Tue 07:00 CET, Wed 07:00`)
		if r.asked[0] != c.want {
			t.Errorf("asked %q, want %q", r.asked, c.want)
		}
	}
	for args, want := range map[string]string{"enable": `{"enabled":true}`, "disable": `{"enabled":false}`} {
		r := cli(t, "", map[string][]string{"PATCH /cron-jobs/T-5": {template}}, "cron", args, "T-5")
		r.check(t, 0, "✓ T-5", args+"d", "held: agent_paused")
		if r.asked[0] != "PATCH /cron-jobs/T-5 "+want {
			t.Errorf("asked %q", r.asked)
		}
	}
	r = cli(t, "", map[string][]string{"PATCH /cron-jobs/T-4": {job}}, "cron", "set", "T-4", "--pattern", "0 8 * * *", "--max-executions", "0")
	r.check(t, 0, "changed")
	if r.asked[0] != `PATCH /cron-jobs/T-4 {"maxExecutions":null,"pattern":"0 8 * * *"}` {
		t.Errorf("asked %q", r.asked)
	}
	cli(t, "", map[string][]string{"DELETE /cron-jobs/T-4": {"204 "}}, "cron", "delete", "T-4").check(t, 0, "✓ T-4 is deleted")
	cli(t, "", nil, "cron", "set", "T-4").check(t, 2, "say what to change")
	cli(t, "", nil, "cron", "add", "watchkeeper", "@daily", "x", "--label", "l").check(t, 2, "add --template")
	cli(t, "", map[string][]string{"POST /tasks/T-5/run": {`202 {"tickId":"k","madeTaskId":"0198","skippedChecks":[]}`}}, "task", "run", "T-5").
		check(t, 0, "✓ a task was made and runs next: dogwatch task show 0198")
	cli(t, "", map[string][]string{"POST /tasks/T-5/run": {`202 {"tickId":"k","madeTaskId":"0198","skippedChecks":[]}`}}, "task", "run", "T-5", "--wait").
		check(t, 1, "makes tasks")
}
