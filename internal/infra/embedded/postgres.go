//go:build !windows

package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// databaseName is the one database that Dogwatch keeps its facts in.
const databaseName = "dogwatch"

const (
	// A server that was killed (out of memory, most likely) is started again at
	// once. One that ends or fails to start maxFailures times, never staying up
	// for steadyAfter, is given up within a few seconds, so that a full disk is
	// reported and not fought.
	maxFailures  = 5
	steadyAfter  = time.Minute
	restartPause = 50 * time.Millisecond // doubles with each failure
	// restartLimit bounds one restart including recovery.
	restartLimit = 5 * time.Minute
	// trimInterval is how often the server's log is looked at for its size.
	trimInterval = time.Hour
)

// Postgres is the running embedded database. Its server is brought back when
// it dies; the address stays the same, so connection pools just reconnect.
type Postgres struct {
	cluster *Cluster
	log     *slog.Logger
	stop    context.CancelFunc // asks the keeper to end
	done    chan struct{}      // closed when the keeper has ended
	err     error              // why, valid after done

	stopOnce sync.Once
	stopErr  error
}

// StartPostgres brings up the embedded Postgres kept in dir, creating it at the
// first start, and returns when its database answers.
func StartPostgres(ctx context.Context, dir string, log *slog.Logger) (*Postgres, error) {
	return startPostgres(ctx, ClusterConfig{Dir: dir, Log: log})
}

func startPostgres(ctx context.Context, cfg ClusterConfig) (*Postgres, error) {
	began := time.Now()
	c, err := OpenCluster(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := c.Start(ctx); err != nil {
		c.Kill()
		return nil, errors.Join(err, c.Close())
	}
	if err := c.ensureDatabase(ctx, databaseName); err != nil {
		c.Kill()
		return nil, errors.Join(err, c.Close())
	}
	keeperCtx, stop := context.WithCancel(context.Background())
	p := &Postgres{cluster: c, log: cfg.Log, stop: stop, done: make(chan struct{})}
	go p.keep(keeperCtx)
	cfg.Log.Info("embedded Postgres is up", "version", c.Version(), "dir", c.cfg.Dir,
		"took", time.Since(began).Round(time.Millisecond))
	return p, nil
}

// URL is the address of the database, for pgx. It holds over restarts.
func (p *Postgres) URL() string { return p.cluster.URL(databaseName) }

// Done is closed when the database has ended for good: after Stop, or when it
// could not be kept running. Err then says which.
func (p *Postgres) Done() <-chan struct{} { return p.done }

// Err is nil while the database is kept running and after Stop.
func (p *Postgres) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// Stop ends the server in order and gives the directory free. When ctx ends
// first the server is stopped hard, which costs the next start a recovery.
func (p *Postgres) Stop(ctx context.Context) error {
	p.stopOnce.Do(func() {
		p.stop()
		<-p.done
		p.stopErr = errors.Join(p.cluster.Stop(ctx), p.cluster.Close())
	})
	return p.stopErr
}

// keep restarts the server whenever it ends without being asked to.
func (p *Postgres) keep(ctx context.Context) {
	defer close(p.done)
	trim := time.NewTicker(trimInterval)
	defer trim.Stop()
	failures := 0
	for up := time.Now(); ; up = time.Now() {
		for ended := false; !ended; {
			select {
			case <-ctx.Done():
				return
			case <-trim.C:
				trimLog(p.cluster.server.logPath)
			case <-p.cluster.Exited():
				ended = true
			}
		}
		if ctx.Err() != nil {
			return
		}
		p.log.Error("embedded Postgres ended unexpectedly", "state", p.cluster.server.cmd.ProcessState.String())
		if time.Since(up) > steadyAfter {
			failures = 0
		}
		failures++
		if p.err = p.bringBack(ctx, &failures); p.err != nil || ctx.Err() != nil {
			return
		}
		p.log.Info("embedded Postgres is up again")
	}
}

// bringBack starts the server again, at once the first time, then ever more
// slowly, counting on from the failures there were before.
func (p *Postgres) bringBack(ctx context.Context, failures *int) error {
	err := fmt.Errorf("%w again and again", ErrExited)
	for ; *failures <= maxFailures; *failures++ {
		if wait := (restartPause << *failures) - 2*restartPause; wait > 0 {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return nil
			}
		}
		startCtx, cancel := context.WithTimeout(ctx, restartLimit)
		err = p.cluster.Start(startCtx)
		cancel()
		if err == nil || ctx.Err() != nil {
			return nil //nolint:nilerr // whoever stops it does not ask how the last try went
		}
		p.log.Error("embedded Postgres did not come back", "failures", *failures, "err", err)
	}
	return &StartError{Dependency: "postgres", Problem: fmt.Sprintf("the server ended and did not come back: %v", err),
		Try: "free space, memory and the log in " + p.cluster.server.logPath, Err: err}
}

// ensureDatabase creates a database unless it exists.
func (c *Cluster) ensureDatabase(ctx context.Context, name string) error {
	conn, err := pgx.Connect(ctx, c.URL(name))
	if err == nil {
		return conn.Close(ctx)
	}
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || pgErr.Code != "3D000" { // invalid_catalog_name
		return fmt.Errorf("connecting to the embedded database: %w", err)
	}
	if conn, err = pgx.Connect(ctx, c.URL("postgres")); err != nil {
		return fmt.Errorf("connecting to the embedded Postgres: %w", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "create database "+name+" strategy file_copy"); err != nil {
		return fmt.Errorf("creating the database: %w", err)
	}
	return nil
}
