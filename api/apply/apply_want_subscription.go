// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"maps"
	"strconv"

	"github.com/vigil-monitor/vigil/api/alerts"
	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/internal/subscription"
)

// memberChannel is the member of a subscription in a file that refers to its channel, and
// memberChannelID the one of the API.
const (
	memberChannel   = "channel"
	memberChannelID = "channel_id"
)

func (d *decider) wantSubscription(w *project.Wanted) error {
	id, exists := d.stored.own[project.KindSubscription][w.Key]
	d.ids[project.KindSubscription][w.Key] = id
	after := subscription.Subscription{OrgID: d.caller().Org.ID, Enabled: true}
	var before *subscription.Subscription
	if exists {
		before = d.stored.subscriptions[id]
		after = *before
		after.Selector = subscription.Selector{}
	} else {
		var err error
		if after.ID, err = d.newID(project.KindSubscription, w.Key); err != nil {
			return err
		}
	}
	count := len(d.problems)
	given := w.Members
	w.Members = maps.Clone(given)
	d.subscribedChannel(w)
	if selector, ok := given["selector"].(map[string]any); ok {
		w.Members["selector"] = d.namedChecks(w.Path()+".selector", selector)
	}
	var in alerts.SubscriptionCreate
	usable := len(d.problems) == count && d.read(w, &in, memberChannel)
	w.Members = given
	if !usable {
		return nil
	}
	if err := in.Change(&after); err != nil {
		d.fault(w.Path(), err)
		return nil
	}
	after.ManagedBy = d.managed(w.Key)
	item := func(s *subscription.Subscription) *project.Item { return d.subscriptionItem(s, w.Key) }
	pairChange(d, &d.changes.Subscriptions, before, &after, item, disabledNote(after.Enabled, in.Enabled.Given))
	return nil
}

// subscribedChannel replaces the reference to the channel by its id.
func (d *decider) subscribedChannel(w *project.Wanted) {
	reference, given := w.Members[memberChannel]
	if _, both := w.Members[memberChannelID]; given && both {
		d.problem(w.Path()+"."+memberChannel, "says the same as %s; give one of them", memberChannelID)
		return
	}
	if !given {
		if _, other := w.Members[memberChannelID]; !other {
			d.problem(w.Path()+"."+memberChannel, "is required: a key of this file, or name: or id: with a channel outside of it")
		}
		return
	}
	delete(w.Members, memberChannel)
	if id, found := d.refer(project.KindChannel, reference, w.Path()+"."+memberChannel); found {
		w.Members[memberChannelID] = id.String()
	}
}

// namedChecks returns a selector or a scope as the API has it, with the ids of the checks.
func (d *decider) namedChecks(path string, selector map[string]any) map[string]any {
	checks, ok := selector["checks"].([]any)
	if !ok {
		return selector // reading says what is wrong
	}
	selector = maps.Clone(selector)
	delete(selector, "checks")
	ids, _ := selector["check_ids"].([]any)
	ids = append([]any{}, ids...)
	for i, item := range checks {
		if id, found := d.refer(project.KindCheck, item, path+".checks["+strconv.Itoa(i)+"]"); found {
			ids = append(ids, id.String())
		}
	}
	selector["check_ids"] = ids
	return selector
}

// subscriptionReferences returns the references to the channel and to the checks of a subscription's
// members.
func subscriptionReferences(members project.Members) (channels, checks []string) {
	if text, ok := members[memberChannel].(string); ok {
		channels = append(channels, text)
	}
	if id, ok := members[memberChannelID].(string); ok {
		channels = append(channels, "id:"+id)
	}
	return channels, namedReferences(members["selector"])
}

func (d *decider) subscriptionItem(s *subscription.Subscription, key string) *project.Item {
	selector := make(map[string]any)
	if s.Selector.CheckIDs != nil {
		checks := make([]any, len(s.Selector.CheckIDs))
		for i, id := range s.Selector.CheckIDs {
			checks[i] = d.label(project.KindCheck, id)
		}
		selector["checks"] = checks
	}
	if len(s.Selector.Labels) > 0 {
		selector["labels"] = textTree(s.Selector.Labels)
	}
	if s.Selector.SeverityMin != "" {
		selector["severity_min"] = string(s.Selector.SeverityMin)
	}
	return &project.Item{
		Kind: project.KindSubscription, Key: key, ID: s.ID, Name: s.Name, Version: s.Version, Applied: s.AppliedVersion,
		Members: project.Members{
			"name": s.Name, memberChannel: d.label(project.KindChannel, s.ChannelID), "events": textTree(s.Events), "selector": selector,
			"enabled": s.Enabled,
		},
	}
}
