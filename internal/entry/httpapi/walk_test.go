package httpapi_test

import (
	"bytes"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/brief"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// things are one of each kind, in the workspace here.
type things map[string]string

// things makes one of each, as the admin.
func (in *instance) things() things {
	in.t.Helper()
	in.admin.post("/workspace/resume", nil).ok(200) // the walk has been here
	in.admin.post("/agents/watchkeeper/resume", nil).ok(200)
	out := things{}
	task := in.admin.post("/tasks", `{"instruction":"x"}`).ok(201)
	run := in.admin.post("/tasks/"+task.text("id")+"/run", `{}`).ok(202)
	out["task"], out["topic"], out["operation"] = task.text("id"), run.text("topicId"), run.text("operationId")
	out["comment"] = in.admin.post("/tasks/"+out["task"]+"/comments", `{"content":"c"}`).ok(201).text("id")
	out["doc"] = in.admin.post("/documents", map[string]string{"title": out["task"], "content": "d"}).ok(201).text("id")
	in.admin.do("PUT", "/tasks/"+out["task"]+"/documents/"+out["doc"], nil).ok(204)
	out["token"] = in.admin.post("/tokens", `{"name":"t","role":"viewer"}`).ok(201).text("id")
	out["calendar"] = in.admin.post("/calendars", map[string]string{"name": "Days of " + out["task"]}).ok(201).text("id")
	out["agent"] = in.admin.get("/agents").ok(200).items()[0]["id"].(string)
	out["bulk"] = in.admin.post("/tasks/bulk", `{"action":"pause","ids":["`+in.admin.post("/tasks", `{"instruction":"x"}`).ok(201).text("id")+`"]}`).ok(200).text("id")
	out["job"] = in.admin.post("/cron-jobs", `{"agent":"watchkeeper","pattern":"0 7 * * *","prompt":"x"}`).ok(201).text("id")
	out["file"] = in.admin.upload("a.txt", []byte("text")).ok(201).text("id")
	in.tx(func(tx *store.Tx) error {
		b, _, err := tx.OpenBrief(in.t.Context(), in.here, brief.Draft{
			Type: brief.Insight, Priority: brief.Info, Title: "t", Summary: "s", Cause: "test", Actions: []brief.Action{brief.Acknowledge},
		}, store.BriefFrom{TaskID: out["task"]})
		out["brief"] = b.ID
		return err
	})
	return out
}

func (c *client) upload(name string, content []byte) answer {
	c.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, err := w.CreateFormFile("file", name)
	if err != nil {
		c.t.Fatal(err)
	}
	_, _ = part.Write(content)
	_ = w.Close()
	return c.with("Content-Type", w.FormDataContentType()).post("/files", &body)
}

// bodies are what the operations are called with that need a body.
var bodies = map[string]string{
	"login": `{"email":"x@example.org","password":"x"}`, "editMe": `{"name":"n"}`, "createToken": `{"name":"n","role":"viewer"}`,
	"createTask": `{"instruction":"x"}`, "editTask": `{"name":"n"}`, "previewSchedule": `{"automation":{"mode":"schedule","pattern":"0 7 * * *"}}`,
	"addComment": `{"content":"c"}`, "editComment": `{"content":"c"}`, "resolveBrief": `{"action":"acknowledge"}`,
	"assignBrief": `{"assignee":null}`, "snoozeBrief": `{"until":null}`, "createDocument": `{"title":"walk","content":"c"}`,
	"editDocument": `{"content":"c"}`, "createAgent": `{"slug":"walk","name":"n","profile":{"system":"s","tools":[]}}`, "editAgent": `{"name":"n"}`,
	"backfillTask": `{"from":"2026-01-01T00:00:00Z"}`, "editWorkspace": `{"name":"n"}`, "createCalendar": `{"name":"walk"}`, "createCronJob": `{"agent":"watchkeeper","pattern":"0 7 * * *","prompt":"x"}`, "editCronJob": `{"name":"n"}`, "bulkTasks": `{"action":"pause","filter":{"q":"nothing has this"}}`, "editCalendar": `{"dates":["2026-12-25"]}`,
}

type declared struct {
	OperationID string
	Description string
	Security    []any
	Parameters  []struct{ Name, In string }
	RequestBody *struct {
		Required bool
		Content  map[string]any
	}
}

var leastRole = regexp.MustCompile(`^Least role: (\w+)\.$`)

// Every operation of the document is called as anybody, as an admin of another
// workspace, and as each role. What it declares is what holds.
func TestEveryOperationIsClosedToWhoeverMayNot(t *testing.T) {
	in := start(t)
	var doc struct {
		Paths map[string]map[string]declared
	}
	if err := json.Unmarshal(in.nobody.get("/openapi.json").ok(200).Body, &doc); err != nil {
		t.Fatal(err)
	}
	public, walked := 0, 0
	for path, ops := range doc.Paths {
		for method, op := range ops {
			method = strings.ToUpper(method)
			walked++
			t.Run(op.OperationID, func(t *testing.T) {
				if op.RequestBody != nil && op.RequestBody.Required && bodies[op.OperationID] == "" && op.RequestBody.Content["application/json"] != nil {
					t.Fatal("needs a body that this test does not know")
				}
				call := func(c *client, th things) answer {
					c = &client{t, c.url, c.headers}
					if op.OperationID == "uploadFile" {
						return c.upload("a.txt", []byte("x"))
					}
					var body any
					if b := bodies[op.OperationID]; b != "" {
						body = b
					}
					return c.do(method, fill(path, th), body)
				}
				if len(op.Security) == 0 {
					public++
					return
				}
				m := leastRole.FindStringSubmatch(op.Description)
				if m == nil {
					t.Fatalf("does not say who may call it: %q", op.Description)
				}
				least := access.Role(m[1])

				th := in.things()
				call(in.nobody, th).fails(401, "unauthorized")
				for role, c := range map[access.Role]*client{access.Viewer: in.viewer, access.Operator: in.operator} {
					if !role.AtLeast(least) {
						call(c, th).fails(403, "forbidden")
					}
				}
				if op.OperationID == "watchEvents" {
					return // does not end; it has tests of its own
				}
				if strings.Contains(path, "{") {
					if method != http.MethodGet {
						call(in.abroad, th).fails(404, "not_found")
					} else if a := call(in.abroad, th); a.Status != 404 {
						t.Errorf("an admin of another workspace got %d: %.200s", a.Status, a.Body)
					}
				}
				for role, c := range map[access.Role]*client{access.Viewer: in.viewer, access.Operator: in.operator, access.Admin: in.admin} {
					if !role.AtLeast(least) {
						continue
					}
					a := call(c, in.things())
					switch {
					case a.Status == 401, a.Status == 403 && op.OperationID != "editMe" && !strings.Contains(path, "/comments/{id}"), a.Status == 404, a.Status >= 500:
						t.Errorf("as %s, who may: %d: %.300s", role, a.Status, a.Body)
					case a.Status == 422 || a.Status == 400:
						t.Errorf("as %s the call itself is wrong: %.300s", role, a.Body)
					}
				}
			})
		}
	}
	if public != 1 {
		t.Errorf("%d operations are open to anybody, want only the sign-in", public)
	}
	if walked < 50 {
		t.Errorf("walked through %d operations", walked)
	}
}

// fill puts ids into a path.
func fill(path string, th things) string {
	for prefix, kind := range map[string]string{
		"/topics/": "topic", "/operations/": "operation", "/comments/": "comment", "/tokens/": "token", "/files/": "file",
		"/tasks/bulk/": "bulk",
	} {
		if strings.HasPrefix(path, prefix) {
			path = strings.Replace(path, "{id}", th[kind], 1)
		}
	}
	for _, kind := range []string{"task", "doc", "brief", "agent", "calendar", "job"} {
		path = strings.Replace(path, "{"+kind+"}", th[kind], 1)
	}
	return strings.Replace(path, "{version}", "1", 1)
}

// Lists and searches of one workspace hold nothing of another.
func TestListsHoldNothingOfAnotherWorkspace(t *testing.T) {
	in := start(t)
	th := in.things()
	for _, path := range []string{
		"/tasks", "/tasks?q=x", "/ticks", "/operations", "/briefs?state=all", "/documents", "/documents?q=d", "/tokens", "/audit", "/usage", "/usage?by=task",
	} {
		body := string(in.abroad.get(path).ok(200).Body)
		for kind, ref := range th {
			if strings.Contains(body, ref) {
				t.Errorf("%s of another workspace has the %s", path, kind)
			}
		}
	}
	for _, path := range []string{"/ticks?task=" + th["task"], "/operations?task=" + th["task"], "/tasks?parent=" + th["task"], "/briefs?task=" + th["task"], "/tasks?assigneeAgent=" + th["agent"]} {
		in.abroad.get(path).fails(404, "not_found")
	}
	// Nor can what is another's be built on.
	for _, body := range []string{
		`{"instruction":"x","parent":"` + th["task"] + `"}`, `{"instruction":"x","dependsOn":["` + th["task"] + `"]}`,
		`{"instruction":"x","assigneeAgent":"` + th["agent"] + `"}`, `{"instruction":"x","files":["` + th["file"] + `"]}`,
		`{"instruction":"x","documents":["` + th["doc"] + `"]}`, `{"instruction":"x","assigneeUser":"` + in.adminPerson.ID + `"}`,
	} {
		in.abroad.post("/tasks", body).fails(422, "invalid")
	}
	if n := len(in.abroad.get("/tasks").items()); n != 0 {
		t.Errorf("%d tasks were written", n)
	}
}

// Whatever stands in a path where an id belongs: there is no such thing, in words.
func TestWhatIsNoIDIsNotThere(t *testing.T) {
	in := start(t)
	var doc struct {
		Paths map[string]map[string]declared
	}
	if err := json.Unmarshal(in.nobody.get("/openapi.json").ok(200).Body, &doc); err != nil {
		t.Fatal(err)
	}
	param := regexp.MustCompile(`\{\w+\}`)
	asked := 0
	for path, ops := range doc.Paths {
		for method, op := range ops {
			if op.OperationID == "watchEvents" {
				continue
			}
			th := in.things()
			for _, name := range param.FindAllString(path, -1) {
				for _, odd := range []string{"abc", "T-0", "T-99999999999999999999", "B-99999999999999999999", "0", "-1", "1e3", "null", "00000000-0000-0000-0000-00000000000g", "%20", "'", "%E9%B7%BA", strings.Repeat("x", 101)} {
					to := fill(strings.Replace(path, name, odd, 1), th)
					var body any
					if b := bodies[op.OperationID]; b != "" {
						body = b
					}
					asked++
					a := in.admin.do(strings.ToUpper(method), to, body)
					a.fails(404, "not_found")
					inWords(t, a, odd)
				}
			}
		}
	}
	if asked < 300 {
		t.Errorf("only %d addresses were tried", asked)
	}
}
