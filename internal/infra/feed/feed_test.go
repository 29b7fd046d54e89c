package feed

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/dogwatch/dogwatch/internal/domain/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a source in memory.
type memory struct {
	mu         sync.Mutex
	unnumbered int
	events     []event.Event
	broken     bool
	announce   func()
}

func (m *memory) emit(workspace string, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for range n {
		m.events = append(m.events, event.Event{WorkspaceID: workspace, Type: event.TaskChanged})
		m.unnumbered++
	}
}

func (m *memory) NumberEvents(_ context.Context, limit int) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := min(limit, m.unnumbered)
	first := len(m.events) - m.unnumbered
	for i := range n {
		m.events[first+i].Seq = int64(first + i + 1)
	}
	m.unnumbered -= n
	if n > 0 && m.announce != nil {
		m.announce()
	}
	return n, nil
}

func (m *memory) AllEventsAfter(_ context.Context, seq int64, limit int) ([]event.Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken {
		return nil, errors.New("the database is away")
	}
	numbered := m.events[:len(m.events)-m.unnumbered]
	return slices.Clone(numbered[seq:min(int(seq)+limit, len(numbered))]), nil
}

func (m *memory) EventBounds(context.Context) (int64, int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return 1, int64(len(m.events) - m.unnumbered), nil
}

func (m *memory) Listen(ctx context.Context, _ []string, heard func(string, string), connected func()) {
	m.mu.Lock()
	m.announce = func() { heard("", "") }
	m.mu.Unlock()
	connected()
	<-ctx.Done()
}

func run(t *testing.T, f func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func next(t *testing.T, s *Subscription) event.Event {
	t.Helper()
	select {
	case e := <-s.Events():
		return e
	case <-time.After(5 * time.Second):
		t.Fatal("nothing came")
		return event.Event{}
	}
}

func TestEachWorkspaceHearsItsOwnInOrder(t *testing.T) {
	m := &memory{}
	f := New(m, "c", nil, slog.New(slog.DiscardHandler))
	a, b := f.Subscribe("a"), f.Subscribe("b")
	defer a.Close()
	defer b.Close()
	run(t, f.Run)
	<-a.Lagged() // the feed has begun
	a.CatchUp()
	<-b.Lagged()
	b.CatchUp()

	for range 3 {
		m.emit("a", 1)
		m.emit("b", 1)
		f.Wake()
	}
	for want := int64(1); want <= 5; want += 2 {
		if e := next(t, a); e.Seq != want || e.WorkspaceID != "a" {
			t.Errorf("a heard %d of %s, want %d", e.Seq, e.WorkspaceID, want)
		}
		if e := next(t, b); e.Seq != want+1 || e.WorkspaceID != "b" {
			t.Errorf("b heard %d of %s, want %d", e.Seq, e.WorkspaceID, want+1)
		}
	}
}

// Once something was lost, nothing later is handed out until the reader has
// caught up: else it would take the gap for the whole.
func TestASlowReaderIsToldAndNothingOvertakes(t *testing.T) {
	f := New(&memory{}, "c", nil, slog.New(slog.DiscardHandler))
	s := f.Subscribe("a")
	defer s.Close()
	for seq := range int64(buffer + 10) {
		f.publish(event.Event{WorkspaceID: "a", Seq: seq + 1})
	}
	<-s.Lagged()
	for want := int64(1); want <= buffer; want++ {
		if e := next(t, s); e.Seq != want {
			t.Fatalf("got %d, want %d", e.Seq, want)
		}
	}
	f.publish(event.Event{WorkspaceID: "a", Seq: 1000})
	f.publish(event.Event{WorkspaceID: "a"}) // not kept: nobody counts it
	if e := next(t, s); e.Seq != 0 {
		t.Errorf("%d overtook what was lost", e.Seq)
	}
	s.CatchUp()
	f.publish(event.Event{WorkspaceID: "a", Seq: 1001})
	if e := next(t, s); e.Seq != 1001 {
		t.Errorf("after catching up came %d", e.Seq)
	}
}

func TestAnOutageIsSurvived(t *testing.T) {
	m := &memory{}
	f := New(m, "c", nil, slog.New(slog.DiscardHandler))
	s := f.Subscribe("a")
	defer s.Close()
	run(t, f.Run)
	<-s.Lagged()
	s.CatchUp()
	m.mu.Lock()
	m.broken = true
	m.mu.Unlock()
	m.emit("a", 1)
	f.Wake()
	time.Sleep(50 * time.Millisecond)
	m.mu.Lock()
	m.broken = false
	m.mu.Unlock()
	signal(f.news)
	if e := next(t, s); e.Seq != 1 {
		t.Errorf("got %d", e.Seq)
	}
}

func TestTextOfAModelComesThroughRedisInFewMessages(t *testing.T) {
	mr := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: mr.Addr()})
	defer client.Close()
	p := NewPublisher(client, slog.New(slog.DiscardHandler))
	f := New(&memory{}, "c", NewReceiver(client), slog.New(slog.DiscardHandler))
	s := f.Subscribe("a")
	defer s.Close()
	run(t, p.Run)
	run(t, f.Run)
	for client.PubSubNumSub(t.Context(), deltaChannel).Val()[deltaChannel] == 0 {
		time.Sleep(5 * time.Millisecond)
	}

	var want, got strings.Builder
	for range 500 {
		p.Delta(t.Context(), "a", "op", 3, "word ")
		want.WriteString("word ")
		time.Sleep(200 * time.Microsecond)
	}
	messages := 0
	for got.Len() < want.Len() {
		e := next(t, s)
		payload := e.Payload.(map[string]any)
		if e.Type != event.StepDelta || e.SubjectID != "op" || e.Seq != 0 || payload["seq"] != 3 {
			t.Fatalf("got %+v", e)
		}
		got.WriteString(payload["text"].(string))
		messages++
	}
	if got.String() != want.String() {
		t.Error("the text arrived changed")
	}
	if messages > 100 {
		t.Errorf("500 pieces went in %d messages", messages)
	}
}

func TestAPublisherNeverWaitsForRedis(t *testing.T) {
	p := NewPublisher(redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}), slog.New(slog.DiscardHandler))
	defer p.redis.Close()
	begun := time.Now()
	for i := range 10_000 {
		p.Delta(t.Context(), "a", string(rune('a'+i%1000)), 1, strings.Repeat("x", 100))
	}
	if d := time.Since(begun); d > time.Second {
		t.Errorf("10,000 pieces took %v with Redis away", d)
	}
	if n := len(p.pending); n > deltaOperations {
		t.Errorf("%d operations wait", n)
	}
}
