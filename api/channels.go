package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/google/uuid"

	"vigil"
)

const (
	tagChannels     = "Notification channels"
	resourceChannel = "channel"
)

// notificationChannelView is a NotificationChannel (spec section 2).
type notificationChannelView struct {
	ID             uuid.UUID         `json:"id" format:"uuid"`
	OrgID          uuid.UUID         `json:"org_id" format:"uuid"`
	Name           string            `json:"name" minLength:"1" maxLength:"200" example:"On call"`
	Type           vigil.ChannelType `json:"type" doc:"How the channel is told." example:"webhook"`
	Config         channelConfig     `json:"config" doc:"Whom to tell; its members depend on the type. Secrets are shown as ***."`
	Enabled        bool              `json:"enabled" doc:"Whether messages are sent."`
	DisabledReason *string           `json:"disabled_reason" doc:"Why the platform disabled the channel by itself; null when it did not."`
	CreatedAt      time.Time         `json:"created_at"`
	UpdatedAt      time.Time         `json:"updated_at"`
}

// channelConfig is a config as it is shown.
type channelConfig = json.RawMessage

func (s *Server) showChannel(c vigil.Channel) notificationChannelView {
	view := notificationChannelView{
		ID: c.ID, OrgID: c.OrgID, Name: c.Name, Type: c.Type, Config: s.Channels.Secrets(c.Type).Mask(c.Config), Enabled: c.Enabled,
		CreatedAt: c.CreatedAt.UTC(), UpdatedAt: c.UpdatedAt.UTC(),
	}
	if c.DisabledReason != "" {
		view.DisabledReason = &c.DisabledReason
	}
	return view
}

func (s *Server) registerChannels() {
	const list, one = "/v1/notification-channels", "/v1/notification-channels/{id}"
	register(s, operation{
		method: http.MethodGet, path: list, id: "list-notification-channels", tag: tagChannels,
		summary: "List the notification channels, newest first",
	}, s.listChannels)
	register(s, operation{
		method: http.MethodPost, path: list, id: "create-notification-channel", tag: tagChannels, audit: "channel.create", status: http.StatusCreated,
		summary: "Create a notification channel", body: schemaRef("NotificationChannelCreate"),
	}, s.createChannel)
	register(s, operation{
		method: http.MethodGet, path: one, id: "get-notification-channel", tag: tagChannels, resource: resourceChannel,
		summary: "Show a notification channel",
	}, s.getChannel)
	register(s, operation{
		method: http.MethodPut, path: one, id: "update-notification-channel", tag: tagChannels, audit: "channel.update", resource: resourceChannel,
		summary: "Change a notification channel", body: schemaRef("NotificationChannelUpdate"),
		description: "Members that are left out stay as they are; `config` is replaced as a whole. A secret that is written as `***` is kept. The type of a channel cannot change.",
	}, s.updateChannel)
	register(s, operation{
		method: http.MethodDelete, path: one, id: "delete-notification-channel", tag: tagChannels, audit: "channel.delete", resource: resourceChannel, status: http.StatusNoContent,
		summary:     "Delete a notification channel",
		description: "A channel that alert rules use is kept and the rules are named, unless `force` is given: it is then taken out of them, and rules that are left without any channel are deleted.",
		errors:      []int{http.StatusConflict},
	}, s.deleteChannel)
	s.registerChannelTrial()
}

func (s *Server) listChannels(ctx context.Context, in *struct{ PageQuery }) (*listOf[notificationChannelView], error) {
	channels, total, err := s.Store.Channels(ctx, caller(ctx).org.ID, in.page())
	if err != nil {
		return nil, err
	}
	return listing(channels, total, s.showChannel), nil
}

// findChannel reads a channel of the caller's organization.
func (s *Server) findChannel(ctx context.Context, path *IDPath) (vigil.Channel, error) {
	id, err := path.parse(resourceChannel)
	if err != nil {
		return vigil.Channel{}, err
	}
	return s.Store.Channel(ctx, caller(ctx).org.ID, id)
}

func (s *Server) getChannel(ctx context.Context, in *IDPath) (*answerOf[notificationChannelView], error) {
	channel, err := s.findChannel(ctx, in)
	if err != nil {
		return nil, err
	}
	return answering(s.showChannel(channel)), nil
}

func (s *Server) createChannel(ctx context.Context, in *struct{ Body json.RawMessage }) (*answerOf[notificationChannelView], error) {
	patch, err := readChannelPatch(in.Body, true)
	if err != nil {
		return nil, err
	}
	auditMembers(ctx, patch.given)
	channel := vigil.Channel{OrgID: caller(ctx).org.ID, Type: *patch.kind, Enabled: true}
	if err := s.changeChannel(&channel, patch); err != nil {
		return nil, err
	}
	if channel.ID, err = uuid.NewV7(); err != nil {
		return nil, err
	}
	auditResource(ctx, channel.ID)
	if channel, err = s.Store.CreateChannel(ctx, channel); err != nil {
		return nil, err
	}
	return answering(s.showChannel(channel)), nil
}

type updateChannelInput struct {
	IDPath
	Body json.RawMessage
}

func (s *Server) updateChannel(ctx context.Context, in *updateChannelInput) (*answerOf[notificationChannelView], error) {
	id, err := in.parse(resourceChannel)
	if err != nil {
		return nil, err
	}
	patch, err := readChannelPatch(in.Body, false)
	if err != nil {
		return nil, err
	}
	auditMembers(ctx, patch.given)
	channel, err := s.Store.UpdateChannel(ctx, caller(ctx).org.ID, id, func(c *vigil.Channel) error {
		return s.changeChannel(c, patch)
	})
	if err != nil {
		return nil, err
	}
	return answering(s.showChannel(channel)), nil
}

type deleteChannelInput struct {
	IDPath
	Force bool `query:"force" doc:"Take the channel out of the alert rules that use it."`
}

func (s *Server) deleteChannel(ctx context.Context, in *deleteChannelInput) (*struct{}, error) {
	id, err := in.parse(resourceChannel)
	if err != nil {
		return nil, err
	}
	checks, err := s.Store.DeleteChannel(ctx, caller(ctx).org.ID, id, in.Force)
	if err != nil {
		return nil, err
	}
	for _, check := range checks {
		s.tellRules(ctx, check)
	}
	return nil, nil //nolint:nilnil // Huma's way to answer without a body
}
