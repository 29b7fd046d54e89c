// Package errs gives an error the two things a caller decides on: its kind,
// which maps to an HTTP status or an exit code, and its code, one of the stable
// words of docs/states.md that are stored, counted and shown to people.
package errs

import (
	"errors"
	"fmt"
)

// Kind is what a caller can do about an error.
type Kind int

const (
	Internal     Kind = iota // a fault of ours; the zero value, so that a plain error is one
	Malformed                // cannot be parsed: 400
	Unauthorized             // not signed in: 401
	Forbidden                // signed in, not allowed: 403
	NotFound                 // unknown, or another workspace's: 404
	Conflict                 // the state forbids it: 409
	Stale                    // the resource has a newer version: 412
	TooLarge                 // 413
	Invalid                  // understood, but not acceptable: 422
	RateLimited              // wait and try again: 429
	Unavailable              // something we need is away: 503
)

// Error is an error with a kind, a code and a sentence for people. The sentence
// never holds SQL, a path of the host or a stack.
type Error struct {
	Kind   Kind
	Code   string  // word of docs/states.md
	Msg    string  // a sentence for the person or program that asked
	Fields []Field // what was wrong where, for Invalid
	Err    error   // the cause, for the log only
}

// Field is one wrong value of a request.
type Field struct {
	Location string // "body.automation.pattern"
	Message  string
	Value    any
}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.Msg + ": " + e.Err.Error()
	}
	return e.Msg
}

func (e *Error) Unwrap() error { return e.Err }

// New returns an error of a kind with its code and a sentence for people.
func New(k Kind, code, format string, args ...any) *Error {
	return &Error{Kind: k, Code: code, Msg: fmt.Sprintf(format, args...)}
}

// Missing says that there is no such thing, or that it is another workspace's.
func Missing(noun, ref string) *Error {
	return New(NotFound, "not_found", "There is no %s %s.", noun, ref)
}

// BadField says that one value of a request is not acceptable.
func BadField(location, code string, value any, format string, args ...any) *Error {
	msg := fmt.Sprintf(format, args...)
	return &Error{Kind: Invalid, Code: code, Msg: msg, Fields: []Field{{location, msg, value}}}
}

// Unreadable says that a part of a request cannot be read as what it is for.
func Unreadable(location, format string, args ...any) *Error {
	msg := fmt.Sprintf(format, args...)
	return &Error{Kind: Malformed, Code: "invalid", Msg: msg, Fields: []Field{{location, msg, nil}}}
}

// KindOf returns the kind of the first Error in err's chain, else Internal.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}

// CodeOf returns the code of the first Error in err's chain, else "".
func CodeOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
