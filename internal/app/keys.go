package app

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dogwatch/dogwatch/internal/config"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

const secretKeyFile = "secret-key"

// secretKey returns the key that seals secrets: the configured one, else the one
// in the data directory, which the first who needs it makes.
func secretKey(cfg config.Config) ([]byte, error) {
	if cfg.SecretKey != nil {
		return cfg.SecretKey, nil
	}
	path := filepath.Join(cfg.Data, secretKeyFile)
	key := make([]byte, 32)
	rand.Read(key) // never fails: crypto/rand ends the process instead
	if err := createPrivate(path, hex.EncodeToString(key)+"\n"); err == nil {
		return key, nil
	} else if !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the secret key: %w", err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the secret key: %w", err)
	}
	key, ok := config.ParseSecretKey(strings.TrimSpace(string(b)))
	if !ok {
		return nil, fmt.Errorf("%s does not hold a key of 32 bytes; try: put it back from a backup; if there is none, remove it and run `dogwatch admin forget-key`", path)
	}
	return key, nil
}

// fingerprinted is what is signed for a fingerprint: nobody else signs it.
const fingerprinted = "dogwatch: fingerprint of the secret key"

// fingerprint tells one key from another, and says nothing else of it.
func fingerprint(key []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(fingerprinted))
	return mac.Sum(nil)
}

// holdKey makes sure that the database is used with the key that it was first used
// with: with another one nothing could be opened that was sealed before, and of two
// processes with different keys each would refuse what the other signed.
func holdKey(ctx context.Context, st *store.Store, cfg config.Config, key []byte) error {
	mine := fingerprint(key)
	kept, err := st.KeyFingerprint(ctx, mine)
	if err != nil || hmac.Equal(kept, mine) {
		return err
	}
	from := filepath.Join(cfg.Data, secretKeyFile)
	if cfg.SecretKey != nil {
		from = "DOGWATCH_SECRET_KEY"
	}
	return &config.Error{Problems: []config.Problem{{Key: from, Allowed: "this database is used with another secret key; try: " +
		"DOGWATCH_SECRET_KEY with that key, or the file " + secretKeyFile + " from the data directory that it was first started with. " +
		"If that key is lost, stop every process of this instance and run `dogwatch admin forget-key`: the next start brings the new one, and what was sealed with the old one has to be entered again"}}}
}

// ForgetKey lets the next start on the database bring another secret key. It returns
// how many secrets nobody can open any more without the old one.
func ForgetKey(ctx context.Context, databaseURL string) (sealed int, err error) {
	st, err := openStore(ctx, databaseURL)
	if err != nil {
		return 0, err
	}
	defer st.Close()
	return st.ForgetKey(ctx)
}

// writePrivate puts a file that only its owner reads in its place at once, so
// that no reader meets half of it.
func writePrivate(path, content string) error {
	tmp, err := writeBeside(path, content)
	if err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// createPrivate does the same unless there is a file already (fs.ErrExist).
func createPrivate(path, content string) error {
	tmp, err := writeBeside(path, content)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp) }() // one that stays is private, and nobody looks for it
	return os.Link(tmp, path)
}

// writeBeside writes a private file in the directory of path and returns its name.
func writeBeside(path, content string) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}
