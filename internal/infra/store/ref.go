package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gorm.io/gorm"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
)

// idOr returns the condition that finds ref by its id or by another column.
func idOr(ref, idColumn, column string) string {
	if id.Valid(ref) {
		return idColumn + " = ?"
	}
	return column + " = ?"
}

// TaskID returns the id of a task that is named by its id or identifier, T-12 in
// any case. Deleted tasks are found too: their callers say what they may do.
func (r Reader) TaskID(ctx context.Context, sc access.Scope, ref string) (string, error) {
	return r.refID(ctx, sc, "task", "tasks", "seq", "T-", ref)
}

// BriefID returns the id of a brief that is named by its id or number, B-7.
func (r Reader) BriefID(ctx context.Context, sc access.Scope, ref string) (string, error) {
	return r.refID(ctx, sc, "brief", "briefs", "number", "B-", ref)
}

func (r Reader) refID(ctx context.Context, sc access.Scope, noun, table, column, prefix, ref string) (string, error) {
	var arg any = ref
	where := "id = ?"
	if !id.Valid(ref) {
		digits, ok := strings.CutPrefix(strings.ToUpper(ref), prefix)
		n, err := strconv.ParseInt(digits, 10, 64)
		if !ok || err != nil || n < 1 || digits != strconv.FormatInt(n, 10) {
			return "", errs.Missing(noun, ref)
		}
		where, arg = column+" = ?", n
	}
	var out string
	err := r.db(ctx).Raw(`select id from `+table+` where workspace_id = ? and `+where, sc.Workspace(), arg).Row().Scan(&out)
	return out, found(notSQL(err), noun, ref)
}

// notSQL brings database/sql's "no row" to the one that found knows.
func notSQL(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return gorm.ErrRecordNotFound
	}
	return err
}

// nextNumber counts on a workspace's counter. It locks the workspace's row until
// the transaction ends, so it stands late in one.
func (tx *Tx) nextNumber(ctx context.Context, sc access.Scope, counter string) (int64, error) {
	var n int64
	err := tx.db(ctx).Raw(`update workspaces set `+counter+` = `+counter+` + 1 where id = ? returning `+counter, sc.Workspace()).Row().Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count %s: %w", counter, err)
	}
	return n, nil
}
