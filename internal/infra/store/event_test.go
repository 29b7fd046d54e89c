package store_test

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/event"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

func (h *house) emit(sc access.Scope, n int) {
	h.t.Helper()
	h.tx(func(tx *store.Tx) error {
		return tx.Emit(h.ctx, sc, store.Event{Type: event.TaskChanged, SubjectKind: "task", SubjectID: id.New(), Payload: map[string]int{"n": n}})
	})
}

func (h *house) number() {
	h.t.Helper()
	if _, err := h.NumberEvents(h.ctx, 1000); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) read(sc access.Scope, after int64) (ns []int, last int64) {
	h.t.Helper()
	events, err := h.EventsAfter(h.ctx, sc, after, 1000)
	if err != nil {
		h.t.Fatal(err)
	}
	last = after
	for _, e := range events {
		var p struct{ N int }
		if err := json.Unmarshal(e.Payload.(json.RawMessage), &p); err != nil {
			h.t.Fatal(err)
		}
		if e.Seq <= last {
			h.t.Errorf("event %d comes after %d", e.Seq, last)
		}
		ns, last = append(ns, p.N), e.Seq
	}
	return ns, last
}

// A slow transaction takes its row id early and commits late. A reader who
// resumes by row id would never see it.
func TestASlowTransactionIsNotSkipped(t *testing.T) {
	h := newHouse(t)
	emitted, commit := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		h.tx(func(tx *store.Tx) error {
			err := tx.Emit(h.ctx, h.here, store.Event{Type: event.TaskChanged, SubjectKind: "task", SubjectID: id.New(), Payload: map[string]int{"n": 1}})
			close(emitted)
			<-commit
			return err
		})
	})
	<-emitted
	h.emit(h.here, 2)
	h.number()
	ns, last := h.read(h.here, 0)
	if len(ns) != 1 || ns[0] != 2 {
		t.Fatalf("read %v before the slow commit, want [2]", ns)
	}
	close(commit)
	wg.Wait()
	h.number()
	if ns, _ = h.read(h.here, last); len(ns) != 1 || ns[0] != 1 {
		t.Fatalf("read %v after the slow commit, want [1]", ns)
	}
}

func TestEventsOfAnotherWorkspaceAreNotSeen(t *testing.T) {
	h := newHouse(t)
	h.emit(h.here, 1)
	h.emit(h.there, 2)
	h.number()
	if ns, _ := h.read(h.here, 0); len(ns) != 1 || ns[0] != 1 {
		t.Errorf("here: %v", ns)
	}
	if ns, _ := h.read(h.there, 0); len(ns) != 1 || ns[0] != 2 {
		t.Errorf("there: %v", ns)
	}
	all, err := h.AllEventsAfter(h.ctx, 0, 10)
	if err != nil || len(all) != 2 || all[0].WorkspaceID != h.here.Workspace() {
		t.Errorf("all: %+v, %v", all, err)
	}
}

// Writers commit in any order while several processes number and one reader
// follows: it misses nothing and sees nothing twice.
func TestAReaderWhoFollowsSeesEverythingOnce(t *testing.T) {
	h := newHouse(t)
	const writers, each = 4, 25
	var writing, numbering sync.WaitGroup
	done := make(chan struct{})
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				h.emit(h.here, w*each+i)
			}
		})
	}
	for range 2 {
		numbering.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					h.number()
				}
			}
		})
	}
	seen := map[int]int{}
	var last int64
	for stop := time.Now().Add(20 * time.Second); len(seen) < writers*each && time.Now().Before(stop); {
		ns, at := h.read(h.here, last)
		last = at
		for _, n := range ns {
			seen[n]++
		}
	}
	writing.Wait()
	close(done)
	numbering.Wait()
	for n := range writers * each {
		if seen[n] != 1 {
			t.Errorf("event %d was seen %d times", n, seen[n])
		}
	}
}

func TestNumbersAreNotGivenTwiceAfterRetention(t *testing.T) {
	h := newHouse(t)
	if oldest, newest, err := h.EventBounds(h.ctx); oldest != 1 || newest != 0 || err != nil {
		t.Errorf("without events: %d to %d, %v", oldest, newest, err)
	}
	h.emit(h.here, 1)
	h.emit(h.here, 2)
	h.number()
	oldest, newest, err := h.EventBounds(h.ctx)
	if err != nil || newest-oldest != 1 {
		t.Fatalf("bounds %d to %d, %v", oldest, newest, err)
	}
	h.exec(`update events set at = now() - interval '8 days'`)
	h.tx(func(tx *store.Tx) error {
		n, err := tx.DeleteEvents(h.ctx, 7*24*time.Hour, 100)
		if err == nil && n != 2 {
			t.Errorf("deleted %d, want 2", n)
		}
		return err
	})
	if o, n, err := h.EventBounds(h.ctx); o != newest+1 || n != newest || err != nil {
		t.Errorf("after retention: %d to %d, %v; want %d to %d", o, n, err, newest+1, newest)
	}
	h.emit(h.here, 3)
	h.number()
	if ns, last := h.read(h.here, newest); len(ns) != 1 || last <= newest {
		t.Errorf("the next event is %v with number %d, after %d", ns, last, newest)
	}
}
