package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/access"
)

// A request with an idempotency key takes effect once, also when the process
// dies in the middle of it:
//
//   - a row claims the key before anything is done, for as long as a request may take;
//   - the transaction in which the request takes effect locks the key for ever
//     (Emit does that: every effect says what changed);
//   - the answer is kept in the row before it is sent.
//
// A claim that ran out without an effect is taken over by the next request: the
// first one can no longer commit, since its transaction finds the claim gone. One
// that took effect and has no answer says so instead of doing it again.

// IdempotencyAge is how long an answer is kept.
const IdempotencyAge = 24 * time.Hour

// Request names a request that may be sent more than once.
type Request struct {
	Caller string // the token or person
	Key    string
	Hash   []byte // of what was asked, 32 bytes
}

// Answer is the first answer to a request.
type Answer struct {
	Status  int
	Headers map[string]string
	Body    []byte
}

// RequestClaim is the right to carry a request out.
type RequestClaim struct {
	scope access.Scope
	req   Request
	at    time.Time // tells this claim from one that took it over
}

// ClaimRequest claims a key for at most the time given. It returns the first
// answer when there is one, else the claim. An errs.Invalid with the code
// idempotency_key_reused says that the key was used for something else; an
// errs.Conflict that the first request is under way, or that its outcome is not
// known.
func (s *Store) ClaimRequest(ctx context.Context, sc access.Scope, req Request, limit time.Duration) (*Answer, *RequestClaim, error) {
	claim := RequestClaim{scope: sc, req: req}
	var row struct {
		Mine, Same, Over bool
		Status           *int
		Headers          doc[map[string]string]
		Body             []byte
		CreatedAt        time.Time
	}
	// In one statement: of two claims at once, one waits for the other's row.
	err := s.db(ctx).Raw(`
		insert into idempotency_keys as k (workspace_id, caller, key, request_hash, locked_until)
		values (?, ?, ?, ?, clock_timestamp() + make_interval(secs => ?))
		on conflict (workspace_id, caller, key) do update set
		  request_hash = excluded.request_hash, status = null, headers = null, body = null,
		  created_at = clock_timestamp(), locked_until = excluded.locked_until
		where k.locked_until < clock_timestamp() and k.request_hash = excluded.request_hash
		  or k.created_at < clock_timestamp() - make_interval(secs => ?)
		returning created_at`,
		sc.Workspace(), req.Caller, req.Key, req.Hash, limit.Seconds(), IdempotencyAge.Seconds()).Row().Scan(&claim.at)
	if err == nil {
		return nil, &claim, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return nil, nil, fmt.Errorf("claim an idempotency key: %w", err)
	}
	err = s.db(ctx).Raw(`
		select request_hash = ? as same, status, headers, body, created_at < clock_timestamp() - make_interval(secs => ?) as over
		from idempotency_keys where workspace_id = ? and caller = ? and key = ?`,
		req.Hash, limit.Seconds(), sc.Workspace(), req.Caller, req.Key).Take(&row).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound): // given back between the two statements: it is free
		return s.ClaimRequest(ctx, sc, req, limit)
	case err != nil:
		return nil, nil, fmt.Errorf("read an idempotency key: %w", err)
	case !row.Same:
		return nil, nil, errs.New(errs.Invalid, "idempotency_key_reused", "This Idempotency-Key was used for another request. Send a new one.")
	case row.Status != nil:
		return &Answer{*row.Status, row.Headers.V, row.Body}, nil, nil
	case row.Over:
		return nil, nil, errs.New(errs.Conflict, "outcome_unknown",
			"The first request with this Idempotency-Key took effect, but its answer was lost. Look at what is there before you send it again with a new key.")
	}
	return nil, nil, errs.New(errs.Conflict, "in_progress", "The first request with this Idempotency-Key is still under way.")
}

// KeepAnswer keeps the answer to a claimed request.
func (s *Store) KeepAnswer(ctx context.Context, c *RequestClaim, a Answer) error {
	return s.endClaim(ctx, c, `update idempotency_keys set status = ?, headers = ?, body = ?, locked_until = null
		where workspace_id = ? and caller = ? and key = ? and created_at = ?`, a.Status, doc[map[string]string]{a.Headers}, a.Body)
}

// ReleaseRequest gives a claim back when the request had no effect and may be
// sent again.
func (s *Store) ReleaseRequest(ctx context.Context, c *RequestClaim) error {
	return s.endClaim(ctx, c, `delete from idempotency_keys
		where workspace_id = ? and caller = ? and key = ? and created_at = ? and locked_until < 'infinity'`)
}

func (s *Store) endClaim(ctx context.Context, c *RequestClaim, sql string, args ...any) error {
	args = append(args, c.scope.Workspace(), c.req.Caller, c.req.Key, c.at)
	if err := s.db(ctx).Exec(sql, args...).Error; err != nil {
		return fmt.Errorf("end the claim of an idempotency key: %w", err)
	}
	return nil
}

type claimKey struct{}

// With returns a context whose transactions belong to the request: the first that
// emits an event is where the request takes effect.
func (c *RequestClaim) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, claimKey{}, c)
}

// tookEffect locks the key of the request that the transaction belongs to, if it
// belongs to one, for ever.
func (tx *Tx) tookEffect(ctx context.Context) error {
	c, ok := ctx.Value(claimKey{}).(*RequestClaim)
	if !ok {
		return nil
	}
	n, err := tx.exec(ctx, `
		update idempotency_keys set locked_until = 'infinity'
		where workspace_id = ? and caller = ? and key = ? and created_at = ? and status is null`,
		c.scope.Workspace(), c.req.Caller, c.req.Key, c.at)
	if err != nil {
		return fmt.Errorf("lock an idempotency key: %w", err)
	}
	if n == 0 {
		return errs.New(errs.Conflict, "in_progress", "The request took too long and another one with its Idempotency-Key took over.")
	}
	return nil
}

// DeleteAnswers deletes at most limit keys that are past their time. For the
// house as a whole.
func (tx *Tx) DeleteAnswers(ctx context.Context, limit int) (int, error) {
	n, err := tx.exec(ctx, `
		delete from idempotency_keys k using (
			select workspace_id, caller, key from idempotency_keys
			where created_at < clock_timestamp() - make_interval(secs => ?) order by created_at limit ?) old
		where (k.workspace_id, k.caller, k.key) = (old.workspace_id, old.caller, old.key)`, IdempotencyAge.Seconds(), limit)
	if err != nil {
		return 0, fmt.Errorf("delete old idempotency keys: %w", err)
	}
	return int(n), nil
}
