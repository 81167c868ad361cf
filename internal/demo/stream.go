// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/timing"
)

// alert is an event of the alert stream.
type alert struct {
	position string
	kind     string // such as incident.triggered
	at       time.Time
	check    uuid.UUID
	incident uuid.UUID
	title    string
	body     string
}

const (
	reconnectAfter = 500 * time.Millisecond
	maxLine        = 1 << 20 // of the stream, in bytes
)

// follow sends the alerts of the stream behind a position until ctx ends. A lost connection
// is made again behind the newest alert. An alert without a kind has a position only.
func (d *Demo) follow(ctx context.Context, position string, alerts chan<- alert) {
	for ctx.Err() == nil {
		err := d.connect(ctx, &position, alerts)
		if ctx.Err() == nil && err != nil {
			d.log.DebugContext(ctx, "the stream of the demo is connected again", "error", err)
		}
		_ = timing.Sleep(ctx, reconnectAfter)
	}
}

// connect reads one connection until it ends.
func (d *Demo) connect(ctx context.Context, position *string, alerts chan<- alert) error {
	params := &client.StreamAlertsParams{}
	if *position != "" {
		params.Since = position
	}
	response, err := d.api.StreamAlerts(ctx, params)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return refusal(response)
	}
	var event alert
	var data []byte
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		name, value, _ := bytes.Cut(lines.Bytes(), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "id":
			event.position = string(value)
		case "event":
			event.kind = string(value)
		case "data":
			data = append(data, value...)
		}
		if len(lines.Bytes()) > 0 {
			continue
		}
		event.read(data)
		if event.position != "" {
			select {
			case alerts <- event:
				*position = event.position
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		event, data = alert{}, nil
	}
	return lines.Err()
}

// read reads the body of the event; one that is no message of Vigil leaves it as it is.
func (a *alert) read(data []byte) {
	var body struct {
		Timestamp time.Time `json:"timestamp"`
		Data      struct {
			Incident struct {
				ID uuid.UUID `json:"id"`
			} `json:"incident"`
			Check struct {
				ID uuid.UUID `json:"id"`
			} `json:"check"`
			Message struct {
				Title string `json:"title"`
				Body  string `json:"body"`
			} `json:"message"`
		} `json:"data"`
	}
	if json.Unmarshal(data, &body) != nil {
		return
	}
	a.at, a.incident, a.check = body.Timestamp, body.Data.Incident.ID, body.Data.Check.ID
	a.title, a.body = body.Data.Message.Title, body.Data.Message.Body
}
