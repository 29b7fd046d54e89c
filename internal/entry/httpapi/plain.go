package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/domain/access"
)

// checkTime bounds each check of readiness: who asks has a time-out as well.
const checkTime = 3 * time.Second

// plainRoutes are the addresses that are no operations of the API.
func (s *Server) plainRoutes() {
	s.echo.GET("/healthz", func(c echo.Context) error { return c.JSON(http.StatusOK, map[string]string{"status": "ok"}) })
	s.echo.GET("/readyz", s.ready)
	s.echo.GET("/metrics", s.metrics)
	s.echo.GET(base+"/openapi.json", func(c echo.Context) error {
		doc, err := s.document()
		if err != nil {
			return err
		}
		return c.Blob(http.StatusOK, "application/vnd.oai.openapi+json;version=3.1", doc)
	})
	s.echo.GET("/api/docs", s.docs)
	s.echo.GET("/api/docs/", s.docs)
}

// ready says whether the instance can work, and what cannot.
func (s *Server) ready(c echo.Context) error {
	down := s.down(c.Request().Context())
	select {
	case <-s.draining:
		down["server"] = "it is shutting down"
	default:
	}
	if len(down) == 0 {
		return c.JSON(http.StatusOK, map[string]any{"status": "ready", "workers": s.workers(c.Request().Context())})
	}
	h := c.Response().Header()
	h.Set("Retry-After", "2")
	h.Set("Content-Type", problemType)
	c.Response().WriteHeader(http.StatusServiceUnavailable)
	p := problem(503, "", "Not ready.")
	return json.NewEncoder(c.Response()).Encode(struct {
		*Problem
		Down map[string]string `json:"down"`
	}{p, down})
}

// workers counts who takes work, here and elsewhere; nil when that is not known. What
// nobody works on waits: a server without a worker is ready to take requests.
func (s *Server) workers(ctx context.Context) *int {
	if s.Workers == nil {
		return nil
	}
	n, err := s.Workers()
	if err != nil {
		s.log.WarnContext(ctx, "workers are not counted", "err", err)
		return nil
	}
	return &n
}

func (s *Server) down(ctx context.Context) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	var mu sync.Mutex
	down := map[string]string{}
	var wg sync.WaitGroup
	for _, check := range s.Checks {
		wg.Go(func() {
			if err := check.Do(ctx); err != nil {
				s.log.WarnContext(ctx, "not ready", "check", check.Name, "err", err)
				mu.Lock()
				down[check.Name] = "does not answer as it should; the log has more"
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return down
}

// metrics are for the host itself, and for whoever has a token.
func (s *Server) metrics(c echo.Context) error {
	r := c.Request()
	if s.Metrics == nil {
		return echo.ErrNotFound
	}
	if a, err := netip.ParseAddr(c.RealIP()); err != nil || !a.Unmap().IsLoopback() || r.Header.Get("X-Forwarded-For") != "" {
		w, err := s.whoAsks(r.Context(), r)
		if err == nil && !w.Role.AtLeast(access.Viewer) {
			err = errs.New(errs.Forbidden, "forbidden", "This needs a role.")
		}
		if err != nil {
			return err
		}
	}
	promhttp.HandlerFor(s.Metrics, promhttp.HandlerOpts{}).ServeHTTP(c.Response(), r)
	return nil
}

// observed is what the API measures of itself.
type observed struct {
	requests *prometheus.HistogramVec
	streams  prometheus.Gauge
}

func observe(r *prometheus.Registry) *observed {
	o := &observed{
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "dogwatch_http_request_seconds", Help: "How long requests took, by route and status.",
			Buckets: []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		}, []string{"method", "route", "status"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{Name: "dogwatch_event_streams", Help: "Event streams that are open."}),
	}
	if r != nil {
		r.MustRegister(o.requests, o.streams)
	}
	return o
}

func (o *observed) request(method, route string, status int, d time.Duration) {
	if route == base+"/events" {
		return // its time is how long somebody looked
	}
	if route == "" || route == "/*" {
		route = "none" // not what was asked for: anybody could make up labels
	}
	o.requests.WithLabelValues(known(method), route, statusClass(status)).Observe(d.Seconds())
}

func known(method string) string {
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions:
		return method
	}
	return "other"
}

func statusClass(status int) string {
	if status < 100 || status > 599 {
		return "other"
	}
	return [...]string{"1xx", "2xx", "3xx", "4xx", "5xx"}[status/100-1]
}
