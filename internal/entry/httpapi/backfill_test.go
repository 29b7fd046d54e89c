package httpapi_test

import (
	"fmt"
	"testing"
	"time"
)

func TestABackfillOverHTTP(t *testing.T) {
	in := start(t)
	last := time.Now().UTC().Truncate(time.Second).Add(-30 * time.Minute)
	stamp := func(at time.Time) string { return at.Format("2006-01-02T15:04:05.000Z") }
	task := in.operator.post("/tasks", fmt.Sprintf(`{"instruction":"x","automation":{"mode":"every","everySeconds":3600,"anchor":%q}}`, stamp(last))).ok(201).text("identifier")
	path := "/tasks/" + task + "/backfill"
	from := stamp(last.Add(-3 * time.Hour))

	in.viewer.post(path, `{"from":"`+from+`"}`).fails(403, "forbidden")
	in.operator.post(path, `{}`).fails(422, "invalid")
	in.operator.post(path, `{"from":"`+from+`","max":101}`).fails(422, "invalid")
	in.operator.post(path, `{"from":"`+from+`","onlymissing":true}`).fails(422, "invalid")
	beats := in.operator.post("/tasks", `{"instruction":"x","automation":{"mode":"heartbeat","intervalSeconds":600}}`).ok(201).text("identifier")
	in.operator.post("/tasks/"+beats+"/backfill", `{"from":"`+from+`"}`).fails(409, "mode_changed")
	in.operator.do("DELETE", path, nil).ok(204)

	me := in.operator.with("Idempotency-Key", "made up for")
	a := me.post(path, `{"from":"`+from+`","max":3}`).ok(202)
	if a.text("planned") != "3" || a.text("skippedAlreadyRan") != "0" || a.text("first") != from || a.text("last") != stamp(last.Add(-time.Hour)) || a.text("more") != "true" {
		t.Errorf("planned %s", a.Body)
	}
	if again := me.post(path, `{"from":"`+from+`","max":3}`).ok(202); string(again.Body) != string(a.Body) {
		t.Errorf("the same again: %s", again.Body)
	}
	in.operator.post(path, `{"from":"`+from+`"}`).fails(409, "in_progress")
	why := in.viewer.get("/tasks/" + task + "/why").ok(200)
	if why.text("backfill.planned") != "3" || why.text("backfill.done") != "0" || why.text("backfill.next") != from {
		t.Errorf("why: %s", why.Body)
	}
	in.operator.do("DELETE", path, nil).ok(204)
	if in.viewer.get("/tasks/" + task + "/why").ok(200).object()["backfill"] != nil {
		t.Error("it is still there")
	}
	// An empty range is no fault, and starts nothing.
	if b := in.operator.post(path, `{"from":"`+stamp(last.Add(time.Minute))+`"}`).ok(202); b.text("planned") != "0" || b.text("first") != "<nil>" {
		t.Errorf("planned %s", b.Body)
	}
}
