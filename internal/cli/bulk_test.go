package cli

import "testing"

func TestManyTasksAtOnce(t *testing.T) {
	answer := `{"id":"0198c0de-1111-7000-8000-000000000001","action":"pause","matched":3,"changed":2,"pending":0,"skipped":[{"task":"T-5","code":"conflict","detail":"T-5 is completed and cannot become paused."}],"undoable":true}`
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"pause", "--label", "crm", "--status", "scheduled,running", "--note", "audit"}, `POST /tasks/bulk {"action":"pause","filter":{"label":"crm","status":["scheduled","running"]},"note":"audit"}`},
		{[]string{"resume", "T-4", "T-7"}, `POST /tasks/bulk {"action":"resume","ids":["T-4","T-7"]}`},
		{[]string{"cancel", "--all"}, `POST /tasks/bulk {"action":"cancel","filter":{}}`},
	} {
		r := cli(t, "", map[string][]string{"POST /tasks/bulk": {answer}}, append([]string{"task", "bulk"}, c.args...)...)
		r.check(t, 0, "✓ pause: 2 of 3 tasks changed", "T-5 stays: T-5 is completed", "dogwatch undo 0198c0de-1111-7000-8000-000000000001")
		if len(r.asked) != 1 || r.asked[0] != c.want {
			t.Errorf("asked %q, want %q", r.asked, c.want)
		}
	}
	cli(t, "", nil, "task", "bulk", "pause").check(t, 2, "say which tasks")
	cli(t, "", nil, "task", "bulk", "pause", "T-1", "--all").check(t, 2, "but not both")
	cli(t, "", nil, "task", "bulk", "undo").check(t, 2, "name the order")
	cli(t, "", nil, "task", "bulk", "undo", "abc").check(t, 2, `"abc" is not the id of an order; it looks like 0198`)
	cli(t, "", map[string][]string{"POST /tasks/bulk/0198c0de-1111-7000-8000-000000000001/undo": {`{"action":"undo","matched":2,"changed":2,"skipped":[]}`}}, "task", "bulk", "undo", "0198c0de-1111-7000-8000-000000000001").
		check(t, 0, "✓ undo: 2 of 2 tasks changed")
}

func TestATaskShowsHowOftenItRuns(t *testing.T) {
	answers := map[string][]string{"GET /tasks/T-1": {`{"identifier":"T-1","name":"n","instruction":"i","status":"scheduled","automation":{"mode":"every","everySeconds":3600},
		"cadence":{"configuredSeconds":3600,"effectiveSeconds":5400,"over":20},"madeBy":"T-9"}`}, "GET /tasks/T-1/topics": {none}}
	cli(t, "", answers, "task", "show", "T-1").check(t, 0, "cadence  90 min on average over 20 runs, set to 60 min", "made by  T-9")
}
