package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// statisticsLock makes it a matter of one process at a time.
const statisticsLock = 0x646f67_02 // "dog", 2

// grownSQL finds the tables that have grown to four times what the planner knows of
// them. Autovacuum looks once a minute and finds them too, but plans that were made
// for empty tables are kept by each connection, and the checks of foreign keys keep
// theirs as well: of two indexes that both seem to find one row they may walk the
// one by workspace. In a minute a young house can have thousands of rows.
const grownSQL = `
	select s.relname from pg_stat_user_tables s join pg_class c on c.oid = s.relid
	where s.schemaname = current_schema and s.n_mod_since_analyze >= 50 and s.n_mod_since_analyze > 3 * greatest(c.reltuples, 0)
	order by s.relname`

// AnalyzeGrown lets the planner look at the tables that grew much since it did, and
// returns their names. A connection drops the plans that it keeps of them.
func (s *Store) AnalyzeGrown(ctx context.Context) (tables []string, err error) {
	err = s.InTx(ctx, func(tx *Tx) error {
		tables = nil
		var mine bool
		if err := tx.db(ctx).Raw(`select pg_try_advisory_xact_lock(?)`, statisticsLock).Row().Scan(&mine); err != nil || !mine {
			return err
		}
		if err := tx.db(ctx).Raw(grownSQL).Scan(&tables).Error; err != nil {
			return err
		}
		for _, t := range tables {
			if _, err := tx.exec(ctx, `analyze `+pgx.Identifier{t}.Sanitize()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("analyze tables that grew: %w", err)
	}
	return tables, nil
}
