package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/dogwatch/dogwatch/internal/config"
	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/domain/operation"
	"github.com/dogwatch/dogwatch/internal/entry/httpapi"
	"github.com/dogwatch/dogwatch/internal/entry/tools"
	"github.com/dogwatch/dogwatch/internal/entry/worker"
	"github.com/dogwatch/dogwatch/internal/flow/engine"
	"github.com/dogwatch/dogwatch/internal/flow/launch"
	"github.com/dogwatch/dogwatch/internal/flow/settle"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
	"github.com/dogwatch/dogwatch/internal/flow/tick"
	"github.com/dogwatch/dogwatch/internal/infra/blob"
	"github.com/dogwatch/dogwatch/internal/infra/feed"
	"github.com/dogwatch/dogwatch/internal/infra/llm"
	"github.com/dogwatch/dogwatch/internal/infra/queue"
	"github.com/dogwatch/dogwatch/internal/infra/store"
	"github.com/dogwatch/dogwatch/web"
)

// parts is a process put together.
type parts struct {
	cfg  config.Config
	role Role
	log  *slog.Logger

	store  *store.Store
	redis  *queue.Redis
	models *llm.Registry
	blobs  *blob.Dir
	api    *httpapi.Server
	worker *worker.Worker // nil on a server

	loops  []func(context.Context)     // run until the end
	sweeps []func(context.Context)     // make new work, so they end first
	begin  func(context.Context) error // posts what keeps the house in order

	schema       int64       // version of the database that this program needs
	bootstrapped bool        // this process made the first workspace
	working      atomic.Bool // the worker takes jobs
	announced    atomic.Bool // who started the process knows how to get in
	inside       []string    // names of what runs in this process tree
}

// wire connects to what is there, makes what the first start makes, and builds
// everything on top. Nothing runs yet.
func wire(ctx context.Context, cfg config.Config, role Role, to Streams, d *dependencies) (_ *parts, err error) {
	p := &parts{cfg: cfg, role: role, log: to.Log}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if d.postgres != nil {
		p.inside = append(p.inside, "Postgres")
	}
	if d.queue != nil {
		p.inside = append(p.inside, "queue")
	}
	if p.store, err = openStore(ctx, d.databaseURL); err != nil {
		return nil, err
	}
	if p.redis, err = openRedis(ctx, d.redisURL); err != nil {
		return nil, err
	}
	if err = migrate(ctx, cfg, role, d.databaseURL, to.Log); err != nil {
		return nil, err
	}
	if p.schema, err = p.schemaVersion(ctx); err != nil {
		return nil, err
	}
	secret, err := secretKey(cfg)
	if err != nil {
		return nil, err
	}
	if err = holdKey(ctx, p.store, cfg, secret); err != nil {
		return nil, err
	}
	if role != Worker {
		if p.bootstrapped, err = bootstrap(ctx, p.store, cfg); err != nil {
			return nil, err
		}
	}
	cfg.Models.Silence = cmp.Or(hurried(hurrySilence), cfg.Models.Silence)
	if p.models, err = llm.New(cfg.Models); err != nil {
		return nil, err
	}
	if p.blobs, err = blob.Open(cfg.BlobDir); err != nil {
		return nil, err
	}
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	launcher := launch.New(p.store, p.models, operation.DefaultLimits)
	if err = countTicks(metrics, p.store, launcher); err != nil {
		return nil, err
	}
	steerer := steer.New(p.store, launcher, pricedModels{p.models}, cfg.MinHeartbeat)
	if role != Server {
		if err = p.wireWorker(launcher, steerer, metrics); err != nil {
			return nil, err
		}
	}
	events := feed.New(p.store, store.EventsChannel, feed.NewReceiver(p.redis.Client()), to.Log)
	if role != Worker {
		p.loops = append(p.loops, func(ctx context.Context) { _ = events.Run(ctx) })
	}
	p.api = httpapi.New(httpapi.Deps{
		Store: p.store, Steer: steerer, Launch: launcher, Feed: events, Blobs: p.blobs, Log: to.Log,
		Web: web.Dist(), Checks: p.checks(), Workers: p.redis.Workers, Secret: secret, Version: to.Version, MinPeriod: cfg.MinHeartbeat, Metrics: metrics,
	})
	return p, nil
}

// pricedModels adds which models have a price, so that a money limit that could
// not bite is refused when it is set.
type pricedModels struct{ *llm.Registry }

func (m pricedModels) Priced(model string) bool {
	_, known := m.Prices().Prices.Find(model)
	return known
}

// wireWorker registers what handles each kind of job.
func (p *parts) wireWorker(launcher *launch.Launcher, steerer *steer.Steerer, metrics *prometheus.Registry) (err error) {
	deltas := feed.NewPublisher(p.redis.Client(), p.log)
	p.loops = append(p.loops, func(ctx context.Context) { _ = deltas.Run(ctx) })
	runs := engine.New(p.store, p.models, tools.New(steerer), deltas, p.log)
	ends := settle.New(p.store, p.models, p.log)
	if d := hurried(hurryRetry); d > 0 {
		ends.Hurry(d)
	}
	sweeper := tick.New(p.store, p.log)
	p.sweeps = append(p.sweeps, func(ctx context.Context) { sweeper.Run(ctx, p.cfg.TickInterval) }, sweeper.Watch)
	p.begin = sweeper.Begin

	p.worker, err = worker.New(p.store, p.redis, worker.Config{
		Slots: map[job.Queue]int{job.Operations: p.cfg.Operations}, Drain: p.cfg.Drain,
		Lease: hurried(hurryLease), Visible: hurried(hurryVisible),
	}, p.log, metrics)
	if err != nil {
		return err
	}
	handlers := map[string]worker.Handler{
		job.Tick.Name:      {Run: launcher.Tick},
		job.Unlock.Name:    {Run: launcher.Unlock},
		job.Backfill.Name:  {Run: launcher.Backfill},
		job.Stop.Name:      {Run: steerer.StopRuns},
		job.Bulk.Name:      {Run: steerer.GoOnWithBulk},
		job.Step.Name:      {Run: runs.Step, Ending: runs.GiveUp},
		job.Settle.Name:    {Run: ends.Settle},
		job.Handoff.Name:   {Run: ends.Handoff, Ending: ends.GiveUp},
		job.Reconcile.Name: {Run: sweeper.Reconcile},
		job.Retention.Name: {Run: sweeper.Retention},
	}
	for _, kind := range job.Kinds {
		h, there := handlers[kind.Name]
		if !there {
			return fmt.Errorf("nothing handles jobs of the kind %s", kind.Name)
		}
		p.worker.Handle(kind, h)
	}
	return nil
}

// close gives back what wire opened.
func (p *parts) close() {
	if p.models != nil {
		p.models.Close()
	}
	if p.blobs != nil {
		_ = p.blobs.Close()
	}
	if p.redis != nil {
		_ = p.redis.Close()
	}
	if p.store != nil {
		p.store.Close()
	}
}

// checks is what has to work for the process to be ready.
func (p *parts) checks() []httpapi.Check {
	checks := []httpapi.Check{
		{Name: "database", Do: p.store.Ping},
		{Name: "queue", Do: p.redis.Ping},
		{Name: "migrations", Do: p.migrated},
	}
	if p.worker != nil {
		checks = append(checks, httpapi.Check{Name: "worker", Do: func(context.Context) error {
			if !p.working.Load() {
				return errors.New("the worker takes no jobs")
			}
			return nil
		}})
	}
	if p.role != Worker {
		checks = append(checks, httpapi.Check{Name: "start", Do: func(context.Context) error {
			if !p.announced.Load() {
				return errors.New("the address is not written yet")
			}
			return nil
		}})
	}
	return checks
}

// migrated: a newer version may have migrated the database under a running one.
func (p *parts) migrated(ctx context.Context) error {
	newest, err := p.schemaVersion(ctx)
	if err == nil && newest != p.schema {
		err = fmt.Errorf("the schema is at version %d, this program needs %d", newest, p.schema)
	}
	return err
}

func (p *parts) schemaVersion(ctx context.Context) (version int64, err error) {
	err = p.store.Pool().QueryRow(ctx, `select max(version_id) from goose_db_version where is_applied`).Scan(&version)
	return version, err
}

// handler is what a process serves: a worker nothing but health and metrics.
func (p *parts) handler() http.Handler {
	if p.role != Worker {
		return p.api
	}
	mux := http.NewServeMux()
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		mux.Handle(path, p.api)
	}
	return mux
}
