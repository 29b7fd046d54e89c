package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/cli/client"
)

func (p *program) document() *cobra.Command {
	c := group("document", "The library: what people add and agents write", p.documentAdd(), p.documentList(), p.documentShow())
	c.Aliases = []string{"doc"}
	return c
}

// documentLimit is the server's: text of 4 MB.
const documentLimit = 4 << 20

func (p *program) documentAdd() *cobra.Command {
	var title, folder string
	c := &cobra.Command{
		Use: "add FILE...", Short: "Add text files to the library; one that is there under its title gets a new version", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if title != "" && len(args) > 1 {
				return usagef("--title belongs to a single file")
			}
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			for _, name := range args {
				answer, err := p.addDocument(cmd.Context(), c, name, title, folder)
				if err != nil {
					return err
				}
				if p.json {
					if err := p.raw(answer); err != nil {
						return err
					}
					continue
				}
				d, err := read[document](answer)
				if err != nil {
					return err
				}
				p.printf("✓ %s · version %d · %s\n", oneLine(d.Title), d.Version, d.ID)
			}
			return nil
		},
	}
	c.Flags().StringVar(&title, "title", "", "title; else the file's name")
	c.Flags().StringVar(&folder, "folder", "", "folder of the library")
	return c
}

// addDocument puts a file into the library, as a new version when its folder
// holds one of that title.
func (p *program) addDocument(ctx context.Context, c *client.Client, name, title, folder string) (json.RawMessage, error) {
	content, err := p.readText(name)
	if err != nil {
		return nil, err
	}
	if title == "" {
		if name == "-" {
			return nil, usagef("text from the standard input needs a --title")
		}
		title = filepath.Base(name)
	}
	return putDocument(ctx, c, title, folder, content)
}

func putDocument(ctx context.Context, c *client.Client, title, folder, content string) (json.RawMessage, error) {
	known, err := pagesOf[document](ctx, c, "/documents", url.Values{"folder": {folder}})
	if err != nil {
		return nil, err
	}
	for _, d := range known {
		if d.Title == title && d.Folder == folder {
			return c.Patch(ctx, "/documents/"+url.PathEscape(d.ID), map[string]any{"content": content})
		}
	}
	return c.Post(ctx, "/documents", map[string]any{"title": title, "folder": folder, "content": content, "kind": kindOf(title)})
}

func pagesOf[T any](ctx context.Context, c *client.Client, path string, q url.Values) ([]T, error) {
	items, _, err := pages(ctx, c, path, q, 0)
	if err != nil {
		return nil, err
	}
	var out []T
	for _, it := range items {
		v, err := read[T](it)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func (p *program) readText(name string) (string, error) {
	if name == "-" {
		return p.textOrStdin("-")
	}
	st, err := os.Stat(name)
	if err == nil && st.IsDir() {
		return "", usagef("%s is a directory; allowed are text files", name)
	}
	if err == nil && st.Size() > documentLimit {
		return "", usagef("%s has %d bytes; a document has at most %d", name, st.Size(), documentLimit)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, cause(err))
	}
	if !utf8.Valid(b) || strings.ContainsRune(string(b), 0) {
		return "", usagef("%s is not text in UTF-8", name)
	}
	return string(b), nil
}

func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func kindOf(name string) string {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".md", ".markdown":
		return "markdown"
	case ".csv":
		return "csv"
	case ".json":
		return "json"
	case ".html", ".htm":
		return "html"
	}
	return "text"
}

// documentID is the id of a document that a flag names: by id, or a file, which
// is added.
func (p *program) documentID(ctx context.Context, c *client.Client, ref string) (string, error) {
	if id.Valid(ref) && !isThere(ref) {
		return ref, nil
	}
	answer, err := p.addDocument(ctx, c, ref, "", "")
	if err != nil {
		return "", err
	}
	d, err := read[document](answer)
	return d.ID, err
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (p *program) documentList() *cobra.Command {
	var folder, query string
	var limit int
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List documents", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := url.Values{}
			setQuery(q, "folder", folder, "q", query)
			return listed(p, cmd, "/documents", q, limit, []string{"ID", "TITLE", "FOLDER", "KIND", "SIZE", "VERSION", "CHANGED"},
				"No documents. Add one: dogwatch document add FILE",
				func(d document) []string {
					return []string{d.ID, cut(d.Title, 60), cut(d.Folder, 30), d.Kind, fmt.Sprint(d.Size), fmt.Sprint(d.Version), p.when(&d.UpdatedAt)}
				})
		},
	}
	c.Flags().StringVar(&folder, "folder", "", "only of this folder")
	c.Flags().StringVarP(&query, "query", "q", "", "only those that hold these words")
	c.Flags().IntVar(&limit, "limit", 50, "at most so many; 0 for all")
	return c
}

func (p *program) documentShow() *cobra.Command {
	return &cobra.Command{
		Use: "show DOCUMENT", Short: "Print a document", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.client(cmd)
			if err != nil {
				return err
			}
			answer, err := c.Get(cmd.Context(), "/documents/"+url.PathEscape(args[0]), nil)
			if err != nil || p.json {
				return p.rawIf(err, answer)
			}
			d, err := read[document](answer)
			if err != nil {
				return err
			}
			p.printf("%s", text(d.Content))
			if !strings.HasSuffix(d.Content, "\n") {
				p.printf("\n")
			}
			return nil
		},
	}
}
