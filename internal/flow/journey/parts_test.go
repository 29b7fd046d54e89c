package journey

import (
	"sync"
	"testing"

	"github.com/dogwatch/dogwatch/internal/flow/steer"
)

// Each of two edits is fine alone. Together they would close a ring that no list
// of top-level tasks shows.
func TestTwoTasksThatArePutBelowEachOtherAtOnceMakeNoRing(t *testing.T) {
	s := begin(t)
	for range 20 {
		a, b := s.create(steer.NewTask{Instruction: "One."}), s.create(steer.NewTask{Instruction: "Two."})
		var wg sync.WaitGroup
		for _, pair := range [][2]string{{a.ID, b.ID}, {b.ID, a.ID}} {
			wg.Go(func() {
				parent := &pair[1]
				_, _ = s.Steer.EditTask(s.Context(), s.Caller, pair[0], nil, steer.TaskPatch{Parent: &parent})
			})
		}
		wg.Wait()
		var rings, placed int
		s.Must(s.Store.Pool().QueryRow(s.Context(), `select count(*) filter (where p.parent_id = t.id), count(*) from tasks t join tasks p on p.id = t.parent_id
			where t.id in ($1, $2)`, a.ID, b.ID).Scan(&rings, &placed))
		if rings > 0 || placed != 1 {
			t.Fatalf("%d of the two are in a ring, %d below the other", rings, placed)
		}
	}
}
