// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/agentlink"
	"github.com/vigil-monitor/vigil/internal/timing"
)

const (
	// streamSilence is after how long without a byte a stream counts as lost.
	streamSilence = 45 * time.Second
	// maxEvent bounds an event of the stream, in bytes.
	maxEvent = 64 << 20
)

// errStreamEnded is a stream that was closed.
var errStreamEnded = errors.New("the platform closed the stream")

// errSessionEnded is a session that a report has found to be unknown, or that begins again.
var errSessionEnded = errors.New("the session has ended")

// streamFailures is how often the stream must have failed without a byte to be said.
const streamFailures = 3

// follow reads the stream of a session, and opens it again when it is lost, until the platform
// does not know the session any more.
func (a *Agent) follow(ctx context.Context, session uuid.UUID) error {
	defer a.link.setStream("")
	for failures := 0; ; failures++ {
		received, err := a.stream(ctx, session)
		if received {
			failures = 0
		}
		switch status := statusOf(err); {
		case ctx.Err() != nil:
			return errSessionEnded
		case status == http.StatusNotFound || status == http.StatusUnauthorized:
			return err
		case failures == streamFailures:
			problem := "no definitions come: " + Explain(ctx, err)
			a.link.setStream(problem)
			a.Log.WarnContext(ctx, "the stream of definitions is lost", "error", Explain(ctx, err))
		}
		if timing.Sleep(ctx, backoff(err, failures)) != nil {
			return errSessionEnded
		}
	}
}

// stream reads one connection until it ends, and reports whether anything came.
func (a *Agent) stream(ctx context.Context, session uuid.UUID) (received bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(streamSilence, func() { cancel(errStreamEnded) })
	defer silence.Stop()
	header := http.Header{"Accept": {"text/event-stream"}, "Cache-Control": {"no-cache"}}
	if cursor := a.link.position(); cursor != "" {
		header.Set("Last-Event-ID", cursor)
	}
	response, err := a.do(ctx, http.MethodGet, pathOf(agentlink.PathStream, session.String(), ""), nil, header)
	if err != nil {
		return false, err
	}
	defer func() { _ = response.Body.Close() }()
	events := newEventReader(response.Body, func() {
		if !received {
			received = true
			a.link.setStream("")
		}
		silence.Reset(streamSilence)
	})
	var all fullList
	for {
		one, err := events.next()
		if err != nil {
			return received, err
		}
		if err := a.take(ctx, session, one, &all); err != nil {
			return received, err
		}
	}
}

// fullList are the checks of a list of all, which may come in several events; nil: none is under way. The last event has a
// position, and what is not in the list is forgotten then.
type fullList map[uuid.UUID]bool

func (l *fullList) add(changed *agentlink.Definitions) {
	if changed.Full {
		*l = make(fullList, len(changed.Checks))
	}
	if *l == nil {
		return
	}
	for i := range changed.Checks {
		(*l)[changed.Checks[i].ID] = true
	}
}

// take takes an event of the stream.
func (a *Agent) take(ctx context.Context, session uuid.UUID, one event, all *fullList) error {
	switch one.name {
	case agentlink.EventDefinitions:
		var changed agentlink.Definitions
		if err := json.Unmarshal(one.data, &changed); err != nil {
			return fmt.Errorf("read the definitions: %w", err)
		}
		a.checks.apply(ctx, &changed)
		if all.add(&changed); *all != nil && one.id != "" {
			a.checks.keep(*all)
			*all = nil
		}
		a.Log.DebugContext(ctx, "definitions", "full", changed.Full, "changed", len(changed.Checks), "gone", len(changed.Gone))
	case agentlink.EventTask:
		var task agentlink.Task
		if err := json.Unmarshal(one.data, &task); err != nil {
			return fmt.Errorf("read a task: %w", err)
		}
		go a.perform(context.WithoutCancel(ctx), session, &task)
	}
	if one.id != "" {
		a.link.setPosition(session, one.id)
	}
	return nil
}

// event is an event of a stream.
type event struct {
	id, name string
	data     []byte
}

// eventReader reads server-sent events (HTML standard, section 9.2).
type eventReader struct {
	lines    *bufio.Reader
	received func() // is called when something came
}

func newEventReader(from io.Reader, received func()) *eventReader {
	return &eventReader{lines: bufio.NewReaderSize(from, 16<<10), received: received}
}

// next returns the next event, or why there is none.
func (r *eventReader) next() (event, error) {
	var found event
	for {
		line, err := r.line(maxEvent - len(found.data))
		if err != nil {
			return event{}, err
		}
		if len(line) == 0 {
			if len(found.data) > 0 || found.id != "" {
				return found, nil
			}
			found = event{}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "id":
			found.id = string(value)
		case "event":
			found.name = string(value)
		case "data":
			if found.data != nil {
				found.data = append(found.data, '\n')
			}
			found.data = append(found.data, value...)
		}
	}
}

// line reads a line of at most so many bytes, without its end.
func (r *eventReader) line(most int) ([]byte, error) {
	var whole []byte
	for {
		part, err := r.lines.ReadSlice('\n')
		if len(part) > 0 {
			r.received()
		}
		if err == nil && whole == nil {
			return bytes.TrimRight(part, "\r\n"), nil
		}
		whole = append(whole, part...)
		switch {
		case len(whole) > most:
			return nil, fmt.Errorf("an event of the stream is larger than %d bytes", maxEvent)
		case err == nil:
			return bytes.TrimRight(whole, "\r\n"), nil
		case errors.Is(err, io.EOF):
			return nil, errStreamEnded
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}
