package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/access"
)

func TestACalendarOverHTTP(t *testing.T) {
	in := start(t)
	cal := in.operator.post("/calendars", `{"name":"Feast days","dates":["2026-12-26","2026-12-25","2026-12-25"],"ranges":[{"from":"2026-12-31","to":"2027-01-01"}]}`).ok(201)
	if got := cal.text("dates"); got != "[2026-12-25 2026-12-26]" {
		t.Errorf("dates %s", got)
	}
	in.operator.post("/calendars", `{"name":"Feast days"}`).fails(409, "conflict")
	if p := in.operator.post("/calendars", `{"name":"x","ranges":[{"from":"2026-02-30","to":"2026-03-01"}]}`).fails(422, "invalid"); !p.at("body.ranges[0].from") {
		t.Errorf("%+v", p.Errors)
	}
	in.viewer.post("/calendars", `{"name":"x"}`).fails(403, "forbidden")
	in.viewer.get("/calendars/Feast%20days").ok(200)
	in.abroad.get("/calendars/"+cal.text("id")).fails(404, "not_found")
	in.abroad.post("/tasks", `{"instruction":"x","automation":{"mode":"schedule","pattern":"0 7 * * *","exclusions":{"calendars":["Feast days"]}}}`).fails(422, "invalid")

	automation := `{"mode":"schedule","pattern":"0 7 * * *","timezone":"Europe/Berlin","startsAt":"2026-12-24T00:00:00Z","exclusions":{"calendars":["%s"]}}`
	named := fmt.Sprintf(automation, "Feast days")
	items := in.viewer.post("/schedules/preview", `{"from":"2026-12-24T12:00:00Z","count":3,"automation":`+named+`}`).ok(200).object()["items"].([]any)
	var reasons []any
	for _, item := range items {
		reasons = append(reasons, item.(map[string]any)["reason"])
	}
	if got := fmt.Sprint(reasons); got != "[excluded_date excluded_date <nil>]" {
		t.Errorf("previewed %s", got)
	}
	in.viewer.post("/schedules/preview", `{"automation":`+fmt.Sprintf(automation, "Fest")+`}`).fails(422, "invalid")

	everyDay := `{"mode":"schedule","pattern":"0 7 * * *","timezone":"UTC","exclusions":{"calendars":["Soon"]}}`
	tomorrow := time.Now().UTC().AddDate(0, 0, 1)
	in.operator.post("/calendars", fmt.Sprintf(`{"name":"Soon","ranges":[{"from":"%s","to":"%s"}]}`, time.Now().UTC().Format("2006-01-02"), tomorrow.Format("2006-01-02"))).ok(201)
	task := in.operator.newTask(`"automation":` + everyDay)
	next := func() string {
		return in.viewer.get("/tasks/" + task).ok(200).object()["automation"].(map[string]any)["nextFires"].([]any)[0].(string)
	}
	if got := next(); !strings.HasPrefix(got, tomorrow.AddDate(0, 0, 1).Format("2006-01-02")) {
		t.Errorf("the next fire is %s", got)
	}
	p := in.operator.delete("/calendars/Soon").fails(409, "conflict")
	if !strings.Contains(p.Detail, task) {
		t.Errorf("it does not say who names it: %s", p.Detail)
	}
	edited := in.operator.patch("/calendars/Soon", `{"ranges":null}`).ok(200)
	if edited.text("ranges") != "[]" || edited.text("version") != "2" {
		t.Errorf("edited %s", edited.Body)
	}
	in.operator.with("If-Match", `"1"`).patch("/calendars/Soon", `{"dates":[]}`).fails(412, "stale")
	if got := next(); strings.HasPrefix(got, tomorrow.AddDate(0, 0, 1).Format("2006-01-02")) {
		t.Errorf("the next fire is still %s", got)
	}
	in.operator.patch("/tasks/"+task, `{"automation":{"exclusions":null}}`).ok(200)
	in.operator.delete("/calendars/Soon").ok(204)
}

func TestTheWorkspaceIsHeldOverHTTP(t *testing.T) {
	in := start(t)
	task := in.operator.newTask()
	in.operator.post("/tasks/"+task+"/run", nil).ok(202)
	ws := in.admin.post("/workspace/maintenance", `{"note":"New disk"}`).ok(200)
	if ws.text("openRuns") != "1" || ws.text("maintenanceNote") != "New disk" || ws.text("pausedAt") != "<nil>" {
		t.Errorf("%s", ws.Body)
	}
	other := in.operator.newTask()
	if p := in.operator.post("/tasks/"+other+"/run", nil).fails(409, "maintenance"); !strings.Contains(p.Detail, "New disk") {
		t.Errorf("%s", p.Detail)
	}
	in.admin.post("/workspace/resume", `{"catchUp":true}`).ok(200)
	in.admin.post("/workspace/stop", `{"note":"Wrong prices"}`).ok(200)
	if p := in.operator.post("/tasks/"+other+"/run", nil).fails(409, "workspace_paused"); !strings.Contains(p.Detail, "Wrong prices") {
		t.Errorf("%s", p.Detail)
	}
	if why := in.viewer.get("/tasks/" + other + "/why").ok(200); why.text("outcome") != "workspace_paused" {
		t.Errorf("why: %s", why.Body)
	}
	if ws := in.viewer.get("/workspace").ok(200); ws.text("pauseNote") != "Wrong prices" || ws.text("maintenanceAt") != "<nil>" {
		t.Errorf("%s", ws.Body)
	}
	in.operator.post("/workspace/stop", nil).fails(403, "forbidden")

	in.admin.post("/workspace/resume", nil).ok(200)
	in.admin.post("/agents/watchkeeper/pause", `{"note":"Rest"}`).ok(200)
	in.operator.post("/tasks/"+other+"/run", nil).fails(409, "agent_paused")
	if a := in.viewer.get("/agents/watchkeeper").ok(200); a.text("pauseNote") != "Rest" {
		t.Errorf("%s", a.Body)
	}
	in.operator.post("/agents/watchkeeper/pause", nil).fails(403, "forbidden")
	in.admin.post("/agents/watchkeeper/resume", nil).ok(200)
	in.operator.post("/tasks/"+other+"/run", nil).ok(202)
}

// Whoever meets a hold may ask whoever made it: everybody is told who that is.
func TestEverybodySeesWhoHoldsWhat(t *testing.T) {
	in := start(t)
	_, boss := in.member(in.here, "bo@example.org", "x", access.Admin)
	everybody := func(path, at, want string) {
		t.Helper()
		for _, c := range []*client{in.viewer, in.operator, in.admin} {
			a := c.get(path).ok(200)
			if want == "" {
				if got := a.text(at); got != "<nil>" {
					t.Errorf("%s: %s is %s, want null", path, at, got)
				}
			} else if a.text(at+".name") != want || a.text(at+".kind") != "token" || len(a.text(at+".id")) != 36 {
				t.Errorf("%s: %s is %s, want %s", path, at, a.text(at), want)
			}
		}
	}
	everybody("/workspace", "pausedBy", "")
	in.admin.post("/workspace/pause", `{"note":"First"}`).ok(200)
	boss.post("/workspace/maintenance", `{"note":"Disk"}`).ok(200)
	everybody("/workspace", "pausedBy", adminEmail)
	everybody("/workspace", "maintenanceBy", "bo@example.org")
	everybody("/me", "workspace.pausedBy", adminEmail)
	since := in.viewer.get("/workspace").ok(200).text("pausedAt")
	boss.post("/workspace/stop", `{"note":"Second"}`).ok(200) // the note is another's now
	everybody("/workspace", "pausedBy", "bo@example.org")
	if got := in.viewer.get("/workspace").ok(200).text("pausedAt"); got != since {
		t.Errorf("paused since %s, want %s", got, since)
	}
	boss.post("/workspace/resume", nil).ok(200)
	everybody("/workspace", "pausedBy", "")
	everybody("/workspace", "maintenanceBy", "")

	boss.post("/agents/watchkeeper/pause", `{"note":"Rest"}`).ok(200)
	everybody("/agents/watchkeeper", "pausedBy", "bo@example.org")
	if a := in.viewer.get("/agents").ok(200).items()[0]; !strings.Contains(fmt.Sprint(a["pausedBy"]), "bo@example.org") {
		t.Errorf("in the list: %v", a["pausedBy"])
	}
	in.admin.post("/agents/watchkeeper/resume", nil).ok(200)
	everybody("/agents/watchkeeper", "pausedBy", "")
}

func TestQuietHoursAreSetByPatch(t *testing.T) {
	in := start(t)
	now := time.Now().UTC()
	hours := fmt.Sprintf(`{"start":"%s","end":"%s"}`, now.Add(-time.Hour).Format("15:04"), now.Add(time.Hour).Format("15:04"))
	ws := in.admin.patch("/workspace", `{"quietHours":`+hours+`,"readOnly":true}`).ok(200)
	if ws.text("quietHours.timezone") != "UTC" || ws.text("readOnly") != "true" {
		t.Errorf("%s", ws.Body)
	}
	in.admin.with("If-Match", `"1"`).patch("/workspace", `{"readOnly":false}`).fails(412, "stale")
	in.operator.patch("/workspace", `{"readOnly":false}`).fails(403, "forbidden")
	for body, at := range map[string]string{
		`{"quietHours":{"start":"08:00","end":"08:00"}}`:                  "body.quietHours",
		`{"quietHours":{"start":"8","end":"09:00"}}`:                      "body.quietHours.start",
		`{"quietHours":{"start":"22:00","end":"07:00","timezone":"CET"}}`: "body.quietHours.timezone",
		`{"quietHours":{"start":"22:00","end":"07:00","days":[9]}}`:       "body.quietHours.days",
		`{"timezone":"Mars/Olympus"}`:                                     "body.timezone",
		`{"name":null}`:                                                   "body.name",
		`{"quietHours":{"start":"22:00","end":"07:00","zone":"UTC"}}`:     "body.quietHours.zone",
	} {
		code := "invalid"
		if strings.HasSuffix(at, "timezone") {
			code = "invalid_timezone"
		}
		if p := in.admin.patch("/workspace", body).fails(422, code); !p.at(at) {
			t.Errorf("%s: %+v", body, p.Errors)
		}
	}
	task := in.operator.newTask(`"automation":{"mode":"every","everySeconds":600}`)
	why := in.viewer.get("/tasks/" + task + "/why").ok(200)
	if why.text("outcome") != "outside_active_hours" || !strings.Contains(why.text("detail"), "the quiet hours of the workspace") {
		t.Errorf("why: %s", why.Body)
	}
	first := func() time.Time {
		fires := in.viewer.get("/tasks/" + task).ok(200).object()["automation"].(map[string]any)["nextFires"].([]any)
		at, err := time.Parse(time.RFC3339, fires[0].(string))
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	if got := first(); got.Before(now.Add(58 * time.Minute)) {
		t.Errorf("it is to run in the quiet hours, at %v", got)
	}
	if got := in.operator.post("/tasks/"+task+"/run", nil).ok(202).text("skippedChecks"); got != "[outside_active_hours]" {
		t.Errorf("by hand it skips %s", got)
	}
	in.admin.patch("/workspace", `{"quietHours":null}`).ok(200)
	if got := first(); got.After(now.Add(21 * time.Minute)) {
		t.Errorf("without quiet hours it is to run at %v", got)
	}
	a := in.admin.patch("/agents/watchkeeper", `{"quietHours":`+hours+`}`).ok(200)
	if a.text("quietHours.timezone") != "UTC" || a.text("revision") != "1" {
		t.Errorf("%s", a.Body)
	}
	if why := in.viewer.get("/tasks/" + task + "/why").ok(200); !strings.Contains(why.text("detail")+string(why.Body), "the agent Watchkeeper") {
		t.Errorf("why: %s", why.Body)
	}
}

func TestAPreviewKnowsTheQuietHoursOfAnAgent(t *testing.T) {
	in := start(t)
	in.admin.patch("/agents/watchkeeper", `{"quietHours":{"start":"22:00","end":"08:00","timezone":"UTC"}}`).ok(200)
	ask := func(more string) any {
		return in.viewer.post("/schedules/preview", `{"automation":{"mode":"schedule","pattern":"0 7 * * *","timezone":"UTC"},"count":1`+more+`}`).ok(200).items()[0]["reason"]
	}
	if got := ask(""); got != nil {
		t.Errorf("for nobody in particular: %s", got)
	}
	if got := ask(`,"agent":"watchkeeper"`); got != "outside_active_hours" {
		t.Errorf("for the agent: %s", got)
	}
	in.viewer.post("/schedules/preview", `{"automation":{"mode":"heartbeat","intervalSeconds":60},"agent":"nobody"}`).fails(422, "invalid")
}

func TestATaskSaysHowOftenItRuns(t *testing.T) {
	in := start(t)
	ref := in.operator.post("/tasks", `{"instruction":"x","automation":{"mode":"every","everySeconds":3600}}`).ok(201).text("identifier")
	if c := in.viewer.get("/tasks/" + ref).ok(200); c.text("cadence.configuredSeconds") != "3600" || c.text("cadence.effectiveSeconds") != "<nil>" || c.text("cadence.over") != "0" {
		t.Errorf("the cadence is %s", c.Body)
	}
	once := in.operator.newTask()
	if c := in.viewer.get("/tasks/" + once).ok(200).object()["cadence"]; c != nil {
		t.Errorf("a task without a schedule has the cadence %v", c)
	}
}
