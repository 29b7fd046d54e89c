// Package examples holds the worked example that `dogwatch demo` loads: a night
// at the support desk of a shop that sells espresso machines. The shop, its
// people and its readings are made up.
package examples

import (
	"embed"
	"io/fs"
)

//go:embed night
var files embed.FS

// Night returns the batches of the example as directories, in the order in which
// they arrive. A file of a later batch replaces the one of the same name.
func Night() fs.FS {
	night, err := fs.Sub(files, "night")
	if err != nil { // only for an invalid path
		panic(err)
	}
	return night
}
