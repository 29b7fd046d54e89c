package cli

import (
	"slices"
	"testing"
)

func TestTheWorkspaceIsHeldAndResumed(t *testing.T) {
	ws := func(runs string, more string) string {
		return `{"name":"Home","timezone":"Europe/Berlin","pausedAt":null,"pauseNote":null,"maintenanceAt":null,"maintenanceNote":null,"quietHours":null,"readOnly":false,"openRuns":` + runs + more + `}`
	}
	r := cli(t, "", map[string][]string{"POST /workspace/pause": {ws("1", "")}}, "workspace", "pause", "--note", "audit")
	r.check(t, 0, "✓ paused · 1 open run")
	if r.asked[0] != `POST /workspace/pause {"note":"audit"}` {
		t.Errorf("asked %q", r.asked)
	}
	cli(t, "", map[string][]string{"POST /workspace/stop": {ws("3", "")}}, "workspace", "stop").
		check(t, 0, "✓ stopped: no new run begins, and 3 open runs are being interrupted")
	cli(t, "", map[string][]string{"POST /workspace/maintenance": {ws("2", "")}, "GET /workspace": {ws("1", ""), ws("0", "")}}, "workspace", "maintenance", "--wait").
		check(t, 0, "2 open runs left", "1 open run left", "✓ in maintenance · 0 open runs left")
	r = cli(t, "", map[string][]string{"POST /workspace/resume": {ws("0", "")}}, "workspace", "resume", "--catch-up")
	r.check(t, 0, "✓ the workspace goes on")
	if r.asked[0] != `POST /workspace/resume {"catchUp":true}` {
		t.Errorf("asked %q", r.asked)
	}
	cli(t, "", map[string][]string{"GET /workspace": {`{"name":"Home","timezone":"UTC","pausedAt":"2026-03-02T21:00:00Z","pauseNote":"audit","readOnly":true,"openRuns":0,
		"quietHours":{"days":[5,6],"start":"22:00","end":"07:00","timezone":"UTC"}}`}}, "workspace", "show").
		check(t, 0, "Home · UTC · 0 open runs", "paused since 21:00:00 UTC: audit", "read-only", "quiet hours Fri Sat 22:00 to 07:00 UTC")
	cli(t, "", map[string][]string{"POST /workspace/pause": {`403 {"title":"Forbidden","detail":"This needs the role admin.","code":"forbidden"}`}}, "workspace", "pause").
		check(t, 1, "This needs the role admin. (forbidden)")
}

func TestAgentsAreListedAndHeld(t *testing.T) {
	list := `{"items":[{"slug":"watchkeeper","name":"Watchkeeper","isDefault":true,"pausedAt":"2026-03-02T21:00:00Z","pauseNote":"too chatty","profile":{"model":""}},
		{"slug":"scout","name":"Scout","profile":{"model":"a/b"},"quietHours":{"start":"22:00","end":"07:00","timezone":"UTC"}}],"nextCursor":null}`
	cli(t, "", map[string][]string{"GET /agents": {list}}, "agent", "list").
		check(t, 0, "watchkeeper", "paused: too chatty", "active              –        a/b", "22:00 to 07:00 UTC")
	r := cli(t, "", map[string][]string{"POST /agents/scout/pause": {`{}`}}, "agent", "pause", "scout", "--note", "rest")
	r.check(t, 0, "✓ scout is paused")
	if r.asked[0] != `POST /agents/scout/pause {"note":"rest"}` {
		t.Errorf("asked %q", r.asked)
	}
	cli(t, "", map[string][]string{"POST /agents/scout/resume": {`{}`}}, "agent", "resume", "scout").check(t, 0, "✓ scout goes on")
}

func TestCalendarsAreMadeAndAddedTo(t *testing.T) {
	one := `{"id":"i","name":"Feast days","dates":["2026-12-25"],"ranges":[]}`
	two := `{"id":"i","name":"Feast days","dates":["2026-12-25"],"ranges":[{"from":"2026-12-27","to":"2027-01-03"}]}`
	cli(t, "", map[string][]string{"GET /calendars": {`{"items":[` + two + `],"nextCursor":null}`}}, "calendar", "list").
		check(t, 0, "Feast days", "2026-12-25 2026-12-27..2027-01-03")
	r := cli(t, "", map[string][]string{"POST /calendars": {"201 " + one}}, "calendar", "add", "Feast days", "2026-12-25")
	r.check(t, 0, "✓ Feast days · 1 date, 0 ranges")
	if !slices.Equal(r.asked, []string{"GET /calendars/Feast days", `POST /calendars {"dates":["2026-12-25"],"name":"Feast days","ranges":[]}`}) {
		t.Errorf("asked %q", r.asked)
	}
	r = cli(t, "", map[string][]string{"GET /calendars/Feast days": {one}, "PATCH /calendars/Feast days": {two}}, "calendar", "add", "Feast days", "2026-12-27..2027-01-03")
	r.check(t, 0, "1 date, 1 range")
	if r.asked[1] != `PATCH /calendars/Feast days {"dates":["2026-12-25"],"ranges":[{"from":"2026-12-27","to":"2027-01-03"}]}` {
		t.Errorf("asked %q", r.asked)
	}
	cli(t, "", map[string][]string{"DELETE /calendars/x": {`409 {"title":"Conflict","detail":"T-1 excludes its dates.","code":"conflict"}`}}, "calendar", "delete", "x").
		check(t, 1, "T-1 excludes its dates. (conflict)")
	cli(t, "", map[string][]string{"DELETE /calendars/x": {"204 "}}, "calendar", "delete", "x").check(t, 0, "✓ x is deleted")
}

func TestTheLedgerIsListed(t *testing.T) {
	r := cli(t, "", map[string][]string{"GET /ticks": {`{"items":[
		{"task":"T-1","plannedAt":"2026-03-02T21:00:00Z","origin":"schedule","state":"skipped","reason":"workspace_paused","count":1},
		{"task":"T-2","plannedAt":"2026-03-02T20:00:00Z","origin":"every","state":"coalesced","reason":"coalesced","count":4},
		{"task":"T-3","plannedAt":null,"createdAt":"2026-03-02T19:00:00Z","origin":"manual","state":"ran","reason":null,"lagMs":61000,"late":true,"count":1},
		{"task":"T-4","plannedAt":"2026-03-02T20:00:00Z","origin":"schedule","state":"ran","madeTask":"T-9","count":1}],"nextCursor":null}`}},
		"tick", "list", "--task", "T-1", "--state", "skipped", "--reason", "workspace_paused")
	r.check(t, 0, "skipped: workspace_paused", "coalesced ×4", "ran: made T-9", "1m1s late", "21:00:00", "19:00:00")
	if r.asked[0] != "GET /ticks?limit=50&reason=workspace_paused&state=skipped&task=T-1" {
		t.Errorf("asked %q", r.asked)
	}
}
