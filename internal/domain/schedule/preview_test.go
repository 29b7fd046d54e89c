package schedule

import (
	"encoding/json"
	"testing"
)

func TestPreview(t *testing.T) {
	for _, c := range []struct {
		name, automation, from string
		n                      int
		want                   string
	}{
		{"a gap moves a fire and says so", `{"mode":"schedule","pattern":"15 2 * * *","timezone":"America/New_York"}`, "2026-03-07T12:00:00Z", 2,
			`{"items":[{"at":"2026-03-08T07:00:00Z","local":"2026-03-08T03:00:00-04:00","offset":"-04:00","note":"gap"},` +
				`{"at":"2026-03-09T06:15:00Z","local":"2026-03-09T02:15:00-04:00","offset":"-04:00"}]}`},
		{"a refused fire stays with its reason", `{"mode":"schedule","pattern":"0 0 * * *","timezone":"UTC","exclusions":{"dates":["2026-12-25"]}}`, "2026-12-24T12:00:00Z", 2,
			`{"items":[{"at":"2026-12-25T00:00:00Z","local":"2026-12-25T00:00:00+00:00","offset":"+00:00","reason":"excluded_date"},` +
				`{"at":"2026-12-26T00:00:00Z","local":"2026-12-26T00:00:00+00:00","offset":"+00:00"}]}`},
		{"what an interval loses in a gap is a day's note", `{"mode":"schedule","pattern":"*/20 2 * * *","timezone":"Europe/Berlin"}`, "2026-03-28T02:00:00Z", 1,
			`{"items":[{"at":"2026-03-30T00:00:00Z","local":"2026-03-30T02:00:00+02:00","offset":"+02:00"}],` +
				`"days":[{"date":"2026-03-29","note":"gap","from":"02:00","to":"03:00","lost":3}]}`},
		{"nothing is lost at another hour", `{"mode":"schedule","pattern":"*/20 4 * * *","timezone":"Europe/Berlin"}`, "2026-03-29T02:00:00Z", 1,
			`{"items":[{"at":"2026-03-29T02:20:00Z","local":"2026-03-29T04:20:00+02:00","offset":"+02:00"}]}`},
		{"a heartbeat comes at the earliest", `{"mode":"heartbeat","intervalSeconds":600,"timezone":"Asia/Tokyo"}`, "2026-03-01T00:00:00Z", 1,
			`{"items":[{"at":"2026-03-01T00:10:00Z","local":"2026-03-01T09:10:00+09:00","offset":"+09:00","note":"earliest"}]}`},
		{"bounds that are used up", `{"mode":"schedule","pattern":"@daily","endsAt":"2026-01-01T00:00:00Z"}`, "2026-03-01T00:00:00Z", 5,
			`{"items":[]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := json.Marshal(Preview(jsonSpec(t, c.automation), at(t, c.from), c.n, nil))
			if err != nil || string(got) != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
