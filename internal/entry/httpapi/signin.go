package httpapi

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/schedule"
	"github.com/dogwatch/dogwatch/internal/infra/password"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

const (
	cookieName = "dogwatch_session"
	// sessionTime is how long a browser stays signed in.
	sessionTime = 30 * 24 * time.Hour
	// Of wrong passwords for one account, and from one network.
	signInBurst = 5
	signInEvery = 10 * time.Second
)

// Person is somebody with an account.
type Person struct {
	ID       string `json:"id"`
	Email    string `json:"email"`
	Name     string `json:"name"`
	Timezone string `json:"timezone"`
	Language string `json:"language" enum:"en,zh-CN"`
	Version  int64  `json:"version"`
}

func personOf(p store.Person) Person {
	return Person{p.ID, p.Email, p.Name, p.Timezone, p.Language, p.Version}
}

// Login is the answer to a sign-in.
type Login struct {
	Person    Person `json:"person"`
	CSRFToken string `json:"csrfToken" doc:"Sent as X-CSRF-Token with unsafe methods"`
}

// Membership is a workspace that a person is in.
type Membership struct {
	ID   string      `json:"id"`
	Slug string      `json:"slug"`
	Name string      `json:"name"`
	Role access.Role `json:"role" enum:"viewer,operator,admin"`
}

// Me is whoever asks, and where.
type Me struct {
	Person     Person       `json:"person" doc:"For a token, its owner"`
	Workspace  Workspace    `json:"workspace"`
	Workspaces []Membership `json:"workspaces" doc:"All that the person is in"`
	Role       access.Role  `json:"role" enum:"viewer,operator,admin" doc:"In this workspace"`
	CSRFToken  string       `json:"csrfToken" doc:"Empty for a token, which needs none"`
}

type loginIn struct {
	Body struct {
		Email    string `json:"email" minLength:"1" maxLength:"320" doc:"Of the account, in any case"`
		Password string `json:"password" minLength:"1" maxLength:"512" doc:"Of the account"`
	}
	UserAgent string `header:"User-Agent" hidden:"true"`
}

type loginOut struct {
	Cookie http.Cookie `header:"Set-Cookie"`
	Body   Login
}

type meIn struct {
	IfMatch string `header:"If-Match" doc:"The ETag that was read; a newer version is refused as stale"`
	Body    struct {
		Name     Maybe[string] `json:"name,omitzero" minLength:"1" maxLength:"200" doc:"What others see"`
		Timezone Maybe[string] `json:"timezone,omitzero" maxLength:"100" doc:"IANA name: of schedules that name none"`
		Language Maybe[string] `json:"language,omitzero" enum:"en,zh-CN" doc:"Of the dashboard"`
		Password Maybe[string] `json:"password,omitzero" minLength:"10" maxLength:"512" doc:"A new one of 10 characters or more; ends your other sessions"`
		Version  *int64        `json:"version,omitempty" doc:"The version that was read; a newer one is refused as stale"`
	}
}

func (s *Server) accessRoutes() {
	add(s, route{
		method: "POST", path: "/auth/login", name: "login", noun: "auth", role: public, limit: 16 << 10,
		does: "Sign in with a password",
	}, s.login)
	add(s, route{
		method: "POST", path: "/auth/logout", name: "logout", noun: "auth", role: access.Viewer, limit: 16 << 10,
		does: "Sign out",
	}, s.logout)
	add(s, route{method: "GET", path: "/me", name: "getMe", noun: "me", role: access.Viewer, does: "Who asks, and where"}, s.me)
	add(s, route{method: "PATCH", path: "/me", name: "editMe", noun: "me", role: access.Viewer, does: "Change your account"}, s.editMe)

	s.echo.GET("/auth/start/:once", s.startOnce)
	s.echo.GET(base+"/auth/start/:once", s.startOnce)
}

type clientKey struct{}

func (s *Server) login(ctx context.Context, in *loginIn) (*loginOut, error) {
	address, _ := ctx.Value(clientKey{}).(string)
	email := store.CanonicalEmail(in.Body.Email)
	account := "account " + email
	if err := s.signIns.take(account, "network "+network(address)); err != nil {
		return nil, err
	}
	p, hash, err := s.Store.Credentials(ctx, email)
	if err != nil && errs.KindOf(err) != errs.NotFound {
		return nil, err
	}
	ok, err := password.Matches(ctx, hash, in.Body.Password) // also for nobody: it takes as long
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errs.New(errs.Unauthorized, "unauthorized", "The e-mail address or the password is wrong.")
	}
	s.signIns.succeed(account)
	cookie, csrf, err := s.openSession(ctx, p.ID, in.UserAgent, address)
	if err != nil {
		return nil, err
	}
	return &loginOut{cookie, Login{personOf(p), csrf}}, nil
}

func (s *Server) openSession(ctx context.Context, personID, agent, address string) (http.Cookie, string, error) {
	secret, csrf := id.Secret(32), id.Secret(24)
	err := s.Store.InTx(ctx, func(tx *store.Tx) error {
		agent = strings.ToValidUTF8(strings.ReplaceAll(agent, "\x00", ""), "") // whatever a client calls itself
		if err := tx.CreateSession(ctx, personID, access.HashSecret(secret), csrf, agent, address, sessionTime); err != nil {
			return err
		}
		return auditEverywhere(ctx, tx, personID, "session.create")
	})
	return s.cookie(ctx, secret, int(sessionTime/time.Second)), csrf, err
}

// auditEverywhere notes what concerns an account in each workspace that it is in.
func auditEverywhere(ctx context.Context, tx *store.Tx, personID, action string) error {
	in, err := tx.Memberships(ctx, personID)
	if err != nil {
		return err
	}
	for _, m := range in {
		err := tx.Audit(ctx, access.In(m.WorkspaceID), store.AuditEntry{
			Actor: access.Actor{Kind: access.Person, ID: personID}, Action: action, SubjectKind: "person", SubjectID: personID,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// cookie makes the session's cookie: for https alone where people come by https,
// to us or to the proxy in front of us. A forged header only binds the forger.
func (s *Server) cookie(ctx context.Context, value string, maxAge int) http.Cookie {
	https, _ := ctx.Value(httpsKey{}).(bool)
	return http.Cookie{
		Name: cookieName, Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: https || strings.HasPrefix(s.URL, "https://"),
	}
}

// httpsKey holds whether the caller came by https.
type httpsKey struct{}

type logoutOut struct {
	Cookie http.Cookie `header:"Set-Cookie"`
}

func (s *Server) logout(ctx context.Context, _ *struct{}) (*logoutOut, error) {
	w := whoOf(ctx)
	if w.session == nil {
		return nil, errs.New(errs.Conflict, "conflict", "A token does not sign out. Delete it instead.")
	}
	err := s.Store.InTx(ctx, func(tx *store.Tx) error { return tx.DeleteSession(ctx, w.PersonID, w.session.ID) })
	if err != nil && errs.KindOf(err) != errs.NotFound {
		return nil, err
	}
	return &logoutOut{s.cookie(ctx, "", -1)}, nil
}

type meOut struct{ Body Me }

func (s *Server) me(ctx context.Context, _ *struct{}) (*meOut, error) {
	w := whoOf(ctx)
	p, err := s.Store.Person(ctx, w.PersonID)
	if err != nil {
		return nil, err
	}
	ws, err := s.Store.Workspace(ctx, w.Scope)
	if err != nil {
		return nil, err
	}
	out := &meOut{Me{Person: personOf(p), Workspace: workspaceOf(ws), Role: w.Role}}
	if err := s.nameHolders(ctx, &out.Body.Workspace); err != nil {
		return nil, err
	}
	if w.session == nil { // a token knows its own workspace only
		out.Body.Workspaces = []Membership{{ws.ID, ws.Slug, ws.Name, w.Role}}
		return out, nil
	}
	in, err := s.Store.Memberships(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	out.Body.Workspaces = each(in, func(m store.Membership) Membership { return Membership{m.WorkspaceID, m.Slug, m.Name, m.Role} })
	out.Body.CSRFToken = w.session.CSRFToken
	return out, nil
}

type personOut struct {
	ETag string `header:"ETag"`
	Body Person
}

func (s *Server) editMe(ctx context.Context, in *meIn) (*personOut, error) {
	w := whoOf(ctx)
	if w.session == nil {
		return nil, errs.New(errs.Forbidden, "forbidden", "A token cannot change the account of its owner.")
	}
	b := in.Body
	if err := notNull("name", b.Name, "timezone", b.Timezone, "language", b.Language, "password", b.Password); err != nil {
		return nil, err
	}
	patch := store.PersonPatch{Name: b.Name.V, Language: b.Language.V}
	if b.Timezone.V != nil {
		_, zone, err := schedule.Zone(*b.Timezone.V)
		if err != nil {
			return nil, errs.BadField("body.timezone", errs.CodeOf(err), *b.Timezone.V, "%s", err)
		}
		patch.Timezone = &zone
	}
	if b.Password.V != nil {
		hash, err := password.Hash(ctx, *b.Password.V)
		if err != nil {
			return nil, err
		}
		patch.PasswordHash = &hash
	}
	var p store.Person
	err := s.Store.InTx(ctx, func(tx *store.Tx) (err error) {
		if p, err = tx.EditPerson(ctx, w.PersonID, expected(in.IfMatch, b.Version), patch); err != nil || patch.PasswordHash == nil {
			return err
		}
		if err = tx.DeleteOtherSessions(ctx, w.PersonID, w.session.ID); err != nil {
			return err
		}
		return auditEverywhere(ctx, tx, w.PersonID, "person.password")
	})
	if err != nil {
		return nil, err
	}
	return &personOut{etag(p.Version), personOf(p)}, nil
}

// startOnce signs in whoever has a one-time link. A look ahead by a browser or a
// chat program does not use it up.
func (s *Server) startOnce(c echo.Context) error {
	r := c.Request()
	if lookAhead(r) {
		return c.NoContent(http.StatusNoContent)
	}
	ctx := r.Context()
	address := c.RealIP()
	if err := s.signIns.take("link " + network(address)); err != nil {
		return err
	}
	var personID string
	err := s.Store.InTx(ctx, func(tx *store.Tx) (err error) {
		personID, err = tx.UseSignInLink(ctx, access.HashSecret(c.Param("once")))
		return err
	})
	if errs.KindOf(err) == errs.NotFound {
		// The dashboard says it to people and offers the password.
		return c.Redirect(http.StatusSeeOther, "/signin?link=used")
	}
	if err != nil {
		return err
	}
	s.signIns.succeed("link " + network(address))
	cookie, _, err := s.openSession(ctx, personID, r.UserAgent(), address)
	if err != nil {
		return err
	}
	c.SetCookie(&cookie)
	return c.Redirect(http.StatusSeeOther, "/")
}

// lookAhead reports whether nobody has asked to see the page yet.
func lookAhead(r *http.Request) bool {
	for _, h := range []string{"Sec-Purpose", "Purpose", "X-Moz", "X-Purpose"} {
		if v := strings.ToLower(r.Header.Get(h)); strings.Contains(v, "prefetch") || strings.Contains(v, "preview") || strings.Contains(v, "prerender") {
			return true
		}
	}
	return false
}
