package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// File is something that was uploaded.
type File struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	MediaType string `json:"mediaType"`
	Size      int64  `json:"size"`
	SHA256    string `json:"sha256"`
	CreatedBy Actor  `json:"createdBy"`
	CreatedAt Time   `json:"createdAt"`
}

func fileOf(f store.File) File {
	return File{f.ID, f.Name, f.MediaType, f.Size, f.SHA256, actorOf(f.CreatedBy()), Time{f.CreatedAt}}
}

const (
	mib        = 1 << 20
	uploadTime = 15 * time.Minute
)

// fileLimits are the types that may be uploaded, with how large each may be: what
// an agent can read, and what people attach to say what they mean. A type that
// ends in a slash stands for all of its kind.
var fileLimits = []struct {
	mediaType string
	bytes     int64
}{
	{"text/", 64 * mib},
	{"application/json", 64 * mib},
	{"application/x-ndjson", 64 * mib},
	{"application/xml", 64 * mib},
	{"application/yaml", 64 * mib},
	{"application/pdf", 64 * mib},
	{"image/png", 16 * mib},
	{"image/jpeg", 16 * mib},
	{"image/gif", 16 * mib},
	{"image/webp", 16 * mib},
	{"application/zip", 128 * mib},
	{"application/gzip", 128 * mib},
	{"application/vnd.openxmlformats-officedocument.", 64 * mib},
	{"application/vnd.oasis.opendocument.", 64 * mib},
}

// byExtension names types that neither the content nor the system tells.
var byExtension = map[string]string{
	".md": "text/markdown", ".csv": "text/csv", ".tsv": "text/tab-separated-values", ".json": "application/json", ".ndjson": "application/x-ndjson",
	".jsonl": "application/x-ndjson", ".xml": "application/xml", ".yaml": "application/yaml", ".yml": "application/yaml", ".log": "text/plain",
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	".odt":  "application/vnd.oasis.opendocument.text", ".ods": "application/vnd.oasis.opendocument.spreadsheet",
}

type fileOut struct{ Body File }

// Request hands a handler the request itself, for what is streamed.
type Request struct{ ctx huma.Context }

// Resolve is called by huma before the handler.
func (r *Request) Resolve(ctx huma.Context) []error {
	r.ctx = ctx
	return nil
}

type uploadIn struct{ Request }

func (s *Server) fileRoutes() {
	add(s, route{method: "POST", path: "/files", name: "uploadFile", noun: "files", role: access.Operator, status: 201, time: uploadTime, does: "Upload a file, as multipart/form-data with one part named file"}, s.upload)
	// For the document only: the body is read as it comes, not by huma.
	s.api.OpenAPI().Paths["/files"].Post.RequestBody = &huma.RequestBody{
		Required: true,
		Content: map[string]*huma.MediaType{"multipart/form-data": {Schema: &huma.Schema{
			Type: huma.TypeObject, Properties: map[string]*huma.Schema{"file": {Type: huma.TypeString, Format: "binary", Description: "The bytes; the name that comes with them is kept"}}, Required: []string{"file"},
		}}},
	}
	add(s, route{method: "GET", path: "/files/{id}", name: "getFile", noun: "files", role: access.Viewer, time: uploadTime, does: "Download a file"},
		func(ctx context.Context, in *ByID) (*huma.StreamResponse, error) {
			f, err := s.Store.File(ctx, caller(ctx).Scope, in.ID)
			if err != nil {
				return nil, err
			}
			content, err := s.Blobs.Open(ctx, f.SHA256)
			if err != nil {
				return nil, err
			}
			return &huma.StreamResponse{Body: func(hc huma.Context) {
				defer content.Close()
				e := humaecho.Unwrap(hc)
				h := e.Response().Header()
				h.Set("Content-Type", f.MediaType)
				// Whatever it is, it is no page of ours.
				h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": f.Name}))
				h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
				h.Set("ETag", `"`+f.SHA256+`"`)
				http.ServeContent(e.Response(), e.Request(), "", f.CreatedAt, content)
			}}, nil
		})
}

func (s *Server) upload(ctx context.Context, in *uploadIn) (*fileOut, error) {
	r := humaecho.Unwrap(in.ctx).Request()
	if t, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); t != "multipart/form-data" {
		return nil, problem(http.StatusUnsupportedMediaType, "", "Send the file as multipart/form-data, in a part named file.")
	}
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, errs.New(errs.Malformed, "invalid", "The multipart body cannot be read.")
	}
	part, err := parts.NextPart()
	if errors.Is(err, io.EOF) {
		return nil, errs.BadField("body.file", "invalid", nil, "There is no part named file.")
	}
	if err != nil {
		return nil, errs.New(errs.Malformed, "invalid", "The multipart body broke off.")
	}
	if part.FormName() != "file" {
		return nil, errs.BadField("body."+part.FormName(), "invalid", nil, "There is no field %q.", part.FormName())
	}
	return s.keep(ctx, part.FileName(), part, func() error {
		switch more, err := parts.NextPart(); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return errs.New(errs.Malformed, "invalid", "The multipart body broke off.")
		case more.FormName() == "file":
			return errs.BadField("body.file", "invalid", nil, "Send one file at a time.")
		default:
			return errs.BadField("body."+more.FormName(), "invalid", nil, "There is no field %q.", more.FormName())
		}
	})
}

// keep stores an upload: the bytes first, then, when that was all that was sent, the row
// that names them.
func (s *Server) keep(ctx context.Context, name string, content io.Reader, all func() error) (*fileOut, error) {
	name, err := fileName(name)
	if err != nil {
		return nil, err
	}
	head := make([]byte, 512) // as many as the sniffer looks at
	n, err := io.ReadFull(content, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errs.New(errs.Malformed, "invalid", "The file broke off.")
	}
	head = head[:n]
	mediaType, limit := typeOfFile(name, head)
	if limit == 0 {
		return nil, errs.BadField("body.file", "invalid", mediaType, "Files of type %s are not taken. Text, JSON, XML, YAML, PDF, images, office documents and archives are.", mediaType)
	}
	info, err := s.Blobs.Put(ctx, io.MultiReader(bytes.NewReader(head), content), limit)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errs.New(errs.Malformed, "invalid", "The file broke off.")
	}
	if err == nil {
		err = all()
	}
	if err != nil {
		return nil, err
	}
	c := caller(ctx)
	var f store.File
	err = s.Store.InTx(ctx, func(tx *store.Tx) (err error) {
		f, err = tx.CreateFile(ctx, c.Scope, store.File{Name: name, MediaType: mediaType, Size: info.Size, SHA256: info.SHA256}, c.Actor)
		if err != nil {
			return err
		}
		return tx.Audit(ctx, c.Scope, store.AuditEntry{Actor: c.Actor, Action: "file.create", SubjectKind: "file", SubjectID: f.ID, Detail: map[string]any{"name": name, "size": info.Size}})
	})
	return &fileOut{fileOf(f)}, err
}

// fileName makes a sent name harmless: the last part of a path, without signs
// that nobody sees.
func fileName(name string) (string, error) {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	name = strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, name))
	if name == "" || name == "." || name == "/" || name == ".." {
		return "", errs.BadField("body.file", "invalid", nil, "The file needs a name.")
	}
	for utf8.RuneCountInString(name) > 255 || len(name) > 1000 {
		_, size := utf8.DecodeRuneInString(name)
		name = name[size:] // the end has the extension
	}
	return name, nil
}

// typeOfFile says what a file is, by its content where that tells and by its name
// where it does not, and how large it may be; 0 when it is not taken.
func typeOfFile(name string, head []byte) (string, int64) {
	sniffed, _, _ := mime.ParseMediaType(http.DetectContentType(head))
	mediaType := sniffed
	switch sniffed {
	case "text/plain", "text/xml", "application/zip", "application/octet-stream":
		ext := strings.ToLower(path.Ext(name))
		named := byExtension[ext]
		binary := sniffed == "application/zip" || sniffed == "application/octet-stream"
		office := strings.HasPrefix(named, "application/vnd.")
		if named != "" && binary == office && sniffed != "application/octet-stream" {
			mediaType = named
		}
	case "application/x-gzip":
		mediaType = "application/gzip"
	}
	for _, l := range fileLimits {
		if mediaType == l.mediaType || strings.HasSuffix(l.mediaType, "/") && strings.HasPrefix(mediaType, l.mediaType) ||
			strings.HasSuffix(l.mediaType, ".") && strings.HasPrefix(mediaType, l.mediaType) {
			return mediaType, l.bytes
		}
	}
	return mediaType, 0
}
