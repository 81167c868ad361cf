// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// Limits of the lists of a subscription.
const (
	maxEvents = 30
	maxChecks = 1000
)

// Subscription makes a channel receive events without being named by a rule. It is resolved at
// each event, in the transaction that makes the event.
type Subscription struct {
	ID        uuid.UUID
	OrgID     uuid.UUID
	Name      string
	ChannelID uuid.UUID
	// Events are types of events, or patterns: incident.* for all of a noun, * for all. At least one.
	Events   []string
	Selector Selector
	Enabled  bool
	// Version increases by one with every change of the subscription. At least 1 in storage.
	Version int64 `json:",omitempty"`
	// ManagedBy is what manages the subscription; nil: nothing does.
	ManagedBy *vigil.ManagedBy `json:"-"`
	// AppliedVersion is the version that apply stored last; 0: none. A later Version was
	// made by somebody else.
	AppliedVersion int64 `json:"-"`
	CreatedAt      time.Time
	UpdatedAt      time.Time
	// Warnings are what a write of the subscription should make its author think of.
	Warnings []string `json:",omitempty"`
}

// Selector narrows the events of a subscription; an event must fulfil every member
// that is given. An event about no check fulfils neither Labels nor CheckIDs.
type Selector struct {
	// Labels are selectors key or key=value; the check must have all of them.
	Labels []string `json:",omitempty"`
	// CheckIDs are the only checks that are selected; nil: every check. A deleted check leaves the
	// list, so an empty one selects no check.
	CheckIDs []uuid.UUID `json:",omitzero"`
	// SeverityMin is the lowest severity that is selected; empty: every severity.
	SeverityMin vigil.Severity `json:",omitempty"`
}

// Filter selects subscriptions. Zero members select all.
type Filter struct {
	Query     string // a part of the name, in any case
	ChannelID uuid.UUID
	Event     vigil.EventType // that the subscription receives
	Enabled   *bool
	Managed   listing.ManagedFilter
	listing.Page
}

// EventTypes returns the types of events that subscriptions can name.
func EventTypes() []vigil.EventType {
	return append([]vigil.EventType{
		vigil.EventTriggered, vigil.EventAcknowledged, vigil.EventUpdated, vigil.EventResolved, vigil.EventUnobserved, vigil.EventObserved,
	}, vigil.SystemEvents()...)
}

// EventPatterns returns what Subscription.Events can have: each type of EventTypes, the
// patterns of their nouns such as incident.*, and *.
func EventPatterns() []string {
	patterns := []string{everyEvent}
	for _, t := range EventTypes() {
		if noun := nounOf(t); !slices.Contains(patterns, noun) {
			patterns = append(patterns, noun)
		}
		patterns = append(patterns, string(t))
	}
	return patterns
}

// everyEvent is the pattern of all events.
const everyEvent = "*"

// nounOf is the pattern of all events of the noun of a type, such as incident.*.
func nounOf(t vigil.EventType) string {
	noun, _, _ := strings.Cut(string(t), ".")
	return noun + ".*"
}

// PatternsOf returns the patterns that a type of event matches.
func PatternsOf(t vigil.EventType) []string { return []string{string(t), nounOf(t), everyEvent} }

// receives reports whether patterns name a type of event.
func receives(patterns []string, t vigil.EventType) bool {
	return slices.ContainsFunc(PatternsOf(t), func(p string) bool { return slices.Contains(patterns, p) })
}

// Validate returns a CodeInvalid error that names the member at fault.
func (s *Subscription) Validate() error {
	if len(s.Events) == 0 || len(s.Events) > maxEvents {
		return vigil.Invalid("events", "must have 1 to %d types of events or patterns such as incident.*", maxEvents)
	}
	known := EventPatterns()
	for i, pattern := range s.Events {
		if !slices.Contains(known, pattern) {
			return vigil.Invalid(fmt.Sprintf("events[%d]", i), "must be one of %s", strings.Join(known, ", "))
		}
	}
	return s.Selector.Validate()
}

// Validate returns a CodeInvalid error that names the member at fault.
func (s *Selector) Validate() error {
	if len(s.CheckIDs) > maxChecks {
		return vigil.Invalid("selector.check_ids", "must have at most %d ids", maxChecks)
	}
	switch s.SeverityMin {
	case "", vigil.Info, vigil.Warning, vigil.Critical:
	default:
		return vigil.Invalid("selector.severity_min", "must be info, warning or critical")
	}
	_, err := vigil.ParseLabelSelectors("selector.labels", s.Labels)
	return err
}

// Unmatched says which types of events the selector keeps away although the subscription names them:
// those about no check, where it selects by the check.
func (s *Subscription) Unmatched() []string {
	if !s.Selector.OfChecks() {
		return nil
	}
	var named []string
	for _, pattern := range s.Events {
		switch noun, _, _ := strings.Cut(pattern, "."); noun {
		case "channel", "region", "drill":
			named = append(named, pattern)
		}
	}
	if len(named) == 0 {
		return nil
	}
	return []string{"selector: selects by the check, so that " + vigil.JoinWords(named) + " never match: these events are about no check; " +
		"subscribe to them without labels and check_ids"}
}

// OfChecks reports whether the selector selects by the check, and so no event about none.
func (s *Selector) OfChecks() bool { return len(s.Labels) > 0 || s.CheckIDs != nil }

// SelectingTerms returns all selectors of labels that the labels of a check fulfil.
func SelectingTerms(labels vigil.Labels) []string {
	terms := make([]string, 0, 2*len(labels))
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		terms = append(terms, key, key+"="+labels[key])
	}
	return terms
}

// UpTo returns the values of Selector.SeverityMin that a severity reaches.
func UpTo(severity vigil.Severity) []string {
	reached := []string{""}
	for _, least := range []vigil.Severity{vigil.Info, vigil.Warning, vigil.Critical} {
		if severity.Rank() <= least.Rank() {
			reached = append(reached, string(least))
		}
	}
	return reached
}

// Subscriber is an enabled channel with a subscription that selects an event.
type Subscriber struct {
	ID   uuid.UUID // of the subscription
	Name string
	// Events are the patterns of the subscription.
	Events  []string
	Channel vigil.Channel // ID, type, name and Enabled
}

// Join adds the channels of subscriptions that select what opens to its recipients,
// each channel once: they are notified of the types opening and ending as they receive them.
func Join(
	known []vigil.Recipient,
	subscribers []Subscriber,
	opening, ending vigil.EventType,
	policies vigil.DeliveryPolicies,
) []vigil.Recipient {
	all := slices.Clone(known)
	for i := range subscribers {
		one := &subscribers[i]
		begins, ends := receives(one.Events, opening), receives(one.Events, ending)
		if !begins && !ends {
			continue
		}
		at := slices.IndexFunc(all, func(r vigil.Recipient) bool { return r.ChannelID == one.Channel.ID })
		if at < 0 {
			at = len(all)
			all = append(all, one.recipient(policies))
		}
		all[at].Opening, all[at].Recovery = all[at].Opening || begins, all[at].Recovery || ends
	}
	return all
}

// RecipientsOf returns the channels of the subscriptions that receive a type of event, each once.
func RecipientsOf(t vigil.EventType, subscribers []Subscriber, policies vigil.DeliveryPolicies) []vigil.Recipient {
	var to []vigil.Recipient
	for i := range subscribers {
		one := &subscribers[i]
		if receives(one.Events, t) && !slices.ContainsFunc(to, func(r vigil.Recipient) bool { return r.ChannelID == one.Channel.ID }) {
			to = append(to, one.recipient(policies))
		}
	}
	return to
}

func (s *Subscriber) recipient(policies vigil.DeliveryPolicies) vigil.Recipient {
	return vigil.Recipient{ChannelID: s.Channel.ID, Type: s.Channel.Type, Name: s.Channel.Name, Policy: policies.Of(s.Channel.Type)}
}

// EventsOfChecks returns the types of events that can be about a check.
func EventsOfChecks() []vigil.EventType {
	return slices.DeleteFunc(EventTypes(), func(t vigil.EventType) bool {
		noun := nounOf(t)
		return noun != "incident.*" && noun != "check.*" && t != vigil.EventDeliveryExhausted
	})
}

// CheckRecipient is a channel that receives events about a check.
type CheckRecipient struct {
	Channel vigil.Channel // ID, name, type and Enabled
	// Events are the types that it receives, in the order of EventTypes.
	Events  []vigil.EventType
	Because []RecipientReason // at least one
}

// RecipientReason is the rule or the subscription that names a channel.
type RecipientReason struct {
	Rule bool // of the check; otherwise a subscription
	ID   uuid.UUID
	Name string
}

// CheckRecipientsOf returns who receives events about a check: the channels of its rules, and those of
// the subscriptions that select it.
func CheckRecipientsOf(rules []vigil.Rule, channels []vigil.Channel, subscribers []Subscriber) []CheckRecipient {
	var list []CheckRecipient
	add := func(channel vigil.Channel, why RecipientReason, receives func(vigil.EventType) bool) {
		at := slices.IndexFunc(list, func(r CheckRecipient) bool { return r.Channel.ID == channel.ID })
		if at < 0 {
			at = len(list)
			list = append(list, CheckRecipient{Channel: channel})
		}
		one := &list[at]
		one.Because = append(one.Because, why)
		known := one.Events
		one.Events = slices.DeleteFunc(EventsOfChecks(), func(t vigil.EventType) bool {
			// Pagers get no updates; see the event.
			received := receives(t) && (t != vigil.EventUpdated || channel.Type != vigil.ChannelPager)
			return !received && !slices.Contains(known, t)
		})
	}
	for i := range rules {
		rule := &rules[i]
		for _, id := range rule.Channels {
			at := slices.IndexFunc(channels, func(c vigil.Channel) bool { return c.ID == id })
			if at < 0 || !rule.Enabled {
				continue
			}
			add(channels[at], RecipientReason{Rule: true, ID: rule.ID, Name: rule.Name}, func(t vigil.EventType) bool {
				return t == vigil.EventTriggered && rule.NotifyOn.Opening() || t == vigil.EventResolved && rule.NotifyOn.Recovery() ||
					t.Unobserved() && rule.NotifiesUnobserved()
			})
		}
	}
	for i := range subscribers {
		one := &subscribers[i]
		add(one.Channel, RecipientReason{ID: one.ID, Name: one.Name}, func(t vigil.EventType) bool { return receives(one.Events, t) })
	}
	return list
}
