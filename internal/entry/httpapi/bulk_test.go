package httpapi_test

import (
	"strings"
	"testing"
)

func TestManyTasksOverHTTP(t *testing.T) {
	in := start(t)
	a := in.operator.post("/tasks", `{"instruction":"x","labels":["crm"],"automation":{"mode":"every","everySeconds":3600}}`).ok(201).text("identifier")
	b := in.operator.post("/tasks", `{"instruction":"x","labels":["crm"]}`).ok(201).text("identifier")
	in.operator.post("/tasks/"+b+"/complete", nil).ok(200)
	in.operator.post("/tasks", `{"instruction":"x"}`).ok(201)

	pause := `{"action":"pause","filter":{"label":"crm"},"note":"audit"}`
	in.viewer.post("/tasks/bulk", pause).fails(403, "forbidden")
	for _, wrong := range []string{
		`{"action":"pause"}`, `{"action":"pause","ids":["T-1"],"filter":{}}`, `{"action":"explode","filter":{}}`,
		`{"action":"pause","filter":{"lable":"crm"}}`, `{"action":"pause","filter":{"status":["asleep"]}}`, `{"action":"pause","ids":["T-99"]}`,
	} {
		in.operator.post("/tasks/bulk", wrong).fails(422, "invalid")
	}
	in.operator.post("/tasks/bulk", `{"action":"pause","filter":{"parent":"T-99"}}`).fails(404, "not_found")

	me := in.operator.with("Idempotency-Key", "hold the crm")
	order := me.post("/tasks/bulk", pause).ok(200)
	if order.text("matched") != "2" || order.text("changed") != "1" || order.text("pending") != "0" || order.text("undoable") != "true" ||
		order.text("action") != "pause" || order.text("note") != "audit" || order.text("undoOf") != "<nil>" {
		t.Errorf("the order: %s", order.Body)
	}
	if !strings.Contains(string(order.Body), `"skipped":[{"task":"`+b+`","code":"conflict","detail":"`+b+` is completed`) {
		t.Errorf("what was skipped: %s", order.Body)
	}
	if again := me.post("/tasks/bulk", pause).ok(200); string(again.Body) != string(order.Body) {
		t.Errorf("the same again: %s", again.Body)
	}
	if got := in.viewer.get("/tasks/" + a).ok(200).text("status"); got != "paused" {
		t.Errorf("%s is %s", a, got)
	}
	if audit := string(in.admin.get("/audit?limit=5").ok(200).Body); !strings.Contains(audit, `"filter":{"label":"crm"}`) {
		t.Errorf("the audit does not say what was asked for: %s", audit)
	}
	path := "/tasks/bulk/" + order.text("id")
	if read := in.viewer.get(path).ok(200); string(read.Body) != string(order.Body) {
		t.Errorf("read again: %s", read.Body)
	}

	in.viewer.post(path+"/undo", nil).fails(403, "forbidden")
	in.abroad.post(path+"/undo", nil).fails(404, "not_found")
	undo := in.operator.post(path+"/undo", nil).ok(200)
	if undo.text("action") != "undo" || undo.text("undoOf") != order.text("id") || undo.text("changed") != "1" || undo.text("undoable") != "false" {
		t.Errorf("the undo: %s", undo.Body)
	}
	if got := in.viewer.get("/tasks/" + a).ok(200).text("status"); got != "scheduled" {
		t.Errorf("%s is %s", a, got)
	}
	if read := in.viewer.get(path).ok(200); read.text("undone") != "true" || read.text("undoable") != "false" {
		t.Errorf("the order afterwards: %s", read.Body)
	}
	in.operator.post(path+"/undo", nil).fails(409, "conflict")
}
