package store_test

import (
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// bury makes a dead tick of a workspace and returns its id.
func (b *jobBench) bury(sc access.Scope, key string) int64 {
	b.t.Helper()
	b.post(job.Post{Kind: job.Tick, Key: key, IDs: job.IDs{Workspace: sc.Workspace()}})
	c := b.take(job.Fast)
	b.must(b.InTx(b.ctx, func(tx *store.Tx) error { return tx.BuryJob(b.ctx, c, "refused") }))
	return c.ID
}

func (b *jobBench) scope() access.Scope {
	b.t.Helper()
	ws := id.New()
	b.exec(`insert into workspaces (id, slug, name) values ($1, $2, 'w')`, ws, "w"+ws[24:])
	return access.In(ws)
}

func (b *jobBench) retry(sc access.Scope, id int64) error {
	return b.InTx(b.ctx, func(tx *store.Tx) error { return tx.RetryDeadJob(b.ctx, sc, id) })
}

func TestDeadJobsAreSeenAndRetriedInTheirWorkspaceOnly(t *testing.T) {
	b := newJobBench(t)
	mine, other := b.scope(), b.scope()
	dead := b.bury(mine, "k")
	list, err := b.DeadJobs(b.ctx, mine, 0, 10)
	b.must(err)
	if len(list) != 1 || list[0].ID != dead || list[0].LastError != "refused" || list[0].IDs.Workspace != mine.Workspace() {
		t.Fatalf("dead: %+v", list)
	}
	if list, err := b.DeadJobs(b.ctx, other, 0, 10); len(list) != 0 || err != nil {
		t.Errorf("another workspace sees %v, %v", list, err)
	}
	if list, err := b.DeadJobs(b.ctx, access.Scope{}, 0, 10); len(list) != 0 || err != nil {
		t.Errorf("the zero scope sees %v, %v", list, err)
	}
	if err := b.retry(other, dead); errs.KindOf(err) != errs.NotFound {
		t.Errorf("another workspace's retry: %v", err)
	}
	b.must(b.retry(mine, dead))
	if r := b.row("k"); r.State != "ready" || r.Attempt != 0 || r.Losses != 0 {
		t.Errorf("retried: %+v", r)
	}
	if err := b.retry(mine, dead); errs.KindOf(err) != errs.NotFound {
		t.Errorf("a second retry: %v", err)
	}
}

func TestADeadJobIsNotRetriedBesideAnOpenOne(t *testing.T) {
	b := newJobBench(t)
	sc := b.scope()
	dead := b.bury(sc, "k")
	b.post(job.Post{Kind: job.Tick, Key: "k", IDs: job.IDs{Workspace: sc.Workspace()}})
	if err := b.retry(sc, dead); errs.KindOf(err) != errs.Conflict {
		t.Errorf("retry beside an open row: %v", err)
	}
	if n := b.count(`jobs where state = 'dead'`); n != 1 {
		t.Errorf("%d dead rows are left", n)
	}
}

func TestOnlyAPersonCutsABackOffShort(t *testing.T) {
	b := newJobBench(t)
	sc := b.scope()
	b.post(job.Post{Kind: job.Tick, Key: "k", IDs: job.IDs{Workspace: sc.Workspace()}})
	b.must(b.BackJob(b.ctx, b.take(job.Fast), time.Hour, 1, "overloaded"))
	hurry := func(sc access.Scope) (hurried bool) {
		b.must(b.InTx(b.ctx, func(tx *store.Tx) (err error) {
			hurried, err = tx.HurryJob(b.ctx, sc, job.Tick, "k")
			return err
		}))
		return hurried
	}
	if hurry(b.scope()) {
		t.Error("another workspace hurried the job")
	}
	if !hurry(sc) || !nearly(b.row("k").Due, 0) {
		t.Errorf("after retry now: %+v", b.row("k"))
	}
}

func TestDepthsCountByQueueAndState(t *testing.T) {
	b := newJobBench(t)
	b.bury(b.scope(), "dead")
	b.post(job.Post{Kind: job.Step, Key: "done"})
	b.must(b.CloseJob(b.ctx, b.take(job.Operations)))
	b.post(tickPost("a"), tickPost("b"), job.Post{Kind: job.Step, Key: "c"})
	b.relay(job.Operations, 1)
	got := map[string]int{}
	list, err := b.QueueDepths(b.ctx)
	b.must(err)
	for _, d := range list {
		got[string(d.Queue)+" "+d.State] = d.Jobs
		if age := time.Since(d.Oldest); age < -time.Minute || age > time.Minute {
			t.Errorf("the oldest of %v is %v old", d, age)
		}
	}
	want := map[string]int{"fast ready": 2, "fast dead": 1, "operations sent": 1}
	if len(got) != len(want) {
		t.Errorf("depths %v, want %v", got, want)
	}
	for k, n := range want {
		if got[k] != n {
			t.Errorf("depths %v, want %v", got, want)
		}
	}
}

func TestDoneJobsAreDeletedInBatchesAndDeadOnesKept(t *testing.T) {
	b := newJobBench(t)
	b.bury(b.scope(), "dead")
	for range 5 {
		b.post(tickPost("k"))
		b.must(b.CloseJob(b.ctx, b.take(job.Fast)))
	}
	b.exec(`update jobs set closed_at = closed_at - interval '1 day' where id <> (select max(id) from jobs)`)
	for i, want := range []int{3, 1, 0} {
		n, err := b.DeleteDoneJobs(b.ctx, time.Hour, 3)
		b.must(err)
		if n != want {
			t.Errorf("batch %d deleted %d, want %d", i, n, want)
		}
	}
	if b.count(`jobs where state = 'dead'`) != 1 || b.count(`jobs where state = 'done'`) != 1 {
		t.Error("a dead or a young row was deleted")
	}
}

func BenchmarkRelay1024(b *testing.B) {
	t := newJobBench(b)
	posts := make([]job.Post, 1024)
	for i := range posts {
		posts[i] = job.Post{Kind: job.Tick, Key: id.New()}
	}
	t.post(posts...)
	for b.Loop() {
		if n := len(t.relay(job.Fast, 2000)); n != 1024 {
			b.Fatalf("relayed %d", n)
		}
		b.StopTimer()
		t.exec(`update jobs set state = 'ready', visible_at = null, worker = null`)
		b.StartTimer()
	}
}

func BenchmarkPost200(b *testing.B) {
	t := newJobBench(b)
	for b.Loop() {
		posts := make([]job.Post, 200)
		for i := range posts {
			posts[i] = job.Post{Kind: job.Tick, Key: id.New()}
		}
		t.post(posts...)
	}
}
