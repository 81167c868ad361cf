// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/checks"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/internal/listing"
)

const resourceDrillSchedule = "drill schedule"

// drillScheduleStore keeps schedules of drills. region is where a drill runs that names none.
type drillScheduleStore interface {
	CreateDrillSchedule(ctx context.Context, s drills.Schedule, region string) (drills.Schedule, error)
	DrillSchedule(ctx context.Context, orgID, id uuid.UUID) (drills.Schedule, error)
	DrillSchedules(ctx context.Context, orgID uuid.UUID, page listing.Page) ([]drills.Schedule, listing.Extent, error)
	UpdateDrillSchedule(
		ctx context.Context, orgID, id uuid.UUID, region string, change func(*drills.Schedule) error,
	) (drills.Schedule, error)
	DeleteDrillSchedule(ctx context.Context, orgID, id uuid.UUID, match vigil.Precondition) error
}

type drillSchedules struct {
	store drillScheduleStore
	plans resource.Plans
}

// drillScheduleView is a schedule of drills.
type drillScheduleView struct {
	ID              uuid.UUID           `json:"id" format:"uuid"`
	Name            string              `json:"name" example:"On call, monthly"`
	ChannelIDs      []string            `json:"channel_ids,omitempty" doc:"Channels to notify; absent where it is about something else."`
	RuleIDs         []string            `json:"rule_ids,omitempty" doc:"Alert rules to try; absent where it is about something else."`
	SubscriptionIDs []string            `json:"subscription_ids,omitempty" doc:"Subscriptions to try; absent where it is about something else."`
	Regions         []string            `json:"regions,omitempty" doc:"Where the drills run; absent for the default."`
	Severity        vigil.Severity      `json:"severity" enum:"critical,warning,info"`
	Expect          int64               `json:"expect_within_seconds"`
	Pager           bool                `json:"confirm_pager"`
	Recurrence      drillRecurrenceView `json:"recurrence"`
	Enabled         bool                `json:"enabled"`
	NextAt          *time.Time          `json:"next_at" doc:"When the next drill runs; null while the schedule is disabled."`
	SkippedAt       *time.Time          `json:"skipped_at" doc:"The last time that was left out, as it was more than a day ago when the platform was back, or another drill of a channel ran all that time; null: none was."`
	LastDrill       *lastDrillView      `json:"last_drill" doc:"Its last drill that has ended; null without one."`
	Revision        int64               `json:"revision" doc:"Grows by one with every change of the schedule; the ETag for If-Match."`
	CreatedAt       time.Time           `json:"created_at"`
	UpdatedAt       time.Time           `json:"updated_at"`
}

// CurrentRevision is the schedule's, for its ETag.
func (v drillScheduleView) CurrentRevision() int64 { return v.Revision }

// drillRecurrenceView is when the drills of a schedule run.
type drillRecurrenceView struct {
	Every    drills.Every `json:"every" enum:"monthly,weekly"`
	Day      rest.Integer `json:"day" minimum:"1" maximum:"28" doc:"Monthly: the day of the month. Weekly: the weekday, 1 (Monday) to 7 (Sunday)."`
	Hour     rest.Integer `json:"hour" minimum:"0" maximum:"23" doc:"Hour of the day in the time zone."`
	Timezone string       `json:"timezone" doc:"IANA name." example:"Europe/Berlin"`
}

func showDrillSchedule(s drills.Schedule) drillScheduleView {
	texts := func(ids []uuid.UUID) []string {
		var list []string
		for _, id := range ids {
			list = append(list, id.String())
		}
		return list
	}
	view := drillScheduleView{
		ID: s.ID, Name: s.Name, ChannelIDs: texts(s.Request.ChannelIDs), RuleIDs: texts(s.Request.RuleIDs),
		SubscriptionIDs: texts(s.Request.SubscriptionIDs), Regions: s.Request.Regions, Severity: s.Request.Severity,
		Expect: int64(s.Request.ExpectWithin / time.Second), Pager: s.Request.ConfirmPager,
		Recurrence: drillRecurrenceView{
			Every: s.Recurrence.Every, Day: rest.Integer(s.Recurrence.Day), Hour: rest.Integer(s.Recurrence.Hour), Timezone: s.Recurrence.Timezone,
		},
		Enabled: s.Enabled, NextAt: resource.InUTC(s.NextAt), SkippedAt: resource.InUTC(s.SkippedAt), Revision: s.Version,
		CreatedAt: s.CreatedAt.UTC(), UpdatedAt: s.UpdatedAt.UTC(),
	}
	if s.Last != nil {
		view.LastDrill = &lastDrillView{ID: s.Last.DrillID, Verdict: s.Last.Verdict, At: s.Last.At}
	}
	return view
}

// DrillScheduleMembers are the members of a schedule that can be written. What else it shows may come
// along and is ignored.
type DrillScheduleMembers struct {
	Name            rest.Field[string]              `json:"name,omitzero" example:"On call, monthly"`
	ChannelIDs      rest.Field[[]string]            `json:"channel_ids,omitzero" minItems:"1" maxItems:"50" doc:"Channels to notify, in the place of what the schedule is about now."`
	RuleIDs         rest.Field[[]string]            `json:"rule_ids,omitzero" minItems:"1" maxItems:"50" doc:"Alert rules to try, in the place of what the schedule is about now."`
	SubscriptionIDs rest.Field[[]string]            `json:"subscription_ids,omitzero" minItems:"1" maxItems:"50" doc:"Subscriptions to try, in the place of what the schedule is about now."`
	Regions         rest.Field[[]string]            `json:"regions,omitzero" minItems:"1" maxItems:"33" doc:"Keys or aliases of the regions in which the drills run. Default: as for a drill."`
	Severity        rest.Field[vigil.Severity]      `json:"severity,omitzero" enum:"critical,warning,info" doc:"Severity of the incident. A new schedule has info."`
	Expect          rest.Field[rest.Integer]        `json:"expect_within_seconds,omitzero" minimum:"10" maximum:"600" doc:"How long the way to every channel may take. A new schedule has 120."`
	Pager           rest.Field[bool]                `json:"confirm_pager,omitzero" doc:"Must be true when a pager channel is notified: it wakes people."`
	Recurrence      rest.Field[drillRecurrenceView] `json:"recurrence,omitzero" doc:"When the drills run; replaced as a whole."`
	Enabled         rest.Field[bool]                `json:"enabled,omitzero" doc:"Whether drills run. A new schedule is enabled."`

	ID        any `json:"id,omitempty" readOnly:"true" doc:"Ignored."`
	NextAt    any `json:"next_at,omitempty" readOnly:"true" doc:"Ignored."`
	SkippedAt any `json:"skipped_at,omitempty" readOnly:"true" doc:"Ignored."`
	LastDrill any `json:"last_drill,omitempty" readOnly:"true" doc:"Ignored."`
	Revision  any `json:"revision,omitempty" readOnly:"true" doc:"Ignored."`
	CreatedAt any `json:"created_at,omitempty" readOnly:"true" doc:"Ignored."`
	UpdatedAt any `json:"updated_at,omitempty" readOnly:"true" doc:"Ignored."`
}

type (
	drillScheduleCreate struct{ DrillScheduleMembers }
	drillScheduleUpdate struct{ DrillScheduleMembers }
)

// TransformSchema says what a new schedule needs.
func (drillScheduleCreate) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Required = []string{"name", "recurrence"}
	return s
}

// change applies the members that were given.
func (m *DrillScheduleMembers) change(s *drills.Schedule, plan account.Plan) (err error) {
	if m.Name.Given {
		if s.Name, err = rest.CleanName("name", m.Name.Value); err != nil {
			return err
		}
	}
	if err := m.changeSubject(&s.Request); err != nil {
		return err
	}
	if m.Regions.Given {
		if s.Request.Regions, err = checks.RegionsOf(m.Regions.Value, plan); err != nil {
			return err
		}
	}
	if m.Severity.Given {
		s.Request.Severity = m.Severity.Value
	}
	if m.Expect.Given {
		s.Request.ExpectWithin = time.Duration(m.Expect.Value) * time.Second
	}
	if m.Pager.Given {
		s.Request.ConfirmPager = m.Pager.Value
	}
	if r := m.Recurrence.Value; m.Recurrence.Given {
		s.Recurrence = drills.Recurrence{Every: r.Every, Day: int(r.Day), Hour: int(r.Hour), Timezone: r.Timezone}
	}
	if m.Enabled.Given {
		s.Enabled = m.Enabled.Value
	}
	return nil
}

// changeSubject replaces what the drills are about, where that is given.
func (m *DrillScheduleMembers) changeSubject(request *drills.Request) (err error) {
	given := 0
	subject := drills.Request{}
	for _, one := range []struct {
		member string
		field  rest.Field[[]string]
		into   *[]uuid.UUID
	}{
		{"channel_ids", m.ChannelIDs, &subject.ChannelIDs},
		{"rule_ids", m.RuleIDs, &subject.RuleIDs},
		{"subscription_ids", m.SubscriptionIDs, &subject.SubscriptionIDs},
	} {
		if !one.field.Given {
			continue
		}
		given++
		if *one.into, err = drillIDs(one.member, one.field.Value); err != nil {
			return err
		}
	}
	had := len(request.ChannelIDs) + len(request.RuleIDs) + len(request.SubscriptionIDs)
	if given > 1 || given == 0 && had == 0 {
		return vigil.Invalid("channel_ids", "exactly one of channel_ids, rule_ids and subscription_ids must be given")
	}
	if given == 1 {
		request.ChannelIDs, request.RuleIDs, request.SubscriptionIDs = subject.ChannelIDs, subject.RuleIDs, subject.SubscriptionIDs
	}
	return nil
}

func (d *drillSchedules) Register(r *rest.Registrar) {
	const list, one = "/v1/drill-schedules", "/v1/drill-schedules/{id}"
	rest.Register(r, rest.Operation{
		Method:  http.MethodGet,
		Path:    list,
		ID:      "list-drill-schedules",
		Tag:     resource.TagDrills,
		Summary: "List the schedules of drills, newest first",
	}, d.list)
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: list, ID: "create-drill-schedule", Tag: resource.TagDrills, Scope: account.ScopeWrite,
		Audit: "drill_schedule.create", Status: http.StatusCreated, Idempotent: true, Revisioned: true, Summary: "Run drills by a schedule",
		Description: "Each time has one drill. When the platform was away, it runs once it is back within a day, and is skipped afterwards. " +
			"A drill that cannot begin, such as of a channel that is gone, fails, and the owners are mailed. " +
			"Exactly one of channel_ids, rule_ids and subscription_ids is given.",
		Errors: []int{http.StatusForbidden, http.StatusConflict},
	}, d.create)
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: one, ID: "get-drill-schedule", Tag: resource.TagDrills, Resource: resourceDrillSchedule,
		Revisioned: true, Summary: "Get a schedule of drills",
	}, d.get)
	rest.Register(r, rest.Operation{
		Method: http.MethodPut, Path: one, ID: "update-drill-schedule", Tag: resource.TagDrills, Scope: account.ScopeWrite,
		Audit: "drill_schedule.update", Resource: resourceDrillSchedule, Revisioned: true, Summary: "Update a schedule of drills",
		Description: "Members that are left out stay as they are. The next time changes with recurrence and enabled only.",
	}, d.update)
	rest.Register(r, rest.Operation{
		Method: http.MethodDelete, Path: one, ID: "delete-drill-schedule", Tag: resource.TagDrills, Scope: account.ScopeWrite,
		Audit: "drill_schedule.delete", Resource: resourceDrillSchedule, Revisioned: true, Status: http.StatusNoContent,
		Summary: "Delete a schedule of drills", Description: "Its drills stay, also one that runs.",
	}, d.delete)
}

func (d *drillSchedules) list(ctx context.Context, in *struct{ rest.ListQuery }) (*rest.Listing[drillScheduleView], error) {
	page, cursor, err := in.Open(rest.MaxPage, "drill-schedules")
	if err != nil {
		return nil, err
	}
	rows, extent, err := d.store.DrillSchedules(ctx, rest.CallerOf(ctx).Org.ID, page)
	if err != nil {
		return nil, err
	}
	return rest.NewPage(rows, extent, cursor, showDrillSchedule), nil
}

func answerDrillSchedule(s drills.Schedule, err error) (*rest.Answer[drillScheduleView], error) {
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(showDrillSchedule(s)), nil
}

func (d *drillSchedules) get(ctx context.Context, in *rest.IDPath) (*rest.Answer[drillScheduleView], error) {
	id, err := in.Parse(resourceDrillSchedule)
	if err != nil {
		return nil, err
	}
	return answerDrillSchedule(d.store.DrillSchedule(ctx, rest.CallerOf(ctx).Org.ID, id))
}

// drillRegion is where a drill runs that names no region.
func drillRegion() string {
	region, _ := vigil.RegionByKey(vigil.DefaultRegionAlias)
	return region.Key
}

func (d *drillSchedules) create(ctx context.Context, in *struct{ Body drillScheduleCreate }) (*rest.Answer[drillScheduleView], error) {
	who := rest.CallerOf(ctx)
	one := drills.Schedule{
		OrgID: who.Org.ID, Enabled: true, Request: drills.Request{Severity: vigil.Info, ExpectWithin: drills.DefaultExpect},
	}
	err := in.Body.change(&one, d.plans.Of(who))
	if err != nil {
		return nil, err
	}
	if one.ID, err = uuid.NewV7(); err != nil {
		return nil, err
	}
	rest.AuditResource(ctx, one.ID)
	rest.ShowRepeated(ctx, showDrillSchedule)
	return answerDrillSchedule(d.store.CreateDrillSchedule(ctx, one, drillRegion()))
}

type updateDrillScheduleInput struct {
	rest.IDPath
	Body drillScheduleUpdate
}

func (d *drillSchedules) update(ctx context.Context, in *updateDrillScheduleInput) (*rest.Answer[drillScheduleView], error) {
	id, err := in.Parse(resourceDrillSchedule)
	if err != nil {
		return nil, err
	}
	who := rest.CallerOf(ctx)
	return answerDrillSchedule(d.store.UpdateDrillSchedule(ctx, who.Org.ID, id, drillRegion(), func(s *drills.Schedule) error {
		if err := rest.PreconditionOf(ctx).Check(resourceDrillSchedule, s.Version); err != nil {
			return err
		}
		return in.Body.change(s, d.plans.Of(who))
	}))
}

func (d *drillSchedules) delete(ctx context.Context, in *rest.IDPath) (*struct{}, error) {
	id, err := in.Parse(resourceDrillSchedule)
	if err != nil {
		return nil, err
	}
	return nil, d.store.DeleteDrillSchedule(ctx, rest.CallerOf(ctx).Org.ID, id, rest.PreconditionOf(ctx))
}
