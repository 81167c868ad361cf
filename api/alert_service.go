// SPDX-License-Identifier: Apache-2.0

package api

import (
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/rest"
)

// alertsStore is what alerting needs of the database.
type alertsStore interface {
	ruleStore
	channelStore
	incidentStore
	timelineStore
	incidentUpdateStore
	deliveryStore
}

// alertDeps is what alerting needs beside its store.
type alertDeps struct {
	Channels  channelTypes
	Incidents incidentWorkflows
	Notifier  *notifier
	Mails     *tasks
	Links     workflowLinks
	// Recipients is nil where mail does not leave the machine.
	Recipients recipientStore
	// PublicURL is where people reach this API, without a trailing slash.
	PublicURL string
	// DeliverySchedule holds the waits between the attempts of a delivery: it is shown, not
	// used.
	DeliverySchedule vigil.RetrySchedule
	Now              func() time.Time
}

// alertService is the part of the API about alerting.
type alertService struct {
	// Channels are the rules of channels, which an apply keeps too.
	Channels *channels

	operations []operations
}

// newAlertService returns the part of the API about alerting.
func newAlertService(store alertsStore, d alertDeps) *alertService {
	channels := newChannels(store, d.Channels, d.Notifier, d.Mails, d.Recipients, d.PublicURL, d.Now)
	return &alertService{Channels: channels, operations: []operations{
		&rules{store: store, notifier: d.Notifier},
		channels,
		templateVariables{},
		&incidents{store: store, workflows: d.Incidents, links: d.Links},
		&timelines{store: store, links: d.Links},
		&incidentUpdates{store: store},
		&deliveries{store: store, workflows: d.Incidents, links: d.Links, schedule: d.DeliverySchedule},
	}}
}

// Register registers the operations of alerting.
func (s *alertService) Register(r *rest.Registrar) { registerAll(r, s.operations) }
