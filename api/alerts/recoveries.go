// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/channelhealth"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// resourceRecovery names a recovery in errors.
const resourceRecovery = "recovery"

// recoveryStore keeps recoveries.
type recoveryStore interface {
	// BeginRecovery stores a recovery; CodeConflict when one runs or the channel is disabled.
	BeginRecovery(ctx context.Context, recovery channelhealth.Recovery) (channelhealth.Recovery, error)
	Recovery(ctx context.Context, orgID, channelID, id uuid.UUID) (channelhealth.Recovery, error)
	// Recoveries lists those of a channel, newest first.
	Recoveries(ctx context.Context, orgID, channelID uuid.UUID, page listing.Page) ([]channelhealth.Recovery, listing.Extent, error)
	CancelRecovery(ctx context.Context, orgID, channelID, id uuid.UUID) (channelhealth.Recovery, error)
}

// recoveries are the operations that send again what a channel did not get.
type recoveries struct {
	store     recoveryStore
	workflows resource.IncidentWorkflows
	now       func() time.Time
}

// recoveryView is a recovery of a channel.
type recoveryView struct {
	ID         uuid.UUID                   `json:"id" format:"uuid"`
	ChannelID  uuid.UUID                   `json:"channel_id" format:"uuid"`
	State      channelhealth.RecoveryState `json:"state" enum:"running,done,canceled" doc:"canceled: on request, or because the channel was disabled."`
	Since      time.Time                   `json:"since" doc:"From when on the deliveries were made."`
	Until      time.Time                   `json:"until" doc:"Until when, excluded."`
	Statuses   []vigil.DeliveryStatus      `json:"statuses" enum:"exhausted,canceled,superseded"`
	EventTypes []vigil.EventType           `json:"event_types" doc:"Types of the events; empty: all."`
	Total      int                         `json:"total" minimum:"0" doc:"How many deliveries it has."`
	Sent       int                         `json:"sent" minimum:"0" doc:"How many of them arrived."`
	Skipped    int                         `json:"skipped" minimum:"0" doc:"How many need no message any more, or have none: they arrived meanwhile, or their event or check is gone."`
	Failed     int                         `json:"failed" minimum:"0" doc:"How many failed again, or were not sent because a message before them of the same incident failed."`
	StartedAt  time.Time                   `json:"started_at"`
	FinishedAt *time.Time                  `json:"finished_at" doc:"Null while it runs."`
}

func showRecovery(r channelhealth.Recovery) recoveryView {
	return recoveryView{
		ID: r.ID, ChannelID: r.ChannelID, State: r.State, Since: r.Since.UTC(), Until: r.Until.UTC(),
		Statuses: append([]vigil.DeliveryStatus{}, r.Statuses...), EventTypes: append([]vigil.EventType{}, r.EventTypes...),
		Total: r.Total, Sent: r.Sent, Skipped: r.Skipped, Failed: r.Failed,
		StartedAt: r.StartedAt.UTC(), FinishedAt: resource.InUTC(r.FinishedAt),
	}
}

// Register registers the operations of recoveries.
func (v *recoveries) Register(r *rest.Registrar) {
	const list, one = "/v1/notification-channels/{id}/recoveries", "/v1/notification-channels/{id}/recoveries/{recoveryID}"
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: "/v1/notification-channels/{id}/recover", ID: "recover-notification-channel", Tag: resource.TagChannels,
		Scope: account.ScopeRespond, Resource: ResourceChannel, Status: http.StatusAccepted, Audit: "channel.recover", Idempotent: true,
		Summary: "Send again what a channel did not get",
		Description: "Makes one more attempt for each delivery that it selects, with the same id and body, at most some a second beside what " +
			"is sent meanwhile. The messages of an incident are sent in their order, and what has arrived is skipped. " +
			"It goes on after any failure of the platform. A channel has at most one that runs.",
		Errors: []int{http.StatusConflict},
	}, v.begin)
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: list, ID: "list-recoveries", Tag: resource.TagChannels, Resource: ResourceChannel,
		Summary: "List the recoveries of a channel, newest first",
	}, v.list)
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: one, ID: "get-recovery", Tag: resource.TagChannels, Resource: resourceRecovery,
		Summary: "Get a recovery of a channel",
	}, v.get)
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: one + "/cancel", ID: "cancel-recovery", Tag: resource.TagChannels, Scope: account.ScopeRespond,
		Resource: resourceRecovery, Audit: "channel.cancel_recovery", Idempotent: true,
		Summary:     "Cancel a recovery of a channel",
		Description: "Nothing more of it is sent. One that has ended stays as it is.",
	}, v.cancel)
}

type channelRecoveryBody struct {
	Since      time.Time              `json:"since" doc:"From when on the deliveries were made." example:"2026-03-01T00:00:00Z"`
	Until      *time.Time             `json:"until,omitempty" doc:"Until when, excluded; now without it."`
	Statuses   []vigil.DeliveryStatus `json:"statuses,omitempty" minItems:"1" maxItems:"3" enum:"exhausted,canceled,superseded" doc:"States of the deliveries; exhausted without it."`
	EventTypes []vigil.EventType      `json:"event_types,omitempty" minItems:"1" maxItems:"20" enum:"incident.triggered,incident.acknowledged,incident.resolved,check.unobserved,check.observed,channel.failing,channel.recovered,delivery.exhausted,region.blind,region.sighted,location.silent,location.back,drill.passed,drill.failed,check.paused,check.resumed,report.ready" doc:"Types of their events; all without it."`
}

type recoverInput struct {
	rest.IDPath
	Body channelRecoveryBody
}

// begin answers once the recovery is stored. Its workflow is started afterwards; the sweep repairs
// a start that fails.
func (v *recoveries) begin(ctx context.Context, in *recoverInput) (*rest.Answer[recoveryView], error) {
	channel, err := in.Parse(ResourceChannel)
	if err != nil {
		return nil, err
	}
	recovery := channelhealth.Recovery{
		OrgID: rest.CallerOf(ctx).Org.ID, ChannelID: channel, Since: in.Body.Since, Until: v.now(),
		Statuses: in.Body.Statuses, EventTypes: in.Body.EventTypes,
	}
	if in.Body.Until != nil {
		recovery.Until = *in.Body.Until
	}
	if len(recovery.Statuses) == 0 {
		recovery.Statuses = []vigil.DeliveryStatus{vigil.DeliveryExhausted}
	}
	if !recovery.Since.Before(recovery.Until) {
		return nil, vigil.Invalid("since", "must be before until, or in the past without it")
	}
	rest.ShowRepeated(ctx, showRecovery)
	if recovery, err = v.store.BeginRecovery(ctx, recovery); err != nil {
		return nil, err
	}
	if recovery.State == channelhealth.RecoveryRunning {
		_ = v.workflows.Recover(ctx, recovery) // the sweep starts what this does not
	}
	return rest.NewAnswer(showRecovery(recovery)), nil
}

type listRecoveriesInput struct {
	rest.IDPath
	rest.ListQuery
}

func (v *recoveries) list(ctx context.Context, in *listRecoveriesInput) (*rest.Listing[recoveryView], error) {
	channel, err := in.Parse(ResourceChannel)
	if err != nil {
		return nil, err
	}
	page, cursor, err := in.Open(rest.MaxPage, "recoveries", channel.String())
	if err != nil {
		return nil, err
	}
	rows, extent, err := v.store.Recoveries(ctx, rest.CallerOf(ctx).Org.ID, channel, page)
	if err != nil {
		return nil, err
	}
	return rest.NewPage(rows, extent, cursor, showRecovery), nil
}

type recoveryPath struct {
	rest.IDPath
	RecoveryID string `path:"recoveryID" format:"uuid" doc:"The id of the recovery."`
}

// ids reads the ids of the channel and the recovery.
func (p *recoveryPath) ids() (channel, recovery uuid.UUID, err error) {
	if channel, err = p.Parse(ResourceChannel); err != nil {
		return channel, recovery, err
	}
	recovery, err = rest.ParseID(p.RecoveryID, resourceRecovery)
	return channel, recovery, err
}

func (v *recoveries) get(ctx context.Context, in *recoveryPath) (*rest.Answer[recoveryView], error) {
	channel, id, err := in.ids()
	if err != nil {
		return nil, err
	}
	recovery, err := v.store.Recovery(ctx, rest.CallerOf(ctx).Org.ID, channel, id)
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(showRecovery(recovery)), nil
}

func (v *recoveries) cancel(ctx context.Context, in *recoveryPath) (*rest.Answer[recoveryView], error) {
	channel, id, err := in.ids()
	if err != nil {
		return nil, err
	}
	recovery, err := v.store.CancelRecovery(ctx, rest.CallerOf(ctx).Org.ID, channel, id)
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(showRecovery(recovery)), nil
}
