// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/events"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/definitions"
	"github.com/vigil-monitor/vigil/storage/pg"
	"github.com/vigil-monitor/vigil/storage/results"
)

// OpenIncident opens an incident and stores its event and deliveries, in one
// transaction. It returns an existing incident when one has the ID of the request or
// is open for the check, so a retry is safe. The outcome has a zero incident ID when
// the check is disabled or none of the rules is enabled any more, and also when the check
// is in maintenance: MaintenanceLeft then says for how long yet. It fails with CodeNotFound when the
// check was deleted.
func (s *Store) OpenIncident(ctx context.Context, o vigil.OpenRequest) (vigil.IncidentOutcome, error) {
	var out vigil.IncidentOutcome
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		check, org, err := s.lockForIncident(ctx, tx, o.CheckID)
		if err != nil {
			return err
		}
		known, err := s.existingIncident(ctx, tx, o)
		if err != nil {
			return err
		}
		if known != nil {
			if out.Incident, err = known.head(); err != nil {
				return err
			}
			out.PendingDeliveries, err = pendingDeliveries(ctx, tx, check.Name, known.ID)
			return err
		}
		rules, err := s.enabledRules(ctx, tx, o.CheckID, o.Rules)
		if err != nil || !check.Enabled || len(rules) == 0 {
			return err
		}
		// The request may follow from a context that was read before the maintenance began.
		in, err := s.loops.RunningMaintenance(ctx, tx, o.CheckID)
		if err != nil {
			return err
		}
		if in != nil && !o.Restored {
			out.MaintenanceLeft = in.EndsAt.Sub(in.Now)
			return nil
		}
		out, err = s.insertIncident(ctx, tx, o, check, org, rules)
		return err
	})
	return out, pg.Wrap("open an incident", err)
}

// lockForIncident locks a check's row, which serializes the changes of its incidents,
// and reads the parts of the check that events contain.
func (s *Store) lockForIncident(ctx context.Context, tx bun.Tx, checkID uuid.UUID) (vigil.Check, account.Organization, error) {
	var row definitions.CheckRow
	err := tx.NewSelect().Model(&row).ExcludeColumn("config").Where("c.id = ?", checkID).For("NO KEY UPDATE").Scan(ctx)
	if err != nil {
		return vigil.Check{}, account.Organization{}, pg.Found("check", err)
	}
	var org accounts.OrgRow
	if err := tx.NewSelect().Model(&org).Where("o.id = ?", row.OrgID).Scan(ctx); err != nil {
		return vigil.Check{}, account.Organization{}, pg.Found("organization", err)
	}
	return vigil.Check{
		ID: row.ID, OrgID: row.OrgID, Name: row.Name, Type: vigil.CheckType(row.Type), Target: row.Target,
		Interval: pg.FromMilliseconds(row.IntervalMS), Regions: row.Regions, Enabled: row.Enabled,
		Labels: definitions.LabelsOf(row.Labels), DrillID: drillOf(&row),
	}, org.Organization(), nil
}

func drillOf(row *definitions.CheckRow) uuid.UUID {
	if row.DrillID == nil {
		return uuid.Nil
	}
	return *row.DrillID
}

// existingIncident returns the incident that an earlier attempt of the request opened,
// or the one that is open for the check, or nil.
func (s *Store) existingIncident(ctx context.Context, tx bun.Tx, o vigil.OpenRequest) (*Row, error) {
	rows, err := pg.Rows[Row](ctx, s.db.In(tx), "SELECT "+pg.ModelColumns[Row](s.db, "i")+", "+incidentTrace+` AS trace_id FROM incidents AS i
		WHERE i.id = $1 OR (i.check_id = $2 AND i.status <> 'resolved') ORDER BY (i.id = $1) DESC LIMIT 1`, o.ID, o.CheckID)
	if err != nil || len(rows) == 0 {
		return nil, pg.Wrap("find the incident", err)
	}
	return &rows[0], nil
}

// enabledRules reads the rules of the ids that are enabled, the leading one first.
func (s *Store) enabledRules(ctx context.Context, tx bun.Tx, checkID uuid.UUID, ids []uuid.UUID) ([]vigil.Rule, error) {
	rows, err := pg.Rows[definitions.RuleRow](
		ctx,
		s.db.In(tx),
		"SELECT "+pg.ModelColumns[definitions.RuleRow](s.db, "ar")+` FROM alert_rules AS ar
		WHERE ar.check_id = $1 AND ar.enabled AND ar.id = ANY($2::text[]::uuid[])`,
		checkID,
		pg.UUIDTexts(ids),
	)
	if err != nil {
		return nil, fmt.Errorf("read the rules: %w", err)
	}
	rules, err := definitions.RulesOf(rows)
	vigil.SortRules(rules)
	return rules, err
}

// insertIncident stores an incident with its event and its deliveries. It begins with the result that
// fired its leading rule, the first one, or with the end of a maintenance that kept it from opening.
func (s *Store) insertIncident(
	ctx context.Context, tx bun.Tx, o vigil.OpenRequest, check vigil.Check, org account.Organization, rules []vigil.Rule,
) (vigil.IncidentOutcome, error) {
	now, lead := s.db.Instant(), rules[0]
	cause, err := s.trigger(ctx, tx, o, lead)
	if err != nil {
		return vigil.IncidentOutcome{}, err
	}
	recipients, err := s.readRecipients(ctx, tx, check.OrgID, rules)
	if err != nil {
		return vigil.IncidentOutcome{}, err
	}
	if recipients, err = s.joinSubscribed(ctx, tx, &check, lead.Severity(), recipients); err != nil {
		return vigil.IncidentOutcome{}, err
	}
	incident := vigil.Incident{
		ID: o.ID, OrgID: check.OrgID, CheckID: check.ID, RuleID: lead.ID, Status: vigil.IncidentActive, Severity: lead.Severity(),
		Trigger: cause, Regions: firingRegions(o.Votes), StartedAt: now, CreatedAt: now, TraceID: o.TraceID(),
	}
	if !cause.Result.Time.IsZero() && cause.Result.Time.Before(now) {
		incident.StartedAt = cause.Result.Time
	}
	seen, err := s.seenBy(ctx, tx, &check, o.Votes)
	if err != nil {
		return vigil.IncidentOutcome{}, err
	}
	incident.Title, incident.Description = events.Describe(&cause, check.Name, seen)
	ended, err := s.loops.MaintenanceBefore(ctx, tx, check.ID, incident.StartedAt)
	if err != nil {
		return vigil.IncidentOutcome{}, err
	}
	ended.Delay(&incident)
	if incident.Rules, err = s.openingRules(ctx, tx, o, rules, &cause, incident.StartedAt); err != nil {
		return vigil.IncidentOutcome{}, err
	}
	row, err := rowOfIncident(&incident, recipients)
	if err != nil {
		return vigil.IncidentOutcome{}, err
	}
	if _, err := tx.NewInsert().Model(row).Exec(ctx); err != nil {
		return vigil.IncidentOutcome{}, fmt.Errorf("insert: %w", err)
	}
	event, err := events.New(events.Content{
		Type: vigil.EventTriggered, Time: now, Incident: incident, Check: check, Rule: lead, OrganizationName: org.Name,
		Regions: incident.Regions, PublicURL: o.PublicURL,
	})
	if err != nil {
		return vigil.IncidentOutcome{}, err
	}
	notified := vigil.OpeningRecipients(recipients)
	return vigil.IncidentOutcome{
		Incident: incident.Head(), Changed: true, Drill: check.DrillID != uuid.Nil,
		PendingDeliveries: firstDeliveries(&incident, check.Name, notified),
	}, s.publish(ctx, tx, event, notified)
}

func rowOfIncident(i *vigil.Incident, recipients []vigil.Recipient) (*Row, error) {
	trigger, err := encodeTrigger(&i.Trigger, i.TraceID)
	if err != nil {
		return nil, err
	}
	list, err := json.Marshal(append([]vigil.Recipient{}, recipients...))
	if err != nil {
		return nil, fmt.Errorf("encode the recipients: %w", err)
	}
	rules, err := encodeRules(i.Rules)
	if err != nil {
		return nil, err
	}
	return &Row{
		ID: i.ID, OrgID: i.OrgID, CheckID: i.CheckID, RuleID: i.RuleID, Status: string(i.Status), Severity: string(i.Severity),
		Title: i.Title, Description: i.Description, Trigger: trigger, Regions: append([]string{}, i.Regions...), Audience: list,
		StartedAt: i.StartedAt, CreatedAt: i.CreatedAt, Quiet: []string{}, SweptAt: i.CreatedAt,
		Rules: rules, LatchRules: []uuid.UUID{},
	}, nil
}

// seenBy reads what the regions see in which a rule fires.
func (s *Store) seenBy(ctx context.Context, tx bun.Tx, check *vigil.Check, votes []vigil.Vote) (events.Seen, error) {
	seen := events.Seen{Regions: len(check.Regions)}
	var keys []results.Key
	for _, v := range votes {
		if len(v.Firing) > 0 {
			keys = append(keys, results.Key{CheckID: check.ID, Region: v.Region, Slot: v.Slot})
		}
	}
	found, err := s.results.Briefs(ctx, tx, keys)
	for i, one := range found {
		if one != nil && !one.Success {
			seen.Faults = append(seen.Faults, events.Fault{Region: keys[i].Region, StatusCode: one.StatusCode, Error: one.Error})
		}
	}
	slices.SortFunc(seen.Faults, func(a, b events.Fault) int { return strings.Compare(a.Region, b.Region) })
	return seen, pg.Wrap("read what the regions see", err)
}

// firingRegions returns the regions in which any rule fires, sorted.
func firingRegions(votes []vigil.Vote) []string {
	var regions []string
	for _, v := range votes {
		if len(v.Firing) > 0 {
			regions = append(regions, v.Region)
		}
	}
	slices.Sort(regions)
	return regions
}

// openingRules are the rules by which an incident opens, the leading one first, whose cause
// is known.
func (s *Store) openingRules(
	ctx context.Context, tx bun.Tx, o vigil.OpenRequest, rules []vigil.Rule, cause *vigil.Trigger, since time.Time,
) ([]vigil.IncidentRule, error) {
	list := make([]vigil.IncidentRule, len(rules))
	for i := range rules {
		if i > 0 {
			other, err := s.trigger(ctx, tx, o, rules[i])
			if err != nil {
				return nil, err
			}
			cause = &other
		}
		list[i] = firedRule(&rules[i], cause, since)
		list[i].Opened = true
	}
	return list, nil
}

// firedRule is a rule as the incident keeps it: with its name and severity of now, which a later change of
// the rule does not alter.
func firedRule(r *vigil.Rule, cause *vigil.Trigger, since time.Time) vigil.IncidentRule {
	fired := vigil.IncidentRule{ID: r.ID, Name: r.Name, Severity: r.Severity(), Since: since, Beginnings: 1}
	fired.Failing, fired.Slow = cause.Effects()
	return fired
}

// trigger describes what made the leading rule fire, by the vote that explains it.
// Results that are past their retention leave it without details.
func (s *Store) trigger(ctx context.Context, tx bun.Tx, o vigil.OpenRequest, lead vigil.Rule) (vigil.Trigger, error) {
	vote, ok := vigil.LeadingVote(o.Votes, lead.ID)
	if !ok {
		return vigil.Trigger{}, nil
	}
	t := vigil.Trigger{FailureCount: vote.Failures}
	var err error
	if t.Result, err = s.resultAt(ctx, tx, o, vote.Region, vote.Slot); err != nil {
		return t, err
	}
	match, ok := vote.MatchOf(lead.ID)
	if !ok {
		return t, nil
	}
	// A rule with a recovery threshold may have matched on an earlier result only.
	if !match.Slot.IsZero() && !match.Slot.Equal(vote.Slot) {
		t.FailureCount = match.Failures
		if t.Result, err = s.resultAt(ctx, tx, o, vote.Region, match.Slot); err != nil {
			return t, err
		}
	}
	if t.Result.Slot.IsZero() {
		return t, nil
	}
	t.Matched, t.Days = match.Keys, match.Days
	if !slices.Contains(match.Keys, vigil.KeyDNSChanged) {
		return t, nil
	}
	t.DNSCurrent = answers(t.Result.Metadata)
	before, err := s.resultAt(ctx, tx, o, vote.Region, match.PreviousAnswer)
	t.DNSPrevious = answers(before.Metadata)
	return t, err
}

// resultAt reads the result of a slot. The zero result: none is stored any more, or its database is away.
func (s *Store) resultAt(ctx context.Context, tx bun.Tx, o vigil.OpenRequest, region string, slot time.Time) (vigil.Result, error) {
	return s.results.One(ctx, tx, results.Key{CheckID: o.CheckID, Region: region, Slot: slot})
}

// answers are the records of a DNS result, for people.
func answers(metadata map[string]any) string {
	list, ok := metadata["answers"].([]any)
	if !ok {
		return ""
	}
	var texts []string
	for _, one := range list {
		texts = append(texts, fmt.Sprint(one))
	}
	return vigil.Truncate(strings.Join(texts, ", "), vigil.MaxErrorLength)
}
