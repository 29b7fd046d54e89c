package store_test

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/infra/store"
	"github.com/dogwatch/dogwatch/internal/testkit/pgtest"
)

const idleSetting = "idle_in_transaction_session_timeout"

// leaseOfJobs is infra/queue's, which this room does not know.
const leaseOfJobs = 15 * time.Second

// A process that stands still holds nobody up for longer than until its work is given
// to somebody else.
func TestATransactionMayNotStandStillForLongerThanALease(t *testing.T) {
	s := newHouse(t)
	var longest time.Duration
	err := s.Pool().QueryRow(s.ctx, `select current_setting($1)::interval`, idleSetting).Scan(&longest)
	if err != nil || longest <= 0 || longest > leaseOfJobs {
		t.Errorf("%v, %v: want at most the lease of %v", longest, err, leaseOfJobs)
	}
}

// What of the URL is for the pool is not for Postgres, whoever opens it.
func TestTheURLMayBoundThePool(t *testing.T) {
	u, err := url.Parse(pgtest.NewEmpty(t))
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("pool_max_conns", "2")
	u.RawQuery = q.Encode()
	if err := store.Migrate(t.Context(), u.String()); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n := s.Pool().Config().MaxConns; n != 2 {
		t.Errorf("the pool holds %d connections", n)
	}
}

func TestWhatATransactionLockedIsFreeWhenItStoodStillTooLong(t *testing.T) {
	u, err := url.Parse(pgtest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set(idleSetting, "300ms")
	u.RawQuery = q.Encode()
	s, err := store.Open(t.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	var here access.Scope
	err = s.InTx(t.Context(), func(tx *store.Tx) error {
		w, err := tx.CreateWorkspace(t.Context(), "here", "Here", "UTC")
		here = access.In(w.ID)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	locked, goOn := make(chan struct{}), make(chan struct{})
	stands := make(chan error, 1)
	go func() {
		stands <- s.InTx(t.Context(), func(tx *store.Tx) error {
			_, err := tx.LockWorkspace(t.Context(), here)
			close(locked)
			<-goOn
			return err
		})
	}()
	<-locked
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	err = s.InTx(ctx, func(tx *store.Tx) error {
		_, err := tx.LockWorkspace(ctx, here)
		return err
	})
	if err != nil {
		t.Errorf("what it locked stays locked: %v", err)
	}
	close(goOn)
	if err := <-stands; err == nil {
		t.Error("it committed all the same")
	}
}

func TestTheKeyIsNotForgottenWhileSomebodyIsIn(t *testing.T) {
	dsn := pgtest.New(t)
	running, err := store.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	if _, err := running.KeyFingerprint(t.Context(), bytes.Repeat([]byte{1}, 32)); err != nil {
		t.Fatal(err)
	}
	shell, err := store.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer shell.Close()
	if _, err := shell.ForgetKey(t.Context()); !errors.Is(err, store.ErrInUse) {
		t.Fatalf("while a process runs: %v", err)
	}
	running.Close()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) { // a backend takes a moment to end
		if _, err = shell.ForgetKey(t.Context()); err == nil || time.Now().After(end) {
			break
		}
	}
	if err != nil {
		t.Fatalf("when it has ended: %v", err)
	}
	if kept, err := shell.KeyFingerprint(t.Context(), bytes.Repeat([]byte{2}, 32)); err != nil || !bytes.Equal(kept, bytes.Repeat([]byte{2}, 32)) {
		t.Errorf("the next key is not taken: %q, %v", kept, err)
	}
}
