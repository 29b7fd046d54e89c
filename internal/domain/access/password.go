package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// argon2id at the second of the settings that OWASP's cheat sheet on password
// storage calls equal: 19 MiB, two passes, one lane. Some 20 ms on a small machine.
const (
	argonMemoryKiB = 19 * 1024
	argonPasses    = 2
	argonLanes     = 1
	argonKeyBytes  = 32
	// SaltBytes is how much randomness HashPassword wants.
	SaltBytes = 16
)

// Lengths of a password, in bytes. Long sentences are welcome; a megabyte is not.
const (
	MinPassword = 10
	MaxPassword = 512
)

// HashPassword returns what is stored of a password, in the PHC string format,
// so that the settings can change and old hashes still be read.
func HashPassword(password string, salt []byte) string {
	key := argon2.IDKey([]byte(password), salt, argonPasses, argonMemoryKiB, argonLanes, argonKeyBytes)
	b64 := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemoryKiB, argonPasses, argonLanes, b64(salt), b64(key))
}

// PasswordMatches reports whether a hash is of a password. A hash that cannot be
// read matches nothing.
func PasswordMatches(hash, password string) bool {
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false
	}
	var version int
	var memory, passes uint32
	var lanes uint8
	if _, err := fmt.Sscanf(parts[2], "v=%d", &version); err != nil || version != argon2.Version {
		return false
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &passes, &lanes); err != nil || passes < 1 || lanes < 1 {
		return false
	}
	salt, err := base64.RawStdEncoding.DecodeString(parts[4])
	key, err2 := base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil || err2 != nil || len(key) == 0 {
		return false
	}
	got := argon2.IDKey([]byte(password), salt, passes, memory, lanes, uint32(len(key)))
	return subtle.ConstantTimeCompare(got, key) == 1
}

// TokenPrefix begins every API token, so that scanners of leaked secrets find them.
const TokenPrefix = "dw_"

// shownOfToken is how much of a token is kept to tell it apart.
const shownOfToken = len(TokenPrefix) + 6

// Shown returns the part of a token by which people tell it from others.
func Shown(token string) string { return token[:min(len(token), shownOfToken)] }

// HashSecret returns what is stored of a session's cookie, a token or a sign-in
// link. They are random and long, so that a plain hash cannot be guessed.
func HashSecret(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
