// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"strconv"

	"github.com/vigil-monitor/vigil/client"
)

// rotationBody is what the page shows that rotates the secret of a webhook.
type rotationBody struct {
	Name, Action, Back string
	Form               *form
	Secret             string // the new one, which is shown this once
	Overlap            *stamp // until when the replaced one signs too
}

func rotationForm(r *request, channel *client.NotificationChannel) *rotationBody {
	back := "/app/channels/" + channel.Id.String()
	body := &rotationBody{Name: channel.Name, Action: back + "/rotate", Back: back, Form: newForm(r)}
	body.Form.Heading = "Not rotated yet."
	body.Form.add(field{
		Name: "overlap_seconds", Label: "The replaced secret signs too", Type: "select", Value: "86400", Focus: true,
		Options: []option{
			{Value: "0", Text: "not any more"},
			{Value: "3600", Text: "for an hour"},
			{Value: "86400", Text: "for a day"},
			{Value: "604800", Text: "for 7 days"},
		},
		Help: "Until then the receiver verifies messages with either secret.",
	})
	if channel.SecretOverlapEndsAt != nil {
		body.Overlap = new(r.stampAs(*channel.SecretOverlapEndsAt, "15:04"))
		body.Form.add(field{
			Name: "force", Label: "Rotate all the same", Type: "checkbox",
			Help: "The secret that the last rotation replaced then signs nothing any more.",
		})
	}
	return body
}

func (s *Server) rotationPage(r *request) error {
	channel, err := readChannel(r)
	if err != nil {
		return err
	}
	return renderRotation(r, http.StatusOK, rotationForm(r, channel))
}

func renderRotation(r *request, status int, body *rotationBody) error {
	return r.render(status, "channel_secret", page{Title: "Rotate the secret of " + body.Name, Nav: navChannels, Body: body})
}

// rotateSecret answers with the new secret, which is shown this once. It does not redirect:
// nothing keeps the secret for another request.
func (s *Server) rotateSecret(r *request) error {
	channel, err := readChannel(r)
	if err != nil {
		return err
	}
	body := rotationForm(r, channel)
	rotation := client.RotationRequest{Force: new(body.Form.get("force") == "true")}
	if seconds, err := strconv.ParseInt(body.Form.get("overlap_seconds"), 10, 64); err == nil {
		rotation.OverlapSeconds = &seconds
	}
	made, err := r.api.RotateNotificationChannelSecretWithResponse(r.Context(), channel.Id, nil, rotation)
	if err != nil {
		if body.Form.refused(err) {
			return renderRotation(r, body.Form.Status, body)
		}
		return err
	}
	body.Secret, body.Overlap = made.JSON200.Data.Secret, nil
	if ends := made.JSON200.Data.Channel.SecretOverlapEndsAt; ends != nil {
		body.Overlap = new(r.stampAs(*ends, "15:04"))
	}
	return renderRotation(r, http.StatusOK, body)
}
