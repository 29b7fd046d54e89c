package redistest

import (
	"context"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

func client(t *testing.T, url string) *redis.Client {
	t.Helper()
	opt, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(opt)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestKeysExpireByThemselves(t *testing.T) {
	Each(t, func(t *testing.T, url string) {
		ctx, c := context.Background(), client(t, url)
		if err := c.Set(ctx, "k", "v", 100*time.Millisecond).Err(); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(5 * time.Second); c.Exists(ctx, "k").Val() == 1; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the key outlived its time")
			}
		}
	})
}

func TestAServerNeedsItsPassword(t *testing.T) {
	EachServer(t, func(t *testing.T, s *Server) {
		c := redis.NewClient(&redis.Options{Addr: s.addr})
		defer c.Close()
		if err := c.Ping(context.Background()).Err(); err == nil {
			t.Fatal("an anonymous client was served")
		}
	})
}

func TestAnAsynqClientUnderstandsTheURL(t *testing.T) {
	Each(t, func(t *testing.T, url string) {
		opt, err := asynq.ParseRedisURI(url)
		if err != nil {
			t.Fatal(err)
		}
		c := asynq.NewClient(opt)
		defer c.Close()
		if _, err := c.Enqueue(asynq.NewTask("kind", nil), asynq.TaskID("a")); err != nil {
			t.Fatal(err)
		}
	})
}

func TestWhatAKillAndAWipeLeave(t *testing.T) {
	for name, tc := range map[string]struct {
		start func(testing.TB) *Server
		kept  int64
	}{
		"miniredis forgets at a kill":      {StartMini, 0},
		"redis-server remembers after one": {StartReal, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, ctx := tc.start(t), context.Background()
			before := s.URL()
			c := client(t, before)
			if err := c.Set(ctx, "k", "v", 0).Err(); err != nil {
				t.Fatal(err)
			}
			s.Kill()
			if err := c.Ping(ctx).Err(); err == nil {
				t.Fatal("a killed server answers")
			}
			s.Start()
			if s.URL() != before {
				t.Fatalf("the address changed from %s to %s", before, s.URL())
			}
			if n := c.Exists(ctx, "k").Val(); n != tc.kept {
				t.Fatalf("%d keys after a kill, want %d", n, tc.kept)
			}
			c.Set(ctx, "k", "v", 0)
			s.FlushAll()
			if n := c.DBSize(ctx).Val(); n != 0 {
				t.Fatalf("%d keys after a wipe", n)
			}
		})
	}
}
