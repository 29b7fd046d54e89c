package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dogwatch/dogwatch/internal/config"
	"github.com/dogwatch/dogwatch/internal/infra/embedded"
	"github.com/dogwatch/dogwatch/internal/infra/queue"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// Names below the data directory, besides those that config names.
const (
	postgresDir  = "postgres"
	databaseFile = "database" // address of the embedded database, for commands on this host
)

const (
	// dialLimit is how long a dependency that somebody else runs may take to answer.
	dialLimit = 10 * time.Second
	// stopLimit is how long embedded services have to end in order.
	stopLimit = 15 * time.Second
)

// dependencies are what everything stands on.
type dependencies struct {
	databaseURL, redisURL string
	postgres              *embedded.Postgres // nil for one that somebody else runs
	queue                 *embedded.Queue    // nil for one that somebody else runs
}

// start brings up what is not configured, Postgres and queue side by side.
func start(ctx context.Context, cfg config.Config, log *slog.Logger) (_ *dependencies, err error) {
	d := &dependencies{databaseURL: cfg.DatabaseURL, redisURL: cfg.RedisURL}
	defer func() {
		if err != nil {
			d.stop(log)
		}
	}()
	g, gctx := errgroup.WithContext(ctx)
	if d.databaseURL == "" {
		g.Go(func() (err error) {
			if d.postgres, err = embedded.StartPostgres(gctx, filepath.Join(cfg.Data, postgresDir), log); err != nil {
				return err
			}
			d.databaseURL = d.postgres.URL()
			return writePrivate(filepath.Join(cfg.Data, databaseFile), d.databaseURL+"\n")
		})
	}
	if d.redisURL == "" {
		g.Go(func() (err error) {
			if d.queue, err = embedded.StartQueue(log); err != nil {
				return err
			}
			d.redisURL = d.queue.URL()
			return nil
		})
	}
	return d, g.Wait()
}

// stop ends what was started, the other way round.
func (d *dependencies) stop(log *slog.Logger) {
	if d.queue != nil {
		d.queue.Close()
	}
	if d.postgres != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
		defer cancel()
		if err := d.postgres.Stop(ctx); err != nil {
			log.Error("stopping the embedded Postgres", "err", err)
		}
	}
}

// done is closed when an embedded service has ended for good; nil, which waits
// for ever, without one.
func (d *dependencies) done() <-chan struct{} {
	if d.postgres == nil {
		return nil
	}
	return d.postgres.Done()
}

// unreachable words the failure of a dependency. An address is shown without its
// password.
func unreachable(dependency, address, try string, err error) error {
	return &embedded.StartError{Dependency: dependency, Problem: fmt.Sprintf("%s: %v", redacted(address), err), Try: try, Err: err}
}

func redacted(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" {
		return "the configured address"
	}
	u.RawQuery = "" // may hold a password too
	return u.Redacted()
}

func openStore(ctx context.Context, url string) (*store.Store, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	st, err := store.Open(ctx, url)
	if err != nil {
		return nil, unreachable("postgres", url, "starting it, letting this host in, or unsetting DOGWATCH_DATABASE_URL for the embedded one", err)
	}
	return st, nil
}

func openRedis(ctx context.Context, url string) (*queue.Redis, error) {
	r, err := queue.Dial(url)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	if err := r.Ping(ctx); err != nil {
		_ = r.Close()
		return nil, unreachable("redis", url, "starting it, letting this host in, or unsetting DOGWATCH_REDIS_URL for the queue in this process", err)
	}
	return r, nil
}

// migrate brings the schema up to date, or waits until somebody else has, or
// says that it is not.
func migrate(ctx context.Context, cfg config.Config, role Role, url string, log *slog.Logger) error {
	if role != Worker && cfg.Migrate {
		began := time.Now()
		if err := store.Migrate(ctx, url); err != nil {
			return err
		}
		log.Debug("the schema is up to date", "took", time.Since(began).Round(time.Millisecond))
		return nil
	}
	for told := false; ; told = true {
		have, want, err := store.SchemaVersion(ctx, url)
		switch {
		case err != nil:
			return err
		case have > want:
			return store.ErrNewerSchema
		case have == want:
			return nil
		case role != Worker:
			return fmt.Errorf("the schema is at version %d and this program needs %d; try: dogwatch migrate up, or DOGWATCH_MIGRATE=on", have, want)
		case !told:
			log.Info("waiting for the schema to be brought up to date", "have", have, "want", want)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
}

// WithDatabase calls f with the address of the database, for commands that work
// on it beside the API: the configured one, that of the instance that runs on
// the data directory, or the embedded one that is there, started for as long as
// f takes.
func WithDatabase(ctx context.Context, cfg config.Config, log *slog.Logger, f func(ctx context.Context, url string) error) error {
	if cfg.DatabaseURL != "" {
		return f(ctx, cfg.DatabaseURL)
	}
	dir := filepath.Join(cfg.Data, postgresDir)
	if !embedded.HasPostgres(dir) { // a wrong --data is more likely than the wish for an empty database in it
		return &embedded.StartError{Dependency: "postgres", Problem: "there is no database of an instance in " + cfg.Data,
			Try: "--data or DOGWATCH_DATA for another directory, or `dogwatch up`, which makes one"}
	}
	release, err := embedded.LockDir(cfg.Data)
	var occupied *embedded.InUseError
	if errors.As(err, &occupied) {
		b, rerr := os.ReadFile(filepath.Join(cfg.Data, databaseFile))
		if rerr != nil {
			return err
		}
		return f(ctx, strings.TrimSpace(string(b)))
	}
	if err != nil {
		return err
	}
	defer func() { _ = release() }()
	pg, err := embedded.StartPostgres(ctx, dir, log)
	if err != nil {
		return err
	}
	defer (&dependencies{postgres: pg}).stop(log)
	return f(ctx, pg.URL())
}
