// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"encoding/json"

	"github.com/vigil-monitor/vigil"
)

var _ = register(newPush)

// newPush makes the channel type that publishes to a push service.
func newPush(env *environment) Notifier { return pushType{env} }

type pushType struct{ *environment }

// pushConfig is the config of a push channel (spec section 2). Which members there are
// depends on the format.
type pushConfig struct {
	Format   string `json:"format,omitempty" title:"Format" place:"text" enum:"ntfy,gotify,pushover" doc:"Form of the messages. Without it, the host of server says whether it is pushover; anything else is ntfy." example:"ntfy"`
	Topic    string `json:"topic,omitempty" title:"Topic" minLength:"1" maxLength:"64" doc:"Topic to publish to: letters, digits, hyphens and underscores." example:"shop-alerts"`
	Server   string `json:"server,omitempty" title:"Server" place:"url" maxLength:"2048" format:"uri" default:"https://ntfy.sh" doc:"Server that has the topic, or the application of gotify. That of pushover is https://api.pushover.net without it."`
	Username string `json:"username,omitempty" title:"User name" maxLength:"200" doc:"User name, where the server needs one."`
	Password string `json:"password,omitempty" title:"Password or access token" secret:"true" maxLength:"1024" doc:"Password of the user. With an access token: the token, and no user name."`
	Token    string `json:"token,omitempty" title:"Token of the application" secret:"true" minLength:"1" maxLength:"255" doc:"Token of the application of gotify or pushover."`
	UserKey  string `json:"user_key,omitempty" title:"User key" secret:"true" minLength:"1" maxLength:"255" doc:"Key of the user or group of pushover."`
	Device   string `json:"device,omitempty" title:"Device" minLength:"1" maxLength:"100" doc:"Device of the user of pushover; several are separated by commas. Without it: all." example:"phone"`
	Wording
}

func (pushType) Type() vigil.ChannelType { return vigil.ChannelPush }
func (pushType) Documents() any          { return pushConfig{} }

// Describe says what the type is for.
func (pushType) Describe() TypeInfo {
	return TypeInfo{Position: 3, Title: "Push", About: "publishes to ntfy, Gotify or Pushover", Formats: formatInfos(pushFormats())}
}

// pushFormats are the formats of push services, the default first.
func pushFormats() []format[pushConfig] {
	return []format[pushConfig]{ntfyFormat(), gotifyFormat(), pushoverFormat()}
}

// Policy: a late message is of little use, so there are few attempts. The subscribers of the
// topic that had the alert get its end.
func (pushType) Policy() Policy {
	return Policy{
		MaxAttempts: 6, LateOpening: vigil.LateOpeningMerge, RecoveryAfterFailure: true, Address: "format topic server user_key device",
	}
}

func (t pushType) format(given json.RawMessage) string { return nameOf(pushFormats(), given) }

// Parse reads the config.
func (t pushType) Parse(given json.RawMessage) (Sender, error) {
	return parseFormat(t.environment, t.Type(), given, pushFormats())
}

func (c pushConfig) product() (name, address string) { return c.Format, c.Server }
