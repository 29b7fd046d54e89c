// Package store keeps the facts in Postgres, which alone is the truth.
//
// Reads hang on [Reader], which both [Store] and [Tx] are; writes hang on [Tx]
// alone. Every function takes the scope that its caller may see, except the few
// that work for the house as a whole, which say so. The clock is the database's.
package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/topic"
)

// Reader reads: from the pool, or inside a transaction.
type Reader struct{ gorm *gorm.DB }

func (r Reader) db(ctx context.Context) *gorm.DB { return r.gorm.WithContext(ctx) }

// Store is the database.
type Store struct {
	Reader
	pool    *pgxpool.Pool
	onTicks func(state topic.TickState, reason string, n int)
}

// OnTicks lets f hear of the states that ticks were committed in, with their reason
// and how many planned times it holds for. It is set once, before anything runs.
func (s *Store) OnTicks(f func(state topic.TickState, reason string, n int)) { s.onTicks = f }

// Tx is a transaction. Locks are taken in this order: workspace graph, task,
// operation, job, then budget and slot rows by key; never two tasks in one.
type Tx struct {
	Reader
	now       time.Time
	store     *Store
	effective bool // the request that it belongs to has taken effect
	events    []emitted
	after     []func()
}

// AfterCommit lets f run once the transaction is committed, for what counts events.
// It is lost when the process dies in between.
func (tx *Tx) AfterCommit(f func()) { tx.after = append(tx.after, f) }

// minVersion is Postgres 15: `security_invoker`, `nulls not distinct` and `on
// delete set null (column)` are from there, and the tests run on nothing older.
const minVersion = 150000

// maxConns is how many connections a process holds at most, unless the URL names
// pool_max_conns: a step holds one for milliseconds between minutes with a model,
// so this many serve all slots, and six processes fit a Postgres of a hundred.
const maxConns = 16

// Open connects to the database at url. It does not migrate.
func Open(ctx context.Context, url string) (*Store, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("read the database URL: %w", err)
	}
	if cfg.ConnConfig.RuntimeParams["application_name"] == "" {
		cfg.ConnConfig.RuntimeParams["application_name"] = "dogwatch"
	}
	// Times come back in UTC whatever the host's zone is.
	cfg.ConnConfig.RuntimeParams["timezone"] = "UTC"
	// A process that stands still inside a transaction holds what it locked. Nobody
	// else waits for longer than for its lease: nothing of ours is idle for so long.
	if cfg.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] == "" {
		cfg.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = "15s"
	}
	if !strings.Contains(url, "pool_max_conns") {
		cfg.MaxConns = maxConns
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	var version int
	if err := pool.QueryRow(ctx, `select current_setting('server_version_num')::int`).Scan(&version); err != nil {
		pool.Close()
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	if version < minVersion {
		pool.Close()
		return nil, fmt.Errorf("the database is Postgres %d; Dogwatch needs 15 or newer", version/10000)
	}
	db, err := gorm.Open(postgres.New(postgres.Config{Conn: stdlib.OpenDBFromPool(pool)}), &gorm.Config{
		SkipDefaultTransaction: true,           // a statement is atomic by itself
		Logger:                 logger.Discard, // errors are returned, and logged once by who handles them
		NowFunc:                func() time.Time { return time.Now().UTC() },
	})
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return &Store{Reader: Reader{db}, pool: pool}, nil
}

// Close gives the connections back.
func (s *Store) Close() { s.pool.Close() }

// Pool returns the connections themselves, for what gorm does not do: LISTEN.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Ping says whether the database answers.
func (s *Store) Ping(ctx context.Context) error { return s.pool.Ping(ctx) }

// txTries is how often a transaction that lost a deadlock is run: then the error
// is the caller's.
const txTries = 3

// InTx runs f in a transaction, read committed. After a deadlock or a
// serialization failure f runs again, so it may keep no state of an earlier try.
func (s *Store) InTx(ctx context.Context, f func(tx *Tx) error) error {
	for try := 1; ; try++ {
		var after []func()
		err := s.db(ctx).Transaction(func(db *gorm.DB) error {
			tx := &Tx{Reader: Reader{db}, store: s}
			err := f(tx)
			if err == nil {
				err = tx.writeEvents(ctx)
			}
			after = tx.after
			return err
		})
		if err == nil {
			for _, f := range after {
				f()
			}
		}
		if try == txTries || !hasCode(err, "40P01", "40001") {
			return wire(err)
		}
	}
}

// wireError is an error of the network inside a transaction.
type wireError struct{ error }

func (e wireError) Unwrap() error { return e.error }

// wire marks an error of the network as the database's. Only a transaction can
// tell: nothing else is spoken to inside one.
func wire(err error) error {
	for _, known := range []error{io.EOF, io.ErrUnexpectedEOF, driver.ErrBadConn, sql.ErrConnDone} {
		if errors.Is(err, known) {
			return wireError{err}
		}
	}
	if ne := net.Error(nil); errors.As(err, &ne) {
		return wireError{err}
	}
	return err
}

// Now returns the database's clock, read once per transaction: at the first call,
// which belongs after the locks.
func (tx *Tx) Now(ctx context.Context) (time.Time, error) {
	if tx.now.IsZero() {
		now, err := tx.Clock(ctx)
		if err != nil {
			return time.Time{}, err
		}
		tx.now = now
	}
	return tx.now, nil
}

// Clock reads the database's clock.
func (r Reader) Clock(ctx context.Context) (time.Time, error) {
	var now time.Time
	if err := r.db(ctx).Raw(`select clock_timestamp()`).Row().Scan(&now); err != nil {
		return time.Time{}, fmt.Errorf("read the clock: %w", err)
	}
	return now.UTC(), nil
}

func hasCode(err error, codes ...string) bool {
	var pe *pgconn.PgError
	if !errors.As(err, &pe) {
		return false
	}
	for _, c := range codes {
		if pe.Code == c {
			return true
		}
	}
	return false
}

// violates reports whether err is the violation of the constraint of that name.
func violates(err error, constraint string) bool {
	var pe *pgconn.PgError
	return errors.As(err, &pe) && pe.ConstraintName == constraint
}

// Transient reports whether err is the database's or the wire's, so that it is
// not known whether a commit happened: nothing may be concluded from it.
func Transient(err error) bool {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		switch pe.Code[:2] {
		case "08", "57", "40", "53", "58": // connection, operator intervention, rollback, resources, the disk
			return true
		}
		return false
	}
	var ce *pgconn.ConnectError
	return errors.As(err, &wireError{}) || errors.As(err, &ce) || pgconn.SafeToRetry(err) || pgconn.Timeout(err) || errors.Is(err, pgx.ErrTxClosed)
}

// found turns "no row" into a NotFound that names what was looked for.
func found(err error, noun, ref string) error {
	if errors.Is(err, gorm.ErrRecordNotFound) || errors.Is(err, pgx.ErrNoRows) {
		return errs.Missing(noun, ref)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", noun, err)
	}
	return nil
}
