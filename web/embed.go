// Package web holds the built dashboard, so that one binary is all there is to
// install. Its sources are beside this file; `npm run build` fills dist.
package web

import (
	"embed"
	"io/fs"
)

// all: keeps dist/.keep in, which is what lets Go build before the dashboard is.
//
//go:embed all:dist
var files embed.FS

// Dist returns the built dashboard: index.html and assets/, whose names carry a
// hash of their content and may be cached for ever. Without a build it has no
// index.html.
func Dist() fs.FS {
	dist, err := fs.Sub(files, "dist")
	if err != nil { // only for an invalid path
		panic(err)
	}
	return dist
}
