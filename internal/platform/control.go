// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/dispatch"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/reconcile"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/workers"
)

// StartControl starts the sweep, and the workers of incidents and deliveries.
func (p *Platform) StartControl(ctx context.Context) error {
	sealConfigs(ctx, p.store, p.Log)
	name := workerName()
	mails := notices{p.store, p.mailer, string(p.settings.PublicURL)}
	drills := p.newDrills()
	sweep := reconcile.New(reconcile.Options{
		Process:       name,
		Loops:         p.loops,
		Store:         p.store,
		Housekeeping:  housekeeping{p.store, p.settings.Retention()},
		KeyEnds:       mails.KeyEnds,
		Channels:      func(ctx context.Context) error { return errors.Join(mails.Channels(ctx), mails.Drills(ctx)) },
		Incidents:     p.incidents,
		IncidentStore: p.store,
		PublicURL:     string(p.settings.PublicURL),
		Sentinel:      dispatch.NewSentinel(p.temporal.Client, p.settings.TemporalNamespace),
		Epochs:        p.store,
		Drills:        sweptDrills{p.store, p.incidents, drills},
		DefaultDrills: p.makeDefaultDrills(),
		Reports:       sweptReports{p.store, string(p.settings.PublicURL)},
		Away:          func(err error) bool { return vigil.ErrorCode(err) == vigil.CodeUnavailable || dispatch.Away(err) },
		Now:           p.clock.Now,
		Log:           p.Log,
	})
	p.metrics.Gauge("vigil_sweep_shards", func() int64 { return int64(sweep.Shards()) })
	p.metrics.GaugeBy("vigil_loops_overdue", "region", sweep.UnobservedLoops)
	p.exportChecks(sweep.Leads)
	sweep.Start(ctx)
	p.onStopWorkers(func(ctx context.Context) {
		if err := sweep.Stop(); err != nil {
			p.Log.WarnContext(ctx, "sweep not stopped cleanly", "error", err)
		}
	})
	telling, stopTelling := context.WithCancel(context.WithoutCancel(ctx))
	notified := make(chan struct{})
	go func() {
		defer close(notified)
		p.newTeller().Run(telling)
	}()
	p.onStopWorkers(func(context.Context) {
		stopTelling()
		<-notified
	})
	opts := workers.ControlOptions{
		Drills: drills, Name: name, OnFatal: p.workerFailed, Deployment: p.Deployment, TurnRate: p.settings.TurnRate.everySlot(),
		Incidents: activities.NewIncidents(activities.IncidentsOptions{
			Store: p.store, Deliveries: p.incidents, PublicURL: string(p.settings.PublicURL), Spans: p.spans(), Log: p.Log,
		}),
		Deliveries: activities.NewDeliveries(activities.DeliveriesOptions{
			Store:     p.store,
			Workflows: p.incidents,
			Channels:  p.channels,
			Schedule:  vigil.RetrySchedule(p.settings.DeliverySchedule),
			PublicURL: string(p.settings.PublicURL),
			Spans:     p.spans(),
			Random:    rand.Float64,
			Now:       p.clock.Now,
			Log:       p.Log,
			Facts:     p.store,
			Links:     notify.NewAcknowledgeLinks(string(p.settings.PublicURL), append([][]byte{p.secrets.Signing}, p.secrets.OlderSigning...)...),
		}),
	}
	opts.Recoveries = activities.NewRecoveries(activities.RecoveriesOptions{
		Store: p.store, Workflows: p.incidents, Rate: p.settings.RecoveryRate, Now: p.clock.Now, Log: p.Log,
	})
	started := workers.KeepStarting(context.WithoutCancel(ctx), func(context.Context) (func(context.Context), error) {
		control := workers.NewControl(p.temporal.Client, opts)
		return func(context.Context) { control.Stop() }, control.Start()
	}, p.Log)
	p.onStopWorkers(started.Stop)
	return nil
}

// housekeeping is the store with the retention of the settings.
type housekeeping struct {
	*storage.Store
	keep storage.Retention
}

// DropExpired drops what is older than its retention.
func (h housekeeping) DropExpired(ctx context.Context, now time.Time) error {
	return h.Store.DropExpired(ctx, now, h.keep)
}
