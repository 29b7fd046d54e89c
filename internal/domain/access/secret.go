package access

import "crypto/sha256"

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
