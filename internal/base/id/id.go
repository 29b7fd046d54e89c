// Package id makes identifiers: UUIDs of version 7 (RFC 9562), so that rows sort
// by the time they were made and an index grows at its end.
package id

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"sync"
	"time"
)

var last struct {
	sync.Mutex
	stamp uint64 // milliseconds << 12 | counter
}

// New returns a new UUIDv7. Two calls in one process return ascending ids, also
// within a millisecond: the 12 bits below the time count on.
func New() string {
	last.Lock()
	stamp := max(uint64(time.Now().UnixMilli())<<12, last.stamp+1)
	last.stamp = stamp
	last.Unlock()

	var b [16]byte
	rand.Read(b[8:]) // never fails: crypto/rand ends the process instead
	binary.BigEndian.PutUint64(b[:8], stamp>>12<<16|0x7000|stamp&0xfff)
	b[8] = b[8]&0x3f | 0x80
	var s [36]byte
	hex.Encode(s[0:8], b[0:4])
	hex.Encode(s[9:13], b[4:6])
	hex.Encode(s[14:18], b[6:8])
	hex.Encode(s[19:23], b[8:10])
	hex.Encode(s[24:36], b[10:16])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}

// Valid reports whether s is spelled as a UUID: 36 characters, lower or upper case.
func Valid(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
		default:
			return false
		}
	}
	return true
}

// Secret returns n random bytes as text that is safe in a URL.
func Secret(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}
