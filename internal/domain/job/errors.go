package job

import (
	"errors"
	"time"
)

// ErrLost says that somebody else holds the job now, or nobody. Whoever meets it
// rolls back and writes nothing more.
var ErrLost = errors.New("the job is held by somebody else")

// Causes with which the context of a handler is cancelled, besides ErrLost.
var (
	ErrDrain     = errors.New("the process is shutting down")
	ErrStop      = errors.New("the operation was stopped")
	ErrTimeLimit = errors.New("the job took longer than its kind may")
)

// Causes with which a job is given up without being run once more.
var (
	ErrPoison   = errors.New("the worker died or stood still each time the job ran")
	ErrAttempts = errors.New("the job failed as often as its kind may")
)

// retry is an error that says when to try again.
type retry struct {
	error
	after time.Duration
}

func (r retry) Unwrap() error { return r.error }

// permanent is an error that no retry will heal.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// RetryAfter marks err as worth another try after a delay. It counts as an attempt.
func RetryAfter(err error, after time.Duration) error { return retry{err, after} }

// Permanent marks err as one that no retry will heal: the kind's ending runs.
func Permanent(err error) error { return permanent{err} }

// Delay returns the delay that err asks for, and whether it asks for one.
func Delay(err error) (time.Duration, bool) {
	var r retry
	ok := errors.As(err, &r)
	return r.after, ok
}

// IsPermanent reports whether err was marked as Permanent.
func IsPermanent(err error) bool {
	var p permanent
	return errors.As(err, &p)
}

// Backoff is the delay after a failure that names none: a second, doubled for
// each attempt before it, at most five minutes.
func Backoff(attempt int) time.Duration {
	return min(time.Second<<min(attempt, 16), 5*time.Minute)
}
