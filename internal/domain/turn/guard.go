package turn

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"github.com/dogwatch/dogwatch/internal/domain/operation"
)

// The loop guard counts equal calls of one operation: a model that asks for the same
// thing ten times does not look at what it gets. The bounds are those of the
// reference; that a loop ends the run is ours, since a model that is only told of it
// goes on until its steps are used up.
const (
	WarnAt      = 10 // from here on an equal call is not made, and the model is told
	StopAt      = 20 // from here on the next answer is the last
	maxFailures = 3  // so many equal calls that failed let the next answer be the last too
)

// Digest is what makes two calls equal: name and arguments, in which the order of
// keys and blanks do not count, and everything else does. Arguments that are not JSON
// have none: they are refused before anything is called, and are not counted.
func Digest(c ToolCall) (string, bool) {
	d := json.NewDecoder(bytes.NewReader([]byte(c.Arguments)))
	d.UseNumber() // 2 and 2.0 may be two things to a tool; 2 and "2" are
	var args any
	if err := d.Decode(&args); err != nil {
		return "", false
	}
	if _, err := d.Token(); err != io.EOF {
		return "", false
	}
	canonical, err := json.Marshal(args) // sorts the keys of objects
	if err != nil {
		return "", false
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%s", len(c.Name), c.Name, canonical))
	return hex.EncodeToString(sum[:]), true
}

// Made is what an operation did before a call: how many calls equal to it there were,
// and how many of them failed.
type Made struct{ Equal, Failed int }

// Guarded is the guard's answer to a call that is not made.
type Guarded struct {
	Result  string // for the model
	IsError bool
}

// Guard says what a call is answered instead of being made; nil: it is made.
func Guard(before Made) *Guarded {
	n := before.Equal + 1
	switch {
	case n < WarnAt:
		return nil
	case n < StopAt:
		return &Guarded{Result: fmt.Sprintf(`{"ok":false,"warning":{"code":"REPEATED_TOOL_CALL","count":%d,"retryable":true,`+
			`"message":"You made this very call %d times before. It was not made again: its answer is above. Do something else, or write your report."}}`, n, n-1)}
	}
	return &Guarded{IsError: true, Result: fmt.Sprintf(`{"ok":false,"error":{"code":"TOOL_LOOP_DETECTED","attempts":%d,"retryable":false,`+
		`"message":"You made this very call %d times. You can call no more tools."}}`, n, n)}
}

// Closing says whether a call lets the next answer be the last, after it was made or
// was not: nil when it does not.
func Closing(before Made, failed bool) *Final {
	switch {
	case before.Equal+1 >= StopAt:
		return &Final{operation.ReasonError, operation.DetailLoop}
	case failed && before.Failed+1 >= maxFailures:
		return &Final{operation.ReasonDone, operation.DetailLoop} // the model says itself how far it came
	}
	return nil
}
