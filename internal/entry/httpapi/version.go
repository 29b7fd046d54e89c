package httpapi

import (
	"strconv"
	"strings"

	"github.com/dogwatch/dogwatch/internal/base/errs"
)

// etag is the version of a resource as a header says it.
func etag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// expected returns the version that a change was made on: what If-Match says,
// else the body, else nil for whichever there is. A tag that is not one of ours
// matches no version.
func expected(ifMatch string, body *int64) *int64 {
	ifMatch = strings.TrimSpace(ifMatch)
	switch ifMatch {
	case "":
		return body
	case "*":
		return nil
	}
	none := int64(-1)
	tag, ok := strings.CutPrefix(strings.TrimPrefix(ifMatch, "W/"), `"`)
	tag, ok2 := strings.CutSuffix(tag, `"`)
	n, err := strconv.ParseInt(tag, 10, 64)
	if !ok || !ok2 || err != nil {
		return &none
	}
	return &n
}

// nullField is a field of a merge patch, whatever it holds.
type nullField interface{ isNull() bool }

func (m Maybe[T]) isNull() bool { return m.Set && m.V == nil }

// notNull refuses null for fields that cannot be cleared; they come as name and
// field in turn.
func notNull(nameAndField ...any) error {
	for i := 0; i < len(nameAndField); i += 2 {
		if nameAndField[i+1].(nullField).isNull() {
			return errs.BadField("body."+nameAndField[i].(string), "invalid", nil, "This cannot be cleared. Leave it out to keep it.")
		}
	}
	return nil
}
