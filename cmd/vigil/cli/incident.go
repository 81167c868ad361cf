// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

func (a *app) incidentCommand() *cobra.Command {
	return Group("incident", "List, read, acknowledge and resolve incidents",
		a.incidentListCommand(), a.incidentGetCommand(), a.incidentAckCommand(), a.incidentResolveCommand())
}

func (a *app) incidentListCommand() *cobra.Command {
	var open bool
	var status string
	var limit int
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List incidents, the newest first", Args: cobra.NoArgs}
	check := a.checkFlag(cmd, "only those of a `check`")
	cmd.Flags().BoolVar(&open, "open", false, "only those that are not resolved")
	cmd.Flags().StringVar(&status, "status", "", "only those that are active, acknowledged or resolved")
	limitFlag(cmd, &limit, recent)
	complete(cmd, "status", func() []string { return []string{"active", "acknowledged", "resolved"} })
	a.watched(cmd, func(ctx context.Context, s *session, _ []string) error {
		if open && status != "" {
			return console.Errorf(console.Usage, "give one of --open and --status")
		}
		id, err := check(ctx, s)
		if err != nil {
			return err
		}
		all, err := s.incidents(ctx, id, status, open, limit)
		if err != nil {
			return err
		}
		return show(s, all, console.List{Columns: incidentColumns(), Empty: "No incidents."}, incidentRow)
	})
	return cmd
}

// incidents lists incidents. The open ones are the active and the acknowledged ones.
func (s *session) incidents(ctx context.Context, check *uuid.UUID, status string, open bool, limit int) (rows[client.Incident], error) {
	get := func(status string) (rows[client.Incident], error) {
		params := &client.ListIncidentsParams{CheckId: check, Status: optional(client.ListIncidentsParamsStatus(status))}
		return list[client.Incident](s, limit, func(page client.RequestEditorFn) (*http.Response, error) {
			return s.api.ListIncidents(ctx, params, page)
		})
	}
	if !open {
		return get(status)
	}
	active, err := get("active")
	if err != nil {
		return active, err
	}
	acknowledged, err := get("acknowledged")
	if err != nil {
		return active, err
	}
	return newestFirst(active, acknowledged, limit)
}

// newestFirst makes one list of the active and the acknowledged incidents.
func newestFirst(active, acknowledged rows[client.Incident], limit int) (rows[client.Incident], error) {
	type pair struct {
		data client.Incident
		raw  json.RawMessage
	}
	var pairs []pair
	for _, part := range []rows[client.Incident]{active, acknowledged} {
		for i := range part.data {
			pairs = append(pairs, pair{part.data[i], part.raw[i]})
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return b.data.StartedAt.Compare(a.data.StartedAt) })
	both := rows[client.Incident]{total: active.total + acknowledged.total, more: active.more || acknowledged.more || len(pairs) > limit}
	for _, pair := range pairs[:min(len(pairs), limit)] {
		both.data, both.raw = append(both.data, pair.data), append(both.raw, pair.raw)
	}
	total, err := json.Marshal(fmt.Sprint(both.total))
	both.meta = map[string]json.RawMessage{"total": total}
	return both, err
}

func incidentColumns() []console.Column {
	return console.Columns("ID", "TITLE", "SEVERITY", "STATUS", "STARTED", "LASTED", "ACKNOWLEDGED BY", "+CHECK", "+WORKFLOW")
}

func incidentRow(i client.Incident) []console.Cell {
	lasted := console.Word("")
	if i.ResolvedAt != nil {
		d := i.ResolvedAt.Sub(i.StartedAt)
		lasted = console.Short(d.String(), console.Span(d))
	}
	return []console.Cell{
		console.ID(i.Id.String()), console.Text(i.Title), health(string(i.Severity)), health(string(i.Status)), console.Time(&i.StartedAt),
		lasted, console.Text(value(i.AcknowledgedBy)), console.ID(i.CheckId.String()), console.Word(value(i.RunUrl)),
	}
}

func (a *app) incidentGetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "get <incident>", Short: "Show an incident and its timeline, with each attempt to notify", Args: oneOf("an incident"),
		ValidArgsFunction: a.suggest(suggestIncidents),
	}
	a.watched(cmd, func(ctx context.Context, s *session, args []string) error {
		found, err := s.incident(ctx, args[0])
		if err != nil {
			return err
		}
		response, err := s.api.GetIncident(ctx, found.ID)
		answer, body, err := read[client.IncidentAnswer](s, response, err)
		if err != nil {
			return err
		}
		parts := []console.Part{incidentFields(answer.Data)}
		if s.Format == console.Table || s.Format == console.Wide {
			timeline, err := list[client.TimelineEntry](s, unlimited, func(page client.RequestEditorFn) (*http.Response, error) {
				return s.api.ListIncidentTimeline(ctx, found.ID, &client.ListIncidentTimelineParams{}, page)
			})
			if err != nil {
				return err
			}
			table := console.List{Title: "Timeline", Columns: console.Columns("TIME", "KIND", "WHAT")}
			for _, entry := range timeline.data {
				table.Rows = append(table.Rows, timelineRow(entry))
			}
			parts = append(parts, table)
		}
		return s.Print(console.Answer{Body: body, Parts: parts})
	})
	return cmd
}

func incidentFields(i client.Incident) console.Fields {
	fields := console.Fields{
		{Name: "ID", Value: console.Word(i.Id.String())},
		{Name: "Title", Value: console.Text(i.Title)},
		{Name: "Severity", Value: health(string(i.Severity))},
		{Name: "Worst severity", Value: health(string(i.WorstSeverity))},
		{Name: "Status", Value: health(string(i.Status))},
		{Name: "Check", Value: console.Word(i.CheckId.String())},
		{Name: "Regions", Value: console.Text(strings.Join(i.Regions, ", "))},
		{Name: "Description", Value: console.Text(i.Description)},
		{Name: "Started", Value: console.Time(&i.StartedAt)},
	}
	for _, rule := range i.Rules {
		state := "fires since " + rule.Since.UTC().Format(time.RFC3339)
		if rule.Until != nil {
			state = "fired until " + rule.Until.UTC().Format(time.RFC3339)
		}
		fields = append(fields, console.Field{Name: "Rule", Value: console.Text(rule.Name + " (" + string(rule.Severity) + "), " + state)})
	}
	if i.AcknowledgedAt != nil {
		fields = append(fields, console.Field{Name: "Acknowledged", Value: console.Time(i.AcknowledgedAt)},
			console.Field{Name: "Acknowledged by", Value: console.Text(value(i.AcknowledgedBy))})
	}
	if i.ResolvedAt != nil {
		fields = append(fields, console.Field{Name: "Resolved", Value: console.Time(i.ResolvedAt)},
			console.Field{Name: "Resolution", Value: console.Text(value(i.Resolution))})
	}
	if i.Note != nil {
		fields = append(fields, console.Field{Name: "Note", Value: console.Text(*i.Note)})
	}
	return append(fields, console.Field{Name: "Workflow", Value: console.Word(value(i.RunUrl))})
}

func timelineRow(e client.TimelineEntry) []console.Cell {
	what := ""
	switch {
	case e.Attempt != nil && e.Delivery != nil:
		what = fmt.Sprintf("%s to %s, attempt %d: ", e.Delivery.EventType, e.Delivery.ChannelName, e.Attempt.Number)
		switch {
		case e.Attempt.Delivered:
			what += "delivered"
		case e.Attempt.Error != nil:
			what += *e.Attempt.Error
		default:
			what += "not delivered"
		}
	case e.Event != nil:
		what = *e.Event
		if e.By != nil {
			what += " by " + *e.By
		}
	case e.Region != nil:
		what = fmt.Sprintf("%s: %d rules fire", *e.Region, len(value(e.FiringRules)))
		if e.FailureCount != nil && *e.FailureCount > 0 {
			what += fmt.Sprintf(", %d failures in a row", *e.FailureCount)
		}
	}
	return []console.Cell{console.Time(&e.Time), console.Word(string(e.Kind)), console.Text(what)}
}

func (a *app) incidentAckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ack <incident>", Aliases: []string{"acknowledge"}, Short: "Acknowledge an incident", Args: oneOf("an incident"),
		ValidArgsFunction: a.suggest(suggestIncidents),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.incident(ctx, args[0])
		if err != nil {
			return err
		}
		response, err := s.api.AcknowledgeIncident(ctx, found.ID, nil, once())
		return s.printIncident(read[client.IncidentAnswer](s, response, err))
	})
	return cmd
}

func (a *app) incidentResolveCommand() *cobra.Command {
	var note string
	cmd := &cobra.Command{
		Use: "resolve <incident>", Short: "Resolve an incident", Args: oneOf("an incident"), ValidArgsFunction: a.suggest(suggestIncidents),
	}
	cmd.Flags().StringVar(&note, "note", "", "`text` that is kept with the incident")
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.incident(ctx, args[0])
		if err != nil {
			return err
		}
		response, err := s.api.ResolveIncident(ctx, found.ID, nil, client.ResolveRequest{Note: optional(note)}, once())
		return s.printIncident(read[client.IncidentAnswer](s, response, err))
	})
	return cmd
}

func (s *session) printIncident(answer client.IncidentAnswer, body []byte, err error) error {
	if err != nil {
		return err
	}
	return s.Print(console.Answer{Body: body, Parts: []console.Part{
		console.List{Columns: incidentColumns(), Rows: [][]console.Cell{incidentRow(answer.Data)}},
	}})
}
