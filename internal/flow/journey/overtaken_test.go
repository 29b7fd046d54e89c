package journey

import (
	"testing"

	"github.com/dogwatch/dogwatch/internal/domain/brief"
	"github.com/dogwatch/dogwatch/internal/flow/steer"
)

// The handoff of a run may come when the next run has ended already: its worker died,
// say, or the model was slow. The card is the later run's by then, and is not told over.
func TestALateHandoffLeavesTheCardToTheRunAfterIt(t *testing.T) {
	s := begin(t)
	tk := s.create(steer.NewTask{Instruction: "Work."})
	late := func() {
		s.sql(`update jobs set run_at = clock_timestamp() + interval '1 hour' where kind = 'handoff' and state = 'ready'`)
	}
	// What settles a run posts its handoff; a trigger holds that up, as a dead worker would.
	s.sql(`create function hold_handoffs() returns trigger language plpgsql as $$ begin new.run_at := new.run_at + interval '1 hour'; return new; end $$`)
	s.sql(`create trigger hold_handoffs before insert on jobs for each row when (new.kind = 'handoff') execute function hold_handoffs()`)
	for range 2 {
		s.run(tk.ID)
		s.Drain()
	}
	late()
	if n := len(s.topics(tk.ID)); n != 2 {
		t.Fatalf("%d runs", n)
	}
	for _, order := range []string{"asc", "desc"} { // one after the other, the older first
		s.sql(`update jobs set run_at = clock_timestamp() where id = (select id from jobs where kind = 'handoff' and state = 'ready' order by id ` + order + ` limit 1)`)
		s.Drain()
	}
	var told, runs int
	s.Must(s.Store.Pool().QueryRow(s.Context(), `select coalesce(sum(count), 0) from briefs where task_id = $1 and cause = $2`, tk.ID, brief.CauseResult).Scan(&told))
	s.Must(s.Store.Pool().QueryRow(s.Context(), `select count(*) from topics where task_id = $1 and handoff is not null`, tk.ID).Scan(&runs))
	if told != 2 || runs != 2 {
		t.Errorf("%d runs have left a handoff, and results were told of %d times", runs, told)
	}
	card := s.open(tk.ID)
	if len(card) != 1 || card[0].TopicID == nil || *card[0].TopicID != s.topics(tk.ID)[0].ID {
		t.Errorf("the card is not the later run's: %+v", card)
	}
}
