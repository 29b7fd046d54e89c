package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/infra/store"
	"github.com/dogwatch/dogwatch/internal/testkit/pgtest"
)

// house is a database with two workspaces and an admin in each.
type house struct {
	*store.Store
	t             testing.TB
	ctx           context.Context
	here, there   access.Scope
	admin, abroad store.Person
}

func newHouse(t testing.TB) *house {
	t.Helper()
	s, err := store.Open(t.Context(), pgtest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	h := &house{Store: s, t: t, ctx: t.Context()}
	h.tx(func(tx *store.Tx) error {
		a, err := tx.CreateWorkspace(h.ctx, "here", "Here", "UTC")
		if err != nil {
			return err
		}
		b, err := tx.CreateWorkspace(h.ctx, "there", "There", "UTC")
		if err != nil {
			return err
		}
		h.here, h.there = access.In(a.ID), access.In(b.ID)
		if h.admin, err = tx.CreatePerson(h.ctx, h.here, store.NewPerson{Email: "Ada@Example.org", Name: "Ada", PasswordHash: "x"}, access.Admin); err != nil {
			return err
		}
		h.abroad, err = tx.CreatePerson(h.ctx, h.there, store.NewPerson{Email: "bob@example.org", Name: "Bob", PasswordHash: "y"}, access.Admin)
		return err
	})
	return h
}

func (h *house) tx(f func(tx *store.Tx) error) {
	h.t.Helper()
	if err := h.InTx(h.ctx, f); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) exec(sql string, args ...any) {
	h.t.Helper()
	if _, err := h.Pool().Exec(h.ctx, sql, args...); err != nil {
		h.t.Fatal(err)
	}
}

func wantKind(t testing.TB, err error, kind errs.Kind, code string) {
	t.Helper()
	if err == nil || errs.KindOf(err) != kind || errs.CodeOf(err) != code {
		t.Errorf("error %v (kind %d, code %q), want kind %d, code %q", err, errs.KindOf(err), errs.CodeOf(err), kind, code)
	}
}

func secretHash(s string) []byte { return access.HashSecret(s) }

func TestAnAccountIsFoundByItsAddressInAnyCase(t *testing.T) {
	h := newHouse(t)
	p, hash, err := h.Credentials(h.ctx, " ADA@example.ORG ")
	if err != nil || p.ID != h.admin.ID || hash != "x" {
		t.Fatalf("got %v, %q, %v", p.ID, hash, err)
	}
	err = h.InTx(h.ctx, func(tx *store.Tx) error {
		_, err := tx.CreatePerson(h.ctx, h.there, store.NewPerson{Email: "ada@EXAMPLE.org", Name: "Eve", PasswordHash: "z"}, access.Viewer)
		return err
	})
	wantKind(t, err, errs.Conflict, "conflict")

	h.exec(`update people set disabled_at = now() where id = $1`, h.admin.ID)
	_, _, err = h.Credentials(h.ctx, "ada@example.org")
	wantKind(t, err, errs.NotFound, "not_found")
}

func TestAnEditOfAnOldVersionIsStale(t *testing.T) {
	h := newHouse(t)
	name, one := "Ada L.", int64(1)
	h.tx(func(tx *store.Tx) error {
		p, err := tx.EditPerson(h.ctx, h.admin.ID, &one, store.PersonPatch{Name: &name})
		if err == nil && (p.Name != name || p.Version != 2 || p.Timezone != "UTC") {
			t.Errorf("got %+v", p)
		}
		return err
	})
	err := h.InTx(h.ctx, func(tx *store.Tx) error {
		_, err := tx.EditPerson(h.ctx, h.admin.ID, &one, store.PersonPatch{Name: &name})
		return err
	})
	wantKind(t, err, errs.Stale, "stale")
}

func TestTheFirstAdminIsTheOldest(t *testing.T) {
	h := newHouse(t)
	p, ok, err := h.FirstAdmin(h.ctx)
	if err != nil || !ok || p.ID != h.admin.ID {
		t.Errorf("got %v, %v, %v", p.Name, ok, err)
	}
	h.exec(`delete from memberships`)
	if _, ok, err = h.FirstAdmin(h.ctx); ok || err != nil {
		t.Errorf("a house without admins has one: %v, %v", ok, err)
	}
}

func TestASessionLivesUntilItExpiresOrItsPersonLeaves(t *testing.T) {
	h := newHouse(t)
	open := func(secret string, ttl time.Duration) {
		h.tx(func(tx *store.Tx) error {
			return tx.CreateSession(h.ctx, h.admin.ID, secretHash(secret), "csrf", "test", "127.0.0.1", ttl)
		})
	}
	open("good", time.Hour)
	open("old", -time.Second)
	s, err := h.SessionOf(h.ctx, secretHash("good"))
	if err != nil || s.PersonID != h.admin.ID || s.CSRFToken != "csrf" {
		t.Fatalf("got %+v, %v", s, err)
	}
	for _, secret := range []string{"old", "never"} {
		_, err = h.SessionOf(h.ctx, secretHash(secret))
		wantKind(t, err, errs.NotFound, "not_found")
	}

	h.exec(`update sessions set last_seen_at = now() - interval '1 hour'`)
	if _, err := h.SessionOf(h.ctx, secretHash("good")); err != nil {
		t.Fatal(err)
	}
	if s, _ = h.SessionOf(h.ctx, secretHash("good")); time.Since(s.LastSeenAt) > time.Minute {
		t.Errorf("last seen at %v after a use", s.LastSeenAt)
	}

	open("other", time.Hour)
	h.tx(func(tx *store.Tx) error { return tx.DeleteOtherSessions(h.ctx, h.admin.ID, s.ID) })
	if _, err = h.SessionOf(h.ctx, secretHash("good")); err != nil {
		t.Errorf("the session that was kept: %v", err)
	}
	_, err = h.SessionOf(h.ctx, secretHash("other"))
	wantKind(t, err, errs.NotFound, "not_found")

	err = h.InTx(h.ctx, func(tx *store.Tx) error { return tx.DeleteSession(h.ctx, h.abroad.ID, s.ID) })
	wantKind(t, err, errs.NotFound, "not_found")

	h.exec(`update people set disabled_at = now() where id = $1`, h.admin.ID)
	_, err = h.SessionOf(h.ctx, secretHash("good"))
	wantKind(t, err, errs.NotFound, "not_found")
}

func TestASignInLinkWorksOnce(t *testing.T) {
	h := newHouse(t)
	h.tx(func(tx *store.Tx) error { return tx.CreateSignInLink(h.ctx, h.admin.ID, secretHash("once"), time.Hour) })
	h.tx(func(tx *store.Tx) error {
		return tx.CreateSignInLink(h.ctx, h.admin.ID, secretHash("late"), -time.Second)
	})

	type answer struct {
		person string
		err    error
	}
	answers := make(chan answer)
	for range 2 {
		go func() {
			var a answer
			a.err = h.InTx(h.ctx, func(tx *store.Tx) (err error) {
				a.person, err = tx.UseSignInLink(h.ctx, secretHash("once"))
				return err
			})
			answers <- a
		}()
	}
	in := 0
	for range 2 {
		if a := <-answers; a.err == nil && a.person == h.admin.ID {
			in++
		} else {
			wantKind(t, a.err, errs.NotFound, "not_found")
		}
	}
	if in != 1 {
		t.Errorf("the link signed %d in, want one", in)
	}
	err := h.InTx(h.ctx, func(tx *store.Tx) error {
		_, err := tx.UseSignInLink(h.ctx, secretHash("late"))
		return err
	})
	wantKind(t, err, errs.NotFound, "not_found")
}

func TestATokenMayDoAtMostWhatItsOwnerMay(t *testing.T) {
	h := newHouse(t)
	var tok store.Token
	h.tx(func(tx *store.Tx) (err error) {
		tok, err = tx.CreateToken(h.ctx, h.here, store.Token{
			PersonID: h.admin.ID, Name: "ci", Role: access.Operator, Scopes: []string{"tasks", "brie\"fs"}, Prefix: "dw_abc",
		}, secretHash("dw_abcdef"))
		return err
	})
	got, err := h.TokenOf(h.ctx, secretHash("dw_abcdef"))
	if err != nil || got.ID != tok.ID || got.Effective() != access.Operator || len(got.Scopes) != 2 || got.Scopes[1] != `brie"fs` {
		t.Fatalf("got %+v, %v", got, err)
	}
	h.exec(`update memberships set role = 'viewer' where person_id = $1`, h.admin.ID)
	if got, _ = h.TokenOf(h.ctx, secretHash("dw_abcdef")); got.Effective() != access.Viewer {
		t.Errorf("a viewer's token is %s", got.Effective())
	}
	h.exec(`delete from memberships where person_id = $1`, h.admin.ID)
	if got, _ = h.TokenOf(h.ctx, secretHash("dw_abcdef")); got.Effective().AtLeast(access.Viewer) {
		t.Error("the token of somebody who left may still read")
	}

	_, err = h.Token(h.ctx, h.there, tok.ID)
	wantKind(t, err, errs.NotFound, "not_found")
	err = h.InTx(h.ctx, func(tx *store.Tx) error { return tx.DeleteToken(h.ctx, h.there, tok.ID) })
	wantKind(t, err, errs.NotFound, "not_found")
	h.tx(func(tx *store.Tx) error { return tx.DeleteToken(h.ctx, h.here, tok.ID) })
	_, err = h.TokenOf(h.ctx, secretHash("dw_abcdef"))
	wantKind(t, err, errs.NotFound, "not_found")
}

func TestAnExpiredTokenIsNone(t *testing.T) {
	h := newHouse(t)
	past := time.Now().Add(-time.Minute)
	h.tx(func(tx *store.Tx) error {
		_, err := tx.CreateToken(h.ctx, h.here, store.Token{PersonID: h.admin.ID, Name: "old", Role: access.Viewer, ExpiresAt: &past}, secretHash("dw_old"))
		return err
	})
	_, err := h.TokenOf(h.ctx, secretHash("dw_old"))
	wantKind(t, err, errs.NotFound, "not_found")
}

func TestListsOfMachineryPageThroughAndStayAtHome(t *testing.T) {
	h := newHouse(t)
	for i := range 5 {
		h.tx(func(tx *store.Tx) error {
			if err := tx.Audit(h.ctx, h.here, store.AuditEntry{Actor: access.House, Action: "test", SubjectKind: "n", Detail: map[string]any{"i": i}}); err != nil {
				return err
			}
			_, err := tx.CreateToken(h.ctx, h.here, store.Token{PersonID: h.admin.ID, Name: "t", Role: access.Viewer}, secretHash(id.New()))
			return err
		})
	}
	var seen []float64
	for after, first := "", true; first || after != ""; first = false {
		page, next, err := h.AuditEntries(h.ctx, h.here, store.Page{Limit: 2, After: after})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page {
			seen = append(seen, e.Detail["i"].(float64))
		}
		after = next
	}
	if len(seen) != 5 || seen[0] != 4 || seen[4] != 0 {
		t.Errorf("paged through %v, want 4 to 0", seen)
	}
	tokens, next, err := h.Tokens(h.ctx, h.here, store.Page{Limit: 5})
	if err != nil || len(tokens) != 5 || next != "" {
		t.Errorf("%d tokens, next %q, %v", len(tokens), next, err)
	}
	if none, _, _ := h.AuditEntries(h.ctx, h.there, store.Page{}); len(none) != 0 {
		t.Error("another workspace sees the audit")
	}
	if none, _, _ := h.Tokens(h.ctx, h.there, store.Page{}); len(none) != 0 {
		t.Error("another workspace sees the tokens")
	}
}

func TestFilesAndSecretsStayAtHome(t *testing.T) {
	h := newHouse(t)
	var f store.File
	h.tx(func(tx *store.Tx) (err error) {
		f, err = tx.CreateFile(h.ctx, h.here, store.File{Name: "a.txt", MediaType: "text/plain", Size: 3, SHA256: hex64}, access.House)
		if err == nil {
			err = tx.PutSecret(h.ctx, h.here, store.Secret{Name: "key", Sealed: []byte{1}, KeyID: "k"})
		}
		if err == nil {
			err = tx.PutSecret(h.ctx, h.here, store.Secret{Name: "key", Sealed: []byte{2}, KeyID: "k"})
		}
		return err
	})
	if got, err := h.File(h.ctx, h.here, f.ID); err != nil || got.SHA256 != hex64 {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, ref := range []string{"nonsense", id.New()} {
		_, err := h.File(h.ctx, h.here, ref)
		wantKind(t, err, errs.NotFound, "not_found")
	}
	_, err := h.File(h.ctx, h.there, f.ID)
	wantKind(t, err, errs.NotFound, "not_found")

	if s, err := h.Secret(h.ctx, h.here, "key"); err != nil || len(s.Sealed) != 1 || s.Sealed[0] != 2 || s.Version != 2 {
		t.Errorf("got %+v, %v", s, err)
	}
	if list, err := h.Secrets(h.ctx, h.here); err != nil || len(list) != 1 || list[0].Sealed != nil {
		t.Errorf("a list of secrets holds what is sealed: %+v, %v", list, err)
	}
	_, err = h.Secret(h.ctx, h.there, "key")
	wantKind(t, err, errs.NotFound, "not_found")
}

const hex64 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
