package pgtest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func count(t *testing.T, conn *pgx.Conn, sql string) (n int) {
	t.Helper()
	if err := conn.QueryRow(context.Background(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

const tables = "select count(*) from pg_tables where schemaname = 'public'"

func TestEachDatabaseIsMigratedAndItsOwn(t *testing.T) {
	a, b := connect(t, New(t)), connect(t, New(t))
	if n := count(t, a, tables); n < 5 {
		t.Fatalf("a new database has %d tables; the migrations did not run", n)
	}
	if _, err := a.Exec(context.Background(), "create table only_here ()"); err != nil {
		t.Fatal(err)
	}
	if n := count(t, b, "select count(*) from pg_tables where tablename = 'only_here'"); n != 0 {
		t.Fatal("two tests share a database")
	}
	if n := count(t, connect(t, NewEmpty(t)), tables); n != 0 {
		t.Fatalf("an empty database has %d tables", n)
	}
}

func TestADatabaseIsDroppedWithItsTest(t *testing.T) {
	var url string
	t.Run("inner", func(t *testing.T) { url = New(t) })
	if conn, err := pgx.Connect(context.Background(), url); err == nil {
		_ = conn.Close(context.Background())
		t.Fatal("the database outlived its test")
	}
}

func TestAServerNamedByTheEnvironmentKeepsItsTemplate(t *testing.T) {
	s := Cluster(t)
	admin := s.c.URL("postgres")
	if err := execSQL(context.Background(), admin, "drop database "+templateName()); err != nil {
		t.Fatal(err)
	}
	made := func() uint32 {
		name, err := ensureTemplate(context.Background(), admin)
		if err != nil {
			t.Fatal(err)
		}
		var oid uint32
		if err := connect(t, admin).QueryRow(context.Background(),
			"select oid from pg_database where datname = $1", name).Scan(&oid); err != nil {
			t.Fatal(err)
		}
		return oid
	}
	first := made()
	if again := made(); again != first {
		t.Fatal("the second process made the template anew")
	}
	conn := connect(t, create(t, source{admin, templateName()}, templateName()))
	if n := count(t, conn, tables); n < 5 {
		t.Fatalf("a database from the made template has %d tables", n)
	}
}

func TestAKilledClusterComesBackWithWhatWasCommitted(t *testing.T) {
	s := Cluster(t)
	conn := connect(t, s.URL())
	for i := range 3 {
		if _, err := conn.Exec(context.Background(), "create table if not exists kept (n int)"); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(context.Background(), "insert into kept values ($1)", i); err != nil {
			t.Fatal(err)
		}
		s.Restart()
		conn = connect(t, s.URL())
		if n := count(t, conn, "select count(*) from kept"); n != i+1 {
			t.Fatalf("%d rows after kill %d, want %d", n, i+1, i+1)
		}
	}
}

func TestWithDatabase(t *testing.T) {
	for dsn, want := range map[string]string{
		"postgres://u:p@h:1/postgres?sslmode=disable": "postgres://u:p@h:1/x?sslmode=disable",
		"host=/tmp user=u dbname=postgres":            "host=/tmp user=u dbname=postgres dbname=x",
	} {
		if got := withDatabase(dsn, "x"); got != want {
			t.Errorf("withDatabase(%q) = %q, want %q", dsn, got, want)
		}
	}
}
