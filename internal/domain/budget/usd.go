// Package budget says what a run may still spend, and what a price is.
package budget

import (
	"database/sql/driver"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// USD is an amount of money in billionths of a dollar. A price per million
// tokens has at most a few decimals, so sums of it are exact; a float would
// drift over a year of heartbeats. An amount that is not known is a nil *USD,
// never zero.
type USD int64

// Dollar is one US dollar.
const Dollar USD = 1_000_000_000

// ParseUSD reads a decimal number of dollars. Digits beyond the ninth decimal
// are rounded to nearest.
func ParseUSD(s string) (USD, error) {
	s = strings.TrimSpace(s)
	// big.Rat reads fractions, exponents and prefixes such as 0b too; an amount
	// has digits, a point and a sign. A long one costs quadratic time.
	if len(s) > 64 || strings.Trim(s, "0123456789.+-") != "" {
		return 0, fmt.Errorf("%.64q is not a decimal number of dollars", s)
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return 0, fmt.Errorf("%q is not a decimal number of dollars", s)
	}
	r.Mul(r, big.NewRat(int64(Dollar), 1))
	half := big.NewRat(int64(r.Sign()), 2)
	r.Add(r, half)
	n := new(big.Int).Quo(r.Num(), r.Denom())
	if !n.IsInt64() {
		return 0, fmt.Errorf("%s dollars are more than can be counted", s)
	}
	return USD(n.Int64()), nil
}

// String returns u as a decimal number of dollars without trailing zeros.
func (u USD) String() string {
	sign, n := "", uint64(u)
	if u < 0 {
		sign, n = "-", -n // unsigned, so that the smallest amount has a positive too
	}
	s := fmt.Sprintf("%s%d.%09d", sign, n/uint64(Dollar), n%uint64(Dollar))
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// MarshalJSON writes u as a JSON number of dollars, the form of `costUsd`.
func (u USD) MarshalJSON() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalJSON reads a JSON number of dollars. Programs write small numbers
// with an exponent (1e-7), so that form is read here too.
func (u *USD) UnmarshalJSON(b []byte) (err error) {
	s := string(b)
	if s == "null" {
		return nil // as encoding/json asks of an Unmarshaler
	}
	if strings.ContainsAny(s, "eE") {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return fmt.Errorf("%.64q is not a number of dollars", s)
		}
		s = strconv.FormatFloat(f, 'f', 9, 64)
	}
	*u, err = ParseUSD(s)
	return err
}

// UnmarshalYAML reads a number of dollars, as `config/prices.yaml` writes it.
func (u *USD) UnmarshalYAML(unmarshal func(any) error) error {
	var s string
	if err := unmarshal(&s); err != nil {
		return err
	}
	var err error
	*u, err = ParseUSD(s)
	return err
}

// Value stores u as a numeric.
func (u USD) Value() (driver.Value, error) { return u.String(), nil }

// Scan reads a numeric.
func (u *USD) Scan(v any) (err error) {
	switch v := v.(type) {
	case string:
		*u, err = ParseUSD(v)
	case []byte:
		*u, err = ParseUSD(string(v))
	case int64:
		*u = USD(v) * Dollar
	case float64:
		*u, err = ParseUSD(fmt.Sprintf("%.9f", v))
	default:
		err = fmt.Errorf("cannot read %T as dollars", v)
	}
	return err
}
