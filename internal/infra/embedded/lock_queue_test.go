package embedded

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

func TestADataDirectoryHasOneOwner(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	release, err := LockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var inUse *InUseError
	if _, err := LockDir(dir); !errors.As(err, &inUse) || inUse.PID != os.Getpid() || inUse.Dir != dir {
		t.Fatalf("the second owner got %v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	again, err := LockDir(dir)
	if err != nil {
		t.Fatalf("after its release: %v", err)
	}
	if err := release(); err != nil { // a second call must not free the new owner's
		t.Fatal(err)
	}
	if _, err := LockDir(dir); err == nil {
		t.Fatal("an old owner's release freed the new owner's lock")
	}
	_ = again()
}

func TestTheQueueServesAsynqAndLetsKeysExpire(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	ctx := context.Background()
	q, err := StartQueue(quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	opt, err := asynq.ParseRedisURI(q.URL())
	if err != nil {
		t.Fatal(err)
	}
	c := asynq.NewClient(opt)
	defer c.Close()
	once := func() error {
		_, err := c.Enqueue(asynq.NewTask("kind", nil), asynq.Unique(time.Second))
		return err
	}
	if err := once(); err != nil {
		t.Fatal(err)
	}
	if err := once(); !errors.Is(err, asynq.ErrDuplicateTask) {
		t.Fatalf("the second of two equal tasks: %v", err)
	}
	for end := time.Now().Add(10 * time.Second); once() != nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the lock of the first task never expired")
		}
	}
	anonymous := redis.NewClient(&redis.Options{Addr: q.mini.Addr()})
	defer anonymous.Close()
	if err := anonymous.Ping(ctx).Err(); err == nil {
		t.Fatal("an anonymous client was served")
	}
	q.Close()
	q.Close()
}
