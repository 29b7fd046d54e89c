package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/danielgtaylor/huma/v2"

	"github.com/dogwatch/dogwatch/internal/base/errs"
)

// rawAs keeps the part of a merge patch that changes an object inside a resource,
// as it came: what is absent in it stays. T is what the validator holds it against.
type rawAs[T any] struct{ json json.RawMessage }

// UnmarshalJSON keeps b.
func (r *rawAs[T]) UnmarshalJSON(b []byte) error {
	r.json = bytes.Clone(b)
	return nil
}

// MarshalJSON writes what was kept.
func (r rawAs[T]) MarshalJSON() ([]byte, error) { return r.json, nil }

// Schema is that of T.
func (rawAs[T]) Schema(r huma.Registry) *huma.Schema { return r.Schema(typeOf[T](), true, "") }

// mergeInto changes v by a JSON merge patch (RFC 7396).
func mergeInto[T any](v *T, patch json.RawMessage) error {
	now, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("merge a patch: %w", err)
	}
	var target, p any
	for raw, into := range map[*json.RawMessage]*any{(*json.RawMessage)(&now): &target, &patch: &p} {
		d := json.NewDecoder(bytes.NewReader(*raw))
		d.UseNumber() // money is not rounded on the way
		if err := d.Decode(into); err != nil {
			return fmt.Errorf("merge a patch: %w", err)
		}
	}
	merged, err := json.Marshal(merge(target, p))
	if err != nil {
		return fmt.Errorf("merge a patch: %w", err)
	}
	var out T // not into v: what the patch takes away would stay there
	if err := readInto(merged, &out); err != nil {
		return errs.BadField("body", "invalid", nil, "The patch does not fit: %v.", err)
	}
	*v = out
	return nil
}

func merge(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	t, ok := target.(map[string]any)
	if !ok {
		t = map[string]any{}
	}
	for k, v := range p {
		if v == nil {
			delete(t, k)
		} else {
			t[k] = merge(t[k], v)
		}
	}
	return t
}
