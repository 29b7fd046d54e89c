package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// schema is what these tests read of a schema of the document.
type schema struct {
	Ref         string `json:"$ref"`
	Type        any
	Description string
	Properties  map[string]schema
	Items       *schema
	OneOf       []schema
	AnyOf       []schema
}

// contract is what these tests read of the OpenAPI document.
type contract struct {
	Paths map[string]map[string]struct {
		OperationID string
		Parameters  []struct{ Name, In, Description string }
		RequestBody *struct {
			Content map[string]struct{ Schema schema }
		}
	}
	Components struct{ Schemas map[string]schema }
}

func (in *instance) contract() contract {
	in.t.Helper()
	var c contract
	if err := json.Unmarshal(in.nobody.get("/openapi.json").ok(200).Body, &c); err != nil {
		in.t.Fatal(err)
	}
	return c
}

// field is a property of a request body: where it is, [] for an item of a list.
type field struct {
	path   []string
	schema schema
}

// fields lists every property that a schema allows, however deep.
func (c contract) fields(s schema, path []string) (out []field) {
	for s.Ref != "" {
		s = c.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		at := append(slices.Clone(path), name)
		out = append(out, field{at, s.Properties[name]})
		out = append(out, c.fields(s.Properties[name], at)...)
	}
	if s.Items != nil {
		at := append(slices.Clone(path), "[]")
		out = append(out, field{at, *s.Items})
		out = append(out, c.fields(*s.Items, at)...)
	}
	for _, form := range append(s.OneOf, s.AnyOf...) {
		out = append(out, c.fields(form, path)...)
	}
	return out
}

// put puts a value into a copy of a body, at a path.
func put(body any, path []string, value json.RawMessage) any {
	if len(path) == 0 {
		return value
	}
	if path[0] == "[]" {
		return []any{put(nil, path[1:], value)}
	}
	m, _ := body.(map[string]any)
	m = maps.Clone(m)
	if m == nil {
		m = map[string]any{}
	}
	m[path[0]] = put(m[path[0]], path[1:], value)
	return m
}

// oddities are values that do not belong, at least not everywhere.
var oddities = []string{
	`1e999`, `-1e999`, `1e300`, `9223372036854775807`, `2147483648`, `-1`, `1.0`, `1e1`, `1.5`,
	`true`, `null`, `""`, `"x"`, `[]`, `[null]`, `[1]`, `["x"]`, `{}`, `{"task":1}`, `{"mode":"every"}`,
	`"2026-01-31T07:00:00"`, `"2026-02-31T07:00:00Z"`, `"2026-01-31T07:00:00,5Z"`, `"2026-01-31T07:00:00+24:00"`, `"9999-12-31T23:59:59-10:00"`, `"0000-01-01T00:00:00Z"`,
	`"00000000-0000-0000-0000-00000000000g"`, `"25:00"`,
}

// ourInsides are words of the language and the libraries that this is written with.
var ourInsides = regexp.MustCompile(`(?i)go struct|go value|unmarshal|json:|strconv|sql|\bpq:|SQLSTATE|runtime|parsing time|parsing "|invalid character|httpapi|\bint64\b|float64|multipart:|\bmail: |invalid UUID|value out of range|2006-01`)

// What is wrong with a body is said in words, whatever is wrong with it: nobody has to
// know what this is written in, and nothing that a client sends is a fault of ours.
func TestABodyThatDoesNotFitIsRefusedInWords(t *testing.T) {
	in := start(t)
	c := in.contract()
	asked := 0
	for path, ops := range c.Paths {
		for method, op := range ops {
			if op.RequestBody == nil || op.RequestBody.Content["application/json"].Schema.Ref == "" && op.RequestBody.Content["application/json"].Schema.Properties == nil {
				continue
			}
			var good any
			if b := bodies[op.OperationID]; b != "" {
				if err := json.Unmarshal([]byte(b), &good); err != nil {
					t.Fatal(err)
				}
			}
			if op.OperationID == "editMe" {
				good = nil // or else the walk gives the admin another password
			}
			t.Run(op.OperationID, func(t *testing.T) {
				to := fill(path, in.things())
				fields := append(c.fields(op.RequestBody.Content["application/json"].Schema, nil), field{})
				for _, f := range fields {
					for _, odd := range oddities {
						raw, err := json.Marshal(put(good, f.path, json.RawMessage(odd)))
						if err != nil {
							t.Fatal(err)
						}
						asked++
						inWords(t, in.admin.do(strings.ToUpper(method), to, string(raw)), string(raw))
					}
				}
			})
		}
	}
	if asked < 2000 {
		t.Errorf("only %d bodies were sent", asked)
	}
}

// inWords checks that an answer is none of a fault of ours and has no words of our insides.
func inWords(t *testing.T, a answer, sent string) {
	t.Helper()
	if a.Status >= 500 {
		t.Errorf("%s %.300s: %d %.300s", a.what, sent, a.Status, a.Body)
	}
	if a.Status < 400 {
		return
	}
	var p problem
	if err := json.Unmarshal(a.Body, &p); err != nil || p.Code == "" {
		t.Errorf("%s %.300s: no problem: %.300s", a.what, sent, a.Body)
	}
	said := p.Detail
	for _, e := range p.Errors {
		if said += " " + e.Message; e.Location == "" {
			t.Errorf("%s %.300s: something is wrong nowhere: %.300s", a.what, sent, a.Body)
		}
		if e.Location == "body" && e.Value != nil && fmt.Sprint(e.Value) == sent {
			t.Errorf("%s: the whole body is said again: %.300s", a.what, a.Body)
		}
	}
	if word := ourInsides.FindString(said); word != "" {
		t.Errorf("%s %.300s: says %q: %.400s", a.what, sent, word, a.Body)
	}
}

func TestAWholeNumberMayBeWrittenWithPointOrExponent(t *testing.T) {
	in := start(t)
	task := in.operator.newTask(`"maxTopics":3.0`, `"config":{"failureFuse":1e1,"budget":{"operation":{"tokens":1.5e3}}}`)
	in.operator.patch("/tasks/"+task, `{"config":{"budget":{"day":{"tokens":2e4}}}}`).ok(200)
	a := in.viewer.get("/tasks/" + task).ok(200)
	for at, want := range map[string]string{"maxTopics": "3", "config.failureFuse": "10", "config.budget.operation.tokens": "1500", "config.budget.day.tokens": "20000"} {
		if got := a.text(at); got != want {
			t.Errorf("%s is %s, want %s", at, got, want)
		}
	}
}

// So it is with what is asked for in an address.
func TestAQueryThatDoesNotFitIsRefusedInWords(t *testing.T) {
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
				for _, odd := range oddities {
					asked++
					odd = strings.Trim(odd, `"`)
					inWords(t, in.admin.do(strings.ToUpper(method), fill(path, th)+"?"+p.Name+"="+url.QueryEscape(odd), nil), odd)
				}
			}
		}
	}
	if asked < 1000 {
		t.Errorf("only %d addresses were tried", asked)
	}
}

// Who reads the contract need not read the program: every field that may be sent, and
// every part of an address and every header, says what it means.
func TestEverythingThatIsSentIsDescribed(t *testing.T) {
	in := start(t)
	c := in.contract()
	described := 0
	for path, ops := range c.Paths {
		for method, op := range ops {
			for _, p := range op.Parameters {
				if described++; p.Description == "" {
					t.Errorf("%s %s: nothing is said of %s in the %s", method, path, p.Name, p.In)
				}
			}
			if op.RequestBody == nil {
				continue
			}
			for kind, content := range op.RequestBody.Content {
				for _, f := range c.fields(content.Schema, nil) {
					if f.path[len(f.path)-1] == "[]" {
						continue // its list is described
					}
					if described++; f.schema.Description == "" {
						t.Errorf("%s (%s): nothing is said of %s", op.OperationID, kind, strings.Join(f.path, "."))
					}
				}
			}
		}
	}
	if described < 400 {
		t.Errorf("only %d things were looked at", described)
	}
}
