// Package rig puts the flows together on a real database for tests, with a model
// that the test scripts, and carries out posted jobs one after the other in the
// test's own goroutine: what happens is what happens in production, in an order
// that a test can follow.
package rig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/agent"
	"github.com/dogwatch/dogwatch/internal/domain/budget"
	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/domain/turn"
	"github.com/dogwatch/dogwatch/internal/entry/tools"
	"github.com/dogwatch/dogwatch/internal/flow/engine"
	"github.com/dogwatch/dogwatch/internal/flow/launch"
	"github.com/dogwatch/dogwatch/internal/flow/settle"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
	"github.com/dogwatch/dogwatch/internal/flow/tick"
	"github.com/dogwatch/dogwatch/internal/infra/store"
	"github.com/dogwatch/dogwatch/internal/testkit/pgtest"
)

// Model is a model that a test scripts.
type Model struct {
	mu    sync.Mutex
	Reply func(r turn.Request) (turn.Reply, error) // nil: answers "Done." and a plain handoff
	Calls []turn.Request
	Price func(u budget.Usage) *budget.USD // nil: nothing
}

// Call answers with what the test scripted.
func (m *Model) Call(ctx context.Context, r turn.Request, _ func(string)) (turn.Reply, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Calls = append(m.Calls, r)
	if err := ctx.Err(); err != nil {
		return turn.Reply{}, err
	}
	if m.Reply != nil {
		return m.Reply(r)
	}
	return Plain(r)
}

// Plain answers every request: a report, or a handoff where one is asked for.
func Plain(r turn.Request) (turn.Reply, error) {
	if r.Output != nil {
		return Says(`{"title": "A run", "summary": "It was run.", "keyFindings": ["The run was made."], "nextAction": "", "unfinished": ""}`), nil
	}
	return Says("This is the report of the run."), nil
}

// Says is a reply with a text.
func Says(text string) turn.Reply {
	return turn.Reply{Text: text, Stop: turn.StopEnd, Cost: new(budget.USD)}
}

// Wants is a reply that calls a tool.
func Wants(name, arguments string) turn.Reply {
	return turn.Reply{Stop: turn.StopTools, Cost: new(budget.USD), ToolCalls: []turn.ToolCall{{ID: "call-" + name, Name: name, Arguments: arguments}}}
}

func (*Model) Default() string          { return "test/model" }
func (*Model) Known(string) bool        { return true }
func (*Model) Priced(string) bool       { return true }
func (*Model) ContextWindow(string) int { return 0 }

// Cost is what the test says, or nothing.
func (m *Model) Cost(_ string, u budget.Usage) *budget.USD {
	if m.Price != nil {
		return m.Price(u)
	}
	return new(budget.USD)
}

type silent struct{}

func (silent) Delta(context.Context, string, string, int, string) {}

// Rig is a house of one workspace.
type Rig struct {
	testing.TB
	URL    string
	Store  *store.Store
	Model  *Model
	Launch *launch.Launcher
	Steer  *steer.Steerer
	Engine *engine.Engine
	Settle *settle.Settler
	Sweep  *tick.Sweeper
	Caller access.Caller // an administrator
	Agent  agent.Agent
	Log    *slog.Logger

	handlers map[string]handler
}

type handler struct {
	run    func(context.Context, job.Claim) error
	ending func(context.Context, *store.Tx, job.Claim, error) error
}

// New returns a rig on a database of its own.
func New(t testing.TB) *Rig {
	t.Helper()
	url := pgtest.New(t)
	st, err := store.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	r := &Rig{TB: t, URL: url, Store: st, Model: &Model{}, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	r.Launch = launch.New(st, r.Model, operation.DefaultLimits)
	r.Steer = steer.New(st, r.Launch, r.Model, time.Second)
	r.Engine = engine.New(st, r.Model, tools.New(r.Steer), silent{}, r.Log)
	r.Settle = settle.New(st, r.Model, r.Log)
	r.Sweep = tick.New(st, r.Log)
	r.handlers = map[string]handler{
		job.Tick.Name:      {run: r.Launch.Tick},
		job.Unlock.Name:    {run: r.Launch.Unlock},
		job.Backfill.Name:  {run: r.Launch.Backfill},
		job.Stop.Name:      {run: r.Steer.StopRuns},
		job.Bulk.Name:      {run: r.Steer.GoOnWithBulk},
		job.Step.Name:      {run: r.Engine.Step, ending: r.Engine.GiveUp},
		job.Settle.Name:    {run: r.Settle.Settle},
		job.Handoff.Name:   {run: r.Settle.Handoff, ending: r.Settle.GiveUp},
		job.Reconcile.Name: {run: r.Sweep.Reconcile},
		job.Retention.Name: {run: r.Sweep.Retention},
	}
	r.workspace()
	return r
}

func (r *Rig) workspace() {
	r.Helper()
	ctx := r.Context()
	r.Must(r.Store.InTx(ctx, func(tx *store.Tx) error {
		ws, err := tx.CreateWorkspace(ctx, "test", "Test", "UTC")
		if err != nil {
			return err
		}
		sc := access.In(ws.ID)
		p, err := tx.CreatePerson(ctx, sc, store.NewPerson{Email: "admin@localhost", Name: "Admin", PasswordHash: "x"}, access.Admin)
		if err != nil {
			return err
		}
		r.Caller = access.Caller{Actor: access.Actor{Kind: access.Person, ID: p.ID}, PersonID: p.ID, Role: access.Admin, Scope: sc}
		r.Agent, err = tx.CreateAgent(ctx, sc, agent.Agent{
			Slug: agent.DefaultSlug, Name: "Watchkeeper", Default: true, Origin: "built_in", Profile: agent.DefaultProfile,
		}, access.House)
		return err
	}))
}

// Must ends the test on an error.
func (r *Rig) Must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// Scope is the rig's workspace.
func (r *Rig) Scope() access.Scope { return r.Caller.Scope }

const workerName = "rig"

// Drain carries out the jobs that are due, and those that they post, until none is
// left. It returns how many were carried out.
func (r *Rig) Drain() int {
	r.Helper()
	return r.drain(job.Queues...)
}

// Quick is Drain without what takes long: ticks are handled and runs are opened and
// settled, but none goes on.
func (r *Rig) Quick() int {
	r.Helper()
	return r.drain(job.Fast, job.Effects)
}

func (r *Rig) drain(queues ...job.Queue) int {
	r.Helper()
	ctx := r.Context()
	n := 0
	for {
		allow := make([]job.Allowance, len(queues))
		for i, q := range queues {
			allow[i] = job.Allowance{Queue: q, Jobs: 16}
		}
		sent, err := r.Store.RelayJobs(ctx, allow, workerName, time.Minute, false)
		r.Must(err)
		if len(sent) == 0 {
			return n
		}
		for _, s := range sent {
			c, err := r.Store.ClaimJob(ctx, s.ID, workerName, time.Minute)
			r.Must(err)
			r.carry(ctx, c)
			if n++; n > 10_000 {
				r.Fatal("the jobs never end")
			}
		}
	}
}

// carry carries out one job as a worker does, without waiting between attempts.
func (r *Rig) carry(ctx context.Context, c job.Claim) {
	r.Helper()
	h, ok := r.handlers[c.Kind]
	if !ok {
		r.Fatalf("nobody handles %s", c.Kind)
	}
	err := h.run(ctx, c)
	if err == nil {
		if err := r.Store.CloseJob(ctx, c); err != nil && !errors.Is(err, job.ErrLost) {
			r.Fatal(err)
		}
		return
	}
	if !job.IsPermanent(err) && c.Attempt+1 < attempts(c.Kind) {
		r.Must(r.Store.BackJob(ctx, c, 0, 1, err.Error()))
		return
	}
	if h.ending == nil {
		r.Fatalf("%s failed for good: %v", c.Kind, err)
	}
	r.Must(r.Store.InTx(ctx, func(tx *store.Tx) error {
		if err := h.ending(ctx, tx, c, err); err != nil {
			return fmt.Errorf("the ending of %s: %w", c.Kind, err)
		}
		return tx.BuryJob(ctx, c, err.Error())
	}))
}

func attempts(kind string) int {
	for _, k := range job.Kinds {
		if k.Name == kind {
			return min(k.MaxAttempts, 10)
		}
	}
	return 1
}

// Tick sweeps until nothing is due, and drains.
func (r *Rig) Tick() {
	r.Helper()
	for {
		n, err := r.Sweep.Sweep(r.Context())
		r.Must(err)
		r.Drain()
		if n == 0 {
			return
		}
	}
}

// Age moves the next fire of a task, and what was planned for it, into the past.
func (r *Rig) Age(taskID string, by time.Duration) {
	r.Helper()
	_, err := r.Store.Pool().Exec(r.Context(), `update tasks set next_planned_at = next_planned_at - $2::interval, next_fire_at = next_fire_at - $2::interval where id = $1`,
		taskID, by)
	r.Must(err)
}
