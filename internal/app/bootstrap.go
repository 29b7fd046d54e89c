package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/config"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/agent"
	"github.com/dogwatch/dogwatch/internal/infra/password"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

const (
	workspaceSlug = "home"
	workspaceName = "Home"
	adminName     = "Admin"

	// unset is the hash of a password that nobody was told yet: it matches nothing.
	// The password is made when it is printed, so that a crash before that loses none.
	unset = "!"

	// linkLasts is long enough to come back from lunch, and short enough that a
	// line in an old log is worth nothing.
	linkLasts = time.Hour
)

// bootstrap makes the first workspace with its agent, its admin and their token,
// unless there is one. It reports whether it did.
func bootstrap(ctx context.Context, st *store.Store, cfg config.Config) (bool, error) {
	if _, there, err := st.FirstWorkspace(ctx); err != nil || there {
		return false, err
	}
	token, err := adminToken(cfg)
	if err != nil {
		return false, err
	}
	hash := unset
	if cfg.AdminPassword != "" {
		if hash, err = password.Hash(ctx, cfg.AdminPassword); err != nil {
			return false, err
		}
	}
	err = st.InTx(ctx, func(tx *store.Tx) error {
		w, err := tx.CreateWorkspace(ctx, workspaceSlug, workspaceName, "UTC")
		if err != nil {
			return err
		}
		sc := access.In(w.ID)
		p, err := tx.CreatePerson(ctx, sc, store.NewPerson{Email: cfg.AdminEmail, Name: adminName, PasswordHash: hash}, access.Admin)
		if err != nil {
			return err
		}
		if _, err := tx.CreateToken(ctx, sc, store.Token{
			PersonID: p.ID, Name: "admin-token of the first start", Role: access.Admin, Prefix: access.Shown(token),
		}, access.HashSecret(token)); err != nil {
			return err
		}
		_, err = tx.CreateAgent(ctx, sc, agent.Agent{
			Slug: agent.DefaultSlug, Name: "Watchkeeper", Description: "Works on every task that names no other agent.",
			Default: true, Origin: "built_in", Profile: agent.DefaultProfile,
		}, access.House)
		return err
	})
	if err != nil {
		// Another process may have been faster. Its token is in its data directory,
		// which may be ours as well.
		if _, there, rerr := st.FirstWorkspace(ctx); rerr == nil && there {
			if _, terr := st.TokenOf(ctx, access.HashSecret(token)); errs.KindOf(terr) == errs.Unauthorized || errs.KindOf(terr) == errs.NotFound {
				return false, os.Remove(filepath.Join(cfg.Data, config.AdminTokenFile))
			}
			return false, nil
		}
		return false, fmt.Errorf("make the first workspace: %w", err)
	}
	return true, nil
}

// adminToken returns the token that the first admin gets. It is in its file
// before it is in the database, so that a crash in between leaves no token that
// nobody knows; the next start takes it from there.
func adminToken(cfg config.Config) (string, error) {
	path := filepath.Join(cfg.Data, config.AdminTokenFile)
	token := cfg.AdminToken
	if token == "" {
		b, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("read the admin token: %w", err)
		}
		if token = strings.TrimSpace(string(b)); strings.HasPrefix(token, access.TokenPrefix) && len(token) >= 24 {
			return token, nil
		}
		token = access.TokenPrefix + id.Secret(32)
	}
	if err := writePrivate(path, token+"\n"); err != nil {
		return "", fmt.Errorf("write the admin token: %w", err)
	}
	return token, nil
}

// newPassword is easy to copy by hand and has 100 bits.
func newPassword() string {
	t := strings.ToLower(rand.Text())
	return t[:5] + "-" + t[5:10] + "-" + t[10:15] + "-" + t[15:20]
}

// credentials is how the first admin gets in.
type credentials struct {
	Email    string
	Password string // "" when it is the configured one
	Link     string // path of the one-time sign-in link
}

// firstCredentials makes the admin's password, unless somebody was told one, and
// a sign-in link. made says whether this process made the workspace. Without
// anything to tell it returns nil.
func firstCredentials(ctx context.Context, st *store.Store, made bool) (*credentials, error) {
	admin, there, err := st.FirstAdmin(ctx)
	if err != nil || !there {
		return nil, err
	}
	hash, err := st.PasswordHash(ctx, admin.ID)
	if err != nil || hash != unset && !made {
		return nil, err
	}
	c := &credentials{Email: admin.Email}
	if hash == unset {
		c.Password = newPassword()
		if err := setPassword(ctx, st, admin, c.Password, &admin.Version); errs.KindOf(err) == errs.Stale {
			return nil, nil // another process tells them
		} else if err != nil {
			return nil, err
		}
	}
	c.Link, err = signInLink(ctx, st, admin)
	return c, err
}

func setPassword(ctx context.Context, st *store.Store, p store.Person, secret string, version *int64) error {
	hash, err := password.Hash(ctx, secret)
	if err != nil {
		return err
	}
	return st.InTx(ctx, func(tx *store.Tx) error {
		_, err := tx.EditPerson(ctx, p.ID, version, store.PersonPatch{PasswordHash: &hash})
		return err
	})
}

// signInLink makes a link that signs a person in once.
func signInLink(ctx context.Context, st *store.Store, p store.Person) (path string, err error) {
	secret := id.Secret(24)
	err = st.InTx(ctx, func(tx *store.Tx) error {
		return tx.CreateSignInLink(ctx, p.ID, access.HashSecret(secret), linkLasts)
	})
	return "/auth/start/" + secret, err
}

// errNoAdmin: the host's commands came before the first start.
var errNoAdmin = errors.New("there is no admin yet; try: dogwatch up")

// ResetAdmin gives the first admin a new password, which ends their sessions,
// and returns it with their e-mail address.
func ResetAdmin(ctx context.Context, databaseURL string) (email, secret string, err error) {
	st, err := openStore(ctx, databaseURL)
	if err != nil {
		return "", "", err
	}
	defer st.Close()
	p, there, err := st.FirstAdmin(ctx)
	if err != nil || !there {
		return "", "", errors.Join(err, errNoAdmin)
	}
	secret = newPassword()
	if err := setPassword(ctx, st, p, secret, nil); err != nil {
		return "", "", err
	}
	err = st.InTx(ctx, func(tx *store.Tx) error { return tx.DeleteOtherSessions(ctx, p.ID, "") })
	return p.Email, secret, err
}

// AdminLink makes a one-time sign-in link for the first admin and returns its path.
func AdminLink(ctx context.Context, databaseURL string) (path string, err error) {
	st, err := openStore(ctx, databaseURL)
	if err != nil {
		return "", err
	}
	defer st.Close()
	p, there, err := st.FirstAdmin(ctx)
	if err != nil || !there {
		return "", errors.Join(err, errNoAdmin)
	}
	return signInLink(ctx, st, p)
}
