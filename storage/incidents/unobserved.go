// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/events"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/subscription"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// unobservedRow is a check that is known not to be probed.
type unobservedRow struct {
	bun.BaseModel `bun:"table:unobserved_checks,alias:u"`

	CheckID   uuid.UUID       `bun:"check_id,pk,type:uuid"`
	ID        uuid.UUID       `bun:"id,type:uuid"`
	OrgID     uuid.UUID       `bun:"org_id,type:uuid"`
	Since     time.Time       `bun:"since"`
	Regions   []string        `bun:"regions,array"`
	Described json.RawMessage `bun:"described,type:jsonb"`
	CreatedAt time.Time       `bun:"created_at"`
	// Audience are the channels that are subscribed to the beginning or the end.
	Audience json.RawMessage `bun:"audience,type:jsonb"`
}

func (r *unobservedRow) check() vigil.UnobservedCheck {
	return vigil.UnobservedCheck{ID: r.ID, OrgID: r.OrgID, CheckID: r.CheckID, Since: r.Since.UTC(), Regions: r.Regions}
}

// describedCheck is what an event says of a check that may be deleted meanwhile, and the rules
// that notify of it.
type describedCheck struct {
	Name       string          `json:"name"`
	Type       vigil.CheckType `json:"type"`
	Target     string          `json:"target"`
	IntervalMS int64           `json:"interval_ms"`
	Regions    []string        `json:"regions"`
	Enabled    bool            `json:"enabled"`
	Labels     vigil.Labels    `json:"labels,omitempty"`

	Rules []events.UnobservedRule `json:"rules,omitempty"`
}

func describe(c *vigil.Check, rules []vigil.Rule) (string, error) {
	text, err := json.Marshal(describedCheck{
		c.Name, c.Type, c.Target, pg.Milliseconds(c.Interval), c.Regions, c.Enabled, c.Labels, events.UnobservedRules(rules),
	})
	return string(text), pg.Wrap("describe the check", err)
}

func (d *describedCheck) check(id, org uuid.UUID) vigil.Check {
	return vigil.Check{
		ID: id, OrgID: org, Name: d.Name, Type: d.Type, Target: d.Target, Interval: pg.FromMilliseconds(d.IntervalMS),
		Regions: d.Regions, Enabled: d.Enabled, Labels: d.Labels,
	}
}

// notifiedRow is a channel that was notified that a check is not probed, and not of the end yet.
type notifiedRow struct {
	bun.BaseModel `bun:"table:unobserved_channels,alias:o"`

	CheckID   uuid.UUID       `bun:"check_id,pk,type:uuid"`
	ChannelID uuid.UUID       `bun:"channel_id,pk,type:uuid"`
	ID        uuid.UUID       `bun:"id,type:uuid"`
	OrgID     uuid.UUID       `bun:"org_id,type:uuid"`
	Since     time.Time       `bun:"since"`
	Regions   []string        `bun:"regions,array"`
	Partly    bool            `bun:"partly"`
	Described json.RawMessage `bun:"described,type:jsonb"`
	Recipient json.RawMessage `bun:"recipient,type:jsonb"`
	CreatedAt time.Time       `bun:"created_at"`
}

const (
	// NotifiedUnobserved is the condition that the channel of a delivery, alias d, is still to be
	// notified of the end of what the delivery is about.
	NotifiedUnobserved = "EXISTS (SELECT FROM unobserved_channels AS o WHERE o.id = d.incident_id AND o.channel_id = d.channel_id)"
	// OfNoIncident and ofIncident are the conditions that a delivery, alias t or d, is about no incident,
	// and about one. deliveries_no_incident_idx is an index of the first one.
	OfNoIncident = "t.event_type NOT LIKE 'incident.%'"
	ofIncident   = "d.event_type LIKE 'incident.%'"
	// aboutUnobserved is the condition that a delivery, alias d, is about a time without results.
	aboutUnobserved = "d.event_type IN ('check.unobserved', 'check.observed')"
)

// longUnobserved is the condition that a loop, alias r, is unobserved. The time before since,
// when the platform itself was down, does not count.
func longUnobserved(now, since time.Time) string {
	return `(` + loops.Unobserved(pg.SQLTime(now)) + ` AND greatest(r.next_due, ` + pg.SQLTime(since) + `)
		+ (2 * r.interval_ms + r.deadline_ms) * interval '1 millisecond' < ` + pg.SQLTime(now) + `)`
}

// Soonest is how long after its slot a loop is unobserved at least: two intervals, less what instants are rounded by. No
// plan has an interval of less than a second (account.PlanOf), nor has a heartbeat.
const Soonest = 2*time.Second - time.Millisecond

// whollyUnobserved is the condition that a check, alias c, is enabled and unobserved in all of
// its regions.
func whollyUnobserved(now, since time.Time) string {
	return `(c.enabled AND EXISTS (SELECT FROM check_regions AS r WHERE r.check_id = c.id AND r.active)
		AND NOT EXISTS (SELECT FROM check_regions AS r WHERE r.check_id = c.id AND r.active AND NOT ` + longUnobserved(now, since) + `))`
}

// rulesNotifying is an SQL query for the rules, alias ar, that notify that the check, alias c, is
// not probed: loops that fulfil the condition gone are as many as their region policies ask for.
func rulesNotifying(gone string) string {
	return `SELECT ar.id, ar.channel_ids FROM alert_rules AS ar, LATERAL (
			SELECT count(*) AS loops, count(*) FILTER (WHERE ` + gone + `) AS gone FROM check_regions AS r WHERE r.check_id = c.id AND r.active
		) AS seen
		WHERE c.enabled AND ar.check_id = c.id AND ar.enabled AND ar.unobserved = 'notify' AND seen.gone > 0
			AND CASE ar.region_policy WHEN 'all' THEN seen.gone = seen.loops WHEN 'majority' THEN 2 * seen.gone > seen.loops ELSE true END`
}

// Unobserved returns up to limit checks of these shards that are not probed, and not known to
// be, or of which a rule must notify a channel. Since is when the platform was last found to work;
// each check has time to be probed from then. Checks in maintenance are left out.
func (s *Store) Unobserved(ctx context.Context, now, since time.Time, shards []int, limit int) ([]vigil.UnobservedCheck, error) {
	if due, err := loops.AnyDue(ctx, s.db, now.Add(-Soonest)); err != nil || !due {
		return nil, err
	}
	var rows []checkOfOrg
	err := s.db.NewRaw(`SELECT c.id AS check_id, c.org_id FROM (SELECT `+pg.SQLTime(now)+` AS now) AS clock, checks AS c
		WHERE c.id IN (SELECT r.check_id FROM check_regions AS r WHERE `+loops.Overdue(pg.SQLTime(now))+` AND ?0)
			AND (`+whollyUnobserved(now, since)+` AND NOT EXISTS (SELECT FROM unobserved_checks AS u WHERE u.check_id = c.id)
				OR EXISTS (SELECT FROM (`+rulesNotifying(longUnobserved(now, since))+`) AS n, unnest(n.channel_ids) AS of (channel_id)
					WHERE EXISTS (SELECT FROM channels AS ch WHERE ch.id = of.channel_id AND ch.enabled)
						AND NOT EXISTS (SELECT FROM unobserved_channels AS o WHERE o.check_id = c.id AND o.channel_id = of.channel_id)))
			AND NOT EXISTS (SELECT `+loops.RunningOf+`) AND c.`+pg.NotDrill+`
		ORDER BY c.id LIMIT ?1`, loops.InShards("r.check_id", shards), limit).Scan(ctx, &rows)
	return checksOf(rows), pg.Wrap("find unobserved checks", err)
}

// checkOfOrg is what the sweep needs to know of a check.
type checkOfOrg struct {
	CheckID uuid.UUID `bun:"check_id"`
	OrgID   uuid.UUID `bun:"org_id"`
}

func checksOf(rows []checkOfOrg) []vigil.UnobservedCheck {
	list := make([]vigil.UnobservedCheck, len(rows))
	for i, row := range rows {
		list[i] = vigil.UnobservedCheck{OrgID: row.OrgID, CheckID: row.CheckID}
	}
	return list
}

// BeginUnobserved records that a check is not probed, and which channels are notified of it, and
// publishes the event with its deliveries, in one transaction. It changes nothing when this is
// known, when the check is probed again or in maintenance, or when the lease is of an older fence. It
// returns the deliveries that are to be sent.
func (s *Store) BeginUnobserved(
	ctx context.Context, lease fleet.SweepLease, checkID uuid.UUID, since time.Time, publicURL string,
) ([]vigil.PendingDelivery, error) {
	var pending []vigil.PendingDelivery
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		check, org, err := s.lockForIncident(ctx, tx, checkID)
		if vigil.ErrorCode(err) == vigil.CodeNotFound {
			return nil
		}
		if err != nil {
			return err
		}
		if in, err := s.loops.RunningMaintenance(ctx, tx, checkID); err != nil || in != nil {
			return err
		}
		now := s.db.Instant()
		rules, notified, err := s.unobservedRecipients(ctx, tx, lease, checkID, now, since)
		if err != nil {
			return err
		}
		subscribed, audience, err := s.unobservedSubscribers(ctx, tx, &check, rules, notified)
		if err != nil {
			return err
		}
		described, err := describe(&check, rules)
		if err != nil {
			return err
		}
		var rows []unobservedRow
		err = tx.NewRaw(`INSERT INTO unobserved_checks AS u (check_id, id, org_id, since, regions, described, created_at, audience)
			SELECT c.id, ?id, c.org_id, max(coalesce(r.last_slot, r.start_at)), array_agg(r.region ORDER BY r.region), ?described::jsonb,
				?now, ?audience::jsonb
			FROM checks AS c JOIN check_regions AS r ON r.check_id = c.id AND r.active
			WHERE c.id = ?check AND ?fenced AND `+whollyUnobserved(now, since)+` GROUP BY c.id
			ON CONFLICT DO NOTHING RETURNING *`,
			pg.Named{
				"id": uuid.New(), "described": described, "now": now, "check": checkID, "fenced": loops.Fenced(lease), "audience": audience,
			}).Scan(ctx, &rows)
		if err != nil {
			return pg.Wrap("insert", err)
		}
		about := events.UnobservedContent{
			Check:            check,
			OrganizationName: org.Name,
			Time:             now,
			PublicURL:        publicURL,
			Rules:            events.UnobservedRules(rules),
		}
		to := notified
		switch {
		case len(rows) > 0:
			about.UnobservedCheck = rows[0].check()
			to = slices.Concat(notified, vigil.OpeningRecipients(subscribed))
		case len(notified) > 0:
			if err := missingRegions(ctx, tx, &about, &check, now, since); err != nil {
				return err
			}
		default:
			return nil
		}
		if err := keepNotified(ctx, tx, &about, described, notified); err != nil {
			return err
		}
		if err := s.publishUnobserved(ctx, tx, &about, to); err != nil || len(to) == 0 {
			return err
		}
		pending, err = pendingDeliveries(ctx, tx, check.Name, about.ID)
		return err
	})
	return pending, pg.Wrap("record an unobserved check", err)
}

// unobservedRecipients returns the channels that must be notified that a check is not probed
// and were not yet, and the rules that say so, the leading one first.
func (s *Store) unobservedRecipients(
	ctx context.Context, tx bun.Tx, lease fleet.SweepLease, checkID uuid.UUID, now, since time.Time,
) ([]vigil.Rule, []vigil.Recipient, error) {
	var ids []uuid.UUID
	err := tx.NewRaw("SELECT n.id FROM checks AS c, LATERAL ("+rulesNotifying(longUnobserved(now, since))+") AS n WHERE c.id = ? AND ?",
		checkID, loops.Fenced(lease)).Scan(ctx, &ids)
	if err != nil || len(ids) == 0 {
		return nil, nil, pg.Wrap("find the rules", err)
	}
	rules, err := s.enabledRules(ctx, tx, checkID, ids)
	if err != nil {
		return nil, nil, err
	}
	recipients, err := s.readRecipients(ctx, tx, rules[0].OrgID, rules)
	if err != nil {
		return nil, nil, err
	}
	var known []uuid.UUID
	if err := tx.NewRaw("SELECT channel_id FROM unobserved_channels WHERE check_id = ?", checkID).Scan(ctx, &known); err != nil {
		return nil, nil, fmt.Errorf("read who knows: %w", err)
	}
	recipients = slices.DeleteFunc(recipients, func(r vigil.Recipient) bool { return slices.Contains(known, r.ChannelID) })
	// A rule whose channels were all notified sends nothing.
	rules = slices.DeleteFunc(rules, func(r vigil.Rule) bool {
		return !slices.ContainsFunc(recipients, func(to vigil.Recipient) bool { return slices.Contains(r.Channels, to.ChannelID) })
	})
	return rules, recipients, nil
}

// unobservedSubscribers returns the channels that are subscribed to a check that is not probed, and
// how they are stored. Those that a rule notifies are left out: they have one message.
func (s *Store) unobservedSubscribers(
	ctx context.Context, tx bun.Tx, check *vigil.Check, rules []vigil.Rule, notified []vigil.Recipient,
) (subscribed []vigil.Recipient, audience string, err error) {
	severity := vigil.Critical // the health of the check is not known
	if len(rules) > 0 {
		severity = rules[0].Severity()
	}
	found, err := s.subscribers(ctx, tx, aboutCheck(check, severity), vigil.EventUnobserved, vigil.EventObserved)
	if err != nil {
		return nil, "", err
	}
	var known []uuid.UUID
	if err := tx.NewRaw("SELECT channel_id FROM unobserved_channels WHERE check_id = ?", check.ID).Scan(ctx, &known); err != nil {
		return nil, "", fmt.Errorf("read who knows: %w", err)
	}
	for _, r := range notified {
		known = append(known, r.ChannelID)
	}
	found = slices.DeleteFunc(found, func(one subscription.Subscriber) bool { return slices.Contains(known, one.Channel.ID) })
	subscribed = subscription.Join(nil, found, vigil.EventUnobserved, vigil.EventObserved, s.policies)
	text, err := json.Marshal(append([]vigil.Recipient{}, subscribed...))
	return subscribed, string(text), pg.Wrap("encode the subscribed channels", err)
}

// missingRegions fills in a time without results that the check does not have in all of its
// regions, or that is known.
func missingRegions(ctx context.Context, tx bun.Tx, about *events.UnobservedContent, check *vigil.Check, now, since time.Time) error {
	var row struct {
		Since   time.Time `bun:"since"`
		Regions []string  `bun:"regions,array"`
		Partly  bool      `bun:"partly"`
	}
	err := tx.NewRaw(`SELECT max(coalesce(r.last_slot, r.start_at)) FILTER (WHERE g.gone) AS since,
			array_agg(r.region ORDER BY r.region) FILTER (WHERE g.gone) AS regions, bool_or(NOT g.gone) AS partly
		FROM checks AS c JOIN check_regions AS r ON r.check_id = c.id AND r.active, LATERAL (SELECT `+longUnobserved(now, since)+` AS gone) AS g
		WHERE c.id = ?`, check.ID).Scan(ctx, &row)
	if err != nil {
		return fmt.Errorf("read the regions without results: %w", err)
	}
	about.Partly = row.Partly
	about.UnobservedCheck = vigil.UnobservedCheck{
		ID: uuid.New(), OrgID: check.OrgID, CheckID: check.ID, Since: row.Since.UTC(), Regions: row.Regions,
	}
	return nil
}

// keepNotified stores which channels are notified of the beginning, so that these get the end.
func keepNotified(ctx context.Context, tx bun.Tx, c *events.UnobservedContent, described string, notified []vigil.Recipient) error {
	if len(notified) == 0 {
		return nil
	}
	rows := make([]notifiedRow, len(notified))
	for i := range notified {
		recipient, err := json.Marshal(notified[i])
		if err != nil {
			return fmt.Errorf("encode a recipient: %w", err)
		}
		rows[i] = notifiedRow{
			CheckID: c.CheckID, ChannelID: notified[i].ChannelID, ID: c.ID, OrgID: c.OrgID, Since: c.Since, Regions: c.Regions, Partly: c.Partly,
			Described: json.RawMessage(described), Recipient: recipient, CreatedAt: c.Time,
		}
	}
	_, err := tx.NewInsert().Model(&rows).Exec(ctx)
	return pg.Wrap("store who is notified", err)
}

func (s *Store) publishUnobserved(ctx context.Context, tx bun.Tx, c *events.UnobservedContent, to []vigil.Recipient) error {
	event, err := events.NewUnobserved(c)
	if err != nil {
		return err
	}
	return s.publish(ctx, tx, event, to)
}

// UnobservedLoops returns how many loops of all organizations are not probed although they
// should be, by region. Regions without any are left out.
func (s *Store) UnobservedLoops(ctx context.Context) (map[string]int64, error) {
	now := s.db.Instant()
	if due, err := loops.AnyDue(ctx, s.db, now.Add(-Soonest)); err != nil || !due {
		return map[string]int64{}, err
	}
	var rows []struct {
		Region string
		N      int64
	}
	err := s.db.NewRaw("SELECT r.region, count(*) AS n FROM check_regions AS r JOIN checks AS c ON c.id = r.check_id WHERE "+
		loops.Unobserved(pg.SQLTime(now))+" AND c."+pg.NotDrill+" GROUP BY r.region").Scan(ctx, &rows)
	counts := make(map[string]int64, len(rows))
	for _, row := range rows {
		counts[row.Region] = row.N
	}
	return counts, pg.Wrap("count unobserved loops", err)
}
