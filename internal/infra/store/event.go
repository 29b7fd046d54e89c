package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/event"
)

// Event is one thing that changed.
type Event = event.Event

// EventsChannel is where a number is announced once it is given. Emit announces
// nothing: NOTIFY holds a lock over the commit, so that transactions that do it
// are flushed one after the other instead of together.
const EventsChannel = "dogwatch_events"

// eventsLock makes numbering a matter of one process at a time.
const eventsLock = 0x646f67_01 // "dog", 1

// emitted is an event on its way to its row.
type emitted struct {
	Workspace   string          `json:"workspace"`
	Type        string          `json:"type"`
	SubjectKind string          `json:"kind"`
	SubjectID   string          `json:"id"`
	Payload     json.RawMessage `json:"payload"`
}

// Emit tells what changed, in the transaction that changes it: the rows are written
// together at its end. It is where a request with an idempotency key takes effect.
func (tx *Tx) Emit(ctx context.Context, sc access.Scope, events ...Event) error {
	if !tx.effective {
		if err := tx.tookEffect(ctx); err != nil {
			return err
		}
		tx.effective = true
	}
	for _, e := range events {
		payload := json.RawMessage("{}")
		if e.Payload != nil {
			var err error
			if payload, err = json.Marshal(e.Payload); err != nil {
				return fmt.Errorf("write the payload of %s: %w", e.Type, err)
			}
		}
		tx.events = append(tx.events, emitted{sc.Workspace(), e.Type, e.SubjectKind, e.SubjectID, payload})
	}
	return nil
}

// writeEvents writes what was emitted, in its order.
func (tx *Tx) writeEvents(ctx context.Context) error {
	if len(tx.events) == 0 {
		return nil
	}
	_, err := tx.exec(ctx, `
		insert into events (workspace_id, type, subject_kind, subject_id, payload)
		select workspace, type, kind, id, payload
		from rows from (jsonb_to_recordset(?::jsonb) as (workspace uuid, type text, kind text, id uuid, payload jsonb)) with ordinality
		order by ordinality`, doc[[]emitted]{tx.events})
	if err != nil {
		return fmt.Errorf("write down %d events: %w", len(tx.events), err)
	}
	return nil
}

// NumberEvents gives the next numbers to at most limit committed events, oldest
// first, and returns how many. It does nothing while another process is at it.
//
// A number is given after the commit of its event, by one transaction at a time,
// so numbers become visible in their order: a slow transaction gets a late number
// and is never skipped by a reader who asks for what came after n.
func (s *Store) NumberEvents(ctx context.Context, limit int) (n int, err error) {
	// A look without a transaction: nearly always there is nothing to do.
	var some bool
	if err := s.db(ctx).Raw(`select exists (select 1 from events where seq is null)`).Row().Scan(&some); err != nil {
		return 0, fmt.Errorf("look for new events: %w", err)
	}
	if !some {
		return 0, nil
	}
	err = s.InTx(ctx, func(tx *Tx) error {
		n = 0
		var mine bool
		if err := tx.db(ctx).Raw(`select pg_try_advisory_xact_lock(?)`, eventsLock).Row().Scan(&mine); err != nil || !mine {
			return err
		}
		// A statement of its own: its view of the table has to be newer than the lock.
		res := tx.db(ctx).Exec(`
			with numbered as materialized (
				select id, nextval('events_seq') as seq from events where seq is null order by id limit ?
			)
			update events e set seq = n.seq from numbered n where n.id = e.id`, limit)
		if res.Error != nil {
			return res.Error
		}
		if n = int(res.RowsAffected); n == 0 {
			return nil
		}
		return tx.db(ctx).Exec(`select pg_notify(?, '')`, EventsChannel).Error
	})
	if err != nil {
		return 0, fmt.Errorf("number events: %w", err)
	}
	return n, nil
}

type eventRow struct {
	Seq         int64
	WorkspaceID string
	Type        string
	SubjectKind string
	SubjectID   string
	Payload     string
	At          time.Time
}

func (r eventRow) event() Event {
	return Event{
		Seq: r.Seq, WorkspaceID: r.WorkspaceID, Type: r.Type, SubjectKind: r.SubjectKind, SubjectID: r.SubjectID,
		Payload: json.RawMessage(r.Payload), At: r.At.UTC(),
	}
}

// EventsAfter returns at most limit events of a workspace whose number is above
// seq, in order.
func (r Reader) EventsAfter(ctx context.Context, sc access.Scope, seq int64, limit int) ([]Event, error) {
	return r.events(ctx, `
		select seq, workspace_id, type, subject_kind, subject_id, payload, at from events
		where workspace_id = ? and seq > ? order by seq limit ?`, sc.Workspace(), seq, limit)
}

// AllEventsAfter is EventsAfter for the house as a whole: the feed hands each
// workspace its own.
func (r Reader) AllEventsAfter(ctx context.Context, seq int64, limit int) ([]Event, error) {
	return r.events(ctx, `
		select seq, workspace_id, type, subject_kind, subject_id, payload, at from events
		where seq > ? order by seq limit ?`, seq, limit)
}

func (r Reader) events(ctx context.Context, query string, args ...any) ([]Event, error) {
	var rows []eventRow
	if err := r.db(ctx).Raw(query, args...).Scan(&rows).Error; err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	events := make([]Event, len(rows))
	for i, row := range rows {
		events[i] = row.event()
	}
	return events, nil
}

// EventBounds returns the numbers between which a reader can resume, for the
// house as a whole: after n nothing is missing when oldest-1 <= n <= newest.
func (r Reader) EventBounds(ctx context.Context) (oldest, newest int64, err error) {
	// A sequence survives what retention deletes, so no number is given twice.
	err = r.db(ctx).Raw(`
		select coalesce((select min(seq) from events), s.last + 1), coalesce((select max(seq) from events), s.last)
		from (select case when is_called then last_value else 0 end as last from events_seq) s`).Row().Scan(&oldest, &newest)
	if err != nil {
		return 0, 0, fmt.Errorf("read the numbers of events: %w", err)
	}
	return oldest, newest, nil
}

// DeleteEvents deletes at most limit numbered events that are older than age,
// oldest first, and returns how many. For the house as a whole.
func (tx *Tx) DeleteEvents(ctx context.Context, age time.Duration, limit int) (int, error) {
	res := tx.db(ctx).Exec(`
		delete from events where id in (
			select id from events where at < clock_timestamp() - make_interval(secs => ?) and seq is not null order by seq limit ?)`,
		age.Seconds(), limit)
	if res.Error != nil {
		return 0, fmt.Errorf("delete old events: %w", res.Error)
	}
	return int(res.RowsAffected), nil
}
