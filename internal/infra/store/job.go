package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"

	"github.com/dogwatch/dogwatch/internal/base/killpoint"
	"github.com/dogwatch/dogwatch/internal/domain/job"
)

// Background work; docs/jobs.md is the contract and gives each statement's reason.
// The statements are written out, because what they lock and when is the product.
// Times are clock_timestamp(): now() is when the transaction began, and a lease
// counted from there could be over after a wait for a lock.

// ChannelJobs carries the queue of a job that became due, ChannelStop the
// operation that was stopped.
const (
	ChannelJobs = "jobs"
	ChannelStop = "stop"
)

// postSQL takes all posts at once. The order is every poster's, so that two of
// them never wait for each other. The row that absorbs a post is always updated:
// it stays locked until the poster commits, and nobody can run the job and close
// it before the poster's effects are visible. A row in back-off keeps its time,
// or posts would defeat the back-off.
const postSQL = `
with posted as (
  insert into jobs (workspace_id, kind, queue, key, body, run_at)
  select distinct on (kind collate "C", key collate "C")
         workspace, kind, queue, key, body, clock_timestamp() + delay * interval '1 microsecond'
    from jsonb_to_recordset($1::jsonb) as p (workspace uuid, kind text, queue text, key text, body jsonb, delay bigint)
   order by kind collate "C", key collate "C", delay
  on conflict (kind, key) where state in ('ready', 'sent', 'running') do update set
    run_at   = case when jobs.state = 'ready' and jobs.attempt = 0 then least(jobs.run_at, excluded.run_at) else jobs.run_at end,
    again_at = case when jobs.state = 'running' then least(jobs.again_at, excluded.run_at) end
  returning queue, state, run_at)
select pg_notify('` + ChannelJobs + `', queue) from posted
 where state = 'ready' and run_at <= clock_timestamp() group by queue`

// PostJobs asks for jobs. It belongs at the end of the transaction that makes
// them necessary: it locks rows that workers wait for.
func (tx *Tx) PostJobs(ctx context.Context, posts ...job.Post) error {
	if len(posts) == 0 {
		return nil
	}
	type row struct {
		Workspace *string   `json:"workspace"`
		Kind      string    `json:"kind"`
		Queue     job.Queue `json:"queue"`
		Key       string    `json:"key"`
		Body      job.IDs   `json:"body"`
		Delay     int64     `json:"delay"`
	}
	rows := make([]row, len(posts))
	for i, p := range posts {
		rows[i] = row{orNull(p.IDs.Workspace), p.Kind.Name, p.Kind.Queue, p.Key, p.IDs, p.Delay.Microseconds()}
	}
	arg, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("write down jobs: %w", err)
	}
	if _, err := tx.Conn(ctx).ExecContext(ctx, postSQL, string(arg)); err != nil {
		return fmt.Errorf("post jobs: %w", err)
	}
	return nil
}

// NotifyStop tells the worker that runs a job of the operation to cancel it, once
// the transaction is committed. A worker that does not hear it finds out when it
// renews its lease.
func (tx *Tx) NotifyStop(ctx context.Context, operation string) error {
	if _, err := tx.Conn(ctx).ExecContext(ctx, `select pg_notify('`+ChannelStop+`', $1)`, operation); err != nil {
		return fmt.Errorf("announce the stop of an operation: %w", err)
	}
	return nil
}

// relaySQL serves all queues at once. The allowance is reduced by what this worker
// sent only: what was sent by one that died before its enqueue must not hold up
// the others until it is noticed. The clock is a query of its own, because no index
// may be searched by a volatile one.
const relaySQL = `
with room as (
  select q.queue, greatest(0, q.jobs - (select count(*) from jobs s where s.state = 'sent' and s.queue = q.queue and s.worker = $3)) as n
    from unnest($1::text[], $2::int[]) as q (queue, jobs)),
oldest as (
  select j.id from room, lateral (
    select id from jobs
     where state = 'ready' and queue = room.queue and run_at <= (select clock_timestamp())
     order by run_at, id limit case when $5 then 0 else n end for update skip locked) j),
youngest as (
  select j.id from room, lateral (
    select id from jobs
     where state = 'ready' and queue = room.queue and run_at <= (select clock_timestamp())
     order by run_at desc, id desc limit case when $5 then n else 0 end for update skip locked) j),
sent as (
  update jobs set state = 'sent', delivery = delivery + 1, worker = $3,
         visible_at = clock_timestamp() + $4 * interval '1 microsecond'
    from (select id from oldest union all select id from youngest) as due where jobs.id = due.id
  returning jobs.id, jobs.delivery, jobs.queue, jobs.run_at)
select id, delivery, queue, (extract(epoch from clock_timestamp() - run_at) * 1000000000)::bigint from sent order by run_at, id`

// RelayJobs takes due jobs for a worker, the oldest first or the youngest, and marks
// them as sent. The caller enqueues them after it returned; what does not arrive within visible is looked
// for.
func (s *Store) RelayJobs(ctx context.Context, allow []job.Allowance, worker string, visible time.Duration, youngest bool) ([]job.Sent, error) {
	queues, jobs := make([]string, len(allow)), make([]int32, len(allow))
	for i, a := range allow {
		queues[i], jobs[i] = string(a.Queue), int32(a.Jobs)
	}
	return s.sent(ctx, "relay jobs", relaySQL, queues, jobs, worker, visible.Microseconds(), youngest)
}

// UnsendJob puts a job back that was sent and will not be run by this delivery.
func (s *Store) UnsendJob(ctx context.Context, j job.Sent) error {
	_, err := s.pool.Exec(ctx, `update jobs set state = 'ready', visible_at = null, worker = null
		where id = $1 and state = 'sent' and delivery = $2`, j.ID, j.Delivery)
	if err != nil {
		return fmt.Errorf("take a job back: %w", err)
	}
	return nil
}

// claimSQL lets a late delivery take the row as well as the current one: the job
// is due, and the other of the two will find nothing.
const claimSQL = `
update jobs set state = 'running', token = token + 1, worker = $2, visible_at = null,
       lease_until = clock_timestamp() + $3 * interval '1 microsecond'
 where id = $1 and state = 'sent'
returning id, token, delivery, kind, queue, key, body, attempt, losses,
          (extract(epoch from clock_timestamp() - run_at) * 1000000)::bigint`

// ClaimJob takes a job under a lease. ErrLost: there is nothing to take, the
// message was a duplicate.
func (s *Store) ClaimJob(ctx context.Context, id int64, worker string, lease time.Duration) (job.Claim, error) {
	c := job.Claim{Lease: lease}
	var late int64
	err := s.pool.QueryRow(ctx, claimSQL, id, worker, lease.Microseconds()).
		Scan(&c.ID, &c.Token, &c.Delivery, &c.Kind, &c.Queue, &c.Key, &c.IDs, &c.Attempt, &c.Losses, &late)
	c.Late = time.Duration(late) * time.Microsecond
	return c, lost("claim a job", err)
}

// RenewJob prolongs the lease, and says whether the operation of the job was
// stopped or has ended.
func (s *Store) RenewJob(ctx context.Context, c job.Claim) (stop bool, err error) {
	err = s.pool.QueryRow(ctx, `
		update jobs set lease_until = clock_timestamp() + $3 * interval '1 microsecond'
		 where id = $1 and token = $2 and state = 'running'
		returning coalesce((select o.interrupt_at is not null or o.status in ('done', 'error', 'interrupted')
		                      from operations o where o.id = $4), false)`,
		c.ID, c.Token, c.Lease.Microseconds(), orNull(c.IDs.Operation)).Scan(&stop)
	return stop, lost("renew a lease", err)
}

// HoldJob is the fence of every write in the middle of a job: it locks the row for
// the rest of the transaction, after the task and the operation. ErrLost: roll
// back and stop.
func (tx *Tx) HoldJob(ctx context.Context, c job.Claim) error {
	var one int
	err := tx.Conn(ctx).QueryRowContext(ctx,
		`select 1 from jobs where id = $1 and token = $2 and state = 'running' for update`, c.ID, c.Token).Scan(&one)
	return lost("hold a job", err)
}

// endSQL ends a run as done or dead; a post that met the running row makes the job
// ready again instead, as if it had never failed.
const endSQL = `
with ended as (
  update jobs set state = case when again_at is null then $3 else 'ready' end,
         run_at = coalesce(again_at, run_at), again_at = null, lease_until = null, worker = null,
         closed_at = case when again_at is null then clock_timestamp() end, last_error = $4,
         queue   = case when again_at is null then queue else $5 end,
         attempt = case when again_at is null then attempt else 0 end,
         losses  = case when again_at is null then losses else 0 end
   where id = $1 and token = $2 and state = 'running'
  returning state, queue, run_at)
select case when state = 'ready' and run_at <= clock_timestamp() then pg_notify('` + ChannelJobs + `', queue)::text end from ended`

func endJob(ctx context.Context, q gorm.ConnPool, c job.Claim, state string, why *string) error {
	var notified sql.NullString
	err := q.QueryRowContext(ctx, endSQL, c.ID, c.Token, state, why, string(c.Home())).Scan(&notified)
	return lost("close a job", err)
}

// CloseJob ends a job that did its work, in the transaction of its effects.
func (tx *Tx) CloseJob(ctx context.Context, c job.Claim) error {
	return endJob(ctx, tx.Conn(ctx), c, "done", nil)
}

// CloseJob ends a job that had nothing to do.
func (s *Store) CloseJob(ctx context.Context, c job.Claim) error {
	return endJob(ctx, s.db(ctx).Statement.ConnPool, c, "done", nil)
}

// BuryJob gives a job up, in the transaction that writes down what this means.
func (tx *Tx) BuryJob(ctx context.Context, c job.Claim, why string) error {
	why = errorText(why)
	return endJob(ctx, tx.Conn(ctx), c, "dead", &why)
}

// BackJob puts a job back that did not end its work. attempts is 1 for a failure
// and 0 for a hand-back. The new run covers the posts that came meanwhile.
func (s *Store) BackJob(ctx context.Context, c job.Claim, delay time.Duration, attempts int, why string) error {
	var notified sql.NullString
	err := s.pool.QueryRow(ctx, `
		with back as (
		  update jobs set state = 'ready', run_at = clock_timestamp() + $3 * interval '1 microsecond', again_at = null,
		         lease_until = null, worker = null, attempt = attempt + $4, last_error = $5
		   where id = $1 and token = $2 and state = 'running'
		  returning queue, run_at)
		select case when run_at <= clock_timestamp() then pg_notify('`+ChannelJobs+`', queue)::text end from back`,
		c.ID, c.Token, delay.Microseconds(), attempts, errorText(why)).Scan(&notified)
	return lost("put a job back", err)
}

// Finish writes the effects of a job and closes it, in one transaction. ctx may be
// cancelled: the effects have a context of their own, with the lease as its
// time-out, because nobody knows what became of a commit that was cut off. f may
// run again after a deadlock, so it keeps no state of an earlier try. ErrLost: the
// job is somebody else's now, and nothing was written.
func (s *Store) Finish(ctx context.Context, c job.Claim, f func(ctx context.Context, tx *Tx) error) error {
	if errors.Is(context.Cause(ctx), job.ErrLost) {
		return job.ErrLost
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Lease)
	defer cancel()
	err := s.InTx(ctx, func(tx *Tx) error {
		if err := f(ctx, tx); err != nil {
			return err
		}
		if err := tx.CloseJob(ctx, c); err != nil {
			return err
		}
		killpoint.Hit("before-close")
		return nil
	})
	if err == nil {
		killpoint.Hit("closed")
	}
	return err
}

// reapSQL moves a job that was lost often into the lane where it runs alone.
const reapSQL = `
with gone as (
  select id from jobs where state = 'running' and lease_until < clock_timestamp()
   order by lease_until limit 100 for update skip locked)
update jobs set state = 'ready', run_at = clock_timestamp(), again_at = null, lease_until = null, worker = null,
       losses = losses + 1, queue = case when losses + 1 >= $1 then $2 else queue end, last_error = 'the lease ran out'
  from gone where jobs.id = gone.id`

// ReapJobs puts jobs back whose lease ran out, and says how many.
func (s *Store) ReapJobs(ctx context.Context) (int, error) {
	tag, err := s.pool.Exec(ctx, reapSQL, job.SuspectAfter, string(job.Suspect))
	if err != nil {
		return 0, fmt.Errorf("reap jobs: %w", err)
	}
	return int(tag.RowsAffected()), nil
}

// OverdueJobs lists jobs that were sent and did not arrive in time.
func (s *Store) OverdueJobs(ctx context.Context) ([]job.Sent, error) {
	return s.sent(ctx, "look for overdue jobs", `
		select id, delivery, queue, 0::bigint from jobs where state = 'sent' and visible_at < clock_timestamp()
		 order by visible_at limit 100`)
}

// ExtendJob gives a job that is still on its way more time.
func (s *Store) ExtendJob(ctx context.Context, j job.Sent, visible time.Duration) error {
	_, err := s.pool.Exec(ctx, `update jobs set visible_at = clock_timestamp() + $3 * interval '1 microsecond'
		where id = $1 and state = 'sent' and delivery = $2`, j.ID, j.Delivery, visible.Microseconds())
	if err != nil {
		return fmt.Errorf("wait longer for a job: %w", err)
	}
	return nil
}

func (s *Store) sent(ctx context.Context, what, query string, args ...any) ([]job.Sent, error) {
	rows, err := s.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[job.Sent])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return list, nil
}

// Conn is the connection of the transaction, for statements that are written out:
// here, and in tests that bring tables of their own.
func (tx *Tx) Conn(ctx context.Context) gorm.ConnPool { return tx.db(ctx).Statement.ConnPool }

// lost turns "no row" into ErrLost.
func lost(what string, err error) error {
	if errors.Is(err, pgx.ErrNoRows) || errors.Is(err, sql.ErrNoRows) {
		return job.ErrLost
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// errorLength is what is kept of an error: enough for a message with its causes,
// not for a page of HTML that a proxy sent.
const errorLength = 1000

// errorText makes text from anywhere fit for a column: Postgres takes neither broken
// UTF-8 nor NUL, and a job must not hang on how its error is spelled.
func errorText(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if len(s) > errorLength {
		s = strings.ToValidUTF8(s[:errorLength], "") + "…"
	}
	return s
}
