package cli

import "testing"

func TestTheWorkspaceIsEdited(t *testing.T) {
	const was = `{"name":"Home","timezone":"UTC","readOnly":false,"version":4,"quietHours":{"days":[1],"start":"22:00","end":"07:00","timezone":"UTC"}}`
	const none = `{"name":"Home","timezone":"UTC","readOnly":false,"version":4,"quietHours":null}`
	for _, tt := range []struct {
		name, was string
		args      []string
		want      string
	}{
		{"quiet hours", none, []string{"--quiet-hours", "22:00-07:00", "--quiet-days", "fri-sat"}, `{"quietHours":{"days":[5,6],"end":"07:00","start":"22:00"},"version":4}`},
		{"other hours leave the days", was, []string{"--quiet-hours", "23:00-06:00"}, `{"quietHours":{"days":[1],"end":"06:00","start":"23:00","timezone":"UTC"},"version":4}`},
		{"every day", was, []string{"--quiet-days", ""}, `{"quietHours":{"end":"07:00","start":"22:00","timezone":"UTC"},"version":4}`},
		{"none", was, []string{"--quiet-hours", ""}, `{"quietHours":null,"version":4}`},
		{"read-only", was, []string{"--read-only", "true", "--timezone", "Europe/Berlin"}, `{"readOnly":true,"timezone":"Europe/Berlin","version":4}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := cli(t, "", map[string][]string{"GET /workspace": {tt.was}, "PATCH /workspace": {was}}, append([]string{"workspace", "edit"}, tt.args...)...)
			r.check(t, 0, "✓ the workspace changed · quiet hours Mon 22:00 to 07:00 UTC")
			if len(r.asked) != 2 || r.asked[1] != "PATCH /workspace "+tt.want {
				t.Errorf("asked %q", r.asked)
			}
		})
	}
	cli(t, "", nil, "workspace", "edit").check(t, 2, "say what to change")
	cli(t, "", nil, "workspace", "edit", "--read-only", "maybe").check(t, 2, "allowed is true or false")
	cli(t, "", map[string][]string{"GET /workspace": {none}}, "workspace", "edit", "--quiet-days", "mon").check(t, 2, "no quiet hours yet")
	cli(t, "", map[string][]string{"GET /workspace": {was}, "PATCH /workspace": {`412 {"title":"Precondition Failed","code":"stale"}`}}, "workspace", "edit", "--name", "x").
		check(t, 1, "changed by somebody else", "dogwatch workspace show")
}

// A profile is sent as a whole: what the flags leave out stays as it was.
func TestAnAgentIsEdited(t *testing.T) {
	r := cli(t, "", map[string][]string{
		"GET /agents/scout":   {`{"version":2,"profile":{"system":"Look.","tools":["*"],"model":"a/b","limits":{"steps":9,"tokens":5}},"quietHours":null}`},
		"PATCH /agents/scout": {`{"quietHours":null}`}}, "agent", "edit", "scout", "--model", "", "--max-time", "30m", "--max-steps", "7")
	r.check(t, 0, "✓ scout changed\n")
	if r.asked[1] != `PATCH /agents/scout {"profile":{"limits":{"seconds":1800,"steps":7,"tokens":5},"system":"Look.","tools":["*"]},"version":2}` {
		t.Errorf("asked %q", r.asked)
	}
}
