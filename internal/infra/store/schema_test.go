package store

import (
	"slices"
	"sync"
	"testing"

	"gorm.io/gorm/schema"

	"github.com/dogwatch/dogwatch/internal/testkit/pgtest"
)

// rows are the structs that gorm reads and writes whole, with the columns of their
// tables that only SQL touches.
var rows = []struct {
	row     any
	sqlOnly []string
}{
	{&Workspace{}, []string{"task_seq", "brief_seq"}},
	{&taskRow{}, nil},
	{&moveRow{}, nil},
	{&Comment{}, nil},
	{&Document{}, []string{"search"}},
	{&DocumentVersion{}, nil},
	{&Tick{}, nil},
	{&topicRow{}, nil},
	{&operationRow{}, nil},
	{&Step{}, nil},
	{&ToolCall{}, nil},
	{&messageRow{}, nil},
	{&briefRow{}, nil},
	{&backfillRow{}, nil},
}

// bySQL are the tables that are written and read by statements alone, whose columns
// the tests of those statements hold.
var bySQL = []string{
	"agent_revisions", "agents", "audit", "bulk_tasks", "bulks", "calendars", "events", "files", "goose_db_version", "idempotency_keys", "jobs", "key_fingerprint", "memberships", "people",
	"queue_epoch", "secrets", "sessions", "sign_in_links", "slots", "task_dependencies", "task_documents", "task_files", "tokens",
}

// The migrations are the only way the schema comes to be, and the rows say the same.
func TestRowsAndMigrationsAgree(t *testing.T) {
	s := open(t)
	tables := map[string][]string{}
	var columns []struct{ TableName, ColumnName string }
	err := s.db(t.Context()).Raw(`select table_name, column_name from information_schema.columns where table_schema = 'public'`).Scan(&columns).Error
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range columns {
		tables[c.TableName] = append(tables[c.TableName], c.ColumnName)
	}
	for _, r := range rows {
		sch, err := schema.Parse(r.row, &sync.Map{}, schema.NamingStrategy{})
		if err != nil {
			t.Fatal(err)
		}
		have := tables[sch.Table]
		delete(tables, sch.Table)
		if have == nil {
			t.Errorf("%T: there is no table %s", r.row, sch.Table)
		}
		for _, f := range sch.DBNames {
			if !slices.Contains(have, f) {
				t.Errorf("%s.%s is in the row and not in the migrations", sch.Table, f)
			}
		}
		for _, c := range have {
			if !slices.Contains(sch.DBNames, c) && !slices.Contains(r.sqlOnly, c) {
				t.Errorf("%s.%s is in the migrations and not in the row", sch.Table, c)
			}
		}
	}
	for _, name := range bySQL {
		if tables[name] == nil {
			t.Errorf("there is no table %s", name)
		}
		delete(tables, name)
	}
	for name := range tables {
		t.Errorf("the table %s is in nobody's list", name)
	}
}

// Every table belongs to a workspace, but the few that are the house's own.
func TestEveryRowHasItsWorkspace(t *testing.T) {
	s := open(t)
	house := []string{"workspaces", "people", "sessions", "sign_in_links", "queue_epoch", "key_fingerprint", "goose_db_version"}
	var without []string
	err := s.db(t.Context()).Raw(`
		select t.table_name from information_schema.tables t where t.table_schema = 'public' and not exists (
		  select 1 from information_schema.columns c where c.table_name = t.table_name and c.column_name = 'workspace_id') order by 1`).Scan(&without).Error
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range without {
		if !slices.Contains(house, name) {
			t.Errorf("%s has no workspace_id", name)
		}
	}
}

func open(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), pgtest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}
