package store

import (
	"context"
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
)

// Session is a signed-in browser. It is found by the hash of its cookie, so that
// whoever reads the database cannot sign in with what is there.
type Session struct {
	ID, PersonID string
	CSRFToken    string `gorm:"column:csrf_token"`
	UserAgent    string
	Address      string
	CreatedAt    time.Time
	LastSeenAt   time.Time
	ExpiresAt    time.Time
}

// seenEvery is how exact last_seen_at is: a write for each request would cost
// more than it tells.
const seenEvery = 5 * time.Minute

// CreateSession signs a person in for ttl.
func (tx *Tx) CreateSession(ctx context.Context, personID string, cookieHash []byte, csrf, userAgent, address string, ttl time.Duration) error {
	_, err := tx.exec(ctx, `
		insert into sessions (id, person_id, token_hash, csrf_token, user_agent, address, expires_at)
		values (?, ?, ?, ?, left(?, 300), ?, clock_timestamp() + make_interval(secs => ?))`,
		id.New(), personID, cookieHash, csrf, userAgent, address, ttl.Seconds())
	if err != nil {
		return fmt.Errorf("create a session: %w", err)
	}
	return nil
}

// SessionOf returns the living session of a cookie, for the house as a whole:
// who asks is not known before. It is NotFound when there is none, when it has
// expired, or when its person was disabled.
func (s *Store) SessionOf(ctx context.Context, cookieHash []byte) (Session, error) {
	var row struct {
		Session
		Stale bool
	}
	err := s.db(ctx).Raw(`
		select s.id, s.person_id, s.csrf_token, s.user_agent, s.address, s.created_at, s.last_seen_at, s.expires_at,
		  s.last_seen_at < clock_timestamp() - make_interval(secs => ?) as stale
		from sessions s join people p on p.id = s.person_id
		where s.token_hash = ? and s.expires_at > clock_timestamp() and p.disabled_at is null`,
		seenEvery.Seconds(), cookieHash).Take(&row).Error
	if err := found(err, "session", "of this cookie"); err != nil {
		return Session{}, err
	}
	if row.Stale {
		if err := s.db(ctx).Exec(`update sessions set last_seen_at = clock_timestamp() where id = ?`, row.ID).Error; err != nil {
			return Session{}, fmt.Errorf("note that a session is used: %w", err)
		}
	}
	return row.Session, nil
}

// DeleteSession signs a browser out.
func (tx *Tx) DeleteSession(ctx context.Context, personID, sessionID string) error {
	n, err := tx.exec(ctx, `delete from sessions where person_id = ? and id = ?`, personID, sessionID)
	if err != nil {
		return fmt.Errorf("delete a session: %w", err)
	}
	if n == 0 {
		return errs.Missing("session", sessionID)
	}
	return nil
}

// DeleteOtherSessions signs a person out everywhere but in one session: after a
// change of the password. keep is "" to keep none.
func (tx *Tx) DeleteOtherSessions(ctx context.Context, personID, keep string) error {
	if _, err := tx.exec(ctx, `delete from sessions where person_id = ? and id::text <> ?`, personID, keep); err != nil {
		return fmt.Errorf("delete sessions: %w", err)
	}
	return nil
}

// CreateSignInLink lets whoever has the secret of that hash sign in as a person,
// once, within ttl.
func (tx *Tx) CreateSignInLink(ctx context.Context, personID string, secretHash []byte, ttl time.Duration) error {
	_, err := tx.exec(ctx, `
		insert into sign_in_links (person_id, token_hash, expires_at) values (?, ?, clock_timestamp() + make_interval(secs => ?))`,
		personID, secretHash, ttl.Seconds())
	if err != nil {
		return fmt.Errorf("create a sign-in link: %w", err)
	}
	return nil
}

// UseSignInLink uses a link up and returns whom it signs in. Of two at once one
// gets in.
func (tx *Tx) UseSignInLink(ctx context.Context, secretHash []byte) (personID string, err error) {
	err = tx.db(ctx).Raw(`
		update sign_in_links l set used_at = clock_timestamp() from people p
		where l.token_hash = ? and l.used_at is null and l.expires_at > clock_timestamp() and p.id = l.person_id and p.disabled_at is null
		returning l.person_id`, secretHash).Row().Scan(&personID)
	return personID, found(notSQL(err), "sign-in link", "of this secret")
}

// DeleteExpiredAccess deletes at most limit sessions and as many sign-in links
// that can no longer be used. For the house as a whole.
func (tx *Tx) DeleteExpiredAccess(ctx context.Context, limit int) (int, error) {
	a, err := tx.exec(ctx, `delete from sessions where id in (select id from sessions where expires_at < clock_timestamp() limit ?)`, limit)
	if err != nil {
		return 0, fmt.Errorf("delete expired sessions: %w", err)
	}
	b, err := tx.exec(ctx, `
		delete from sign_in_links where token_hash in (
			select token_hash from sign_in_links where expires_at < clock_timestamp() - interval '1 day' limit ?)`, limit)
	if err != nil {
		return 0, fmt.Errorf("delete expired sign-in links: %w", err)
	}
	return int(a + b), nil
}
