package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// listenRetry is the wait before a new connection after one was lost.
	listenRetry = 200 * time.Millisecond
	// listenProbe is how long silence is trusted: a connection that a firewall
	// dropped looks like one on which nothing happens.
	listenProbe = time.Minute
)

// Listen calls heard for each notification on the channels until ctx ends. It has
// a connection of its own and makes a new one when that breaks. connected is
// called after every connect: what was said before it was not heard, so the
// caller looks for itself.
func (s *Store) Listen(ctx context.Context, channels []string, heard func(channel, payload string), connected func()) {
	for ctx.Err() == nil {
		_ = s.listen(ctx, channels, heard, connected) // whatever it was, a new connection is the answer
		select {
		case <-ctx.Done():
		case <-time.After(listenRetry):
		}
	}
}

func (s *Store) listen(ctx context.Context, channels []string, heard func(channel, payload string), connected func()) error {
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig.Copy())
	if err != nil {
		return fmt.Errorf("connect to listen: %w", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	for _, c := range channels {
		if _, err := conn.Exec(ctx, "listen "+pgx.Identifier{c}.Sanitize()); err != nil {
			return fmt.Errorf("listen: %w", err)
		}
	}
	connected()
	for {
		wait, cancel := context.WithTimeout(ctx, listenProbe)
		n, err := conn.WaitForNotification(wait)
		cancel()
		switch {
		case err == nil:
			heard(n.Channel, n.Payload)
		case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
			return err
		default:
			probe, cancel := context.WithTimeout(ctx, listenProbe/6)
			err := conn.Ping(probe)
			cancel()
			if err != nil {
				return fmt.Errorf("probe: %w", err)
			}
		}
	}
}
