package steer

import (
	"encoding/json"

	"github.com/dogwatch/dogwatch/internal/base/errs"
)

// maxRichDepth is how deep an editor's document may be nested: lists in lists in
// tables come to a few dozen. Readers of JSON in other languages give up at a
// thousand, and one such task would take a whole list away from them.
const maxRichDepth = 100

// checkRich makes an editor's document storable: an object, written anew, so that
// no half of a surrogate pair is left in it, of which Postgres knows no text.
func checkRich(rich *json.RawMessage) error {
	if len(*rich) == 0 || string(*rich) == "null" {
		return nil
	}
	var doc map[string]any
	if err := json.Unmarshal(*rich, &doc); err != nil {
		return errs.BadField("body.instructionRich", "invalid", nil, "instructionRich is the editor's document, an object.")
	}
	if depth(doc) > maxRichDepth {
		return errs.BadField("body.instructionRich", "invalid", nil, "The document is nested more than %d deep.", maxRichDepth)
	}
	var err error
	*rich, err = json.Marshal(doc)
	return err
}

func depth(v any) int {
	deepest := 0
	switch v := v.(type) {
	case map[string]any:
		for _, item := range v {
			deepest = max(deepest, depth(item))
		}
	case []any:
		for _, item := range v {
			deepest = max(deepest, depth(item))
		}
	default:
		return 0
	}
	return deepest + 1
}
