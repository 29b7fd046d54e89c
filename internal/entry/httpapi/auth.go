package httpapi

import (
	"context"
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// who is whoever asks: a signed-in person or a program with a token.
type who struct {
	access.Caller
	session *store.Session // nil for a token
	scopes  []string       // of a token: nouns that it is limited to; none: all
	request *http.Request  // to ask again while a stream lasts
}

type whoKey struct{}

func whoOf(ctx context.Context) *who {
	w, ok := ctx.Value(whoKey{}).(*who)
	if !ok {
		return &who{} // of a public operation: sees nothing
	}
	return w
}

// caller returns whoever asks, as flows know them.
func caller(ctx context.Context) access.Caller { return whoOf(ctx).Caller }

func notSignedIn() error {
	return errs.New(errs.Unauthorized, "unauthorized", "Sign in, or send an API token.")
}

// whoAsks finds out who sent a request and for which workspace.
func (s *Server) whoAsks(ctx context.Context, r *http.Request) (*who, error) {
	if h := r.Header.Get("Authorization"); h != "" {
		scheme, secret, _ := strings.Cut(h, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return nil, notSignedIn()
		}
		return s.tokenAsks(ctx, strings.TrimSpace(secret), r.Header.Get("X-Workspace"))
	}
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return nil, notSignedIn()
	}
	session, err := s.Store.SessionOf(ctx, access.HashSecret(cookie.Value))
	if errs.KindOf(err) == errs.NotFound {
		return nil, notSignedIn()
	}
	if err != nil {
		return nil, err
	}
	return s.personAsks(ctx, session, r.Header.Get("X-Workspace"))
}

func (s *Server) tokenAsks(ctx context.Context, secret, workspace string) (*who, error) {
	t, err := s.Store.TokenOf(ctx, access.HashSecret(secret))
	if errs.KindOf(err) == errs.NotFound || err == nil && !t.Effective().Valid() {
		return nil, errs.New(errs.Unauthorized, "unauthorized", "This token is not valid, or no longer.")
	}
	if err != nil {
		return nil, err
	}
	sc := access.In(t.WorkspaceID)
	if workspace != "" && !strings.EqualFold(workspace, t.WorkspaceID) {
		ws, err := s.Store.Workspace(ctx, sc)
		if err != nil {
			return nil, err
		}
		if workspace != ws.Slug {
			return nil, errs.Missing("workspace", workspace)
		}
	}
	return &who{
		Caller: access.Caller{
			Actor: access.Actor{Kind: access.Token, ID: t.ID}, PersonID: t.PersonID, Role: t.Effective(), Scope: sc, Timezone: t.OwnerTimezone,
		},
		scopes: t.Scopes,
	}, nil
}

func (s *Server) personAsks(ctx context.Context, session store.Session, workspace string) (*who, error) {
	p, err := s.Store.Person(ctx, session.PersonID)
	if err != nil {
		return nil, err
	}
	in, err := s.Store.Memberships(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	at := 0 // the one they have been in the longest
	if workspace != "" {
		at = slices.IndexFunc(in, func(m store.Membership) bool {
			return m.Slug == workspace || strings.EqualFold(m.WorkspaceID, workspace)
		})
	}
	switch {
	case at < 0:
		return nil, errs.Missing("workspace", workspace)
	case len(in) == 0:
		return nil, errs.New(errs.Forbidden, "forbidden", "Your account is in no workspace. Ask an admin.")
	}
	return &who{
		Caller: access.Caller{
			Actor: access.Actor{Kind: access.Person, ID: p.ID}, PersonID: p.ID, Role: in[at].Role,
			Scope: access.In(in[at].WorkspaceID), Timezone: p.Timezone,
		},
		session: &session,
	}, nil
}

// may reports whether whoever asks may call an operation.
func (w *who) may(r *route, req *http.Request) error {
	if !w.Role.AtLeast(r.role) {
		return errs.New(errs.Forbidden, "forbidden", "This needs the role %s; yours is %s.", r.role, w.Role)
	}
	if w.session != nil && !safe(req.Method) {
		sent := req.Header.Get("X-CSRF-Token")
		if subtle.ConstantTimeCompare([]byte(sent), []byte(w.session.CSRFToken)) != 1 {
			return errs.New(errs.Forbidden, "forbidden", "The header X-CSRF-Token is not the one of this session. GET /me has it.")
		}
	}
	if len(w.scopes) > 0 && !slices.ContainsFunc(w.scopes, func(scope string) bool {
		return scope == r.noun || scope == r.noun+":read" && safe(req.Method)
	}) {
		return errs.New(errs.Forbidden, "forbidden", "This token is limited to %s.", strings.Join(w.scopes, ", "))
	}
	return nil
}

func safe(method string) bool { return method == http.MethodGet || method == http.MethodHead }
