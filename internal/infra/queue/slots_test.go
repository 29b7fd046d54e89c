package queue

import (
	"context"
	"testing"

	"github.com/dogwatch/dogwatch/internal/domain/job"
)

type unsent struct {
	Rows
	list []job.Sent
}

func (u *unsent) UnsendJob(_ context.Context, j job.Sent) error {
	u.list = append(u.list, j)
	return nil
}

// asynq gives a slot away after half a minute without Redis, while the handler in
// it runs on. The message that comes then finds no room and is put back at once.
func TestASlotThatAsynqGaveAwayIsStillTaken(t *testing.T) {
	rows := &unsent{}
	delivered, release := make(chan struct{}, 2), make(chan struct{})
	q := &Queue{rows: rows, wake: make(chan struct{}, 1), stopping: make(chan struct{}),
		deliver: func(j job.Sent) {
			delivered <- struct{}{}
			if j.ID == 1 {
				<-release
			}
		}}
	l := &lane{queue: job.Operations, slots: 1}
	ended := make(chan struct{})
	go func() { q.handle(l, "1:1"); close(ended) }()
	<-delivered
	q.handle(l, "2:1") // from asynq's point of view the slot is free
	if want := (job.Sent{ID: 2, Delivery: 1, Queue: job.Operations}); len(rows.list) != 1 || rows.list[0] != want {
		t.Errorf("put back: %v, want %v", rows.list, want)
	}
	close(release)
	<-ended
	if n := l.busy.Load(); n != 0 {
		t.Errorf("%d slots are busy after all ended", n)
	}
}
