package worker_test

import (
	"context"
	dbsql "database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/base/killpoint"
	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/entry/worker"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// A miniature of the real flows, over the real jobs: tasks whose ticks start an
// operation of some steps with a paid call in each, which is settled and followed
// by the next tick; people who poke tasks and stop operations. Small enough that
// the judge can tell from the rows whether anything was lost or done twice.
//
// The locks are the real ones: task, operation, job.
const miniatureSchema = `
create table mini_tasks (
  id int primary key, every interval not null, until timestamptz not null,
  requested int not null default 0, seen int not null default 0);
create table mini_ticks (
  task int not null references mini_tasks, n int not null, ran int not null default 0, settled int not null default 0, settled_at timestamptz,
  primary key (task, n));
create table mini_operations (
  id uuid primary key, task int not null, tick int not null, steps int not null, done int not null default 0,
  status text not null default 'running', unique (task, tick));
create unique index mini_one_open on mini_operations (task) where status = 'running';
create table mini_steps (
  operation uuid not null, seq int not null, job bigint not null, token int not null,
  at timestamptz not null default clock_timestamp(), primary key (operation, seq));
create table mini_calls (operation uuid primary key, state text not null);`

// poke is a job that must see every request that came before its post. It borrows
// a kind, because rows hold no others.
var poke = job.Reconcile

// miniature is what a process of the test knows.
type miniature struct {
	store *store.Store
	log   *witness
	slow  time.Duration // a model call may take so much longer
}

func (m *miniature) handle(w *worker.Worker) {
	step := job.Step
	step.MaxAttempts = 4
	w.Handle(job.Tick, worker.Handler{Run: m.tick})
	w.Handle(step, worker.Handler{Run: m.step, Ending: m.endStep})
	w.Handle(job.Settle, worker.Handler{Run: m.settle})
	w.Handle(poke, worker.Handler{Run: m.poke})
}

// sql is a transaction with fewer words.
type sql struct{ *store.Tx }

func (q sql) one(ctx context.Context, query string, args []any, dst ...any) error {
	return q.Conn(ctx).QueryRowContext(ctx, query, args...).Scan(dst...)
}

func (q sql) exec(ctx context.Context, query string, args ...any) error {
	_, err := q.Conn(ctx).ExecContext(ctx, query, args...)
	return err
}

func none(err error) bool { return errors.Is(err, dbsql.ErrNoRows) }

func args(a ...any) []any { return a }

func (m *miniature) finish(ctx context.Context, c job.Claim, f func(ctx context.Context, q sql) error) error {
	return m.store.Finish(ctx, c, func(ctx context.Context, tx *store.Tx) error { return f(ctx, sql{tx}) })
}

func tickPost(task, n int, in time.Duration) job.Post {
	return job.Post{Kind: job.Tick, Key: fmt.Sprintf("%d/%d", task, n), IDs: job.IDs{Task: strconv.Itoa(task), Tick: strconv.Itoa(n)}, Delay: in}
}

// arm writes the next tick of a task, unless its time is up. The task is locked.
func (q sql) arm(ctx context.Context, task, n int) error {
	var wait float64
	err := q.one(ctx, `insert into mini_ticks (task, n) select id, $2 from mini_tasks where id = $1 and clock_timestamp() + every < until
		returning (select extract(epoch from every)::float8 from mini_tasks where id = $1)`, args(task, n), &wait)
	if none(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return q.PostJobs(ctx, tickPost(task, n, time.Duration(wait*float64(time.Second))))
}

func (m *miniature) tick(ctx context.Context, c job.Claim) error {
	task, n := num(c.IDs.Task), num(c.IDs.Tick)
	return m.finish(ctx, c, func(ctx context.Context, q sql) error {
		if err := q.exec(ctx, `select 1 from mini_tasks where id = $1 for update`, task); err != nil {
			return err
		}
		var ran int
		if err := q.one(ctx, `select ran from mini_ticks where task = $1 and n = $2`, args(task, n), &ran); err != nil || ran > 0 {
			return err
		}
		op := id.New()
		if err := q.exec(ctx, `update mini_ticks set ran = ran + 1 where task = $1 and n = $2`, task, n); err != nil {
			return err
		}
		if err := q.exec(ctx, `insert into mini_operations (id, task, tick, steps) values ($1, $2, $3, $4)`, op, task, n, 2+rand.IntN(2)); err != nil {
			return err
		}
		return q.PostJobs(ctx, job.Post{Kind: job.Step, Key: op, IDs: job.IDs{Task: c.IDs.Task, Tick: c.IDs.Tick, Operation: op}})
	})
}

func (m *miniature) step(ctx context.Context, c job.Claim) (err error) {
	defer func() {
		if err != nil {
			m.log.add("excuse", c.ID, c.Token, err)
		}
	}()
	op := c.IDs.Operation
	var status string
	var seq, steps int
	if err := m.store.Pool().QueryRow(ctx, `select status, done + 1, steps from mini_operations where id = $1`, op).Scan(&status, &seq, &steps); err != nil {
		return err
	}
	if status == "running" && seq == 2 {
		if err := m.call(ctx, c); err != nil {
			return err
		}
	}
	if status == "running" && ctx.Err() == nil { // not for a stopped one: a model call costs money
		m.log.add("model", op, seq, c.ID, c.Token)
		think := 20*time.Millisecond + rand.N(60*time.Millisecond)
		if rand.IntN(6) == 0 {
			think += rand.N(m.slow)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(think):
		}
		killpoint.Hit("mid-step")
		switch rand.IntN(40) {
		case 0:
			return job.RetryAfter(errors.New("overloaded"), 100*time.Millisecond)
		case 1:
			return job.Permanent(errors.New("refused"))
		}
	}
	return m.finish(ctx, c, func(ctx context.Context, q sql) error {
		if err := q.exec(ctx, `select 1 from mini_tasks where id = $1 for update`, num(c.IDs.Task)); err != nil {
			return err
		}
		var now int
		if err := q.one(ctx, `select status, done + 1 from mini_operations where id = $1 for update`, args(op), &status, &now); err != nil {
			return err
		}
		if status != "running" || now != seq {
			m.log.add("excuse", c.ID, c.Token, "stopped meanwhile") // paid, and not written
			return nil
		}
		if err := q.exec(ctx, `insert into mini_steps (operation, seq, job, token) values ($1, $2, $3, $4)`, op, seq, c.ID, c.Token); err != nil {
			return err
		}
		if err := q.exec(ctx, `update mini_operations set done = done + 1, status = case when done + 1 = steps then 'done' else status end where id = $1`, op); err != nil {
			return err
		}
		if seq < steps { // meets its own running row, which runs again
			return q.PostJobs(ctx, job.Post{Kind: job.Step, Key: op, IDs: c.IDs})
		}
		return q.PostJobs(ctx, job.Post{Kind: job.Settle, Key: op, IDs: c.IDs})
	})
}

// call makes a call that must not be made twice: it is written down as started
// before and as finished after, and one found started has an unknown outcome.
func (m *miniature) call(ctx context.Context, c job.Claim) error {
	op, state, first := c.IDs.Operation, "", false
	held := func(f func(q sql) error) error {
		return m.store.InTx(ctx, func(tx *store.Tx) error {
			if err := tx.HoldJob(ctx, c); err != nil {
				return err
			}
			return f(sql{tx})
		})
	}
	err := held(func(q sql) error {
		err := q.one(ctx, `select state from mini_calls where operation = $1`, args(op), &state)
		if first = none(err); first {
			return q.exec(ctx, `insert into mini_calls values ($1, 'started')`, op)
		}
		if err == nil && state == "started" {
			return q.exec(ctx, `update mini_calls set state = 'outcome unknown' where operation = $1`, op)
		}
		return err
	})
	if err != nil || !first {
		return err
	}
	killpoint.Hit("call-started")
	m.log.add("call", op, 2, c.ID, c.Token)
	return held(func(q sql) error {
		return q.exec(ctx, `update mini_calls set state = 'finished' where operation = $1`, op)
	})
}

func (m *miniature) endStep(ctx context.Context, tx *store.Tx, c job.Claim, _ error) error {
	q := sql{tx}
	if err := q.exec(ctx, `select 1 from mini_tasks where id = $1 for update`, num(c.IDs.Task)); err != nil {
		return err
	}
	if err := q.exec(ctx, `update mini_operations set status = 'error' where id = $1 and status = 'running'`, c.IDs.Operation); err != nil {
		return err
	}
	return q.PostJobs(ctx, job.Post{Kind: job.Settle, Key: c.IDs.Operation, IDs: c.IDs})
}

func (m *miniature) settle(ctx context.Context, c job.Claim) error {
	task, n := num(c.IDs.Task), num(c.IDs.Tick)
	return m.finish(ctx, c, func(ctx context.Context, q sql) error {
		if err := q.exec(ctx, `select 1 from mini_tasks where id = $1 for update`, task); err != nil {
			return err
		}
		var settled int
		var status string
		err := q.one(ctx, `select t.settled, o.status from mini_ticks t join mini_operations o on o.task = t.task and o.tick = t.n
			where t.task = $1 and t.n = $2`, args(task, n), &settled, &status)
		if err != nil || settled > 0 || status == "running" {
			return err
		}
		if err := q.exec(ctx, `update mini_ticks set settled = settled + 1, settled_at = clock_timestamp() where task = $1 and n = $2`, task, n); err != nil {
			return err
		}
		return q.arm(ctx, task, n+1)
	})
}

func (m *miniature) poke(ctx context.Context, c job.Claim) error {
	var requested int
	if err := m.store.Pool().QueryRow(ctx, `select requested from mini_tasks where id = $1`, num(c.IDs.Task)).Scan(&requested); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(rand.N(40 * time.Millisecond)):
	}
	return m.finish(ctx, c, func(ctx context.Context, q sql) error {
		return q.exec(ctx, `update mini_tasks set seen = greatest(seen, $2) where id = $1`, num(c.IDs.Task), requested)
	})
}

// person does something to a task: mostly pokes it, sometimes stops its operation.
func (m *miniature) person(ctx context.Context, task int) error {
	return m.store.InTx(ctx, func(tx *store.Tx) error {
		q := sql{tx}
		if err := q.exec(ctx, `select 1 from mini_tasks where id = $1 for update`, task); err != nil {
			return err
		}
		ids := job.IDs{Task: strconv.Itoa(task)}
		if rand.IntN(12) > 0 {
			if err := q.exec(ctx, `update mini_tasks set requested = requested + 1 where id = $1`, task); err != nil {
				return err
			}
			return q.PostJobs(ctx, job.Post{Kind: poke, Key: ids.Task, IDs: ids})
		}
		err := q.one(ctx, `update mini_operations set status = 'interrupted' where task = $1 and status = 'running' returning id::text, tick::text`,
			args(task), &ids.Operation, &ids.Tick)
		if none(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := q.NotifyStop(ctx, ids.Operation); err != nil {
			return err
		}
		return q.PostJobs(ctx, job.Post{Kind: job.Settle, Key: ids.Operation, IDs: ids})
	})
}

func num(s string) int { n, _ := strconv.Atoi(s); return n }

// witness is the log of the world outside: what was paid for, and why some of it
// came to nothing. It is a file, not the database, and each line is one write of
// a process that may die after it.
type witness struct{ f *os.File }

func openWitness(path string) (*witness, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return &witness{f}, err
}

func (w *witness) add(what string, details ...any) {
	fmt.Fprintln(w.f, append([]any{time.Now().UnixNano(), os.Getpid(), what}, details...)...)
}
