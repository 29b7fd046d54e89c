package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// fake speaks the HTTP contract from a script: the answers to "METHOD /path", one
// after the other, the last one for ever.
type fake struct {
	mu      sync.Mutex
	answers map[string][]string
	asked   []string // "METHOD /path?query body"
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	path := strings.TrimPrefix(r.URL.Path, "/api/v1")
	f.mu.Lock()
	key := r.Method + " " + path
	line := key
	if r.URL.RawQuery != "" {
		line += "?" + r.URL.RawQuery
	}
	f.asked = append(f.asked, strings.TrimSpace(line+" "+string(body)))
	list := f.answers[key]
	if len(list) > 1 {
		f.answers[key] = list[1:]
	}
	f.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer dw_fake" {
		list = []string{`401 {"title":"Unauthorized","detail":"Sign in first.","code":"unauthorized"}`}
	}
	if len(list) == 0 {
		list = []string{`404 {"title":"Not Found","detail":"There is nothing here.","code":"not_found"}`}
	}
	status, answer := 200, list[0]
	if _, err := fmt.Sscanf(answer, "%d", &status); err == nil {
		_, answer, _ = strings.Cut(answer, " ")
	}
	w.Header().Set("Content-Type", "application/json")
	if strings.HasPrefix(answer, "id:") {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	w.WriteHeader(status)
	io.WriteString(w, answer)
	if strings.HasPrefix(answer, "id:") {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

type result struct {
	code     int
	out, err string
	asked    []string
}

var now = time.Date(2026, 3, 2, 21, 4, 0, 0, time.UTC) // a Monday

// cli runs the command line against a fake.
func cli(t *testing.T, stdin string, answers map[string][]string, args ...string) result {
	t.Helper()
	f := &fake{answers: answers}
	srv := httptest.NewServer(f)
	defer srv.Close()
	env := map[string]string{"DOGWATCH_URL": srv.URL, "DOGWATCH_TOKEN": "dw_fake"}
	var out, errs bytes.Buffer
	p := &program{in: strings.NewReader(stdin), out: &out, err: &errs,
		getenv: func(k string) string { return env[k] }, now: func() time.Time { return now }, zone: time.UTC}
	code := p.run(t.Context(), args)
	return result{code, out.String(), errs.String(), f.asked}
}

func (r result) check(t *testing.T, code int, says ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d\n%s%s", r.code, code, r.out, r.err)
	}
	for _, s := range says {
		if !strings.Contains(r.out+r.err, s) {
			t.Errorf("%q is missing in\n%s%s", s, r.out, r.err)
		}
	}
}

const (
	heartbeat = `{"id":"0198","identifier":"T-1","name":"What changed?","instruction":"What changed?","status":"scheduled","statusReason":"armed",
		"automation":{"mode":"heartbeat","intervalSeconds":600,"nextFires":["2026-03-02T21:14:00Z"]},"totalTopics":2,"costUsd":null}`
	cron = `201 {"identifier":"T-2","name":"Every weekday","status":"scheduled","automation":{"mode":"schedule","pattern":"0 7 * * 1-5","timezone":"Europe/Berlin",
		"nextFires":["2026-03-03T06:00:00.000Z","2026-03-04T06:00:00.000Z","2026-03-05T06:00:00.000Z","2026-03-06T06:00:00.000Z"]}}`
	backlog = `201 {"identifier":"T-3","name":"Once","status":"backlog"}`
	none    = `{"items":[],"nextCursor":null}`
)

func TestTaskCreateSaysWhenItRunsNext(t *testing.T) {
	r := cli(t, "", map[string][]string{"POST /tasks": {cron}},
		"task", "create", "Every weekday morning: what moved?", "--cron", "0 7 * * 1-5", "--zone", "Europe/Berlin", "--budget-day", "0.50")
	r.check(t, 0, "✓ T-2", "next Tue 07:00 CET, Wed 07:00, Thu 07:00\n")
	want := `POST /tasks {"automation":{"mode":"schedule","pattern":"0 7 * * 1-5","timezone":"Europe/Berlin"},"config":{"budget":{"day":{"usd":0.5}}},"instruction":"Every weekday morning: what moved?"}`
	if !slices.Equal(r.asked, []string{want}) {
		t.Errorf("asked %q", r.asked)
	}
}

// A time is told in the zone in which it was given.
func TestTaskCreateOnceSaysWhenInItsZone(t *testing.T) {
	once := `201 {"identifier":"T-3","name":"Once","status":"scheduled","nextRunAt":"2027-07-01T05:00:00.000Z"}`
	cli(t, "", map[string][]string{"POST /tasks": {once}}, "task", "create", "Do it", "--at", "2027-07-01 07:00", "--zone", "Europe/Berlin").
		check(t, 0, "1 Jul 2027 07:00 CEST")
}

func TestTaskCreateSaysThatItWasNotStarted(t *testing.T) {
	cli(t, "", map[string][]string{"POST /tasks": {backlog}}, "task", "create", "Do it", "--start").
		check(t, 0, "was not started; dogwatch why T-3")
}

// What each flag means in the API's words.
func TestTaskCreateFlags(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--heartbeat", "10m"}, `"automation":{"intervalSeconds":600,"mode":"heartbeat"}`},
		{[]string{"--every", "90m", "--overlap", "queue", "--missed", "all", "--max-executions", "3"},
			`"automation":{"everySeconds":5400,"maxExecutions":3,"missed":"all","mode":"every","overlap":"queue"}`},
		{[]string{"--at", "2026-07-01 07:00", "--zone", "Europe/Berlin"}, `"startAt":"2026-07-01T05:00:00.000Z"`},
		{[]string{"--at", "2026-07-01T07:00:00+01:00"}, `"startAt":"2026-07-01T06:00:00.000Z"`},
		{[]string{"--start"}, `"start":true`},
		{[]string{"--budget-run", "0.1", "--tokens-day", "5000", "--max-steps", "7", "--max-minutes", "2"},
			`"budget":{"day":{"tokens":5000},"operation":{"minutes":2,"steps":7,"usd":0.1}}`},
		{[]string{"--accept", "auto", "--model", "openai/x"}, `"config":{"acceptance":"auto","model":"openai/x"}`},
		{[]string{"--max-runs", "4", "--name", "N", "--priority", "high", "--label", "a", "--label", "b"},
			`"labels":["a","b"],"maxTopics":4,"name":"N","priority":"high"`},
		{[]string{"--agent", "scout", "--parent", "T-1", "--depends-on", "T-2"}, `"assigneeAgent":"scout","dependsOn":["T-2"]`},
	} {
		r := cli(t, "", map[string][]string{"POST /tasks": {backlog}}, append([]string{"task", "create", "Do it"}, tt.args...)...)
		r.check(t, 0)
		if len(r.asked) != 1 || !strings.Contains(r.asked[0], tt.want) {
			t.Errorf("%v: asked %q, want %s", tt.args, r.asked, tt.want)
		}
	}
}

func TestTaskCreateReadsTheInstructionFromStandardInput(t *testing.T) {
	r := cli(t, "line one\nline two\n", map[string][]string{"POST /tasks": {backlog}}, "task", "create", "-")
	r.check(t, 0, "waits in the backlog; start it: dogwatch task run T-3")
	if !strings.Contains(r.asked[0], `"instruction":"line one\nline two"`) {
		t.Errorf("asked %q", r.asked)
	}
}

// Documents are in the library before there is a task to read them.
func TestTaskCreatePinsDocuments(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notes.md")
	if err := os.WriteFile(file, []byte("# Notes"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := cli(t, "", map[string][]string{
		"GET /documents":  {none},
		"POST /documents": {`201 {"id":"d-1","title":"notes.md","version":1}`},
		"POST /tasks":     {`201 {"identifier":"T-3","name":"Read","status":"running"}`},
	}, "task", "create", "Read", "--document", file, "--document", "0198c0de-0000-7000-8000-000000000001", "--start")
	r.check(t, 0, `✓ T-3 "Read" · running · 2 documents pinned`)
	want := []string{"GET /documents?folder=&limit=200", `POST /documents {"content":"# Notes","folder":"","kind":"markdown","title":"notes.md"}`,
		`POST /tasks {"documents":["d-1","0198c0de-0000-7000-8000-000000000001"],"instruction":"Read","start":true}`}
	if !slices.Equal(r.asked, want) {
		t.Errorf("asked %q", r.asked)
	}
}

func TestDocumentAddMakesANewVersionOfWhatIsThere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prices.csv")
	if err := os.WriteFile(file, []byte("a,b\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := cli(t, "", map[string][]string{
		"GET /documents":       {`{"items":[{"id":"d-7","title":"prices.csv","folder":"market"}],"nextCursor":null}`},
		"PATCH /documents/d-7": {`{"id":"d-7","title":"prices.csv","version":2}`},
	}, "document", "add", file, "--folder", "market")
	r.check(t, 0, "✓ prices.csv · version 2")
}

func TestListsAreTablesForPeople(t *testing.T) {
	r := cli(t, "", map[string][]string{"GET /tasks": {`{"items":[` + heartbeat + `],"nextCursor":null}`}}, "task", "list")
	r.check(t, 0, "TASK", "T-1", "scheduled", "heartbeat 10 min", "cost unknown")
	r = cli(t, "", map[string][]string{"GET /briefs": {none}}, "brief", "list")
	r.check(t, 0, "Nothing waits for you.")
	if r.out != "" {
		t.Errorf("a script would read %q", r.out)
	}
}

// --json is what the server said, whatever fields it has.
func TestListsAreJSONForScripts(t *testing.T) {
	r := cli(t, "", map[string][]string{"GET /tasks": {`{"items":[{"a":1}],"nextCursor":"c"}`, `{"items":[{"a":2,"new":true}],"nextCursor":null}`}},
		"task", "list", "--json", "--limit", "0")
	r.check(t, 0)
	var got struct {
		Items      []map[string]any
		NextCursor *string
	}
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || len(got.Items) != 2 || got.Items[1]["new"] != true || got.NextCursor != nil {
		t.Errorf("got %s (%v)", r.out, err)
	}
	if !slices.Equal(r.asked, []string{"GET /tasks?limit=200", "GET /tasks?cursor=c&limit=200"}) {
		t.Errorf("asked %q", r.asked)
	}
}

func TestTaskMoves(t *testing.T) {
	paused := strings.Replace(heartbeat, `"scheduled","statusReason":"armed"`, `"paused","statusReason":"person"`, 1)
	r := cli(t, "", map[string][]string{"POST /tasks/T-1/pause": {paused}}, "task", "pause", "T-1", "--interrupt", "--note", "holiday")
	r.check(t, 0, "✓ T-1 paused · now paused (person)")
	if r.asked[0] != `POST /tasks/T-1/pause {"interrupt":true,"note":"holiday"}` {
		t.Errorf("asked %q", r.asked)
	}
	cli(t, "", map[string][]string{"POST /tasks/T-1/resume": {heartbeat}}, "task", "resume", "T-1").
		check(t, 0, "✓ T-1 resumed · now scheduled (armed) · next 21:14 UTC")
}

func TestTaskBackfill(t *testing.T) {
	const path = "POST /tasks/T-1/backfill"
	r := cli(t, "", map[string][]string{path: {`202 {"planned":2,"skippedAlreadyRan":3,"skippedRefused":1,"first":"2026-03-01T06:00:00.000Z","last":"2026-03-02T06:00:00.000Z","more":true}`}},
		"task", "backfill", "T-1", "--from", "2026-03-01 07:00", "--to", "2026-03-02T09:00:00Z", "--zone", "Europe/Berlin", "--max", "2", "--all")
	r.check(t, 0, "✓ 2 runs, from 2026-03-01 06:00 UTC to 2026-03-02 06:00 UTC", "3 ran already", "1 are refused by the schedule", "--max")
	if r.asked[0] != path+` {"from":"2026-03-01T06:00:00Z","max":2,"onlyMissing":false,"to":"2026-03-02T09:00:00Z"}` {
		t.Errorf("asked %q", r.asked)
	}
	cli(t, "", map[string][]string{path: {`202 {"planned":2}`}, "GET /tasks/T-1": {heartbeat}, "GET /tasks/T-1/why": {`{"backfill":{"planned":2,"done":0,"waitsFor":"Its budget of the day is used up."}}`}},
		"task", "backfill", "T-1", "--from", "2026-03-01T06:00:00Z").check(t, 0, "✓ 2 runs", " · it waits: Its budget")
	cli(t, "", map[string][]string{path: {`202 {"planned":2}`}, "GET /tasks/T-1": {strings.Replace(heartbeat, `"scheduled","statusReason":"armed"`, `"paused","statusReason":"person"`, 1)}},
		"task", "backfill", "T-1", "--from", "2026-03-01T06:00:00Z").check(t, 0, "it waits: T-1 is paused (person); dogwatch task resume T-1")
	cli(t, "", map[string][]string{path: {`202 {"planned":0}`}}, "task", "backfill", "T-1", "--from", "2026-03-01T06:00:00Z").
		check(t, 0, "nothing to make up for")
	cli(t, "", map[string][]string{"DELETE /tasks/T-1/backfill": {`204 `}}, "task", "backfill", "T-1", "--cancel").check(t, 0, "the rest is let go")
	r = cli(t, "", map[string][]string{path: {`202 {"planned":0}`}}, "task", "backfill", "T-1", "--from", "2026-03-01", "--zone", "Europe/Berlin")
	if r.asked[0] != path+` {"from":"2026-02-28T23:00:00Z"}` {
		t.Errorf("a date is its midnight: asked %q", r.asked)
	}
	cli(t, "", nil, "task", "backfill", "T-1").check(t, 2, "--from is missing")
	cli(t, "", nil, "task", "backfill", "T-1", "--from", "yesterday").check(t, 2, `--from "yesterday" is not a time`)
}

func TestTaskRunWait(t *testing.T) {
	start := map[string][]string{"POST /tasks/T-1/run": {`202 {"topicId":"tp","operationId":"o","skippedChecks":["outside_active_hours"]}`}}
	topic := func(status string) string {
		return `{"id":"tp","seq":3,"status":"` + status + `","origin":"manual","startedAt":"2026-03-02T21:04:00Z","completedAt":"2026-03-02T21:04:09Z",
			"handoff":{"title":"Nothing new","summary":"All quiet.","keyFindings":["one"],"nextAction":"look again"},"costUsd":0.0123}`
	}
	running := `{"id":"tp","seq":3,"status":"running","origin":"manual","startedAt":"2026-03-02T21:04:00Z","waitingFor":"human"}`
	start["GET /topics/tp"] = []string{running, topic("completed")}
	r := cli(t, "", start, "task", "run", "T-1", "--wait")
	r.check(t, 0, "✓ started (without asking: outside_active_hours)", "waits for a person", "run 3 completed", "Nothing new", "All quiet.", "took 9s", "$0.01")

	start["POST /tasks/T-1/run"] = []string{`202 {"topicId":"tp"}`}
	start["GET /topics/tp"] = []string{topic("failed")}
	cli(t, "", start, "task", "run", "T-1", "--wait").check(t, 1, "run 3 failed")
	cli(t, "", start, "task", "run", "T-1").check(t, 0, "✓ started\n")
	start["POST /tasks/T-1/run"] = []string{`409 {"title":"Conflict","detail":"A run of T-1 is open.","code":"in_flight"}`}
	cli(t, "", start, "task", "run", "T-1").check(t, 1, "dogwatch: A run of T-1 is open. (in_flight)")
	start["POST /tasks/T-1/run"] = []string{`202 {"topicId":"tp"}`}
	start["GET /topics/tp"] = []string{running}
	cli(t, "", start, "task", "run", "T-1", "--wait", "--timeout", "10ms").check(t, 1, "has not ended within 10ms; it goes on")
}

func TestWhy(t *testing.T) {
	why := `{"checks":[{"check":"paused","ok":true,"detail":""},{"check":"waiting_for_human","ok":false,"detail":"B-1 is open"}],
		"outcome":"skipped: waiting_for_human","nextRunAt":"2026-03-02T21:06:02Z"}`
	for _, args := range [][]string{{"why", "T-1"}, {"task", "why", "T-1"}} {
		cli(t, "", map[string][]string{"GET /tasks/T-1/why": {why}}, args...).
			check(t, 0, "✓ paused", "✗ waiting_for_human", "B-1 is open", "→ skipped: waiting_for_human · next 21:06:02")
	}
}

func TestBriefs(t *testing.T) {
	b := `{"number":"B-1","type":"decision","priority":"urgent","title":"Refund order 8812?","summary":"**42 EUR**\nSince May.","count":1,"createdAt":"2026-03-02T21:05:00Z",
		"actions":[{"key":"approve","label":"Approve","kind":"resolve"},{"key":"feedback","label":"Give feedback","kind":"comment"},{"key":"edit","label":"Edit","kind":"link","url":"/tasks/T-1"}]}`
	cli(t, "", map[string][]string{"GET /briefs": {`{"items":[` + b + `],"nextCursor":null}`}}, "brief", "list", "--state", "all").
		check(t, 0, "B-1", "decision", "Refund order 8812?", "21:05:00", "approve, feedback\n")
	cli(t, "", map[string][]string{"GET /briefs/B-1": {b}}, "brief", "show", "B-1").
		check(t, 0, "  **42 EUR**\n  Since May.", "dogwatch brief resolve B-1 --action approve\n", `--action feedback --comment "…"`, "Edit: /tasks/T-1")
	r := cli(t, "", map[string][]string{"POST /briefs/B-1/resolve": {`{"brief":{"number":"B-1"},"effects":["A run of T-1 was started."]}`}},
		"brief", "resolve", "B-1", "--action", "approve", "--comment", "up to 50 EUR")
	r.check(t, 0, "✓ B-1: approve\n  A run of T-1 was started.\n")
	if r.asked[0] != `POST /briefs/B-1/resolve {"action":"approve","comment":"up to 50 EUR"}` {
		t.Errorf("asked %q", r.asked)
	}
}

func TestTopicByNumber(t *testing.T) {
	answers := map[string][]string{
		"GET /tasks/T-1/topics": {`{"items":[{"id":"t2","seq":2},{"id":"t1","seq":1}],"nextCursor":null}`},
		"GET /topics/t1":        {`{"id":"t1","seq":1,"status":"completed","startedAt":"2026-03-02T21:04:00Z"}`},
		"GET /topics/t2":        {`{"id":"t2","seq":2,"status":"running","startedAt":"2026-03-02T21:04:00Z"}`},
	}
	cli(t, "", answers, "topic", "show", "T-1").check(t, 0, "run 2 running")
	cli(t, "", answers, "topic", "show", "T-1", "1").check(t, 0, "run 1 completed")
	cli(t, "", answers, "topic", "show", "T-1", "9").check(t, 1, "T-1 has no run 9")
}

func TestOperationWithSteps(t *testing.T) {
	cli(t, "", map[string][]string{
		"GET /operations/o":       {`{"id":"o","status":"done","completionReason":"max_steps","model":"offline/extractive","stepCount":2,"usage":{"inputTokens":10,"outputTokens":3},"costUsd":0}`},
		"GET /operations/o/steps": {`{"items":[{"seq":1,"kind":"model","toolCalls":[{"name":"read_document"}]},{"seq":2,"kind":"model","text":"Done."}],"nextCursor":null}`},
	}, "op", "show", "o").check(t, 0, "done: max_steps", "10 tokens in, 3 out", "$0", "1  model: read_document", "2  model · Done.")
}

// A line is printed for what is new, not for what was there.
func TestWatch(t *testing.T) {
	f := map[string][]string{
		"GET /tasks/T-1":        {heartbeat},
		"GET /events":           {"id: 5\nevent: topic.opened\ndata: {\"type\":\"topic.opened\",\"subject\":{\"kind\":\"topic\",\"id\":\"t2\"},\"payload\":{\"taskId\":\"0198\"}}\n\n"},
		"GET /tasks/0198/ticks": {`{"items":[{"id":"k1","state":"ran"}],"nextCursor":null}`, `{"items":[{"id":"k2","state":"skipped","reason":"waiting_for_human"},{"id":"k1","state":"ran"}],"nextCursor":null}`},
		"GET /tasks/0198/topics": {`{"items":[{"id":"t1","seq":1,"status":"completed","handoff":{"title":"old"}}],"nextCursor":null}`,
			`{"items":[{"id":"t2","seq":2,"status":"completed","origin":"heartbeat","costUsd":0,"handoff":{"title":"Two new mails"},"operations":[{"id":"o2","stepCount":1}]},
			  {"id":"t1","seq":1,"status":"completed","handoff":{"title":"old"}}],"nextCursor":null}`},
		"GET /briefs":              {none, `{"items":[{"id":"b","number":"B-1","type":"decision","title":"Refund?","actions":[{"key":"approve"},{"key":"decline"}]}],"nextCursor":null}`},
		"GET /operations/o2/steps": {`{"items":[{"seq":1,"kind":"tools","toolCalls":[{"name":"read"},{"name":"read"},{"name":"write"}]},{"seq":2,"kind":"model","text":"Reported"}],"nextCursor":null}`},
	}
	r := cli(t, "", f, "task", "watch", "T-1", "--runs", "1")
	r.check(t, 0, `T-1 "What changed?"   heartbeat 10 min`, "21:04:00 tick skipped: waiting_for_human", "run 2 started (heartbeat)", "  tools: read ×2, write\n",
		`run 2 completed · $0 · handoff "Two new mails"`, `BRIEF B-1 decision: "Refund?"  (dogwatch brief resolve B-1 --action approve|decline)`)
	if strings.Contains(r.out, "old") || strings.Contains(r.out, "Reported") {
		t.Errorf("old runs are no news:\n%s", r.out)
	}
}

func TestWhatOthersWroteDoesNotDriveTheTerminal(t *testing.T) {
	evil := strings.Replace(heartbeat, `"name":"What changed?"`, `"name":"\u001b[2Jred\u0007"`, 1)
	r := cli(t, "", map[string][]string{"GET /tasks": {`{"items":[` + evil + `],"nextCursor":null}`}}, "task", "list")
	r.check(t, 0, "red")
	if strings.ContainsAny(r.out, "\x1b\x07") {
		t.Errorf("got %q", r.out)
	}
}

// Scripts branch on exit codes.
func TestExitCodes(t *testing.T) {
	nothing := map[string][]string{}
	for _, tt := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"help", []string{"--help"}, 0, "Usage"},
		{"bare", nil, 0, "Usage"},
		{"unknown command", []string{"dance"}, 2, `there is no command "dance" in dogwatch`},
		{"unknown subcommand", []string{"task", "dance"}, 2, `there is no command "dance" in dogwatch task`},
		{"unknown flag", []string{"task", "list", "--lisen"}, 2, "there is no flag --lisen"},
		{"missing argument", []string{"task", "show"}, 2, "TASK is missing; give dogwatch task show TASK"},
		{"missing flag", []string{"brief", "resolve", "B-1"}, 2, "action"},
		{"two kinds of order", []string{"task", "create", "x", "--every", "1m", "--cron", "* * * * *"}, 2, "--every and --cron exclude each other"},
		{"a time that is empty", []string{"task", "create", "x", "--at", ""}, 2, "--at is empty"},
		{"a pattern that is empty", []string{"task", "create", "x", "--cron", " "}, 2, "--cron is empty"},
		{"a key that is empty", []string{"task", "create", "x", "--concurrency-key", ""}, 2, "--concurrency-key is empty"},
		{"half a second", []string{"task", "create", "x", "--every", "1500ms"}, 2, "whole seconds"},
		{"no order", []string{"task", "create", "x", "--overlap", "skip"}, 2, "add --heartbeat"},
		{"no time", []string{"task", "create", "x", "--at", "soon"}, 2, `"soon"`},
		{"no duration", []string{"task", "run", "T-1", "--timeout", "soon"}, 2, `--timeout "soon" is not usable; allowed is a time such as 90s`},
		{"no number", []string{"task", "list", "--limit", "all"}, 2, `--limit "all" is not usable; allowed is a whole number`},
		{"no zone", []string{"task", "create", "x", "--at", "2026-01-01 00:00", "--zone", "Mars"}, 2, `"Mars"`},
		{"not there", []string{"task", "show", "T-9"}, 1, "There is nothing here. (not_found)"},
		{"no such file", []string{"document", "add", "nowhere.md"}, 1, "nowhere.md"},
		{"configuration", []string{"task", "list", "--url", "nonsense"}, 2, "allowed is an address"},
		{"nobody there", []string{"task", "list", "--url", "http://127.0.0.1:1"}, 3, "does not answer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cli(t, "", nothing, tt.args...).check(t, tt.code, tt.says)
		})
	}
}

func TestWithoutAnInstance(t *testing.T) {
	var out, errs bytes.Buffer
	t.Chdir(t.TempDir())
	p := &program{in: strings.NewReader(""), out: &out, err: &errs, getenv: func(string) string { return "" }, now: time.Now, zone: time.UTC}
	if code := p.run(t.Context(), []string{"brief", "list"}); code != 3 || !strings.Contains(errs.String(), "dogwatch up") {
		t.Errorf("%d %s", code, errs.String())
	}
}

func TestTimesAsPeopleReadThem(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	p := &program{now: func() time.Time { return now }, zone: berlin}
	for at, want := range map[string]string{
		"2026-03-02T20:00:00Z": "21:00:00 CET",
		"2026-03-03T06:00:00Z": "Tue 07:00 CET",
		"2026-05-01T06:00:00Z": "2026-05-01 08:00 CEST",
	} {
		v, _ := time.Parse(time.RFC3339, at)
		if got := p.when(&v); got != want {
			t.Errorf("%s: got %s, want %s", at, got, want)
		}
	}
	for zone, want := range map[string]string{
		"Europe/Berlin": "Tue 00:30 CET", "Europe/Rome": "Tue 00:30 CET", "": "Tue 00:30 CET",
		"UTC": "Tue 00:30 CET (Mon 23:30 UTC)", "Europe/Helsinki": "Tue 00:30 CET (01:30 EET)",
	} {
		at := time.Date(2026, 3, 2, 23, 30, 0, 0, time.UTC)
		if got := p.planned(&at, &automation{Timezone: zone}); got != want {
			t.Errorf("planned in %q: got %s, want %s", zone, got, want)
		}
	}
	if got := p.when(nil); got != "–" {
		t.Errorf("never: got %s", got)
	}
	// Over a clock change the zone is said again.
	a := &automation{Timezone: "Europe/Berlin"}
	for _, at := range []string{"2026-03-28T06:00:00Z", "2026-03-29T05:00:00Z"} {
		v, _ := time.Parse(time.RFC3339, at)
		a.NextFires = append(a.NextFires, fire{v})
	}
	if got := p.fires(a, 3); got != "next Sat 28 Mar 07:00 CET, Sun 29 Mar 07:00 CEST" {
		t.Errorf("got %s", got)
	}
	for s, want := range map[int64]string{45: "45 s", 60: "1 min", 90: "90 s", 600: "10 min", 5400: "90 min", 9000: "2 h 30 min", 7200: "2 h", 172800: "2 days"} {
		if got := seconds(s); got != want {
			t.Errorf("%d: got %s, want %s", s, got, want)
		}
	}
}
