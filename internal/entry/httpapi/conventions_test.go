package httpapi_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

func TestWhatCannotBeReadIsRefusedInWords(t *testing.T) {
	in := start(t)
	task := in.operator.newTask()
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		code, at           string
	}{
		"broken JSON":              {"POST", "/tasks", `{"instruction":`, 400, "invalid", "body"},
		"no JSON at all":           {"POST", "/tasks", `hello`, 400, "invalid", "body"},
		"trailing text":            {"POST", "/tasks", `{"instruction":"x"} {}`, 400, "invalid", "body"},
		"no body":                  {"POST", "/tasks", ``, 400, "invalid", ""},
		"a list":                   {"POST", "/tasks", `[]`, 422, "invalid", "body"},
		"unknown field":            {"POST", "/tasks", `{"instruction":"x","bogus":1}`, 422, "invalid", "body.bogus"},
		"another case":             {"POST", "/tasks", `{"Instruction":"x"}`, 422, "invalid", "body.Instruction"},
		"unknown nested field":     {"POST", "/tasks", `{"instruction":"x","config":{"modell":"a/b"}}`, 422, "invalid", "body.config.modell"},
		"unknown in automation":    {"POST", "/tasks", `{"instruction":"x","automation":{"mode":"heartbeat","seconds":5}}`, 422, "invalid", "body.automation.seconds"},
		"missing field":            {"POST", "/tasks", `{}`, 422, "invalid", "body"},
		"too long":                 {"POST", "/tasks", `{"instruction":"x","name":"` + strings.Repeat("n", 201) + `"}`, 422, "invalid", "body.name"},
		"not a word of the list":   {"POST", "/tasks", `{"instruction":"x","priority":"asap"}`, 422, "invalid", "body.priority"},
		"wrong type":               {"POST", "/tasks", `{"instruction":5}`, 422, "invalid", "body.instruction"},
		"more than can be counted": {"POST", "/tasks", `{"instruction":"x","maxTopics":1e300}`, 422, "invalid", "body.maxTopics"},
		"no end in sight":          {"POST", "/tasks", `{"instruction":"x","maxTopics":1e999}`, 422, "invalid", "body.maxTopics"},
		"half a run":               {"POST", "/tasks", `{"instruction":"x","maxTopics":1.5}`, 422, "invalid", "body.maxTopics"},
		"too much in a patch":      {"PATCH", "/tasks/" + task, `{"config":{"budget":{"day":{"tokens":9223372036854775808}}}}`, 422, "invalid", "body.config.budget.day.tokens"},
		"too much money":           {"PATCH", "/tasks/" + task, `{"config":{"budget":{"day":{"usd":1e300}}}}`, 422, "invalid", "body.config.budget.day.usd"},
		"null for a needed field":  {"POST", "/tasks", `{"instruction":null}`, 422, "invalid", "body.instruction"},
		"bad pattern":              {"POST", "/tasks", `{"instruction":"x","automation":{"mode":"schedule","pattern":"61 * * * *"}}`, 422, "invalid_pattern", "body.automation.pattern"},
		"bad zone":                 {"POST", "/tasks", `{"instruction":"x","automation":{"mode":"schedule","pattern":"0 7 * * *","timezone":"Berlin/Europe"}}`, 422, "invalid_timezone", "body.automation.timezone"},
		"too short a heartbeat":    {"POST", "/tasks", `{"instruction":"x","automation":{"mode":"heartbeat","intervalSeconds":1}}`, 422, "invalid", "body.automation.intervalSeconds"},
		"no mode":                  {"POST", "/tasks", `{"instruction":"x","automation":{"intervalSeconds":60}}`, 422, "invalid", "body.automation"},
		"unknown query":            {"GET", "/tasks?bogus=1", ``, 422, "invalid", "query.bogus"},
		"query in another case":    {"GET", "/tasks?Limit=1", ``, 422, "invalid", "query.Limit"},
		"limit too large":          {"GET", "/tasks?limit=201", ``, 422, "invalid", "query.limit"},
		"limit of nothing":         {"GET", "/tasks?limit=0", ``, 422, "invalid", "query.limit"},
		"limit in letters":         {"GET", "/tasks?limit=ten", ``, 422, "invalid", "query.limit"},
		"bad word in a filter":     {"GET", "/tasks?status=backlog,done", ``, 422, "invalid", "query.status[1]"},
		"no such task":             {"GET", "/tasks/T-999", ``, 404, "not_found", ""},
		"no such id":               {"GET", "/tasks/01900000-0000-7000-8000-000000000000", ``, 404, "not_found", ""},
		"nonsense for an id":       {"GET", "/tasks/%27%3B--", ``, 404, "not_found", ""},
		"no such topic":            {"GET", "/topics/x", ``, 404, "not_found", ""},
		"null where it cannot be":  {"PATCH", "/tasks/" + task, `{"instruction":null}`, 422, "invalid", "body.instruction"},
		"unknown field in a patch": {"PATCH", "/tasks/" + task, `{"status":"completed"}`, 422, "invalid", "body.status"},
		"wrong part of a patch":    {"PATCH", "/tasks/" + task, `{"config":{"budget":{"day":{"tokens":-1}}}}`, 422, "invalid", "body.config.budget.day.tokens"},
		"a body for a button":      {"POST", "/tasks/" + task + "/cancel", `{"now":true}`, 422, "invalid", "body.now"},
		"no such address":          {"GET", "/nothing", ``, 404, "not_found", ""},
		"no such address, POST":    {"POST", "/nothing", `{}`, 404, "not_found", ""},
		"another method":           {"PUT", "/tasks", `{}`, 405, "invalid", ""},
		"another method on one":    {"POST", "/tasks/" + task, `{}`, 405, "invalid", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var body any
			if c.body != "" || c.method == "POST" {
				body = c.body
			}
			p := in.operator.do(c.method, c.path, body).fails(c.status, c.code)
			if c.at != "" && !p.at(c.at) {
				t.Errorf("%s is not named: %+v", c.at, p.Errors)
			}
		})
	}
	if n := len(in.viewer.get("/tasks").ok(200).items()); n != 1 {
		t.Errorf("%d tasks are there, want the one: refused requests wrote something", n)
	}
}

// Whatever the database cannot keep is refused before it gets there, and any text
// that it can comes back as it was.
func TestOnlyTextIsTaken(t *testing.T) {
	in := start(t)
	task := in.operator.newTask()
	for _, c := range [][3]string{
		{"POST", "/tasks", `{"instruction":"a\u0000b"}`},
		{"POST", "/tasks", `{"instruction":"x","instructionRich":{"a\u0000":1}}`},
		{"POST", "/tasks", `{"instruction":"x","labels":["\u0000"]}`},
		{"PATCH", "/tasks/" + task, `{"config":{"concurrencyKey":"\u0000"}}`},
		{"POST", "/tasks/" + task + "/pause", `{"note":"\u0000"}`},
		{"POST", "/documents", `{"title":"t","content":"\u0000"}`},
		{"POST", "/tasks", "{\"instruction\":\"a\xffb\"}"},
		{"POST", "/tasks", "{\"instruction\":\"x\",\"instructionRich\":{\"a\":\"\xff\"}}"},
		{"GET", "/tasks/%00", ""}, {"GET", "/tasks/%ff", ""}, {"GET", "/tasks?q=%00", ""}, {"GET", "/tasks?q=%ff", ""},
		{"GET", "/agents/%00", ""}, {"GET", "/documents?folder=%00&q=%c3", ""},
	} {
		var body any
		if c[2] != "" {
			body = c[2]
		}
		in.operator.do(c[0], c[1], body).fails(400, "invalid")
	}
	in.admin.post("/tokens", `{"name":"\u0000","role":"viewer"}`).fails(400, "invalid")
	in.nobody.with("User-Agent", "caf\xe9").post("/auth/login", map[string]string{"email": adminEmail, "password": adminPassword}).ok(200)

	for _, text := range []string{`\u0000`, "héron 鷺 \U0001F9A9", "\u202e\u0001", "%_'\";--", "<b>&amp;"} {
		d := in.operator.post("/documents", map[string]string{"title": text, "content": text}).ok(201)
		if got := in.viewer.get("/documents/" + d.text("id")).text("content"); got != text {
			t.Errorf("%q came back as %q", text, got)
		}
	}
}

func TestWhatIsTooLargeToReckonWithIsRefused(t *testing.T) {
	in := start(t)
	task := in.operator.newTask()
	for _, fields := range []string{
		`"maxTopics":2147483648`, `"maxTopics":9223372036854775807`,
		`"config":{"budget":{"day":{"minutes":4611686018427387904}}}`, `"config":{"budget":{"operation":{"minutes":307445734561825861}}}`,
		`"config":{"budget":{"operation":{"tokens":9223372036854775807}}}`, `"config":{"budget":{"operation":{"steps":1099511627776}}}`,
		`"startAt":"9999-12-31T23:59:59-14:00"`,
		`"instructionRich":12`, `"instructionRich":[]`,
		`"instructionRich":{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
	} {
		in.operator.post("/tasks", `{"instruction":"x",`+fields+`}`).fails(422, "invalid")
		in.operator.patch("/tasks/"+task, `{`+fields+`}`).fails(422, "invalid")
	}
	made := in.operator.post("/tasks", `{"instruction":"x","instructionRich":{"a":"\ud800"},"maxTopics":1000000000}`).ok(201)
	in.operator.patch("/tasks/"+task, `{"instructionRich":{"a":"\ud800"}}`).ok(200)
	if got := made.object()["instructionRich"].(map[string]any)["a"]; got != "\uFFFD" {
		t.Errorf("half a surrogate pair became %q", got)
	}
}

func TestABodyThatIsNoJSONIsRefused(t *testing.T) {
	in := start(t)
	in.operator.with("Content-Type", "text/plain").post("/tasks", `{"instruction":"x"}`).fails(415, "invalid")
	in.operator.with("Content-Type", "application/x-www-form-urlencoded").post("/tasks", `instruction=x`).fails(415, "invalid")
	in.operator.with("Content-Type", "application/json; charset=utf-8").post("/tasks", `{"instruction":"x"}`).ok(201)
	task := in.operator.newTask()
	in.operator.with("Content-Type", "application/merge-patch+json").patch("/tasks/"+task, `{"name":"n"}`).ok(200)
}

func TestABodyThatIsTooLargeIsRefused(t *testing.T) {
	in := start(t)
	in.operator.post("/tasks", `{"instruction":"`+strings.Repeat("a", 5<<20)+`"}`).fails(413, "too_large")
	in.nobody.post("/auth/login", `{"email":"`+strings.Repeat("a", 1<<20)+`"}`).fails(413, "too_large")
}

func TestAProblemTellsNothingOfTheInside(t *testing.T) {
	in := start(t)
	if _, err := in.store.Pool().Exec(t.Context(), `alter table task_comments rename to gone`); err != nil {
		t.Fatal(err)
	}
	task := in.operator.newTask()
	a := in.operator.get("/tasks/" + task + "/comments")
	a.fails(500, "internal_error")
	for _, word := range []string{"gone", "task_comments", "relation", "SQL", "select", "goroutine", ".go"} {
		if strings.Contains(string(a.Body), word) {
			t.Errorf("the answer has %q: %s", word, a.Body)
		}
	}
	if !strings.Contains(string(a.Body), a.Header.Get("X-Request-Id")) {
		t.Error("the answer does not say where to look in the log")
	}
}

func TestASecretIsNotRepeatedInAProblem(t *testing.T) {
	in := start(t)
	a := in.nobody.post("/auth/login", `{"email":"x","password":"hunter2hunter2","bogus":1}`)
	a.fails(422, "invalid")
	b := in.nobody.post("/auth/login", `{"email":"x","password":"hunter2hunter2"`)
	b.fails(400, "invalid")
	if strings.Contains(string(a.Body)+string(b.Body), "hunter2") {
		t.Errorf("the password came back: %s %s", a.Body, b.Body)
	}
}

func TestAListIsPagedThroughOnce(t *testing.T) {
	in := start(t)
	for range 5 {
		in.operator.newTask()
	}
	var seen []string
	path := "/tasks?limit=2"
	for {
		a := in.viewer.get(path).ok(200)
		for _, item := range a.items() {
			seen = append(seen, item["identifier"].(string))
		}
		in.operator.newTask() // a page is not moved by what is added
		next := a.object()["nextCursor"]
		if next == nil {
			break
		}
		path = "/tasks?limit=2&cursor=" + next.(string)
	}
	if got := fmt.Sprint(seen); got != "[T-5 T-4 T-3 T-2 T-1]" {
		t.Errorf("paged through %s", got)
	}
}

func TestAForgedCursorIsRefused(t *testing.T) {
	in := start(t)
	for range 3 {
		in.operator.newTask()
	}
	cursor := in.viewer.get("/tasks?limit=1").ok(200).text("nextCursor")
	in.viewer.get("/tasks?limit=1&cursor=" + cursor).ok(200)
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		forged := append([]byte{}, raw...)
		forged[i] ^= 1
		in.viewer.get("/tasks?limit=1&cursor="+base64.RawURLEncoding.EncodeToString(forged)).fails(400, "invalid")
	}
	for _, c := range []string{"x", "!!", "01900000-0000-7000-8000-000000000000", cursor + "AA"} {
		in.viewer.get("/tasks?cursor="+c).fails(400, "invalid")
	}
	for _, other := range []string{"sort=nextRunAt", "q=x", "status=backlog", "label=a", "priority=low", "deleted=true"} { // of another order, of other filters
		in.viewer.get("/tasks?"+other+"&cursor="+cursor).fails(400, "invalid")
	}
	in.viewer.get("/tasks?limit=200&cursor=" + cursor).ok(200)   // a page may be longer than the one before
	in.viewer.get("/ticks?cursor="+cursor).fails(400, "invalid") // of another list
	in.abroad.get("/tasks?cursor="+cursor).fails(400, "invalid") // of another workspace
}

// Every list of one task is its own: a cursor of it reads on in no other's.
func TestACursorIsOfOneTask(t *testing.T) {
	in := start(t)
	one, other := in.operator.newTask(), in.operator.newTask()
	for range 2 {
		in.operator.post("/tasks/"+one+"/comments", `{"content":"c"}`).ok(201)
		in.operator.post("/tasks/"+one+"/pause", nil).ok(200)
		in.operator.post("/tasks/"+one+"/resume", nil).ok(200)
	}
	for _, list := range []string{"comments", "moves"} {
		cursor := in.viewer.get("/tasks/" + one + "/" + list + "?limit=1").ok(200).text("nextCursor")
		in.viewer.get("/tasks/" + one + "/" + list + "?cursor=" + cursor).ok(200)
		in.viewer.get("/tasks/"+other+"/"+list+"?cursor="+cursor).fails(400, "invalid")
	}
}

// A filter that cannot be read is no filter that is not there.
func TestAQueryThatCannotBeReadIsRefused(t *testing.T) {
	in := start(t)
	for _, path := range []string{
		"/tasks?limit=200&status=completed%", "/tasks?label=a;b", "/tasks?q=50%", "/tasks?%zz=1", "/tasks?deleted=true;",
		"/ticks?task=T-1;x", "/briefs?state=resolved;", "/operations?limit=1;x=2", "/usage?by=day%",
	} {
		if a := in.admin.get(path); !a.fails(400, "invalid").at("query") {
			t.Errorf("%s does not name the query", a.what)
		}
	}
	in.admin.get("/tasks?q=50%25%3B").ok(200)
}

// Of a query parameter that is given twice only one would count. Every operation
// refuses every one of its own.
func TestAQueryParameterIsGivenOnce(t *testing.T) {
	in := start(t)
	var doc struct {
		Paths map[string]map[string]declared
	}
	if err := json.Unmarshal(in.nobody.get("/openapi.json").ok(200).Body, &doc); err != nil {
		t.Fatal(err)
	}
	th, asked := in.things(), 0
	for path, ops := range doc.Paths {
		for method, op := range ops {
			for _, p := range op.Parameters {
				if p.In != "query" {
					continue
				}
				asked++
				a := in.admin.do(strings.ToUpper(method), fill(path, th)+"?"+p.Name+"=1&"+p.Name+"=2", nil)
				if !a.fails(400, "invalid").at("query." + p.Name) {
					t.Errorf("%s does not name %s", a.what, p.Name)
				}
			}
		}
	}
	if asked < 40 {
		t.Errorf("only %d parameters were tried", asked)
	}
	in.operator.newTask()
	if n := len(in.viewer.get("/tasks?status=completed,backlog").ok(200).items()); n != 1 {
		t.Errorf("%d tasks of two statuses, want 1", n)
	}
}

func TestAChangeOfAnOldVersionIsStale(t *testing.T) {
	in := start(t)
	task := in.operator.newTask()
	a := in.operator.get("/tasks/" + task).ok(200)
	tag := a.Header.Get("ETag")
	if want := `"` + a.text("version") + `"`; tag != want {
		t.Errorf("ETag %s, want %s", tag, want)
	}
	b := in.operator.with("If-Match", tag).patch("/tasks/"+task, `{"name":"one"}`).ok(200)
	if b.Header.Get("ETag") == tag {
		t.Error("a change kept the ETag")
	}
	in.operator.with("If-Match", tag).patch("/tasks/"+task, `{"name":"two"}`).fails(412, "stale")
	in.operator.with("If-Match", tag).patch("/tasks/"+task, `{"config":{"failureFuse":5}}`).fails(412, "stale")
	in.operator.with("If-Match", `"abc"`).patch("/tasks/"+task, `{"name":"two"}`).fails(412, "stale")
	in.operator.patch("/tasks/"+task, `{"name":"two","version":1}`).fails(412, "stale")
	in.operator.with("If-Match", "*").patch("/tasks/"+task, `{"name":"three"}`).ok(200)
	if name := in.operator.get("/tasks/" + task).text("name"); name != "three" {
		t.Errorf("the name is %q", name)
	}
}

func TestAPatchLeavesWhatItDoesNotName(t *testing.T) {
	in := start(t)
	task := in.operator.newTask(`"name":"n"`, `"description":"d"`, `"priority":"high"`, `"labels":["a"]`, `"maxTopics":3`,
		`"automation":{"mode":"heartbeat","intervalSeconds":600,"maxExecutions":9}`,
		`"config":{"acceptance":"auto","budget":{"operation":{"tokens":1000},"day":{"tokens":9000}}}`)
	patch := func(body string) answer { return in.operator.patch("/tasks/"+task, body).ok(200) }

	a := patch(`{"description":"new"}`).object()
	if a["name"] != "n" || a["description"] != "new" || a["priority"] != "high" || a["maxTopics"] != 3.0 {
		t.Errorf("a patch of one field changed others: %v", a)
	}
	a = patch(`{"maxTopics":null,"description":null,"name":null}`).object()
	if a["maxTopics"] != nil || a["description"] != "" || a["name"] != "Look after it" {
		t.Errorf("null does not clear: %v %v %v", a["maxTopics"], a["description"], a["name"])
	}
	b := patch(`{"config":{"budget":{"day":{"tokens":null,"minutes":5}}}}`)
	if got := b.text("config"); got != "map[acceptance:auto budget:map[day:map[minutes:5] operation:map[tokens:1000]]]" {
		t.Errorf("merged config is %s", got)
	}
	if got := patch(`{"config":null}`).text("config"); got != "map[]" {
		t.Errorf("cleared config is %s", got)
	}
	b = patch(`{"automation":{"intervalSeconds":900}}`)
	if b.text("automation.intervalSeconds") != "900" || b.text("automation.maxExecutions") != "9" {
		t.Errorf("a part of the automation: %s", b.text("automation"))
	}
	b = patch(`{"automation":{"mode":"schedule","pattern":"0 7 * * mon-fri","timezone":"europe/berlin"}}`)
	if b.text("automation.pattern") != "0 7 * * 1-5" || b.text("automation.timezone") != "Europe/Berlin" || strings.Contains(b.text("automation"), "maxExecutions") {
		t.Errorf("another automation in place of the old: %s", b.text("automation"))
	}
	task = in.operator.newTask()
	p := in.operator.patch("/tasks/"+task, `{"automation":{"intervalSeconds":900}}`).fails(422, "invalid")
	if !p.at("body.automation.mode") {
		t.Errorf("a part of no automation: %+v", p)
	}
}

func TestTimesAndMoneyAreWrittenInOneWay(t *testing.T) {
	in := start(t)
	task := in.operator.newTask(`"automation":{"mode":"every","everySeconds":5400,"anchor":"2026-01-01T01:00:00+01:00"}`)
	a := in.viewer.get("/tasks/" + task).ok(200)
	o := a.object()
	stamp := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
	for _, field := range []string{"createdAt", "updatedAt", "nextRunAt", "nextPlannedAt"} {
		if s, _ := o[field].(string); !stamp.MatchString(s) {
			t.Errorf("%s is %v", field, o[field])
		}
	}
	if got := a.text("automation.anchor"); got != "2026-01-01T00:00:00.000Z" {
		t.Errorf("the anchor is %s", got)
	}
	fires, _ := o["automation"].(map[string]any)["nextFires"].([]any)
	if len(fires) != 5 || fires[0] != o["nextPlannedAt"] {
		t.Errorf("next fires %v, planned %v", fires, o["nextPlannedAt"])
	}
	if cost, ok := o["costUsd"].(float64); !ok || cost != 0 {
		t.Errorf("nothing has run and costs %v", o["costUsd"])
	}
	for _, field := range []string{"error", "parent", "lastRunAt", "completedAt", "currentTopicId"} {
		if v, ok := o[field]; !ok || v != nil {
			t.Errorf("%s is %v, want null", field, v)
		}
	}
}

func TestWhatIsAskedForTwiceIsDoneOnce(t *testing.T) {
	in := start(t)
	me := in.operator.with("Idempotency-Key", "k1")
	first := me.post("/tasks", `{"instruction":"once"}`).ok(201)
	again := me.post("/tasks", `{"instruction":"once"}`).ok(201)
	if string(first.Body) != string(again.Body) || first.Header.Get("ETag") != again.Header.Get("ETag") || again.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("the second answer differs: %s", again.Body)
	}
	me.post("/tasks", `{"instruction":"other"}`).fails(422, "idempotency_key_reused")
	me.post("/tasks/T-1/run", `{}`).fails(422, "idempotency_key_reused")
	in.admin.with("Idempotency-Key", "k1").post("/tasks", `{"instruction":"other"}`).ok(201) // a key is of one caller
	in.operator.with("Idempotency-Key", strings.Repeat("x", 256)).post("/tasks", `{"instruction":"x"}`).fails(422, "invalid")

	refused := in.operator.with("Idempotency-Key", "k2")
	a := refused.post("/tasks", `{"instruction":"x","parent":"T-99"}`)
	a.fails(422, "invalid")
	b := refused.post("/tasks", `{"instruction":"x","parent":"T-99"}`)
	b.fails(422, "invalid")
	if string(a.Body) != string(b.Body) {
		t.Error("a refusal is not repeated as it was")
	}
	if n := len(in.viewer.get("/tasks").items()); n != 2 {
		t.Errorf("%d tasks are there, want 2", n)
	}

	run := in.operator.with("Idempotency-Key", "k3")
	one := run.post("/tasks/T-1/run", `{"note":"now"}`).ok(202).text("topicId")
	if two := run.post("/tasks/T-1/run", `{"note":"now"}`).ok(202).text("topicId"); one != two {
		t.Error("a run that was asked for twice ran twice")
	}
	in.operator.post("/tasks/T-1/run", `{}`).fails(409, "in_flight")

	// A button whose answer was lost is pressed again.
	pause := in.operator.with("Idempotency-Key", "k4")
	pause.post("/tasks/T-1/pause", nil).ok(200)
	pause.post("/tasks/T-1/pause", nil).ok(200)
	in.operator.post("/tasks/T-1/pause", nil).fails(409, "conflict")
}

// Whoever sends a key relies on it: one that is none is not passed over in silence.
func TestAKeyThatIsNoneIsRefused(t *testing.T) {
	in := start(t)
	for name, keys := range map[string][]string{"empty": {""}, "blank": {"  "}, "two": {"a", "b"}, "the same twice": {"a", "a"}, "one of them empty": {"a", ""}} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, in.url+"/api/v1/tasks", strings.NewReader(`{"instruction":"x"}`))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range in.operator.headers {
			req.Header.Set(k, v)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header["Idempotency-Key"] = keys
		if p := in.operator.send(req).fails(400, "invalid"); !p.at("header.Idempotency-Key") {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if n := len(in.viewer.get("/tasks").items()); n != 0 {
		t.Errorf("%d tasks were made", n)
	}
}

func TestARepeatedRequestThatIsUnderWayWaitsItsTurn(t *testing.T) {
	in := start(t)
	in.operator.newTask()
	// Somebody holds the task: the first request waits for it.
	hold, err := in.store.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hold.Exec(t.Context(), `select 1 from tasks for update`); err != nil {
		t.Fatal(err)
	}
	me := in.operator.with("Idempotency-Key", "slow")
	first := make(chan answer, 1)
	go func() { first <- me.post("/tasks/T-1/run", `{}`) }()
	for {
		var n int
		if err := in.store.Pool().QueryRow(t.Context(), `select count(*) from idempotency_keys`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n == 1 {
			break
		}
	}
	me.post("/tasks/T-1/run", `{}`).fails(409, "in_progress")
	if err := hold.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := (<-first).ok(202)
	if got := me.post("/tasks/T-1/run", `{}`).ok(202); string(got.Body) != string(want.Body) {
		t.Error("afterwards the first answer is not given again")
	}
}

func TestASecretIsGivenOnce(t *testing.T) {
	in := start(t)
	me := in.admin.with("Idempotency-Key", "k")
	first := me.post("/tokens", `{"name":"ci","role":"operator"}`).ok(201)
	secret := first.text("token")
	if !strings.HasPrefix(secret, "dw_") || len(secret) < 40 {
		t.Fatalf("the secret is %q", secret)
	}
	again := me.post("/tokens", `{"name":"ci","role":"operator"}`).ok(201)
	if again.text("id") != first.text("id") || strings.Contains(string(again.Body), secret) {
		t.Errorf("the second answer is %s", again.Body)
	}
	var kept int
	err := in.store.Pool().QueryRow(t.Context(), `select count(*) from idempotency_keys where position($1 in convert_from(body, 'utf8')) > 0`, secret).Scan(&kept)
	if err != nil || kept != 0 {
		t.Errorf("the secret is in the database: %d, %v", kept, err)
	}
	if strings.Contains(string(in.admin.get("/tokens").ok(200).Body), secret) {
		t.Error("the list shows the secret")
	}
}

func TestHeadersHoldAgainstTheUsualAttacks(t *testing.T) {
	in := start(t)
	for path, c := range map[string]*client{"/api/v1/tasks": in.viewer, "/": in.nobody, "/tasks/T-1": in.nobody, "/api/v1/nothing": in.nobody} {
		a := c.raw("GET", path, nil)
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin",
		} {
			if got := a.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
		csp := a.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
			if !strings.Contains(csp, want) {
				t.Errorf("%s: the policy lacks %s: %s", path, want, csp)
			}
		}
		if strings.Contains(csp, "unsafe-eval") || strings.Contains(strings.Replace(csp, "style-src 'self' 'unsafe-inline'", "", 1), "unsafe-inline") {
			t.Errorf("%s: the policy allows scripts from anywhere: %s", path, csp)
		}
		if strings.HasPrefix(path, "/api") && a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s may be cached: %s", path, a.Header.Get("Cache-Control"))
		}
	}
}

func TestThePageOfTheAPILoadsNothing(t *testing.T) {
	in := start(t)
	a := in.nobody.raw("GET", "/api/docs", nil).ok(200)
	page := string(a.Body)
	for _, bad := range []string{"<script", "src=", "http://", "https://", "@import", "url("} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	for _, want := range []string{"/tasks/{task}/run", "Idempotency-Key", "openapi.json", "schema-Brief"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	doc := in.nobody.get("/openapi.json").ok(200)
	if doc.text("openapi") != "3.1.0" {
		t.Error("not OpenAPI 3.1")
	}
}

func TestTheDashboardHasEveryOtherAddress(t *testing.T) {
	in := start(t)
	for path, want := range map[string]struct {
		status      int
		body, cache string
	}{
		"/":                      {200, "dashboard", "no-cache"},
		"/tasks/T-1":             {200, "dashboard", "no-cache"},
		"/index.html":            {200, "dashboard", "no-cache"},
		"/assets/app-1a2b3c.js":  {200, "1", "immutable"},
		"/assets/gone-000000.js": {404, "not_found", ""},
		"/.keep":                 {404, "not_found", ""},
		"/../../etc/passwd":      {200, "dashboard", "no-cache"},
	} {
		a := in.nobody.raw("GET", path, nil)
		if a.Status != want.status || !strings.Contains(string(a.Body), want.body) || !strings.Contains(a.Header.Get("Cache-Control"), want.cache) {
			t.Errorf("%s: %d %q %.100s", path, a.Status, a.Header.Get("Cache-Control"), a.Body)
		}
	}
	in.nobody.raw("POST", "/tasks", `{}`).fails(http.StatusMethodNotAllowed, "invalid")
}
