package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/dogwatch/dogwatch/migrations"
)

// ErrNewerSchema says that the database was migrated by a newer Dogwatch.
var ErrNewerSchema = errors.New("the database was migrated by a newer version of Dogwatch; start that version, or restore a backup")

// Migrate brings the schema up to date. Any number of processes may call it at
// once: one migrates, the others wait for it.
func Migrate(ctx context.Context, url string) error {
	return migrator(ctx, url, func(p *goose.Provider) error {
		if err := refuseNewer(ctx, p); err != nil {
			return err
		}
		_, err := p.Up(ctx)
		return err
	})
}

// SchemaVersion returns the version of the database and the one this binary knows.
func SchemaVersion(ctx context.Context, url string) (have, want int64, err error) {
	err = migrator(ctx, url, func(p *goose.Provider) error {
		have, want, err = p.GetVersions(ctx)
		return err
	})
	return have, want, err
}

func refuseNewer(ctx context.Context, p *goose.Provider) error {
	have, want, err := p.GetVersions(ctx)
	if err == nil && have > want {
		return ErrNewerSchema
	}
	return err
}

func migrator(ctx context.Context, url string, do func(*goose.Provider) error) error {
	cfg, err := pgxpool.ParseConfig(url) // knows what of the URL is for the pool
	if err != nil {
		return fmt.Errorf("read the database URL: %w", err)
	}
	db := stdlib.OpenDB(*cfg.ConnConfig)
	defer db.Close()
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return fmt.Errorf("make the migration lock: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, migrations.FS, goose.WithSessionLocker(locker))
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	if err := do(p); err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	return nil
}
