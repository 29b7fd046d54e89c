package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/job"
)

// QueueEpoch returns the epoch that Redis should hold. It is the house's.
func (s *Store) QueueEpoch(ctx context.Context) (string, error) {
	var epoch string
	if err := s.pool.QueryRow(ctx, `select epoch from queue_epoch`).Scan(&epoch); err != nil {
		return "", fmt.Errorf("read the queue's epoch: %w", err)
	}
	return epoch, nil
}

// RenewQueueEpoch makes everything ready again that was sent through a Redis that
// has lost it, unless look finds the right epoch there: then another worker was
// faster. keep writes the new epoch to Redis before the commit: a process that
// dies in between leaves two different epochs, and the next one does it again.
//
// These calls to Redis are the only ones inside a transaction. They hold nothing
// that is not to be sent anew, and the caller bounds them.
func (s *Store) RenewQueueEpoch(ctx context.Context, next string,
	look func(ctx context.Context) (string, error), keep func(ctx context.Context, epoch string) error,
) (epoch string, renewed bool, err error) {
	err = s.InTx(ctx, func(tx *Tx) error {
		renewed = false
		if err := tx.Conn(ctx).QueryRowContext(ctx, `select epoch from queue_epoch for update`).Scan(&epoch); err != nil {
			return fmt.Errorf("lock the queue's epoch: %w", err)
		}
		have, err := look(ctx)
		if err != nil || have == epoch {
			return err
		}
		// In the order of every poster, so that neither waits for the other.
		if _, err := tx.Conn(ctx).ExecContext(ctx, `
			with sent as (select id from jobs where state = 'sent' order by kind collate "C", key collate "C" for update)
			update jobs set state = 'ready', visible_at = null, worker = null from sent where jobs.id = sent.id and state = 'sent'`); err != nil {
			return fmt.Errorf("take back what was sent: %w", err)
		}
		if _, err := tx.Conn(ctx).ExecContext(ctx, `update queue_epoch set epoch = $1`, next); err != nil {
			return fmt.Errorf("write the queue's epoch: %w", err)
		}
		epoch, renewed = next, true
		return keep(ctx, next)
	})
	return epoch, renewed, err
}

// DeleteDoneJobs deletes one batch of the jobs that were done before age, and says
// how many. Dead jobs stay until a person has looked. It works for the house.
func (s *Store) DeleteDoneJobs(ctx context.Context, age time.Duration, batch int) (int, error) {
	tag, err := s.pool.Exec(ctx, `
		delete from jobs where id in (
		  select id from jobs where state = 'done' and closed_at < clock_timestamp() - $1 * interval '1 microsecond'
		   order by closed_at limit $2 for update skip locked)`, age.Microseconds(), batch)
	if err != nil {
		return 0, fmt.Errorf("delete done jobs: %w", err)
	}
	return int(tag.RowsAffected()), nil
}

// QueueDepths counts the jobs that are not done, by queue and state. It counts the
// house's: the workers are shared by all workspaces.
func (r Reader) QueueDepths(ctx context.Context) ([]job.Depth, error) {
	var list []job.Depth
	err := r.db(ctx).Raw(`
		select queue, state, count(*) as jobs, min(run_at) as oldest from jobs
		 where state in ('ready', 'sent', 'running') group by queue, state
		union all
		select queue, state, count(*), min(run_at) from jobs
		 where state = 'dead' group by queue, state
		order by queue, state`).Scan(&list).Error
	if err != nil {
		return nil, fmt.Errorf("count jobs: %w", err)
	}
	return list, nil
}

const deadSQL = `select id, kind, key, body, attempt, losses, coalesce(last_error, ''), created_at, closed_at
	from jobs where state = 'dead' and workspace_id = $1`

// DeadJobs lists jobs that were given up, the youngest first, from below an id (0:
// from the top).
func (s *Store) DeadJobs(ctx context.Context, scope access.Scope, below int64, limit int) ([]job.Dead, error) {
	rows, err := s.pool.Query(ctx, deadSQL+` and ($2 = 0 or id < $2) order by id desc limit $3`,
		orNull(scope.Workspace()), below, limit)
	if err != nil {
		return nil, fmt.Errorf("list dead jobs: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[job.Dead])
	if err != nil {
		return nil, fmt.Errorf("list dead jobs: %w", err)
	}
	return list, nil
}

// RetryDeadJob makes a dead job ready again, as if it had never failed. Where the
// same work was posted anew since, that row does it, and this one stays as it is.
func (tx *Tx) RetryDeadJob(ctx context.Context, scope access.Scope, id int64) error {
	var kind string
	err := tx.Conn(ctx).QueryRowContext(ctx,
		`select kind from jobs where id = $1 and state = 'dead' and workspace_id = $2 for update`,
		id, orNull(scope.Workspace())).Scan(&kind)
	if err != nil {
		return found(noRows(err), "dead job", fmt.Sprint(id))
	}
	home := job.Claim{Kind: kind}.Home()
	var queue *string
	err = tx.Conn(ctx).QueryRowContext(ctx, `
		update jobs j set state = 'ready', run_at = clock_timestamp(), closed_at = null, attempt = 0, losses = 0,
		       queue = coalesce($2, queue)
		 where id = $1 and not exists (select 1 from jobs o
		         where o.kind = j.kind and o.key = j.key and o.state in ('ready', 'sent', 'running'))
		returning pg_notify('`+ChannelJobs+`', queue)::text`, id, orNull(string(home))).Scan(&queue)
	if errors.Is(err, sql.ErrNoRows) || violates(err, "jobs_open") {
		return errs.New(errs.Conflict, "conflict", "The same work is already waiting or running.")
	}
	if err != nil {
		return fmt.Errorf("retry a dead job: %w", err)
	}
	return nil
}

// HurryJob moves a job that waits for its next try to now: a person's "retry now",
// which alone may cut a back-off short. It says whether there was one.
func (tx *Tx) HurryJob(ctx context.Context, scope access.Scope, kind job.Kind, key string) (bool, error) {
	var queue *string
	err := tx.Conn(ctx).QueryRowContext(ctx, `
		update jobs set run_at = least(run_at, clock_timestamp())
		 where kind = $1 and key = $2 and workspace_id = $3 and state = 'ready'
		returning pg_notify('`+ChannelJobs+`', queue)::text`, kind.Name, key, orNull(scope.Workspace())).Scan(&queue)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("hurry a job: %w", err)
	}
	return true, nil
}

// noRows makes one of the two spellings of "no row".
func noRows(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return pgx.ErrNoRows
	}
	return err
}
