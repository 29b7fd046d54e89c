package app

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/config"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/agent"
	"github.com/dogwatch/dogwatch/internal/infra/password"
	"github.com/dogwatch/dogwatch/internal/infra/store"
	"github.com/dogwatch/dogwatch/internal/testkit/pgtest"
)

func fresh(t *testing.T) (*store.Store, string, config.Config) {
	t.Helper()
	url := pgtest.New(t)
	st, err := store.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	return st, url, config.Config{Data: t.TempDir(), AdminEmail: "admin@localhost"}
}

func TestFirstStartMakesAWorkspaceWithAgentAdminAndToken(t *testing.T) {
	st, _, cfg := fresh(t)
	made, err := bootstrap(t.Context(), st, cfg)
	if err != nil || !made {
		t.Fatalf("made %v, %v", made, err)
	}
	w, _, err := st.FirstWorkspace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a, err := st.DefaultAgent(t.Context(), access.In(w.ID))
	if err != nil || a.Slug != agent.DefaultSlug {
		t.Errorf("agent %+v, %v", a, err)
	}
	path := filepath.Join(cfg.Data, config.AdminTokenFile)
	secret, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	token, err := st.TokenOf(t.Context(), access.HashSecret(strings.TrimSpace(string(secret))))
	if err != nil || token.Effective() != access.Admin || token.WorkspaceID != w.ID {
		t.Errorf("token %+v, %v", token, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if made, err := bootstrap(t.Context(), st, cfg); err != nil || made {
		t.Errorf("a second time: made %v, %v", made, err)
	}
}

func TestFirstStartTakesWhatIsConfigured(t *testing.T) {
	st, _, cfg := fresh(t)
	cfg.AdminToken, cfg.AdminPassword, cfg.AdminEmail = "chosen-by-the-operator-1", "a long sentence", "night@example.org"
	if _, err := bootstrap(t.Context(), st, cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := st.TokenOf(t.Context(), access.HashSecret(cfg.AdminToken)); err != nil {
		t.Error(err)
	}
	_, hash, err := st.Credentials(t.Context(), "night@example.org")
	if err != nil {
		t.Fatal(err)
	}
	if matches, err := password.Matches(t.Context(), hash, "a long sentence"); err != nil || !matches {
		t.Errorf("password: %v, %v", matches, err)
	}
	c, err := firstCredentials(t.Context(), st, true)
	if err != nil || c.Password != "" || c.Link == "" {
		t.Errorf("a password that is known is not printed: %+v, %v", c, err)
	}
}

// A crash between the parts of a first start loses nothing: the token's file is
// there before the token is, and the password is made when it is told.
func TestACrashInTheFirstStartLosesNothing(t *testing.T) {
	st, _, cfg := fresh(t)
	before, err := adminToken(cfg) // and then the process is killed
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bootstrap(t.Context(), st, cfg); err != nil { // and killed before it prints anything
		t.Fatal(err)
	}
	if _, err := st.TokenOf(t.Context(), access.HashSecret(before)); err != nil {
		t.Errorf("the token in the file is not the one in the database: %v", err)
	}
	c, err := firstCredentials(t.Context(), st, false)
	if err != nil || c == nil || c.Password == "" || c.Link == "" {
		t.Fatalf("the next start tells nothing: %+v, %v", c, err)
	}
	_, hash, err := st.Credentials(t.Context(), c.Email)
	if err != nil {
		t.Fatal(err)
	}
	if matches, err := password.Matches(t.Context(), hash, c.Password); err != nil || !matches {
		t.Errorf("password: %v, %v", matches, err)
	}
	if c, err := firstCredentials(t.Context(), st, false); c != nil || err != nil {
		t.Errorf("told twice: %+v, %v", c, err)
	}
}

func TestOfSeveralServersOneMakesTheFirstWorkspace(t *testing.T) {
	st, _, cfg := fresh(t)
	var wg sync.WaitGroup
	made := make(chan string, 4)
	for range cap(made) {
		c := cfg
		c.Data = t.TempDir()
		wg.Go(func() {
			did, err := bootstrap(context.Background(), st, c)
			if err != nil {
				t.Error(err)
			}
			if did {
				made <- c.Data
			} else if _, err := os.Stat(filepath.Join(c.Data, config.AdminTokenFile)); err == nil {
				t.Error("a token that is not one was left behind")
			}
		})
	}
	wg.Wait()
	if len(made) != 1 {
		t.Errorf("%d made it", len(made))
	}
}

func TestAdminCommands(t *testing.T) {
	st, url, cfg := fresh(t)
	if _, _, err := ResetAdmin(t.Context(), url); err == nil || !strings.Contains(err.Error(), "dogwatch up") {
		t.Errorf("before the first start: %v", err)
	}
	if _, err := bootstrap(t.Context(), st, cfg); err != nil {
		t.Fatal(err)
	}
	email, secret, err := ResetAdmin(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	p, hash, err := st.Credentials(t.Context(), email)
	if err != nil {
		t.Fatal(err)
	}
	if matches, err := password.Matches(t.Context(), hash, secret); err != nil || !matches {
		t.Errorf("password: %v, %v", matches, err)
	}
	link, err := AdminLink(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	once := strings.TrimPrefix(link, "/auth/start/")
	for _, want := range []string{p.ID, ""} {
		var got string
		err := st.InTx(t.Context(), func(tx *store.Tx) (err error) {
			got, err = tx.UseSignInLink(t.Context(), access.HashSecret(once))
			return err
		})
		if got != want || want == "" && errs.KindOf(err) != errs.NotFound {
			t.Errorf("link signs in %q (%v), want %q", got, err, want)
		}
	}
}

func TestSecretKeyIsMadeOnceAndPrivate(t *testing.T) {
	cfg := config.Config{Data: t.TempDir()}
	var wg sync.WaitGroup
	keys := make(chan string, 8)
	for range cap(keys) {
		wg.Go(func() {
			k, err := secretKey(cfg)
			if err != nil {
				t.Error(err)
			}
			keys <- string(k)
		})
	}
	wg.Wait()
	close(keys)
	first := <-keys
	if len(first) != 32 {
		t.Fatalf("%d bytes", len(first))
	}
	for k := range keys {
		if k != first {
			t.Fatal("two keys were made")
		}
	}
	path := filepath.Join(cfg.Data, secretKeyFile)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if left, _ := filepath.Glob(filepath.Join(cfg.Data, ".*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := os.WriteFile(path, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := secretKey(cfg); err == nil || !strings.Contains(err.Error(), "backup") {
		t.Errorf("a damaged key: %v", err)
	}
	cfg.SecretKey = []byte("configured")
	if k, err := secretKey(cfg); err != nil || string(k) != "configured" {
		t.Errorf("%q %v", k, err)
	}
}

func TestServerAndWorkerSayWhatTheyNeed(t *testing.T) {
	err := Run(t.Context(), config.Config{Data: t.TempDir()}, Worker, Streams{Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "DOGWATCH_DATABASE_URL") || !strings.Contains(err.Error(), "DOGWATCH_REDIS_URL") {
		t.Errorf("got %v", err)
	}
}

func TestAddressesAreShownWithoutPasswords(t *testing.T) {
	for address, want := range map[string]string{
		"postgres://u:hunter2@db:5432/d?password=hunter2": "postgres://u:xxxxx@db:5432/d",
		"host=db password=hunter2":                        "the configured address",
		"redis://:hunter2@cache:6379":                     "redis://:xxxxx@cache:6379",
	} {
		if got := redacted(address); got != want {
			t.Errorf("%s: got %s", address, got)
		}
	}
}
