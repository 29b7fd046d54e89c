package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"
)

// What does not fit is refused by the contract, which knows where it is and what is
// expected there. What it lets through fits the handler's types, so that nobody meets
// the words of the language that they are written in.

// wholest is the largest whole number that JSON carries without a doubt: beyond it
// programs that keep numbers as floating point read another one.
const wholest = 1<<53 - 1

// boundNumbers gives every whole number of a request body its bounds, where the
// field does not say its own.
func boundNumbers(api *huma.OpenAPI) {
	seen := map[*huma.Schema]bool{}
	var bound func(s *huma.Schema)
	bound = func(s *huma.Schema) {
		if s != nil && s.Ref != "" {
			s = api.Components.Schemas.SchemaFromRef(s.Ref)
		}
		if s == nil || seen[s] {
			return
		}
		seen[s] = true
		if s.Type == huma.TypeInteger {
			least, most := float64(-wholest), float64(wholest)
			if s.Minimum == nil && s.ExclusiveMinimum == nil {
				s.Minimum = &least
			}
			if s.Maximum == nil && s.ExclusiveMaximum == nil {
				s.Maximum = &most
			}
			s.PrecomputeMessages()
		}
		bound(s.Items)
		for _, p := range s.Properties {
			bound(p)
		}
		for _, forms := range [][]*huma.Schema{s.OneOf, s.AnyOf, s.AllOf} {
			for _, form := range forms {
				bound(form)
			}
		}
	}
	for _, path := range api.Paths {
		for _, op := range []*huma.Operation{path.Post, path.Put, path.Patch, path.Delete} {
			if op == nil || op.RequestBody == nil {
				continue
			}
			for _, content := range op.RequestBody.Content {
				bound(content.Schema)
			}
		}
	}
}

// sayInWords words what the validator finds. %.0s leaves out the reason that a
// library gives in its own words.
func sayInWords() {
	validation.MsgUnexpectedProperty = "there is no such field"
	validation.MsgExpectedRequiredProperty = "the field %s is missing"
	validation.MsgExpectedString = "expected text"
	validation.MsgExpectedNumber = "expected a number"
	validation.MsgExpectedInteger = "expected a whole number"
	validation.MsgExpectedBoolean = "expected true or false"
	validation.MsgExpectedArray = "expected a list"
	validation.MsgExpectedObject = "expected an object"
	validation.MsgExpectedOneOf = "expected one of %s"
	validation.MsgExpectedMinimumNumber = "expected a number of at least %.16g"
	validation.MsgExpectedMaximumNumber = "expected a number of at most %.16g"
	validation.MsgExpectedMinLength = "expected text of at least %d characters"
	validation.MsgExpectedMaxLength = "expected text of at most %d characters"
	validation.MsgExpectedMinItems = "expected a list of at least %d"
	validation.MsgExpectedMaxItems = "expected a list of at most %d"
	validation.MsgExpectedMatchExactlyOneSchema = "expected one of the forms that this field takes"
	validation.MsgExpectedRFC3339DateTime = "expected a time such as 2026-01-31T07:00:00Z"
	validation.MsgExpectedRFC4122UUID = "expected an id, which is a UUID%.0s"
	validation.MsgExpectedRFC5322Email = "expected an e-mail address%.0s"
}

// readAny reads JSON for the validator. A number that has no end in sight is the
// largest there is: the field that it stands in refuses it.
func readAny(data []byte, v *any) error {
	err := json.Unmarshal(data, v)
	if !tooLarge(err) {
		return inWords(err)
	}
	parsed, err := numbers(data)
	if err != nil {
		return inWords(err)
	}
	*v = eachNumber(parsed, func(n json.Number) any {
		f, err := n.Float64()
		if err != nil {
			f = math.Copysign(math.MaxFloat64, f)
		}
		return f
	})
	return nil
}

// readInto reads JSON that the validator has seen. A whole number may be written as
// 1.0 or 1e3, which Go's integers do not read.
func readInto(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if !tooLarge(err) {
		return inWords(err)
	}
	parsed, err := numbers(data)
	if err != nil {
		return inWords(err)
	}
	data, err = json.Marshal(eachNumber(parsed, func(n json.Number) any {
		if f, err := n.Float64(); err == nil && f == math.Trunc(f) && math.Abs(f) <= wholest {
			return json.Number(strconv.FormatInt(int64(f), 10))
		}
		return n
	}))
	if err != nil {
		return fmt.Errorf("write numbers anew: %w", err)
	}
	reflect.ValueOf(v).Elem().SetZero() // what the first try has left
	return inWords(json.Unmarshal(data, v))
}

// tooLarge reports whether a number did not fit, or not as it is written.
func tooLarge(err error) bool {
	var e *json.UnmarshalTypeError
	return errors.As(err, &e) && strings.HasPrefix(e.Value, "number ")
}

// numbers reads JSON with its numbers as they are written.
func numbers(data []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return v, d.Decode(&v)
}

// eachNumber puts what f makes of each number in its place.
func eachNumber(v any, f func(json.Number) any) any {
	switch v := v.(type) {
	case json.Number:
		return f(v)
	case map[string]any:
		for k := range v {
			v[k] = eachNumber(v[k], f)
		}
	case []any:
		for i := range v {
			v[i] = eachNumber(v[i], f)
		}
	}
	return v
}

// inWords says what is wrong with JSON without the words of the library. Errors of
// our own types are in our words.
func inWords(err error) error {
	var (
		syntax *json.SyntaxError
		misfit *json.UnmarshalTypeError
	)
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("it is not JSON, from its byte %d on", syntax.Offset)
	case errors.As(err, &misfit):
		kind, _, _ := strings.Cut(misfit.Value, " ") // such as "number 1.5"
		return fmt.Errorf("a value (%s) has another type than its field", kind)
	}
	return err
}
