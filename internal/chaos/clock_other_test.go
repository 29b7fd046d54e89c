//go:build linux && !amd64

package chaos

import (
	"errors"
	"time"
)

// shiftClock is written for amd64 alone.
func shiftClock(time.Duration) error { return errors.ErrUnsupported }
