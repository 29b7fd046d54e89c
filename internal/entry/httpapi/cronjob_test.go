package httpapi_test

import (
	"strings"
	"testing"
)

func TestCronJobsOverHTTP(t *testing.T) {
	in := start(t)
	in.operator.post("/tasks", `{"instruction":"an ordinary task"}`).ok(201)
	prompt := `{"agent":"watchkeeper","name":"Morning","pattern":"0 7 * * MON-FRI","timezone":"europe/berlin","prompt":"Look through the inbox.","maxExecutions":5,"conditions":{"activeDays":[1,2,3]}}`
	in.viewer.post("/cron-jobs", prompt).fails(403, "forbidden")
	me := in.operator.with("Idempotency-Key", "mornings")
	a := me.post("/cron-jobs", prompt).ok(201)
	if again := me.post("/cron-jobs", prompt).ok(201); string(again.Body) != string(a.Body) {
		t.Errorf("the same again: %s", again.Body)
	}
	for field, want := range map[string]string{
		"task": "T-2", "name": "Morning", "pattern": "0 7 * * 1-5", "timezone": "Europe/Berlin", "prompt": "Look through the inbox.", "template": "<nil>",
		"maxExecutions": "5", "remainingExecutions": "5", "executions": "0", "enabled": "true", "status": "scheduled", "heldBy": "<nil>",
		"automation.mode": "schedule", "createdBy.kind": "token", "version": "1",
	} {
		if got := a.text(field); got != want {
			t.Errorf("%s is %s, want %s", field, got, want)
		}
	}
	if n := len(a.object()["nextFires"].([]any)); n != 5 || a.Header.Get("ETag") != `"1"` {
		t.Errorf("%d next fires, ETag %s", n, a.Header.Get("ETag"))
	}
	b := in.operator.post("/cron-jobs", `{"agent":"watchkeeper","pattern":"@every 90m","template":{"instruction":"Write the report.","labels":["reports"],"config":{"acceptance":"review"}},"enabled":false}`).ok(201)
	if b.text("pattern") != "@every 1h30m0s" || b.text("enabled") != "false" || b.text("status") != "paused" || b.text("prompt") != "<nil>" ||
		b.text("template.instruction") != "Write the report." || b.text("template.config.acceptance") != "review" || b.text("maxExecutions") != "<nil>" ||
		b.text("remainingExecutions") != "<nil>" || b.text("conditions") != "<nil>" || b.text("nextRunAt") != "<nil>" {
		t.Errorf("the template job: %s", b.Body)
	}

	t.Run("they stand apart from the tasks", func(t *testing.T) {
		for query, want := range map[string]string{"": "T-1", "?standing=false": "T-1", "?standing=true": "T-3 T-2", "?standing=all": "T-3 T-2 T-1"} {
			var got []string
			for _, task := range in.viewer.get("/tasks" + query).ok(200).items() {
				got = append(got, task["identifier"].(string))
			}
			if strings.Join(got, " ") != want {
				t.Errorf("/tasks%s has %v", query, got)
			}
		}
		if got := in.viewer.get("/tasks/T-3").ok(200).text("cronJob"); got != "template" {
			t.Errorf("T-3 is a cron job of the kind %s", got)
		}
		in.viewer.get("/cron-jobs/T-1").fails(404, "not_found")
	})
	t.Run("they are listed", func(t *testing.T) {
		for query, want := range map[string]int{"": 2, "?agent=watchkeeper": 2, "?enabled=true": 1, "?enabled=false": 1} {
			if n := len(in.viewer.get("/cron-jobs" + query).ok(200).items()); n != want {
				t.Errorf("/cron-jobs%s has %d", query, n)
			}
		}
		in.viewer.get("/cron-jobs?agent=nobody").fails(404, "not_found")
		if n := len(in.abroad.get("/cron-jobs").ok(200).items()); n != 0 {
			t.Errorf("another workspace sees %d", n)
		}
	})
	t.Run("they are changed", func(t *testing.T) {
		path := "/cron-jobs/" + a.text("id")
		in.operator.patch(path, `{"pattern":"0 25 * * *"}`).fails(422, "invalid_pattern")
		in.operator.patch(path, `{"pattern":null}`).fails(422, "invalid")
		in.operator.patch(path, `{"remainingExecutions":3}`).fails(422, "invalid")
		in.operator.patch(path, `{"template":{"name":"x"}}`).fails(409, "conflict")
		in.operator.with("If-Match", `"99"`).patch(path, `{"name":"x"}`).fails(412, "stale")
		c := in.operator.patch("/cron-jobs/t-2", `{"pattern":"30 8 * * *","maxExecutions":null,"conditions":null,"prompt":"Look twice."}`).ok(200)
		if c.text("pattern") != "30 8 * * *" || c.text("timezone") != "Europe/Berlin" || c.text("maxExecutions") != "<nil>" || c.text("conditions") != "<nil>" ||
			c.text("prompt") != "Look twice." || c.text("name") != "Morning" || c.text("version") != "2" {
			t.Errorf("it is %s", c.Body)
		}
		if c := in.operator.patch(path, `{"enabled":false}`).ok(200); c.text("enabled") != "false" || c.text("nextRunAt") != "<nil>" {
			t.Errorf("disabled: %s", c.Body)
		}
		d := in.operator.patch("/cron-jobs/T-3", `{"template":{"name":"Report","config":{"acceptance":null}},"enabled":true}`).ok(200)
		if d.text("template.name") != "Report" || d.text("template.instruction") != "Write the report." || d.text("template.config.acceptance") != "<nil>" || d.text("enabled") != "true" {
			t.Errorf("the template: %s", d.Body)
		}
	})
	t.Run("what holds them is said", func(t *testing.T) {
		in.admin.post("/agents/watchkeeper/pause", `{"note":"rest"}`).ok(200)
		if got := in.viewer.get("/cron-jobs/T-3").ok(200).text("heldBy"); got != "agent_paused" {
			t.Errorf("held by %s", got)
		}
		in.operator.post("/tasks/T-3/run", nil).fails(409, "agent_paused")
		in.admin.post("/agents/watchkeeper/resume", nil).ok(200)
	})
	t.Run("a template is run by hand", func(t *testing.T) {
		run := in.operator.post("/tasks/T-3/run", nil).ok(202)
		made := in.viewer.get("/tasks/" + run.text("madeTaskId")).ok(200)
		if made.text("name") != "Report" || made.text("createdBy.kind") != "agent" || made.text("madeBy") != "T-3" || made.text("labels") != "[reports]" {
			t.Errorf("made %s", made.Body)
		}
		for _, tick := range in.viewer.get("/tasks/T-3/ticks?state=ran").ok(200).items() {
			if tick["madeTask"] != made.text("identifier") || tick["topicId"] != nil {
				t.Errorf("the ledger: %v", tick)
			}
		}
	})
	t.Run("they are deleted", func(t *testing.T) {
		in.viewer.delete("/cron-jobs/T-2").fails(403, "forbidden")
		in.abroad.delete("/cron-jobs/"+a.text("id")).fails(404, "not_found")
		in.operator.delete("/cron-jobs/T-2").ok(204)
		in.operator.delete("/cron-jobs/T-2").fails(404, "not_found")
		in.operator.delete("/cron-jobs/T-1").fails(404, "not_found")
	})
	for _, wrong := range []string{
		`{"agent":"watchkeeper","pattern":"0 7 * * *"}`, `{"agent":"nobody","pattern":"0 7 * * *","prompt":"x"}`, `{"pattern":"0 7 * * *","prompt":"x"}`,
		`{"agent":"watchkeeper","prompt":"x"}`, `{"agent":"watchkeeper","pattern":"0 7 * * *","template":{}}`,
		`{"agent":"watchkeeper","pattern":"0 7 * * *","prompt":"x","template":{"instruction":"x"}}`,
	} {
		in.operator.post("/cron-jobs", wrong).fails(422, "invalid")
	}
}
