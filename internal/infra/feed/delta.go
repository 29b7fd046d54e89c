package feed

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dogwatch/dogwatch/internal/domain/event"
)

// Deltas brings what is not kept from the processes that run agents.
type Deltas interface {
	// Receive calls got for each event until ctx ends.
	Receive(ctx context.Context, got func(event.Event))
}

const (
	deltaChannel = "dogwatch:delta"
	// deltaEvery is how often the text of one operation is sent: reading speed
	// does not ask for more, and a fast model writes hundreds of tokens a second.
	deltaEvery = 100 * time.Millisecond
	// deltaText and deltaOperations bound what waits to be sent when Redis is slow.
	deltaText       = 16 << 10
	deltaOperations = 256
	// deltaTimeout is how long one message may take.
	deltaTimeout = time.Second
)

// delta is the message between processes.
type delta struct {
	Workspace string `json:"w"`
	Operation string `json:"o"`
	Step      int    `json:"s"`
	Text      string `json:"t"`
}

// Publisher sends the text of models while it is written, to whoever watches. It
// loses rather than waits.
type Publisher struct {
	redis redis.UniversalClient
	log   *slog.Logger
	some  chan struct{}

	mu      sync.Mutex
	pending map[string]*pendingText // by operation
}

type pendingText struct {
	workspace string
	step      int
	text      strings.Builder
}

// NewPublisher returns a publisher; its Run has to be running.
func NewPublisher(client redis.UniversalClient, log *slog.Logger) *Publisher {
	return &Publisher{redis: client, log: log, some: make(chan struct{}, 1), pending: map[string]*pendingText{}}
}

// Delta takes the next piece of what a model writes in a step of an operation.
func (p *Publisher) Delta(_ context.Context, workspaceID, operationID string, step int, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.pending[operationID]
	switch {
	case t == nil && len(p.pending) >= deltaOperations:
		return
	case t == nil || t.step != step:
		t = &pendingText{workspace: workspaceID, step: step}
		p.pending[operationID] = t
	}
	if t.text.Len()+len(text) <= deltaText {
		t.text.WriteString(text)
	}
	signal(p.some)
}

// Run sends until ctx ends.
func (p *Publisher) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.some:
		}
		p.flush(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(deltaEvery):
		}
	}
}

func (p *Publisher) flush(ctx context.Context) {
	p.mu.Lock()
	pending := p.pending
	p.pending = map[string]*pendingText{}
	p.mu.Unlock()
	for operation, t := range pending {
		body, err := json.Marshal(delta{t.workspace, operation, t.step, t.text.String()})
		if err == nil {
			send, cancel := context.WithTimeout(ctx, deltaTimeout)
			err = p.redis.Publish(send, deltaChannel, body).Err()
			cancel()
		}
		if err != nil && ctx.Err() == nil {
			p.log.DebugContext(ctx, "text of a model was not sent", "operation", operation, "err", err)
		}
	}
}

// Receiver receives what publishers send.
type Receiver struct{ redis redis.UniversalClient }

// NewReceiver returns a receiver.
func NewReceiver(client redis.UniversalClient) Receiver { return Receiver{client} }

// Receive calls got for each event until ctx ends. The client connects again by
// itself.
func (r Receiver) Receive(ctx context.Context, got func(event.Event)) {
	sub := r.redis.Subscribe(ctx, deltaChannel)
	defer sub.Close()
	messages := sub.Channel()
	for {
		select {
		case <-ctx.Done():
			return
		case m, ok := <-messages:
			if !ok {
				return
			}
			var d delta
			if json.Unmarshal([]byte(m.Payload), &d) != nil {
				continue // of another version
			}
			got(event.Event{
				Type: event.StepDelta, SubjectKind: "operation", SubjectID: d.Operation, WorkspaceID: d.Workspace, At: time.Now(),
				Payload: map[string]any{"operationId": d.Operation, "seq": d.Step, "text": d.Text},
			})
		}
	}
}
