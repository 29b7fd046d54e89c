package app

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dogwatch/dogwatch/internal/config"
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
		return nil, fmt.Errorf("%s does not hold a key of 32 bytes; try: put it back from a backup, or remove it and enter every secret again", path)
	}
	return key, nil
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
