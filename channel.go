package vigil

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// ChannelType names a way to notify people and programs of an incident (spec
// section 2, NotificationChannel).
type ChannelType string

// The channel types of the spec.
const (
	ChannelEmail   ChannelType = "email"
	ChannelWebhook ChannelType = "webhook"
	ChannelPush    ChannelType = "push"
	ChannelChat    ChannelType = "chat"
	ChannelPager   ChannelType = "pager"
)

// Channel is a receiver of an organization's notifications.
type Channel struct {
	ID      uuid.UUID
	OrgID   uuid.UUID
	Name    string
	Type    ChannelType
	Config  json.RawMessage // an object of the type's members, secrets in clear
	Enabled bool
	// DisabledReason says why the platform disabled the channel by itself. It
	// is empty for an enabled channel and for one that a user disabled.
	DisabledReason string
	CreatedAt      time.Time
	UpdatedAt      time.Time
}
