// SPDX-License-Identifier: Apache-2.0

package events

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// envelope is the body of a webhook and the data of the stream. Its members are
// those of the API's resources, without what a receiver must not see: a check's
// config.
type envelope[Data any] struct {
	ID        uuid.UUID       `json:"id"`
	Type      vigil.EventType `json:"type"`
	Version   string          `json:"version"`
	Timestamp time.Time       `json:"timestamp"`
	Data      Data            `json:"data"`
}

type envelopeData struct {
	Incident     envelopeIncident     `json:"incident"`
	Check        envelopeCheck        `json:"check"`
	AlertRule    envelopeRule         `json:"alert_rule"`
	Result       *envelopeResult      `json:"result"`
	Regions      []string             `json:"regions"`
	Organization envelopeOrganization `json:"organization"`
	Message      envelopeMessage      `json:"message"`
	Update       *PublishedUpdate     `json:"update,omitempty"`
	Drill        *envelopeDrill       `json:"drill,omitempty"` // absent from what is no drill
}

type envelopeDrill struct {
	ID uuid.UUID `json:"id"`
}

type envelopeIncident struct {
	ID             uuid.UUID            `json:"id"`
	CheckID        uuid.UUID            `json:"check_id"`
	AlertRuleID    uuid.UUID            `json:"alert_rule_id"`
	Status         vigil.IncidentStatus `json:"status"`
	Severity       vigil.Severity       `json:"severity"`
	Title          string               `json:"title"`
	Description    string               `json:"description"`
	StartedAt      time.Time            `json:"started_at"`
	AcknowledgedAt *time.Time           `json:"acknowledged_at"`
	ResolvedAt     *time.Time           `json:"resolved_at"`
	AcknowledgedBy *string              `json:"acknowledged_by"`
	ResolvedBy     *string              `json:"resolved_by"`
	Resolution     *vigil.Resolution    `json:"resolution"`
	Note           *string              `json:"note"`
	Matched        []string             `json:"matched"`
	FailureCount   int                  `json:"failure_count"`
	CreatedAt      time.Time            `json:"created_at"`
	WorstSeverity  vigil.Severity       `json:"worst_severity"`
	Rules          []envelopeFired      `json:"rules"`
}

// envelopeFired is a rule that fired in the incident.
type envelopeFired struct {
	ID       uuid.UUID      `json:"id"`
	Name     string         `json:"name"`
	Severity vigil.Severity `json:"severity"`
	Since    time.Time      `json:"since"`
	Until    *time.Time     `json:"until"` // null while it fires
}

// fired are the rules of an incident, at most maxEnvelopeRules: the newest ones.
func fired(rules []vigil.IncidentRule) []envelopeFired {
	rules = rules[max(0, len(rules)-maxEnvelopeRules):]
	list := make([]envelopeFired, len(rules))
	for i, r := range rules {
		list[i] = envelopeFired{ID: r.ID, Name: vigil.Truncate(r.Name, maxLabel), Severity: r.Severity, Since: r.Since.UTC(), Until: r.Until}
	}
	return list
}

// maxEnvelopeRules bounds the rules that an envelope lists.
const maxEnvelopeRules = 50

type envelopeCheck struct {
	ID              uuid.UUID       `json:"id"`
	Name            string          `json:"name"`
	Type            vigil.CheckType `json:"type"`
	Target          string          `json:"target"`
	IntervalSeconds int64           `json:"interval_seconds"`
	Regions         []string        `json:"regions"`
	Enabled         bool            `json:"enabled"`
	Labels          vigil.Labels    `json:"labels"`
}

// showCheck is a check in an envelope. The ID is that of the story, whose check may be deleted.
func showCheck(id uuid.UUID, c *vigil.Check) envelopeCheck {
	return envelopeCheck{
		ID: id, Name: truncate(c.Name), Type: c.Type, Target: truncate(c.Target), IntervalSeconds: int64(c.Interval / time.Second),
		Regions: append([]string{}, c.Regions...), Enabled: c.Enabled, Labels: labelsOf(c),
	}
}

type envelopeRule struct {
	ID        uuid.UUID        `json:"id"`
	Name      string           `json:"name"`
	Condition *vigil.Condition `json:"condition"` // null when the rule is gone
	NotifyOn  vigil.NotifyOn   `json:"notify_on,omitempty"`
}

type envelopeResult struct {
	ID             uuid.UUID       `json:"id"`
	CheckID        uuid.UUID       `json:"check_id"`
	Region         string          `json:"region"`
	Success        bool            `json:"success"`
	ResponseTimeMS int64           `json:"response_time_ms"`
	StatusCode     *int            `json:"status_code"`
	ErrorMessage   *string         `json:"error_message"`
	Metadata       map[string]any  `json:"metadata"`
	Time           time.Time       `json:"time"`
	Evidence       *vigil.Evidence `json:"evidence,omitempty"`
}

type envelopeOrganization struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
}

type envelopeMessage struct {
	Title string `json:"title"`
	Body  string `json:"body"`
}

// maxEnvelopeText bounds each text of an envelope that users or targets wrote, in
// bytes, so that all of them together stay within MaxEnvelope.
const maxEnvelopeText = 1024

// envelope encodes the event. What would make it too large is left out: the evidence of the
// result, then also its metadata, then the labels of the check.
func (s *Content) envelope(title, body string) ([]byte, error) {
	i := &s.Incident
	out := envelope[envelopeData]{
		ID: s.id(), Type: s.Type, Version: "1", Timestamp: s.Time.UTC(),
		Data: envelopeData{
			Incident: envelopeIncident{
				ID: i.ID, CheckID: i.CheckID, AlertRuleID: i.RuleID, Status: i.Status, Severity: i.Severity,
				Title: truncate(i.Title), Description: truncate(i.Description), StartedAt: i.StartedAt.UTC(),
				AcknowledgedAt: i.AcknowledgedAt, ResolvedAt: i.ResolvedAt,
				AcknowledgedBy: vigil.NilIfZero(truncate(i.AcknowledgedBy)), ResolvedBy: vigil.NilIfZero(truncate(i.ResolvedBy)),
				Resolution: vigil.NilIfZero(i.Resolution), Note: vigil.NilIfZero(truncate(i.Note)),
				Matched: i.Trigger.Matched, FailureCount: i.Trigger.FailureCount, CreatedAt: i.CreatedAt.UTC(),
				WorstSeverity: i.WorstSeverity(), Rules: fired(i.Rules),
			},
			Check:        showCheck(i.CheckID, &s.Check),
			AlertRule:    envelopeRule{ID: i.RuleID, Name: truncate(s.Rule.Name), NotifyOn: s.Rule.NotifyOn},
			Regions:      append([]string{}, s.Regions...),
			Organization: envelopeOrganization{ID: i.OrgID, Name: truncate(s.OrganizationName)},
			Message:      envelopeMessage{Title: truncate(title), Body: truncate(body)},
			Update:       s.Update,
		},
	}
	if s.Check.DrillID != uuid.Nil {
		out.Data.Drill = &envelopeDrill{ID: s.Check.DrillID}
	}
	if s.Rule.ID != uuid.Nil {
		out.Data.AlertRule.Condition = &s.Rule.Condition
	}
	if r := &i.Trigger.Result; !r.Slot.IsZero() {
		out.Data.Result = &envelopeResult{
			ID: r.ID, CheckID: r.CheckID, Region: r.Region, Success: r.Success, ResponseTimeMS: r.ResponseTime.Milliseconds(),
			StatusCode: vigil.NilIfZero(r.StatusCode), ErrorMessage: vigil.NilIfZero(truncate(r.Error)), Metadata: r.Metadata, Time: r.Time.UTC(),
			Evidence: r.Evidence,
		}
	}
	text, err := json.Marshal(out)
	for _, drop := range []func(){
		func() { out.Data.Result.dropEvidence() },
		func() { out.Data.Result.dropMetadata() },
		func() { out.Data.Check.Labels = vigil.Labels{} },
	} {
		if err == nil && len(text) > MaxEnvelope {
			drop()
			text, err = json.Marshal(out)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("encode the event: %w", err)
	}
	return text, nil
}

func (r *envelopeResult) dropEvidence() {
	if r != nil {
		r.Evidence = nil
	}
}

func (r *envelopeResult) dropMetadata() {
	if r != nil {
		r.Metadata = nil
	}
}

// truncate shortens a text to maxEnvelopeText with a mark at its end.
func truncate(text string) string { return vigil.Shorten(text, maxEnvelopeText) }

// labelsOf are the labels of a check: without any an object without members, not null.
func labelsOf(c *vigil.Check) vigil.Labels {
	if c.Labels == nil {
		return vigil.Labels{}
	}
	return c.Labels
}
