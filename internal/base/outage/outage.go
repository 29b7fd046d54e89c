// Package outage keeps a log readable while something is away: a loop that fails on
// every turn says so once, and once that it goes on.
package outage

import (
	"context"
	"log/slog"
)

// Log notes the turns of one loop. It is for one goroutine; the zero value is not of use.
type Log struct {
	log     *slog.Logger
	loop    string
	failing bool
}

// New returns the log of a loop, by its name.
func New(log *slog.Logger, loop string) *Log { return &Log{log: log, loop: loop} }

// Note notes how a turn went. A loop that is being stopped has nothing to say.
func (l *Log) Note(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
		return
	case err != nil && !l.failing:
		l.log.WarnContext(ctx, "background work waits", "loop", l.loop, "err", err)
	case err == nil && l.failing:
		l.log.InfoContext(ctx, "background work goes on", "loop", l.loop)
	}
	l.failing = err != nil
}
