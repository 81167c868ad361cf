// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/events"
	"github.com/vigil-monitor/vigil/internal/subscription"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// maxKeptRules bounds the rules that an incident lists. Rules that are deleted and made
// again could fill it otherwise; those that stopped first are left out.
const maxKeptRules = 1000

// firedRow is a rule of an incident as it rests.
type firedRow struct {
	ID         uuid.UUID      `json:"id"`
	Name       string         `json:"name"`
	Severity   vigil.Severity `json:"severity"`
	Since      time.Time      `json:"since"`
	Until      *time.Time     `json:"until,omitempty"`
	Opened     bool           `json:"opened,omitempty"`
	Beginnings int            `json:"beginnings"`
	Failing    bool           `json:"failing,omitempty"`
	Slow       bool           `json:"slow,omitempty"`
}

func encodeRules(rules []vigil.IncidentRule) (json.RawMessage, error) {
	rows := make([]firedRow, len(rules))
	for i, r := range rules {
		rows[i] = firedRow(r)
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return nil, fmt.Errorf("encode the rules of an incident: %w", err)
	}
	return text, nil
}

// DecodeRules returns none for a column that was not read.
func DecodeRules(text json.RawMessage) ([]vigil.IncidentRule, error) {
	if len(text) == 0 {
		return nil, nil
	}
	var rows []firedRow
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, fmt.Errorf("decode the rules of an incident: %w", err)
	}
	rules := make([]vigil.IncidentRule, len(rows))
	for i, r := range rows {
		rules[i] = vigil.IncidentRule(r)
	}
	return rules, nil
}

// ChangeRules records that rules began or stopped to fire in an open incident. A rule that
// begins and has NotifyIfOpen adds its channels to the recipients; those that have had no
// message of the incident get its opening as an event of the rule's own. All is one
// transaction, and a retry changes nothing. While the check is in maintenance no rule
// begins: the outcome's MaintenanceLeft says for how long yet. A resolved incident is left as it is.
func (s *Store) ChangeRules(ctx context.Context, request vigil.RulesRequest) (vigil.IncidentOutcome, error) {
	var held time.Duration
	out, err := s.changeIncident(ctx, request.ID, func(c *incidentChange) error {
		if c.row.Status == string(vigil.IncidentResolved) {
			return nil
		}
		rules, err := DecodeRules(c.row.Rules)
		if err != nil {
			return err
		}
		c.rules = rules
		now := s.db.Instant()
		c.endFiring(request.Ended, now)
		var begun []vigil.Rule
		if c.check.Enabled {
			if begun, err = s.enabledRules(ctx, c.tx, c.check.ID, request.Begun); err != nil {
				return err
			}
		}
		begun = slices.DeleteFunc(begun, func(r vigil.Rule) bool { return c.fires(r.ID) })
		if len(begun) > 0 {
			in, err := s.loops.RunningMaintenance(ctx, c.tx, c.check.ID)
			if err != nil {
				return err
			}
			if in != nil {
				held, begun = in.EndsAt.Sub(in.Now), nil
			}
		}
		return c.beginRules(ctx, &request, begun, now)
	})
	out.MaintenanceLeft = held
	return out, err
}

// endFiring marks rules of the incident that fire no more.
func (c *incidentChange) endFiring(ids []uuid.UUID, now time.Time) {
	for i := range c.rules {
		if c.rules[i].Fires() && slices.Contains(ids, c.rules[i].ID) {
			c.rules[i].Until, c.rulesChanged = &now, true
		}
	}
}

// fires reports whether a rule fires in the incident already: it does not begin twice.
func (c *incidentChange) fires(rule uuid.UUID) bool {
	return slices.ContainsFunc(c.rules, func(r vigil.IncidentRule) bool { return r.ID == rule && r.Fires() })
}

// begin marks that a rule fires, and returns how often it began.
func (c *incidentChange) begin(rule *vigil.Rule, cause *vigil.Trigger, since time.Time) int {
	c.rulesChanged = true
	fired := firedRule(rule, cause, since)
	at := slices.IndexFunc(c.rules, func(r vigil.IncidentRule) bool { return r.ID == rule.ID })
	if at < 0 {
		c.rules = append(c.rules, fired)
		return 1
	}
	fired.Opened, fired.Beginnings = c.rules[at].Opened, c.rules[at].Beginnings+1
	c.rules[at] = fired
	return fired.Beginnings
}

// lateOpening is the opening of an incident for channels of a rule that began later.
type lateOpening struct {
	rule  vigil.Rule
	cause vigil.Trigger
	nth   int
	to    []vigil.Recipient
}

// beginRules stores the rules that begin, the recipients that they add, and the openings.
func (c *incidentChange) beginRules(ctx context.Context, request *vigil.RulesRequest, begun []vigil.Rule, now time.Time) error {
	known, err := c.row.recipients()
	if err != nil {
		return err
	}
	channels, err := c.db.channelsOfRules(ctx, c.tx, c.check.OrgID, begun)
	if err != nil {
		return err
	}
	var late []lateOpening
	for i := range begun {
		rule := begun[i]
		cause, err := c.db.trigger(ctx, c.tx, vigil.OpenRequest{ID: request.ID, CheckID: request.CheckID, Votes: request.Votes}, rule)
		if err != nil {
			return err
		}
		since := now
		if at := cause.Result.Time; !at.IsZero() && at.Before(now) && at.After(c.row.StartedAt) {
			since = at
		}
		worst, err := c.worstSeverity()
		if err != nil {
			return err
		}
		opening := lateOpening{rule: rule, cause: cause, nth: c.begin(&rule, &cause, since)}
		known, opening.to = vigil.JoinRecipients(known, []vigil.Rule{rule}, channels, c.db.policies)
		known, opening.to, err = c.joinWorse(ctx, worst, rule.Severity(), known, opening.to)
		if err != nil {
			return err
		}
		if len(opening.to) > 0 {
			late = append(late, opening)
		}
	}
	if !c.rulesChanged {
		return nil
	}
	c.dropOldRules()
	if c.row.Audience, err = json.Marshal(append([]vigil.Recipient{}, known...)); err != nil {
		return fmt.Errorf("encode the recipients: %w", err)
	}
	if c.row.Rules, err = encodeRules(c.rules); err != nil {
		return err
	}
	c.row.SweptAt, c.row.SweepWaitMS = now, 0
	if err := c.store(ctx); err != nil {
		return err
	}
	return c.publishLate(ctx, late, request, now)
}

// worstSeverity is that of the incident so far.
func (c *incidentChange) worstSeverity() (vigil.Severity, error) {
	incident, err := c.row.Incident()
	if err != nil {
		return "", err
	}
	incident.Rules = c.rules
	return incident.WorstSeverity(), nil
}

// joinWorse adds the channels of subscriptions whose least severity the incident reaches by a rule
// that begins to fire. Others that select the check only now receive nothing of the incident's
// beginning and end.
func (c *incidentChange) joinWorse(
	ctx context.Context, before, now vigil.Severity, known, opening []vigil.Recipient,
) (all, to []vigil.Recipient, err error) {
	of, was := aboutCheck(&c.check, now), subscription.UpTo(before)
	of.severities = slices.DeleteFunc(of.severities, func(least string) bool { return slices.Contains(was, least) })
	if len(of.severities) == 0 {
		return known, opening, nil
	}
	subscribed, err := c.db.subscribers(ctx, c.tx, of, vigil.EventTriggered, vigil.EventResolved)
	if err != nil {
		return nil, nil, err
	}
	all = subscription.Join(known, subscribed, vigil.EventTriggered, vigil.EventResolved, c.db.policies)
	for _, r := range all {
		was := slices.IndexFunc(known, func(k vigil.Recipient) bool { return k.ChannelID == r.ChannelID })
		if r.Opening && (was < 0 || !known[was].Opening) {
			opening = append(opening, r)
		}
	}
	return all, opening, nil
}

// publishLate stores the openings. All deliveries come first: what follows publish would
// wait for rows while it locks the organization's stream.
func (c *incidentChange) publishLate(ctx context.Context, late []lateOpening, request *vigil.RulesRequest, now time.Time) error {
	events := make([]vigil.Event, len(late))
	for i := range late {
		var err error
		if events[i], err = c.lateEvent(ctx, &late[i], request, now); err != nil {
			return err
		}
		if err := c.db.insertDeliveries(ctx, c.tx, &events[i], late[i].to); err != nil {
			return err
		}
	}
	for i := range events {
		if err := c.db.publish(ctx, c.tx, events[i], late[i].to); err != nil {
			return err
		}
	}
	return nil
}

// lateEvent is the opening for the channels of a rule that began later. It has the severity,
// the title and the result of that rule.
func (c *incidentChange) lateEvent(
	ctx context.Context,
	late *lateOpening,
	request *vigil.RulesRequest,
	now time.Time,
) (vigil.Event, error) {
	incident, err := c.row.Incident()
	if err != nil {
		return vigil.Event{}, err
	}
	incident.RuleID, incident.Severity, incident.Trigger = late.rule.ID, late.rule.Severity(), late.cause
	seen, err := c.db.seenBy(ctx, c.tx, &c.check, request.Votes)
	if err != nil {
		return vigil.Event{}, err
	}
	incident.Title, incident.Description = events.Describe(&late.cause, c.check.Name, seen)
	return events.New(events.Content{
		ID: events.TriggeredID(incident.ID, late.rule.ID, late.nth), Type: vigil.EventTriggered, Time: now,
		Incident: incident, Check: c.check, Rule: late.rule, OrganizationName: c.org.Name,
		Regions: firingRegions(request.Votes), PublicURL: request.PublicURL,
	})
}

// dropOldRules keeps the list within maxKeptRules.
func (c *incidentChange) dropOldRules() {
	for len(c.rules) > maxKeptRules {
		oldest := -1
		for i, r := range c.rules {
			if !r.Fires() && (oldest < 0 || r.Until.Before(*c.rules[oldest].Until)) {
				oldest = i
			}
		}
		if oldest < 0 {
			return
		}
		c.rules = slices.Delete(c.rules, oldest, oldest+1)
	}
}

// endRules ends the rules of an incident that is resolved, and stores what its latch holds.
// The latch of an incident before it ends: the new one holds its rules too.
func (c *incidentChange) endRules(ctx context.Context, request *vigil.ResolveRequest, now time.Time) error {
	var err error
	if c.rules, err = DecodeRules(c.row.Rules); err != nil {
		return err
	}
	for i := range c.rules {
		if c.rules[i].Fires() {
			c.rules[i].Until = &now
		}
	}
	if c.row.Rules, err = encodeRules(c.rules); err != nil {
		return err
	}
	c.row.LatchRules = append([]uuid.UUID{}, request.LatchedRules...)
	if !request.Latch {
		return nil
	}
	_, err = c.tx.NewRaw("UPDATE incidents SET latched = false, quiet = ? WHERE check_id = ? AND latched AND id <> ?",
		pgdialect.Array([]string{}), c.row.CheckID, c.row.ID).Exec(ctx)
	return pg.Wrap("end the latch before", err)
}
