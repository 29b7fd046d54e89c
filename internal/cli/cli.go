// Package cli is the command line: the parts of Dogwatch that a person or a
// script starts, and a client of the API for each thing that the dashboard does.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dogwatch/dogwatch/internal/cli/client"
	"github.com/dogwatch/dogwatch/internal/config"
	"github.com/dogwatch/dogwatch/internal/infra/embedded"
)

// Exit codes, which scripts rely on.
const (
	ok          = 0
	failed      = 1
	usage       = 2 // wrong usage or configuration
	unreachable = 3 // a dependency, or the instance, could not be reached or started
	inUse       = 4 // the data directory is another instance's
)

// errFailed ends a command with exit code 1 when all there is to say was said.
var errFailed = errors.New("failed")

// program is one run of the command line.
type program struct {
	in       io.Reader
	out, err io.Writer
	getenv   func(string) string
	now      func() time.Time
	zone     *time.Location // of times that are shown

	running bool // the arguments were understood
	json    bool
}

// Main runs the command line and returns the exit code.
func Main(ctx context.Context, args []string) int {
	p := &program{in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.Getenv, now: time.Now, zone: time.Local}
	return p.run(ctx, args)
}

func (p *program) run(ctx context.Context, args []string) int {
	root := p.root()
	root.SetArgs(args)
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ok
	}
	code := p.code(err)
	if !errors.Is(err, errFailed) {
		fmt.Fprintf(p.err, "dogwatch: %s\n", inFlags(cmd, err))
	}
	if !p.running {
		fmt.Fprintf(p.err, "See `%s --help`.\n", cmd.CommandPath())
	}
	return code
}

// code is the exit code of an error.
func (p *program) code(err error) int {
	var (
		wrong    *config.Error
		none     *config.NoInstanceError
		start    *embedded.StartError
		away     *client.Unreachable
		problem  *client.Problem
		occupied *embedded.InUseError
	)
	switch {
	case !p.running, errors.As(err, &wrong), errors.Is(err, errUsage):
		return usage
	case errors.As(err, &problem) && (problem.Status == http.StatusBadRequest || problem.Status == http.StatusUnprocessableEntity):
		return usage // the server says what is wrong with what was asked for
	case errors.As(err, &occupied):
		return inUse
	case errors.As(err, &none), errors.As(err, &start), errors.As(err, &away):
		return unreachable
	}
	return failed
}

// errUsage marks errors in what was asked for that only a command itself finds.
var errUsage = errors.New("usage")

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

type usageError struct{ msg string }

func (e *usageError) Error() string        { return e.msg }
func (e *usageError) Is(target error) bool { return target == errUsage }

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "dogwatch",
		Short: "AI agents that keep the watch: standing orders on a heartbeat or cron, with a ledger and briefs",
		Long: `Dogwatch runs AI agents around the clock. Give a standing order; it runs on a heartbeat or cron,
picks up where the last run left off, and leaves a brief when a person should know or decide.

  dogwatch up                                   start everything; opens at http://127.0.0.1:8420
  dogwatch task create "…" --cron "0 7 * * 1-5"  a standing order
  dogwatch brief list                           what waits for you
  dogwatch why T-1                              what happens next with a task, and why

Exit codes: 0 ok, 1 failed, 2 wrong usage or configuration, 3 not reachable, 4 data directory in use.`,
		SilenceErrors: true, SilenceUsage: true,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(err) })
	flags := root.PersistentFlags()
	flags.String("data", "", "data directory (DOGWATCH_DATA; default ./data)")
	flags.String("config", "", "configuration file (DOGWATCH_CONFIG; default "+config.DefaultFile+" when it is there)")
	root.AddGroup(
		&cobra.Group{ID: "run", Title: "Running Dogwatch:"},
		&cobra.Group{ID: "use", Title: "Using it (DOGWATCH_URL and DOGWATCH_TOKEN, else the instance on this host):"},
	)
	for _, c := range []*cobra.Command{p.up(), p.server(), p.worker(), p.migrate(), p.admin(), p.openapi(), p.version(), p.findPostgres()} {
		c.GroupID = "run"
		root.AddCommand(c)
	}
	for _, c := range []*cobra.Command{p.task(), p.why(), p.undo(), p.brief(), p.topic(), p.operation(), p.document(), p.tick(), p.cron(), p.calendar(), p.agent(), p.workspace(), p.demo()} {
		c.GroupID = "use"
		c.PersistentFlags().String("url", "", "address of the instance (DOGWATCH_URL)")
		c.PersistentFlags().BoolVar(&p.json, "json", false, "print the API's JSON")
		root.AddCommand(c)
	}
	p.markRunning(root)
	return root
}

// markRunning notes for every command that cobra found nothing wrong with its
// arguments: errors before that are errors in usage.
func (p *program) markRunning(c *cobra.Command) {
	if fit := c.Args; fit != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			if err := fit(cmd, args); err != nil {
				return argsError(cmd, args, err)
			}
			return nil
		}
	}
	if run := c.RunE; run != nil {
		c.RunE = func(cmd *cobra.Command, args []string) error {
			p.running = true
			return run(cmd, args)
		}
	}
	for _, sub := range c.Commands() {
		p.markRunning(sub)
	}
}

// group is a command that only holds others.
func group(name, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: name, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(commands...)
	return c
}

// source is where a command's configuration comes from.
func (p *program) source(cmd *cobra.Command) config.Source {
	src := config.Source{Flags: map[string]string{}, Getenv: p.getenv}
	for _, name := range []string{"listen", "data", "config", "url"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			src.Flags[name] = f.Value.String()
		}
	}
	return src
}

// client finds the instance to talk to.
func (p *program) client(cmd *cobra.Command) (*client.Client, error) {
	cfg, err := config.LoadClient(p.source(cmd))
	if err != nil {
		return nil, err
	}
	return client.New(cfg.URL, cfg.Token, "dogwatch/"+versionWord()), nil
}

// textOrStdin is an argument, or the standard input for "-".
func (p *program) textOrStdin(arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	b, err := io.ReadAll(p.in)
	if err != nil {
		return "", fmt.Errorf("read the standard input: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}
