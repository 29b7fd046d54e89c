package app

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/dogwatch/dogwatch/internal/domain/topic"
	"github.com/dogwatch/dogwatch/internal/flow/launch"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// countTicks counts, by the words that the ledger stores, what becomes of planned
// times and of everything else that asks for a run. Each process counts what it
// commits itself; the sum over all of them is the house's.
func countTicks(reg prometheus.Registerer, s *store.Store, l *launch.Launcher) error {
	ticks := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "dogwatch_ticks_total", Help: "Ticks by the state that they came to and its reason; a row that stands for several times counts as often.",
	}, []string{"state", "reason"})
	launches := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "dogwatch_launches_total", Help: "Answers of the gate by what asked for the run: opened, queued, or the reason of the refusal.",
	}, []string{"origin", "outcome"})
	for _, c := range []prometheus.Collector{ticks, launches} {
		if err := reg.Register(c); err != nil {
			return err
		}
	}
	s.OnTicks(func(state topic.TickState, reason string, n int) {
		ticks.WithLabelValues(string(state), reason).Add(float64(n))
	})
	l.Observe(func(o topic.Origin, outcome string) { launches.WithLabelValues(string(o), outcome).Inc() })
	return nil
}
