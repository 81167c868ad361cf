// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/overview"
)

// TestDrillIsInNoFigure compares all that an organization can read before a drill and during it,
// and tries the ids of its parts.
func TestDrillIsInNoFigure(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	a.open(a.fails(newark))
	ctx, org := t.Context(), a.org.ID
	read := func(at time.Time) map[string]any {
		a.clock.Set(at)
		seen := make(map[string]any)
		page := listing.Page{Limit: 100}
		add := func(name string) func(values ...any) {
			return func(values ...any) {
				if err, failed := values[len(values)-1].(error); failed {
					t.Fatalf("%s: %v", name, err)
				}
				seen[name] = values
			}
		}
		for name, list := range map[string]listing.CheckList{
			"checks": {Page: page}, "failing": {Page: page, CheckFilter: listing.CheckFilter{State: listing.StateFailing}},
			"unknown": {Page: page, CheckFilter: listing.CheckFilter{Health: vigil.Unknown}}, "by state": {Page: page, Sort: listing.SortState},
			"of the region": {Page: page, CheckFilter: listing.CheckFilter{Region: newark}},
		} {
			checks, extent, err := a.store.Checks(ctx, org, list)
			add(name)(checks, extent, err)
		}
		counts, err := a.store.CheckCounts(ctx, org, listing.CheckFilter{})
		add("counts")(counts, err)
		rules, extent, err := a.store.Rules(ctx, org, listing.RuleFilter{Page: page})
		add("rules")(rules, extent, err)
		rules, extent, err = a.store.Rules(ctx, org, listing.RuleFilter{Page: page, ChannelID: a.channels[vigil.ChannelWebhook].ID})
		add("rules of the channel")(rules, extent, err)
		incidents, extent, err := a.store.Incidents(ctx, org, listing.IncidentFilter{Page: page})
		add("incidents")(incidents, extent, err)
		deliveries, extent, err := a.store.Deliveries(ctx, org, listing.DeliveryFilter{Page: page})
		add("deliveries")(deliveries, extent, err)
		usage, err := a.store.Usage(ctx, org)
		add("usage")(usage, err)
		for name, of := range map[string]uuid.UUID{"figures": org, "figures of all": uuid.Nil} {
			figures, err := a.store.CheckFigures(ctx, of, nil, 100)
			add(name)(figures, err)
		}
		unobserved, err := a.store.UnobservedLoops(ctx)
		add("unobserved loops")(unobserved, err)
		begins, err := a.store.Unobserved(ctx, a.clock.Now(), a.clock.Now(), fleet.EverySweepShard(), 100)
		add("unobserved checks")(begins, err)
		version, err := a.store.DB().NewRaw("SELECT count(*) FROM audit_log WHERE org_id = ?", org).Exec(ctx)
		add("audit log")(version != nil, err)
		return seen
	}
	now := epoch().Add(5 * time.Minute)
	before := read(now)
	r := stagedDrill(a)
	incident := r.open()
	r.deliver(incident, true)
	during := read(now)
	for name := range before {
		if !reflect.DeepEqual(before[name], during[name]) {
			t.Errorf("%s: before %+v, during the drill %+v", name, before[name], during[name])
		}
	}
	rule := drills.Rules(&r.drill, nil)[0].ID
	var delivery uuid.UUID
	if err := a.store.DB().NewRaw("SELECT id FROM deliveries WHERE incident_id = ?", incident).Scan(ctx, &delivery); err != nil {
		t.Fatal(err)
	}
	for name, err := range r.touch(ctx, rule, incident, delivery) {
		if vigil.ErrorCode(err) != vigil.CodeNotFound {
			t.Errorf("%s: %v, want that nothing is found", name, err)
		}
	}
}

// touch tries to read and to change the parts of the drill by their ids.
func (r *drillRun) touch(ctx context.Context, rule, incident, delivery uuid.UUID) map[string]error {
	org, check := r.org.ID, r.drill.ID
	errs := make(map[string]error)
	_, errs["read the check"] = r.store.Check(ctx, org, check)
	_, errs["change the check"] = r.store.UpdateCheck(ctx, org, check, unlimited(), func(c *vigil.Check) error { return nil })
	_, errs["delete the check"] = r.store.DeleteCheck(ctx, org, check, nil)
	_, errs["read the loops"] = r.store.Loops(ctx, org, check)
	_, _, errs["read the results"] = r.store.Results(ctx, org, check, listing.ResultFilter{Page: listing.Page{Limit: 1}})
	_, errs["read the uptime"] = r.store.Uptime(ctx, org, check, time.Hour, false)
	_, errs["read the days"] = r.store.UptimeDays(ctx, org, check, 1)
	_, errs["read the series"] = r.store.Series(ctx, org, check, overview.SeriesQuery{Period: time.Hour})
	_, errs["read the replay"] = r.store.ReplayExtent(ctx, org, check, r.slot.Add(-time.Hour), r.slot)
	_, _, errs["read the rules"] = r.store.CheckRules(ctx, org, check, listing.Page{Limit: 1})
	_, errs["read the rule"] = r.store.Rule(ctx, org, check, rule)
	_, errs["add a rule"] = r.store.CreateRule(ctx, vigil.Rule{OrgID: org, CheckID: check, Channels: r.drill.Request.ChannelIDs})
	errs["delete the rule"] = r.store.DeleteRule(ctx, org, check, rule, nil)
	_, errs["read the incident"] = r.store.Incident(ctx, org, incident)
	_, _, errs["read the timeline"] = r.store.Timeline(ctx, org, incident, listing.Page{Limit: 1})
	_, errs["read the delivery"] = r.store.Delivery(ctx, org, delivery)
	_, errs["read the message"] = r.store.DeliveryMessage(ctx, org, delivery)
	_, _, errs["read the attempts"] = r.store.Attempts(ctx, org, delivery, listing.Page{Limit: 1})
	_, errs["send it again"] = r.store.RequestRedelivery(ctx, org, delivery)
	if summaries, err := r.store.Summaries(ctx, org, []uuid.UUID{check}); err == nil && len(summaries) == 0 {
		errs["read the summary"] = vigil.NotFound("check")
	} else {
		errs["read the summary"] = err
	}
	return errs
}
