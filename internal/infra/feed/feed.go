// Package feed tells whoever is connected to this process what changed: events
// that are kept and numbered in the database, and text of models while it is
// written, which is not kept.
//
// One process may be many: each has one feed, which reads each new event once
// and hands it to the subscribers of its workspace.
package feed

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/outage"
	"github.com/dogwatch/dogwatch/internal/domain/event"
)

// Source is where events are kept; the store is one.
type Source interface {
	NumberEvents(ctx context.Context, limit int) (int, error)
	AllEventsAfter(ctx context.Context, seq int64, limit int) ([]event.Event, error)
	EventBounds(ctx context.Context) (oldest, newest int64, err error)
	Listen(ctx context.Context, channels []string, heard func(channel, payload string), connected func())
}

const (
	// numberEvery is how often committed events are looked for: what a dashboard
	// lags behind, at most. The look is one lookup in an index that is nearly
	// always empty.
	numberEvery = 250 * time.Millisecond
	// readEvery makes up for a notification that was lost with its connection.
	readEvery = 2 * time.Second
	// batch bounds a transaction of numbering and a read.
	batch = 500
	// buffer is how far a subscriber may lag behind before it reads for itself.
	buffer = 256
)

// Feed hands events to subscribers.
type Feed struct {
	source  Source
	channel string // where the source announces new numbers
	deltas  Deltas // nil for none
	log     *slog.Logger

	wake, news chan struct{} // each holds at most one: it says "look again"

	mu   sync.Mutex
	subs map[*Subscription]struct{}
}

// New returns a feed of a source, which announces new numbers on a channel.
// deltas may be nil.
func New(source Source, channel string, deltas Deltas, log *slog.Logger) *Feed {
	return &Feed{
		source: source, channel: channel, deltas: deltas, log: log,
		wake: make(chan struct{}, 1), news: make(chan struct{}, 1), subs: map[*Subscription]struct{}{},
	}
}

// Wake says that something was committed, so that it is not waited for.
func (f *Feed) Wake() { signal(f.wake) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run keeps the feed going until ctx ends.
func (f *Feed) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { f.number(ctx) })
	wg.Go(func() {
		look := func() { signal(f.news) }
		f.source.Listen(ctx, []string{f.channel}, func(string, string) { look() }, look)
	})
	if f.deltas != nil {
		wg.Go(func() { f.deltas.Receive(ctx, f.publish) })
	}
	f.read(ctx)
	return nil
}

// number gives numbers to what was committed.
func (f *Feed) number(ctx context.Context) {
	tick := time.NewTicker(numberEvery)
	defer tick.Stop()
	log := outage.New(f.log, "number events")
	for {
		n, err := f.source.NumberEvents(ctx, batch)
		log.Note(ctx, err)
		if n > 0 {
			signal(f.news)
		}
		if n == batch {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-f.wake:
		}
	}
}

// read hands out what got a number.
func (f *Feed) read(ctx context.Context) {
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	last := int64(-1)
	log := outage.New(f.log, "read events")
	for {
		var err error
		if last < 0 { // subscribers read what is older for themselves
			if _, last, err = f.source.EventBounds(ctx); err != nil {
				last = -1
			}
			f.lag()
		}
		n := 0
		if err == nil {
			var events []event.Event
			if events, err = f.source.AllEventsAfter(ctx, last, batch); err == nil {
				for _, e := range events {
					f.publish(e)
					last = e.Seq
				}
				n = len(events)
			}
		}
		log.Note(ctx, err)
		if n == batch {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-f.news:
		}
	}
}

func (f *Feed) publish(e event.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.subs {
		if s.workspace == e.WorkspaceID {
			s.offer(e)
		}
	}
}

// lag tells every subscriber to read for itself.
func (f *Feed) lag() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.subs {
		s.fallBehind()
	}
}

// Subscription is a reader of one workspace's events.
type Subscription struct {
	feed      *Feed
	workspace string
	events    chan event.Event
	lagged    chan struct{}
	behind    bool // under the feed's lock
}

// Subscribe begins to collect the events of a workspace. A reader that resumes
// subscribes first, then reads the past from the store, and drops what it has.
func (f *Feed) Subscribe(workspaceID string) *Subscription {
	s := &Subscription{
		feed: f, workspace: workspaceID,
		events: make(chan event.Event, buffer), lagged: make(chan struct{}, 1),
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subs[s] = struct{}{}
	return s
}

// Close ends the subscription.
func (s *Subscription) Close() {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	delete(s.feed.subs, s)
}

// Events yields events in the order of their numbers, and those without one as
// they come.
func (s *Subscription) Events() <-chan event.Event { return s.events }

// Lagged says that the reader was too slow: from here on Events is without the
// kept ones until CatchUp.
func (s *Subscription) Lagged() <-chan struct{} { return s.lagged }

// CatchUp is called before the reader reads from the store what it has missed.
func (s *Subscription) CatchUp() {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	s.behind = false
}

// offer passes an event on without waiting. A kept event that finds no room makes
// the subscriber fall behind: later ones may not overtake it.
func (s *Subscription) offer(e event.Event) {
	if s.behind && e.Seq > 0 {
		return
	}
	select {
	case s.events <- e:
	default:
		if e.Seq > 0 {
			s.fallBehind()
		}
	}
}

func (s *Subscription) fallBehind() {
	s.behind = true
	signal(s.lagged)
}
