package httpapi_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/brief"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

func TestATaskFromItsCreationToItsEnd(t *testing.T) {
	in := start(t)
	up, friend := in.operator.newTask(), in.operator.newTask()
	a := in.operator.post("/tasks", `{"instruction":"# Look after the logs\nevery day","priority":"high","labels":["ops"],"assigneeUser":"me",
		"dependsOn":["`+strings.ToLower(up)+`",{"task":"`+friend+`","type":"relates"}],"parent":"`+up+`",
		"automation":{"mode":"heartbeat","intervalSeconds":600},"config":{"acceptance":"auto"}}`).ok(201)
	if a.text("name") != "Look after the logs" || a.text("status") != "scheduled" || a.text("statusReason") != "armed" || a.text("createdBy.kind") != "token" {
		t.Errorf("created as %s", a.Body)
	}
	actions := func(a answer) string { return fmt.Sprint(a.object()["actions"]) }
	if got := actions(a); got != "[run pause complete cancel edit comment delete]" {
		t.Errorf("may %s", got)
	}
	task := a.text("identifier")
	b := in.viewer.get("/tasks/" + strings.ToLower(task)).ok(200)
	if got := actions(b); got != "[]" {
		t.Errorf("a viewer may %s", got)
	}
	if got := in.viewer.get("/tasks/" + up).text("subtasks"); got != "map[scheduled:1]" {
		t.Errorf("subtasks %s", got)
	}
	if got := len(b.object()["dependencies"].([]any)); got != 2 {
		t.Errorf("%d dependencies", got)
	}

	// It waits for the other.
	why := in.viewer.get("/tasks/" + task + "/why").ok(200)
	if why.text("outcome") != "blocked_by_dependency" || why.text("nextRunAt") == "<nil>" {
		t.Errorf("why: %s", why.Body)
	}
	in.operator.post("/tasks/"+task+"/run", nil).fails(409, "blocked_by_dependency")
	in.operator.post("/tasks/"+up+"/complete", nil).ok(200)

	in.operator.post("/tasks/"+task+"/pause", `{"note":"later"}`).ok(200)
	c := in.operator.post("/tasks/"+task+"/pause", nil)
	c.fails(409, "conflict")
	if got := actions(in.operator.get("/tasks/" + task)); got != "[run resume complete cancel edit comment delete]" {
		t.Errorf("paused, may %s", got)
	}
	in.operator.post("/tasks/"+task+"/resume", `{}`).ok(200)
	run := in.operator.post("/tasks/"+task+"/run", `{"note":"Now, please"}`).ok(202)
	topic := in.viewer.get("/topics/" + run.text("topicId")).ok(200)
	if topic.text("status") != "running" || topic.text("task") != task || topic.text("origin") != "manual" || topic.text("handoff") != "<nil>" || len(topic.object()["operations"].([]any)) != 1 {
		t.Errorf("the run is %s", topic.Body)
	}
	in.operator.post("/tasks/"+task+"/run", nil).fails(409, "in_flight")
	op := in.viewer.get("/operations/" + run.text("operationId")).ok(200)
	if op.text("task") != task || op.text("model") != "test/model" || op.text("completionReason") != "<nil>" {
		t.Errorf("the operation is %s", op.Body)
	}
	in.viewer.get("/operations/" + run.text("operationId") + "/steps").ok(200)
	in.viewer.get("/topics/" + run.text("topicId") + "/conversation").ok(200)
	ticks := in.viewer.get("/tasks/" + task + "/ticks").ok(200).items()
	if len(ticks) != 3 || ticks[0]["reason"] != "in_flight" || ticks[1]["state"] != "dispatched" || ticks[2]["reason"] != "blocked_by_dependency" {
		t.Errorf("the ledger is %v", ticks)
	}
	in.operator.post("/topics/"+run.text("topicId")+"/cancel", nil).ok(200)

	var reasons []any
	for _, m := range in.viewer.get("/tasks/" + task + "/moves").ok(200).items() {
		reasons = append(reasons, m["reason"])
	}
	if got := fmt.Sprint(reasons); got != "[launched person person armed]" {
		t.Errorf("moved because of %s", got)
	}

	in.operator.delete("/tasks/" + task).ok(204)
	in.operator.get("/tasks/"+task).fails(404, "not_found")
	if items := in.operator.get("/tasks?deleted=true").ok(200).items(); len(items) != 1 || fmt.Sprint(items[0]["actions"]) != "[restore]" {
		t.Errorf("deleted: %v", items)
	}
	if got := in.operator.post("/tasks/"+task+"/restore", nil).ok(200).text("status"); got != "canceled" {
		t.Errorf("restored as %s", got)
	}
	if got := in.operator.post("/tasks/"+task+"/reopen", nil).ok(200).text("status"); got != "scheduled" {
		t.Errorf("reopened as %s", got)
	}
}

func TestListsOfTasksAreNarrowed(t *testing.T) {
	in := start(t)
	in.operator.newTask(`"name":"Alpha"`, `"priority":"urgent"`, `"labels":["x"]`)
	in.operator.newTask(`"name":"Beta"`, `"automation":{"mode":"every","everySeconds":3600}`)
	in.operator.newTask(`"name":"Gamma"`, `"parent":"T-1"`, `"automation":{"mode":"every","everySeconds":60}`)
	in.operator.newTask(`"name":"Delta"`, `"assigneeAgent":null`, `"assigneeUser":"`+in.adminPerson.ID+`"`)
	for query, want := range map[string]string{
		"": "Delta Gamma Beta Alpha", "?status=backlog": "Delta Alpha", "?status=backlog,scheduled": "Delta Gamma Beta Alpha",
		"?priority=urgent": "Alpha", "?label=x": "Alpha", "?q=alph": "Alpha", "?q=T-3": "Gamma", "?parent=T-1": "Gamma", "?parent=none": "Delta Beta Alpha",
		"?automation=every": "Gamma Beta", "?automation=none": "Delta Alpha", "?assigneeAgent=watchkeeper": "Gamma Beta Alpha",
		"?assigneeUser=" + in.adminPerson.ID: "Delta", "?sort=nextRunAt": "Gamma Beta", "?q=100%25": "",
	} {
		var names []string
		for _, item := range in.viewer.get("/tasks" + query).ok(200).items() {
			names = append(names, item["name"].(string))
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	if got := in.admin.get("/tasks?assigneeUser=me").ok(200).items(); len(got) != 1 {
		t.Errorf("mine are %d", len(got))
	}
	if p := in.operator.post("/tasks/T-4/run", nil); p.Status != 409 {
		t.Errorf("a person's task runs: %s", p.Body)
	}
}

func TestWhenItWouldRun(t *testing.T) {
	in := start(t)
	a := in.viewer.post("/schedules/preview", `{"automation":{"mode":"schedule","pattern":"30 2 * * *","timezone":"Europe/Berlin"},"from":"2026-03-28T12:00:00Z","count":2}`).ok(200)
	items := a.items()
	if len(items) != 2 || items[0]["at"] != "2026-03-29T01:00:00.000Z" || items[0]["local"] != "2026-03-29T03:00:00+02:00" || items[0]["note"] != "gap" || items[1]["offset"] != "+02:00" {
		t.Errorf("previewed %v", items)
	}
	if n := len(in.viewer.post("/schedules/preview", `{"automation":{"mode":"heartbeat","intervalSeconds":60}}`).ok(200).items()); n != 5 {
		t.Errorf("%d fires by default", n)
	}
	in.viewer.post("/schedules/preview", `{"automation":{"mode":"schedule","pattern":"0 0 31 2 *"}}`).fails(422, "invalid_pattern")
	in.viewer.post("/schedules/preview", `{"automation":{"mode":"heartbeat","intervalSeconds":60},"count":101}`).fails(422, "invalid")
}

func TestTheLedgerIsAskedForASpan(t *testing.T) {
	in := start(t)
	for range 3 {
		in.operator.post("/tasks/"+in.operator.newTask()+"/run", nil).ok(202)
	}
	var fires []string // the last to fire first
	for _, k := range in.viewer.get("/ticks?from=2000-01-01T00:00:00Z").ok(200).items() {
		fires = append(fires, k["fireAt"].(string))
	}
	if len(fires) != 3 {
		t.Fatalf("%d ticks, want 3", len(fires))
	}
	at := func(s string, plus time.Duration) string { // fireAt is shown in milliseconds
		parsed, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return parsed.Add(plus).Format(time.RFC3339Nano)
	}
	middle := "from=" + at(fires[1], 0) + "&to=" + at(fires[1], time.Millisecond)
	for query, want := range map[string]int{
		middle: 1, "to=" + at(fires[2], 0): 0, "to=" + at(fires[0], time.Millisecond): 3, "from=" + at(fires[0], time.Millisecond): 0,
	} {
		if n := len(in.viewer.get("/ticks?" + query).ok(200).items()); n != want {
			t.Errorf("%s of %v: %d ticks, want %d", query, fires, n, want)
		}
	}
	first := in.viewer.get("/ticks?limit=1&from=2000-01-01T00:00:00Z").ok(200)
	second := in.viewer.get("/ticks?limit=1&from=2000-01-01T00:00:00Z&cursor=" + first.text("nextCursor")).ok(200)
	if second.items()[0]["fireAt"] != fires[1] {
		t.Errorf("the second page is %s", second.Body)
	}
	in.viewer.get("/tasks/T-1/ticks?from=2000-01-01T00:00:00%2B01:00").ok(200)
	if !in.viewer.get("/ticks?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z").fails(422, "invalid").at("query.to") {
		t.Error("the end that lies before the beginning is not named")
	}
	in.viewer.get("/ticks?from=yesterday").fails(422, "invalid")
}

func TestCommentsAreTheirAuthors(t *testing.T) {
	in := start(t)
	task := in.operator.newTask()
	c := in.operator.post("/tasks/"+task+"/comments", `{"content":"Look at *this*"}`).ok(201)
	at := "/comments/" + c.text("id")
	if c.text("author.kind") != "token" || c.text("consumedBy") != "<nil>" {
		t.Errorf("the comment is %s", c.Body)
	}
	in.operator.with("If-Match", c.Header.Get("ETag")).patch(at, `{"content":"that"}`).ok(200)
	in.operator.with("If-Match", c.Header.Get("ETag")).patch(at, `{"content":"what"}`).fails(412, "stale")
	in.operator.patch(at, `{"content":""}`).fails(422, "invalid")
	if got := in.viewer.get("/tasks/" + task + "/comments").items(); fmt.Sprint(got[0]["author"].(map[string]any)["name"]) != "otto@example.org" {
		t.Errorf("written by %v", got[0]["author"])
	}
	in.admin.delete(at).ok(204)
	in.operator.delete(at).fails(404, "not_found")
	if n := len(in.viewer.get("/tasks/" + task + "/comments").ok(200).items()); n != 0 {
		t.Errorf("%d comments are left", n)
	}
}

func TestDocumentsHaveVersionsAndAreFound(t *testing.T) {
	in := start(t)
	d := in.operator.post("/documents", `{"title":"Plan","content":"the first heron","folder":"/a/b/"}`).ok(201)
	at := "/documents/" + d.text("id")
	if d.text("folder") != "a/b" || d.text("kind") != "markdown" || d.text("size") != "15" || d.text("version") != "1" {
		t.Errorf("the document is %s", d.Body)
	}
	in.operator.post("/documents", `{"title":"Plan","content":"x","folder":"a/b"}`).fails(409, "conflict")
	in.operator.with("If-Match", d.Header.Get("ETag")).patch(at, `{"content":"the second egret"}`).ok(200)
	in.operator.with("If-Match", d.Header.Get("ETag")).patch(at, `{"content":"late"}`).fails(412, "stale")
	in.operator.patch(at, `{"title":null}`).fails(422, "invalid")
	for _, same := range []string{`{"content":"the second egret"}`, `{"title":" Plan ","folder":"a/b/","kind":"markdown","content":"the second egret"}`, `{}`} {
		if a := in.operator.patch(at, same).ok(200); a.text("version") != "2" || a.Header.Get("ETag") != `"2"` {
			t.Errorf("what changes nothing is a version of its own: %s", a.Body)
		}
	}
	in.operator.patch(at, `{"content":"the second egret","version":1}`).fails(412, "stale")
	if audit := string(in.admin.get("/audit").ok(200).Body); strings.Count(audit, `"document.edit"`) != 1 {
		t.Errorf("the audit: %s", audit)
	}
	if got := in.viewer.get(at).text("content"); got != "the second egret" {
		t.Errorf("now it says %q", got)
	}
	if got := in.viewer.get(at + "/versions/1").text("content"); got != "the first heron" {
		t.Errorf("version 1 says %q", got)
	}
	in.viewer.get(at+"/versions/3").fails(404, "not_found")
	versions := in.viewer.get(at + "/versions?limit=1").ok(200)
	if versions.items()[0]["version"] != 2.0 || versions.object()["nextCursor"] == nil {
		t.Errorf("versions: %s", versions.Body)
	}
	if next := in.viewer.get(at + "/versions?limit=1&cursor=" + versions.text("nextCursor")).ok(200); next.items()[0]["version"] != 1.0 || next.object()["nextCursor"] != nil {
		t.Errorf("the next versions: %s", next.Body)
	}
	if items := in.viewer.get("/documents?q=egret").ok(200).items(); len(items) != 1 || !strings.Contains(items[0]["snippet"].(string), "egret") || items[0]["content"] != nil {
		t.Errorf("found %v", items)
	}
	if n := len(in.viewer.get("/documents?q=heron").items()) + len(in.viewer.get("/documents?folder=other").items()); n != 0 {
		t.Errorf("found %d of nothing", n)
	}

	task := in.operator.newTask(`"documents":["` + d.text("id") + `"]`)
	if n := len(in.viewer.get("/tasks/" + task + "/documents").ok(200).items()); n != 1 {
		t.Errorf("%d pinned", n)
	}
	in.operator.do("PUT", "/tasks/"+task+at, nil).ok(204) // once more is no fault
	in.operator.delete("/tasks/" + task + at).ok(204)
	in.operator.delete("/tasks/"+task+at).fails(404, "not_found")
	in.operator.delete(at).ok(204)
	in.viewer.get(at).fails(404, "not_found")
	in.operator.post("/documents", map[string]string{"title": "big", "content": strings.Repeat("x", 4<<20)}).ok(201)
	in.operator.post("/documents", map[string]string{"title": "bigger", "content": strings.Repeat("x", 4<<20+1)}).fails(413, "too_large")
}

func TestFilesComeBackAsTheyWere(t *testing.T) {
	in := start(t)
	content := bytes.Repeat([]byte("time,value\n1,2\n"), 100_000)
	f := in.operator.upload("../../etc/ read\u202eings.csv", content).ok(201)
	if f.text("name") != "readings.csv" || f.text("mediaType") != "text/csv" || f.text("size") != fmt.Sprint(len(content)) {
		t.Errorf("the file is %s", f.Body)
	}
	at := "/files/" + f.text("id")
	a := in.viewer.get(at).ok(200)
	if !bytes.Equal(a.Body, content) || a.Header.Get("Content-Type") != "text/csv" || !strings.HasPrefix(a.Header.Get("Content-Disposition"), "attachment") {
		t.Errorf("it came back as %d bytes, %v", len(a.Body), a.Header)
	}
	if a = in.viewer.with("If-None-Match", a.Header.Get("ETag")).get(at); a.Status != 304 {
		t.Errorf("once more: %d", a.Status)
	}
	if a = in.viewer.with("Range", "bytes=0-3").get(at); a.Status != 206 || string(a.Body) != "time" {
		t.Errorf("a part: %d %q", a.Status, a.Body)
	}
	if got := in.operator.upload("page.html", []byte("<html><script>alert(1)</script>")).ok(201); true {
		a := in.viewer.get("/files/" + got.text("id")).ok(200)
		if !strings.Contains(a.Header.Get("Content-Security-Policy"), "sandbox") || !strings.HasPrefix(a.Header.Get("Content-Disposition"), "attachment") {
			t.Errorf("a page is served as ours: %v", a.Header)
		}
	}
	in.operator.upload("a.exe", []byte("MZ\x90\x00\x03\x00\x00\x00\x04")).fails(422, "invalid")
	in.operator.upload("a.png", append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 17<<20)...)).fails(413, "too_large")
	in.operator.post("/files", `{"file":"x"}`).fails(415, "invalid")
	in.operator.with("Content-Type", "multipart/form-data; boundary=x").post("/files", "--x\r\nbroken").fails(400, "invalid")
	in.operator.with("Content-Type", "multipart/form-data; boundary=x").post("/files", "--x--\r\n").fails(422, "invalid")
	const one = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nhello\r\n"
	for more, at := range map[string]string{
		one: "body.file",
		"--x\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nx\r\n": "body.note",
	} {
		a := in.operator.with("Content-Type", "multipart/form-data; boundary=x").post("/files", one+more+"--x--\r\n")
		if !a.fails(422, "invalid").at(at) {
			t.Errorf("%s does not name %s", a.what, at)
		}
	}
	in.operator.newTask(`"files":["` + f.text("id") + `"]`)
}

func TestABriefIsReadGivenAwayAndResolved(t *testing.T) {
	in := start(t)
	task := in.operator.newTask()
	id := in.viewer.get("/tasks/" + task).text("id")
	open := func(cause string, p brief.Priority) {
		in.tx(func(tx *store.Tx) error {
			_, _, err := tx.OpenBrief(t.Context(), in.here, brief.Draft{
				Type: brief.Insight, Priority: p, Title: cause, Summary: "s", Cause: cause,
				Actions: []brief.Action{brief.Acknowledge, brief.Feedback, brief.Edit.At("/x")},
			}, store.BriefFrom{TaskID: id})
			return err
		})
	}
	open("one", brief.Info)
	open("two", brief.Urgent)
	open("three", brief.Normal)
	order := func(path string) string {
		var out []string
		for {
			a := in.viewer.get(path).ok(200)
			for _, b := range a.items() {
				out = append(out, b["title"].(string))
			}
			if a.object()["nextCursor"] == nil {
				return strings.Join(out, " ")
			}
			path = strings.Split(path, "&cursor=")[0] + "&cursor=" + a.text("nextCursor")
		}
	}
	if got := order("/briefs?limit=1"); got != "two three one" {
		t.Errorf("the inbox is %s", got)
	}
	if got := order("/briefs?state=all&limit=2"); got != "three two one" {
		t.Errorf("all are %s", got)
	}
	b := in.viewer.get("/briefs/b-1").ok(200)
	if b.text("number") != "B-1" || b.text("task") != task || len(b.object()["actions"].([]any)) != 3 || b.text("readAt") != "<nil>" {
		t.Errorf("the brief is %s", b.Body)
	}
	if in.operator.post("/briefs/B-1/read", nil).ok(200).text("readAt") == "<nil>" {
		t.Error("read, and not noted")
	}
	if got := in.admin.post("/briefs/B-1/assign", `{"assignee":"me"}`).ok(200).text("assignee"); got != in.adminPerson.ID {
		t.Errorf("given to %s", got)
	}
	in.operator.post("/briefs/B-1/assign", `{"assignee":"01900000-0000-7000-8000-000000000000"}`).fails(422, "invalid")
	if got := order("/briefs?limit=5&assignee=" + in.adminPerson.ID); got != "one" {
		t.Errorf("the admin's are %s", got)
	}
	in.operator.post("/briefs/B-1/snooze", `{"until":"2020-01-01T00:00:00Z"}`).fails(422, "invalid")
	in.operator.post("/briefs/B-1/snooze", `{"until":"2999-01-01T00:00:00Z"}`).ok(200)

	in.operator.post("/briefs/B-1/resolve", `{"action":"edit"}`).fails(422, "invalid") // a link does nothing
	in.operator.post("/briefs/B-1/resolve", `{"action":"approve"}`).fails(422, "invalid")
	in.operator.post("/briefs/B-1/resolve", `{"action":"feedback"}`).fails(422, "invalid")
	done := in.operator.post("/briefs/B-1/resolve", `{"action":"acknowledge"}`).ok(200)
	if done.text("brief.resolvedAction") != "acknowledge" || done.text("brief.resolvedBy.kind") != "token" || len(done.object()["effects"].([]any)) == 0 {
		t.Errorf("resolved as %s", done.Body)
	}
	in.operator.post("/briefs/B-1/resolve", `{"action":"acknowledge"}`).fails(409, "already_resolved")
	if got := order("/briefs?limit=5&state=resolved"); got != "one" {
		t.Errorf("resolved are %s", got)
	}
	in.operator.post("/briefs/B-1/reopen", nil).ok(200)
	in.operator.post("/briefs/B-2/resolve", `{"action":"feedback","comment":"Look again"}`).ok(200)
	if items := in.viewer.get("/tasks/" + task + "/comments").items(); len(items) != 1 || items[0]["content"] != "Look again" {
		t.Errorf("the feedback is %v", items)
	}
}

func TestAnAgentIsItsCurrentRevision(t *testing.T) {
	in := start(t)
	a := in.admin.post("/agents", `{"slug":"reader","name":"Reader","profile":{"system":"Read.","tools":["*"],"limits":{"usd":0.5,"steps":3}}}`).ok(201)
	if a.text("revision") != "1" || a.text("profile.limits.usd") != "0.5" || a.text("origin") != "person" {
		t.Errorf("the agent is %s", a.Body)
	}
	in.admin.post("/agents", `{"slug":"reader","name":"x","profile":{"system":"","tools":[]}}`).fails(409, "conflict")
	in.admin.post("/agents", `{"slug":"Not A Slug","name":"x","profile":{"system":"","tools":[]}}`).fails(422, "invalid")
	same := in.admin.patch("/agents/reader", `{"name":"Leser"}`).ok(200)
	next := in.admin.with("If-Match", same.Header.Get("ETag")).patch("/agents/reader", `{"profile":{"system":"Read well.","tools":["*"]}}`).ok(200)
	if same.text("revision") != "1" || next.text("revision") != "2" || next.text("digest") == same.text("digest") || next.text("name") != "Leser" {
		t.Errorf("revisions %s and %s", same.Body, next.Body)
	}
	in.admin.with("If-Match", same.Header.Get("ETag")).patch("/agents/reader", `{"name":"x"}`).fails(412, "stale")
	var slugs []string
	for _, item := range in.viewer.get("/agents").ok(200).items() {
		slugs = append(slugs, item["slug"].(string))
	}
	if !slices.Equal(slugs, []string{"reader", "watchkeeper"}) {
		t.Errorf("agents %v", slugs)
	}
}

func TestAPausedWorkspaceRunsNothing(t *testing.T) {
	in := start(t)
	task := in.operator.newTask()
	if in.admin.post("/workspace/pause", `{"note":"holidays"}`).ok(200).text("pauseNote") != "holidays" {
		t.Error("the note is lost")
	}
	in.operator.post("/tasks/"+task+"/run", nil).fails(409, "workspace_paused")
	in.admin.post("/workspace/resume", nil).ok(200)
	in.operator.post("/tasks/"+task+"/run", nil).ok(202)
}

func TestUsageIsSummed(t *testing.T) {
	in := start(t)
	for range 2 {
		in.operator.post("/tasks/"+in.operator.newTask()+"/run", nil).ok(202)
	}
	if _, err := in.store.Pool().Exec(t.Context(), `update operations set input_tokens = 10, output_tokens = 5, cost_usd = 0.25`); err != nil {
		t.Fatal(err)
	}
	for by, keys := range map[string]int{"day": 1, "agent": 1, "model": 1, "task": 2} {
		items := in.viewer.get("/usage?by=" + by).ok(200).items()
		if len(items) != keys || items[0]["costUsd"].(float64)*float64(keys) != 0.5 {
			t.Errorf("by %s: %v", by, items)
		}
	}
	if _, err := in.store.Pool().Exec(t.Context(), `update operations set cost_usd = null where id = (select min(id::text)::uuid from operations)`); err != nil {
		t.Fatal(err)
	}
	if items := in.viewer.get("/usage").ok(200).items(); items[0]["costUsd"] != nil {
		t.Errorf("a cost that is not known in full is %v", items[0]["costUsd"])
	}
	if items := in.viewer.get("/usage?to=2020-01-01T00:00:00Z").ok(200).items(); len(items) != 0 {
		t.Errorf("long ago: %v", items)
	}
	in.viewer.get("/usage?by=hour").fails(422, "invalid")
}
