package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"
)

// Postgres keeps any text but the character U+0000, and no bytes that are no
// UTF-8. Both are refused where they come in.

var errNUL = errors.New("the character U+0000 is no text")

// readJSON reads a body.
func readJSON(data []byte, v any) error {
	if bytes.Contains(data, []byte(`\u0000`)) { // which may also be a backslash before the letters
		var parsed any
		if err := json.Unmarshal(data, &parsed); err != nil {
			return err
		}
		if holdsNUL(parsed) {
			return errNUL
		}
	}
	return json.Unmarshal(data, v)
}

func holdsNUL(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.ContainsRune(v, 0)
	case []any:
		for _, item := range v {
			if holdsNUL(item) {
				return true
			}
		}
	case map[string]any:
		for k, item := range v {
			if strings.ContainsRune(k, 0) || holdsNUL(item) {
				return true
			}
		}
	}
	return false
}

// textual reports whether path and query are text once they are decoded.
func textual(r *http.Request) bool {
	text := func(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
	if !text(r.URL.Path) {
		return false
	}
	if !strings.Contains(r.URL.RawQuery, "%") {
		return text(r.URL.RawQuery)
	}
	for k, values := range r.URL.Query() {
		for _, v := range append(values, k) {
			if !text(v) {
				return false
			}
		}
	}
	return true
}
