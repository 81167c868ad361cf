// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/redact"
)

// matrixFormat sends events to a room of Matrix (spec.matrix.org, Client-Server API:
// "PUT /rooms/{roomId}/send/{eventType}/{txnId}", "m.room.message", "User and room mentions"). The
// transaction is the delivery, so a repeated request makes no second message. An empty m.mentions
// mentions no one, also where the text has names. An event has at most 64 KiB, and the bounds of titles and
// bodies keep it below. What a server answers to too many requests has retry_after_ms.
func matrixFormat() format[chatConfig] {
	return format[chatConfig]{
		name: "matrix", title: "Matrix", takes: []string{"server", "token", "room_id"}, required: 3,
		build: func(env *environment, c *chatConfig, hidden *redact.Redactor) (*poster, error) {
			if !strings.HasPrefix(c.RoomID, "!") || !visible(c.RoomID) {
				return nil, vigil.Invalid("config.room_id", "must be the ID of a room, which begins with !")
			}
			if err := checkVisible("token", c.Token); err != nil {
				return nil, err
			}
			p, err := env.at("config.server", c.Server, hidden,
				"_matrix/client/v3/rooms", url.PathEscape(c.RoomID), "send/m.room.message")
			if err != nil {
				return nil, err
			}
			p.wait, p.reference = waitAt(time.Millisecond, "retry_after_ms"), textAt("event_id")
			p.call = func(m *Message) (call, error) {
				made, err := asJSON(c.matrixMessage(m))
				if err != nil {
					return made, err
				}
				made.method, made.url = http.MethodPut, p.url.JoinPath(m.Delivery.String())
				made.header.Set("Authorization", "Bearer "+c.Token)
				return made, nil
			}
			return p, nil
		},
	}
}

// The members of the content of a message of Matrix.
type (
	matrixMessage struct {
		MsgType       string          `json:"msgtype"`
		Body          string          `json:"body"`
		Format        string          `json:"format"`
		FormattedBody string          `json:"formatted_body"`
		Mentions      struct{}        `json:"m.mentions"`
		RelatesTo     *matrixRelation `json:"m.relates_to,omitempty"`
	}
	matrixRelation struct {
		RelType string `json:"rel_type"`
		EventID string `json:"event_id"`
	}
)

func (c *chatConfig) matrixMessage(m *Message) matrixMessage {
	title, body := c.title(m, defuse), c.body(m, defuse)
	if blank(title) {
		title = linkName(m)
	}
	formatted := "<strong>" + c.title(m, escapeMatrix) + "</strong>"
	if text := c.body(m, escapeMatrix); !blank(text) {
		formatted += "<br>\n" + text
	}
	text := joinLines(title, body)
	for _, l := range m.links("") {
		text += "\n" + l.Name + ": " + l.URL
		formatted += "<br>\n" + `<a href="` + escapeHTML(l.URL) + `">` + l.Name + "</a>"
	}
	message := matrixMessage{MsgType: "m.text", Body: text, Format: "org.matrix.custom.html", FormattedBody: formatted}
	if strings.HasPrefix(m.Previous, "$") {
		message.RelatesTo = &matrixRelation{RelType: "m.thread", EventID: m.Previous}
	}
	return message
}

// escapeMatrix makes a value text of HTML that mentions no one in old clients either.
func escapeMatrix(text string) string { return escapeHTML(defuse(text)) }
