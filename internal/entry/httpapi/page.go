package httpapi

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"slices"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// Paging asks for a part of a list.
type Paging struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"How many items at most"`
	Cursor string `query:"cursor" maxLength:"200" doc:"nextCursor of the page before"`
}

// Page is a part of a list.
type Page[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"nextCursor" doc:"null on the last page"`
}

type listOut[T any] struct{ Body Page[T] }

// A cursor is the id that the next page begins after, signed for one list of one
// workspace: nobody can make one up, and none reads on in another list, under other
// filters or in another order.

const cursorMAC = 12 // bytes; a guess is one call over the network

func (s *Server) sign(ctx context.Context, after string) []byte {
	mac := hmac.New(sha256.New, s.cursorKey)
	for _, part := range []string{listOf(whoOf(ctx).request.URL), caller(ctx).Scope.Workspace(), after} {
		mac.Write([]byte(part))
		mac.Write([]byte{0})
	}
	return mac.Sum(nil)[:cursorMAC]
}

// listOf names a list: its address with all that was asked of it, save for the page.
func listOf(u *url.URL) string {
	asked := u.Query()
	asked.Del("limit")
	asked.Del("cursor")
	return u.Path + "?" + asked.Encode() // by name
}

// page reads what part of a list is asked for.
func (s *Server) page(ctx context.Context, p Paging) (store.Page, error) {
	out := store.Page{Limit: p.Limit}
	if p.Cursor == "" {
		return out, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	if err != nil || len(raw) <= cursorMAC {
		return out, badCursor()
	}
	mac, after := raw[:cursorMAC], string(raw[cursorMAC:])
	if !hmac.Equal(mac, s.sign(ctx, after)) {
		return out, badCursor()
	}
	out.After = after
	return out, nil
}

func badCursor() error {
	return errs.New(errs.Malformed, "invalid", "This cursor is not one of this list with these filters. Begin without one.")
}

// listed makes a page of an answer of the store.
func listed[A, B any](ctx context.Context, s *Server, items []A, next string, f func(A) B) *listOut[B] {
	out := &listOut[B]{Page[B]{Items: each(items, f)}}
	if next != "" {
		cursor := base64.RawURLEncoding.EncodeToString(append(s.sign(ctx, next), next...))
		out.Body.NextCursor = &cursor
	}
	return out
}

// sliced makes a page of a list that the store returns whole, since it is short:
// key tells one item from another.
func sliced[A, B any](ctx context.Context, s *Server, in Paging, items []A, key func(A) string, f func(A) B) (*listOut[B], error) {
	p, err := s.page(ctx, in)
	if err != nil {
		return nil, err
	}
	if p.After != "" {
		at := slices.IndexFunc(items, func(a A) bool { return key(a) == p.After })
		items = items[at+1:] // from the start when the item is gone
	}
	next := ""
	if len(items) > p.Limit {
		items = items[:p.Limit]
		next = key(items[len(items)-1])
	}
	return listed(ctx, s, items, next, f), nil
}

// whole is a list that is never long enough for a second page.
func whole[A, B any](items []A, f func(A) B) *listOut[B] {
	return &listOut[B]{Page[B]{Items: each(items, f)}}
}
