package httpapi_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Task creates over HTTP: authentication, validation, the transaction with its
// move, audit and event, and the answer.
func BenchmarkCreateTask(b *testing.B) {
	for _, clients := range []int{1, 8} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			in := start(b)
			pool := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
			b.SetParallelism(clients)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					req, err := http.NewRequest(http.MethodPost, in.url+"/api/v1/tasks", strings.NewReader(`{"instruction":"Look after it","automation":{"mode":"heartbeat","intervalSeconds":600}}`))
					if err != nil {
						b.Error(err)
						return
					}
					req.Header.Set("Content-Type", "application/json")
					for k, v := range in.operator.headers {
						req.Header.Set(k, v)
					}
					res, err := pool.Do(req)
					if err != nil {
						b.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
					if res.StatusCode != http.StatusCreated {
						b.Errorf("status %d", res.StatusCode)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "creates/s")
		})
	}
}

// A list of fifty tasks, with the next five fires of each.
func BenchmarkListTasks(b *testing.B) {
	in := start(b)
	for range 50 {
		in.operator.newTask(`"automation":{"mode":"schedule","pattern":"*/5 9-17 * * 1-5","timezone":"Europe/Berlin"}`)
	}
	b.ResetTimer()
	for range b.N {
		in.viewer.get("/tasks").ok(200)
	}
}
