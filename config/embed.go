// Package config holds the files of configuration that are built into the
// binary, so that it runs without any beside it.
package config

import _ "embed"

// Prices is the price list that is used when the operator has none of their own.
//
//go:embed prices.yaml
var Prices []byte
