package worker

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/dogwatch/dogwatch/internal/domain/job"
	"github.com/dogwatch/dogwatch/internal/infra/queue"
)

// How a run of a job ended, as a label.
const (
	outcomeDone    = "done"
	outcomeRetried = "retried"
	outcomeDead    = "dead"
	outcomeStopped = "stopped"
	outcomeDrained = "drained"
	outcomePutBack = "put_back" // the database itself failed
	outcomeLost    = "lost"
	outcomeUnknown = "unknown_kind"
)

// depths is what the metrics need of the store.
type depths interface {
	QueueDepths(ctx context.Context) ([]job.Depth, error)
}

// metrics are what a worker counts. A nil registry keeps them to itself.
type metrics struct {
	runs       *prometheus.CounterVec
	seconds    *prometheus.HistogramVec
	lag        *prometheus.HistogramVec
	duplicates prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, d depths, q *queue.Queue) (*metrics, error) {
	m := &metrics{
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dogwatch_job_runs_total", Help: "Runs of background jobs by kind and how they ended."}, []string{"kind", "outcome"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "dogwatch_job_run_seconds", Help: "How long a run of a job took.",
			Buckets: prometheus.ExponentialBuckets(0.002, 4, 10)}, []string{"kind"}), // 2 ms to 9 min
		lag: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "dogwatch_job_lag_seconds", Help: "From when a job was due until a worker took it.",
			Buckets: prometheus.ExponentialBuckets(0.002, 4, 10)}, []string{"kind"}),
		duplicates: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "dogwatch_job_duplicates_total", Help: "Messages whose job somebody else had taken or ended."}),
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.runs, m.seconds, m.lag, m.duplicates, gauges{d, q}} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) ended(c job.Claim, outcome string, took time.Duration) {
	m.runs.WithLabelValues(c.Kind, outcome).Inc()
	m.seconds.WithLabelValues(c.Kind).Observe(took.Seconds())
	m.lag.WithLabelValues(c.Kind).Observe(max(c.Late, 0).Seconds())
}

// gauges are read when somebody asks for the metrics.
type gauges struct {
	depths
	queue *queue.Queue
}

var (
	depthDesc  = prometheus.NewDesc("dogwatch_jobs", "Jobs that are not done, of all workers.", []string{"queue", "state"}, nil)
	oldestDesc = prometheus.NewDesc("dogwatch_jobs_oldest_seconds", "How long the oldest ready job is due.", []string{"queue"}, nil)
	slotsDesc  = prometheus.NewDesc("dogwatch_worker_slots", "Slots of this worker.", []string{"queue"}, nil)
	busyDesc   = prometheus.NewDesc("dogwatch_worker_slots_busy", "Slots of this worker in which a job runs.", []string{"queue"}, nil)
)

// scrapeLimit is how long a scrape waits for the database: it would rather have a
// gap than the scraper's time-out.
const scrapeLimit = 2 * time.Second

func (g gauges) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{depthDesc, oldestDesc, slotsDesc, busyDesc} {
		ch <- d
	}
}

func (g gauges) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for _, l := range g.queue.Lanes() {
		gauge(slotsDesc, float64(l.Slots), string(l.Queue))
		gauge(busyDesc, float64(l.Busy), string(l.Queue))
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeLimit)
	defer cancel()
	list, err := g.QueueDepths(ctx)
	if err != nil {
		return // readiness says that the database is away
	}
	for _, d := range list {
		gauge(depthDesc, float64(d.Jobs), string(d.Queue), d.State)
		if d.State == "ready" {
			gauge(oldestDesc, max(time.Since(d.Oldest), 0).Seconds(), string(d.Queue))
		}
	}
}
