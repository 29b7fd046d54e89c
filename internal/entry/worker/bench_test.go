package worker_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/entry/worker"
	"github.com/dogwatch/dogwatch/internal/infra/store"
	"github.com/dogwatch/dogwatch/internal/testkit/redistest"
)

// BenchmarkJobs is a job that does nothing, from its post to its end, one after
// the other and many at once.
func BenchmarkJobs(b *testing.B) {
	for name, redis := range map[string]func(testing.TB) string{"miniredis": redistest.Mini, "redis-server": redistest.Real} {
		b.Run(name, func(b *testing.B) {
			r := newRig(b, redis(b))
			r.cfg.Lease = 15 * time.Second
			r.cfg.Visible = 10 * time.Second
			r.make()
			r.Handle(job.Tick, worker.Handler{Run: func(ctx context.Context, c job.Claim) error {
				return r.store.Finish(ctx, c, func(context.Context, *store.Tx) error { return nil })
			}})
			r.start()
			n := 0
			b.Run("alone", func(b *testing.B) {
				for b.Loop() {
					n++
					r.post(job.Post{Kind: job.Tick, Key: fmt.Sprint(n)})
					for r.count(fmt.Sprintf(`jobs where key = '%d' and state = 'done'`, n)) == 0 {
						time.Sleep(200 * time.Microsecond)
					}
				}
			})
			b.Run("2000-at-once", func(b *testing.B) {
				for b.Loop() {
					posts := make([]job.Post, 2000)
					for i := range posts {
						n++
						posts[i] = job.Post{Kind: job.Tick, Key: fmt.Sprint(n)}
					}
					r.post(posts...)
					for r.count(`jobs where state in ('ready', 'sent', 'running')`) > 0 {
						time.Sleep(5 * time.Millisecond)
					}
				}
				b.ReportMetric(2000*float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
			})
		})
	}
}
