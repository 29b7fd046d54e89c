package queue_test

import (
	"strings"
	"testing"
	"time"

	"github.com/dogwatch/dogwatch/internal/infra/queue"
	"github.com/dogwatch/dogwatch/internal/testkit/redistest"
)

func TestDialTakesEveryFormOfAddress(t *testing.T) {
	for _, good := range []string{
		"redis://localhost:6379/0",
		"redis://user:secret@localhost:6379/3?read_timeout=2s",
		"rediss://localhost:6380",
		"unix:///run/redis.sock",
		"redis-sentinel://:secret@a:26379,b:26379?master=main",
		"redis://a:26379?master_name=main&addr=b:26379",
		"redis://user:secret@a:6379?addr=b:6379&addr=c:6379",
	} {
		r, err := queue.Dial(good)
		if err != nil {
			t.Errorf("%s: %v", good, err)
			continue
		}
		r.Close()
	}
}

func TestDialSaysWhatIsWrongWithoutTheSecret(t *testing.T) {
	for bad, why := range map[string]string{
		"":                                        "names no host",
		"localhost:6379":                          "names no host",
		"http://user:secret@localhost":            "scheme",
		"redis://user:secret@local host:6379":     "invalid character",
		"redis://user:secret@localhost:6379/x":    "database number",
		"redis://:secret@localhost/0?colour=blue": "colour",
		"redis-sentinel://:secret@a:26379":        "master=name is missing",
		"redis://user:secret@a:6379?addr=b:6379&max_retries=many": "max_retries",
	} {
		_, err := queue.Dial(bad)
		if err == nil {
			t.Errorf("%q was taken", bad)
			continue
		}
		if msg := err.Error(); !strings.Contains(msg, why) || strings.Contains(msg, "secret") || !strings.Contains(msg, "redis://host:6379/0") {
			t.Errorf("%q: %q; want %q, no password, and an example", bad, msg, why)
		}
	}
}

func TestPingTellsWhetherRedisAnswers(t *testing.T) {
	s := redistest.StartMini(t)
	r, err := queue.Dial(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	s.Kill()
	begin := time.Now()
	if err := r.Ping(t.Context()); err == nil {
		t.Error("a killed Redis answers")
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %v to say so", took)
	}
	s.Start()
	if err := r.Ping(t.Context()); err != nil {
		t.Errorf("after it came back: %v", err)
	}
}
