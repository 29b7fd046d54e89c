//go:build linux

package chaos

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/testkit/modelserver"
)

// A task's instruction says what its agent does in a run: stages with slashes
// between them, calls of one stage with plus signs, as in "note+say/ask".
//
//	plain nothing, just talk
//	note  append a line to the task's own document
//	share append a line to a document that all tasks share
//	say   comment on the task
//	ask   open a card, or count the open one
//	task  create a task that runs at once
//	odd   call a tool that does not exist
//	fail  the provider refuses the request
//
// Everything that is written names the run, the stage and the answer by which it
// was asked for, so that what is done twice shows.
func order(name, shape string) string { return fmt.Sprintf("[order %s %s]", name, shape) }

var (
	orderPattern = regexp.MustCompile(`\[order ([a-z0-9-]+) ([a-z+/]+)\]`)
	runPattern   = regexp.MustCompile(`This is run (\d+) of the task`)
	markPattern  = regexp.MustCompile(`([a-z0-9-]+) run (\d+) stage (\d+) answer (\d+)\.`)
)

// mark is how what an agent writes says where it comes from.
type mark struct {
	name               string
	run, stage, answer int
}

func (m mark) String() string {
	return fmt.Sprintf("%s run %d stage %d answer %d.", m.name, m.run, m.stage, m.answer)
}

// question is what the answer is to: asked again only where something was lost.
func (m mark) question() string { return fmt.Sprintf("%s run %d stage %d", m.name, m.run, m.stage) }

// readMark reads the first mark in a text.
func readMark(text string) (mark, bool) {
	f := markPattern.FindStringSubmatch(text)
	if f == nil {
		return mark{}, false
	}
	n := func(s string) int { v, _ := strconv.Atoi(s); return v }
	return mark{f[1], n(f[2]), n(f[3]), n(f[4])}, true
}

// payment is a question that reached the model: it costs money, whatever becomes
// of the answer.
type payment struct {
	at   time.Time
	from string // the process that asked
	mark
}

// handoffStage is the stage of the question for a handoff.
const handoffStage = 99

// model is the provider that all agents of a test work with. What it was asked is
// the judge's evidence. Each process has a key of its own, so that we know who asks.
type model struct {
	*httptest.Server
	delay func(m mark) time.Duration                        // nil: none
	fault func(m mark, asked int) (modelserver.Reply, bool) // nil: none; asked counts from 1
	slow  atomic.Bool                                       // every answer takes longer than a drain

	speaks atomic.Pointer[modelserver.Server] // the wire
	heard  atomic.Int64

	mu    sync.Mutex
	paid  []payment
	times map[string]int // how often a question was asked
}

func newModel(t testing.TB) *model {
	m := &model{times: map[string]int{}}
	m.Server = httptest.NewUnstartedServer(m)
	m.Config.IdleTimeout = time.Second // what a client keeps open is not counted against it for long
	m.Start()
	t.Cleanup(func() {
		m.speaks.Load().Close()
		m.CloseClientConnections()
		m.Close()
	})
	return m
}

// ServeHTTP hands a request to a server that speaks the wire. It keeps what it is
// sent, so that one after some hundred requests makes room for the next.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if m.heard.Add(1)%500 == 1 || m.speaks.Load() == nil {
		next := modelserver.NewUnstarted()
		next.Rule(m.answer)
		m.speaks.Store(next)
	}
	m.speaks.Load().ServeHTTP(w, r)
}

// hesitate answers most questions at once, some after the renewal of a lease, and
// a few after two.
func hesitate(lease time.Duration) func(mark) time.Duration {
	return func(mark) time.Duration {
		switch n := rand.IntN(24); {
		case n < 12:
			return 0
		case n < 21:
			return rand.N(150 * time.Millisecond)
		case n < 23:
			return lease/3 + rand.N(lease/3)
		}
		return lease*2/3 + rand.N(lease)
	}
}

func (m *model) payments() []payment {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.paid)
}

// asks returns what was asked by a process, or by anybody, about a task.
func (m *model) asks(from, name string) []payment {
	return slices.DeleteFunc(m.payments(), func(p payment) bool {
		return from != "" && p.from != from || name != "" && p.name != name
	})
}

func (m *model) answer(r modelserver.Request) modelserver.Reply {
	p := payment{at: time.Now(), from: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")}
	var shape string
	p.mark, shape = asked(r)
	m.mu.Lock()
	p.answer = len(m.paid) + 1
	m.paid = append(m.paid, p)
	m.times[p.question()]++
	times := m.times[p.question()]
	m.mu.Unlock()
	if m.fault != nil {
		if reply, wrong := m.fault(p.mark, times); wrong {
			return reply
		}
	}
	var wait time.Duration
	if m.delay != nil {
		wait = m.delay(p.mark)
	}
	if m.slow.Load() {
		wait = 1500 * time.Millisecond
	}
	reply := script(p.mark, shape)
	reply.Delay = modelserver.Duration(wait)
	return reply
}

// asked finds out which run asks.
func asked(r modelserver.Request) (mark, string) {
	text := r.Prompt()
	if r.Format != nil { // for the handoff of a run that has said something
		who, _ := readMark(text)
		who.stage = handoffStage
		return who, ""
	}
	ask, run := orderPattern.FindStringSubmatch(text), runPattern.FindStringSubmatch(text)
	if ask == nil || run == nil {
		return mark{}, "plain"
	}
	who := mark{name: ask[1]}
	who.run, _ = strconv.Atoi(run[1])
	for _, msg := range r.Messages {
		if msg.Role == "assistant" {
			who.stage++
		}
	}
	return who, ask[2]
}

func script(who mark, shape string) modelserver.Reply {
	if who.stage == handoffStage {
		h, _ := json.Marshal(map[string]any{
			"title": fmt.Sprintf("Handoff by answer %d", who.answer), "summary": "Written for " + who.name + ".",
			"keyFindings": []string{fmt.Sprintf("Finding %d", who.answer)}, "nextAction": "", "unfinished": "",
		})
		return modelserver.Reply{JSON: h}
	}
	stages := strings.Split(shape, "/")
	reply := modelserver.Reply{Text: who.String()}
	if shape == "plain" || who.stage >= len(stages) {
		return reply // the last word
	}
	for _, name := range strings.Split(stages[who.stage], "+") {
		tool, args := "", map[string]any{}
		switch name {
		case "note":
			tool, args = "write_document", map[string]any{"folder": "chaos", "title": "log of " + who.name, "mode": "append", "content": who.String()}
		case "share":
			tool, args = "write_document", map[string]any{"folder": "chaos", "title": "journal", "mode": "append", "content": who.String()}
		case "say":
			tool, args = "comment_task", map[string]any{"content": who.String()}
		case "ask":
			tool, args = "create_brief", map[string]any{"type": "insight", "title": "News", "summary": who.String(), "key": "news"}
		case "task":
			sub := fmt.Sprintf("%s-%d-sub", who.name, who.run)
			tool, args = "create_task", map[string]any{"name": sub, "instruction": order(sub, "note"), "start": true}
		case "odd":
			tool = "make_coffee"
		case "fail":
			return modelserver.Reply{Status: 400, Error: "this model does not like the request"}
		}
		a, _ := json.Marshal(args)
		reply.Calls = append(reply.Calls, modelserver.Call{Name: tool, Arguments: string(a)})
	}
	return reply
}
