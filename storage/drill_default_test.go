// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage"
)

// operated is the operator's organization, whose schedule of drills is made by default.
type operated struct {
	*testing.T

	store *storage.Store
	clock *clock
	org   uuid.UUID
}

// newOperated makes the operator's organization on a database where another organization has a channel.
func newOperated(t *testing.T) *operated {
	t.Helper()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	_, org, err := a.store.CreateOperator(t.Context(), account.Organization{Name: "Operator", Tier: account.TierEnterprise},
		account.User{Email: "operator@" + account.OperatorDomain}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &operated{T: t, store: a.store, clock: a.clock, org: org.ID}
}

// channel stores a channel, each a second younger.
func (o *operated) channel(change func(*vigil.Channel)) vigil.Channel {
	o.Helper()
	o.clock.Set(o.clock.Now().Add(time.Second))
	c := vigil.Channel{OrgID: o.org, Name: "Hook", Type: vigil.ChannelWebhook, Config: json.RawMessage(`{}`), Enabled: true}
	if change != nil {
		change(&c)
	}
	c, err := o.store.CreateChannel(o.Context(), c)
	if err != nil {
		o.Fatal(err)
	}
	return c
}

// look does what the sweep does, and returns whether that was settled.
func (o *operated) look() bool {
	o.Helper()
	settled, err := o.store.MakeDefaultDrills(o.Context(), drills.Defaults{
		Name:       "Monthly drill",
		Recurrence: drills.Recurrence{Every: drills.Monthly, Day: 1, Hour: 9, Timezone: "Europe/Berlin"},
		Regions:    []string{frankfurt}, Except: vigil.ManagedBy{Tool: "apply", Project: "demo"},
	}, newark)
	if err != nil {
		o.Error(err)
	}
	return settled
}

func (o *operated) schedules() []drills.Schedule {
	o.Helper()
	list, _, err := o.store.DrillSchedules(o.Context(), o.org, listing.Page{Limit: 10})
	if err != nil {
		o.Fatal(err)
	}
	return list
}

// none fails the test unless nothing is made, and nothing is settled.
func (o *operated) none(why string) {
	o.Helper()
	if settled, list := o.look(), o.schedules(); settled || len(list) > 0 {
		o.Errorf("%s: settled is %t, made are %+v", why, settled, list)
	}
}

// The operator's first channel has a schedule by default, once in the life of the organization.
func TestDefaultDrills(t *testing.T) {
	t.Parallel()
	o := newOperated(t)
	o.clock.Set(time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC))
	o.none("without a channel")
	o.channel(func(c *vigil.Channel) { c.Name, c.Type = "Pager", vigil.ChannelPager })
	o.none("with a pager alone")
	o.channel(func(c *vigil.Channel) {
		c.Name, c.ManagedBy = "Demo", &vigil.ManagedBy{Tool: "apply", Project: "demo", Key: "receiver"}
	})
	o.none("with the channel of the demo")
	off := o.channel(func(c *vigil.Channel) { c.Name, c.Enabled = "Off", false })
	o.none("with a disabled channel")
	first := o.channel(nil)
	o.channel(func(c *vigil.Channel) { c.Name = "Second" })
	if !o.look() {
		t.Error("nothing is settled")
	}
	made := o.schedules()
	if len(made) != 1 {
		t.Fatalf("made are %+v", made)
	}
	// The first of April begins in less than a day: no drill comes right after the channel was created.
	next := time.Date(2026, 5, 1, 7, 0, 0, 0, time.UTC)
	if s := made[0]; s.Name != "Monthly drill" || !s.Enabled || len(s.Request.ChannelIDs) != 1 || s.Request.ChannelIDs[0] != first.ID ||
		s.Request.ConfirmPager || s.Request.Regions[0] != frankfurt || s.NextAt == nil || !s.NextAt.Equal(next) || s.Version != 1 {
		t.Errorf("made is %+v", s)
	}
	log, _, err := o.store.AuditLog(t.Context(), o.org, listing.AuditFilter{Page: listing.Page{Limit: 10}})
	if err != nil || len(log) != 1 || log[0].Action != "drill_schedule.create" || log[0].ResourceID != made[0].ID ||
		log[0].UserAgent != "vigil up" {
		t.Errorf("the audit log is %+v, %v", log, err)
	}

	_, err = o.store.UpdateChannel(t.Context(), o.org, off.ID, func(c *vigil.Channel) error { c.Enabled = true; return nil })
	if err != nil {
		t.Fatal(err)
	}
	if settled, list := o.look(), o.schedules(); !settled || len(list) != 1 {
		t.Errorf("after another channel, settled is %t, there are %+v", settled, list)
	}
	if err := o.store.DeleteDrillSchedule(t.Context(), o.org, made[0].ID, nil); err != nil {
		t.Fatal(err)
	}
	if settled, list := o.look(), o.schedules(); !settled || len(list) != 0 {
		t.Errorf("after it was deleted, settled is %t, there are %+v", settled, list)
	}
	var others int
	if err := o.store.DB().
		NewRaw("SELECT count(*) FROM drill_schedules WHERE org_id <> ?", o.org).
		Scan(t.Context(), &others); err != nil ||
		others != 0 {
		t.Errorf("other organizations have %d schedules, %v", others, err)
	}
}

// Several processes that look at the same time make one.
func TestDefaultDrillsAreMadeOnce(t *testing.T) {
	t.Parallel()
	o := newOperated(t)
	o.channel(nil)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() { o.look() })
	}
	group.Wait()
	log, _, err := o.store.AuditLog(t.Context(), o.org, listing.AuditFilter{Page: listing.Page{Limit: 10}})
	if made := o.schedules(); len(made) != 1 || err != nil || len(log) != 1 {
		t.Errorf("made are %+v, the audit log is %+v, %v", made, log, err)
	}
}

// A channel that falls back to a pager wakes people, too, and who has a schedule needs none.
func TestDefaultDrillsAreLeftOut(t *testing.T) {
	t.Parallel()
	o := newOperated(t)
	pager := o.channel(func(c *vigil.Channel) { c.Name, c.Type = "Pager", vigil.ChannelPager })
	o.channel(func(c *vigil.Channel) { c.Name, c.Fallback = "Front", pager.ID })
	o.none("with a channel that falls back to a pager")
	chat := o.channel(func(c *vigil.Channel) { c.Name = "Chat" })
	own, err := o.store.CreateDrillSchedule(t.Context(), drills.Schedule{
		OrgID: o.org, Name: "Mine", Enabled: true,
		Request:    drills.Request{ChannelIDs: []uuid.UUID{chat.ID}, ExpectWithin: time.Minute},
		Recurrence: drills.Recurrence{Every: drills.Weekly, Day: 1, Hour: 9, Timezone: "UTC"},
	}, newark)
	if err != nil {
		t.Fatal(err)
	}
	if settled, list := o.look(), o.schedules(); !settled || len(list) != 1 || list[0].ID != own.ID {
		t.Errorf("beside a schedule of the operator's own, settled is %t, there are %+v", settled, list)
	}
}
