// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/storage"
)

// end ends the incident of the check in one of the ways that there are.
func (a *alerts) end(id uuid.UUID, how string) {
	a.Helper()
	if how != "deleted" {
		a.resolve(id, vigil.Resolution(how))
		return
	}
	edit, err := a.store.DeleteCheck(a.Context(), a.org.ID, a.check.ID, nil)
	if err != nil {
		a.Fatal(err)
	}
	for _, d := range edit.Deliveries {
		if d.IncidentID != id || d.CheckName != a.check.Name || d.OrgID != a.org.ID {
			a.Errorf("the delivery to start is %+v", d)
		}
	}
	if len(edit.Deliveries) == 0 && a.rule.NotifyOn.Recovery() {
		a.Error("no delivery is to be started")
	}
}

// ways are the ways in which an incident ends.
func ways() []string {
	return []string{
		string(vigil.ResolvedAutomatically), string(vigil.ResolvedManually), string(vigil.ResolvedCheckRemoved), "deleted",
	}
}

// TestWhoSawTheBeginningSeesTheEnd holds which messages a channel gets, by what its rule
// asks for and how the incident ends.
func TestWhoSawTheBeginningSeesTheEnd(t *testing.T) {
	t.Parallel()
	opened, ended := vigil.EventTriggered, vigil.EventResolved
	for on, want := range map[vigil.NotifyOn][]vigil.EventType{
		vigil.NotifyUnhealthy: {opened}, vigil.NotifyHealthy: {ended}, vigil.NotifyBoth: {opened, ended},
	} {
		for _, how := range ways() {
			for _, late := range []bool{false, true} { // the opening is still pending when the incident ends
				name := string(on) + "/" + how
				if late {
					name += "/BeforeTheOpeningWasDelivered"
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					a := newAlerts(t, on, vigil.ChannelWebhook)
					id := a.open(a.fails(newark)).Incident.ID
					var got []vigil.EventType
					receive := func() bool {
						p := a.claim(id, vigil.ChannelWebhook)
						if p.State != vigil.NextAttemptReady {
							return false
						}
						a.record(p, "", nil)
						got = append(got, p.Event.Type)
						return true
					}
					if !late {
						receive()
					}
					a.end(id, how)
					if how == "deleted" {
						purgeCheck(t, a.store, a.check)
					}
					for receive() {
						continue
					}
					if !slices.Equal(got, want) {
						t.Errorf("got %v, want %v", got, want)
					}
					if events := a.events(); len(events) != 2 || events[1].Type != ended {
						t.Errorf("%d events on the stream, want the beginning and the end", len(events))
					}
				})
			}
		}
	}
}

// TestEndOfADeletedCheck proves that the message is complete although everything else of the
// check is deleted, and that nothing of it is left afterwards.
func TestEndOfADeletedCheck(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	id := a.open(a.fails(newark)).Incident.ID
	opening := a.deliver(id, vigil.ChannelWebhook)
	a.end(id, "deleted")
	purgeCheck(t, a.store, a.check)
	if n := a.count("SELECT (SELECT count(*) FROM incidents) + (SELECT count(*) FROM attempts) + (SELECT count(*) FROM alert_rules)"); n != 0 {
		t.Errorf("%d rows of the check are left", n)
	}
	later := epoch().Add(time.Hour)
	stalled, err := a.store.StalledDeliveries(t.Context(), later, fleet.EverySweepShard(), 10)
	if err != nil || len(stalled) != 1 || stalled[0].IncidentID != id || stalled[0].CheckName != a.check.Name {
		t.Errorf("the sweep finds %+v, %v", stalled, err)
	}
	lost := a.claim(id, vigil.ChannelWebhook)
	if lost.State != vigil.NextAttemptReady || lost.TraceID != opening.TraceID || lost.Severity != vigil.Critical {
		t.Fatalf("claim %+v", lost)
	}
	if unknown := a.claim(id, vigil.ChannelWebhook); unknown.State != vigil.NextAttemptUnknown || unknown.TraceID != opening.TraceID {
		t.Errorf("claim %+v", unknown)
	}
	a.record(lost, vigil.AttemptUnknown, new(epoch()))
	end := a.deliver(id, vigil.ChannelWebhook)
	var envelope struct {
		Type string
		Data struct {
			Incident struct{ Status, Resolution string }
			Check    struct{ Name string }
			Rule     struct{ Name string } `json:"alert_rule"`
		}
	}
	if err := json.Unmarshal(end.Event.Envelope, &envelope); err != nil {
		t.Fatal(err)
	}
	data := envelope.Data
	if envelope.Type != "incident.resolved" || data.Incident.Status != "resolved" || data.Incident.Resolution != "check_removed" ||
		data.Check.Name != a.check.Name || data.Rule.Name != a.rule.Name {
		t.Errorf("the receiver gets %s", end.Event.Envelope)
	}
	if want := "The check was deleted after 0s."; end.Event.Body != want {
		t.Errorf("the text is %q, want %q", end.Event.Body, want)
	}
	if link := end.Event.Variables["incident_url"]; link != "" {
		t.Errorf("the message links to %s, which is not found", link)
	}
	if err := a.store.DropExpired(t.Context(), a.clock.Now().Add(2*time.Hour), storage.Retention{}); err != nil {
		t.Fatal(err)
	}
	if n := a.count("SELECT (SELECT count(*) FROM deliveries) + (SELECT count(*) FROM attempts)"); n != 0 {
		t.Errorf("%d rows are left of what was sent", n)
	}
}

// TestDeletedBeforeAnyoneWasPaged deletes a check while its opening is claimed: the claim waits
// for the end, and finds the opening alone. The end of an alert that was never sent is not sent
// either, also when more of the check is deleted before the next claim.
func TestDeletedBeforeAnyoneWasPaged(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelPager)
	id := a.open(a.fails(newark)).Incident.ID
	waits := func(n int) {
		eventually(t, "transactions wait for the opening", func() bool {
			return a.count("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") == n
		})
	}
	tx, err := a.store.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.NewRaw("SELECT id FROM deliveries WHERE incident_id = ? FOR UPDATE", id).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { a.end(id, "deleted") })
	waits(1)
	var first vigil.NextAttempt
	running.Go(func() { first, err = a.store.ClaimAttempt(t.Context(), id, a.channels[vigil.ChannelPager].ID) })
	waits(2)
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	running.Wait()
	if err != nil || first.State != vigil.NextAttemptNone {
		t.Fatalf("the claim is %+v, %v", first, err)
	}
	purgeCheck(t, a.store, a.check)
	clean := func() {
		t.Helper()
		if err := a.store.DropExpired(t.Context(), a.clock.Now().Add(2*time.Hour), storage.Retention{}); err != nil {
			t.Fatal(err)
		}
	}
	clean()
	if p := a.claim(id, vigil.ChannelPager); p.State != vigil.NextAttemptNone {
		t.Errorf("%s is sent of an alert that never was", p.Delivery.EventType)
	}
	if clean(); a.count("SELECT count(*) FROM deliveries") != 0 {
		t.Error("deliveries are left when nothing is to be sent")
	}
}

// TestEndsOfChecksDeletedTogether proves the same for a bulk, for an apply that deletes the
// rules as well, and for checks that expire.
func TestEndsOfChecksDeletedTogether(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(*alerts) error{
		"InBulk": func(a *alerts) error {
			edits, err := a.store.DeleteChecks(a.Context(), a.org.ID, listing.CheckFilter{IDs: []uuid.UUID{a.check.ID}}, false)
			if err == nil && (len(edits) != 1 || len(edits[0].Deliveries) != 1) {
				a.Errorf("the edits are %+v", edits)
			}
			return err
		},
		"ByApply": func(a *alerts) error {
			request := project.ApplyRequest{OrgID: a.org.ID, Project: "shop", Plan: account.PlanOf(account.TierEnterprise, time.Second)}
			applied, err := a.store.Apply(a.Context(), request, func(project.Inventory) (project.Changes, error) {
				return project.Changes{
					Checks: []project.Edit[vigil.Check]{{Before: &a.check}}, Rules: []project.Edit[vigil.Rule]{{Before: &a.rule}},
				}, nil
			})
			if err == nil && (len(applied.Checks) != 1 || len(applied.Checks[0].Deliveries) != 1 || len(applied.Checks[0].Stopped) != 2) {
				a.Errorf("applied %+v", applied.Checks)
			}
			return err
		},
		"WhenTheyExpire": func(a *alerts) error {
			if _, err := a.store.DB().NewRaw("UPDATE checks SET expires_at = ?", epoch()).Exec(a.Context()); err != nil {
				return err
			}
			_, err := a.store.ExpireChecks(a.Context(), epoch().Add(time.Hour))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
			id := a.open(a.fails(newark)).Incident.ID
			a.deliver(id, vigil.ChannelWebhook)
			if err := remove(a); err != nil {
				t.Fatal(err)
			}
			if n := a.count("SELECT count(*) FROM checks"); n != 0 {
				t.Fatal("the check is not deleted")
			}
			p := a.deliver(id, vigil.ChannelWebhook)
			if p.Event.Type != vigil.EventResolved || p.Event.Variables["rule_name"] != a.rule.Name {
				t.Errorf("got %+v", p)
			}
		})
	}
}

// TestEndsAreStalled finds the end of an incident whose opening waits for its next attempt, since the workflow that was not
// signaled would send it at once; but not where the opening is to be sent first.
func TestEndsAreStalled(t *testing.T) {
	t.Parallel()
	for policy, want := range map[vigil.LateOpening]int{vigil.LateOpeningMerge: 1, vigil.LateOpeningDrop: 1, vigil.LateOpeningDeliver: 0} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelEmail)
			id := a.open(a.fails(newark)).Incident.ID
			next := epoch().Add(10 * time.Hour)
			a.record(a.claim(id, vigil.ChannelEmail), "status", &next)
			a.clock.Set(epoch().Add(time.Minute))
			a.resolve(id, vigil.ResolvedManually)
			_, err := a.store.DB().NewRaw(`UPDATE deliveries SET policy = policy || jsonb_build_object('late_opening', ?::text)`, policy).
				Exec(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			due, err := a.store.StalledDeliveries(t.Context(), a.clock.Now().Add(time.Minute), fleet.EverySweepShard(), 10)
			if err != nil || len(due) != want {
				t.Errorf("%d deliveries are stalled, %v; want %d", len(due), err, want)
			}
		})
	}
}
