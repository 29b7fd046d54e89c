package store_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/event"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

func asked(what string) store.Request {
	return store.Request{Caller: "me", Key: "k", Hash: secretHash(what)}
}

func (h *house) claim(what string) *store.RequestClaim {
	h.t.Helper()
	answer, claim, err := h.ClaimRequest(h.ctx, h.here, asked(what), time.Minute)
	if err != nil || answer != nil || claim == nil {
		h.t.Fatalf("claiming: %v, %v, %v", answer, claim, err)
	}
	return claim
}

// effect is what a handler's transaction does.
func (h *house) effect(ctx context.Context) error {
	return h.InTx(ctx, func(tx *store.Tx) error {
		return tx.Emit(ctx, h.here, store.Event{Type: event.TaskCreated, SubjectKind: "task", SubjectID: id.New()})
	})
}

func TestTheFirstAnswerIsGivenAgain(t *testing.T) {
	h := newHouse(t)
	c := h.claim("a")
	_, _, err := h.ClaimRequest(h.ctx, h.here, asked("a"), time.Minute)
	wantKind(t, err, errs.Conflict, "in_progress")
	if err := h.effect(c.With(h.ctx)); err != nil {
		t.Fatal(err)
	}
	_, _, err = h.ClaimRequest(h.ctx, h.here, asked("a"), time.Minute)
	wantKind(t, err, errs.Conflict, "in_progress")

	if err := h.KeepAnswer(h.ctx, c, store.Answer{Status: 201, Headers: map[string]string{"ETag": `"1"`}, Body: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	a, c2, err := h.ClaimRequest(h.ctx, h.here, asked("a"), time.Minute)
	if err != nil || c2 != nil || a == nil || a.Status != 201 || a.Headers["ETag"] != `"1"` || string(a.Body) != "{}" {
		t.Errorf("the first answer comes back as %+v, %v, %v", a, c2, err)
	}
	_, _, err = h.ClaimRequest(h.ctx, h.here, asked("b"), time.Minute)
	wantKind(t, err, errs.Invalid, "idempotency_key_reused")
	if _, c, err := h.ClaimRequest(h.ctx, h.there, asked("b"), time.Minute); err != nil || c == nil {
		t.Errorf("a key of another workspace stands in the way: %v", err)
	}
}

func TestAKeyIsFreeAgainWhenNothingWasDone(t *testing.T) {
	h := newHouse(t)
	if err := h.ReleaseRequest(h.ctx, h.claim("a")); err != nil {
		t.Fatal(err)
	}
	h.claim("b")
}

// A key that its holder gives back in the moment in which another one looks at it
// is free, not missing.
func TestAKeyThatIsGivenBackWhileAnotherLooksIsFree(t *testing.T) {
	h := newHouse(t)
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			for range 60 {
				_, claim, err := h.ClaimRequest(h.ctx, h.here, asked("a"), time.Minute)
				if err == nil {
					err = h.ReleaseRequest(h.ctx, claim)
				}
				if err != nil && errs.CodeOf(err) != "in_progress" {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func TestAClaimThatRanOutWithoutEffectIsTakenOver(t *testing.T) {
	h := newHouse(t)
	slow := h.claim("a")
	h.exec(`update idempotency_keys set locked_until = now() - interval '1 second'`)
	taken := h.claim("a")

	// The slow one wakes up: it can no longer do anything.
	wantKind(t, h.effect(slow.With(h.ctx)), errs.Conflict, "in_progress")
	if events, _ := h.AllEventsAfter(h.ctx, -1, 10); len(events) != 0 {
		t.Error("both took effect")
	}
	if err := h.KeepAnswer(h.ctx, slow, store.Answer{Status: 500}); err != nil {
		t.Fatal(err)
	}
	if err := h.effect(taken.With(h.ctx)); err != nil {
		t.Errorf("the one that took over: %v", err)
	}
}

func TestWhatTookEffectIsNotDoneAgainWithoutItsAnswer(t *testing.T) {
	h := newHouse(t)
	c := h.claim("a")
	if err := h.effect(c.With(h.ctx)); err != nil {
		t.Fatal(err)
	}
	if err := h.ReleaseRequest(h.ctx, c); err != nil { // as after a fault while the answer was written
		t.Fatal(err)
	}
	h.exec(`update idempotency_keys set created_at = created_at - interval '10 minutes'`)
	_, _, err := h.ClaimRequest(h.ctx, h.here, asked("a"), time.Minute)
	wantKind(t, err, errs.Conflict, "outcome_unknown")
}

func TestAnAnswerIsKeptForADay(t *testing.T) {
	h := newHouse(t)
	c := h.claim("a")
	if err := h.KeepAnswer(h.ctx, c, store.Answer{Status: 200}); err != nil {
		t.Fatal(err)
	}
	h.exec(`update idempotency_keys set created_at = now() - interval '23 hours'`)
	if a, _, err := h.ClaimRequest(h.ctx, h.here, asked("a"), time.Minute); a == nil || err != nil {
		t.Errorf("after 23 hours: %v, %v", a, err)
	}
	h.exec(`update idempotency_keys set created_at = now() - interval '25 hours'`)
	h.claim("other")

	h.exec(`update idempotency_keys set created_at = now() - interval '25 hours'`)
	h.tx(func(tx *store.Tx) error {
		n, err := tx.DeleteAnswers(h.ctx, 10)
		if n != 1 {
			t.Errorf("deleted %d keys, want one", n)
		}
		return err
	})
}
