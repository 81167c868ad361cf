// SPDX-License-Identifier: Apache-2.0

package drills

import (
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// PagePath is the path of the dashboard's page of a drill, without its id.
const PagePath = "/app/drills/"

// Bounds of drills.
const (
	// Interval is the interval of the hidden check.
	Interval = 5 * time.Second
	// DefaultExpect is the default of Request.ExpectWithin.
	DefaultExpect = 2 * time.Minute
	// MaxTime is after what time a drill is closed in any case.
	MaxTime = 15 * time.Minute
	// maxWait is after what time a drill waits for the end of its incident no longer, so
	// that its receipt is made before MaxTime.
	maxWait = 14 * time.Minute
	// MaxChannels and MaxRules bound what one drill asks for.
	MaxChannels = 50
	MaxRules    = 50
)

// Drill proves that an alert arrives: a check of its own fails, is healthy again and ends, and
// the receipt lists each hop on the way. Nothing of it is in a list or in a figure.
type Drill struct {
	// ID is also that of the hidden check.
	ID      uuid.UUID
	OrgID   uuid.UUID
	Request Request
	// Channels must receive both messages: those that the rules notify when the drill is asked for.
	Channels []Channel
	Regions  []string
	// Rules are those of the hidden check.
	Rules []vigil.Rule
	// Labels of the check that the drill is about; none for one about channels or rules.
	Labels      vigil.Labels
	RequestedBy string
	State       State
	// AskedAt is when it was asked for; the others are nil until their time has come.
	AskedAt                                  time.Time
	StagedAt, HealedAt, CanceledAt, ClosedAt *time.Time
	// Receipt is nil while the drill runs, and never changes afterwards.
	Receipt *Receipt
	// Signature is a JSON Web Signature (RFC 7515, compact) whose payload is the receipt; empty
	// while the drill runs, and where the platform has no key.
	Signature string
}

// Request says what a drill is about. Exactly one of ChannelIDs, RuleIDs, SubscriptionIDs and
// CheckID is set.
type Request struct {
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
	Severity vigil.Severity `json:"severity,omitempty"`
	// ExpectWithin is how long the way to every channel may take, of the opening and of its end
	// each; 10 s to 10 min.
	ExpectWithin time.Duration `json:"expect_within"`
	// ConfirmPager: that a pager rings is wanted.
	ConfirmPager bool `json:"confirm_pager,omitempty"`
	// Refused says why a drill of a schedule could not begin; empty for all others.
	Refused string `json:"refused,omitempty"`
}

// Channel is a channel of a drill.
type Channel struct {
	ID   uuid.UUID         `json:"id"`
	Name string            `json:"name"`
	Type vigil.ChannelType `json:"type"`
	// Subscriptions of the request that the channel receives the drill by.
	Subscriptions []Subscription `json:"subscriptions,omitempty"`
}

// Subscription is a subscription of a drill.
type Subscription struct {
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name"`
}

// State is where a drill stands.
type State string

// States of drills, in their order.
const (
	Asked      State = "asked"      // stored; its check does not exist yet
	Failing    State = "failing"    // the hidden check fails
	Recovering State = "recovering" // the hidden check is healthy again
	Closed     State = "closed"     // it has a receipt
)

// Verdict is what a drill has shown.
type Verdict string

// Verdicts.
const (
	Passed   Verdict = "passed"
	Failed   Verdict = "failed"
	Canceled Verdict = "canceled"
)

// Stalled is a drill whose workflow leaves no trace.
type Stalled struct {
	ID, OrgID uuid.UUID
	// Old: it should have ended, so that it must be closed.
	Old bool
}

// Ended is the last drill of a channel that has ended.
type Ended struct {
	DrillID uuid.UUID
	Verdict Verdict
	At      time.Time
}

// Filter selects drills. Zero members select all.
type Filter struct {
	Verdict Verdict
	listing.Page
}

// WorkflowID is the ID of the workflow of a drill.
func WorkflowID(id uuid.UUID) string { return "drill/" + id.String() }

// Rules returns the rules of the hidden check of a drill: a copy of each rule that notifies
// someone, which fires when the check is down and notifies of its beginning and its end. Without
// rules it is one that notifies the channels; that of subscriptions names none.
func Rules(drill *Drill, copied []vigil.Rule) []vigil.Rule {
	severity := drill.Request.Severity
	if severity == "" {
		severity = vigil.Info
	}
	if len(copied) == 0 {
		copied = []vigil.Rule{{Name: "Drill", Channels: drill.Request.ChannelIDs, Policy: vigil.AnyRegion}}
	}
	rules := make([]vigil.Rule, 0, len(copied))
	for _, rule := range copied {
		rules = append(rules, vigil.Rule{
			ID:        uuid.NewSHA1(drill.ID, append([]byte("rule"), rule.ID[:]...)),
			OrgID:     drill.OrgID,
			CheckID:   drill.ID,
			Name:      rule.Name,
			Condition: vigil.Condition{HealthStatus: "down", Severity: severity},
			Channels: append(
				[]uuid.UUID{},
				rule.Channels...),
			NotifyOn:   vigil.NotifyBoth,
			Policy:     rule.Policy,
			Unobserved: vigil.UnobservedIgnore,
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
	if last := d.AskedAt.Add(maxWait); last.Before(due) {
		return last
	}
	return due
}

// Step is what the workflow of a drill does next.
type Step string

// Steps of a drill.
const (
	Wait  Step = "wait"  // nothing: what is awaited has neither come nor is it late
	Heal  Step = "heal"  // make the hidden check healthy
	Close Step = "close" // make the receipt
)

// NextStep decides what follows from what has been seen of a drill that is staged.
func (d *Drill) NextStep(facts *Facts, now time.Time) Step {
	switch {
	case d.State == Closed:
		return Close
	case d.State == Recovering:
		// Without an opening there is no end to wait for, once no opening can come any more.
		if facts.ended(d, true) || !now.Before(d.RecoveryDue()) || facts.OpenedAt.IsZero() && facts.quiet() {
			return Close
		}
	// A region that is slower than the first one has its vote to come, which it cannot any more once
	// the check is healthy.
	case d.CanceledAt != nil, facts.ended(d, false) && facts.voted(), !now.Before(d.OpeningDue()):
		return Heal
	}
	return Wait
}
