// SPDX-License-Identifier: Apache-2.0

package web

import (
	"slices"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
)

// drillSubjects are what a drill can be about, by the member of the API.
const (
	drillOfChannels      = "channel_ids"
	drillOfRules         = "rule_ids"
	drillOfSubscriptions = "subscription_ids"
)

// drillOption is something that a drill can be of.
type drillOption struct {
	option

	Note  string // why it may not be reached, or the check of a rule
	Pager bool   // it leads to a pager, which wakes people
}

// drillOffers are what drills of the organization can be about, those that are first.
type drillOffers map[string][]drillOption

// readDrillOffers reads what can be tried.
func (r *request) readDrillOffers() (drillOffers, error) {
	channels, err := r.subscribable()
	if err != nil {
		return nil, err
	}
	offers := make(drillOffers)
	pagers := make(map[string]bool)
	for k := range channels {
		pagers[channels[k].Id.String()] = channels[k].Type == client.NotificationChannelTypePager
	}
	leads := make(map[string]bool, len(pagers)) // to a pager, also by a fallback
	for k := range channels {
		c := &channels[k]
		id := c.Id.String()
		leads[id] = pagers[id] || c.FallbackChannelId != nil && pagers[c.FallbackChannelId.String()]
		one := drillOption{option: option{Value: id, Text: c.Name}, Pager: leads[id]}
		if !c.Enabled {
			one.Note = "disabled"
		}
		offers[drillOfChannels] = append(offers[drillOfChannels], one)
	}
	if offers[drillOfRules], err = r.offerRules(leads); err != nil {
		return nil, err
	}
	limit := int64(100)
	subscriptions, err := r.api.ListSubscriptionsWithResponse(r.Context(), &client.ListSubscriptionsParams{Limit: &limit})
	if err != nil {
		return nil, err
	}
	for k := range subscriptions.JSON200.Data {
		s := &subscriptions.JSON200.Data[k]
		one := drillOption{option: option{Value: s.Id.String(), Text: s.Name}, Pager: leads[s.ChannelId.String()]}
		if !s.Enabled {
			one.Note = "disabled"
		}
		offers[drillOfSubscriptions] = append(offers[drillOfSubscriptions], one)
	}
	return offers, nil
}

// offerRules returns the rules with their checks. leads are the channels that lead to a pager.
func (r *request) offerRules(leads map[string]bool) (offered []drillOption, err error) {
	limit := int64(100)
	rules, err := r.api.ListAllAlertRulesWithResponse(r.Context(), &client.ListAllAlertRulesParams{Limit: &limit})
	if err != nil {
		return nil, err
	}
	var ids []string
	for k := range rules.JSON200.Data {
		ids = append(ids, rules.JSON200.Data[k].CheckId.String())
	}
	checks, err := r.checksByID(ids)
	if err != nil {
		return nil, err
	}
	for k := range rules.JSON200.Data {
		rule := &rules.JSON200.Data[k]
		one := drillOption{option: option{Value: rule.Id.String(), Text: rule.Name}}
		if check := checks[rule.CheckId.String()]; check != nil {
			one.Note = "of " + check.Name
		}
		one.Pager = slices.ContainsFunc(rule.NotificationChannelIds, func(id string) bool { return leads[id] })
		offered = append(offered, one)
	}
	return offered, nil
}

// chosen marks options, puts those first, and adds what is chosen and not offered.
func (o drillOffers) chosen(subject string, ids []string) []drillOption {
	offered := slices.Clone(o[subject])
	for _, id := range ids {
		at := slices.IndexFunc(offered, func(one drillOption) bool { return one.Value == id })
		if at < 0 {
			if uuid.Validate(id) != nil {
				continue
			}
			offered, at = append(offered, drillOption{option: option{Value: id, Text: id}}), len(offered)
		}
		offered[at].Chosen = true
	}
	slices.SortStableFunc(offered, func(a, b drillOption) int {
		switch {
		case a.Chosen == b.Chosen:
			return 0
		case a.Chosen:
			return -1
		}
		return 1
	})
	return offered
}

// name is that of something that is offered; empty for what is not.
func (o drillOffers) name(subject, id string) string {
	for _, one := range o[subject] {
		if one.Value == id {
			return one.Text
		}
	}
	return ""
}
