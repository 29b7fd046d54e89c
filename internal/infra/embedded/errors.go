// Package embedded is what `dogwatch up` runs when no database or queue is
// configured: a real Postgres as a child process, kept under the data
// directory, and a Redis-compatible queue inside our own process.
//
// Postgres comes from the machine or from the npm package under tools/pg;
// nothing is downloaded while Dogwatch runs.
package embedded

import (
	"errors"
	"fmt"
)

// The causes of a StartError that a caller or a test tells apart.
var (
	ErrNoBinaries = errors.New("no usable Postgres programs were found")
	ErrWrongMajor = errors.New("the data directory was written by another major version of Postgres")
	ErrNoIdentity = errors.New("Postgres does not run as root and no other identity is possible")
	ErrExited     = errors.New("Postgres ended while it was starting")
)

// StartError says that something `up` depends on could not be started, and
// what a person can try. The command turns it into exit code 3.
type StartError struct {
	Dependency string // "postgres" or "queue"
	Problem    string // what went wrong, a clause
	Try        string // what to do about it, a clause
	Err        error
}

func (e *StartError) Error() string {
	s := e.Dependency + ": " + e.Problem
	if e.Try != "" {
		s += "; try: " + e.Try
	}
	return s
}

func (e *StartError) Unwrap() error { return e.Err }

// InUseError says that another running instance holds the directory. The
// command turns it into exit code 4.
type InUseError struct {
	Dir string
	PID int // of the holder, 0 when it is not known
}

func (e *InUseError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("the data directory %s is in use by another instance", e.Dir)
	}
	return fmt.Sprintf("the data directory %s is in use by another instance (process %d)", e.Dir, e.PID)
}
