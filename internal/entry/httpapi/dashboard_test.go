package httpapi

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

func TestTheDashboardComesPackedToWhoTakesIt(t *testing.T) {
	var packed strings.Builder
	z := gzip.NewWriter(&packed)
	io.WriteString(z, "export const a = 1")
	z.Close()
	files := fstest.MapFS{
		"index.html":          {Data: []byte("<!doctype html>")},
		"assets/a-1234.js":    {Data: []byte("export const a = 1")},
		"assets/a-1234.js.gz": {Data: []byte(packed.String())},
		"favicon.svg":         {Data: []byte("<svg/>")},
	}
	for _, c := range []struct {
		name, path, accepts, encoding, contentType string
	}{
		{"a browser", "/assets/a-1234.js", "gzip, deflate, br", "gzip", "javascript"},
		{"a plain client", "/assets/a-1234.js", "", "", "javascript"},
		{"one that refuses it", "/assets/a-1234.js", "gzip;q=0, identity", "", "javascript"},
		{"one that takes it at need", "/assets/a-1234.js", "br, gzip;q=0.5", "gzip", "javascript"},
		{"a file without a twin", "/favicon.svg", "gzip", "", "svg"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, c.path, nil)
			r.Header.Set("Accept-Encoding", c.accepts)
			w := httptest.NewRecorder()
			dashboard(files).ServeHTTP(w, r)
			h := w.Header()
			if w.Code != 200 || h.Get("Content-Encoding") != c.encoding || !strings.Contains(h.Get("Content-Type"), c.contentType) || h.Get("Vary") != "Accept-Encoding" {
				t.Errorf("%d %v", w.Code, h)
			}
			if c.encoding == "gzip" && w.Body.String() != packed.String() {
				t.Error("it is not the packed file")
			}
		})
	}
}
