// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"encoding/json"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/redact"
)

var _ = register(newChat)

// newChat makes the channel type that posts to a chat product.
func newChat(env *environment) Notifier { return chatType{env} }

type chatType struct{ *environment }

// chatConfig is the config of a chat channel (spec section 2). Which members there are
// depends on the format.
type chatConfig struct {
	Format     string `json:"format,omitempty" title:"Format" place:"text" enum:"slack,discord,teams,google_chat,mattermost,telegram,matrix,zulip,rocketchat" doc:"Form of the messages. Without it, the host of webhook_url says whether it is slack, discord, teams or google_chat; anything else gets Slack's form, which several products take." example:"slack"`
	WebhookURL string `json:"webhook_url,omitempty" title:"Incoming webhook" secret:"address" place:"url" minLength:"1" maxLength:"2048" format:"uri" doc:"Incoming webhook of the chat product. It is a secret: answers show its scheme, host and port, as https://chat.example.com/***, and that or *** keeps it." example:"https://chat.example.com/hooks/T000/B000/XXXX"`
	Server     string `json:"server,omitempty" title:"Server" place:"url" maxLength:"2048" format:"uri" doc:"Server of telegram (https://api.telegram.org without it), matrix or zulip." example:"https://matrix.example.com"`
	Token      string `json:"token,omitempty" title:"Token" secret:"true" minLength:"1" maxLength:"1024" doc:"Token of the bot of telegram, access token of matrix, or API key of the bot of zulip."`
	ChatID     string `json:"chat_id,omitempty" title:"Chat" minLength:"1" maxLength:"64" doc:"Chat of telegram: a number, or @ and the name of a public channel." example:"-1001234567890"`
	ThreadID   string `json:"thread_id,omitempty" title:"Thread" maxLength:"20" doc:"Topic of a chat of telegram, or thread of a channel of discord: its number." example:"42"`
	RoomID     string `json:"room_id,omitempty" title:"Room" minLength:"1" maxLength:"255" doc:"Room of matrix, by its ID." example:"!abcdef:example.com"`
	Email      string `json:"email,omitempty" title:"Address of the bot" minLength:"1" maxLength:"255" doc:"Email address of the bot of zulip." example:"vigil-bot@zulip.example.com"`
	Stream     string `json:"stream,omitempty" title:"Channel" minLength:"1" maxLength:"60" doc:"Channel of zulip, by its name." example:"operations"`
	Topic      string `json:"topic,omitempty" title:"Topic" minLength:"1" maxLength:"60" doc:"Topic in the channel of zulip. Without it, each check has a topic of its name." example:"alerts"`
	Wording
}

func (chatType) Type() vigil.ChannelType { return vigil.ChannelChat }
func (chatType) Documents() any          { return chatConfig{} }

// Describe says what the type is for.
func (chatType) Describe() TypeInfo {
	return TypeInfo{Position: 4, Title: "Chat", About: "posts to a chat product", Formats: formatInfos(chatFormats())}
}

// chatFormats are the formats of chats, the default first.
func chatFormats() []format[chatConfig] {
	return []format[chatConfig]{
		slackFormat(), discordFormat(), teamsFormat(), googleFormat(), mattermostFormat(), telegramFormat(), matrixFormat(),
		zulipFormat(), rocketFormat(),
	}
}

// Policy: a late message is of little use, so there are few attempts.
func (chatType) Policy() Policy {
	return Policy{MaxAttempts: 6, LateOpening: vigil.LateOpeningMerge, RecoveryAfterFailure: true}
}

func (t chatType) format(given json.RawMessage) string { return nameOf(chatFormats(), given) }

// Parse reads the config.
func (t chatType) Parse(given json.RawMessage) (Sender, error) {
	return parseFormat(t.environment, t.Type(), given, chatFormats())
}

func (c chatConfig) product() (name, address string) { return c.Format, c.WebhookURL }

// webhook is a poster to the incoming webhook, whose path is all that a caller needs to post there.
func (c *chatConfig) webhook(env *environment, hidden *redact.Redactor) (*poster, error) {
	u, err := env.parseURL("config.webhook_url", c.WebhookURL)
	if err != nil {
		return nil, err
	}
	return &poster{environment: env, url: u, hidden: hidden.With(pathTexts(u)...)}, nil
}

// at is a poster to a path of the server, which has no query.
func (env *environment) at(member, server string, hidden *redact.Redactor, path ...string) (*poster, error) {
	u, err := env.parseURL(member, server)
	if err != nil {
		return nil, err
	}
	if u.RawQuery != "" {
		return nil, vigil.Invalid(member, "must not have a query")
	}
	return &poster{environment: env, url: u.JoinPath(path...), hidden: hidden}, nil
}

// linkName is what the link of a message says.
func linkName(m *Message) string {
	switch {
	case m.Type == vigil.EventTest:
		return "Open channel"
	case m.Type.Unobserved():
		return "Open check"
	case m.Type.System():
		return "Open details"
	}
	return "Open incident"
}
