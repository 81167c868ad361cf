// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/maintenance"
)

// checkView is a Check (spec section 2).
type checkView struct {
	ID                  uuid.UUID               `json:"id" format:"uuid"`
	OrgID               uuid.UUID               `json:"org_id" format:"uuid"`
	Name                string                  `json:"name" minLength:"1" maxLength:"200" example:"Home page"`
	Type                vigil.CheckType         `json:"type" doc:"How the target is probed." example:"https"`
	Config              checkConfig             `json:"config" doc:"What is probed; its members depend on the type. Secrets are shown as ***."`
	IntervalSeconds     int64                   `json:"interval_seconds" minimum:"1" maximum:"2592000" doc:"Seconds between two results of a region." example:"60"`
	Regions             []string                `json:"regions" doc:"Keys of the regions and locations that the check runs in."`
	Enabled             bool                    `json:"enabled"`
	SimultaneousRegions bool                    `json:"simultaneous_regions" doc:"Whether all regions probe at the same instants; otherwise they are spread evenly over the interval."`
	Evidence            bool                    `json:"evidence" doc:"Whether failed results keep what the probe saw: status line, headers, the beginning of the body, DNS answers and certificates."`
	Retry               checkRetryView          `json:"retry"`
	Labels              map[string]string       `json:"labels" doc:"Names and values that you give, to group and to filter."`
	ManagedBy           *resource.ManagedByView `json:"managed_by" doc:"The program that manages the check, such as a project of files; null when none does."`
	HealthStatus        vigil.Health            `json:"health_status" enum:"healthy,unhealthy,unknown" doc:"What the latest result says; unknown before the first one, and when the latest one of an enabled check is older than three intervals and the deadline of a probe."`
	LastChecked         *time.Time              `json:"last_checked" doc:"When the latest result was taken; null before the first one."`
	ExpiresAt           *time.Time              `json:"expires_at" doc:"When the check is deleted because its account was not verified; null for a permanent check."`
	Revision            int64                   `json:"revision,omitempty" doc:"Grows by one with every change of the definition; the ETag for If-Match. Health and results do not change it."`
	CreatedAt           time.Time               `json:"created_at"`
	UpdatedAt           time.Time               `json:"updated_at"`

	Maintenance *checkMaintenanceView `json:"maintenance" doc:"The maintenance that the check is in, or null. While it lasts, no incident of the check opens."`

	PingURL *string `json:"ping_url,omitempty" format:"uri" doc:"Where the job of a heartbeat pings; only for callers who may change the check. It is the only credential of a ping." example:"https://vigil.example.com/p/k3v…"`

	Warnings []string `json:"warnings,omitempty" doc:"In the answer to a write only: what is accepted and may not be what is meant, such as a region that has no worker. Each begins with the name of a member."`

	Summary *checkSummaryView `json:"summary,omitempty" doc:"How the check did lately; in a list with summary=true only."`
}

// CurrentRevision is the check's, for its ETag.
func (v checkView) CurrentRevision() int64 { return v.Revision }

// checkMaintenanceView is the maintenance that a check is in.
type checkMaintenanceView struct {
	ID      uuid.UUID           `json:"id" format:"uuid" doc:"Of the window; of several, the one that ends last."`
	Name    string              `json:"name" doc:"Of the window."`
	Until   time.Time           `json:"until"`
	Probing maintenance.Probing `json:"probing" enum:"continue,pause" doc:"Whether the check is probed meanwhile."`
}

// addMaintenance adds to checks of the caller's organization the maintenance that they are in.
func (c *Checks) addMaintenance(ctx context.Context, views ...*checkView) error {
	ids := make([]uuid.UUID, len(views))
	for i, view := range views {
		ids[i] = view.ID
	}
	found, err := c.store.InMaintenance(ctx, rest.CallerOf(ctx).Org.ID, ids...)
	if err != nil {
		return err
	}
	for _, view := range views {
		if m, ok := found[view.ID]; ok {
			view.Maintenance = &checkMaintenanceView{ID: m.WindowID, Name: m.Name, Until: m.Until, Probing: m.Probing}
		}
	}
	return nil
}

// complete adds what is not part of a check: its maintenance, and where the job of a heartbeat pings.
func (c *Checks) complete(ctx context.Context, views ...*checkView) error {
	if err := c.addMaintenance(ctx, views...); err != nil {
		return err
	}
	return c.pings.addPingURLs(ctx, views...)
}

// answer shows a check with the maintenance that it is in.
func (c *Checks) answer(ctx context.Context, check vigil.Check) (*rest.Answer[checkView], error) {
	view := c.show(check)
	if err := c.complete(ctx, &view); err != nil {
		return nil, err
	}
	return rest.NewAnswer(view), nil
}

// checkConfig is a config as it is shown.
type checkConfig = json.RawMessage

func (c *Checks) show(check vigil.Check) checkView {
	return checkView{
		ID:                  check.ID,
		OrgID:               check.OrgID,
		Name:                check.Name,
		Type:                check.Type,
		Config:              c.Types.Secrets(check.Type).Mask(check.Config),
		IntervalSeconds:     int64(check.Interval / time.Second),
		Regions:             check.Regions,
		Enabled:             check.Enabled,
		SimultaneousRegions: check.Simultaneous,
		Evidence:            !check.NoEvidence,
		Retry:               showRetry(check.Retry),
		Labels:              LabelsView(check.Labels),
		ManagedBy:           resource.ShowManagedBy(check.ManagedBy),
		HealthStatus:        check.Health,
		LastChecked:         resource.InUTC(check.LastChecked),
		ExpiresAt:           resource.InUTC(check.ExpiresAt),
		Revision:            check.Version,
		CreatedAt:           check.CreatedAt.UTC(),
		UpdatedAt:           check.UpdatedAt.UTC(),
	}
}
