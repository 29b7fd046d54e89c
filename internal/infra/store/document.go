package store

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm/clause"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
)

// Document is a text of the library.
type Document struct {
	ID, WorkspaceID, Title, Folder, Kind string
	Content                              string
	Size                                 int64 `gorm:"->"`
	Version                              int64
	CreatedByKind                        access.ActorKind
	CreatedByID                          *string
	TopicID                              *string // the run that wrote this version
	CreatedAt, UpdatedAt                 time.Time
	DeletedAt                            *time.Time
}

// TableName names the table for gorm.
func (Document) TableName() string { return "documents" }

// MaxDocument is how many bytes a document may hold; the table checks the same.
// It is what a person can still scroll and a prompt can still be cut from.
const MaxDocument = 4 << 20

// Found is a document that a search found, without its whole content.
type Found struct {
	Document
	Snippet string
}

// headColumns are a document without its content.
const headColumns = "id, workspace_id, title, folder, kind, size, version, created_by_kind, created_by_id, topic_id, created_at, updated_at, deleted_at"

// Document returns a document that is not deleted.
func (r Reader) Document(ctx context.Context, sc access.Scope, documentID string) (Document, error) {
	if !id.Valid(documentID) {
		return Document{}, errs.Missing("document", documentID)
	}
	var d Document
	err := r.db(ctx).Where("workspace_id = ? and id = ? and deleted_at is null", sc.Workspace(), documentID).Take(&d).Error
	return d, found(err, "document", documentID)
}

// DocumentNamed returns the document of that title in a folder, nil when there is none.
func (r Reader) DocumentNamed(ctx context.Context, sc access.Scope, folder, title string) (*Document, error) {
	var ds []Document
	err := r.db(ctx).Where("workspace_id = ? and folder = ? and title = ? and deleted_at is null", sc.Workspace(), folder, title).Limit(1).Find(&ds).Error
	if err != nil || len(ds) == 0 {
		return nil, err
	}
	return &ds[0], nil
}

// DocumentFilter narrows a list of documents. Empty fields do not.
type DocumentFilter struct {
	Folder string
	Query  string // full text, the best match first instead of the newest
	Topic  string // id of the run that wrote the current version
}

// Documents lists documents without their content, the newest first; with a
// query, the best matches (one page of them).
func (r Reader) Documents(ctx context.Context, sc access.Scope, f DocumentFilter, p Page) ([]Found, string, error) {
	q := r.db(ctx).Table("documents").Where("workspace_id = ? and deleted_at is null", sc.Workspace())
	if f.Folder != "" {
		q = q.Where("folder = ?", f.Folder)
	}
	if f.Topic != "" {
		q = q.Where("topic_id = ?", f.Topic)
	}
	if f.Query != "" {
		const query = "websearch_to_tsquery('simple', ?)"
		// Languages that are written without blanks are found by their letters.
		q = q.Select(headColumns+", ts_headline('simple', left(content, 20000), "+query+", 'StartSel=, StopSel=, MaxFragments=1, MaxWords=30, MinWords=10') as snippet", f.Query).
			Where("(search @@ "+query+" or position(lower(?) in lower(title)) > 0 or position(lower(?) in lower(content)) > 0)", f.Query, f.Query, f.Query).
			Order(clause.OrderBy{Expression: clause.Expr{SQL: "ts_rank(search, " + query + ") desc, id desc", Vars: []any{f.Query}}})
	} else {
		q = q.Select(headColumns + ", '' as snippet").Order("id desc")
		if p.After != "" {
			q = q.Where("id < ?", p.After)
		}
	}
	var out []Found
	if err := q.Limit(p.limit() + 1).Scan(&out).Error; err != nil {
		return nil, "", fmt.Errorf("list documents: %w", err)
	}
	out, next := cut(out, p, func(d Found) string { return d.ID })
	if f.Query != "" {
		next = ""
	}
	return out, next, nil
}

// PinnedDocuments returns the documents that are pinned to a task, in the order
// in which they were, without their content.
func (r Reader) PinnedDocuments(ctx context.Context, sc access.Scope, taskID string) ([]Document, error) {
	var out []Document
	err := r.db(ctx).Raw(`
		select d.id, d.workspace_id, d.title, d.folder, d.kind, d.size, d.version, d.created_by_kind, d.created_by_id, d.topic_id, d.created_at, d.updated_at
		from task_documents p join documents d on d.id = p.document_id
		where p.workspace_id = ? and p.task_id = ? and d.deleted_at is null order by p.created_at, d.id`, sc.Workspace(), taskID).Scan(&out).Error
	if err != nil {
		return nil, fmt.Errorf("read pinned documents: %w", err)
	}
	return out, nil
}

// Pin pins a document to a task; it is no error when it is pinned already.
func (tx *Tx) Pin(ctx context.Context, sc access.Scope, taskID, documentID string, by access.Actor) error {
	_, err := tx.exec(ctx, `
		insert into task_documents (workspace_id, task_id, document_id, pinned_by_kind) values (?, ?, ?, ?) on conflict do nothing`,
		sc.Workspace(), taskID, documentID, by.Kind)
	if err != nil {
		return fmt.Errorf("pin a document: %w", err)
	}
	return tx.Emit(ctx, sc, Event{Type: "task.changed", SubjectKind: "task", SubjectID: taskID, Payload: map[string]any{"documentId": documentID}})
}

// Unpin takes a document off a task. It reports whether it was pinned.
func (tx *Tx) Unpin(ctx context.Context, sc access.Scope, taskID, documentID string) (bool, error) {
	n, err := tx.exec(ctx, `delete from task_documents where workspace_id = ? and task_id = ? and document_id = ?`, sc.Workspace(), taskID, documentID)
	if err != nil {
		return false, fmt.Errorf("unpin a document: %w", err)
	}
	return n > 0, tx.Emit(ctx, sc, Event{Type: "task.changed", SubjectKind: "task", SubjectID: taskID, Payload: map[string]any{"documentId": documentID}})
}

// CreateDocument writes a document with its first version.
func (tx *Tx) CreateDocument(ctx context.Context, sc access.Scope, d Document) (Document, error) {
	now, err := tx.Clock(ctx)
	if err != nil {
		return Document{}, err
	}
	d.ID, d.WorkspaceID, d.Version, d.CreatedAt, d.UpdatedAt = id.New(), sc.Workspace(), 1, now, now
	d.Title, d.Content, d.Size = clean(d.Title), clean(d.Content), int64(len(clean(d.Content)))
	if err := tx.db(ctx).Create(&d).Error; err != nil {
		if violates(err, "documents_title") {
			return Document{}, errs.New(errs.Conflict, "conflict", "There is a document %q in this folder already.", d.Title)
		}
		return Document{}, fmt.Errorf("create a document: %w", err)
	}
	return d, tx.addVersion(ctx, sc, d)
}

// EditDocument writes a new version of a document. The given document carries the
// version that was read; a newer one is stale.
func (tx *Tx) EditDocument(ctx context.Context, sc access.Scope, d Document, by access.Actor, topicID *string) (Document, error) {
	now, err := tx.Clock(ctx)
	if err != nil {
		return Document{}, err
	}
	d.Title, d.Content = clean(d.Title), clean(d.Content)
	n, err := tx.exec(ctx, `
		update documents set title = ?, folder = ?, kind = ?, content = ?, topic_id = ?, version = version + 1, updated_at = ?
		where workspace_id = ? and id = ? and version = ? and deleted_at is null`,
		d.Title, d.Folder, d.Kind, d.Content, topicID, now, sc.Workspace(), d.ID, d.Version)
	switch {
	case violates(err, "documents_title"):
		return Document{}, errs.New(errs.Conflict, "conflict", "There is a document %q in this folder already.", d.Title)
	case err != nil:
		return Document{}, fmt.Errorf("edit a document: %w", err)
	case n == 0:
		return Document{}, stale("document")
	}
	d.Version++
	d.UpdatedAt, d.TopicID, d.Size = now, topicID, int64(len(d.Content))
	v := d
	v.CreatedByKind, v.CreatedByID = by.Kind, optional(by.ID)
	return d, tx.addVersion(ctx, sc, v)
}

// DeleteDocument hides a document.
func (tx *Tx) DeleteDocument(ctx context.Context, sc access.Scope, documentID string) error {
	n, err := tx.exec(ctx, `update documents set deleted_at = clock_timestamp() where workspace_id = ? and id = ? and deleted_at is null`, sc.Workspace(), documentID)
	if err != nil {
		return fmt.Errorf("delete a document: %w", err)
	}
	if n == 0 {
		return errs.Missing("document", documentID)
	}
	return tx.Emit(ctx, sc, Event{Type: "document.deleted", SubjectKind: "document", SubjectID: documentID})
}

func (tx *Tx) addVersion(ctx context.Context, sc access.Scope, d Document) error {
	_, err := tx.exec(ctx, `
		insert into document_versions (workspace_id, document_id, version, title, content, created_by_kind, created_by_id, topic_id)
		values (?, ?, ?, ?, ?, ?, ?, ?)`, sc.Workspace(), d.ID, d.Version, d.Title, d.Content, d.CreatedByKind, d.CreatedByID, d.TopicID)
	if err != nil {
		return fmt.Errorf("keep a version of a document: %w", err)
	}
	typ := "document.changed"
	if d.Version == 1 {
		typ = "document.created"
	}
	return tx.Emit(ctx, sc, Event{Type: typ, SubjectKind: "document", SubjectID: d.ID})
}

// DocumentVersion is a version of a document.
type DocumentVersion struct {
	WorkspaceID, DocumentID string
	Version                 int64
	Title, Content          string
	Size                    int64 `gorm:"-"` // bytes of the content, also where that was not read
	CreatedByKind           access.ActorKind
	CreatedByID, TopicID    *string
	CreatedAt               time.Time
}

// TableName names the table for gorm.
func (DocumentVersion) TableName() string { return "document_versions" }

// DocumentVersions returns the versions of a document without their content, the
// newest first.
func (r Reader) DocumentVersions(ctx context.Context, sc access.Scope, documentID string) ([]DocumentVersion, error) {
	var rows []struct {
		DocumentVersion
		Bytes int64
	}
	err := r.db(ctx).Raw(`
		select workspace_id, document_id, version, title, '' as content, created_by_kind, created_by_id, topic_id, created_at, octet_length(content) as bytes
		from document_versions where workspace_id = ? and document_id = ? order by version desc limit 200`, sc.Workspace(), documentID).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("list the versions of a document: %w", err)
	}
	out := make([]DocumentVersion, len(rows))
	for i, row := range rows {
		out[i] = row.DocumentVersion
		out[i].Size = row.Bytes
	}
	return out, nil
}

// DocumentVersion returns one version of a document.
func (r Reader) DocumentVersion(ctx context.Context, sc access.Scope, documentID string, version int64) (DocumentVersion, error) {
	var v DocumentVersion
	err := r.db(ctx).Where("workspace_id = ? and document_id = ? and version = ?", sc.Workspace(), documentID, version).Take(&v).Error
	v.Size = int64(len(v.Content))
	return v, found(err, "version", fmt.Sprint(version))
}

// DocumentsWrittenBy returns the documents whose current version a run wrote.
func (r Reader) DocumentsWrittenBy(ctx context.Context, sc access.Scope, topicID string) ([]Document, error) {
	found, _, err := r.Documents(ctx, sc, DocumentFilter{Topic: topicID}, Page{Limit: 50})
	out := make([]Document, len(found))
	for i, f := range found {
		out[i] = f.Document
	}
	return out, err
}
