// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// versions are two versions of the platform on one database: the newer one has
// the policy of webhooks that pagers have in the older.
type versions struct {
	*alerts
	older, newer *storage.Store
	policy       vigil.DeliveryPolicy // of webhooks in the newer version
}

func newVersions(t *testing.T, on vigil.NotifyOn, types ...vigil.ChannelType) *versions {
	t.Helper()
	dsn, c := storagetest.DSN(t), timingtest.NewClock(epoch())
	v := &versions{policy: vigil.DeliveryPolicy{MaxAttempts: 2, LateOpening: vigil.LateOpeningDrop}}
	v.older = storagetest.Open(t, dsn, func(o *storage.Options) { o.Now = c.Now })
	v.newer = storagetest.Open(t, dsn, func(o *storage.Options) {
		o.Now, o.Policies = c.Now, vigil.DeliveryPolicies{vigil.ChannelWebhook: v.policy}
	})
	v.alerts = newAlertsOn(t, v.older, c, on, types...)
	return v
}

func TestPolicyIsFrozen(t *testing.T) {
	t.Parallel()
	webhook := notify.Policies()[vigil.ChannelWebhook]

	t.Run("OnTheDelivery", func(t *testing.T) {
		t.Parallel()
		v := newVersions(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		id := v.open(v.fails(newark)).Incident.ID
		p, err := v.newer.ClaimAttempt(t.Context(), id, v.channels[vigil.ChannelWebhook].ID)
		if err != nil || p.State != vigil.NextAttemptReady || p.Delivery.Policy != webhook {
			t.Errorf("got %+v, %v", p, err)
		}
		got, err := v.newer.Delivery(t.Context(), v.org.ID, p.Delivery.ID)
		if err != nil || got.Policy != webhook {
			t.Errorf("got %+v, %v", got, err)
		}
	})

	t.Run("WithTheIncidentForItsRecovery", func(t *testing.T) {
		t.Parallel()
		v := newVersions(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		id := v.open(v.fails(newark)).Incident.ID
		v.store = v.newer
		v.resolve(id, vigil.ResolvedManually)
		for _, want := range []vigil.EventType{vigil.EventTriggered, vigil.EventResolved} {
			if p := v.deliver(id, vigil.ChannelWebhook); p.Event.Type != want || p.Merged || p.Delivery.Policy != webhook {
				t.Errorf("got %+v, want %s", p, want)
			}
		}
	})

	t.Run("NewIncidentsHaveTheNewPolicy", func(t *testing.T) {
		t.Parallel()
		v := newVersions(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		v.store = v.newer
		id := v.open(v.fails(newark)).Incident.ID
		v.resolve(id, vigil.ResolvedAutomatically)
		v.store = v.older
		if p := v.claim(id, vigil.ChannelWebhook); p.State != vigil.NextAttemptNone || p.Last != vigil.DeliverySuperseded {
			t.Errorf("got %+v", p)
		}
	})

	t.Run("AStoreWithoutPoliciesOpensNothing", func(t *testing.T) {
		t.Parallel()
		s := storagetest.New(t, func(o *storage.Options) { o.Policies = nil })
		a := newAlertsOn(t, s, timingtest.NewClock(epoch()), vigil.NotifyBoth, vigil.ChannelWebhook)
		out, err := s.OpenIncident(t.Context(), vigil.OpenRequest{ID: uuid.New(), CheckID: a.check.ID, Rules: []uuid.UUID{a.rule.ID}})
		if err == nil || out.Incident.ID != uuid.Nil {
			t.Errorf("got %+v, %v", out, err)
		}
	})
}
