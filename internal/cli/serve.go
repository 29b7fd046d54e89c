package cli

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/dogwatch/dogwatch/internal/app"
	"github.com/dogwatch/dogwatch/internal/config"
	"github.com/dogwatch/dogwatch/internal/entry/httpapi"
	"github.com/dogwatch/dogwatch/internal/infra/embedded"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

func (p *program) up() *cobra.Command {
	c := &cobra.Command{
		Use: "up", Short: "Start everything: database and queue (unless configured), API, dashboard, worker", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.serve(cmd, app.Up) },
	}
	c.Flags().String("listen", "", "host:port of API and dashboard (DOGWATCH_LISTEN; default 127.0.0.1:8420)")
	return c
}

func (p *program) server() *cobra.Command {
	c := &cobra.Command{
		Use: "server", Short: "Start API and dashboard only; needs DOGWATCH_DATABASE_URL and DOGWATCH_REDIS_URL", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.serve(cmd, app.Server) },
	}
	c.Flags().String("listen", "", "host:port of API and dashboard (DOGWATCH_LISTEN; default 127.0.0.1:8420)")
	return c
}

func (p *program) worker() *cobra.Command {
	c := &cobra.Command{
		Use: "worker", Short: "Start a worker only; needs DOGWATCH_DATABASE_URL and DOGWATCH_REDIS_URL", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.serve(cmd, app.Worker) },
	}
	c.Flags().String("listen", "", "host:port of health checks and metrics (default: none)")
	return c
}

// serve runs until a signal; a second one stops at once. What the kernel ends
// with us, such as the embedded Postgres, recovers at the next start.
func (p *program) serve(cmd *cobra.Command, role app.Role) error {
	cfg, err := config.Load(p.source(cmd))
	if err != nil {
		return err
	}
	if role == app.Worker && !cmd.Flags().Changed("listen") {
		cfg.Listen = "" // DOGWATCH_LISTEN is the server's, often set for both
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	go func() {
		<-signals
		cancel()
		second := <-signals
		fmt.Fprintf(p.err, "dogwatch: stopped at once by a second signal (%s)\n", second)
		os.Exit(failed)
	}()
	return app.Run(ctx, cfg, role, app.Streams{Out: p.out, Log: app.NewLog(cfg, p.err), Version: versionWord()})
}

// findPostgres is the Makefile's question whether npm has to bring Postgres.
func (p *program) findPostgres() *cobra.Command {
	return &cobra.Command{
		Use: "find-postgres", Short: "Print where the Postgres programs are that `up` would use", Args: cobra.NoArgs, Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := embedded.FindBinaries(cmd.Context(), 0)
			if err == nil {
				p.printf("%s %s\n", b.Version, b.Dir)
			}
			return err
		},
	}
}

func (p *program) migrate() *cobra.Command {
	with := func(f func(ctx context.Context, url string) error) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, _ []string) error {
			cfg, err := config.Load(p.source(cmd))
			if err != nil {
				return err
			}
			return app.WithDatabase(cmd.Context(), cfg, quietLog(cfg, p), f)
		}
	}
	return group("migrate", "Bring the database's schema up to date, or say where it stands",
		&cobra.Command{Use: "up", Short: "Bring the schema up to date", Args: cobra.NoArgs,
			RunE: with(func(ctx context.Context, url string) error {
				if err := store.Migrate(ctx, url); err != nil {
					return err
				}
				have, _, err := store.SchemaVersion(ctx, url)
				if err == nil {
					p.printf("✓ schema at version %d\n", have)
				}
				return err
			})},
		&cobra.Command{Use: "status", Short: "Say where the schema stands; exit code 1 unless it is up to date", Args: cobra.NoArgs,
			RunE: with(func(ctx context.Context, url string) error {
				have, want, err := store.SchemaVersion(ctx, url)
				if err != nil {
					return err
				}
				p.printf("schema at version %d, this program needs %d\n", have, want)
				if have != want {
					return errFailed
				}
				return nil
			})})
}

func (p *program) admin() *cobra.Command {
	load := func(cmd *cobra.Command) (config.Config, *slog.Logger, error) {
		cfg, err := config.Load(p.source(cmd))
		return cfg, quietLog(cfg, p), err
	}
	return group("admin", "What only this host's shell may do",
		&cobra.Command{Use: "forget-key", Short: "Let the next start bring another secret key, when the one before is lost", Args: cobra.NoArgs,
			Long: `Let the next start bring another secret key, when the one before is lost. Stop every process of the
instance first. Sessions, tokens, tasks and files stay; lists are read again from the start, and
secrets that were sealed with the old key have to be entered again.`,
			RunE: func(cmd *cobra.Command, _ []string) error {
				cfg, log, err := load(cmd)
				if err != nil {
					return err
				}
				return app.WithDatabase(cmd.Context(), cfg, log, func(ctx context.Context, url string) error {
					sealed, err := app.ForgetKey(ctx, url)
					if err == nil {
						p.printf("✓ the next start brings the secret key; %d sealed with the old one to enter again\n", sealed)
					}
					return err
				})
			}},
		&cobra.Command{Use: "reset", Short: "Give the first admin a new password and end their sessions", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				cfg, log, err := load(cmd)
				if err != nil {
					return err
				}
				return app.WithDatabase(cmd.Context(), cfg, log, func(ctx context.Context, url string) error {
					email, password, err := app.ResetAdmin(ctx, url)
					if err == nil {
						p.printf("✓ sign in as %s with the password %s\n", email, password)
					}
					return err
				})
			}},
		&cobra.Command{Use: "link", Short: "Print a link that signs the first admin in, once", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				cfg, log, err := load(cmd)
				if err != nil {
					return err
				}
				return app.WithDatabase(cmd.Context(), cfg, log, func(ctx context.Context, url string) error {
					path, err := app.AdminLink(ctx, url)
					if err != nil {
						return err
					}
					base := "http://" + cfg.Listen
					if c, err := config.LoadClient(p.source(cmd)); err == nil {
						base = c.URL
					}
					p.printf("%s%s\n", base, path)
					return nil
				})
			}})
}

// quietLog is for commands that are not about the log: only what went wrong.
func quietLog(cfg config.Config, p *program) *slog.Logger {
	cfg.Log = max(cfg.Log, slog.LevelWarn)
	return app.NewLog(cfg, p.err)
}

func (p *program) openapi() *cobra.Command {
	return &cobra.Command{
		Use: "openapi", Short: "Print the OpenAPI document", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			doc, err := httpapi.OpenAPI()
			if err == nil {
				p.printf("%s\n", strings.TrimSpace(string(doc)))
			}
			return err
		},
	}
}

// Set by the Makefile.
var release, commit string

// versionWord is the version in one word: the release, else the commit.
func versionWord() string {
	switch {
	case release != "":
		return release
	case commit != "":
		return "dev-" + commit
	}
	return "dev"
}

func (p *program) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print version, commit and Go", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			p.printf("dogwatch %s (commit %s, %s, %s/%s)\n", versionWord(), cmp.Or(commit, "unknown"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}
