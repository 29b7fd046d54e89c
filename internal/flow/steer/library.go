package steer

import (
	"context"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/task"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// Comment writes a comment under a task. A person's is feedback: the first thing
// that the task's next run reads.
func (s *Steerer) Comment(ctx context.Context, c access.Caller, ref, content string) (store.Comment, error) {
	var out store.Comment
	_, err := s.live(ctx, c, ref, func(tx *store.Tx, t task.Task) (err error) {
		if out, err = addComment(ctx, tx, c, t.ID, content); err != nil {
			return err
		}
		if err := tx.CountRepeats(ctx, c.Scope, t.ID, 0); err != nil { // the next run has something new to go by
			return err
		}
		return audit(ctx, tx, c, "comment.create", "comment", out.ID, nil)
	})
	return out, err
}

func addComment(ctx context.Context, tx *store.Tx, c access.Caller, taskID, content string) (store.Comment, error) {
	content = strings.TrimSpace(content)
	if err := checkComment(content); err != nil {
		return store.Comment{}, err
	}
	return tx.AddComment(ctx, c.Scope, store.Comment{TaskID: taskID, AuthorKind: c.Kind, AuthorID: &c.ID, Content: content})
}

func checkComment(content string) error {
	if n := utf8.RuneCountInString(content); n == 0 || n > maxInstruction {
		return errs.BadField("body.content", "invalid", nil, "A comment has 1 to %d characters.", maxInstruction)
	}
	return nil
}

// EditComment changes one's own comment; an administrator's hand reaches all.
func (s *Steerer) EditComment(ctx context.Context, c access.Caller, commentID string, version *int64, content string) (store.Comment, error) {
	content = strings.TrimSpace(content)
	if err := checkComment(content); err != nil {
		return store.Comment{}, err
	}
	return s.changeComment(ctx, c, commentID, version, content, "comment.edit")
}

// DeleteComment removes one's own comment; an administrator may remove any.
func (s *Steerer) DeleteComment(ctx context.Context, c access.Caller, commentID string) error {
	_, err := s.changeComment(ctx, c, commentID, nil, "", "comment.delete")
	return err
}

func (s *Steerer) changeComment(ctx context.Context, c access.Caller, commentID string, version *int64, content, action string) (store.Comment, error) {
	var out store.Comment
	err := s.store.InTx(ctx, func(tx *store.Tx) error {
		old, err := tx.Comment(ctx, c.Scope, commentID)
		if err != nil {
			return err
		}
		own := old.AuthorKind == c.Kind && old.AuthorID != nil && *old.AuthorID == c.ID
		if !own && !c.Role.AtLeast(access.Admin) {
			return errs.New(errs.Forbidden, "forbidden", "Only who wrote a comment may change it.")
		}
		if version != nil && *version != old.Version {
			return errs.New(errs.Stale, "stale", "The comment was changed meanwhile.")
		}
		if out, err = tx.EditComment(ctx, c.Scope, old, content); err != nil {
			return err
		}
		return audit(ctx, tx, c, action, "comment", old.ID, nil)
	})
	return out, err
}

// PinDocument puts a document into the prompt of each run of a task.
func (s *Steerer) PinDocument(ctx context.Context, c access.Caller, ref, documentID string) error {
	_, err := s.live(ctx, c, ref, func(tx *store.Tx, t task.Task) error {
		d, err := tx.Document(ctx, c.Scope, documentID)
		if err != nil {
			return err
		}
		if err := tx.Pin(ctx, c.Scope, t.ID, d.ID, c.Actor); err != nil {
			return err
		}
		return audit(ctx, tx, c, "task.pin", "task", t.ID, map[string]any{"documentId": d.ID})
	})
	return err
}

// UnpinDocument takes a document off a task.
func (s *Steerer) UnpinDocument(ctx context.Context, c access.Caller, ref, documentID string) error {
	_, err := s.live(ctx, c, ref, func(tx *store.Tx, t task.Task) error {
		d, err := tx.Document(ctx, c.Scope, documentID)
		if err != nil {
			return err
		}
		ok, err := tx.Unpin(ctx, c.Scope, t.ID, d.ID)
		if err != nil {
			return err
		}
		if !ok {
			return errs.New(errs.NotFound, "not_found", "The document is not pinned to %s.", t.Identifier)
		}
		return audit(ctx, tx, c, "task.unpin", "task", t.ID, map[string]any{"documentId": d.ID})
	})
	return err
}

// NewDocument is a document that somebody writes.
type NewDocument struct {
	Title, Folder, Kind, Content string
	TopicID                      *string // the run that writes it
}

// DocumentKinds lists what a document can be.
var DocumentKinds = []string{"markdown", "text", "csv", "json", "html"}

// CreateDocument writes a document into the library.
func (s *Steerer) CreateDocument(ctx context.Context, c access.Caller, in NewDocument) (store.Document, error) {
	var out store.Document
	err := s.store.InTx(ctx, func(tx *store.Tx) (err error) {
		out, err = s.CreateDocumentIn(ctx, tx, c, in)
		return err
	})
	return out, err
}

// CreateDocumentIn is [Steerer.CreateDocument] in the caller's transaction.
func (s *Steerer) CreateDocumentIn(ctx context.Context, tx *store.Tx, c access.Caller, in NewDocument) (store.Document, error) {
	d := store.Document{
		Title: strings.TrimSpace(in.Title), Folder: in.Folder, Kind: in.Kind, Content: in.Content,
		CreatedByKind: c.Kind, TopicID: in.TopicID,
	}
	if c.ID != "" {
		d.CreatedByID = &c.ID
	}
	if d.Kind == "" {
		d.Kind = "markdown"
	}
	if err := checkDocument(&d); err != nil {
		return store.Document{}, err
	}
	out, err := tx.CreateDocument(ctx, c.Scope, d)
	if err != nil {
		return store.Document{}, err
	}
	return out, audit(ctx, tx, c, "document.create", "document", out.ID, map[string]any{"title": out.Title})
}

// DocumentPatch is an edit of a document; a nil field is left as it is.
type DocumentPatch struct {
	Title, Folder, Kind, Content *string
	TopicID                      *string
}

// EditDocument writes a new version of a document, unless it would be the same as the
// one that there is. version is the one that was read; nil for whatever it is now.
func (s *Steerer) EditDocument(ctx context.Context, c access.Caller, documentID string, version *int64, p DocumentPatch) (store.Document, error) {
	var out store.Document
	err := s.store.InTx(ctx, func(tx *store.Tx) (err error) {
		out, err = s.EditDocumentIn(ctx, tx, c, documentID, version, p)
		return err
	})
	return out, err
}

// EditDocumentIn is [Steerer.EditDocument] in the caller's transaction.
func (s *Steerer) EditDocumentIn(ctx context.Context, tx *store.Tx, c access.Caller, documentID string, version *int64, p DocumentPatch) (store.Document, error) {
	d, err := tx.Document(ctx, c.Scope, documentID)
	if err != nil {
		return store.Document{}, err
	}
	if version != nil && *version != d.Version {
		return store.Document{}, errs.New(errs.Stale, "stale", "The document was changed meanwhile: it has version %d.", d.Version)
	}
	old := d
	set(&d.Title, p.Title)
	set(&d.Folder, p.Folder)
	set(&d.Kind, p.Kind)
	set(&d.Content, p.Content)
	d.Title = strings.TrimSpace(d.Title)
	if err := checkDocument(&d); err != nil {
		return store.Document{}, err
	}
	if d.Title == old.Title && d.Folder == old.Folder && d.Kind == old.Kind && d.Content == old.Content {
		return old, nil
	}
	out, err := tx.EditDocument(ctx, c.Scope, d, c.Actor, p.TopicID)
	if err != nil {
		return store.Document{}, err
	}
	return out, audit(ctx, tx, c, "document.edit", "document", out.ID, map[string]any{"version": out.Version})
}

// DeleteDocument hides a document; it is unpinned everywhere by that.
func (s *Steerer) DeleteDocument(ctx context.Context, c access.Caller, documentID string) error {
	return s.store.InTx(ctx, func(tx *store.Tx) error {
		d, err := tx.Document(ctx, c.Scope, documentID)
		if err != nil {
			return err
		}
		if err := tx.DeleteDocument(ctx, c.Scope, d.ID); err != nil {
			return err
		}
		return audit(ctx, tx, c, "document.delete", "document", d.ID, map[string]any{"title": d.Title})
	})
}

func checkDocument(d *store.Document) error {
	if n := utf8.RuneCountInString(d.Title); n == 0 || n > 300 {
		return errs.BadField("body.title", "invalid", d.Title, "A title has 1 to 300 characters.")
	}
	folder, err := cleanFolder(d.Folder)
	if err != nil {
		return err
	}
	d.Folder = folder
	if !slices.Contains(DocumentKinds, d.Kind) {
		return errs.BadField("body.kind", "invalid", d.Kind, "A document is markdown, text, csv, json or html.")
	}
	if len(d.Content) > store.MaxDocument {
		return errs.New(errs.TooLarge, "too_large", "A document holds at most %d MiB. Upload it as a file instead.", store.MaxDocument>>20)
	}
	return nil
}

// cleanFolder brings a folder to its one spelling: "a/b", no dots, no slash at an end.
func cleanFolder(folder string) (string, error) {
	folder = strings.Trim(path.Clean("/"+strings.TrimSpace(folder)), "/")
	if utf8.RuneCountInString(folder) > 500 || strings.ContainsAny(folder, "\x00\n") {
		return "", errs.BadField("body.folder", "invalid", folder, "A folder is a path of at most 500 characters.")
	}
	return folder, nil
}
