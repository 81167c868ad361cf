// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

// overview is the answer of `vigil status`.
type overview struct {
	URL            string            `json:"url"`
	Organization   string            `json:"organization"`
	Checks         client.Counts     `json:"checks"`
	OpenIncidents  int64             `json:"open_incidents"`
	Incidents      []json.RawMessage `json:"incidents"`
	Regions        int               `json:"regions"`
	OfflineRegions []string          `json:"offline_regions"`
	Executions     client.Executions `json:"executions_per_hour"`

	incidents []client.Incident
}

// statusIncidents is how many open incidents the overview shows.
const statusIncidents = 10

func (a *app) statusCommand() *cobra.Command {
	var exitCode bool
	cmd := &cobra.Command{
		Use: "status", Short: "Show at a glance what is healthy, what is not, and what is used", Args: cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "end with 3 when a check is unhealthy or an incident is open")
	a.watched(cmd, func(ctx context.Context, s *session, _ []string) error {
		o, err := s.overview(ctx)
		if err != nil {
			return err
		}
		body, err := json.Marshal(map[string]any{"data": o})
		if err != nil {
			return err
		}
		var names []string
		for _, incident := range o.incidents {
			names = append(names, incident.Id.String())
		}
		if err := s.Print(console.Answer{Body: body, Names: append([]string{}, names...), Parts: o.parts(s)}); err != nil {
			return err
		}
		if exitCode && (o.Checks.Unhealthy > 0 || o.OpenIncidents > 0) {
			return console.Silent(console.No)
		}
		return nil
	})
	return cmd
}

// overview asks for everything that the overview shows.
func (s *session) overview(ctx context.Context) (overview, error) {
	o := overview{URL: s.to.URL, OfflineRegions: []string{}, Incidents: []json.RawMessage{}}
	response, err := s.api.GetMe(ctx)
	me, _, err := read[client.MeAnswer](s, response, err)
	if err != nil {
		return o, err
	}
	o.Organization = me.Data.Organization.Name
	response, err = s.api.ListChecks(ctx, &client.ListChecksParams{Counts: new(true), Limit: new(int64(1))})
	checks, _, err := read[client.CheckList](s, response, err)
	if err != nil {
		return o, err
	}
	o.Checks = value(checks.Meta.Counts)
	open, err := s.incidents(ctx, nil, "", true, statusIncidents)
	if err != nil {
		return o, err
	}
	o.OpenIncidents, o.incidents = open.total, open.data
	o.Incidents = append(o.Incidents, open.raw...)
	regions, err := s.regions(ctx)
	if err != nil {
		return o, err
	}
	o.Regions = len(regions.data)
	for _, region := range regions.data {
		if region.Status == client.RegionStatusOffline {
			o.OfflineRegions = append(o.OfflineRegions, region.Key)
		}
	}
	response, err = s.api.GetUsage(ctx)
	usage, _, err := read[client.UsageAnswer](s, response, err)
	o.Executions = usage.Data.ExecutionsPerHour
	return o, err
}

func (o *overview) parts(s *session) []console.Part {
	where := ""
	if s.to.Context != "" {
		where = " (context " + s.to.Context + ")"
	}
	if s.OutTTY {
		s.Note("%s on %s%s", o.Organization, o.URL, where)
	}
	if !s.OutTTY {
		return []console.Part{o.fields()} // rows of one shape; `vigil incident list --open` has the others
	}
	return []console.Part{o.fields(), o.incidentList()}
}

func (o *overview) fields() console.Fields {
	c := o.Checks
	states := []string{fmt.Sprintf("%d healthy", c.Healthy), fmt.Sprintf("%d unhealthy", c.Unhealthy)}
	tone := console.Good
	if c.Unhealthy > 0 || o.OpenIncidents > 0 {
		tone = console.Bad
	}
	if c.Unknown > 0 {
		if tone == console.Good {
			tone = console.Doubtful
		}
		states = append(states, fmt.Sprintf("%d unknown", c.Unknown))
	}
	if c.Disabled > 0 {
		states = append(states, fmt.Sprintf("%d paused", c.Disabled))
	}
	budget := console.Thousands(int64(o.Executions.Used)) + " executions an hour"
	if o.Executions.Limit != nil {
		budget = fmt.Sprintf("%s of %s executions an hour", console.Thousands(int64(o.Executions.Used)), console.Thousands(*o.Executions.Limit))
	}
	all := c.Healthy + c.Unhealthy + c.Unknown + c.Disabled
	return console.Fields{
		{Name: "checks", Value: console.Text(fmt.Sprintf("%d: %s", all, strings.Join(states, ", "))).Toned(tone)},
		{Name: "incidents", Value: console.Text(fmt.Sprintf("%d open", o.OpenIncidents)).Toned(tone)},
		{Name: "regions", Value: o.regions()},
		{Name: "budget", Value: console.Text(budget)},
	}
}

// fewRegions is how many regions without a worker a terminal shows.
const fewRegions = 3

// regions is how many regions are online, and which are not.
func (o *overview) regions() console.Cell {
	off := o.OfflineRegions
	text := fmt.Sprintf("%d: %d online", o.Regions, o.Regions-len(off))
	if len(off) == 0 {
		return console.Word(text)
	}
	whole, brief := text+", offline: "+strings.Join(off, ", "), text+", offline: "+strings.Join(off[:min(fewRegions, len(off))], ", ")
	if len(off) > fewRegions {
		brief += fmt.Sprintf(" and %d more", len(off)-fewRegions)
	}
	return console.Short(whole, brief)
}

// incidentList is the open incidents.
func (o *overview) incidentList() console.List {
	list := console.List{Title: "Open incidents", Columns: console.Columns("ID", "TITLE", "SEVERITY", "STARTED", "ACKNOWLEDGED BY")}
	if len(o.incidents) == 0 {
		list.Empty = "No open incidents."
	}
	for _, i := range o.incidents {
		by := console.Text(value(i.AcknowledgedBy))
		if i.AcknowledgedAt == nil {
			by = console.Word("not acknowledged").Toned(console.Doubtful)
		}
		list.Rows = append(list.Rows, []console.Cell{
			console.ID(i.Id.String()), console.Text(i.Title), health(string(i.Severity)), console.Time(&i.StartedAt), by,
		})
	}
	return list
}
