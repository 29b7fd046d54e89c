package handoff

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

const plain = `{"title": "Mails counted", "summary": "Three are open.", "keyFindings": ["Three mails are open."], "nextAction": "Count again.", "unfinished": ""}`

func TestWhatAModelWroteIsRead(t *testing.T) {
	want := Handoff{Title: "Mails counted", Summary: "Three are open.", KeyFindings: []string{"Three mails are open."}, NextAction: "Count again."}
	for name, text := range map[string]string{
		"plain":                plain,
		"with space around":    "\n\n  " + plain + "  \n",
		"in a fence":           "```json\n" + plain + "\n```",
		"in prose":             "Here is the handoff:\n" + plain + "\nI hope it helps.",
		"with more than asked": strings.Replace(plain, "{", `{"mood": "good", `, 1),
	} {
		got, err := Parse(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestWhatIsNoHandoffIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":         "",
		"prose":           "I counted the mails.",
		"half an object":  `{"title": "Mails`,
		"an array":        `["title"]`,
		"null":            "null",
		"wrong types":     `{"title": 5, "summary": "x"}`,
		"no title":        `{"summary": "x"}`,
		"blank title":     `{"title": " \n ", "summary": "x"}`,
		"no summary":      `{"title": "x", "keyFindings": ["y"]}`,
		"braces in prose": "use {curly} ones",
	} {
		if h, err := Parse(text); err == nil {
			t.Errorf("%s is read as %+v", name, h)
		}
	}
}

func TestWhatIsTooLongIsCut(t *testing.T) {
	long := strings.Repeat("词", 20_000)
	b, err := json.Marshal(Handoff{Title: long, Summary: long, KeyFindings: []string{long, "", " ", long, long, long, long, long, long, long, long, long, long}, NextAction: long, Unfinished: long})
	if err != nil {
		t.Fatal(err)
	}
	h, err := Parse(string(b))
	if err != nil {
		t.Fatal(err)
	}
	if len(h.KeyFindings) != MaxFindings {
		t.Errorf("%d findings", len(h.KeyFindings))
	}
	within(t, h)
	if !strings.HasSuffix(h.Title, "…") {
		t.Errorf("nothing says that the title was cut: %q", h.Title[len(h.Title)-9:])
	}
}

type failer interface{ Errorf(string, ...any) }

// within checks that every part keeps its limit, and that none is missing.
func within(t failer, h Handoff) {
	n := utf8.RuneCountInString
	if n(h.Title) > MaxTitle || n(h.Summary) > MaxSummary || n(h.NextAction) > MaxNextAction || n(h.Unfinished) > MaxNextAction || len(h.KeyFindings) > MaxFindings {
		t.Errorf("a part is too long: %+v", h)
	}
	for _, f := range h.KeyFindings {
		if n(f) > MaxFinding || f == "" || strings.ContainsAny(f, "\n\r") {
			t.Errorf("finding %q", f)
		}
	}
	if h.KeyFindings == nil {
		t.Errorf("no list of findings, rather than an empty one")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(plain)
	f.Add("```json\n{}\n```")
	f.Add(`{"title":"a","summary":"b","keyFindings":[null,"\u0000"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		h, err := Parse(text)
		if err != nil {
			return
		}
		within(t, h)
		if h.Title == "" || h.Summary == "" {
			t.Errorf("%+v says nothing", h)
		}
	})
}

func TestAHandoffFromFactsAlone(t *testing.T) {
	for _, c := range []struct {
		name  string
		facts Facts
		check func(Handoff) bool
	}{
		{"the report's first line is the title", Facts{TaskName: "Mails", Status: "completed", Reason: "done", FinalText: "# Three mails\n\n- One is late.\n* Two are not.", Steps: 4},
			func(h Handoff) bool {
				return h.Title == "Three mails" && reflect.DeepEqual(h.KeyFindings, []string{"One is late.", "Two are not."}) && strings.Contains(h.Summary, "completed after 4 steps") && h.Unfinished == ""
			}},
		{"a failure says what failed", Facts{TaskName: "Mails", Status: "failed", Reason: "error provider_auth", Error: "The key was refused."},
			func(h Handoff) bool {
				return h.Title == "Mails: The key was refused." && strings.Contains(h.Summary, "The key was refused.") && h.NextAction != "" && h.Unfinished == ""
			}},
		{"a run that was cut short leaves the rest", Facts{TaskName: "Mails", Status: "completed", Reason: "max_steps", FinalText: "Half of them.", Partial: true},
			func(h Handoff) bool { return h.Title == "Half of them." && strings.Contains(h.Unfinished, "max_steps") }},
		{"a run that said nothing", Facts{TaskName: "Mails", Status: "canceled", Reason: "interrupted"},
			func(h Handoff) bool { return h.Title == "Mails: canceled" && h.Summary != "" }},
		{"a text of signs only", Facts{TaskName: "Mails", Status: "completed", FinalText: "---\n***\n>"},
			func(h Handoff) bool { return h.Title == "Mails: completed" }},
		{"what it wrote and asked", Facts{TaskName: "Mails", Status: "completed", Written: []string{"Report"}, Briefs: []string{"Refund?"}},
			func(h Handoff) bool {
				all := strings.Join(h.KeyFindings, " ")
				return strings.Contains(all, "“Report”") && strings.Contains(all, "“Refund?”")
			}},
	} {
		if h := Fallback(c.facts); !c.check(h) {
			t.Errorf("%s: %+v", c.name, h)
		}
	}
}

// Every run leaves a handoff that the next can start from, whatever it said.
func TestEveryRunLeavesAHandoff(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := Fallback(Facts{
			TaskName: rapid.StringN(1, 200, -1).Draw(t, "name"), Status: rapid.SampledFrom([]string{"completed", "failed", "timeout", "canceled"}).Draw(t, "status"),
			Reason: rapid.String().Draw(t, "reason"), FinalText: rapid.String().Draw(t, "text"), Error: rapid.String().Draw(t, "error"),
			Written: rapid.SliceOfN(rapid.String(), 0, 20).Draw(t, "written"), Partial: rapid.Bool().Draw(t, "partial"),
		})
		within(t, h)
		if h.Title == "" || h.Summary == "" {
			t.Fatalf("%+v says nothing", h)
		}
	})
}

func TestAPartialRunSaysThatSomethingIsLeft(t *testing.T) {
	partial := Facts{Reason: "max_steps", Partial: true}
	if got := (Handoff{Title: "Half"}).Of(partial); !strings.Contains(got.Unfinished, "max_steps") {
		t.Errorf("%+v", got)
	}
	if got := (Handoff{Unfinished: "Mails of May."}).Of(partial); got.Unfinished != "Mails of May." {
		t.Errorf("what the model knows better is overwritten: %+v", got)
	}
	if got := (Handoff{}).Of(Facts{Reason: "done"}); got.Unfinished != "" {
		t.Errorf("%+v", got)
	}
}

func TestNewsAreFindingsThatWereNotKnown(t *testing.T) {
	prev := Handoff{KeyFindings: []string{"Three mails are open.", "订单 8812 迟到。"}}
	for _, c := range []struct {
		name string
		cur  []string
		want []string
	}{
		{"nothing", nil, nil},
		{"the same", []string{"Three mails are open."}, nil},
		{"the same in other words of form", []string{"  three MAILS, are open"}, nil},
		{"the same in another script", []string{"订单8812迟到"}, nil},
		{"another number", []string{"Four mails are open."}, []string{"Four mails are open."}},
		{"in their order", []string{"B.", "Three mails are open.", "A."}, []string{"B.", "A."}},
	} {
		if got := News(prev, Handoff{KeyFindings: c.cur}); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	if got := News(Handoff{}, prev); len(got) != 2 {
		t.Errorf("against nothing everything is news: %q", got)
	}
}

func TestCutCountsCharacters(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"short", 5, "short"},
		{"shorter", 5, "shor…"},
		{"词词词词", 3, "词词…"},
		{"ab  cd", 4, "ab…"},
		{"", 3, ""},
	} {
		if got := Cut(c.in, c.n); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		if got := Cut(rapid.String().Draw(t, "text"), n); utf8.RuneCountInString(got) > n || !utf8.ValidString(got) {
			t.Fatalf("%q has more than %d characters", got, n)
		}
	})
}

func TestTheSchemaAsksForEveryPart(t *testing.T) {
	var s struct {
		Required   []string
		Properties map[string]any
	}
	if err := json.Unmarshal(Schema, &s); err != nil {
		t.Fatal(err)
	}
	typ := reflect.TypeFor[Handoff]()
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		if s.Properties[name] == nil {
			t.Errorf("the schema does not ask for %s", name)
		}
	}
	if len(s.Required) != typ.NumField() {
		t.Errorf("required: %v", s.Required)
	}
}
