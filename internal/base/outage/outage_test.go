package outage

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

func TestAnOutageIsLoggedOnceAndItsEnd(t *testing.T) {
	var out bytes.Buffer
	l := New(slog.New(slog.NewTextHandler(&out, nil)), "sweep")
	away := errors.New("no connection")
	for _, err := range []error{nil, away, away, away, nil, nil, away} {
		l.Note(t.Context(), err)
	}
	var said []string
	for line := range strings.Lines(out.String()) {
		for _, word := range []string{"waits", "goes on"} {
			if strings.Contains(line, word) && strings.Contains(line, "loop=sweep") {
				said = append(said, word)
			}
		}
	}
	if got := strings.Join(said, ", "); got != "waits, goes on, waits" {
		t.Errorf("it says: %s", got)
	}
	out.Reset()
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if l.Note(stopped, nil); out.Len() > 0 {
		t.Errorf("while it is stopped it says %s", out.String())
	}
}
