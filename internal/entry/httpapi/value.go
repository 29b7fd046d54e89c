package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/dogwatch/dogwatch/internal/domain/access"
)

// Time is written in UTC with milliseconds, however it is stored.
type Time struct{ time.Time }

const timeFormat = "2006-01-02T15:04:05.000Z"

// MarshalJSON writes t.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(t.UTC().Format(`"` + timeFormat + `"`)), nil
}

// UnmarshalJSON reads a time that can be written again: an offset may carry the
// last hours of the year 9999 into one that RFC 3339 has no digits for.
func (t *Time) UnmarshalJSON(b []byte) error {
	if err := t.Time.UnmarshalJSON(b); err != nil {
		return errors.New("a time is written like 2026-01-31T07:00:00Z")
	}
	if y := t.UTC().Year(); y < 0 || y > 9999 {
		return errors.New("a time lies between the years 0 and 9999 of UTC")
	}
	return nil
}

// UnmarshalText reads a time of a query.
func (t *Time) UnmarshalText(b []byte) error { return t.UnmarshalJSON([]byte(`"` + string(b) + `"`)) }

// Schema says what t is in a body.
func (Time) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "date-time"}
}

func timeOf(t *time.Time) *Time {
	if t == nil {
		return nil
	}
	return &Time{*t}
}

func (t *Time) std() *time.Time {
	if t == nil {
		return nil
	}
	return &t.Time
}

// Maybe is a value, null, or absent: the three differ in a merge patch. In an
// answer an absent one is null.
type Maybe[T any] struct {
	Set bool // not absent
	V   *T   // nil: null
}

func maybe[T any](v *T) Maybe[T] { return Maybe[T]{v != nil, v} }

// UnmarshalJSON is called for null, too.
func (m *Maybe[T]) UnmarshalJSON(b []byte) error {
	m.Set, m.V = true, nil
	if bytes.Equal(bytes.TrimSpace(b), []byte("null")) {
		return nil
	}
	m.V = new(T)
	return json.Unmarshal(b, m.V)
}

// MarshalJSON writes the value or null.
func (m Maybe[T]) MarshalJSON() ([]byte, error) { return json.Marshal(m.V) }

// pointer returns what a patch asks for: nil to leave, a pointer to nil to clear.
func (m Maybe[T]) pointer() **T {
	if !m.Set {
		return nil
	}
	return &m.V
}

// nullable marks a reference that may be null. The validator skips null in a
// field that is not required; the published document says it in full, see
// [publish].
const nullable = "x-nullable"

// Schema says what m is in a body.
func (Maybe[T]) Schema(r huma.Registry) *huma.Schema {
	s := *r.Schema(reflect.TypeFor[T](), true, "")
	if s.Ref != "" {
		return &huma.Schema{Ref: s.Ref, Extensions: map[string]any{nullable: true}}
	}
	s.Nullable = s.Type != ""
	return &s
}

// Actor is who did something.
type Actor struct {
	Kind access.ActorKind `json:"kind" enum:"person,token,agent,system"`
	ID   string           `json:"id,omitempty"`
	Name string           `json:"name,omitempty" doc:"Of a person, token or agent that is still there"`
}

func actorOf(a access.Actor) Actor { return Actor{Kind: a.Kind, ID: a.ID} }

// maybeActor is an actor, or null.
func maybeActor(a *access.Actor) Maybe[Actor] {
	if a == nil {
		return Maybe[Actor]{}
	}
	return maybe(new(actorOf(*a)))
}

// deref returns what p points at, else the zero value.
func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// textOrNull is nil for "".
func textOrNull[S ~string](s S) *string {
	if s == "" {
		return nil
	}
	t := string(s)
	return &t
}

// each maps a list; an empty one stays a list.
func each[A, B any](in []A, f func(A) B) []B {
	out := make([]B, len(in))
	for i, a := range in {
		out[i] = f(a)
	}
	return out
}

// orNone is an empty list instead of null.
func orNone[T any](in []T) []T {
	if in == nil {
		return []T{}
	}
	return in
}
