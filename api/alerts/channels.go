// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/accounts"
	"github.com/vigil-monitor/vigil/api/checks"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/channelhealth"
	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/internal/listing"
)

const (
	// ResourceChannel names a channel in errors and in the audit log.
	ResourceChannel = "channel"
)

// channelStore keeps notification channels.
type channelStore interface {
	CreateChannel(ctx context.Context, channel vigil.Channel) (vigil.Channel, error)
	Channels(ctx context.Context, orgID uuid.UUID, filter listing.ChannelFilter) ([]vigil.Channel, listing.Extent, error)
	Channel(ctx context.Context, orgID, id uuid.UUID) (vigil.Channel, error)
	RotateChannelSecret(ctx context.Context, orgID, id uuid.UUID, rotation vigil.SecretRotation) (vigil.Channel, error)
	UpdateChannel(ctx context.Context, orgID, id uuid.UUID, change func(*vigil.Channel) error) (vigil.Channel, error)
	// ChannelHealths returns how the messages of channels arrive; those without any are missing.
	ChannelHealths(ctx context.Context, orgID uuid.UUID, channels []uuid.UUID) (map[uuid.UUID]channelhealth.Health, error)
	// LastDrills returns the last drills of channels; those without any are missing.
	LastDrills(ctx context.Context, orgID uuid.UUID, channels []uuid.UUID) (map[uuid.UUID]drills.Ended, error)
	// ChannelReached records that a test arrived.
	ChannelReached(ctx context.Context, orgID, id uuid.UUID, publicURL string) error
	// DeleteChannel refuses a channel that rules use, or that others fall back to, with
	// vigil.CodeConflict, unless force takes it out of them; then it returns the checks of the rules.
	DeleteChannel(ctx context.Context, orgID, id uuid.UUID, force bool, match vigil.Precondition) (checks []uuid.UUID, err error)
}

// Channels are the operations of notification channels, and the rules by which one is created
// and changed.
type Channels struct {
	store channelStore
	// recipients is nil where mail does not leave the machine.
	recipients accounts.RecipientStore
	mails      *resource.Tasks // that are sent behind a request
	Types      resource.ChannelTypes
	notifier   *resource.Notifier
	publicURL  string
	now        func() time.Time
	sending    chan struct{} // one for each test message under way
}

// newChannels returns the channels of a store. recipients is nil where mail does not leave the
// machine.
func newChannels(
	store channelStore,
	types resource.ChannelTypes,
	notifier *resource.Notifier,
	mails *resource.Tasks,
	recipients accounts.RecipientStore,
	publicURL string,
	now func() time.Time,
) *Channels {
	return &Channels{
		store: store, Types: types, notifier: notifier, publicURL: publicURL, now: now, recipients: recipients,
		sending: make(chan struct{}, maxTestMessages), mails: mails,
	}
}

// notificationChannelView is a NotificationChannel (spec section 2).
type notificationChannelView struct {
	ID             uuid.UUID               `json:"id" format:"uuid"`
	OrgID          uuid.UUID               `json:"org_id" format:"uuid"`
	Name           string                  `json:"name" minLength:"1" maxLength:"200" example:"On call"`
	Type           vigil.ChannelType       `json:"type" doc:"How messages are sent." example:"webhook"`
	Config         channelConfig           `json:"config" doc:"Where messages go; its members depend on the type. Secrets are shown as ***."`
	Format         *string                 `json:"effective_format" example:"slack" doc:"The format in which messages are sent: config.format, or the one that the host of the address names, or the default of the type; null for a type that has one form."`
	Enabled        bool                    `json:"enabled" doc:"Whether messages are sent."`
	Labels         map[string]string       `json:"labels" doc:"Names and values that you give, to group and to filter."`
	ManagedBy      *resource.ManagedByView `json:"managed_by" doc:"The program that manages the channel, such as a project of files; null when none does."`
	DisabledReason *string                 `json:"disabled_reason" doc:"Why the platform disabled the channel by itself; null when it did not."`
	SecretOverlap  *time.Time              `json:"secret_overlap_ends_at" doc:"Until when messages are also signed by the secret that a rotation replaced; null when none is."`
	FallbackID     *uuid.UUID              `json:"fallback_channel_id" format:"uuid" nullable:"true" doc:"The channel that gets, once, what this one cannot deliver; null when there is none."`
	Delivery       channelDeliveryView     `json:"delivery" doc:"How the messages of the channel arrive."`
	LastDrill      *lastDrillView          `json:"last_drill" doc:"The last drill of the channel that has ended; null without one."`
	Recipients     []recipientView         `json:"recipients,omitempty" doc:"Of an email channel: who gets its mail. Absent where mail is not sent to people."`
	Revision       int64                   `json:"revision,omitempty" doc:"Grows by one with every change of the channel, also when the platform disables it; the ETag for If-Match."`
	CreatedAt      time.Time               `json:"created_at"`
	UpdatedAt      time.Time               `json:"updated_at"`
}

// lastDrillView is the last drill of a channel.
type lastDrillView struct {
	ID      uuid.UUID      `json:"id" format:"uuid"`
	Verdict drills.Verdict `json:"verdict" enum:"passed,failed,canceled"`
	At      time.Time      `json:"at" doc:"When it ended."`
}

// channelDeliveryView is how the messages of a channel arrive.
type channelDeliveryView struct {
	State               channelhealth.State `json:"state" enum:"ok,failing,down" doc:"ok: messages arrive, or none was sent yet. failing: five attempts in a row have failed, or they fail for ten minutes. down: a message was given up after its last attempt, or the receiver answered 410. A message that arrives, also a test, makes it ok."`
	FailingSince        *time.Time          `json:"failing_since" doc:"When the first of the attempts failed that have failed in a row; null while the state is ok."`
	ConsecutiveFailures int                 `json:"consecutive_failures" minimum:"0" doc:"How many attempts have failed in a row. An attempt that a user requested counts only when it succeeds."`
	LastDeliveredAt     *time.Time          `json:"last_delivered_at" doc:"When a message arrived last; null when none did."`
	LastError           *string             `json:"last_error" doc:"Why the last attempt failed; null when it did not." example:"The receiver answered 503."`
}

func showHealth(h channelhealth.Health) channelDeliveryView {
	state, since := h.Shown()
	return channelDeliveryView{
		State: state, FailingSince: resource.InUTC(since), ConsecutiveFailures: h.Failures, LastDeliveredAt: resource.InUTC(h.LastDeliveredAt),
		LastError: vigil.NilIfZero(h.LastError),
	}
}

// CurrentRevision is the channel's, for its ETag.
func (v notificationChannelView) CurrentRevision() int64 { return v.Revision }

// channelConfig is a config as it is shown.
type channelConfig = json.RawMessage

func (c *Channels) show(channel vigil.Channel) notificationChannelView {
	view := notificationChannelView{
		ID: channel.ID, OrgID: channel.OrgID, Name: channel.Name, Type: channel.Type, Enabled: channel.Enabled,
		Labels:    checks.LabelsView(channel.Labels),
		ManagedBy: resource.ShowManagedBy(channel.ManagedBy),
		Config:    c.Types.Secrets(channel.Type).Mask(channel.Config),
		Format:    vigil.NilIfZero(c.Types.Format(channel.Type, channel.Config)),
		Revision:  channel.Version, SecretOverlap: resource.InUTC(channel.SecretOverlapEndsAt),
		FallbackID: vigil.NilIfZero(channel.Fallback), Delivery: showHealth(channelhealth.Health{}),
		CreatedAt: channel.CreatedAt.UTC(), UpdatedAt: channel.UpdatedAt.UTC(),
	}
	if channel.DisabledReason != "" {
		view.DisabledReason = &channel.DisabledReason
	}
	return view
}

// Register registers the operations of channels.
func (c *Channels) Register(r *rest.Registrar) {
	const list, one = "/v1/notification-channels", "/v1/notification-channels/{id}"
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: list, ID: "list-notification-channels", Tag: resource.TagChannels,
		Summary: "List the notification channels, newest first",
	}, c.list)
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: list, ID: "create-notification-channel", Tag: resource.TagChannels, Scope: account.ScopeWrite,
		Audit: "channel.create", Status: http.StatusCreated, Idempotent: true, Revisioned: true,
		Summary: "Create a notification channel",
		Errors:  []int{http.StatusForbidden},
	}, c.create)
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: one, ID: "get-notification-channel", Tag: resource.TagChannels, Resource: ResourceChannel, Revisioned: true,
		Summary: "Get a notification channel",
	}, c.get)
	rest.Register(r, rest.Operation{
		Method: http.MethodPut, Path: one, ID: "update-notification-channel", Tag: resource.TagChannels, Scope: account.ScopeWrite,
		Audit: "channel.update", Resource: ResourceChannel, Revisioned: true,
		Summary: "Update a notification channel",
		Description: "Members that are left out stay as they are; `config` is replaced as a whole. A secret that is written as `***` is kept. " +
			"The type of a channel cannot change.",
		Errors: []int{http.StatusConflict},
	}, c.update)
	rest.Register(r, rest.Operation{
		Method: http.MethodDelete, Path: one, ID: "delete-notification-channel", Tag: resource.TagChannels, Scope: account.ScopeWrite,
		Audit: "channel.delete", Resource: ResourceChannel, Revisioned: true, Status: http.StatusNoContent,
		Summary: "Delete a notification channel",
		Description: "A channel that alert rules use, or that other channels fall back to, is not deleted, and the answer names them. " +
			"With `force`, it is removed from them, and rules without any channel left are deleted.",
		Errors: []int{http.StatusConflict},
	}, c.delete)
	c.registerTest(r)
	c.registerRotation(r)
}

// find reads a channel of the caller's organization.
func (c *Channels) find(ctx context.Context, path *rest.IDPath) (vigil.Channel, error) {
	id, err := path.Parse(ResourceChannel)
	if err != nil {
		return vigil.Channel{}, err
	}
	return c.store.Channel(ctx, rest.CallerOf(ctx).Org.ID, id)
}

func (c *Channels) get(ctx context.Context, in *rest.IDPath) (*rest.Answer[notificationChannelView], error) {
	channel, err := c.find(ctx, in)
	if err != nil {
		return nil, err
	}
	return c.answer(ctx, channel)
}

type createChannelInput struct {
	Body NotificationChannelCreate
}

func (c *Channels) create(ctx context.Context, in *createChannelInput) (*rest.Answer[notificationChannelView], error) {
	if err := in.Body.Clean(); err != nil {
		return nil, err
	}
	channel := vigil.Channel{OrgID: rest.CallerOf(ctx).Org.ID, Type: in.Body.Type.Value, Enabled: true}
	if err := c.Change(&channel, &in.Body.ChannelMembers); err != nil {
		return nil, err
	}
	var err error
	if channel.ID, err = uuid.NewV7(); err != nil {
		return nil, err
	}
	rest.AuditResource(ctx, channel.ID)
	show, err := c.showing(ctx, channel)
	if err != nil {
		return nil, err
	}
	rest.ShowRepeated(ctx, show)
	if channel, err = c.store.CreateChannel(ctx, channel); err != nil {
		return nil, err
	}
	c.AskRecipients(ctx, channel)
	return rest.NewAnswer(show(channel)), nil
}

type updateChannelInput struct {
	rest.IDPath
	Body notificationChannelUpdate
}

func (c *Channels) update(ctx context.Context, in *updateChannelInput) (*rest.Answer[notificationChannelView], error) {
	id, err := in.Parse(ResourceChannel)
	if err != nil {
		return nil, err
	}
	if err := in.Body.Clean(); err != nil {
		return nil, err
	}
	channel, err := c.store.UpdateChannel(ctx, rest.CallerOf(ctx).Org.ID, id, func(channel *vigil.Channel) error {
		if err := rest.PreconditionOf(ctx).Check(ResourceChannel, channel.Version); err != nil {
			return err
		}
		return c.Change(channel, &in.Body.ChannelMembers)
	})
	if err != nil {
		return nil, err
	}
	c.AskRecipients(ctx, channel)
	return c.answer(ctx, channel)
}

type deleteChannelInput struct {
	rest.IDPath
	Force bool `query:"force" doc:"Remove the channel from the alert rules that use it, and from the channels that fall back to it."`
}

func (c *Channels) delete(ctx context.Context, in *deleteChannelInput) (*struct{}, error) {
	id, err := in.Parse(ResourceChannel)
	if err != nil {
		return nil, err
	}
	checks, err := c.store.DeleteChannel(ctx, rest.CallerOf(ctx).Org.ID, id, in.Force, rest.PreconditionOf(ctx))
	if err != nil {
		return nil, err
	}
	for _, check := range checks {
		c.notifier.RulesChanged(ctx, rest.CallerOf(ctx).Org.ID, check)
	}
	return nil, nil //nolint:nilnil // Huma's way to answer without a body
}
