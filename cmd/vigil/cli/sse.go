// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

// alert is an event of the alert stream.
type alert struct {
	Position string // its id in the stream
	Type     string
	Data     []byte // the body of a webhook
}

const (
	// streamSilence is after how long without a byte a stream counts as lost: the server
	// sends one at least every 30 s.
	streamSilence = 90 * time.Second
	// streamPause is how long to wait before connecting again; it doubles up to streamPauseMost.
	streamPause     = 250 * time.Millisecond
	streamPauseMost = 10 * time.Second
	// maxAlert bounds a line of the stream, in bytes.
	maxAlert = 1 << 20
)

// alerts follows the alert stream from a position on ("": from now on) and calls each
// with every event, once. It connects again when the connection is lost, and calls back
// when it is. It ends with an error of each, of ctx, or of the server about the request.
func (s *session) alerts(ctx context.Context, since string, each func(alert) error, back func(lost time.Duration)) error {
	pause := streamPause
	var lostAt time.Time
	connected := func() {
		if !lostAt.IsZero() && back != nil {
			back(s.Now().Sub(lostAt))
		}
		lostAt, pause = time.Time{}, streamPause
	}
	for first := true; ; first = false {
		err := s.follow(ctx, &since, connected, each)
		switch code := console.CodeOf(err); {
		case ctx.Err() != nil:
			return console.Errorf(console.Interrupted, "interrupted: %w", context.Canceled)
		case err != nil && (first || code != console.Unreachable):
			return err
		}
		if lostAt.IsZero() {
			lostAt = s.Now()
		}
		if err := sleep(ctx, pause); err != nil {
			return console.Errorf(console.Interrupted, "interrupted: %w", err)
		}
		pause = min(2*pause, streamPauseMost)
	}
}

// follow reads one connection until it ends, and keeps the position of the last event. A
// connection that was lost is no error, or has the code Unreachable.
func (s *session) follow(ctx context.Context, since *string, connected func(), each func(alert) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	response, err := s.api.StreamAlerts(ctx, &client.StreamAlertsParams{Since: optional(*since)})
	if err != nil {
		return s.unreachable(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		_, err := s.body(response, nil)
		return err
	}
	silence := time.AfterFunc(streamSilence, cancel)
	defer silence.Stop()
	var event alert
	lines := bufio.NewScanner(&watchedReader{response.Body, func() { silence.Reset(streamSilence) }})
	lines.Buffer(nil, maxAlert)
	for lines.Scan() {
		name, value, _ := bytes.Cut(lines.Bytes(), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "id":
			event.Position = string(value)
		case "event":
			event.Type = string(value)
		case "data":
			if len(event.Data) > 0 {
				event.Data = append(event.Data, '\n')
			}
			event.Data = append(event.Data, value...)
		}
		if len(lines.Bytes()) > 0 {
			continue
		}
		if event.Position != "" {
			*since = event.Position
			connected()
		}
		if len(event.Data) > 0 {
			if err := each(event); err != nil {
				return err
			}
		}
		event = alert{}
	}
	return nil
}

// watchedReader calls a function before each read returns.
type watchedReader struct {
	io.Reader
	read func()
}

// Read reads.
func (r *watchedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.read()
	return n, err
}
