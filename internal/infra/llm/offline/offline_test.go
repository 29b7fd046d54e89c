package offline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/dogwatch/dogwatch/internal/domain/brief"
	"github.com/dogwatch/dogwatch/internal/domain/handoff"
	"github.com/dogwatch/dogwatch/internal/domain/prompt"
	"github.com/dogwatch/dogwatch/internal/domain/turn"
)

var tools = []turn.ToolSpec{
	{Name: "list_documents", Schema: json.RawMessage(`{"type":"object"}`)},
	{Name: "read_document", Schema: json.RawMessage(`{"type":"object","properties":{"documentId":{"type":"string"}},"required":["documentId"]}`)},
	{Name: "create_brief", Schema: json.RawMessage(`{"type":"object"}`)},
}

// world is what the task's tools work on.
type world struct {
	docs   []prompt.Document
	texts  map[string]string
	briefs []map[string]any
	runs   []prompt.Previous
	asked  []brief.Brief
	said   []prompt.Feedback
	steps  int
}

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func (w *world) put(title, text string) {
	if w.texts == nil {
		w.texts = map[string]string{}
	}
	for i := range w.docs {
		if w.docs[i].Title == title {
			w.docs[i].Version++
			w.docs[i].ChangedSince = true
			w.texts[w.docs[i].ID] = text
			return
		}
	}
	id := fmt.Sprintf("0199f0a0-0000-7000-8000-%012d", len(w.docs)+1)
	w.docs = append(w.docs, prompt.Document{ID: id, Title: title, Kind: "markdown", Version: 1, Size: int64(len(text)), UpdatedAt: noon, ChangedSince: true})
	w.texts[id] = text
}

func (w *world) prompt() string {
	text, _ := prompt.Build(prompt.Run{
		Identifier: "T-1", Name: "Watch", Instruction: "What changed since the last run, and what needs a decision?",
		Number: len(w.runs) + 1, Now: noon, Trigger: "its heartbeat", Previous: w.runs, Documents: w.docs, Asked: w.asked, Feedback: w.said,
	}.Sections(), 32_000)
	return text
}

// run plays the engine: it runs the tools that are called until the model is
// done, has the handoff written, and returns the final text and the handoff.
func (w *world) run(t *testing.T) (string, handoff.Handoff) {
	t.Helper()
	m := New()
	req := turn.Request{System: "You are an agent.", Messages: []turn.Message{{Role: turn.User, Content: w.prompt()}}, Tools: tools}
	for w.steps = 1; w.steps <= 12; w.steps++ {
		reply := m.Reply(req)
		if again := m.Reply(req); cmp.Diff(reply, again) != "" {
			t.Fatal("the same request got another reply")
		}
		if reply.Stop != turn.StopTools {
			out := m.Reply(turn.Request{
				Output: &turn.OutputSchema{Name: "handoff", Schema: handoff.Schema},
				Messages: []turn.Message{{Role: turn.User, Content: "<task>\n# Watch\n</task>\n\n<report>\nThe last thing the agent said.\n" +
					reply.Text + "\n</report>\n\n<transcript>\nagent: " + reply.Text + "\nagent calls read_document {}\n</transcript>"}},
			})
			h, err := handoff.Parse(out.Text)
			if err != nil {
				t.Fatalf("%v in %s", err, out.Text)
			}
			validate(t, handoff.Schema, out.Text)
			w.runs = append(w.runs, prompt.Previous{Number: len(w.runs) + 1, EndedAt: noon, Status: "completed", Handoff: h})
			for i := range w.docs {
				w.docs[i].ChangedSince = false
			}
			return reply.Text, h
		}
		req.Messages = append(req.Messages, turn.Message{Role: turn.Assistant, Content: reply.Text, ToolCalls: reply.ToolCalls})
		for _, c := range reply.ToolCalls {
			result := turn.Message{Role: turn.Tool, ToolCallID: c.ID}
			var args map[string]any
			if err := json.Unmarshal([]byte(c.Arguments), &args); err != nil {
				t.Fatalf("arguments %s: %v", c.Arguments, err)
			}
			switch c.Name {
			case "read_document":
				text, ok := w.texts[args["documentId"].(string)]
				result.Content, result.IsError = text, !ok
			case "create_brief":
				w.briefs = append(w.briefs, args)
				result.Content = "opened"
			}
			req.Messages = append(req.Messages, result)
		}
	}
	t.Fatal("the model does not come to an end")
	return "", handoff.Handoff{}
}

func validate(t *testing.T, schema json.RawMessage, text string) {
	t.Helper()
	s, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("s.json", s); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("s.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if err := compiled.Validate(v); err != nil {
		t.Fatalf("%s\nagainst %s: %v", text, schema, err)
	}
}

const (
	releaseNotes = `# Release 4.2

Version 4.2 removes the deprecated XML export, which 14 customers still used in October.
Imports are now 30 % faster. We fixed several small bugs.

- The minimum supported PostgreSQL version is now 15.
- Dark mode follows the system setting.
`
	complaint = `From: Maria Keller <m.keller@example.com>
Date: Mon, 30 Nov 2026 08:14:00 +0000
Subject: Order 8812 arrived broken

Hello, my coffee machine (order 8812) arrived with a cracked water tank.
I do not want a replacement. Please approve a refund of 49.90 EUR for order 8812 as soon as possible, this is urgent.

Regards, Maria`
)

func readings(n int, odd int) string {
	var b strings.Builder
	b.WriteString("time,sensor,temperature,humidity\n")
	for i := range n {
		temp := 21 + float64(i%7)/10
		if i == odd {
			temp = 71.3
		}
		fmt.Fprintf(&b, "2026-11-30T%02d:%02d,roof,%.1f,%d\n", i/60, i%60, temp, 40+i%5)
	}
	return b.String()
}

// The journey that a newcomer watches: a baseline, news with a decision, the
// answer, and quiet.
func TestRunsBuildOnEachOther(t *testing.T) {
	w := &world{}
	w.put("release-notes.md", releaseNotes)
	w.put("readings.csv", readings(100, -1))
	w.put("welcome.md", "# Welcome\n\nThis folder holds the mails of the support desk, newest at the end.\n")

	text, first := w.run(t)
	if !strings.Contains(text, "Baseline of 3 documents") || !strings.Contains(text, "XML export") || !strings.Contains(text, "100 rows") {
		t.Errorf("first report:\n%s", text)
	}
	if !strings.Contains(text, Disclaimer) || !strings.Contains(first.Summary, Disclaimer) {
		t.Error("it does not say what it is")
	}
	if len(w.briefs) != 0 || w.steps != 2 {
		t.Errorf("%d briefs in %d steps", len(w.briefs), w.steps)
	}
	if first.Title != "Baseline of 3 documents" || len(first.KeyFindings) == 0 || first.NextAction == "" || first.Unfinished != "" {
		t.Errorf("first handoff %+v", first)
	}

	w.put("mail-1.txt", complaint)
	w.put("readings.csv", readings(124, 110))
	text, second := w.run(t)
	for _, want := range []string{"New or changed: mail-1.txt", "New or changed: readings.csv", "24 new rows", "71.3 in row 111", "Needs a decision"} {
		if !strings.Contains(text, want) {
			t.Errorf("second report lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "XML export") {
		t.Errorf("what the first run said is told again:\n%s", text)
	}
	if len(w.briefs) != 1 {
		t.Fatalf("%d briefs: %v", len(w.briefs), w.briefs)
	}
	b := w.briefs[0]
	if b["type"] != "decision" || b["priority"] != "urgent" || !strings.Contains(b["title"].(string), "refund of 49.90 EUR for order 8812") ||
		!strings.Contains(b["summary"].(string), "mail-1.txt") || !strings.Contains(b["summary"].(string), Disclaimer) || len(b["choices"].([]any)) != 2 {
		t.Errorf("brief %v", b)
	}
	if news := handoff.News(first, second); len(news) == 0 {
		t.Error("the second handoff has no news")
	}

	action, comment := "approve", "up to 50 EUR"
	w.asked = []brief.Brief{{Number: 1, Title: b["title"].(string), ResolvedAction: &action, ResolvedComment: &comment, ResolvedAt: &noon}}
	text, third := w.run(t)
	if len(w.briefs) != 1 {
		t.Errorf("asked again: %v", w.briefs[1:])
	}
	if !strings.Contains(text, "up to 50 EUR") || !strings.Contains(text, "No new documents") || !strings.Contains(text, noChange) {
		t.Errorf("third report:\n%s", text)
	}

	_, fourth := w.run(t)
	if news := handoff.News(third, fourth); len(news) != 0 {
		t.Errorf("nothing happened, and this is news: %q", news)
	}
	w.runs = w.runs[2:] // the run that raised it is out of sight; the answer is not
	if w.run(t); len(w.briefs) != 1 {
		t.Errorf("asked again: %v", w.briefs[1:])
	}
}

func TestManyDocumentsAreReadInBatches(t *testing.T) {
	w := &world{}
	for i := range 40 {
		w.put(fmt.Sprintf("mail-%02d.txt", i), fmt.Sprintf("Customer number %d reports that device %d stopped after the update of Tuesday.", i, 100+i))
	}
	text, h := w.run(t)
	if w.steps != 5 || !strings.Contains(text, "Baseline of 32 documents") || !strings.Contains(text, "8 further documents") {
		t.Errorf("%d steps:\n%s", w.steps, text)
	}
	if !strings.Contains(h.Unfinished, "8 further documents") {
		t.Errorf("unfinished: %q", h.Unfinished)
	}
	if len([]rune(h.Summary)) >= handoff.MaxSummary {
		t.Errorf("the summary is cut: %d characters", len([]rune(h.Summary)))
	}
}

func TestDocumentThatCannotBeReadIsNamedAndNotAskedForAgain(t *testing.T) {
	w := &world{}
	w.put("a.md", "The turbine of hall 3 was repaired on Friday by the night shift.")
	w.docs = append(w.docs, prompt.Document{ID: "gone-1", Title: "gone.md", Kind: "markdown", Version: 1})
	if text, _ := w.run(t); !strings.Contains(text, "gone-1 could not be read") || w.steps != 2 {
		t.Errorf("%d steps:\n%s", w.steps, text)
	}
}

func TestWithoutTools(t *testing.T) {
	reply := New().Reply(turn.Request{Messages: []turn.Message{{Role: turn.User, Content: "Sum up: the reactor of plant 7 was shut down at 04:12 after a coolant leak. Nobody was hurt."}}})
	if reply.Stop != turn.StopEnd || !strings.Contains(reply.Text, "plant 7") || !strings.Contains(reply.Text, Disclaimer) {
		t.Errorf("%s", reply.Text)
	}
	for _, req := range []turn.Request{{}, {Tools: tools[1:]}} {
		if reply := New().Reply(req); reply.Text == "" || reply.Stop != turn.StopEnd {
			t.Errorf("%+v", reply)
		}
	}
}

func TestDocumentsAreFoundByTheToolWhenThePromptListsNone(t *testing.T) {
	req := turn.Request{Tools: tools, Messages: []turn.Message{{Role: turn.User, Content: "<task>Look around.</task>"}}}
	reply := New().Reply(req)
	if len(reply.ToolCalls) != 1 || reply.ToolCalls[0].Name != "list_documents" {
		t.Fatalf("%+v", reply)
	}
	req.Messages = append(req.Messages, turn.Message{Role: turn.Assistant, ToolCalls: reply.ToolCalls},
		turn.Message{Role: turn.Tool, ToolCallID: reply.ToolCalls[0].ID, Content: `{"documents":[{"id":"d1","title":"One","version":3},{"id":"d2","title":"Two"}]}`})
	if reply := New().Reply(req); len(reply.ToolCalls) != 2 || reply.ToolCalls[1].Arguments != `{"documentId":"d2"}` {
		t.Errorf("%+v", reply)
	}
}

func TestParseDocuments(t *testing.T) {
	want := []document{{ref: "D-1", title: "New prices (draft)", version: 2, fresh: true}, {ref: "D-2", title: "Mail", version: 1}}
	for name, in := range map[string]string{
		"lines of the prompt": "Pinned.\n- id=D-1 “New prices (draft)” (markdown, version 2, 5 bytes, 2026-11-30, changed since the last run)\n- id=D-2 “Mail” (markdown, version 1)",
		"lines with brackets": "* [D-1] “New prices (draft)” (v2, updated)\n* [D-2] Mail (v1)",
		"JSON":                `[{"id":"D-1","title":"New prices (draft)","version":2,"updated":true},{"id":"D-2","title":"Mail","version":1}]`,
		"elements":            `<document id="D-1" title="New prices (draft)" version="2" status="changed"/><document id="D-2" title="Mail" version="1"></document>`,
	} {
		if d := cmp.Diff(want, parseDocuments(in), cmp.AllowUnexported(document{})); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if got := parseDocuments("no list at all"); got != nil {
		t.Errorf("%v", got)
	}
}

func TestDecisions(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
	}{
		{"Please approve a refund of 49 EUR for order 8812.", true},
		{"Should we extend the licence of Acme for 12 months?", true},
		{"The offer of the new supplier needs your approval before Friday.", true},
		{"I want my money back for invoice 2231.", true},
		{"Please let us know whether the 3 servers may be switched off.", true},
		{"请批准为订单8812退款49欧元。", true},
		{"是否同意把发布推迟到12月3日？", true},
		{"The refund of order 8812 was approved on Monday.", false},
		{"No approval is needed for orders below 20 EUR.", false},
		{"Refunds are paid within 14 days.", false},
		{"The approval process is described in the handbook.", false},
		{"订单8812的退款已经批准。", false},
		{"Please find attached the invoice for October.", false},
	} {
		open, _ := findDecisions(sentencesOf(c.text, 0), func(int) string { return "mail" }, "")
		if (len(open) > 0) != c.want {
			t.Errorf("%q: decision %v", c.text, !c.want)
		}
	}
}

func TestDecisionThatIsKnownIsNotRaisedAgain(t *testing.T) {
	text := "Please approve a refund of 49 EUR for order 8812. The customer is waiting."
	for _, c := range []struct {
		known string
		again bool
	}{
		{"", true},
		{"- B-1 “Approve a refund of 49 EUR for order 8812?”: answered with approve", false},
		{"- Decision asked: Please approve a refund of 49 EUR for order 8812. (from “mail”)", false},
		{"- B-2 “Approve a refund of 49 EUR for order 9001?”: answered with approve", true}, // another order
		{"Nothing to decide.", true},
	} {
		open, old := findDecisions(sentencesOf(text, 0), func(int) string { return "mail" }, c.known)
		if (len(open) == 1) != c.again || (len(old) == 1) == c.again {
			t.Errorf("known %q: %d open, %d old", c.known, len(open), len(old))
		}
	}
	open, _ := findDecisions(sentencesOf(text, 0), func(int) string { return "mail" }, "")
	again, _ := findDecisions(sentencesOf("Hello. "+text, 0), func(int) string { return "mail" }, "")
	if open[0].key() != again[0].key() {
		t.Error("the key depends on what stands around the request")
	}
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"One. Two! Three?", []string{"One.", "Two!", "Three?"}},
		{"Dr. Chen paid 1.5 EUR to example.com, e.g. for tea. Done.", []string{"Dr. Chen paid 1.5 EUR to example.com, e.g. for tea.", "Done."}},
		{"A line that\nwas wrapped. Next.", []string{"A line that was wrapped.", "Next."}},
		{"# Title\ntext\n- item one\n- item two", []string{"Title", "text", "item one", "item two"}},
		{"第一句。第二句！“第三句？”完", []string{"第一句。", "第二句！", "“第三句？”", "完"}},
		{"From: a@b.c\nSubject: Broken\n\nHello there.", []string{"Broken", "Hello there."}},
		{"“Really?” he asked.", []string{"“Really?”", "he asked."}},
		{"", nil},
		{" \n\n - \n", nil},
	} {
		if d := cmp.Diff(c.want, split(c.in)); d != "" {
			t.Errorf("%q: %s", c.in, d)
		}
	}
}

func TestTables(t *testing.T) {
	tab, ok := readTable("r.csv", readings(60, 30))
	if !ok {
		t.Fatal("not read as a table")
	}
	summary, odd, changes := tab.facts("- r.csv: 58 rows; and so on")
	if !strings.Contains(summary, "r.csv: 60 rows") || !strings.Contains(summary, "temperature from 21 to 71.3") || !slices.Equal(changes, []string{"r.csv has 2 new rows"}) {
		t.Errorf("%q, %q", summary, changes)
	}
	if len(odd) != 0 {
		t.Errorf("an old row is told again: %q", odd)
	}
	if _, odd, _ := tab.facts(""); len(odd) != 1 || !strings.Contains(odd[0], "row 31 (time 2026-11-30T00:30)") {
		t.Errorf("%q", odd)
	}
	for name, in := range map[string]string{
		"prose":          "Hello, dear all,\nthis is, as you see,\nno table, but\na text, really",
		"numbers on top": "1,2\n3,4\n5,6\n7,8",
		"too short":      "a,b\n1,2",
		"words only":     "a,b\nx,y\nx,y\nx,y",
		"nothing":        "",
	} {
		if _, ok := readTable("x", in); ok {
			t.Errorf("%s is read as a table", name)
		}
	}
	if tab, ok := readTable("x", "zeit;wert\na;1\nb;2\nc;3\n"); !ok || len(tab.rows) != 3 {
		t.Error("a table with semicolons is not read")
	}
}

func TestRankPrefersWhatIsRare(t *testing.T) {
	text := "The team met and talked about the weather and the food. The team met and talked about the weather again. " +
		"The pump of reactor 7 failed with code E1143 after the coolant leak. The team met and talked about the food again."
	all := sentencesOf(text, 0)
	rank(all)
	if got := pick(all, 1, 5); len(got) != 1 || !strings.Contains(got[0].text, "E1143") {
		t.Errorf("%v", got)
	}
	if got := pick(all, 4, 5); len(got) > 3 {
		t.Errorf("says the same twice: %v", got)
	}
}

// Whatever schema is asked for, the answer is an instance of it.
func TestStructuredOutputIsValidForAnySchema(t *testing.T) {
	for _, schema := range []string{
		string(handoff.Schema),
		`{"type":"object","properties":{"emit":{"type":"boolean"},"reason":{"type":"string","maxLength":20}},"required":["emit","reason"],"additionalProperties":false}`,
		`{"type":"object","required":["score"],"properties":{"score":{"type":"integer","minimum":1,"maximum":5},"title":{"type":"string","minLength":3,"maxLength":10}}}`,
		`{"type":"array","minItems":2,"items":{"enum":["x","y"]}}`,
		`{"anyOf":[{"type":"string","minLength":5},{"type":"null"}]}`,
		`{"$defs":{"a":{"type":"object","required":["n"],"properties":{"n":{"type":["number","null"],"exclusiveMinimum":3}}}},"type":"object","required":["list"],"properties":{"list":{"type":"array","minItems":1,"items":{"$ref":"#/$defs/a"}}}}`,
		`{"type":"object","required":["summary"],"properties":{"summary":{"type":"array","items":{"type":"string","maxLength":8},"maxItems":2}}}`,
		`{"type":"object","required":["keyFindings"],"properties":{"keyFindings":{"type":"array","items":{"type":"object","required":["t"],"properties":{"t":{"const":1}}}}}}`,
		`{"const":7}`, `{"type":"null"}`, `{}`, `true`,
	} {
		for _, material := range []string{"", "The pump of reactor 7 failed with code E1143. It was replaced at noon."} {
			reply := New().Reply(turn.Request{
				Output:   &turn.OutputSchema{Name: "x", Schema: json.RawMessage(schema)},
				Messages: []turn.Message{{Role: turn.User, Content: material}},
			})
			validate(t, json.RawMessage(schema), reply.Text)
		}
	}
}

func TestHandoffOfAnothersText(t *testing.T) {
	for in, want := range map[string]string{
		"<task>x</task><report>\nThe last thing the agent said.\nThe pump of reactor 7 failed with code E1143 at 04:12. " +
			"The night shift replaced it with the spare one from hall 3.\n</report><transcript>tool result: {}</transcript>": "E1143",
		"<task>x</task><ending>\nThe run ended as failed (provider_auth) after 1 steps. Error: the key was refused.\n</ending>": "the key was refused",
	} {
		reply := New().Reply(turn.Request{
			Output:   &turn.OutputSchema{Name: "handoff", Schema: handoff.Schema},
			Messages: []turn.Message{{Role: turn.User, Content: in}},
		})
		h, err := handoff.Parse(reply.Text)
		if err != nil || !strings.Contains(h.Summary, want) || !strings.Contains(h.Summary, Disclaimer) || len(h.KeyFindings) != 2 {
			t.Errorf("%+v, %v", h, err)
		}
		if strings.Contains(reply.Text, "last thing") || strings.Contains(reply.Text, "tool result") {
			t.Errorf("takes the frame for the picture: %s", reply.Text)
		}
	}
}

// The judge of briefs says yes to news and no to quiet.
func TestBriefJudge(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"emit":{"type":"boolean"},"reason":{"type":"string","maxLength":120}},"required":["emit","reason"]}`)
	for text, want := range map[string]bool{
		analysis{read: []document{{ref: "a"}}}.report():                        false,
		analysis{read: []document{{ref: "a"}}, fresh: []string{"a"}}.report():  true,
		analysis{first: true, read: []document{{ref: "a"}}}.report():           true,
		"The pump of reactor 7 failed with code E1143 and has to be replaced.": true,
		"": false,
	} {
		reply := New().Reply(turn.Request{Output: &turn.OutputSchema{Name: "judge", Schema: schema}, Messages: []turn.Message{{Role: turn.Assistant, Content: text}}})
		var got struct {
			Emit   bool
			Reason string
		}
		if err := json.Unmarshal([]byte(reply.Text), &got); err != nil || got.Emit != want || got.Reason == "" {
			t.Errorf("%q: %s, want %v", text, reply.Text, want)
		}
	}
}

// No text, however odd, breaks it, and every reply can be used.
func TestAnyInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("ab1 .,;:!?\n<>/=\"“”[]-#请批准。？v\t{}refundw"))).Draw(t, "text")
		req := turn.Request{Tools: tools, Messages: []turn.Message{
			{Role: turn.User, Content: "<task>x</task><documents>\n- id=d1 “a” (version 1)\n</documents><previous_runs>" + text + "</previous_runs>"},
			{Role: turn.Assistant, ToolCalls: []turn.ToolCall{{ID: "c", Name: "read_document", Arguments: `{"documentId":"d1"}`}}},
			{Role: turn.Tool, ToolCallID: "c", Content: text},
		}}
		reply := New().Reply(req)
		for _, c := range reply.ToolCalls {
			if !json.Valid([]byte(c.Arguments)) || c.ID == "" {
				t.Fatalf("%+v", c)
			}
		}
		if reply.Text == "" {
			t.Fatal("says nothing")
		}
	})
}

func FuzzStructured(f *testing.F) {
	f.Add(`{"$ref":"#"}`, "a")
	f.Add(`{"type":"array","minItems":1e9,"items":{"type":"array","minItems":1e9}}`, "a")
	f.Fuzz(func(t *testing.T, schema, text string) {
		out := structured(turn.Request{Output: &turn.OutputSchema{Schema: json.RawMessage(schema)}, Messages: []turn.Message{{Role: turn.User, Content: text}}})
		if !json.Valid([]byte(out)) || len(out) > 64<<20 {
			t.Fatalf("%d bytes: %.100s", len(out), out)
		}
	})
}
