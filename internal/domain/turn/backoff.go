package turn

import (
	"math"
	"time"
)

// MaxBackoff is the longest wait between two attempts of one model call. An
// operation has 30 minutes of wall clock: a provider that asks for an hour
// (daily quotas do) must not eat them in silence. After this wait it is asked
// once more, and when it still declines the run ends with an error brief that a
// person can act on.
const MaxBackoff = 5 * time.Minute

// plan is how a class of error is met: how often a call is made in all, and how
// the wait between attempts grows.
type plan struct {
	attempts    int
	first, most time.Duration
}

var plans = map[ErrorClass]plan{
	// A limit per minute is the usual one: waits of 5, 10, 20, 40, 60 s pass over it twice.
	ErrRateLimit: {6, 5 * time.Second, time.Minute},
	// The provider has too much to do; coming back soon makes it worse.
	ErrOverloaded: {6, 5 * time.Second, 2 * time.Minute},
	// A restart or a broken line: over in seconds, or not at all.
	ErrServer:  {6, time.Second, 30 * time.Second},
	ErrNetwork: {6, time.Second, 30 * time.Second},
	// Silence has already cost minutes; a second one shows that waiting does not help.
	ErrSilence: {2, time.Second, 30 * time.Second},
	// Chance may mend one garbled answer; three in a row are what the server speaks.
	ErrBadReply: {3, time.Second, 30 * time.Second},
}

// Attempts returns how often a call may be made in all when it keeps failing
// with this class.
func (c ErrorClass) Attempts() int { return max(plans[c].attempts, 1) }

// Backoff returns how long to wait after the given attempt (the first is 1)
// failed with class, before the next. The wait doubles with each attempt and
// never is shorter than what the provider asked for, up to MaxBackoff. jitter
// is a random number in [0,1): it spreads callers that failed together, over
// the upper half of our own wait, or over a tenth beyond the provider's.
func Backoff(class ErrorClass, attempt int, retryAfter time.Duration, jitter float64) time.Duration {
	p, known := plans[class]
	if !known {
		return 0
	}
	if !(jitter >= 0 && jitter <= 1) { // NaN too
		jitter = 0
	}
	own := p.most
	if grown := float64(p.first) * math.Pow(2, float64(max(attempt, 1)-1)); grown < float64(p.most) {
		own = time.Duration(grown)
	}
	own = own/2 + time.Duration(jitter*float64(own/2))
	asked := min(max(retryAfter, 0), MaxBackoff)
	asked += time.Duration(jitter * float64(asked) / 10)
	return min(max(own, asked), MaxBackoff)
}
