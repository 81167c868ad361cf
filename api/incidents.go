package api

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"vigil"
)

const (
	tagIncidents     = "Incidents"
	resourceIncident = "incident"
)

// incidentView is an Incident (spec section 2).
type incidentView struct {
	ID             uuid.UUID            `json:"id" format:"uuid"`
	CheckID        uuid.UUID            `json:"check_id" format:"uuid"`
	AlertRuleID    uuid.UUID            `json:"alert_rule_id" format:"uuid" doc:"The rule that names the incident; it may have been deleted since."`
	Status         vigil.IncidentStatus `json:"status" enum:"active,acknowledged,resolved"`
	Severity       vigil.Severity       `json:"severity" enum:"critical,warning,info"`
	Title          string               `json:"title" example:"Home page is failing"`
	Description    string               `json:"description"`
	StartedAt      time.Time            `json:"started_at"`
	AcknowledgedAt *time.Time           `json:"acknowledged_at"`
	ResolvedAt     *time.Time           `json:"resolved_at"`
	CreatedAt      time.Time            `json:"created_at"`
	AcknowledgedBy *string              `json:"acknowledged_by" doc:"Who acknowledged it."`
	ResolvedBy     *string              `json:"resolved_by" doc:"Who resolved it; null for one that resolved by itself."`
	Resolution     *string              `json:"resolution" doc:"How it ended: automatic, manual or check_removed; null while it is open."`
	Note           *string              `json:"note" doc:"What was noted when it was resolved."`
	Regions        []string             `json:"regions" doc:"The regions in which a rule fired when it opened."`
	Trigger        triggerView          `json:"trigger"`
	WorkflowID     string               `json:"workflow_id" doc:"The workflow that decides about the check's incidents."`
	RunURL         *string              `json:"run_url" doc:"The workflow in the Temporal UI; null where there is no UI."`
}

// triggerView is why an incident opened.
type triggerView struct {
	Result       *resultView `json:"result" doc:"The result that made the rule fire; null when it is not known any more."`
	Matched      []string    `json:"matched" doc:"The keys of the rule's condition that matched."`
	FailureCount int         `json:"failure_count" minimum:"0" doc:"Failures in a row in that region."`
}

func (s *Server) showIncident(i vigil.Incident) incidentView {
	workflow := vigil.IncidentWorkflowID(i.CheckID)
	view := incidentView{
		ID: i.ID, CheckID: i.CheckID, AlertRuleID: i.RuleID, Status: i.Status, Severity: i.Severity,
		Title: i.Title, Description: i.Description, StartedAt: i.StartedAt.UTC(), CreatedAt: i.CreatedAt.UTC(),
		AcknowledgedAt: inUTC(i.AcknowledgedAt), ResolvedAt: inUTC(i.ResolvedAt),
		AcknowledgedBy: orNull(i.AcknowledgedBy), ResolvedBy: orNull(i.ResolvedBy), Resolution: orNull(string(i.Resolution)), Note: orNull(i.Note),
		Regions:    append([]string{}, i.Regions...),
		Trigger:    triggerView{Matched: append([]string{}, i.Trigger.Matched...), FailureCount: i.Trigger.FailureCount},
		WorkflowID: workflow, RunURL: s.workflowURL(workflow, ""),
	}
	if !i.Trigger.Result.Slot.IsZero() {
		view.Trigger.Result = new(showResult(i.Trigger.Result))
	}
	return view
}

// orNull shows a value, or null for an empty one.
func orNull[T comparable](v T) *T {
	var empty T
	if v == empty {
		return nil
	}
	return &v
}

func (s *Server) registerIncidents() {
	register(s, operation{
		method: http.MethodGet, path: "/v1/incidents", id: "list-incidents", tag: tagIncidents,
		summary: "List the incidents, newest first",
	}, s.listIncidents)
	register(s, operation{
		method: http.MethodGet, path: "/v1/incidents/{id}", id: "get-incident", tag: tagIncidents, resource: resourceIncident,
		summary: "Show an incident",
	}, s.getIncident)
	register(s, operation{
		method: http.MethodPost, path: "/v1/incidents/{id}/acknowledge", id: "acknowledge-incident", tag: tagIncidents, resource: resourceIncident, audit: "incident.acknowledge",
		summary:     "Acknowledge an incident",
		description: "Says that somebody looks after it. Repeated, it changes nothing; a resolved incident cannot be acknowledged.",
		errors:      []int{http.StatusConflict, http.StatusServiceUnavailable},
	}, s.acknowledgeIncident)
	register(s, operation{
		method: http.MethodPost, path: "/v1/incidents/{id}/resolve", id: "resolve-incident", tag: tagIncidents, resource: resourceIncident, audit: "incident.resolve",
		summary:     "Resolve an incident",
		description: "No other incident of the check opens until all that made this one has been quiet once. Repeated, it changes nothing.",
		errors:      []int{http.StatusServiceUnavailable},
	}, s.resolveIncident)
	s.registerTimeline()
}

type incidentsInput struct {
	PageQuery
	Status      vigil.IncidentStatus `query:"status" enum:"active,acknowledged,resolved" doc:"Incidents in one state."`
	CheckID     string               `query:"check_id" format:"uuid" doc:"Incidents of one check."`
	AlertRuleID string               `query:"alert_rule_id" format:"uuid" doc:"Incidents that one rule names."`
}

func (s *Server) listIncidents(ctx context.Context, in *incidentsInput) (*listOf[incidentView], error) {
	filter := vigil.IncidentFilter{Status: in.Status, Page: in.page()}
	var err error
	if filter.CheckID, err = filterID("check_id", in.CheckID); err != nil {
		return nil, err
	}
	if filter.RuleID, err = filterID("alert_rule_id", in.AlertRuleID); err != nil {
		return nil, err
	}
	incidents, total, err := s.Store.Incidents(ctx, caller(ctx).org.ID, filter)
	if err != nil {
		return nil, err
	}
	return listing(incidents, total, s.showIncident), nil
}

// filterID reads an id that a list is filtered by; zero when it is not given.
func filterID(name, text string) (uuid.UUID, error) {
	if text == "" {
		return uuid.Nil, nil
	}
	id, err := parseID(text, "")
	if err != nil {
		return uuid.Nil, vigil.Invalid(name, "must be a UUID")
	}
	return id, nil
}

func (s *Server) getIncident(ctx context.Context, in *IDPath) (*answerOf[incidentView], error) {
	id, err := in.parse(resourceIncident)
	if err != nil {
		return nil, err
	}
	incident, err := s.Store.Incident(ctx, caller(ctx).org.ID, id)
	if err != nil {
		return nil, err
	}
	return answering(s.showIncident(incident)), nil
}
