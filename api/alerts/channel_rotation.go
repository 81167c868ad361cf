// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"context"
	"net/http"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/notify"
)

// defaultSecretOverlap is for how long a replaced secret still signs messages when the request
// does not say it.
const defaultSecretOverlap = 24 * time.Hour

func (c *Channels) registerRotation(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method:     http.MethodPost,
		Path:       "/v1/notification-channels/{id}/rotate-secret",
		ID:         "rotate-notification-channel-secret",
		Tag:        resource.TagChannels,
		Scope:      account.ScopeWrite,
		Resource:   ResourceChannel,
		Audit:      "channel.rotate_secret",
		Idempotent: true,
		Revisioned: true,
		Summary:    "Rotate the secret of a webhook",
		Description: "Makes a new secret, which is in `secret` and shown once: a request that is repeated with its Idempotency-Key is answered " +
			"without it. During the overlap messages are signed by both secrets: `webhook-signature` has both signatures, " +
			"`X-Service-Signature` is by the new secret and `X-Service-Signature-Previous` by the replaced one. " +
			"A secret that is written with PUT takes effect at once and ends the overlap.",
		Errors: []int{http.StatusConflict},
	}, c.rotateSecret)
}

// rotationBody says how a secret is rotated.
type rotationBody struct {
	OverlapSeconds *int `json:"overlap_seconds,omitempty" minimum:"0" maximum:"604800" doc:"For how long messages are also signed by the replaced secret; 86400, a day, without it." example:"86400"`
	Force          bool `json:"force,omitempty" doc:"Rotate although the overlap of the last rotation has not ended. The secret that was replaced then signs nothing any more."`
}

type rotationInput struct {
	rest.IDPath
	Body *rotationBody
}

// rotatedChannelView is a channel together with its new secret, which is shown only once.
type rotatedChannelView struct {
	Channel notificationChannelView `json:"channel"`
	Secret  string                  `json:"secret" doc:"The new secret, in the form of Standard Webhooks. It is shown only once." example:"whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"`
}

// CurrentRevision is the channel's, for its ETag.
func (v rotatedChannelView) CurrentRevision() int64 { return v.Channel.Revision }

func (c *Channels) rotateSecret(ctx context.Context, in *rotationInput) (*rest.Answer[rotatedChannelView], error) {
	id, err := in.Parse(ResourceChannel)
	if err != nil {
		return nil, err
	}
	rotation := vigil.SecretRotation{Overlap: defaultSecretOverlap}
	if in.Body != nil {
		rotation.Force = in.Body.Force
		if in.Body.OverlapSeconds != nil {
			rotation.Overlap = time.Duration(*in.Body.OverlapSeconds) * time.Second
		}
	}
	if rotation.Secret, err = notify.NewSecret(); err != nil {
		return nil, err
	}
	rest.ShowRepeated(ctx, func(channel vigil.Channel) rotatedChannelView {
		return rotatedChannelView{Channel: c.show(channel)}
	})
	channel, err := c.store.RotateChannelSecret(ctx, rest.CallerOf(ctx).Org.ID, id, rotation)
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(rotatedChannelView{Channel: c.show(channel), Secret: rotation.Secret}), nil
}
