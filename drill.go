// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"time"

	"github.com/google/uuid"
)

// DrillPage is the path of the dashboard's page of a drill, without its id.
const DrillPage = "/app/drills/"

// Bounds of drills.
const (
	// DrillInterval is the interval of the hidden check.
	DrillInterval = 5 * time.Second
	// minDrillExpect and maxDrillExpect bound DrillRequest.ExpectWithin; DefaultDrillExpect is
	// its default.
	minDrillExpect     = 10 * time.Second
	DefaultDrillExpect = 2 * time.Minute
	maxDrillExpect     = 10 * time.Minute
	// MaxDrillTime is after what time a drill is closed in any case.
	MaxDrillTime = 15 * time.Minute
	// maxDrillWait is after what time a drill waits for the end of its incident no longer, so
	// that its receipt is made before MaxDrillTime.
	maxDrillWait = 14 * time.Minute
	// MaxDrillChannels and MaxDrillRules bound what one drill asks for.
	MaxDrillChannels = 50
	MaxDrillRules    = 50
)

// Drill proves that an alert arrives: a check of its own fails, is healthy again and ends, and
// the receipt lists each hop on the way. Nothing of it is in a list or in a figure.
type Drill struct {
	// ID is also that of the hidden check.
	ID      uuid.UUID
	OrgID   uuid.UUID
	Request DrillRequest
	// Channels must receive both messages: those that the rules notify when the drill is asked for.
	Channels []DrillChannel
	Regions  []string
	// Rules are those of the hidden check.
	Rules []Rule
	// Labels of the check that the drill is about; none for one about channels or rules.
	Labels      Labels
	RequestedBy string
	State       DrillState
	// AskedAt is when it was asked for; the others are nil until their time has come.
	AskedAt                                  time.Time
	StagedAt, HealedAt, CanceledAt, ClosedAt *time.Time
	// Receipt is nil while the drill runs, and never changes afterwards.
	Receipt *DrillReceipt
	// Signature is a JSON Web Signature (RFC 7515, compact) whose payload is the receipt; empty
	// while the drill runs, and where the platform has no key.
	Signature string
}

// DrillRequest says what a drill is about. Exactly one of ChannelIDs, RuleIDs, SubscriptionIDs and
// CheckID is set.
type DrillRequest struct {
	// ChannelIDs are notified by a rule of the drill's own.
	ChannelIDs []uuid.UUID `json:"channel_ids,omitempty"`
	// RuleIDs are copied with their channels, region policy and severity.
	RuleIDs []uuid.UUID `json:"rule_ids,omitempty"`
	// SubscriptionIDs have their channels receive the drill, without a look at what they select.
	SubscriptionIDs []uuid.UUID `json:"subscription_ids,omitempty"`
	// CheckID: its enabled rules are copied.
	CheckID uuid.UUID `json:"check_id,omitzero"`
	// Regions in which the hidden check runs; empty: those of the check, else one.
	Regions []string `json:"regions,omitempty"`
	// Severity of the incident; empty: info.
	Severity Severity `json:"severity,omitempty"`
	// ExpectWithin is how long the way to every channel may take, of the opening and of its end
	// each; 10 s to 10 min.
	ExpectWithin time.Duration `json:"expect_within"`
	// ConfirmPager: that a pager rings is wanted.
	ConfirmPager bool `json:"confirm_pager,omitempty"`
	// Refused says why a drill of a schedule could not begin; empty for all others.
	Refused string `json:"refused,omitempty"`
}

// DrillChannel is a channel of a drill.
type DrillChannel struct {
	ID   uuid.UUID   `json:"id"`
	Name string      `json:"name"`
	Type ChannelType `json:"type"`
	// Subscriptions of the request that the channel receives the drill by.
	Subscriptions []DrillSubscription `json:"subscriptions,omitempty"`
}

// DrillSubscription is a subscription of a drill.
type DrillSubscription struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
}

// DrillState is where a drill stands.
type DrillState string

// States of drills, in their order.
const (
	DrillAsked      DrillState = "asked"      // stored; its check does not exist yet
	DrillFailing    DrillState = "failing"    // the hidden check fails
	DrillRecovering DrillState = "recovering" // the hidden check is healthy again
	DrillClosed     DrillState = "closed"     // it has a receipt
)

// DrillVerdict is what a drill has shown.
type DrillVerdict string

// Verdicts.
const (
	DrillPassed   DrillVerdict = "passed"
	DrillFailed   DrillVerdict = "failed"
	DrillCanceled DrillVerdict = "canceled"
)

// StalledDrill is a drill whose workflow leaves no trace.
type StalledDrill struct {
	ID, OrgID uuid.UUID
	// Old: it should have ended, so that it must be closed.
	Old bool
}

// ChannelDrill is the last drill of a channel that has ended.
type ChannelDrill struct {
	DrillID uuid.UUID
	Verdict DrillVerdict
	At      time.Time
}

// DrillWorkflowID is the ID of the workflow of a drill.
func DrillWorkflowID(id uuid.UUID) string { return "drill/" + id.String() }

// DrillRules returns the rules of the hidden check of a drill: a copy of each rule that notifies
// someone, which fires when the check is down and notifies of its beginning and its end. Without
// rules it is one that notifies the channels; that of subscriptions names none.
func DrillRules(drill *Drill, copied []Rule) []Rule {
	severity := drill.Request.Severity
	if severity == "" {
		severity = Info
	}
	if len(copied) == 0 {
		copied = []Rule{{Name: "Drill", Channels: drill.Request.ChannelIDs, Policy: AnyRegion}}
	}
	rules := make([]Rule, 0, len(copied))
	for _, rule := range copied {
		rules = append(rules, Rule{
			ID:        uuid.NewSHA1(drill.ID, append([]byte("rule"), rule.ID[:]...)),
			OrgID:     drill.OrgID,
			CheckID:   drill.ID,
			Name:      rule.Name,
			Condition: Condition{HealthStatus: "down", Severity: severity},
			Channels: append(
				[]uuid.UUID{},
				rule.Channels...),
			NotifyOn:   NotifyBoth,
			Policy:     rule.Policy,
			Unobserved: UnobservedIgnore,
			Enabled:    true,
			CreatedAt:  drill.AskedAt,
			UpdatedAt:  drill.AskedAt,
		})
	}
	return rules
}

// OpeningDue is until when the opening must have arrived everywhere.
func (d *Drill) OpeningDue() time.Time { return d.AskedAt.Add(d.Request.ExpectWithin) }

// RecoveryDue is until when the end must have arrived everywhere, and zero while the check fails.
func (d *Drill) RecoveryDue() time.Time {
	if d.HealedAt == nil {
		return time.Time{}
	}
	due := d.HealedAt.Add(d.Request.ExpectWithin)
	if last := d.AskedAt.Add(maxDrillWait); last.Before(due) {
		return last
	}
	return due
}

// NextDrillStep is what the workflow of a drill does next.
type NextDrillStep string

// Steps of a drill.
const (
	DrillWait  NextDrillStep = "wait"  // nothing: what is awaited has neither come nor is it late
	DrillHeal  NextDrillStep = "heal"  // make the hidden check healthy
	DrillClose NextDrillStep = "close" // make the receipt
)

// NextStep decides what follows from what has been seen of a drill that is staged.
func (d *Drill) NextStep(facts *DrillFacts, now time.Time) NextDrillStep {
	switch {
	case d.State == DrillClosed:
		return DrillClose
	case d.State == DrillRecovering:
		// Without an opening there is no end to wait for, once no opening can come any more.
		if facts.ended(d, true) || !now.Before(d.RecoveryDue()) || facts.OpenedAt.IsZero() && facts.quiet() {
			return DrillClose
		}
	// A region that is slower than the first one has its vote to come, which it cannot any more once
	// the check is healthy.
	case d.CanceledAt != nil, facts.ended(d, false) && facts.voted(), !now.Before(d.OpeningDue()):
		return DrillHeal
	}
	return DrillWait
}
