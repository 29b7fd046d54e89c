package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
)

// Person is somebody with an account. People belong to the house; a membership
// lets them into a workspace.
type Person struct {
	ID, Email, Name      string
	Timezone, Language   string
	DisabledAt           *time.Time
	Version              int64
	CreatedAt, UpdatedAt time.Time
}

// TableName names the table for gorm.
func (Person) TableName() string { return "people" }

// Membership is what a person may do in a workspace.
type Membership struct {
	WorkspaceID string
	Slug, Name  string
	Role        access.Role
}

// NewPerson is what an account is made of.
type NewPerson struct {
	Email, Name, PasswordHash string
	Timezone, Language        string // "" for the defaults
}

// CreatePerson makes an account and lets it into the scope's workspace.
func (tx *Tx) CreatePerson(ctx context.Context, sc access.Scope, in NewPerson, role access.Role) (Person, error) {
	personID := id.New()
	_, err := tx.exec(ctx, `
		insert into people (id, email, name, password_hash, timezone, language)
		values (?, ?, ?, ?, coalesce(nullif(?, ''), 'UTC'), coalesce(nullif(?, ''), 'en'))`,
		personID, CanonicalEmail(in.Email), in.Name, in.PasswordHash, in.Timezone, in.Language)
	if violates(err, "people_email") {
		return Person{}, errs.New(errs.Conflict, "conflict", "There is an account of %s already.", in.Email)
	}
	if err == nil {
		_, err = tx.exec(ctx, `insert into memberships (workspace_id, person_id, role) values (?, ?, ?)`, sc.Workspace(), personID, role)
	}
	if err != nil {
		return Person{}, fmt.Errorf("create an account: %w", err)
	}
	return tx.Person(ctx, personID)
}

// AddMember lets a person into the scope's workspace, or changes their role there.
func (tx *Tx) AddMember(ctx context.Context, sc access.Scope, personID string, role access.Role) error {
	_, err := tx.exec(ctx, `
		insert into memberships (workspace_id, person_id, role) values (?, ?, ?)
		on conflict (workspace_id, person_id) do update set role = excluded.role`, sc.Workspace(), personID, role)
	if err != nil {
		return fmt.Errorf("add a member: %w", err)
	}
	return nil
}

// CanonicalEmail is the one spelling of an address that accounts are kept under.
func CanonicalEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// Person returns a person, for the house as a whole: an account is of no workspace.
func (r Reader) Person(ctx context.Context, personID string) (Person, error) {
	var p Person
	err := r.db(ctx).Where("id = ?", personID).Take(&p).Error
	return p, found(err, "person", personID)
}

// Credentials returns an account by its e-mail address and the hash of its
// password. It is for signing in, before there is a scope.
func (r Reader) Credentials(ctx context.Context, email string) (Person, string, error) {
	var row struct {
		ID, PasswordHash string
	}
	email = CanonicalEmail(email)
	err := r.db(ctx).Raw(`select id, password_hash from people where email = ? and disabled_at is null`, email).Take(&row).Error
	if err := found(err, "person", email); err != nil {
		return Person{}, "", err
	}
	p, err := r.Person(ctx, row.ID)
	return p, row.PasswordHash, err
}

// PasswordHash returns the hash of a person's password.
func (r Reader) PasswordHash(ctx context.Context, personID string) (string, error) {
	var hash string
	err := r.db(ctx).Raw(`select password_hash from people where id = ?`, personID).Row().Scan(&hash)
	return hash, found(notSQL(err), "person", personID)
}

// FirstAdmin returns the oldest account that administers a workspace, for the
// host's own commands, and whether there is one.
func (r Reader) FirstAdmin(ctx context.Context) (Person, bool, error) {
	var ps []Person
	err := r.db(ctx).Raw(`
		select p.* from people p join memberships m on m.person_id = p.id
		where m.role = 'admin' order by p.created_at, p.id limit 1`).Scan(&ps).Error
	if err != nil || len(ps) == 0 {
		return Person{}, false, err
	}
	return ps[0], true, nil
}

// Memberships returns the workspaces of a person, the oldest first.
func (r Reader) Memberships(ctx context.Context, personID string) ([]Membership, error) {
	var ms []Membership
	err := r.db(ctx).Raw(`
		select m.workspace_id, w.slug, w.name, m.role from memberships m join workspaces w on w.id = m.workspace_id
		where m.person_id = ? order by m.created_at, m.workspace_id`, personID).Scan(&ms).Error
	if err != nil {
		return nil, fmt.Errorf("read memberships: %w", err)
	}
	return ms, nil
}

// PersonPatch changes what is not nil.
type PersonPatch struct {
	Name, Timezone, Language, PasswordHash *string
}

// EditPerson changes an account. version is the one that the change was made
// on, nil for whichever there is.
func (tx *Tx) EditPerson(ctx context.Context, personID string, version *int64, p PersonPatch) (Person, error) {
	n, err := tx.exec(ctx, `
		update people set name = coalesce(?, name), timezone = coalesce(?, timezone), language = coalesce(?, language),
		  password_hash = coalesce(?, password_hash), version = version + 1, updated_at = clock_timestamp()
		where id = ? and version = coalesce(?, version)`,
		p.Name, p.Timezone, p.Language, p.PasswordHash, personID, version)
	if err != nil {
		return Person{}, fmt.Errorf("change an account: %w", err)
	}
	if n == 0 {
		if _, err := tx.Person(ctx, personID); err != nil {
			return Person{}, err
		}
		return Person{}, stale("account")
	}
	return tx.Person(ctx, personID)
}
