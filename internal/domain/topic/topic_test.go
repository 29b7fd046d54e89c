package topic

import (
	"testing"

	"github.com/dogwatch/dogwatch/internal/domain/operation"
)

func TestTheStatusOfATopicWhoseOperationEnded(t *testing.T) {
	for _, c := range []struct {
		reason operation.Reason
		detail string
		want   Status
	}{
		{operation.ReasonDone, "", Completed},
		{operation.ReasonError, "provider_auth", Failed},
		{operation.ReasonError, operation.DetailTimeLimit, Failed},
		{operation.ReasonInterrupted, "", Canceled},
		{operation.ReasonInterrupted, operation.DetailByPerson, Canceled},
		{operation.ReasonInterrupted, operation.DetailByParent, Canceled},
		{operation.ReasonInterrupted, operation.DetailSuperseded, Canceled},
		{operation.ReasonInterrupted, operation.DetailTimeLimit, Timeout},
		{operation.ReasonInterrupted, operation.DetailStalled, Timeout},
		{operation.ReasonInterrupted, operation.DetailHeartbeatTimeout, Timeout},
		{operation.ReasonMaxSteps, "", Completed},
		{operation.ReasonCostLimit, operation.DetailTokenLimit, Completed},
		{operation.ReasonWaitingForHuman, "", Running},
		{operation.ReasonWaitingForAsyncTool, "", Running},
	} {
		if got := StatusAfter(c.reason, c.detail); got != c.want {
			t.Errorf("%s(%s): %s, want %s", c.reason, c.detail, got, c.want)
		}
	}
}

func TestWhatAnOriginMeans(t *testing.T) {
	for o, want := range map[Origin]struct{ planned, byPerson bool }{
		Heartbeat: {true, false}, Schedule: {true, false}, Every: {true, false}, Once: {true, false}, Backfill: {true, false},
		Manual: {false, true}, Comment: {false, true}, Retry: {false, true},
		Dependency: {}, Webhook: {}, Signal: {}, Message: {}, Synthesis: {},
	} {
		if o.Planned() != want.planned || o.ByPerson() != want.byPerson {
			t.Errorf("%s: planned %v, by a person %v", o, o.Planned(), o.ByPerson())
		}
	}
}

func TestAnOpenTickHasNotEnded(t *testing.T) {
	for s, want := range map[TickState]bool{
		TickPending: false, TickQueued: false, TickDispatched: false,
		TickRan: true, TickSkipped: true, TickMissed: true, TickCoalesced: true, TickCanceled: true,
	} {
		if s.Ended() != want {
			t.Errorf("%s: %v", s, !want)
		}
	}
}
