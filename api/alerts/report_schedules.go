// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/overview"
)

const resourceReportSchedule = "report schedule"

// reportScheduleStore keeps schedules of reports.
type reportScheduleStore interface {
	CreateReportSchedule(ctx context.Context, s overview.ReportSchedule) (overview.ReportSchedule, error)
	ReportSchedule(ctx context.Context, orgID, id uuid.UUID) (overview.ReportSchedule, error)
	ReportSchedules(ctx context.Context, orgID uuid.UUID, page listing.Page) ([]overview.ReportSchedule, listing.Extent, error)
	UpdateReportSchedule(
		ctx context.Context, orgID, id uuid.UUID, change func(*overview.ReportSchedule) error,
	) (overview.ReportSchedule, error)
	DeleteReportSchedule(ctx context.Context, orgID, id uuid.UUID, match vigil.Precondition) error
}

type reportSchedules struct{ store reportScheduleStore }

// reportScheduleView is a schedule of reports.
type reportScheduleView struct {
	ID         uuid.UUID            `json:"id" format:"uuid"`
	Name       string               `json:"name" example:"Shop, monthly"`
	ChannelIDs []string             `json:"channel_ids" doc:"Channels that get the reports."`
	Labels     []string             `json:"labels" doc:"Selectors of the checks, key=value or key, which all match; none: every check."`
	Target     float64              `json:"target_percentage"`
	Recurrence reportRecurrenceView `json:"recurrence"`
	Enabled    bool                 `json:"enabled"`
	NextAt     *time.Time           `json:"next_at" doc:"When the next report is sent; null while the schedule is disabled."`
	LastAt     *time.Time           `json:"last_at" doc:"The time of the last report; null: none was sent."`
	SkippedAt  *time.Time           `json:"skipped_at" doc:"The last time that was left out, as a later one had come when the platform was back; null: none was."`
	Revision   int64                `json:"revision" doc:"Grows by one with every change of the schedule; the ETag for If-Match."`
	CreatedAt  time.Time            `json:"created_at"`
	UpdatedAt  time.Time            `json:"updated_at"`
}

// CurrentRevision is the schedule's, for its ETag.
func (v reportScheduleView) CurrentRevision() int64 { return v.Revision }

// reportRecurrenceView is when the reports of a schedule are sent.
type reportRecurrenceView struct {
	Every    overview.Every `json:"every" enum:"weekly,monthly,quarterly" doc:"Each report is about the calendar week (Monday to Sunday), month or quarter before."`
	Day      rest.Integer   `json:"day" minimum:"1" maximum:"28" doc:"Weekly: the weekday, 1 (Monday) to 7 (Sunday). Monthly: the day of the month. Quarterly: the day of the first month of a quarter."`
	Hour     rest.Integer   `json:"hour" minimum:"0" maximum:"23" doc:"Hour of the day in the time zone."`
	Timezone string         `json:"timezone" doc:"IANA name; also that of the days of the report." example:"Europe/Berlin"`
}

func showReportSchedule(s overview.ReportSchedule) reportScheduleView {
	view := reportScheduleView{
		ID: s.ID, Name: s.Name, ChannelIDs: []string{}, Labels: append([]string{}, s.Labels...), Target: s.Target,
		Recurrence: reportRecurrenceView{
			Every: s.Recurrence.Every, Day: rest.Integer(s.Recurrence.Day), Hour: rest.Integer(s.Recurrence.Hour), Timezone: s.Recurrence.Timezone,
		},
		Enabled: s.Enabled, NextAt: resource.InUTC(s.NextAt), LastAt: resource.InUTC(s.LastAt), SkippedAt: resource.InUTC(s.SkippedAt),
		Revision: s.Version, CreatedAt: s.CreatedAt.UTC(), UpdatedAt: s.UpdatedAt.UTC(),
	}
	for _, id := range s.Channels {
		view.ChannelIDs = append(view.ChannelIDs, id.String())
	}
	return view
}

// ReportScheduleMembers are the members of a schedule that can be written. What else it shows may come along and is
// ignored.
type ReportScheduleMembers struct {
	Name       rest.Field[string]               `json:"name,omitzero" example:"Shop, monthly"`
	ChannelIDs rest.Field[[]string]             `json:"channel_ids,omitzero" minItems:"1" maxItems:"50" doc:"Channels that get the reports."`
	Labels     rest.Field[[]string]             `json:"labels,omitzero" maxItems:"20" doc:"Checks with all of these labels: key=value, or key for any value. A new schedule is about every check."`
	Target     rest.Field[float64]              `json:"target_percentage,omitzero" minimum:"50" maximum:"99.9999" doc:"Target of uptime, for the error budget. A new schedule has 99.9."`
	Recurrence rest.Field[reportRecurrenceView] `json:"recurrence,omitzero" doc:"When the reports are sent; replaced as a whole."`
	Enabled    rest.Field[bool]                 `json:"enabled,omitzero" doc:"Whether reports are sent. A new schedule is enabled."`

	ID        any `json:"id,omitempty" readOnly:"true" doc:"Ignored."`
	NextAt    any `json:"next_at,omitempty" readOnly:"true" doc:"Ignored."`
	LastAt    any `json:"last_at,omitempty" readOnly:"true" doc:"Ignored."`
	SkippedAt any `json:"skipped_at,omitempty" readOnly:"true" doc:"Ignored."`
	Revision  any `json:"revision,omitempty" readOnly:"true" doc:"Ignored."`
	CreatedAt any `json:"created_at,omitempty" readOnly:"true" doc:"Ignored."`
	UpdatedAt any `json:"updated_at,omitempty" readOnly:"true" doc:"Ignored."`
}

type (
	reportScheduleCreate struct{ ReportScheduleMembers }
	reportScheduleUpdate struct{ ReportScheduleMembers }
)

// TransformSchema says what a new schedule needs.
func (reportScheduleCreate) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Required = []string{"name", "channel_ids", "recurrence"}
	return s
}

// change applies the members that were given.
func (m *ReportScheduleMembers) change(s *overview.ReportSchedule) (err error) {
	if m.Name.Given {
		if s.Name, err = rest.CleanName("name", m.Name.Value); err != nil {
			return err
		}
	}
	if m.ChannelIDs.Given {
		if s.Channels, err = drillIDs("channel_ids", m.ChannelIDs.Value); err != nil {
			return err
		}
	}
	if m.Labels.Given {
		for n, label := range m.Labels.Value {
			if _, err := vigil.ParseLabelSelectors(fmt.Sprintf("labels[%d]", n), []string{label}); err != nil {
				return err
			}
		}
		s.Labels = m.Labels.Value
	}
	if m.Target.Given {
		s.Target = m.Target.Value
	}
	if r := m.Recurrence.Value; m.Recurrence.Given {
		s.Recurrence = overview.ReportRecurrence{Every: r.Every, Day: int(r.Day), Hour: int(r.Hour), Timezone: r.Timezone}
	}
	if m.Enabled.Given {
		s.Enabled = m.Enabled.Value
	}
	return nil
}

func (d *reportSchedules) Register(r *rest.Registrar) {
	const list, one = "/v1/report-schedules", "/v1/report-schedules/{id}"
	rest.Register(r, rest.Operation{
		Method:  http.MethodGet,
		Path:    list,
		ID:      "list-report-schedules",
		Tag:     resource.TagReports,
		Summary: "List the schedules of reports, newest first",
	}, d.list)
	rest.Register(r, rest.Operation{
		Method:     http.MethodPost,
		Path:       list,
		ID:         "create-report-schedule",
		Tag:        resource.TagReports,
		Scope:      account.ScopeWrite,
		Audit:      "report_schedule.create",
		Status:     http.StatusCreated,
		Idempotent: true,
		Revisioned: true,
		Summary:    "Send reports by a schedule",
		Description: "Each time has one report, as the event report.ready with a delivery to each channel. When the platform was away, it is " +
			"sent once it is back; of several times that came meanwhile only the newest has a report.",
		Errors: []int{http.StatusConflict},
	}, d.create)
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: one, ID: "get-report-schedule", Tag: resource.TagReports, Resource: resourceReportSchedule,
		Revisioned: true, Summary: "Get a schedule of reports",
	}, d.get)
	rest.Register(r, rest.Operation{
		Method: http.MethodPut, Path: one, ID: "update-report-schedule", Tag: resource.TagReports, Scope: account.ScopeWrite,
		Audit: "report_schedule.update", Resource: resourceReportSchedule, Revisioned: true, Summary: "Update a schedule of reports",
		Description: "Members that are left out stay as they are. The next time changes with recurrence and enabled only.",
	}, d.update)
	rest.Register(r, rest.Operation{
		Method: http.MethodDelete, Path: one, ID: "delete-report-schedule", Tag: resource.TagReports, Scope: account.ScopeWrite,
		Audit: "report_schedule.delete", Resource: resourceReportSchedule, Revisioned: true, Status: http.StatusNoContent,
		Summary: "Delete a schedule of reports",
	}, d.delete)
}

func (d *reportSchedules) list(ctx context.Context, in *struct{ rest.ListQuery }) (*rest.Listing[reportScheduleView], error) {
	page, cursor, err := in.Open(rest.MaxPage, "report-schedules")
	if err != nil {
		return nil, err
	}
	rows, extent, err := d.store.ReportSchedules(ctx, rest.CallerOf(ctx).Org.ID, page)
	if err != nil {
		return nil, err
	}
	return rest.NewPage(rows, extent, cursor, showReportSchedule), nil
}

func answerReportSchedule(s overview.ReportSchedule, err error) (*rest.Answer[reportScheduleView], error) {
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(showReportSchedule(s)), nil
}

func (d *reportSchedules) get(ctx context.Context, in *rest.IDPath) (*rest.Answer[reportScheduleView], error) {
	id, err := in.Parse(resourceReportSchedule)
	if err != nil {
		return nil, err
	}
	return answerReportSchedule(d.store.ReportSchedule(ctx, rest.CallerOf(ctx).Org.ID, id))
}

func (d *reportSchedules) create(ctx context.Context, in *struct{ Body reportScheduleCreate }) (*rest.Answer[reportScheduleView], error) {
	one := overview.ReportSchedule{OrgID: rest.CallerOf(ctx).Org.ID, Enabled: true, Target: overview.DefaultTarget}
	err := in.Body.change(&one)
	if err != nil {
		return nil, err
	}
	if one.ID, err = uuid.NewV7(); err != nil {
		return nil, err
	}
	rest.AuditResource(ctx, one.ID)
	rest.ShowRepeated(ctx, showReportSchedule)
	return answerReportSchedule(d.store.CreateReportSchedule(ctx, one))
}

type updateReportScheduleInput struct {
	rest.IDPath
	Body reportScheduleUpdate
}

func (d *reportSchedules) update(ctx context.Context, in *updateReportScheduleInput) (*rest.Answer[reportScheduleView], error) {
	id, err := in.Parse(resourceReportSchedule)
	if err != nil {
		return nil, err
	}
	return answerReportSchedule(d.store.UpdateReportSchedule(ctx, rest.CallerOf(ctx).Org.ID, id, func(s *overview.ReportSchedule) error {
		if err := rest.PreconditionOf(ctx).Check(resourceReportSchedule, s.Version); err != nil {
			return err
		}
		return in.Body.change(s)
	}))
}

func (d *reportSchedules) delete(ctx context.Context, in *rest.IDPath) (*struct{}, error) {
	id, err := in.Parse(resourceReportSchedule)
	if err != nil {
		return nil, err
	}
	return nil, d.store.DeleteReportSchedule(ctx, rest.CallerOf(ctx).Org.ID, id, rest.PreconditionOf(ctx))
}
