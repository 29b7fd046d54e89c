// Package pgtest gives tests a real Postgres: a fresh, migrated database for
// each test, or a whole cluster for tests that kill one.
//
// Where the databases live: on the server whose administrator's address
// DOGWATCH_TEST_POSTGRES names, else on a throw-away cluster that the test
// process starts when it first needs one and that goes with the process,
// however it ends. A migrated database is made once and copied for each test.
//
// Without Postgres programs on the machine the tests skip and say so; under
// DOGWATCH_CI=true they fail instead.
package pgtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dogwatch/dogwatch/internal/infra/embedded"
)

// Env names the address of a running server to use, with the right to create
// databases.
const Env = "DOGWATCH_TEST_POSTGRES"

// startLimit is generous because the machine may be busy with other tests.
const startLimit = 2 * time.Minute

// New returns the address of a fresh, migrated database, which is dropped when
// the test ends.
func New(t testing.TB) string {
	t.Helper()
	s, err := shared()
	if err != nil {
		unavailable(t, err)
	}
	return create(t, s, s.template)
}

// NewEmpty returns the address of a fresh database without any tables, for
// tests of the migrations themselves.
func NewEmpty(t testing.TB) string {
	t.Helper()
	s, err := shared()
	if err != nil {
		unavailable(t, err)
	}
	return create(t, s, "template0")
}

// source is a server that databases are made on.
type source struct {
	admin    string // address of its maintenance database
	template string // name of the migrated database to copy
}

// shared is the server that all tests of this process use.
var shared = sync.OnceValues(func() (source, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	if admin := os.Getenv(Env); admin != "" {
		template, err := ensureTemplate(ctx, admin)
		return source{admin, template}, err
	}
	c, err := startShared(ctx)
	if err != nil {
		return source{}, err
	}
	return source{c.URL("postgres"), templateName()}, nil
})

func create(t testing.TB, s source, template string) string {
	t.Helper()
	name := "test_" + randomHex()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	// file_copy: several times faster than going through the WAL.
	if err := execSQL(ctx, s.admin, "create database "+name+" template "+template+" strategy file_copy"); err != nil {
		t.Fatalf("pgtest: creating a database: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), startLimit)
		defer cancel()
		if err := execSQL(ctx, s.admin, "drop database if exists "+name+" with (force)"); err != nil {
			t.Logf("pgtest: dropping %s: %v", name, err)
		}
	})
	return withDatabase(s.admin, name)
}

// execSQL runs statements one by one on a connection of their own.
func execSQL(ctx context.Context, dsn string, statements ...string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// withDatabase changes the database of an address, a URL or "key=value" words.
func withDatabase(dsn, name string) string {
	if u, err := url.Parse(dsn); err == nil && strings.HasPrefix(u.Scheme, "postgres") {
		u.Path = "/" + name
		return u.String()
	}
	return dsn + " dbname=" + name // the last one counts
}

func randomHex() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// unavailable ends a test that cannot have its Postgres: a skip where there is
// none to be had, a failure for anything else and on CI.
func unavailable(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, embedded.ErrNoBinaries) && !onCI() {
		t.Skipf("pgtest: needs Postgres: %v", err)
	}
	t.Fatalf("pgtest: %v", err)
}

func onCI() bool {
	on, _ := strconv.ParseBool(os.Getenv("DOGWATCH_CI"))
	return on
}
