// Package text knows what is no text although JSON has a spelling for it.
package text

import "strings"

// Clean returns s with U+FFFD in place of what is no text: bytes that are not UTF-8,
// and U+0000.
func Clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// HoldsNUL reports whether a decoded JSON value holds the character U+0000, in a
// string or a key. Postgres keeps none.
func HoldsNUL(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.ContainsRune(v, 0)
	case []any:
		for _, item := range v {
			if HoldsNUL(item) {
				return true
			}
		}
	case map[string]any:
		for k, item := range v {
			if strings.ContainsRune(k, 0) || HoldsNUL(item) {
				return true
			}
		}
	}
	return false
}
