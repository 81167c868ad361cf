package main

import (
	"context"
	"math/rand/v2"
	"time"

	"vigil"
	"vigil/activities"
	"vigil/mail"
	"vigil/storage"
	"vigil/workers"
)

// startControl runs the sweep, and the workers that decide about incidents and
// tell channels.
func (p *platform) startControl(ctx context.Context, loops *workers.Loops) error {
	sealConfigs(ctx, p.store, p.log)
	upkeep := upkeep{p.store, p.settings.retention()}
	sweep := workers.NewSweep(loops, p.store, upkeep, time.Now, p.log)
	incidents := workers.NewIncidents(p.temporal, p.store)
	sweep.CoverAlerts(incidents, p.store)
	if err := sweep.Start(ctx); err != nil {
		return err
	}
	p.onStopWorkers(func(ctx context.Context) {
		if err := sweep.Stop(); err != nil {
			p.log.WarnContext(ctx, "sweep not stopped cleanly", "error", err)
		}
	})
	opts := workers.ControlOptions{
		Name: workerName(), GaveUp: p.gaveUp,
		Incidents: activities.NewIncidents(activities.IncidentsOptions{
			Store: p.store, Deliveries: incidents, PublicURL: string(p.settings.PublicURL), Log: p.log,
		}),
		Deliveries: activities.NewDeliveries(activities.DeliveriesOptions{
			Store: p.store, Channels: p.channels, Notices: notices{p.store, p.mailer},
			Schedule:  vigil.RetrySchedule(p.settings.DeliverySchedule),
			PublicURL: string(p.settings.PublicURL), Random: rand.Float64, Now: time.Now, Log: p.log,
		}),
	}
	started := workers.KeepStarting(context.WithoutCancel(ctx), func(context.Context) (func(context.Context), error) {
		control := workers.NewControl(p.temporal, opts)
		return func(context.Context) { control.Stop() }, control.Start()
	}, p.log)
	p.onStopWorkers(started.Stop)
	return nil
}

// notices tells organizations by mail what the platform did on its own.
type notices struct {
	store  *storage.Store
	mailer *mail.Mailer
}

// ChannelDisabled tells the people of an organization that a channel's receiver
// said it is gone for good.
func (n notices) ChannelDisabled(ctx context.Context, channel vigil.Channel) error {
	to, err := n.store.Emails(ctx, channel.OrgID)
	if err != nil || len(to) == 0 {
		return err
	}
	return n.mailer.Send(ctx, vigil.Mail{
		To:      to,
		Subject: "Vigil disabled the notification channel " + channel.Name,
		Text: "The receiver of your notification channel \"" + channel.Name + "\" answered 410 Gone, which says that it will\n" +
			"never take a message again. Vigil has disabled the channel; its rules notify their other channels.\n\n" +
			"Set the channel right and enable it again with PUT /v1/notification-channels/" + channel.ID.String() + ".\n",
	})
}

// upkeep is the store with the retention that the settings ask for.
type upkeep struct {
	*storage.Store
	keep storage.Retention
}

// DropExpired drops what is past its time.
func (u upkeep) DropExpired(ctx context.Context, now time.Time) error {
	return u.Store.DropExpired(ctx, now, u.keep)
}
