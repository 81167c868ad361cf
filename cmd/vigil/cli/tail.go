// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/console"
)

// alertData is what is shown of an event.
type alertData struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      struct {
		Incident struct {
			ID       uuid.UUID `json:"id"`
			Severity string    `json:"severity"`
		} `json:"incident"`
		Check struct {
			ID   uuid.UUID `json:"id"`
			Name string    `json:"name"`
		} `json:"check"`
		Message struct {
			Title string `json:"title"`
			Body  string `json:"body"`
		} `json:"message"`
	} `json:"data"`
}

// errEnough ends a stream after the wanted number of events.
var errEnough = errors.New("enough events")

// tailing are the flags of `vigil tail`.
type tailing struct {
	since, kind, severity string
	limit                 int
	check                 uuid.UUID // zero: every check
}

func (a *app) tailCommand() *cobra.Command {
	var t tailing
	cmd := &cobra.Command{
		Use: "tail", Short: "Follow incidents as they open, are acknowledged and resolve",
		Long: "Follow incidents as they open, are acknowledged and resolve. A lost connection is made again, and no event is\n" +
			"missed or repeated. With -o json each event is a line: the body of a webhook.",
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&t.since, "since", "", "begin a `duration` ago, such as 1h, or behind a position, which is the last column; "+
		"0-0: all that is kept")
	cmd.Flags().StringVar(&t.kind, "type", "", "only events of a `type`: triggered, acknowledged or resolved")
	cmd.Flags().StringVar(&t.severity, "severity", "", "only those of a severity: critical, warning or info")
	cmd.Flags().IntVar(&t.limit, "limit", 0, "end after this many `events` (default: never)")
	complete(cmd, "type", func() []string { return []string{"triggered", "acknowledged", "resolved"} })
	complete(cmd, "severity", func() []string { return []string{"critical", "warning", "info"} })
	check := a.checkFlag(cmd, "only those of a `check`")
	cmd.RunE = a.does(func(ctx context.Context, s *session, _ []string) error {
		id, err := check(ctx, s)
		if err != nil {
			return err
		}
		t.check = value(id)
		since, err := position(t.since, s.Now())
		if err != nil {
			return err
		}
		shown := 0
		err = s.alerts(ctx, since, func(event alert) error {
			if event.Type == "stream.gap" {
				s.Warn("events are missing: they are older than what the server keeps (%s)", event.Data)
				return nil
			}
			printed, err := s.showAlert(t, event)
			if printed {
				shown++
			}
			if err == nil && t.limit > 0 && shown >= t.limit {
				return errEnough
			}
			return err
		}, func(lost time.Duration) {
			s.Note("(connection lost, back after %s, nothing missed)", lost.Round(100*time.Millisecond))
		})
		if errors.Is(err, errEnough) {
			return nil
		}
		return err
	})
	return cmd
}

// position reads --since: a duration, or a position in the stream.
func position(text string, now time.Time) (string, error) {
	if text == "" || strings.Contains(text, "-") {
		return text, nil // the server says what is wrong with a position
	}
	back, err := duration("--since", text)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d-0", now.Add(-back).UnixMilli()), nil
}

// showAlert prints an event that the flags select.
func (s *session) showAlert(t tailing, event alert) (bool, error) {
	var data alertData
	if err := json.Unmarshal(event.Data, &data); err != nil {
		return false, console.Errorf(console.Failed, "an event cannot be read: %w", err)
	}
	incident, check := data.Data.Incident, data.Data.Check
	switch {
	case t.kind != "" && data.Type != t.kind && data.Type != "incident."+t.kind,
		t.severity != "" && incident.Severity != t.severity,
		t.check != uuid.Nil && check.ID != t.check:
		return false, nil
	}
	if s.Query != nil || !slices.Contains([]console.Format{console.Table, console.Wide}, s.Format) {
		con := *s.Console
		con.OutTTY = false // a line for each event
		return true, con.Print(console.Answer{Body: event.Data, Names: []string{incident.ID.String()}})
	}
	at := console.Short(data.Timestamp.UTC().Format(time.RFC3339), data.Timestamp.Local().Format("15:04:05"))
	text := data.Data.Message.Title
	if data.Data.Message.Body != "" {
		text += ": " + data.Data.Message.Body
	}
	row := []console.Cell{
		at, console.Word(data.Type), health(incident.Severity), console.Text(text), console.ID(incident.ID.String()),
		console.Word(event.Position),
	}
	return true, s.Line(row, 8, 21, 8, 60, 8, 0)
}
