package httpapi

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/dogwatch/dogwatch/internal/base/text"
)

// Postgres keeps any text but the character U+0000, and no bytes that are no
// UTF-8. Both are refused where they come in.

var (
	errNUL     = errors.New("the character U+0000 is no text")
	errNotUTF8 = errors.New("it is not UTF-8")
)

// readJSON reads a body: into an any, which the validator looks at, then into the
// type of the handler.
func readJSON(data []byte, v any) error {
	if !utf8.Valid(data) {
		return errNotUTF8
	}
	parsed, forValidator := v.(*any)
	if !forValidator {
		return readInto(data, v)
	}
	if err := readAny(data, parsed); err != nil {
		return err
	}
	if bytes.Contains(data, []byte(`\u0000`)) && text.HoldsNUL(*parsed) { // which may also be a backslash before the letters
		return errNUL
	}
	return nil
}

// textual reports whether path and query are text once they are decoded.
func textual(r *http.Request) bool {
	isText := func(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
	if !isText(r.URL.Path) {
		return false
	}
	if !strings.Contains(r.URL.RawQuery, "%") {
		return isText(r.URL.RawQuery)
	}
	for k, values := range r.URL.Query() {
		for _, v := range append(values, k) {
			if !isText(v) {
				return false
			}
		}
	}
	return true
}
