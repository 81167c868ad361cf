// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// IncidentRule is a rule that fired while an incident was open. Name and severity are those
// of the time when it began to fire, so that they outlive the rule.
type IncidentRule struct {
	ID       uuid.UUID
	Name     string
	Severity Severity
	// Since is when it began to fire, the last time if it did so more than once.
	Since time.Time
	// Until is when it stopped, or the end of the incident; nil while it fires.
	Until *time.Time
	// Opened: it is one of those that opened the incident.
	Opened bool
	// Beginnings is how often it began to fire, at least 1.
	Beginnings int
	// Failing: a failing result made it fire. Slow: a response time did.
	Failing, Slow bool
}

// Effects reports what those see of the result that use the target: that it fails, or that
// it is slow and does not fail.
func (t *Trigger) Effects() (failing, slow bool) {
	for _, key := range t.Matched {
		switch key {
		case KeyFailureThreshold, KeyHealthStatus, KeyStatusCode, keyBurnRate:
			failing = !t.Result.Success
		case KeyResponseTime:
			slow = true
		}
	}
	return failing, slow && !failing
}

// Fires reports whether the rule fires now.
func (r *IncidentRule) Fires() bool { return r.Until == nil }

// FiringRules are the rules that fire now, in the order of Rules.
func (i *Incident) FiringRules() []IncidentRule {
	return slices.DeleteFunc(slices.Clone(i.Rules), func(r IncidentRule) bool { return !r.Fires() })
}

// WorstSeverity is the most severe one of the rules that fired in the incident so far. It is
// Severity for an incident without rules.
func (i *Incident) WorstSeverity() Severity { return worst(i.Severity, i.Rules) }

// CurrentSeverity is the most severe one of the rules that fire now; WorstSeverity when none
// does.
func (i *Incident) CurrentSeverity() Severity {
	firing := i.FiringRules()
	if len(firing) == 0 {
		return i.WorstSeverity()
	}
	return worst(firing[0].Severity, firing)
}

func worst(severity Severity, rules []IncidentRule) Severity {
	for _, rule := range rules {
		if rule.Severity.Rank() < severity.Rank() {
			severity = rule.Severity
		}
	}
	return severity
}

// Heads are the parts of the rules that decisions need.
func (i *Incident) heads() []FiredRule {
	heads := make([]FiredRule, len(i.Rules))
	for n, rule := range i.Rules {
		heads[n] = FiredRule{ID: rule.ID, Opened: rule.Opened, Ended: !rule.Fires()}
	}
	return heads
}

// Head is the part of the incident that decisions need.
func (i *Incident) Head() IncidentHead {
	return IncidentHead{ID: i.ID, Status: i.Status, TraceID: i.TraceID, Rules: i.heads()}
}

// FiredRule is a rule that fired while an incident was open.
type FiredRule struct {
	ID uuid.UUID `json:"id"`
	// Opened: it is one of those that opened the incident.
	Opened bool `json:"opened,omitempty"`
	// Ended: it does not fire any more.
	Ended bool `json:"ended,omitempty"`
}

// FiringNow are the rules of the incident that fire now. An incident that is open has had
// one at least; it is nil for a head of a version that kept none.
func (h *IncidentHead) FiringNow() []uuid.UUID {
	var ids []uuid.UUID
	for _, rule := range h.Rules {
		if !rule.Ended {
			ids = append(ids, rule.ID)
		}
	}
	return ids
}

// OpenedBy are the rules that opened the incident.
func (h *IncidentHead) OpenedBy() []uuid.UUID {
	var ids []uuid.UUID
	for _, rule := range h.Rules {
		if rule.Opened {
			ids = append(ids, rule.ID)
		}
	}
	return ids
}

// RulesRequest is a request to record that rules began or stopped to fire in an open
// incident.
type RulesRequest struct {
	ID      uuid.UUID `json:"id"` // of the incident
	CheckID uuid.UUID `json:"check_id"`
	// Begun are the rules whose region policies are met now, Ended those that fire in no
	// voting region any more.
	Begun []uuid.UUID `json:"begun,omitempty"`
	Ended []uuid.UUID `json:"ended,omitempty"`
	// Votes with one of the begun rules firing, by region.
	Votes []Vote `json:"votes,omitempty"`
	// PublicURL is the address of the API for links, set by the activity.
	PublicURL string `json:"-"`
}

// JoinRecipients adds the channels of rules that begin to fire in an open incident to its
// recipients, and returns those that must get the opening now: they have had no message of
// the incident. Rules without NotifyIfOpen add none.
func JoinRecipients(
	known []Recipient, rules []Rule, channels []Channel, policies DeliveryPolicies,
) (all, opening []Recipient) {
	asking := slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return !r.NotifyIfOpen })
	all = slices.Clone(known)
	for _, joined := range RecipientsOf(asking, channels, policies) {
		at := slices.IndexFunc(all, func(r Recipient) bool { return r.ChannelID == joined.ChannelID })
		if at < 0 {
			at = len(all)
			all = append(all, joined)
			all[at].Opening, all[at].Recovery = false, false
		}
		if joined.Opening && !all[at].Opening {
			all[at].Opening = true
			opening = append(opening, all[at])
		}
		all[at].Recovery = all[at].Recovery || joined.Recovery
	}
	for i := range opening {
		at := slices.IndexFunc(all, func(r Recipient) bool { return r.ChannelID == opening[i].ChannelID })
		opening[i] = all[at]
	}
	return all, opening
}

// RuleWarnings says of a rule without NotifyIfOpen that it sends no message when it begins to
// fire while an incident is open that another rule of the check opened, and that one does not
// notify all its channels. others are the rules of the check.
func RuleWarnings(rule *Rule, others []Rule) []string {
	if rule.NotifyIfOpen || !rule.Enabled || !rule.NotifyOn.Opening() {
		return nil
	}
	for _, other := range others {
		reached := func(id uuid.UUID) bool { return other.NotifyOn.Opening() && slices.Contains(other.Channels, id) }
		if other.ID != rule.ID && other.Enabled && slices.ContainsFunc(rule.Channels, func(id uuid.UUID) bool { return !reached(id) }) {
			return []string{"notify_if_open: is false, so this rule sends no message when it begins to fire while an incident that the rule " +
				strconv.Quote(other.Name) + " opened is open; set it to true to notify its channels then too"}
		}
	}
	return nil
}
