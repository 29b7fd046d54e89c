package llm

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/dogwatch/dogwatch/internal/domain/turn"
)

const (
	// maxStream bounds one answer. A million tokens of text are about 5 MB; each
	// token comes in an event of some 200 bytes.
	maxStream = 256 << 20
	// maxContent bounds the text, the reasoning and the arguments of one answer
	// together: several times what the longest honest one has, and little enough that
	// a run can be kept, listed and shown.
	maxContent = 2 << 20
	// maxWhole bounds an answer that comes as one JSON document.
	maxWhole = 32 << 20
	// maxErrorBody is how much of an error's body is read.
	maxErrorBody = 64 << 10
	// drainTime is how long the end of an answer may take to arrive after its
	// last event. A connection that was read to its end is used again, which
	// saves a TLS handshake per step; waiting longer than one costs more than it saves.
	drainTime = 100 * time.Millisecond
	// afterFinish is how long a stream may stay open, silent, after the model
	// has said why it stopped. What may still come is the usage and [DONE].
	afterFinish = 10 * time.Second
)

var (
	errSilent  = errors.New("silent")
	errTooSlow = errors.New("took too long")
	errTooBig  = errors.New("the answer is larger than the limit")
)

// wire carries requests to one provider and its answers back. It turns every
// failure into a class, and keeps secrets out of what it says.
type wire struct {
	client  *http.Client
	base    *url.URL
	headers map[string]string
	secrets []string
	silence time.Duration
	now     func() time.Time
}

// transport returns a transport for model providers. It does not ask for
// compression: proxies hold compressed streams back, and a compressed answer
// could be larger than it looks.
func transport(connect time.Duration) *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: connect, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout:   connect,
		ForceAttemptHTTP2:     true,
		HTTP2:                 &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
		MaxIdleConnsPerHost:   16,
		IdleConnTimeout:       90 * time.Second,
		DisableCompression:    true,
		ExpectContinueTimeout: time.Second,
	}
}

// answer is the beginning of a provider's answer with status 2xx.
type answer struct {
	ctx    context.Context // of this request; its cause says why it ended
	body   *bufio.Reader
	raw    *watchedBody
	cancel context.CancelCauseFunc
}

// watchedBody gives up when a read hears nothing for too long. Only waiting
// counts: the time that we take between two reads does not.
type watchedBody struct {
	body   io.ReadCloser
	timer  *time.Timer
	silent time.Duration
	left   int64
	ended  bool
}

func (b *watchedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooBig
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	b.timer.Reset(b.silent)
	n, err := b.body.Read(p)
	b.timer.Stop()
	b.left -= int64(n)
	b.ended = err == io.EOF
	return n, err
}

// close ends the answer, read to its end if that is near.
func (a *answer) close() {
	if !a.raw.ended {
		enough := time.AfterFunc(drainTime, func() { a.cancel(errSilent) })
		a.raw.left = min(a.raw.left, maxErrorBody)
		_, _ = io.Copy(io.Discard, a.raw) // what does not come to its end is closed all the same
		enough.Stop()
	}
	a.raw.timer.Stop()
	a.raw.body.Close()
	a.cancel(nil)
}

// send makes one HTTP request and returns its answer when the status is 2xx,
// else what the provider says is wrong.
func (w *wire) send(ctx context.Context, method, path string, body any) (*answer, error) {
	callCtx, cancel := context.WithCancelCause(ctx)
	done := false
	defer func() {
		if !done {
			cancel(nil)
		}
	}()
	var payload io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, &turn.ModelError{Class: turn.ErrBadRequest, Msg: "the request cannot be written as JSON", Err: err}
		}
		payload = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(callCtx, method, w.base.JoinPath(path).String(), payload)
	if err != nil {
		return nil, &turn.ModelError{Class: turn.ErrBadRequest, Msg: "the request cannot be made", Err: err}
	}
	req.Header.Set("User-Agent", "dogwatch")
	req.Header.Set("Accept", "text/event-stream, application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range w.headers {
		req.Header.Set(k, v)
	}
	timer := time.AfterFunc(w.silence, func() { cancel(errSilent) })
	defer func() {
		if !done {
			timer.Stop()
		}
	}()
	resp, err := w.client.Do(req) //nolint:bodyclose // answer.close closes it
	timer.Stop()
	if err != nil {
		return nil, w.broken(callCtx, err)
	}
	a := &answer{
		ctx:    callCtx,
		raw:    &watchedBody{body: resp.Body, timer: timer, silent: w.silence, left: maxStream},
		cancel: cancel,
	}
	a.body = bufio.NewReaderSize(a.raw, 16<<10)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer func() { done = true; a.close() }()
		a.raw.silent = min(w.silence, afterFinish)
		text, _ := io.ReadAll(io.LimitReader(a.body, maxErrorBody)) // half an explanation is better than none
		if context.Cause(callCtx) != nil && ctx.Err() != nil {
			return nil, w.broken(callCtx, ctx.Err())
		}
		return nil, w.refused(resp, text)
	}
	done = true
	return a, nil
}

// broken classifies a failure of the connection. When it was our caller who
// gave up, that is no failure of the model, and the caller's cause comes back.
func (w *wire) broken(ctx context.Context, err error) error {
	fail := func(class turn.ErrorClass, format string, args ...any) error {
		return &turn.ModelError{Class: class, Msg: w.base.Host + " " + w.redact(fmt.Sprintf(format, args...)), Err: nil}
	}
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errSilent):
		return fail(turn.ErrSilence, "said nothing for %s", w.silence)
	case errors.Is(cause, errTooSlow):
		return fail(turn.ErrSilence, "did not finish its answer in time")
	case ctx.Err() != nil && cause != nil:
		return cause
	case errors.Is(err, errTooBig), errors.Is(err, errEventTooLarge):
		return fail(turn.ErrBadReply, "answered with more than is accepted: %v", err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fail(turn.ErrNetwork, "ended the stream before the answer was complete")
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // without the address, which may hold what should not be shown
	}
	if strings.Contains(err.Error(), "malformed HTTP") {
		return fail(turn.ErrBadReply, "does not speak HTTP: %v", err)
	}
	return fail(turn.ErrNetwork, "cannot be reached: %v", err)
}

// badReply says that an answer is not of the protocol.
// tooLong refuses an answer whose content has grown beyond what is taken.
func (w *wire) tooLong(size int) error {
	if size <= maxContent {
		return nil
	}
	return w.badReply("answered with more than %d MiB", maxContent>>20)
}

func (w *wire) badReply(format string, args ...any) error {
	return &turn.ModelError{
		Class: turn.ErrBadReply, Msg: w.base.Host + " " + w.redact(fmt.Sprintf(format, args...)),
	}
}

// redact takes our secrets out of text that a provider wrote; some echo the key
// that they refuse.
func (w *wire) redact(s string) string {
	for _, secret := range w.secrets {
		s = strings.ReplaceAll(s, secret, "***")
	}
	return s
}
