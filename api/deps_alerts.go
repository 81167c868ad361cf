package api

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"vigil"
	"vigil/notify"
)

// alertStore is what alerting asks of the database. Every method that takes
// orgID answers vigil.NotFound for what belongs to another organization.
type alertStore interface {
	CreateRule(ctx context.Context, rule vigil.Rule) (vigil.Rule, error)
	Rules(ctx context.Context, orgID, checkID uuid.UUID, page vigil.Page) ([]vigil.Rule, int, error)
	Rule(ctx context.Context, orgID, checkID, id uuid.UUID) (vigil.Rule, error)
	UpdateRule(ctx context.Context, orgID, checkID, id uuid.UUID, change func(*vigil.Rule) error) (vigil.Rule, error)
	DeleteRule(ctx context.Context, orgID, checkID, id uuid.UUID) error

	CreateChannel(ctx context.Context, channel vigil.Channel) (vigil.Channel, error)
	Channels(ctx context.Context, orgID uuid.UUID, page vigil.Page) ([]vigil.Channel, int, error)
	Channel(ctx context.Context, orgID, id uuid.UUID) (vigil.Channel, error)
	UpdateChannel(ctx context.Context, orgID, id uuid.UUID, change func(*vigil.Channel) error) (vigil.Channel, error)
	// DeleteChannel refuses a channel that rules use with vigil.CodeConflict,
	// unless force takes it out of them; then it returns their checks.
	DeleteChannel(ctx context.Context, orgID, id uuid.UUID, force bool) (checks []uuid.UUID, err error)

	// Standing is where a check stands with its incidents, whoever it is of.
	IncidentContext(ctx context.Context, checkID uuid.UUID) (vigil.IncidentContext, error)

	Incidents(ctx context.Context, orgID uuid.UUID, filter vigil.IncidentFilter) ([]vigil.Incident, int, error)
	Incident(ctx context.Context, orgID, id uuid.UUID) (vigil.Incident, error)
	Timeline(ctx context.Context, orgID, id uuid.UUID) ([]vigil.TimelineEntry, error)

	Deliveries(ctx context.Context, orgID uuid.UUID, filter vigil.DeliveryFilter) ([]vigil.Delivery, int, error)
	Delivery(ctx context.Context, orgID, id uuid.UUID) (vigil.Delivery, error)
	Attempts(ctx context.Context, orgID, deliveryID uuid.UUID, page vigil.Page) ([]vigil.Attempt, int, error)

	// EventsAfter returns events behind a position that are no older than
	// since, in order; StreamBounds the oldest and the newest of them.
	EventsAfter(ctx context.Context, orgID uuid.UUID, after vigil.Position, since time.Time, limit int) ([]vigil.Event, error)
	StreamBounds(ctx context.Context, orgID uuid.UUID, since time.Time) (oldest, newest vigil.Position, err error)
	// StreamHeads returns the newest position of each of the organizations
	// that have one.
	StreamHeads(ctx context.Context, orgs []uuid.UUID) (map[uuid.UUID]vigil.Position, error)
	// ListenEvents calls wake with the organization of each new event until ctx
	// ends or the connection is lost. Both are an error.
	ListenEvents(ctx context.Context, wake func(orgID uuid.UUID)) error
}

// incidents is what the API asks of the workflows that decide about incidents
// and deliver messages. Every method that takes orgID answers vigil.NotFound for
// what belongs to another organization.
type incidents interface {
	// Acknowledge and Resolve return the incident as it is then. CodeConflict:
	// its state does not allow it. CodeUnavailable: nobody answers in time.
	Acknowledge(ctx context.Context, orgID, id uuid.UUID, by string) (vigil.Incident, error)
	Resolve(ctx context.Context, orgID, id uuid.UUID, by, note string) (vigil.Incident, error)
	// Redeliver has one more attempt made; CodeConflict when its channel is
	// not told any more.
	Redeliver(ctx context.Context, orgID, deliveryID uuid.UUID) error
	// Look makes a check's incident be thought over, after something that it
	// depends on was changed. It is an attempt, as those of loops are.
	Look(ctx context.Context, checkID uuid.UUID) error
}

// channels is what the API asks of the channel types.
type channels interface {
	Types() []vigil.ChannelType
	// Config returns a zero value of the struct that documents a type's config.
	Config(t vigil.ChannelType) any
	// Secrets returns the secret members of a type's config.
	Secrets(t vigil.ChannelType) vigil.SecretFields
	// Parse reads a config, or says by name which member is wrong.
	Parse(t vigil.ChannelType, config json.RawMessage) (notify.Sender, error)
}

// nobody is incidents without workflows.
type nobody struct{}

func (nobody) Acknowledge(context.Context, uuid.UUID, uuid.UUID, string) (vigil.Incident, error) {
	return vigil.Incident{}, errNobody()
}

func (nobody) Resolve(context.Context, uuid.UUID, uuid.UUID, string, string) (vigil.Incident, error) {
	return vigil.Incident{}, errNobody()
}

func (nobody) Redeliver(context.Context, uuid.UUID, uuid.UUID) error { return errNobody() }

func (nobody) Look(context.Context, uuid.UUID) error { return nil }

func errNobody() error {
	return vigil.Errorf(vigil.CodeUnavailable, "This server cannot change incidents: it was started without their workflows.")
}
