package httpapi

import (
	"net/netip"
	"sync"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
)

// throttle slows down who guesses passwords: per account and per address a
// handful of tries at once, then one every while. It is kept in memory: a
// restart forgives, several processes multiply what is allowed by their number,
// and both are far from what guessing takes.
type throttle struct {
	burst int
	every time.Duration
	now   func() time.Time

	mu      sync.Mutex
	buckets map[string]bucket
}

// bucket holds tries that are left as of a time.
type bucket struct {
	left float64
	at   time.Time
}

// maxBuckets bounds the memory: past it those that are full again are forgotten,
// and if none is, everybody.
const maxBuckets = 10_000

func newThrottle(burst int, every time.Duration) *throttle {
	return &throttle{burst: burst, every: every, now: time.Now, buckets: map[string]bucket{}}
}

// take uses up one try of each key, or says how long to wait for one.
func (t *throttle) take(keys ...string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if len(t.buckets) > maxBuckets {
		t.forget(now)
	}
	var wait time.Duration
	for _, k := range keys {
		if b := t.fill(k, now); b.left < 1 {
			wait = max(wait, time.Duration((1-b.left)*float64(t.every)))
		}
	}
	if wait > 0 {
		return limited{errs.New(errs.RateLimited, "rate_limited", "Too many tries. Wait a little."), wait}
	}
	for _, k := range keys {
		b := t.fill(k, now)
		b.left--
		t.buckets[k] = b
	}
	return nil
}

// succeed gives the tries of a key back.
func (t *throttle) succeed(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.buckets, key)
}

func (t *throttle) fill(key string, now time.Time) bucket {
	b, ok := t.buckets[key]
	if !ok {
		return bucket{float64(t.burst), now}
	}
	b.left = min(float64(t.burst), b.left+float64(now.Sub(b.at))/float64(t.every))
	b.at = now
	return b
}

func (t *throttle) forget(now time.Time) {
	for k := range t.buckets {
		if t.fill(k, now).left >= float64(t.burst) {
			delete(t.buckets, k)
		}
	}
	if len(t.buckets) > maxBuckets {
		clear(t.buckets)
	}
}

// network returns what stands for an address: with IPv6 a customer has a whole
// /64 to change addresses in.
func network(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil || a.Is4() || a.Is4In6() {
		return address
	}
	p, err := a.Prefix(64)
	if err != nil {
		return address
	}
	return p.String()
}
