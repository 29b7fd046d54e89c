package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// pageChars is how many characters of a document one call reads unless it asks
// for less: below what a tool's result may hold, so that nothing is cut twice.
const pageChars = 20_000

var documentTools = []tool{
	{
		name:  "list_documents",
		about: "List the documents of the library, the newest first: id, title, kind, version, size. Optionally of one folder.",
		schema: `{"type": "object", "additionalProperties": false, "properties": {
			"folder": {"type": "string", "description": "Only of this folder"},
			"limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "At most so many; 50 by default"}}}`,
		run: typed(func(ctx context.Context, c call, a struct {
			Folder string
			Limit  int
		}) (string, error) {
			docs, _, err := c.tx.Documents(ctx, c.Scope, store.DocumentFilter{Folder: strings.Trim(a.Folder, "/")}, store.Page{Limit: a.Limit})
			if err != nil {
				return "", err
			}
			return documentList(docs), nil
		}),
	},
	{
		name:  "search_documents",
		about: "Search the library's documents by words in their title and text, the best match first, with a snippet of each.",
		schema: `{"type": "object", "additionalProperties": false, "required": ["query"], "properties": {
			"query": {"type": "string", "minLength": 1, "maxLength": 500},
			"folder": {"type": "string", "description": "Only in this folder"}}}`,
		run: typed(func(ctx context.Context, c call, a struct{ Query, Folder string }) (string, error) {
			docs, _, err := c.tx.Documents(ctx, c.Scope, store.DocumentFilter{Query: a.Query, Folder: strings.Trim(a.Folder, "/")}, store.Page{Limit: 20})
			if err != nil {
				return "", err
			}
			return documentList(docs), nil
		}),
	},
	{
		name:  "read_document",
		about: "Read a document of the library. A long one comes in parts: the answer says which offset goes on.",
		schema: `{"type": "object", "additionalProperties": false, "required": ["id"], "properties": {
			"id": {"type": "string", "description": "The document's id"},
			"offset": {"type": "integer", "minimum": 0, "description": "Character to begin at; 0 by default"},
			"limit": {"type": "integer", "minimum": 1, "maximum": 20000, "description": "Characters to read; 20000 by default"}}}`,
		run: typed(readDocument),
	},
	{
		name:    "write_document",
		mutates: true,
		about:   "Write a document into the library: a new one, or a new version of the one with the same folder and title. Earlier versions are kept.",
		schema: `{"type": "object", "additionalProperties": false, "required": ["title", "content"], "properties": {
			"title": {"type": "string", "minLength": 1, "maxLength": 300},
			"folder": {"type": "string", "maxLength": 500, "description": "Path like reports/weekly; the top by default"},
			"content": {"type": "string"},
			"kind": {"enum": ["markdown", "text", "csv", "json", "html"], "description": "markdown by default"},
			"mode": {"enum": ["replace", "append"], "description": "What becomes of the text that is there; replace by default"}}}`,
		run: typed(writeDocument),
	},
}

func documentList(docs []store.Found) string {
	if len(docs) == 0 {
		return "No documents."
	}
	var b strings.Builder
	for _, d := range docs {
		name := d.Title
		if d.Folder != "" {
			name = d.Folder + "/" + d.Title
		}
		fmt.Fprintf(&b, "- id=%s “%s” (%s, version %d, %d bytes, changed %s)\n", d.ID, name, d.Kind, d.Version, d.Size, d.UpdatedAt.UTC().Format("2006-01-02 15:04"))
		if s := strings.Join(strings.Fields(d.Snippet), " "); s != "" {
			fmt.Fprintf(&b, "  %s\n", s)
		}
	}
	return b.String()
}

type readArgs struct {
	ID            string
	Offset, Limit int
}

func readDocument(ctx context.Context, c call, a readArgs) (string, error) {
	d, err := c.tx.Document(ctx, c.Scope, a.ID)
	if err != nil {
		return "", err
	}
	text := []rune(d.Content)
	if a.Offset > len(text) {
		return "", errs.New(errs.Invalid, "invalid", "The document has %d characters; offset %d is behind its end.", len(text), a.Offset)
	}
	limit := a.Limit
	if limit == 0 {
		limit = pageChars
	}
	end := min(a.Offset+limit, len(text))
	more := ""
	if end < len(text) {
		more = fmt.Sprintf(` goOnWithOffset="%d"`, end)
	}
	// The frame tells the text apart as material, so the text may not close it.
	body := strings.ReplaceAll(string(text[a.Offset:end]), "</document", "<\u200b/document")
	return fmt.Sprintf("<document id=%q title=%q kind=%q version=\"%d\" characters=\"%d to %d of %d\"%s>\n%s\n</document>",
		d.ID, d.Title, d.Kind, d.Version, a.Offset, end, len(text), more, body), nil
}

type writeArgs struct {
	Title, Folder, Content, Kind, Mode string
}

func writeDocument(ctx context.Context, c call, a writeArgs) (string, error) {
	topicID := c.Operation.TopicID
	folder := strings.Trim(a.Folder, "/")
	old, err := c.tx.DocumentNamed(ctx, c.Scope, folder, strings.TrimSpace(a.Title))
	if err != nil {
		return "", err
	}
	if old == nil {
		d, err := c.steer.CreateDocumentIn(ctx, c.tx, c.caller(), steer.NewDocument{
			Title: a.Title, Folder: folder, Kind: a.Kind, Content: a.Content, TopicID: &topicID,
		})
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("Wrote “%s”, id=%s, version 1.", d.Title, d.ID), nil
	}
	content := a.Content
	if a.Mode == "append" {
		content = strings.TrimRight(old.Content, "\n") + "\n" + a.Content
	}
	if content == old.Content {
		return fmt.Sprintf("“%s”, id=%s, has this text already (version %d).", old.Title, old.ID, old.Version), nil
	}
	patch := steer.DocumentPatch{Content: &content, TopicID: &topicID}
	if a.Kind != "" {
		patch.Kind = &a.Kind
	}
	d, err := c.steer.EditDocumentIn(ctx, c.tx, c.caller(), old.ID, &old.Version, patch)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Wrote version %d of “%s”, id=%s.", d.Version, d.Title, d.ID), nil
}
