package cli

import "testing"

// Who resumes with --catch-up hears what the run makes up for, and since when.
func TestResumeSaysWhatIsCaughtUp(t *testing.T) {
	const resumed = `{"identifier":"T-1","status":"running","statusReason":"launched"}`
	answers := func(task, moves, fires string) map[string][]string {
		return map[string][]string{"GET /tasks/T-1": {task}, "GET /tasks/T-1/moves": {moves}, "POST /schedules/preview": {fires}, "POST /tasks/T-1/resume": {resumed}}
	}
	const paused = `{"items":[{"to":"paused","at":"2026-03-02T18:00:00.000Z"}]}`
	const hourly = `{"identifier":"T-1","version":1,"assigneeAgent":"a1","automation":{"mode":"every","everySeconds":3600,"nextFires":[]}}`
	const fires = `{"items":[{"at":"2026-03-02T18:30:00Z"},{"at":"2026-03-02T19:30:00Z","reason":"outside_active_hours"},{"at":"2026-03-02T20:30:00Z"},{"at":"2026-03-02T21:30:00Z"}]}`
	for _, tt := range []struct {
		name, task, moves, says string
	}{
		{"times that were let through", hourly, paused, "one run now makes up for 2 times that passed since 18:00:00 UTC"},
		{"a heartbeat has no times of its own", `{"version":1,"automation":{"mode":"heartbeat"}}`, paused, "one run now makes up for the times that passed since 18:00:00 UTC"},
		{"not known since when", hourly, none, "one run now makes up for the times that passed\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := cli(t, "", answers(tt.task, tt.moves, fires), "task", "resume", "T-1", "--catch-up")
			r.check(t, 0, "✓ T-1 resumed · now running (launched) · "+tt.says)
			if last := r.asked[len(r.asked)-1]; last != `POST /tasks/T-1/resume {"catchUp":true}` {
				t.Errorf("asked %q", r.asked)
			}
		})
	}
	if r := cli(t, "", answers(hourly, paused, fires), "task", "resume", "T-1"); len(r.asked) != 1 {
		t.Errorf("without --catch-up: asked %q", r.asked)
	}
}

// Times of a schedule stand with its own wall clock beside the terminal's.
func TestPlannedTimesNameTheScheduleZone(t *testing.T) {
	const berlin = `{"automation":{"mode":"schedule","pattern":"0 7 * * *","timezone":"Europe/Berlin"}}`
	r := cli(t, "", map[string][]string{"GET /tasks/T-1": {berlin}, "GET /ticks": {`{"items":[
		{"task":"T-1","state":"ran","origin":"schedule","plannedAt":"2026-03-02T06:00:00Z","createdAt":"2026-03-02T06:00:00Z"},
		{"task":"T-1","state":"ran","origin":"manual","createdAt":"2026-03-02T05:00:00Z"},
		{"task":"T-9","state":"ran","origin":"schedule","plannedAt":"2026-03-02T04:00:00Z"}],"nextCursor":null}`}}, "tick", "list")
	r.check(t, 0, "06:00:00 UTC (07:00 CET)", "05:00:00 UTC  ", "04:00:00 UTC  ")
	if len(r.asked) != 3 { // each task once, the one that is gone too
		t.Errorf("asked %q", r.asked)
	}
	cli(t, "", map[string][]string{"GET /tasks/T-1": {berlin}, "GET /tasks/T-1/why": {`{"checks":[{"check":"paused","ok":false,"detail":"It is paused: by a person."}],
		"outcome":"run","nextRunAt":"2026-03-03T06:00:00Z","backfill":{"planned":2,"done":0,"next":"2026-03-01T06:00:00Z","waitsFor":"paused"}}`}}, "why", "T-1").
		check(t, 0, "next Tue 06:00 UTC (07:00 CET)", "for Sun 06:00 UTC (07:00 CET)", "and waits: It is paused: by a person.")
}
