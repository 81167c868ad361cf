// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/subscription"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/definitions"
	"github.com/vigil-monitor/vigil/storage/pg"
)

type drillRow struct {
	bun.BaseModel `bun:"table:drills,alias:dr"`

	ID          uuid.UUID       `bun:"id,pk,type:uuid"`
	OrgID       uuid.UUID       `bun:"org_id,type:uuid"`
	State       string          `bun:"state"`
	Request     json.RawMessage `bun:"request,type:jsonb"`
	Channels    json.RawMessage `bun:"channels,type:jsonb"`
	ChannelIDs  []uuid.UUID     `bun:"channel_ids,array"`
	Regions     []string        `bun:"regions,array"`
	Rules       json.RawMessage `bun:"rules,type:jsonb"`
	Labels      vigil.Labels    `bun:"labels,type:jsonb"`
	RequestedBy string          `bun:"requested_by"`
	Seen        json.RawMessage `bun:"seen,type:jsonb"`
	AskedAt     time.Time       `bun:"asked_at"`
	StagedAt    *time.Time      `bun:"staged_at"`
	HealedAt    *time.Time      `bun:"healed_at"`
	CanceledAt  *time.Time      `bun:"canceled_at"`
	ClosedAt    *time.Time      `bun:"closed_at"`
	ProgressAt  time.Time       `bun:"progress_at"`
	Verdict     string          `bun:"verdict"`
	Receipt     *string         `bun:"receipt"`
	Signature   string          `bun:"signature"`
	NoticeDueAt *time.Time      `bun:"notice_due_at"`
}

func rowOfDrill(d *drills.Drill) (*drillRow, error) {
	row := &drillRow{
		ID: d.ID, OrgID: d.OrgID, State: string(d.State), Regions: d.Regions, Labels: d.Labels, RequestedBy: d.RequestedBy,
		Seen: json.RawMessage("[]"), AskedAt: d.AskedAt, ProgressAt: d.AskedAt,
	}
	if row.Labels == nil {
		row.Labels = vigil.Labels{}
	}
	for _, c := range d.Channels {
		row.ChannelIDs = append(row.ChannelIDs, c.ID)
	}
	for into, value := range map[*json.RawMessage]any{&row.Request: d.Request, &row.Channels: d.Channels, &row.Rules: d.Rules} {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("encode a drill: %w", err)
		}
		*into = text
	}
	return row, nil
}

func (r *drillRow) drill() (drills.Drill, error) {
	d := drills.Drill{
		ID: r.ID, OrgID: r.OrgID, Regions: r.Regions, Labels: definitions.LabelsOf(r.Labels), RequestedBy: r.RequestedBy,
		State: drills.State(r.State), AskedAt: r.AskedAt.UTC(), StagedAt: utc(r.StagedAt), HealedAt: utc(r.HealedAt),
		CanceledAt: utc(r.CanceledAt), ClosedAt: utc(r.ClosedAt), Signature: r.Signature,
	}
	parts := map[any]json.RawMessage{&d.Request: r.Request, &d.Channels: r.Channels, &d.Rules: r.Rules}
	if r.Receipt != nil {
		d.Receipt = new(drills.Receipt)
		parts[d.Receipt] = json.RawMessage(*r.Receipt)
	}
	for into, text := range parts {
		if err := json.Unmarshal(text, into); err != nil {
			return drills.Drill{}, fmt.Errorf("decode drill %s: %w", r.ID, err)
		}
	}
	return d, nil
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(t.UTC())
}

// CreateDrill stores a drill that begins now, and returns it with its rules, channels and regions.
// region is where it runs when neither the request nor its check or rules name one. What is asked
// for and does not exist, and a drill without anyone to notify, is a CodeInvalid error, another
// one under way for one of the channels a CodeConflict error, and more of them a day than the plan
// allows a CodePlanLimit error.
func (s *Store) CreateDrill(ctx context.Context, d drills.Drill, region string) (drills.Drill, error) {
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		tier, err := accounts.LockOrganization(ctx, tx, d.OrgID)
		if err != nil {
			return err
		}
		d.ID, d.AskedAt, d.State = pg.IDOrNew(d.ID), s.db.Instant(), drills.Asked
		if err := s.prepareDrill(ctx, tx, &d, region); err != nil {
			return err
		}
		if err := judgeDrill(ctx, tx, &d, tier); err != nil {
			return err
		}
		row, err := rowOfDrill(&d)
		if err != nil {
			return err
		}
		if _, err := tx.NewInsert().Model(row).Exec(ctx); err != nil {
			return fmt.Errorf("insert: %w", err)
		}
		return accounts.KeepAnswer(ctx, tx, d)
	})
	if err != nil {
		return drills.Drill{}, pg.Wrap("create drill", err)
	}
	return d, nil
}

// prepareDrill fills in the rules of a drill, where it runs and whom it notifies.
func (s *Store) prepareDrill(ctx context.Context, tx bun.Tx, d *drills.Drill, region string) error {
	copied, check, err := s.drillSource(ctx, tx, d)
	if err != nil {
		return err
	}
	d.Regions = slices.Clone(d.Request.Regions)
	if check != nil {
		d.Labels = definitions.LabelsOf(check.Labels)
		if len(d.Regions) == 0 {
			d.Regions = slices.DeleteFunc(slices.Clone(check.Regions), vigil.IsLocation) // drills do not run at locations
		}
	}
	if len(d.Regions) == 0 {
		d.Regions = []string{region}
	}
	d.Rules = drills.Rules(d, copied)
	if err := s.drillChannels(ctx, tx, d); err != nil {
		return err
	}
	member := "channel_ids"
	switch {
	case d.Request.CheckID != uuid.Nil:
		member = "check_id"
	case len(d.Request.RuleIDs) > 0:
		member = "rule_ids"
	case len(d.Request.SubscriptionIDs) > 0:
		member = "subscription_ids"
	}
	if len(d.Channels) == 0 {
		return vigil.Invalid(member, "leads to no enabled channel, so the drill would notify of nothing")
	}
	if len(d.Channels) > drills.MaxChannels {
		return vigil.Invalid(member, "leads to %d channels; a drill has at most %d", len(d.Channels), drills.MaxChannels)
	}
	return confirmPager(ctx, tx, d)
}

// drillChannels fills in the channels that a drill notifies.
func (s *Store) drillChannels(ctx context.Context, tx bun.Tx, d *drills.Drill) error {
	recipients, err := s.incidents.Recipients(ctx, tx, d.OrgID, d.Rules)
	if err != nil {
		return err
	}
	subscribers, err := s.incidents.DrillSubscribers(ctx, tx, d.OrgID, d.Request.SubscriptionIDs)
	if err != nil {
		return err
	}
	for i, id := range d.Request.SubscriptionIDs {
		at := slices.IndexFunc(subscribers, func(s subscription.Subscriber) bool { return s.ID == id })
		if at < 0 {
			return vigil.Invalid(fmt.Sprintf("subscription_ids[%d]", i), "is not a subscription of this organization")
		}
		if !subscribers[at].Channel.Enabled {
			return vigil.Invalid(fmt.Sprintf("subscription_ids[%d]", i), "is disabled, or its channel is, so the drill would not reach it")
		}
	}
	for _, r := range vigil.OpeningRecipients(s.incidents.JoinDrillSubscribers(recipients, subscribers)) {
		channel := drills.Channel{ID: r.ChannelID, Name: r.Name, Type: r.Type}
		for _, one := range subscribers {
			if one.Channel.ID == r.ChannelID {
				channel.Subscriptions = append(channel.Subscriptions, drills.Subscription{ID: one.ID, Name: one.Name})
			}
		}
		d.Channels = append(d.Channels, channel)
	}
	return nil
}

// confirmPager returns a CodeInvalid error when a drill wakes people and does not say that this is
// wanted: by a pager of its own, or by one that a channel falls back to.
func confirmPager(ctx context.Context, tx bun.Tx, d *drills.Drill) error {
	if d.Request.ConfirmPager {
		return nil
	}
	for _, c := range d.Channels {
		if c.Type == vigil.ChannelPager {
			return vigil.Invalid("confirm_pager", "must be true: the drill pages by the channel %s", c.Name)
		}
	}
	var pagers []string
	err := tx.NewRaw(`SELECT f.name FROM channels AS c JOIN channels AS f ON f.id = c.fallback_channel_id AND f.org_id = c.org_id AND f.enabled
		WHERE c.org_id = ? AND c.id = ANY(?) AND f.type = ? ORDER BY f.name LIMIT 1`,
		d.OrgID, pgdialect.Array(drillChannelIDs(d)), string(vigil.ChannelPager)).Scan(ctx, &pagers)
	if err != nil {
		return fmt.Errorf("read the fallbacks: %w", err)
	}
	if len(pagers) > 0 {
		return vigil.Invalid("confirm_pager", "must be true: a channel of the drill falls back to the pager %s", pagers[0])
	}
	return nil
}

func drillChannelIDs(d *drills.Drill) []uuid.UUID {
	ids := make([]uuid.UUID, len(d.Channels))
	for i, c := range d.Channels {
		ids[i] = c.ID
	}
	return ids
}

// drillSource reads the rules that a drill copies, and the check that they all are of, nil for
// those of several.
func (s *Store) drillSource(ctx context.Context, tx bun.Tx, d *drills.Drill) ([]vigil.Rule, *definitions.CheckRow, error) {
	var rows []definitions.RuleRow
	query := tx.NewSelect().Model(&rows).Where("ar.org_id = ? AND ar."+pg.NotDrill, d.OrgID).OrderExpr("ar.created_at, ar.id")
	of := d.Request.CheckID
	switch {
	case of != uuid.Nil:
		query = query.Where("ar.check_id = ? AND ar.enabled", of).Limit(drills.MaxRules)
	case len(d.Request.RuleIDs) > 0:
		query = query.Where("ar.id = ANY(?)", pgdialect.Array(d.Request.RuleIDs))
	case len(d.Request.SubscriptionIDs) > 0:
		return nil, nil, nil
	default:
		return nil, nil, ownDrillChannels(ctx, tx, d)
	}
	if err := query.Scan(ctx); err != nil {
		return nil, nil, fmt.Errorf("read the rules: %w", err)
	}
	for i, id := range d.Request.RuleIDs {
		if !slices.ContainsFunc(rows, func(r definitions.RuleRow) bool { return r.ID == id }) {
			return nil, nil, vigil.Invalid(fmt.Sprintf("rule_ids[%d]", i), "is not an alert rule of this organization")
		}
	}
	for _, row := range rows {
		if of = row.CheckID; of != rows[0].CheckID {
			of = uuid.Nil
			break
		}
	}
	rules, err := definitions.RulesOf(rows)
	if err != nil {
		return nil, nil, err
	}
	if of == uuid.Nil {
		return rules, nil, nil
	}
	var check definitions.CheckRow
	err = tx.NewSelect().Model(&check).Column("id", "regions", "labels").
		Where("c.id = ? AND c.org_id = ? AND c."+pg.NotDrill, of, d.OrgID).Scan(ctx)
	switch {
	case pg.IsNoRow(err):
		return nil, nil, vigil.Invalid("check_id", "is not a check of this organization")
	case err != nil:
		return nil, nil, fmt.Errorf("read the check: %w", err)
	case len(rules) == 0:
		return nil, nil, vigil.Invalid("check_id", "has no enabled alert rule, so the drill would notify of nothing")
	}
	return rules, &check, nil
}

// ownDrillChannels returns a CodeInvalid error when a channel is not the organization's.
func ownDrillChannels(ctx context.Context, tx bun.Tx, d *drills.Drill) error {
	var own []uuid.UUID
	err := tx.NewRaw("SELECT id FROM channels WHERE org_id = ? AND id = ANY(?)", d.OrgID, pgdialect.Array(d.Request.ChannelIDs)).
		Scan(ctx, &own)
	if err != nil {
		return fmt.Errorf("read the channels: %w", err)
	}
	for i, id := range d.Request.ChannelIDs {
		if !slices.Contains(own, id) {
			return vigil.Invalid(fmt.Sprintf("channel_ids[%d]", i), "is not a channel of this organization")
		}
	}
	return nil
}

// drillDay is the time in which drills are counted.
const drillDay = 24 * time.Hour

// judgeDrill returns an error when a drill is under way for one of the channels, or when there
// were as many within a day as the plan allows.
func judgeDrill(ctx context.Context, tx bun.Tx, d *drills.Drill, tier account.Tier) error {
	var busy []uuid.UUID
	err := tx.NewRaw(`SELECT c.id FROM drills AS dr, unnest(dr.channel_ids) AS c (id)
		WHERE dr.org_id = ? AND dr.state <> 'closed' AND c.id = ANY(?)`, d.OrgID, pgdialect.Array(drillChannelIDs(d))).Scan(ctx, &busy)
	if err != nil {
		return fmt.Errorf("look for other drills: %w", err)
	}
	for _, c := range d.Channels {
		if slices.Contains(busy, c.ID) {
			err := vigil.Errorf(vigil.CodeConflict, "A drill of the channel %s is under way; wait for its end, or cancel it.", c.Name)
			err.Details = map[string]any{"channel_id": c.ID}
			return err
		}
	}
	limit := tier.DrillsPerDay()
	if limit == account.Unlimited {
		return nil
	}
	var n int64
	err = tx.NewRaw("SELECT count(*) FROM drills WHERE org_id = ? AND asked_at > ?", d.OrgID, d.AskedAt.Add(-drillDay)).Scan(ctx, &n)
	if err != nil {
		return fmt.Errorf("count the drills: %w", err)
	}
	if n < limit {
		return nil
	}
	return accounts.PlanLimit(tier, limit, float64(n), 1, "There cannot be %g more drill now: there were %g within the last 24 hours, "+
		"and the %[4]s plan allows %[3]d. Try again later.")
}

// Drill finds a drill of the organization. An unknown one is a CodeNotFound error.
func (s *Store) Drill(ctx context.Context, orgID, id uuid.UUID) (drills.Drill, error) {
	var row drillRow
	if err := s.db.NewSelect().Model(&row).Where("dr.id = ? AND dr.org_id = ?", id, orgID).Scan(ctx); err != nil {
		return drills.Drill{}, pg.Found("drill", err)
	}
	drill, err := row.drill()
	return drill, pg.Wrap("read drill", err)
}

// Drills returns a page of an organization's drills that the filter selects, newest first, and
// the extent of the list.
func (s *Store) Drills(ctx context.Context, orgID uuid.UUID, f drills.Filter) ([]drills.Drill, listing.Extent, error) {
	rows, extent, err := pg.SmallRows[drillRow]{
		What: "drills", Alias: "dr", Order: pg.Newest("asked_at"),
		Selected: func(query *bun.SelectQuery) *bun.SelectQuery {
			query = query.Where("dr.org_id = ?", orgID)
			if f.Verdict != "" {
				query = query.Where("dr.verdict = ?", string(f.Verdict))
			}
			return query
		},
		Position: func(r *drillRow) listing.PagePosition { return pg.TimePosition(r.AskedAt, r.ID) },
	}.Page(ctx, s.db, f.Page)
	if err != nil {
		return nil, listing.Extent{}, err
	}
	drills, err := pg.TryMap(rows, (*drillRow).drill)
	return drills, extent, pg.Wrap("list drills", err)
}

// CancelDrill asks for the end of a drill: its check is made healthy, so that those who were notified
// of the opening are notified of the end, and the verdict is canceled. Repeated, it changes nothing.
// A drill that has ended is a CodeConflict error, an unknown one a CodeNotFound error.
func (s *Store) CancelDrill(ctx context.Context, orgID, id uuid.UUID) (drills.Drill, error) {
	var drill drills.Drill
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		var row drillRow
		err := tx.NewSelect().Model(&row).Where("dr.id = ? AND dr.org_id = ?", id, orgID).For("UPDATE").Scan(ctx)
		if err != nil {
			return pg.Found("drill", err)
		}
		if row.State == string(drills.Closed) {
			return vigil.Errorf(vigil.CodeConflict, "The drill has ended and cannot be canceled any more.")
		}
		if row.CanceledAt == nil {
			row.CanceledAt = new(s.db.Instant())
			if _, err := tx.NewUpdate().Model(&row).WherePK().Column("canceled_at").Exec(ctx); err != nil {
				return fmt.Errorf("store: %w", err)
			}
		}
		drill, err = row.drill()
		return err
	})
	return drill, pg.Wrap("cancel drill", err)
}
