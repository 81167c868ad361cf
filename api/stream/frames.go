// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/vigil-monitor/vigil"
)

// ContentType is the media type of server-sent events.
const ContentType = "text/event-stream"

// retryMS is how long a client waits before it reconnects, in milliseconds.
const retryMS = "3000"

// Frames writes server-sent events. Every method returns false when the client
// is gone or takes too long.
type Frames struct {
	answer   huma.Context
	control  *http.ResponseController
	deadline time.Duration
	pending  bytes.Buffer
}

// NewFrames begins an answer of server-sent events. A client has the deadline to take what is sent.
func NewFrames(answer huma.Context, deadline time.Duration) *Frames {
	f := &Frames{answer: answer, deadline: deadline}
	if w, ok := answer.BodyWriter().(http.ResponseWriter); ok {
		f.control = http.NewResponseController(w)
		// A stream outlives what the server allows other answers.
		_ = f.control.SetReadDeadline(time.Time{})
		_ = f.control.SetWriteDeadline(time.Time{})
	}
	answer.SetHeader("Content-Type", ContentType)
	answer.SetHeader("Cache-Control", "no-store")
	answer.SetHeader("X-Accel-Buffering", "no") // a proxy in between must not collect
	answer.SetStatus(http.StatusOK)
	return f
}

// open begins the stream: how long to wait before coming back, where it begins,
// and what is missing before that.
func (f *Frames) open(at vigil.Position, missed *gap) bool {
	f.field("retry", []byte(retryMS))
	f.field("id", []byte(at.String()))
	f.pending.WriteByte('\n')
	if missed != nil {
		data, err := json.Marshal(missed)
		if err != nil {
			return false
		}
		f.field("event", []byte("stream.gap"))
		f.field("data", data)
		f.pending.WriteByte('\n')
	}
	return f.Flush()
}

// event adds an event to what is sent next, and sends when that is enough.
func (f *Frames) event(e *vigil.Event) bool {
	return f.Event(e.Position.String(), string(e.Type), e.Envelope)
}

// Event adds an event to what is sent next, and sends when that is enough. An empty id is left out.
func (f *Frames) Event(id, name string, data []byte) bool {
	if id != "" {
		f.field("id", []byte(id))
	}
	f.field("event", []byte(name))
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		f.field("data", line)
	}
	f.pending.WriteByte('\n')
	return f.pending.Len() < chunkSize || f.Flush()
}

// Comment keeps the connection from looking idle.
func (f *Frames) Comment() bool {
	f.pending.WriteString(": still here\n\n")
	return f.Flush()
}

func (f *Frames) field(name string, value []byte) {
	f.pending.WriteString(name)
	f.pending.WriteString(": ")
	f.pending.Write(value)
	f.pending.WriteByte('\n')
}

// Flush sends what was added. A client that does not take it within the
// deadline is cut off: it resumes where it was.
func (f *Frames) Flush() bool {
	if f.pending.Len() == 0 {
		return true
	}
	if f.control != nil {
		late := time.AfterFunc(f.deadline, func() { _ = f.control.SetWriteDeadline(time.Unix(1, 0)) })
		defer late.Stop()
	}
	_, err := f.answer.BodyWriter().Write(f.pending.Bytes())
	f.pending.Reset()
	if err == nil && f.control != nil {
		err = f.control.Flush()
	}
	return err == nil
}
