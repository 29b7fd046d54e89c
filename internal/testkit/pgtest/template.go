package pgtest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io/fs"
	"sync"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // registers "pgx" with database/sql
	"github.com/pressly/goose/v3"

	"github.com/dogwatch/dogwatch/migrations"
)

// migrate brings the schema into an empty database. It uses goose itself, not
// the store's Migrate, so that the store's own tests can use this package.
func migrate(ctx context.Context, dsn string) error {
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	p, err := goose.NewProvider(goose.DialectPostgres, db, migrations.FS)
	if err != nil {
		return fmt.Errorf("reading the migrations: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrating the template: %w", err)
	}
	return nil
}

// templateName carries a digest of the migrations: a changed schema gets a new
// template, an unchanged one is found again by other processes.
var templateName = sync.OnceValue(func() string { return "dogwatch_template_" + schemaDigest() })

var schemaDigest = sync.OnceValue(func() string {
	h := sha256.New()
	err := fs.WalkDir(migrations.FS, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(migrations.FS, path)
		fmt.Fprintf(h, "%s %d\n%s", path, len(b), b)
		return err
	})
	if err != nil {
		panic(err) // an embedded file that cannot be read
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
})

// templateLock is the advisory lock under which processes agree on who makes
// the template; the number has no meaning.
const templateLock = 7046029254386353131

// ensureTemplate makes the migrated database on a server unless it is there.
// It appears under its name only when it is complete.
func ensureTemplate(ctx context.Context, admin string) (string, error) {
	name := templateName()
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		return "", fmt.Errorf("connecting to the test server: %w", err)
	}
	defer conn.Close(ctx) // gives the lock back, too
	if _, err := conn.Exec(ctx, "select pg_advisory_lock($1)", int64(templateLock)); err != nil {
		return "", err
	}
	var there bool
	if err := conn.QueryRow(ctx, "select exists (select from pg_database where datname = $1)", name).Scan(&there); err != nil {
		return "", err
	}
	if there {
		return name, nil
	}
	making := name + "_making"
	for _, sql := range []string{"drop database if exists " + making + " with (force)", "create database " + making} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return "", err
		}
	}
	if err := migrate(ctx, withDatabase(admin, making)); err != nil {
		return "", err
	}
	if _, err := conn.Exec(ctx, "alter database "+making+" rename to "+name); err != nil {
		return "", err
	}
	return name, nil
}
