package httpapi

import (
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

// notBuilt is what there is to see without a dashboard.
const notBuilt = `<!doctype html><meta charset="utf-8"><title>Dogwatch</title>
<h1>Dogwatch is running</h1>
<p>This binary was built without the dashboard. Run <code>make build</code>, or use the
<a href="/api/docs">API</a> and the <code>dogwatch</code> command.</p>
`

// dashboard serves the built files. What is no file is the dashboard's own
// address, of which only its script knows what it shows.
func dashboard(files fs.FS) http.Handler {
	var index []byte
	if files != nil {
		index, _ = fs.ReadFile(files, "index.html") // none when it was not built
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			problem(http.StatusMethodNotAllowed, "", "There is nothing here to do this with.").write(w)
			return
		}
		name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
		if files != nil && serveFile(w, r, files, name) {
			return
		}
		if name != "index.html" && path.Ext(name) != "" && !strings.Contains(r.Header.Get("Accept"), "text/html") {
			// A script that is no longer there is not answered with a page.
			problem(http.StatusNotFound, "", "There is no such file.").write(w)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-cache")
		page := index
		if page == nil {
			page = []byte(notBuilt)
		}
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(page)))
	})
}

func serveFile(w http.ResponseWriter, r *http.Request, files fs.FS, name string) bool {
	if name == "" || name == "index.html" || !fs.ValidPath(name) || strings.HasPrefix(path.Base(name), ".") {
		return false
	}
	packed := false
	f, err := files.Open(name + ".gz") // made when the dashboard is built
	if packed = err == nil && acceptsGzip(r); !packed {
		if err == nil {
			f.Close()
		}
		f, err = files.Open(name)
	}
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	content, ok := f.(io.ReadSeeker)
	if err != nil || info.IsDir() || !ok {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Accept-Encoding")
	if packed {
		h.Set("Content-Encoding", "gzip")
		h.Set("Content-Type", mime.TypeByExtension(path.Ext(name))) // else it is told from the packed bytes
	}
	h.Set("Cache-Control", "no-cache")
	if strings.HasPrefix(name, "assets/") { // their names carry a hash of their content
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, name, info.ModTime(), content)
	return true
}

// acceptsGzip reports whether the client takes gzip, and has not said that it does not.
func acceptsGzip(r *http.Request) bool {
	for _, part := range strings.Split(r.Header.Get("Accept-Encoding"), ",") {
		coding, q, _ := strings.Cut(strings.ReplaceAll(part, " ", ""), ";q=")
		if strings.EqualFold(coding, "gzip") {
			return strings.Trim(q, "0.") != "" || q == ""
		}
	}
	return false
}
