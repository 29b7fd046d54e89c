package store

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dogwatch/dogwatch/internal/base/text"
	"github.com/dogwatch/dogwatch/internal/domain/access"
)

// doc is a value that is kept as jsonb.
type doc[T any] struct{ V T }

func (d doc[T]) Value() (driver.Value, error) {
	b, err := json.Marshal(d.V)
	return string(b), err
}

func (d *doc[T]) Scan(src any) error {
	var b []byte
	switch src := src.(type) {
	case nil:
		return nil
	case string:
		b = []byte(src)
	case []byte:
		b = src
	default:
		return fmt.Errorf("cannot read %T as JSON", src)
	}
	return json.Unmarshal(b, &d.V)
}

// texts is a text[].
type texts []string

func (t texts) Value() (driver.Value, error) {
	quoted := make([]string, len(t))
	for i, s := range t {
		quoted[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
	}
	return "{" + strings.Join(quoted, ",") + "}", nil
}

func (t *texts) Scan(src any) error {
	return pgtype.NewMap().SQLScanner((*[]string)(t)).Scan(src)
}

// optional returns nil for "", so that it is stored as null.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func actor(kind access.ActorKind, id *string) access.Actor {
	return access.Actor{Kind: kind, ID: orEmpty(id)}
}

// Page asks for a part of a list, the newest first.
type Page struct {
	Limit int    // 1 to 200; 0 is 50
	After string // id of the last item of the page before; "" for the first
}

func (p Page) limit() int {
	if p.Limit == 0 {
		return 50
	}
	return min(max(p.Limit, 1), 200)
}

// cut turns limit+1 rows into a page and the id to go on after.
func cut[T any](items []T, p Page, id func(T) string) ([]T, string) {
	if len(items) <= p.limit() {
		return items, ""
	}
	items = items[:p.limit()]
	return items, id(items[len(items)-1])
}

// exec runs a statement and returns how many rows it wrote.
func (tx *Tx) exec(ctx context.Context, sql string, args ...any) (int64, error) {
	res := tx.db(ctx).Exec(sql, args...)
	return res.RowsAffected, res.Error
}

// clean makes text from models, tools and files storable: Postgres keeps no NUL
// and nothing that is not UTF-8.
func clean(s string) string {
	return text.Clean(s)
}
