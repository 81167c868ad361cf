// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/results"
)

// Row is an incident as Postgres stores it.
type Row struct {
	bun.BaseModel `bun:"table:incidents,alias:i"`

	ID             uuid.UUID       `bun:"id,pk,type:uuid"`
	OrgID          uuid.UUID       `bun:"org_id,type:uuid"`
	CheckID        uuid.UUID       `bun:"check_id,type:uuid"`
	RuleID         uuid.UUID       `bun:"rule_id,type:uuid"`
	Status         string          `bun:"status"`
	Severity       string          `bun:"severity"`
	Title          string          `bun:"title"`
	Description    string          `bun:"description"`
	Trigger        json.RawMessage `bun:"trigger,type:jsonb"`
	Regions        []string        `bun:"regions,array"`
	Audience       json.RawMessage `bun:"audience,type:jsonb"`
	StartedAt      time.Time       `bun:"started_at"`
	AcknowledgedAt *time.Time      `bun:"acknowledged_at"`
	ResolvedAt     *time.Time      `bun:"resolved_at"`
	CreatedAt      time.Time       `bun:"created_at"`
	AcknowledgedBy string          `bun:"acknowledged_by"`
	ResolvedBy     string          `bun:"resolved_by"`
	Resolution     string          `bun:"resolution"`
	Note           string          `bun:"note"`
	Latched        bool            `bun:"latched"`
	Quiet          []string        `bun:"quiet,array"`
	SweptAt        time.Time       `bun:"swept_at"`
	SweepWaitMS    int64           `bun:"sweep_wait_ms"`
	Rules          json.RawMessage `bun:"rules,type:jsonb"`
	LatchRules     []uuid.UUID     `bun:"latch_rules,array"`

	TraceID string `bun:"trace_id,scanonly"` // where incidentTrace is selected
}

// triggerRow is a trigger as it rests: a copy of the result, because results
// are kept for a shorter time than incidents.
type triggerRow struct {
	Result       *triggerResult `json:"result,omitempty"`
	Matched      []string       `json:"matched"`
	FailureCount int            `json:"failure_count"`
	Days         *int           `json:"days,omitempty"`
	DNSPrevious  string         `json:"dns_previous,omitempty"`
	DNSCurrent   string         `json:"dns_current,omitempty"`
	TraceID      string         `json:"trace_id,omitempty"` // of the incident; older rows have none
}

type triggerResult struct {
	ID             uuid.UUID      `json:"id"`
	Region         string         `json:"region"`
	Slot           time.Time      `json:"slot"`
	Time           time.Time      `json:"time"`
	Manual         bool           `json:"manual,omitempty"`
	Success        bool           `json:"success"`
	ResponseTimeMS float64        `json:"response_time_ms"`
	StatusCode     int            `json:"status_code,omitempty"`
	Error          string         `json:"error,omitempty"`
	Metadata       map[string]any `json:"metadata,omitempty"`
	// HasEvidence: the evidence itself is kept with the result only.
	HasEvidence bool `json:"has_evidence,omitempty"`
}

// incidentTrace is the SQL of vigil.Incident.TraceID, for the alias i.
const incidentTrace = "coalesce(i.trigger->>'trace_id', replace(coalesce(i.trigger->'result'->>'id', i.id::text), '-', ''))"

// selectTraced starts a query for incidents with their traces.
func selectTraced(db bun.IDB, into any) *bun.SelectQuery {
	return db.NewSelect().Model(into).ColumnExpr("i.*").ColumnExpr(incidentTrace + " AS trace_id")
}

func encodeTrigger(t *vigil.Trigger, traceID string) (json.RawMessage, error) {
	row := triggerRow{
		Matched: t.Matched, FailureCount: t.FailureCount, Days: t.Days, DNSPrevious: t.DNSPrevious, DNSCurrent: t.DNSCurrent,
		TraceID: traceID,
	}
	if r := &t.Result; !r.Slot.IsZero() {
		row.Result = &triggerResult{
			ID: r.ID, Region: r.Region, Slot: r.Slot, Time: r.Time, Manual: r.Manual, Success: r.Success,
			ResponseTimeMS: results.ResponseMS(r.ResponseTime), StatusCode: r.StatusCode, Error: r.Error, Metadata: r.Metadata,
			HasEvidence: r.HasEvidence,
		}
	}
	text, err := json.Marshal(row)
	if err != nil {
		return nil, fmt.Errorf("encode the trigger: %w", err)
	}
	return text, nil
}

func decodeTrigger(text json.RawMessage, checkID uuid.UUID) (t vigil.Trigger, traceID string, err error) {
	var row triggerRow
	if err := json.Unmarshal(text, &row); err != nil {
		return t, "", fmt.Errorf("decode a trigger: %w", err)
	}
	t = vigil.Trigger{
		Matched: row.Matched, FailureCount: row.FailureCount, Days: row.Days, DNSPrevious: row.DNSPrevious, DNSCurrent: row.DNSCurrent,
	}
	if r := row.Result; r != nil {
		t.Result = vigil.Result{
			ID: r.ID, CheckID: checkID, Region: r.Region, Slot: r.Slot, Time: r.Time, Manual: r.Manual,
			HasEvidence: r.HasEvidence,
			Observation: vigil.Observation{
				Success: r.Success, ResponseTime: results.ResponseTime(r.ResponseTimeMS), StatusCode: r.StatusCode,
				Error: r.Error, Metadata: r.Metadata,
			},
		}
	}
	return t, row.TraceID, nil
}

// Incident returns the incident of a row.
func (r *Row) Incident() (vigil.Incident, error) {
	trigger, traceID, err := decodeTrigger(r.Trigger, r.CheckID)
	if err != nil {
		return vigil.Incident{}, err
	}
	rules, err := DecodeRules(r.Rules)
	if err != nil {
		return vigil.Incident{}, err
	}
	return vigil.Incident{
		ID: r.ID, OrgID: r.OrgID, CheckID: r.CheckID, RuleID: r.RuleID,
		Status: vigil.IncidentStatus(r.Status), Severity: vigil.Severity(r.Severity), Title: r.Title, Description: r.Description,
		Trigger: trigger, Regions: r.Regions,
		StartedAt: r.StartedAt, AcknowledgedAt: r.AcknowledgedAt, ResolvedAt: r.ResolvedAt, CreatedAt: r.CreatedAt,
		AcknowledgedBy: r.AcknowledgedBy, ResolvedBy: r.ResolvedBy, Resolution: vigil.Resolution(r.Resolution), Note: r.Note,
		Latched: r.Latched, TraceID: traceID, Rules: rules,
	}, nil
}

func (r *Row) head() (vigil.IncidentHead, error) {
	rules, err := DecodeRules(r.Rules)
	i := vigil.Incident{ID: r.ID, Status: vigil.IncidentStatus(r.Status), TraceID: r.TraceID, Rules: rules}
	return i.Head(), err
}

// recipients returns the frozen audience.
func (r *Row) recipients() ([]vigil.Recipient, error) {
	var list []vigil.Recipient
	if err := json.Unmarshal(r.Audience, &list); err != nil {
		return nil, fmt.Errorf("decode the recipients of incident %s: %w", r.ID, err)
	}
	return list, nil
}

func errNoPolicies() error { return errors.New("the store has no delivery policies") }
