// Package migrations embeds the schema. Each file is one forward step; the whole
// list, in order, is the only way the schema comes to be.
package migrations

import "embed"

// FS holds the SQL files in goose's format.
//
//go:embed *.sql
var FS embed.FS
