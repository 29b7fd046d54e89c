package httpapi

import (
	"context"
	"strconv"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// Document is a text of the library.
type Document struct {
	ID        string  `json:"id"`
	Title     string  `json:"title"`
	Folder    string  `json:"folder" doc:"a/b; empty at the top"`
	Kind      string  `json:"kind" enum:"markdown,text,csv,json,html"`
	Size      int64   `json:"size" doc:"Of the content, in bytes"`
	Version   int64   `json:"version"`
	Content   *string `json:"content,omitempty" doc:"In the answer for one document"`
	Snippet   string  `json:"snippet,omitempty" doc:"Where a search found it"`
	CreatedBy Actor   `json:"createdBy"`
	TopicID   *string `json:"topicId" doc:"The run that wrote this version"`
	CreatedAt Time    `json:"createdAt"`
	UpdatedAt Time    `json:"updatedAt"`
}

func documentOf(d store.Document) Document {
	return Document{
		ID: d.ID, Title: d.Title, Folder: d.Folder, Kind: d.Kind, Size: d.Size, Version: d.Version,
		CreatedBy: Actor{Kind: d.CreatedByKind, ID: deref(d.CreatedByID)}, TopicID: d.TopicID, CreatedAt: Time{d.CreatedAt}, UpdatedAt: Time{d.UpdatedAt},
	}
}

// DocumentCreate is what a document is made of.
type DocumentCreate struct {
	Title   string `json:"title" minLength:"1" maxLength:"300" doc:"What people and agents see"`
	Content string `json:"content" doc:"At most 4 MiB"`
	Folder  string `json:"folder,omitempty" maxLength:"500" doc:"Like a/b; absent: at the top"`
	Kind    string `json:"kind,omitempty" enum:"markdown,text,csv,json,html" doc:"Default: markdown"`
}

// DocumentPatch is a JSON merge patch of a document; it makes a new version, unless
// nothing changes.
type DocumentPatch struct {
	Title   Maybe[string] `json:"title,omitzero" minLength:"1" maxLength:"300" doc:"What people and agents see"`
	Content Maybe[string] `json:"content,omitzero" doc:"At most 4 MiB; null: nothing"`
	Folder  Maybe[string] `json:"folder,omitzero" maxLength:"500" doc:"Like a/b; null: at the top"`
	Kind    Maybe[string] `json:"kind,omitzero" enum:"markdown,text,csv,json,html" doc:"How it is shown"`
	Version *int64        `json:"version,omitempty" doc:"The version that was read; a newer one is refused as stale"`
}

func documentAuthor(d *Document) *Actor { return &d.CreatedBy }

// documentLimit bounds a body with a document in it: JSON doubles a line break.
const documentLimit = 2*store.MaxDocument + 64<<10

// ByDocument is the address of a document.
type ByDocument struct {
	Doc string `path:"doc" maxLength:"100" doc:"Its id"`
}

type documentsIn struct {
	Paging
	Folder string `query:"folder" maxLength:"500" doc:"In this one: a/b"`
	Q      string `query:"q" maxLength:"500" doc:"Full text; the best matches first, on one page"`
}

type documentOut struct {
	ETag string `header:"ETag"`
	Body Document
}

type pinIn struct {
	ByTask
	ByDocument
}

func (s *Server) documentRoutes() {
	add(s, route{method: "GET", path: "/documents", name: "listDocuments", noun: "documents", role: access.Viewer, does: "The library, or what a search finds in it"},
		func(ctx context.Context, in *documentsIn) (*listOut[Document], error) {
			p, err := s.page(ctx, in.Paging)
			if err != nil {
				return nil, err
			}
			items, next, err := s.Store.Documents(ctx, caller(ctx).Scope, store.DocumentFilter{Folder: in.Folder, Query: in.Q}, p)
			if err != nil {
				return nil, err
			}
			out := listed(ctx, s, items, next, func(f store.Found) Document {
				d := documentOf(f.Document)
				d.Snippet = f.Snippet
				return d
			})
			return out, named(ctx, s, out.Body.Items, documentAuthor)
		})
	add(s, route{method: "POST", path: "/documents", name: "createDocument", noun: "documents", role: access.Operator, status: 201, once: true, limit: documentLimit, does: "Write a document"},
		func(ctx context.Context, in *struct{ Body DocumentCreate }) (*documentOut, error) {
			b := in.Body
			d, err := s.Steer.CreateDocument(ctx, caller(ctx), steer.NewDocument{Title: b.Title, Content: b.Content, Folder: b.Folder, Kind: b.Kind})
			return documentAnswer(d, err)
		})
	add(s, route{method: "GET", path: "/documents/{doc}", name: "getDocument", noun: "documents", role: access.Viewer, does: "One document, with its content"},
		func(ctx context.Context, in *ByDocument) (*documentOut, error) {
			d, err := s.Store.Document(ctx, caller(ctx).Scope, in.Doc)
			if err != nil {
				return nil, err
			}
			out, _ := documentAnswer(d, nil)
			return out, named(ctx, s, []*Document{&out.Body}, func(d **Document) *Actor { return &(*d).CreatedBy })
		})
	add(s, route{method: "PATCH", path: "/documents/{doc}", name: "editDocument", noun: "documents", role: access.Operator, limit: documentLimit, does: "Write a new version of a document, unless nothing changes"}, s.editDocument)
	add(s, route{method: "DELETE", path: "/documents/{doc}", name: "deleteDocument", noun: "documents", role: access.Operator, does: "Delete a document"},
		func(ctx context.Context, in *ByDocument) (*struct{}, error) {
			return nil, s.Steer.DeleteDocument(ctx, caller(ctx), in.Doc)
		})
	add(s, route{method: "GET", path: "/documents/{doc}/versions", name: "listDocumentVersions", noun: "documents", role: access.Viewer, does: "The versions of a document, the newest first"}, s.documentVersions)
	add(s, route{method: "GET", path: "/documents/{doc}/versions/{version}", name: "getDocumentVersion", noun: "documents", role: access.Viewer, does: "A document as it was"},
		func(ctx context.Context, in *struct {
			ByDocument
			Version int64 `path:"version" minimum:"1" doc:"Its number"`
		}) (*documentOut, error) {
			d, err := s.Store.Document(ctx, caller(ctx).Scope, in.Doc)
			if err != nil {
				return nil, err
			}
			v, err := s.Store.DocumentVersion(ctx, caller(ctx).Scope, d.ID, in.Version)
			return documentAnswer(asOf(d, v), err)
		})
	add(s, route{method: "GET", path: "/tasks/{task}/documents", name: "listPinnedDocuments", noun: "tasks", role: access.Viewer, does: "The documents that are in the prompt of each run"},
		func(ctx context.Context, in *taskPageIn) (*listOut[Document], error) {
			sc := caller(ctx).Scope
			taskID, err := s.Store.TaskID(ctx, sc, in.Task)
			if err != nil {
				return nil, err
			}
			items, err := s.Store.PinnedDocuments(ctx, sc, taskID)
			if err != nil {
				return nil, err
			}
			return sliced(ctx, s, in.Paging, items, func(d store.Document) string { return d.ID }, documentOf)
		})
	add(s, route{method: "PUT", path: "/tasks/{task}/documents/{doc}", name: "pinDocument", noun: "tasks", role: access.Operator, does: "Pin a document to a task"},
		func(ctx context.Context, in *pinIn) (*struct{}, error) {
			return nil, s.Steer.PinDocument(ctx, caller(ctx), in.Task, in.Doc)
		})
	add(s, route{method: "DELETE", path: "/tasks/{task}/documents/{doc}", name: "unpinDocument", noun: "tasks", role: access.Operator, does: "Take a document off a task"},
		func(ctx context.Context, in *pinIn) (*struct{}, error) {
			return nil, s.Steer.UnpinDocument(ctx, caller(ctx), in.Task, in.Doc)
		})
}

func documentAnswer(d store.Document, err error) (*documentOut, error) {
	out := &documentOut{etag(d.Version), documentOf(d)}
	out.Body.Content = &d.Content
	return out, err
}

func (s *Server) editDocument(ctx context.Context, in *struct {
	ByDocument
	IfMatch string `header:"If-Match" doc:"The ETag that was read; a newer version is refused as stale"`
	Body    DocumentPatch
}) (*documentOut, error) {
	b := in.Body
	if err := notNull("title", b.Title, "kind", b.Kind); err != nil {
		return nil, err
	}
	d, err := s.Steer.EditDocument(ctx, caller(ctx), in.Doc, expected(in.IfMatch, b.Version), steer.DocumentPatch{
		Title: b.Title.V, Content: orCleared(b.Content), Folder: orCleared(b.Folder), Kind: b.Kind.V,
	})
	return documentAnswer(d, err)
}

func (s *Server) documentVersions(ctx context.Context, in *struct {
	ByDocument
	Paging
}) (*listOut[Document], error) {
	d, err := s.Store.Document(ctx, caller(ctx).Scope, in.Doc)
	if err != nil {
		return nil, err
	}
	items, err := s.Store.DocumentVersions(ctx, caller(ctx).Scope, d.ID)
	if err != nil {
		return nil, err
	}
	key := func(v store.DocumentVersion) string { return strconv.FormatInt(v.Version, 10) }
	out, err := sliced(ctx, s, in.Paging, items, key, func(v store.DocumentVersion) Document { return documentOf(asOf(d, v)) })
	if err != nil {
		return nil, err
	}
	return out, named(ctx, s, out.Body.Items, documentAuthor)
}

// asOf is a document as one of its versions had it.
func asOf(d store.Document, v store.DocumentVersion) store.Document {
	d.Title, d.Content, d.Version, d.Size = v.Title, v.Content, v.Version, v.Size
	d.CreatedByKind, d.CreatedByID, d.TopicID, d.UpdatedAt = v.CreatedByKind, v.CreatedByID, v.TopicID, v.CreatedAt
	return d
}
