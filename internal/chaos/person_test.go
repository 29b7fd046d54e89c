//go:build linux

package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// person is somebody at the API who sends a request again until it is answered,
// under the same key where it may take effect but once.
type person struct {
	t    testing.TB
	url  string
	http http.Client

	mu       sync.Mutex
	tasks    map[string]bool // asked for, by name; whether that was answered with success
	comments map[string]bool
	requests int
	again    int // requests that had to be sent again
	stop     chan struct{}
	work     sync.WaitGroup
}

func newPerson(s *site) *person {
	p := &person{t: s, url: s.url, http: http.Client{Timeout: 10 * time.Second}, tasks: map[string]bool{}, comments: map[string]bool{},
		stop: make(chan struct{})}
	s.Cleanup(func() {
		p.rest()
		p.http.CloseIdleConnections()
	})
	return p
}

// lingers is how long a first request under way is waited for. Where its process
// was killed in the middle of it, nobody ends it for a minute.
const lingers = 3 * time.Second

// ask sends a request until it is answered. Answers that a person has to live with
// are success or a conflict with what others did meanwhile; any other is a fault.
// Of a request that takes effect but once the answer is lost at times, or the
// person hangs up before it comes; then it is sent again.
func (p *person) ask(method, path string, body any, key string, out any) (status int) {
	var raw []byte
	if body != nil {
		raw, _ = json.Marshal(body)
	}
	hangUp, lose := key != "" && rand.IntN(4) == 0, key != "" && rand.IntN(4) == 0
	for begin := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		ctx, cancel := context.Background(), func() {}
		if hangUp {
			ctx, cancel = context.WithTimeout(ctx, time.Millisecond+rand.N(40*time.Millisecond))
			hangUp = false
		}
		req, err := http.NewRequestWithContext(ctx, method, p.url+"/api/v1"+path, bytes.NewReader(raw))
		if err != nil {
			cancel()
			p.t.Error(err)
			return 0
		}
		req.Header.Set("Authorization", "Bearer "+adminToken)
		if body != nil {
			req.Header.Set("Content-Type", "application/json")
		}
		if key != "" {
			req.Header.Set("Idempotency-Key", key)
		}
		status, answer := 0, []byte(nil)
		res, err := p.http.Do(req)
		if err == nil {
			status = res.StatusCode
			answer, err = io.ReadAll(res.Body)
			_ = res.Body.Close()
		}
		cancel()
		p.mu.Lock()
		p.requests++
		if lose && err == nil && status < 300 {
			lose, err = false, errors.New("the answer was lost")
		}
		if err != nil || status >= 500 {
			p.again++
		}
		p.mu.Unlock()
		switch {
		case err != nil || status >= 500:
			if time.Since(begin) > patience {
				p.t.Errorf("%s %s is not answered: %d %s %v", method, path, status, answer, err)
				return 0
			}
			continue
		case status == http.StatusConflict && bytes.Contains(answer, []byte(`"in_progress"`)) && time.Since(begin) < lingers:
			continue
		case status == http.StatusUnprocessableEntity && bytes.Contains(answer, []byte("startAt is in the past")): // nobody was up for so long
		case status >= 400 && status != http.StatusConflict:
			p.t.Errorf("%s %s: %d %s", method, path, status, answer)
		case status < 300 && out != nil:
			if err := json.Unmarshal(answer, out); err != nil {
				p.t.Errorf("%s %s: %v", method, path, err)
			}
		}
		return status
	}
}

type object = map[string]any

// every is a task on a grid.
func every(seconds int, overlap, missed string) object {
	return object{"mode": "every", "everySeconds": seconds, "overlap": overlap, "missed": missed}
}

func heartbeat(seconds int) object { return object{"mode": "heartbeat", "intervalSeconds": seconds} }

// create asks for a task. more is merged into the request.
func (p *person) create(name, shape string, more object) {
	body := object{"name": name, "instruction": order(name, shape)}
	for k, v := range more {
		body[k] = v
	}
	p.mu.Lock()
	p.tasks[name] = false
	p.mu.Unlock()
	if status := p.ask("POST", "/tasks", body, "create-"+name, nil); status == http.StatusCreated || status == http.StatusOK {
		p.mu.Lock()
		p.tasks[name] = true
		p.mu.Unlock()
	}
}

type taskSeen struct{ Identifier, Name, Status string }

func (p *person) list(status string) []taskSeen {
	var out []taskSeen
	for cursor := ""; ; {
		var page struct {
			Items      []taskSeen
			NextCursor *string
		}
		if p.ask("GET", "/tasks?limit=200&status="+status+cursor, nil, "", &page) != http.StatusOK {
			return out
		}
		out = append(out, page.Items...)
		if page.NextCursor == nil || *page.NextCursor == "" {
			return out
		}
		cursor = "&cursor=" + *page.NextCursor
	}
}

func (p *person) listAll() (all []taskSeen) {
	for _, status := range []string{"scheduled", "running", "paused", "backlog"} {
		all = append(all, p.list(status)...)
	}
	return all
}

// meddle does what people do, at random, until rest. Tasks whose name begins with
// "every" or "beat" are left alone: their times must be without a gap.
func (p *person) meddle(seed string) {
	p.work.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-p.stop:
				return
			case <-time.After(50*time.Millisecond + rand.N(250*time.Millisecond)):
			}
			key := fmt.Sprintf("%s-%d", seed, n)
			switch rand.IntN(10) {
			case 0, 1:
				p.create("now-"+key, pick("note", "say/note", "note+share"), object{"start": true})
			case 2:
				at := time.Now().Add(rand.N(3 * time.Second)).UTC().Format(time.RFC3339Nano)
				p.create("once-"+key, "note", object{"startAt": at, "config": object{"acceptance": "auto"}})
			case 3, 4:
				p.press(key)
			default:
				p.touch(key)
			}
		}
	})
}

// rest ends the meddling.
func (p *person) rest() {
	p.mu.Lock()
	select {
	case <-p.stop:
	default:
		close(p.stop)
	}
	p.mu.Unlock()
	p.work.Wait()
}

// touch does something to one task.
func (p *person) touch(key string) {
	all := slices.DeleteFunc(p.listAll(), func(t taskSeen) bool {
		return strings.HasPrefix(t.Name, "every") || strings.HasPrefix(t.Name, "beat")
	})
	if len(all) == 0 {
		return
	}
	t := all[rand.IntN(len(all))]
	path := "/tasks/" + t.Identifier
	switch verb := pick("run", "run", "pause", "interrupt", "resume", "resume", "resume", "cancel", "comment", "complete"); verb {
	case "cancel", "complete":
		if strings.HasPrefix(t.Name, "now") || strings.HasPrefix(t.Name, "once") {
			p.ask("POST", path+"/"+verb, nil, "", nil)
		}
	case "interrupt":
		p.ask("POST", path+"/pause", object{"interrupt": true}, "", nil)
	case "comment":
		text := "Please mind " + key
		p.mu.Lock()
		p.comments[text] = false
		p.mu.Unlock()
		if p.ask("POST", path+"/comments", object{"content": text}, "comment-"+key, nil) == http.StatusCreated {
			p.mu.Lock()
			p.comments[text] = true
			p.mu.Unlock()
		}
	case "run":
		p.ask("POST", path+"/run", object{}, "run-"+key, nil)
	default:
		p.ask("POST", path+"/"+verb, nil, "", nil)
	}
}

// press presses a button of a card in the inbox.
func (p *person) press(key string) {
	var page struct {
		Items []struct {
			Number  string
			Actions []struct{ Key, Kind string }
		}
	}
	p.ask("GET", "/briefs?limit=50", nil, "", &page)
	if len(page.Items) == 0 {
		return
	}
	b := page.Items[rand.IntN(len(page.Items))]
	for _, i := range rand.Perm(len(b.Actions)) {
		a := b.Actions[i]
		if a.Kind != "resolve" || a.Key == "stop" {
			continue
		}
		p.ask("POST", "/briefs/"+b.Number+"/resolve", object{"action": a.Key}, "press-"+key, nil)
		return
	}
}

// pauseAll ends all that time alone would start. A task that changes from one list
// to the other while we look is found the next time.
func (p *person) pauseAll() {
	for end := time.Now().Add(patience); ; {
		all := append(p.list("scheduled"), p.list("running")...)
		if len(all) == 0 {
			return
		}
		if time.Now().After(end) {
			p.t.Errorf("%d tasks cannot be paused", len(all))
			return
		}
		for _, t := range all {
			p.ask("POST", "/tasks/"+t.Identifier+"/pause", nil, "", nil)
		}
	}
}

func pick(words ...string) string { return words[rand.IntN(len(words))] }
