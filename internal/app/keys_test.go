package app

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dogwatch/dogwatch/internal/config"
	"github.com/dogwatch/dogwatch/internal/testkit/pgtest"
	"github.com/dogwatch/dogwatch/internal/testkit/redistest"
)

// site is a database and a queue that processes are started on.
type site struct {
	t  *testing.T
	on dependencies
}

func newSite(t *testing.T) site {
	return site{t, dependencies{databaseURL: pgtest.New(t), redisURL: redistest.Mini(t)}}
}

// start puts a process together with a key; nil is for one of its own.
func (s site) start(role Role, key []byte) error {
	data := s.t.TempDir()
	cfg := config.Config{Data: data, BlobDir: filepath.Join(data, "blobs"), AdminEmail: "admin@localhost", Migrate: true, SecretKey: key}
	p, err := wire(context.Background(), cfg, role, Streams{Log: slog.New(slog.DiscardHandler)}, &s.on)
	if err == nil {
		p.close()
	}
	return err
}

func TestADatabaseIsUsedWithOneSecretKey(t *testing.T) {
	s := newSite(t)
	first, other := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	for _, role := range []Role{Worker, Server, Up} { // one that was there before keys were told apart is like a new one
		if err := s.start(role, first); err != nil {
			t.Fatalf("%s with the first key: %v", role, err)
		}
	}
	for _, role := range []Role{Worker, Server, Up} {
		for from, key := range map[string][]byte{"DOGWATCH_SECRET_KEY": other, secretKeyFile: nil} {
			err := s.start(role, key)
			var wrong *config.Error // exit code 2
			if !errors.As(err, &wrong) {
				t.Fatalf("%s with another key: %v", role, err)
			}
			for _, want := range []string{from + ": ", "another secret key", "dogwatch admin forget-key"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s is not told %q: %v", role, want, err)
				}
			}
			for _, key := range [][]byte{first, other} {
				if strings.Contains(err.Error(), hex.EncodeToString(key)) {
					t.Error("the message has the key")
				}
			}
		}
	}
	if err := s.start(Server, first); err != nil {
		t.Errorf("the first key, after others were refused: %v", err)
	}

	if _, err := ForgetKey(t.Context(), s.on.databaseURL); err != nil {
		t.Fatal(err)
	}
	if err := s.start(Server, other); err != nil {
		t.Errorf("another key, once the first is forgotten: %v", err)
	}
	if err := s.start(Server, first); err == nil {
		t.Error("the forgotten key still fits")
	}
}

func TestTheFingerprintIsNotTheKey(t *testing.T) {
	st, _, cfg := fresh(t)
	key := bytes.Repeat([]byte{7}, 32)
	if err := holdKey(t.Context(), st, cfg, key); err != nil {
		t.Fatal(err)
	}
	var kept []byte
	if err := st.Pool().QueryRow(t.Context(), `select fingerprint from key_fingerprint`).Scan(&kept); err != nil {
		t.Fatal(err)
	}
	if len(kept) != 32 || bytes.Equal(kept, key) {
		t.Errorf("kept is %x", kept)
	}
}

func TestOfSeveralKeysAtOnceOneIsTaken(t *testing.T) {
	st, _, cfg := fresh(t)
	var wg sync.WaitGroup
	taken := make(chan byte, 16)
	for i := range byte(cap(taken)) {
		wg.Go(func() {
			if holdKey(context.Background(), st, cfg, bytes.Repeat([]byte{i % 4}, 32)) == nil {
				taken <- i % 4
			}
		})
	}
	wg.Wait()
	close(taken)
	first, n := <-taken, 1
	for k := range taken {
		if n++; k != first {
			t.Errorf("both key %d and key %d were taken", first, k)
		}
	}
	if n != 4 {
		t.Errorf("%d of the four with that key were let in", n)
	}
}
