// Package app puts Dogwatch together and runs it: what it stands on, in order,
// what is made at the first start, and how it all ends.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"github.com/dogwatch/dogwatch/internal/config"
	"github.com/dogwatch/dogwatch/internal/infra/embedded"
)

// Role is which parts of Dogwatch a process runs.
type Role string

const (
	Up     Role = "up"     // everything
	Server Role = "server" // API and dashboard
	Worker Role = "worker" // jobs and sweeps
)

// Streams is where a process speaks to people.
type Streams struct {
	Out     io.Writer // what a person at the terminal should see
	Log     *slog.Logger
	Version string
}

// Run runs a role until ctx ends, then takes no more work, finishes or hands back
// what is running, and stops what it started. An end by ctx is no error.
func Run(ctx context.Context, cfg config.Config, role Role, to Streams) error {
	err := run(ctx, cfg, role, to)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // stopped while it was starting
	}
	return err
}

// gcPercent lets the heap grow to three times what is alive, which is little here:
// with Go's own 100 a sixth of the processor went into collecting. GOGC overrules it.
const gcPercent = 200

func run(ctx context.Context, cfg config.Config, role Role, to Streams) (err error) {
	began := time.Now()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if err := needed(cfg, role); err != nil {
		return err
	}
	for _, name := range config.Strangers(os.Environ()) {
		to.Log.Warn("the environment has a name that is no setting, and it is not used", "name", name)
	}
	// Others may enter: the embedded Postgres may be another account.
	if err := os.MkdirAll(cfg.Data, 0o755); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	if role == Up {
		release, err := embedded.LockDir(cfg.Data)
		if err != nil {
			return err
		}
		defer func() { _ = release() }()
	}
	// Taken now, so that a port that is not free is said at once; served last.
	listener, err := listen(ctx, cfg)
	if err != nil {
		return err
	}
	if listener != nil {
		defer listener.Close()
	}
	address := filepath.Join(cfg.Data, config.AddressFile)
	if role != Worker {
		if err := os.Remove(address); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the address of an earlier run: %w", err)
		}
	}
	d, err := start(ctx, cfg, to.Log)
	if err != nil {
		return err
	}
	defer d.stop(to.Log)
	p, err := wire(ctx, cfg, role, to, d)
	if err != nil {
		return err
	}
	defer p.close()

	failed := make(chan error, 1)
	stop, err := p.start(ctx, listener, failed)
	if err != nil {
		return err
	}
	defer stop()
	if role == Worker {
		ready := []any{"took", time.Since(began).Round(time.Millisecond)}
		if listener != nil {
			ready = append(ready, "health", config.BaseURL(listener.Addr()))
		}
		to.Log.Info("the worker is ready", ready...)
	} else {
		base := config.BaseURL(listener.Addr())
		if err := p.announce(ctx, to.Out, base, time.Since(began)); err != nil {
			return err
		}
		if err := writePrivate(address, base+"\n"); err != nil {
			return fmt.Errorf("write the address: %w", err)
		}
		p.announced.Store(true)
		defer func() { _ = os.Remove(address) }() // the next run removes it too
	}
	select {
	case <-ctx.Done():
		to.Log.Info("stopping", "drain", cfg.Drain)
		return nil
	case err := <-failed:
		return err
	case <-d.done():
		return d.postgres.Err()
	}
}

// needed says what a role cannot do without.
func needed(cfg config.Config, role Role) error {
	if role == Up {
		return nil
	}
	var e config.Error
	for key, v := range map[string]string{"DOGWATCH_DATABASE_URL": cfg.DatabaseURL, "DOGWATCH_REDIS_URL": cfg.RedisURL} {
		if v == "" {
			e.Problems = append(e.Problems, config.Problem{Key: key,
				Allowed: fmt.Sprintf("`dogwatch %s` needs it, because its parts are spread over processes; try `dogwatch up` to have one inside", role)})
		}
	}
	if len(e.Problems) == 0 {
		return nil
	}
	return &e
}

func listen(ctx context.Context, cfg config.Config) (net.Listener, error) {
	if cfg.Listen == "" {
		return nil, nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("%w; try: --listen with another address, port 0 picks a free one", err)
	}
	return l, nil
}

// start starts everything that works, HTTP last. What fails later comes by
// failed. The function that it returns stops it, in the opposite order.
func (p *parts) start(ctx context.Context, l net.Listener, failed chan<- error) (stop func(), err error) {
	loops, endLoops := context.WithCancel(context.WithoutCancel(ctx))
	sweeps, endSweeps := context.WithCancel(loops)
	var group sync.WaitGroup
	end := func() {
		endSweeps()
		endLoops()
		group.Wait()
	}
	for _, loop := range p.loops {
		group.Go(func() { loop(loops) })
	}
	if p.worker != nil {
		err := p.begin(ctx)
		if err == nil {
			err = p.worker.Start(ctx)
		}
		if err != nil {
			end()
			return nil, err
		}
		for _, sweep := range p.sweeps {
			group.Go(func() { sweep(sweeps) })
		}
		p.working.Store(true)
	}
	var server *http.Server
	if l != nil {
		server = p.api.HTTPServer()
		server.Handler = p.handler()
		go func() {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serve HTTP: %w", err)
			}
		}()
	}
	return func() {
		p.working.Store(false)
		p.api.Drain()
		endSweeps()
		var ending sync.WaitGroup
		if server != nil {
			ending.Go(func() { shutdown(server, p.log) })
		}
		if p.worker != nil {
			p.worker.Drain(context.Background())
		}
		ending.Wait()
		end()
	}, nil
}

// requestsLimit is how long open requests have to end: none of them waits for a
// model.
const requestsLimit = 5 * time.Second

func shutdown(s *http.Server, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), requestsLimit)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		log.Warn("requests did not end and are cut off", "err", err)
		_ = s.Close()
	}
}
