package llm

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// event is one server-sent event.
type event struct {
	name string
	data []byte
	// torn says that the stream ended inside the event: what it holds may be
	// half of what was meant.
	torn bool
}

var errEventTooLarge = errors.New("one event is larger than the limit")

// maxEvent bounds one event. The largest honest one is a whole tool call with a
// document in its arguments.
const maxEvent = 4 << 20

// sseReader reads server-sent events (WHATWG HTML, section 9.2), and is lenient
// where servers are: any line ending, no blank line before the end, and a line
// that is bare JSON (some servers write an error that way in mid-stream) counts
// as an event of its own. Comments are skipped; they reach the silence watch
// all the same, since that sits below.
type sseReader struct {
	r      *bufio.Reader
	skipLF bool // the last line ended in CR; a LF that follows belongs to it
	began  bool
}

func newSSEReader(r *bufio.Reader) *sseReader { return &sseReader{r: r} }

// next returns the next event that has data, or io.EOF.
func (s *sseReader) next() (event, error) {
	var ev event
	var data bytes.Buffer
	has := false
	for {
		line, err := s.line(maxEvent - data.Len())
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return event{}, err
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(line) > 0 && line[0] == '{' && !has:
			return event{data: line, torn: ended}, nil
		case string(field) == "event":
			ev.name = string(value)
		case string(field) == "data":
			if has {
				data.WriteByte('\n')
			}
			data.Write(value)
			has = true
		}
		switch {
		case has && (ended || len(line) == 0):
			ev.data, ev.torn = data.Bytes(), ended
			return ev, nil
		case ended:
			return event{}, io.EOF
		case len(line) == 0:
			ev = event{}
		}
	}
}

// line returns the next line without its ending; io.EOF comes with what stands
// after the last ending.
func (s *sseReader) line(limit int) ([]byte, error) {
	var line []byte
	for {
		c, err := s.r.ReadByte()
		if err != nil {
			return line, err
		}
		if s.skipLF {
			s.skipLF = false
			if c == '\n' {
				continue
			}
		}
		switch c {
		case '\r', '\n':
			s.skipLF = c == '\r'
			if !s.began {
				s.began = true
				line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")) // a byte order mark
			}
			return line, nil
		}
		if len(line) >= limit {
			return nil, errEventTooLarge
		}
		line = append(line, c)
	}
}
