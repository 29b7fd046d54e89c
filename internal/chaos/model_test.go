//go:build linux

package chaos

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/testkit/modelserver"
)

// What a provider does wrong ends in another try or in a failed run that says so
// by the class of what went wrong: after three tries of the run where that may
// heal. Each case is a task with a run of its own, all on one worker: none holds up
// another.
func TestWhatAModelDoesWrong(t *testing.T) {
	t.Parallel()
	type reply = modelserver.Reply
	page := reply{Body: "<html><body>It works!</body></html>", ContentType: "text/html"}
	cases := []struct {
		name  string
		wrong reply
		times int           // how often it goes wrong; 0: always
		class string        // of the failed run; "": it is done all the same
		asked int           // how often the model was asked for the first step
		apart time.Duration // at least
		long  bool          // takes half a minute
	}{
		{name: "limited", wrong: reply{Status: 429, RetryAfter: "4"}, times: 1, asked: 2, apart: 4 * time.Second},
		{name: "limited-without-a-word", wrong: reply{Status: 429}, times: 1, asked: 2, apart: 2500 * time.Millisecond},
		{name: "no-money", wrong: reply{Status: 429, ErrorCode: "insufficient_quota", Error: "You exceeded your current quota."}, class: "provider_quota", asked: 1},
		{name: "overloaded", wrong: reply{Status: 503}, times: 1, asked: 2, apart: 2500 * time.Millisecond},
		{name: "broken", wrong: reply{Status: 500}, times: 2, asked: 3, apart: 500 * time.Millisecond},
		{name: "broken-for-good", wrong: reply{Status: 500}, class: "provider_error", asked: 18, long: true},
		{name: "error-in-the-stream", wrong: reply{Text: "I will", Error: "The server had an error."}, times: 1, asked: 2, apart: 500 * time.Millisecond},
		{name: "cut", wrong: reply{Text: strings.Repeat("It goes on and on. ", 50), CutAfter: 900}, times: 1, asked: 2, apart: 500 * time.Millisecond},
		{name: "garbage", wrong: page, times: 1, asked: 2, apart: 500 * time.Millisecond},
		{name: "garbage-for-good", wrong: page, class: "provider_bad_reply", asked: 9},
		{name: "not-json", wrong: reply{Body: "data: {\"choices\": [{\"delta\n\n"}, times: 1, asked: 2, apart: 500 * time.Millisecond},
		{name: "silent", wrong: reply{Hang: true}, times: 1, asked: 2, apart: time.Second},
		{name: "silent-for-good", wrong: reply{Hang: true}, class: "provider_silent", asked: 6},
		{name: "refused", wrong: reply{Status: 400, Error: "no"}, class: "provider_bad_request", asked: 1},
		{name: "wrong-key", wrong: reply{Status: 401}, class: "provider_auth", asked: 1},
		{name: "gone", wrong: reply{Status: 404, ErrorCode: "model_not_found"}, class: "model_unsupported", asked: 1},
		{name: "empty", wrong: reply{}, times: 2, asked: 3, apart: 500 * time.Millisecond},
		{name: "empty-for-good", wrong: reply{}, class: "provider_bad_reply", asked: 9},
		{name: "half-a-call", wrong: reply{Calls: []modelserver.Call{{Name: "write_document", Arguments: `{"title": "x", "cont`}}}, times: 1, asked: 1},
		{name: "no-such-tool", wrong: reply{Calls: []modelserver.Call{{Name: "rm", Arguments: `{"path": "/"}`}}}, times: 1, asked: 1},
		{name: "wrong-arguments", wrong: reply{Calls: []modelserver.Call{{Name: "comment_task", Arguments: `{"content": 5, "more": []}`}}}, times: 1, asked: 1},
	}
	s := newSite(t, "DOGWATCH_TEST_SILENCE=1s")
	s.model.fault = func(m mark, asked int) (reply, bool) {
		for _, c := range cases {
			if strings.TrimPrefix(m.name, "fail-") == c.name && m.stage != handoffStage {
				return c.wrong, c.times == 0 || m.stage+asked <= c.times
			}
		}
		return reply{}, false
	}
	s.run("server")
	s.run("worker")
	p := newPerson(s)
	called := func(name, class string) string {
		if class != "" {
			return "fail-" + name // the laws let it
		}
		return name
	}
	for _, c := range cases {
		if !c.long || soak {
			p.create(called(c.name, c.class), "note", object{"start": true, "config": object{"acceptance": "auto"}})
		}
	}
	// A task that is paused is not tried again, so nobody pauses one before its run is over.
	until(s, 3*patience, "every run has ended", func() bool {
		return s.count(`select count(*) from tasks where status = 'running' or total_topics = 0`) == 0
	})
	s.judgeRows(p, s.settle(p))
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.long && !soak {
				t.Skip("takes half a minute; set DOGWATCH_SOAK=1")
			}
			got := strings.Join(s.rows(`select p.status, coalesce(p.reason_detail, ''), p.handoff_source, (select count(*) from briefs b
				where b.task_id = t.id and b.cause = 'run_failed') from tasks t join topics p on p.task_id = t.id where t.name = $1`,
				called(c.name, c.class)), "; ")
			want := "completed  model 0"
			if c.class != "" {
				want = fmt.Sprintf("failed %s fallback 1", c.class)
			}
			if got != want {
				t.Errorf("the run is %q, want %q", got, want)
			}
			var asks []payment
			for _, a := range s.model.asks("", called(c.name, c.class)) {
				if a.stage == 0 {
					asks = append(asks, a)
				}
			}
			if len(asks) != c.asked {
				t.Errorf("the model was asked %d times, want %d", len(asks), c.asked)
			}
			for i := 1; i < len(asks); i++ {
				if apart := asks[i].at.Sub(asks[i-1].at); apart < c.apart {
					t.Errorf("asked again after %v, want at least %v", apart, c.apart)
				}
			}
		})
	}
}
