// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// incidentsFilePage is how many incidents of a file are in memory at a time.
const incidentsFilePage = 100

func (i *incidents) registerFile(r *rest.Registrar) {
	const path = "/v1/incidents.csv"
	rest.Register(r, rest.Operation{
		Method:  http.MethodGet,
		Path:    path,
		ID:      "export-incidents",
		Tag:     resource.TagIncidents,
		Summary: "Download incidents as CSV, newest first",
		Description: "By RFC 4180. A text that a spreadsheet would read as a formula begins with an apostrophe. An answer that ends too early " +
			"is cut off, not complete. Two files of an organization are written at a time.",
		Errors: []int{http.StatusTooManyRequests},
	}, i.file)
	rest.DescribeCSV(r, path, "A header, and a row for each incident.")
}

type incidentsFileInput struct {
	Status      vigil.IncidentStatus `query:"status" enum:"active,acknowledged,resolved" doc:"Incidents in one state."`
	CheckID     string               `query:"check_id" format:"uuid" doc:"Incidents of one check."`
	AlertRuleID string               `query:"alert_rule_id" format:"uuid" doc:"Incidents that one rule names."`
}

func (i *incidents) file(ctx context.Context, in *incidentsFileInput) (*huma.StreamResponse, error) {
	filter := listing.IncidentFilter{Status: in.Status}
	var err error
	if filter.CheckID, err = resource.FilterID("check_id", in.CheckID); err != nil {
		return nil, err
	}
	if filter.RuleID, err = resource.FilterID("alert_rule_id", in.AlertRuleID); err != nil {
		return nil, err
	}
	org := rest.CallerOf(ctx).Org.ID
	return resource.RowsFile[vigil.Incident]{
		Name: "incidents", PageRows: incidentsFilePage,
		Header: []string{
			"id", "check_id", "title", "status", "severity", "started_at", "acknowledged_at", "acknowledged_by", "resolved_at", "resolved_by",
			"resolution", "regions", "matched", "description", "note",
		},
		Read: func(ctx context.Context, page listing.Page) ([]vigil.Incident, listing.Extent, error) {
			filter.Page = page
			return i.store.Incidents(ctx, org, filter)
		},
		Write: writeIncident,
	}.Stream(ctx, i.files, org)
}

func writeIncident(file *rest.CSV, one *vigil.Incident) error {
	at := func(t *time.Time) string {
		if t == nil {
			return ""
		}
		return t.UTC().Format(time.RFC3339Nano)
	}
	return file.Value(one.ID.String()).Value(one.CheckID.String()).Text(one.Title).Value(string(one.Status)).Value(string(one.Severity)).
		Value(at(&one.StartedAt)).Value(at(one.AcknowledgedAt)).Text(one.AcknowledgedBy).Value(at(one.ResolvedAt)).Text(one.ResolvedBy).
		Value(string(one.Resolution)).Text(strings.Join(one.Regions, " ")).Text(strings.Join(one.Trigger.Matched, " ")).
		Text(one.Description).Text(one.Note).End()
}
