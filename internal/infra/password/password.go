// Package password turns passwords into what is stored of them, and compares.
package password

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// argon2id at the second of the settings that OWASP's cheat sheet on password
// storage calls equal: 19 MiB, two passes, one lane. Some 20 ms on a small machine.
const (
	memoryKiB = 19 * 1024
	passes    = 2
	lanes     = 1
	keyBytes  = 32
	saltBytes = 16
)

// Lengths of a password, in bytes. Long sentences are welcome; a megabyte is not.
const (
	Min = 10
	Max = 512
)

// slots bounds how many are computed at once: a crowd at the sign-in page costs
// time, not the machine's memory.
var slots = make(chan struct{}, 2)

func key(ctx context.Context, password string, salt []byte, memory, passes uint32, lanes uint8, n uint32) ([]byte, error) {
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait to hash a password: %w", ctx.Err())
	}
	return argon2.IDKey([]byte(password), salt, passes, memory, lanes, n), nil
}

// Hash returns what is stored of a password, in the PHC string format, so that
// the settings can change and old hashes still be read.
func Hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, saltBytes)
	rand.Read(salt) // never fails: crypto/rand ends the process instead
	k, err := key(ctx, password, salt, memoryKiB, passes, lanes, keyBytes)
	if err != nil {
		return "", err
	}
	b64 := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, memoryKiB, passes, lanes, b64(salt), b64(k)), nil
}

// Matches reports whether a hash is of a password. A hash that cannot be read
// matches nothing. It takes as long for no hash at all, so that the time of an
// answer does not tell which accounts exist.
func Matches(ctx context.Context, hash, password string) (bool, error) {
	if hash == "" {
		_, err := key(ctx, password, make([]byte, saltBytes), memoryKiB, passes, lanes, keyBytes)
		return false, err
	}
	h, ok := parse(hash)
	if !ok {
		return false, nil
	}
	got, err := key(ctx, password, h.salt, h.memory, h.passes, h.lanes, uint32(len(h.key)))
	return err == nil && subtle.ConstantTimeCompare(got, h.key) == 1, err
}

// stored is what Hash wrote.
type stored struct {
	memory, passes uint32
	lanes          uint8
	salt, key      []byte
}

// parse reads a hash in the PHC string format; false for what argon2 cannot
// compute again.
func parse(hash string) (h stored, ok bool) {
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return h, false
	}
	var version int
	if _, err := fmt.Sscanf(parts[2], "v=%d", &version); err != nil || version != argon2.Version {
		return h, false
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &h.memory, &h.passes, &h.lanes); err != nil || h.passes < 1 || h.lanes < 1 {
		return h, false
	}
	var err, err2 error
	h.salt, err = base64.RawStdEncoding.DecodeString(parts[4])
	h.key, err2 = base64.RawStdEncoding.DecodeString(parts[5])
	return h, err == nil && err2 == nil && len(h.key) > 0
}
