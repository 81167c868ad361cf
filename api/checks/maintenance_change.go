// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/maintenance"
)

// MaintenanceMembers are the members of a maintenance window that can be written. What else a
// window shows may come along and is ignored.
type MaintenanceMembers struct {
	Name  rest.Field[string]               `json:"name,omitzero" example:"Database upgrade"`
	Scope rest.Field[maintenanceScopeView] `json:"scope,omitzero" doc:"Replaces what is maintained. At least one member is needed."`

	MaintenanceScheduleMembers

	Probing rest.Field[string] `json:"probing,omitzero" enum:"continue,pause" doc:"Whether the checks are probed during maintenance. A new window continues."`
	Uptime  rest.Field[string] `json:"uptime,omitzero" enum:"exclude,include" doc:"Whether results during maintenance count for uptime. A new window excludes them."`
	Enabled rest.Field[bool]   `json:"enabled,omitzero" doc:"Whether the window is in force. A new window is enabled."`

	ManagedBy resource.ManagedMember `json:"managed_by,omitzero" doc:"The program that manages the window. Absent keeps it, and null releases the window."`

	ID            any `json:"id,omitempty" readOnly:"true" doc:"Ignored."`
	State         any `json:"state,omitempty" readOnly:"true" doc:"Ignored."`
	Next          any `json:"next,omitempty" readOnly:"true" doc:"Ignored."`
	ActiveUntil   any `json:"active_until,omitempty" readOnly:"true" doc:"Ignored."`
	ChecksCovered any `json:"checks_covered,omitempty" readOnly:"true" doc:"Ignored."`
	Revision      any `json:"revision,omitempty" readOnly:"true" doc:"Ignored."`
	CreatedAt     any `json:"created_at,omitempty" readOnly:"true" doc:"Ignored."`
	UpdatedAt     any `json:"updated_at,omitempty" readOnly:"true" doc:"Ignored."`
}

// MaintenanceScheduleMembers say when a window is in force.
type MaintenanceScheduleMembers struct {
	StartsAt rest.Field[string]    `json:"starts_at,omitzero" doc:"When the first occurrence starts, as clocks in the time zone show it: 2026-12-01T22:00, without an offset. At most 90 days ago." example:"2026-12-01T22:00"`
	Timezone rest.Field[string]    `json:"timezone,omitzero" doc:"An IANA time zone. A new window is in UTC." example:"Europe/Berlin"`
	Duration rest.Field[int64]     `json:"duration_seconds,omitzero" minimum:"60" maximum:"1209600" doc:"How long an occurrence lasts, 60 to 1209600 (14 days), in elapsed time also when the clock changes." example:"1800"`
	RRule    rest.Field[string]    `json:"rrule,omitzero" doc:"A recurrence rule of RFC 5545: FREQ of DAILY, WEEKLY, MONTHLY or YEARLY, with INTERVAL, BYDAY, BYMONTHDAY, BYMONTH, COUNT and UNTIL. Empty: the window occurs once, or as cron says." example:"FREQ=WEEKLY;BYDAY=TU"`
	Cron     rest.Field[string]    `json:"cron,omitzero" doc:"A cron expression of five fields, instead of rrule." example:"0 22 * * 2"`
	Until    rest.Nullable[string] `json:"until,omitzero" doc:"No occurrence starts after this time, as clocks in the time zone show it. null removes it." example:"2027-12-31T23:59"`
}

type (
	// MaintenanceWindowCreate is the body that creates a maintenance window.
	MaintenanceWindowCreate  struct{ MaintenanceMembers }
	maintenanceWindowUpdate  struct{ MaintenanceMembers }
	maintenanceWindowPreview struct{ MaintenanceMembers }
)

// TransformSchema says what a new window needs.
func (MaintenanceWindowCreate) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Required = []string{"name", "scope", "starts_at", "duration_seconds"}
	return s
}

// TransformSchema says what a preview needs.
func (maintenanceWindowPreview) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Required = []string{"starts_at", "duration_seconds"}
	return s
}

// NewMaintenance is a window before the members of a request.
func NewMaintenance(org uuid.UUID) maintenance.Window {
	return maintenance.Window{
		OrgID: org, Probing: maintenance.ProbingContinue, Uptime: maintenance.UptimeExclude, Enabled: true,
		Schedule: maintenance.Schedule{Timezone: "UTC"},
	}
}

// Change applies the members that were given and validates the window. A start in the past
// is bounded where it is given.
func (m *MaintenanceMembers) Change(w *maintenance.Window, now time.Time) (err error) {
	if m.Name.Given {
		if w.Name, err = rest.CleanName("name", m.Name.Value); err != nil {
			return err
		}
	}
	if m.Scope.Given {
		if w.Scope, err = m.Scope.Value.scope(); err != nil {
			return err
		}
	}
	if m.Probing.Given {
		w.Probing = maintenance.Probing(m.Probing.Value)
	}
	if m.Uptime.Given {
		w.Uptime = maintenance.Uptime(m.Uptime.Value)
	}
	if m.Enabled.Given {
		w.Enabled = m.Enabled.Value
	}
	if err := resource.SetManagedBy(&w.ManagedBy, m.ManagedBy); err != nil {
		return err
	}
	started := w.StartsAt
	if err := m.schedule(&w.Schedule); err != nil {
		return err
	}
	if err := w.Validate(); err != nil {
		return err
	}
	if w.StartsAt.Equal(started) {
		return nil
	}
	return w.CheckStart(now)
}

// schedule applies the members that say when.
func (m *MaintenanceScheduleMembers) schedule(s *maintenance.Schedule) (err error) {
	if m.StartsAt.Given {
		if s.StartsAt, err = maintenance.ParseWallTime("starts_at", m.StartsAt.Value); err != nil {
			return err
		}
	}
	if m.Timezone.Given {
		s.Timezone = m.Timezone.Value
	}
	if m.Duration.Given {
		// Bounded before it is multiplied; the schedule refuses what is out of bounds.
		s.Duration = time.Duration(min(max(m.Duration.Value, 0), 1<<31)) * time.Second
	}
	if m.RRule.Given {
		s.RRule = m.RRule.Value
	}
	if m.Cron.Given {
		s.Cron = m.Cron.Value
	}
	if m.Until.Given {
		s.Until = nil
		if m.Until.Value != nil && *m.Until.Value != "" {
			until, err := maintenance.ParseWallTime("until", *m.Until.Value)
			if err != nil {
				return err
			}
			s.Until = &until
		}
	}
	return nil
}

func (v *maintenanceScopeView) scope() (maintenance.Scope, error) {
	scope := maintenance.Scope{All: v.All, Labels: append([]string{}, v.Labels...)}
	for i, text := range v.CheckIDs {
		id, err := rest.ParseID(text, ResourceCheck)
		if err != nil {
			return scope, vigil.Invalid(fmt.Sprintf("scope.check_ids[%d]", i), "is not a check of this organization")
		}
		scope.CheckIDs = append(scope.CheckIDs, id)
	}
	if err := scope.Validate(); err != nil {
		return scope, err
	}
	scope.Normalize()
	return scope, nil
}
