package queue

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"sync"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/dogwatch/dogwatch/internal/domain/job"
)

// Redis is the connection to a Redis, one, behind Sentinel or a cluster.
type Redis struct{ client redis.UniversalClient }

// forms is what an address may look like, for the message about one that does not.
const forms = "want redis://host:6379/0, rediss://host:6380/0 (TLS), redis-sentinel://host1:26379,host2:26379?master=name, or redis://host1:6379?addr=host2:6379 for a cluster"

// Dial reads the address. It connects when it is first used: a Redis that is away
// is not an error here, see [Redis.Ping].
//
// Besides asynq's redis-sentinel it takes go-redis's forms: a query with addr
// means a cluster, one with master_name Sentinel, and most options can be set by
// their names (read_timeout=2s).
func Dial(address string) (*Redis, error) {
	quiet()
	u, err := url.Parse(address)
	if err != nil {
		if ue := (*url.Error)(nil); errors.As(err, &ue) {
			err = ue.Err // without the address: it may hold a password
		}
		return nil, fmt.Errorf("the address of Redis cannot be read: %w; %s", err, forms)
	}
	if u.Host == "" && u.Path == "" {
		return nil, fmt.Errorf("the address of Redis names no host; %s", forms)
	}
	client, err := client(u)
	if err != nil {
		return nil, fmt.Errorf("the address of Redis cannot be used: %w; %s", err, forms)
	}
	return &Redis{client}, nil
}

func client(u *url.URL) (redis.UniversalClient, error) {
	off := &maintnotifications.Config{Mode: maintnotifications.ModeDisabled} // a feature of one vendor's clusters
	query := u.Query()
	switch {
	case u.Scheme == "redis-sentinel":
		opt, err := asynq.ParseRedisURI(u.String())
		if err != nil {
			return nil, err
		}
		f, ok := opt.(asynq.RedisFailoverClientOpt)
		if !ok || f.MasterName == "" {
			return nil, errors.New("master=name is missing")
		}
		o := &redis.FailoverOptions{MasterName: f.MasterName, SentinelAddrs: f.SentinelAddrs,
			SentinelUsername: f.SentinelUsername, SentinelPassword: f.SentinelPassword}
		tune(&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.MinRetryBackoff)
		return redis.NewFailoverClient(o), nil
	case query.Has("master_name"):
		o, err := redis.ParseFailoverURL(u.String())
		if err != nil {
			return nil, err
		}
		tune(&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.MinRetryBackoff)
		return redis.NewFailoverClient(o), nil
	case query.Has("addr"):
		o, err := redis.ParseClusterURL(u.String())
		if err != nil {
			return nil, err
		}
		o.MaintNotificationsConfig = off
		tune(&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.MinRetryBackoff)
		return redis.NewClusterClient(o), nil
	default:
		o, err := redis.ParseURL(u.String())
		if err != nil {
			return nil, err
		}
		o.MaintNotificationsConfig = off
		tune(&o.DialTimeout, &o.ReadTimeout, &o.WriteTimeout, &o.MinRetryBackoff)
		return redis.NewClient(o), nil
	}
}

// tune shortens what the address does not set. Redis is near and answers in a
// millisecond; whoever waits longer holds up the relay. The pause between tries
// is longer than go-redis's own, because asynq asks again without one and would
// keep a core busy while Redis is away.
func tune(dial, read, write, retry *time.Duration) {
	for _, o := range []struct {
		d   *time.Duration
		val time.Duration
	}{{dial, time.Second}, {read, 2 * time.Second}, {write, 2 * time.Second}, {retry, 50 * time.Millisecond}} {
		if *o.d == 0 {
			*o.d = o.val
		}
	}
}

// quiet keeps go-redis from writing to the standard error: what fails is returned
// and logged once by who handles it.
var quiet = sync.OnceFunc(func() { redis.SetLogger(silence{}) })

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// Workers counts the processes that take work. Each says every five seconds that it
// is there; one that was killed is counted for up to ten.
func (r *Redis) Workers() (int, error) {
	servers, err := asynq.NewInspectorFromRedisClient(r.client).Servers()
	if err != nil {
		return 0, fmt.Errorf("look for workers: %w", err)
	}
	type process struct {
		host string
		pid  int
	}
	seen := map[process]bool{} // each has a server of asynq for each class of jobs
	for _, s := range servers {
		seen[process{s.Host, s.PID}] = true
	}
	return len(seen), nil
}

// Ping says whether Redis answers.
func (r *Redis) Ping(ctx context.Context) error {
	if err := r.client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("reach Redis: %w", err)
	}
	return nil
}

// Client is the connection itself, for what is not a queue: text of models on
// its way to whoever watches.
func (r *Redis) Client() redis.UniversalClient { return r.client }

// Close gives the connections back.
func (r *Redis) Close() error { return r.client.Close() }

// setName is where asynq keeps the names of its queues.
const setName = "asynq:queues"

// name is a queue's name in Redis, so that other programs' queues are not ours.
func name(q job.Queue) string { return "dogwatch-" + string(q) }
