// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/accounts"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
)

// Store is what alerting needs of the database.
type Store interface {
	ruleStore
	channelStore
	incidentStore
	timelineStore
	incidentUpdateStore
	deliveryStore
	recoveryStore
	subscriptionStore
	drillStore
	drillScheduleStore
	reportScheduleStore
}

// Deps is what alerting needs beside its store.
type Deps struct {
	Channels  resource.ChannelTypes
	Incidents resource.IncidentWorkflows
	Notifier  *resource.Notifier
	Plans     resource.Plans
	Mails     *resource.Tasks
	Links     resource.WorkflowLinks
	// Recipients is nil where mail does not leave the machine.
	Recipients accounts.RecipientStore
	// PublicURL is where people reach this API, without a trailing slash.
	PublicURL string
	// DeliverySchedule holds the waits between the attempts of a delivery: it is shown, not
	// used.
	DeliverySchedule vigil.RetrySchedule
	Now              func() time.Time
	// Files bounds how many files of CSV an organization has written at once.
	Files *resource.AtOnce
}

// Service is the part of the API about alerting.
type Service struct {
	// Channels are the rules of channels, which an apply keeps too.
	Channels *Channels

	operations []resource.Operations
}

// New returns the part of the API about alerting.
func New(store Store, d Deps) *Service {
	channels := newChannels(store, d.Channels, d.Notifier, d.Mails, d.Recipients, d.PublicURL, d.Now)
	return &Service{Channels: channels, operations: []resource.Operations{
		&rules{store: store, notifier: d.Notifier},
		channels,
		&recoveries{store: store, workflows: d.Incidents, now: d.Now},
		templateVariables{},
		channelTypes{d.Channels},
		&incidents{store: store, workflows: d.Incidents, links: d.Links, files: d.Files},
		&timelines{store: store, links: d.Links},
		&subscriptions{store: store},
		&incidentUpdates{store: store, notifier: d.Notifier, publicURL: d.PublicURL},
		&drillResource{store: store, notifier: d.Notifier, plans: d.Plans},
		&drillSchedules{store: store, plans: d.Plans},
		&reportSchedules{store: store},
		&deliveries{store: store, workflows: d.Incidents, links: d.Links, schedule: d.DeliverySchedule},
	}}
}

// Register registers the operations of alerting.
func (s *Service) Register(r *rest.Registrar) { resource.RegisterAll(r, s.operations) }
