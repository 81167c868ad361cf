// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/checks"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/listing"
)

const (
	resourceIncident = "incident"
)

// incidentStore reads incidents.
type incidentStore interface {
	Incidents(ctx context.Context, orgID uuid.UUID, filter listing.IncidentFilter) ([]vigil.Incident, listing.Extent, error)
	Incident(ctx context.Context, orgID, id uuid.UUID) (vigil.Incident, error)
}

type incidents struct {
	store     incidentStore
	workflows resource.IncidentWorkflows
	links     resource.WorkflowLinks
	files     *resource.AtOnce
}

// incidentView is an Incident (spec section 2).
type incidentView struct {
	ID             uuid.UUID                `json:"id" format:"uuid"`
	CheckID        uuid.UUID                `json:"check_id" format:"uuid"`
	AlertRuleID    uuid.UUID                `json:"alert_rule_id" format:"uuid" doc:"The rule that names the incident; it may have been deleted since."`
	Status         vigil.IncidentStatus     `json:"status" enum:"active,acknowledged,resolved"`
	Severity       vigil.Severity           `json:"severity" enum:"critical,warning,info"`
	Title          string                   `json:"title" example:"Home page is failing"`
	Description    string                   `json:"description"`
	StartedAt      time.Time                `json:"started_at"`
	AcknowledgedAt *time.Time               `json:"acknowledged_at"`
	ResolvedAt     *time.Time               `json:"resolved_at"`
	CreatedAt      time.Time                `json:"created_at"`
	AcknowledgedBy *string                  `json:"acknowledged_by" doc:"Who acknowledged it."`
	ResolvedBy     *string                  `json:"resolved_by" doc:"Who resolved it; null for one that resolved by itself."`
	Resolution     *string                  `json:"resolution" doc:"How it ended: automatic when no rule fired any more, manual when a user resolved it, check_removed when its check was disabled or deleted; null while it is open."`
	Note           *string                  `json:"note" doc:"The note that was given when it was resolved."`
	Regions        []string                 `json:"regions" doc:"The regions in which a rule fired when it opened."`
	WorstSeverity  vigil.Severity           `json:"worst_severity" enum:"critical,warning,info" doc:"The most severe one of the rules that fired so far."`
	Rules          []resource.FiredRuleView `json:"rules" doc:"The rules that fired, in the order in which they began; those that opened the incident come first."`
	Trigger        triggerView              `json:"trigger"`
	TraceID        string                   `json:"trace_id" pattern:"^[0-9a-f]{32}$" doc:"The trace from the probe that failed to each delivery attempt, as in logs, in the Temporal UI and in OpenTelemetry." example:"8f3a1c526f0e5c1b9a6e0d6f4e1b7a31"`
	WorkflowID     string                   `json:"workflow_id" doc:"The workflow that manages the incidents of the check."`
	RunURL         *string                  `json:"run_url" doc:"The workflow in the Temporal UI; null where there is no UI."`
}

// triggerView is why an incident opened.
type triggerView struct {
	Result       *checks.ResultView `json:"result" doc:"The result that made the rule fire; null when it is not known any more."`
	Matched      []string           `json:"matched" doc:"The keys of the rule's condition that matched."`
	FailureCount int                `json:"failure_count" minimum:"0" doc:"Failures in a row in that region."`
}

func (i *incidents) show(incident vigil.Incident) incidentView {
	workflow := vigil.IncidentWorkflowID(incident.CheckID)
	view := incidentView{
		ID: incident.ID, CheckID: incident.CheckID, AlertRuleID: incident.RuleID, Status: incident.Status, Severity: incident.Severity,
		Title: incident.Title, Description: incident.Description, StartedAt: incident.StartedAt.UTC(), CreatedAt: incident.CreatedAt.UTC(),
		AcknowledgedAt: resource.InUTC(incident.AcknowledgedAt), ResolvedAt: resource.InUTC(incident.ResolvedAt),
		AcknowledgedBy: vigil.NilIfZero(incident.AcknowledgedBy), ResolvedBy: vigil.NilIfZero(incident.ResolvedBy),
		Resolution: vigil.NilIfZero(string(incident.Resolution)), Note: vigil.NilIfZero(incident.Note),
		Regions: append([]string{}, incident.Regions...),
		Trigger: triggerView{Matched: append([]string{}, incident.Trigger.Matched...), FailureCount: incident.Trigger.FailureCount},
		TraceID: incident.TraceID, WorstSeverity: incident.WorstSeverity(), Rules: resource.ShowFiredRules(incident.Rules),
		WorkflowID: workflow, RunURL: i.links.Of(workflow, ""),
	}
	if !incident.Trigger.Result.Slot.IsZero() {
		view.Trigger.Result = new(checks.ShowResult(incident.Trigger.Result))
	}
	return view
}

func (i *incidents) Register(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: "/v1/incidents", ID: "list-incidents", Tag: resource.TagIncidents,
		Summary: "List the incidents, newest first",
	}, i.list)
	i.registerFile(r)
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: "/v1/incidents/{id}", ID: "get-incident", Tag: resource.TagIncidents, Resource: resourceIncident,
		Summary: "Get an incident",
	}, i.get)
	rest.Register(r, rest.Operation{
		Method:      http.MethodPost,
		Path:        "/v1/incidents/{id}/acknowledge",
		ID:          "acknowledge-incident",
		Tag:         resource.TagIncidents,
		Scope:       account.ScopeRespond,
		Resource:    resourceIncident,
		Audit:       "incident.acknowledge",
		Summary:     "Acknowledge an incident",
		Description: "Marks that someone is working on it. Acknowledging again changes nothing; a resolved incident cannot be acknowledged.",
		Errors:      []int{http.StatusConflict, http.StatusServiceUnavailable},
	}, i.acknowledge)
	rest.Register(r, rest.Operation{
		Method:   http.MethodPost,
		Path:     "/v1/incidents/{id}/resolve",
		ID:       "resolve-incident",
		Tag:      resource.TagIncidents,
		Scope:    account.ScopeRespond,
		Resource: resourceIncident,
		Audit:    "incident.resolve",
		Summary:  "Resolve an incident",
		Description: "The rules that fire now open no other incident until they have stopped once; another rule does. " +
			"Resolving again changes nothing.",
		Errors: []int{http.StatusServiceUnavailable},
	}, i.resolve)
}

type incidentsInput struct {
	rest.ListQuery
	Status      vigil.IncidentStatus `query:"status" enum:"active,acknowledged,resolved" doc:"Incidents in one state."`
	CheckID     string               `query:"check_id" format:"uuid" doc:"Incidents of one check."`
	AlertRuleID string               `query:"alert_rule_id" format:"uuid" doc:"Incidents that one rule names."`
}

func (i *incidents) list(ctx context.Context, in *incidentsInput) (*rest.Listing[incidentView], error) {
	page, cursor, err := in.Open(rest.MaxPage, "incidents", string(in.Status), in.CheckID, in.AlertRuleID)
	if err != nil {
		return nil, err
	}
	filter := listing.IncidentFilter{Status: in.Status, Page: page}
	if filter.CheckID, err = resource.FilterID("check_id", in.CheckID); err != nil {
		return nil, err
	}
	if filter.RuleID, err = resource.FilterID("alert_rule_id", in.AlertRuleID); err != nil {
		return nil, err
	}
	rows, extent, err := i.store.Incidents(ctx, rest.CallerOf(ctx).Org.ID, filter)
	if err != nil {
		return nil, err
	}
	return rest.NewPage(rows, extent, cursor, i.show), nil
}

func (i *incidents) get(ctx context.Context, in *rest.IDPath) (*rest.Answer[incidentView], error) {
	id, err := in.Parse(resourceIncident)
	if err != nil {
		return nil, err
	}
	incident, err := i.store.Incident(ctx, rest.CallerOf(ctx).Org.ID, id)
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(i.show(incident)), nil
}
