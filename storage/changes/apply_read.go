// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/maintenance"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/storage/definitions"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// inventory reads what is stored. Rows that may be edited are locked first, unless it is a
// dry run: checks, channels, pages, each by id, which prevents deadlocks.
func (a *applyRun) inventory(ctx context.Context) (project.Inventory, error) {
	var inv project.Inventory
	for _, read := range []func(context.Context, *project.Inventory) error{
		a.readChecks, a.readChannels, a.readPages, a.readWindows, a.readSubscriptions, a.readRules, a.readOutside,
	} {
		if err := read(ctx, &inv); err != nil {
			return project.Inventory{}, err
		}
	}
	return inv, nil
}

// selection is SQL for the ids of a table's definitions that an apply reads.
func (a *applyRun) selection(table string, kind project.Kind) *bun.RawQuery {
	name := "name"
	if kind == project.KindStatusPage {
		name = "title"
	}
	return a.tx.NewRaw(`SELECT id FROM ?table WHERE org_id = ?org AND managed_tool = ?tool AND managed_project = ?project
		UNION SELECT id FROM ?table WHERE org_id = ?org AND id = ANY(?ids::uuid[])
		UNION SELECT id FROM ?table WHERE org_id = ?org AND ?name = ANY(?names::text[])`,
		pg.Named{
			"table": bun.Ident(table), "name": bun.Ident(name), "org": a.request.OrgID, "tool": vigil.ToolApply, "project": a.request.Project,
			"ids":   pgdialect.Array(append([]uuid.UUID{}, a.request.IDs[kind]...)),
			"names": pgdialect.Array(append([]string{}, a.request.Names[kind]...)),
		})
}

// lock locks the definitions of a table that may be edited, and those that it refers to so
// that they are not deleted meanwhile.
func (a *applyRun) lock(ctx context.Context, table string, kind project.Kind) error {
	if a.request.DryRun {
		return nil
	}
	for _, where := range []string{"managed_tool = ?tool AND managed_project = ?project", "id = ANY(?ids::uuid[])"} {
		_, err := a.tx.NewRaw("SELECT FROM ?table WHERE org_id = ?org AND "+where+" ORDER BY id FOR NO KEY UPDATE",
			pg.Named{
				"table": bun.Ident(table), "org": a.request.OrgID, "tool": vigil.ToolApply, "project": a.request.Project,
				"ids": pgdialect.Array(append([]uuid.UUID{}, a.request.IDs[kind]...)),
			}).Exec(ctx)
		if err != nil {
			return fmt.Errorf("lock %s: %w", table, err)
		}
	}
	return nil
}

func (a *applyRun) readChecks(ctx context.Context, inv *project.Inventory) error {
	if err := a.lock(ctx, "checks", project.KindCheck); err != nil {
		return err
	}
	var rows []definitions.CheckRow
	err := a.tx.NewSelect().
		Model(&rows).
		Where("c.id IN (?) AND c."+pg.NotDrill, a.selection("checks", project.KindCheck)).
		OrderExpr("c.id").
		Scan(ctx)
	if err != nil {
		return fmt.Errorf("read the checks: %w", err)
	}
	inv.Checks, err = a.db.definitions.OpenedChecks(rows)
	return err
}

// readWindows reads the maintenance windows of the project.
func (a *applyRun) readWindows(ctx context.Context, inv *project.Inventory) error {
	if err := a.lock(ctx, "maintenance_windows", project.KindMaintenance); err != nil {
		return err
	}
	var rows []maintenanceRow
	err := a.tx.NewSelect().Model(&rows).Where("w.deleted_at IS NULL").
		Where("w.id IN (?)", a.selection("maintenance_windows", project.KindMaintenance)).OrderExpr("w.id").Scan(ctx)
	if err != nil {
		return fmt.Errorf("read the maintenance windows: %w", err)
	}
	inv.Windows = make([]maintenance.Window, len(rows))
	for i := range rows {
		inv.Windows[i] = rows[i].window()
	}
	return nil
}

// readSubscriptions reads the subscriptions of the project.
func (a *applyRun) readSubscriptions(ctx context.Context, inv *project.Inventory) error {
	if err := a.lock(ctx, "subscriptions", project.KindSubscription); err != nil {
		return err
	}
	var rows []subscriptionRow
	err := a.tx.NewSelect().Model(&rows).Where("s.id IN (?)", a.selection("subscriptions", project.KindSubscription)).
		OrderExpr("s.id").Scan(ctx)
	if err != nil {
		return fmt.Errorf("read the subscriptions: %w", err)
	}
	inv.Subscriptions = subscriptionsOf(rows)
	return nil
}

// readSubscribers reads the subscriptions elsewhere that name channels of the project.
func (a *applyRun) readSubscribers(ctx context.Context, inv *project.Inventory, channels []uuid.UUID) error {
	known := make([]uuid.UUID, len(inv.Subscriptions))
	for i := range inv.Subscriptions {
		known[i] = inv.Subscriptions[i].ID
	}
	var rows []subscriptionRow
	err := a.tx.NewSelect().Model(&rows).Where("s.org_id = ? AND s.channel_id = ANY(?::uuid[]) AND NOT s.id = ANY(?::uuid[])",
		a.request.OrgID, pgdialect.Array(channels), pgdialect.Array(known)).OrderExpr("s.name, s.id").Scan(ctx)
	inv.Subscribers = subscriptionsOf(rows)
	return pg.Wrap("read the subscriptions of the channels", err)
}

func (a *applyRun) readChannels(ctx context.Context, inv *project.Inventory) error {
	if err := a.lock(ctx, "channels", project.KindChannel); err != nil {
		return err
	}
	var rows []definitions.ChannelRow
	query := a.tx.NewSelect().Model(&rows).Where("ch.id IN (?)", a.selection("channels", project.KindChannel)).OrderExpr("ch.id")
	if !a.request.DryRun {
		query = query.For("SHARE") // rules refer to them, and must find them at the end
	}
	err := query.Scan(ctx)
	if err != nil {
		return fmt.Errorf("read the channels: %w", err)
	}
	if inv.Channels, err = a.db.definitions.OpenedChannels(rows); err != nil {
		return err
	}
	inv.Fallbacks, err = a.fallbacks(ctx)
	return err
}

// fallbacks follows the fallbacks of the channels that an apply reads, also where they lead out of
// its project.
func (a *applyRun) fallbacks(ctx context.Context) (map[uuid.UUID]uuid.UUID, error) {
	var chain []struct {
		ID uuid.UUID `bun:"id"`
		To uuid.UUID `bun:"fallback_channel_id"`
	}
	err := a.tx.NewRaw(`WITH RECURSIVE chain AS (
			SELECT id, fallback_channel_id FROM channels WHERE id IN (?) AND fallback_channel_id IS NOT NULL
			UNION
			SELECT c.id, c.fallback_channel_id FROM chain JOIN channels AS c ON c.id = chain.fallback_channel_id
			WHERE c.fallback_channel_id IS NOT NULL
		) SELECT * FROM chain`, a.selection("channels", project.KindChannel)).Scan(ctx, &chain)
	if err != nil {
		return nil, fmt.Errorf("follow the fallbacks: %w", err)
	}
	next := make(map[uuid.UUID]uuid.UUID, len(chain))
	for _, channel := range chain {
		next[channel.ID] = channel.To
	}
	return next, nil
}

func (a *applyRun) readPages(ctx context.Context, inv *project.Inventory) error {
	if err := a.lock(ctx, "status_pages", project.KindStatusPage); err != nil {
		return err
	}
	var rows []StatusPageRow
	err := a.tx.NewSelect().Model(&rows).ColumnExpr("sp.*").ColumnExpr(PageChecks).
		Where("sp.id IN (?)", a.selection("status_pages", project.KindStatusPage)).OrderExpr("sp.id").Scan(ctx)
	if err != nil {
		return fmt.Errorf("read the status pages: %w", err)
	}
	inv.Pages = make([]overview.StatusPage, len(rows))
	for i := range rows {
		if inv.Pages[i], err = rows[i].Page(); err != nil {
			return err
		}
	}
	inv.Slugs = make(map[string]uuid.UUID)
	if len(a.request.Slugs) == 0 {
		return nil
	}
	var taken []struct {
		ID   uuid.UUID `bun:"id"`
		Slug string    `bun:"slug"`
	}
	err = a.tx.NewRaw("SELECT id, slug FROM status_pages WHERE slug = ANY(?::text[])", pgdialect.Array(a.request.Slugs)).Scan(ctx, &taken)
	if err != nil {
		return fmt.Errorf("read the slugs: %w", err)
	}
	for _, page := range taken {
		inv.Slugs[page.Slug] = page.ID
	}
	return nil
}

// readRules reads the rules of the checks that were read and of the project, and those
// elsewhere that notify a channel of the project.
func (a *applyRun) readRules(ctx context.Context, inv *project.Inventory) error {
	checks := make([]uuid.UUID, len(inv.Checks))
	for i := range inv.Checks {
		checks[i] = inv.Checks[i].ID
	}
	var own []uuid.UUID
	for _, channel := range inv.Channels {
		if by := channel.ManagedBy; by != nil && by.Tool == vigil.ToolApply && by.Project == a.request.Project {
			own = append(own, channel.ID)
		}
	}
	var rows []definitions.RuleRow
	err := a.tx.NewSelect().Model(&rows).Where(`ar.id IN (SELECT id FROM alert_rules WHERE check_id = ANY(?checks::uuid[])
			UNION SELECT id FROM alert_rules WHERE org_id = ?org AND managed_tool = ?tool AND managed_project = ?project
			UNION SELECT id FROM alert_rules WHERE org_id = ?org AND id = ANY(?ids::uuid[])) AND ar.`+pg.NotDrill,
		pg.Named{
			"checks": pgdialect.Array(checks), "org": a.request.OrgID, "tool": vigil.ToolApply, "project": a.request.Project,
			"ids": pgdialect.Array(append([]uuid.UUID{}, a.request.IDs[project.KindRule]...)),
		}).OrderExpr("ar.id").Scan(ctx)
	if err != nil {
		return fmt.Errorf("read the rules: %w", err)
	}
	if inv.Rules, err = definitions.RulesOf(rows); err != nil || len(own) == 0 {
		return err
	}
	if err := a.readSubscribers(ctx, inv, own); err != nil {
		return err
	}
	known := make([]uuid.UUID, len(rows))
	for i := range rows {
		known[i] = rows[i].ID
	}
	var users []definitions.RuleRow
	err = a.tx.NewSelect().
		Model(&users).
		Where("ar.org_id = ? AND ar."+pg.NotDrill+" AND ar.channel_ids && ?::uuid[] AND NOT ar.id = ANY(?::uuid[])",
			a.request.OrgID, pgdialect.Array(own), pgdialect.Array(known)).
		OrderExpr("ar.name, ar.id").
		Scan(ctx)
	if err != nil {
		return fmt.Errorf("read the rules of the channels: %w", err)
	}
	inv.Users, err = definitions.RulesOf(users)
	return err
}

// readOutside reads who changed the definitions that have another version than apply
// stored.
func (a *applyRun) readOutside(ctx context.Context, inv *project.Inventory) error {
	var changed []uuid.UUID
	add := func(id uuid.UUID, version, applied int64) {
		if applied > 0 && version > applied {
			changed = append(changed, id)
		}
	}
	for i := range inv.Checks {
		add(inv.Checks[i].ID, inv.Checks[i].Version, inv.Checks[i].AppliedVersion)
	}
	for i := range inv.Channels {
		add(inv.Channels[i].ID, inv.Channels[i].Version, inv.Channels[i].AppliedVersion)
	}
	for i := range inv.Rules {
		add(inv.Rules[i].ID, inv.Rules[i].Version, inv.Rules[i].AppliedVersion)
	}
	for i := range inv.Pages {
		add(inv.Pages[i].ID, inv.Pages[i].Version, inv.Pages[i].AppliedVersion)
	}
	for i := range inv.Windows {
		add(inv.Windows[i].ID, inv.Windows[i].Version, inv.Windows[i].AppliedVersion)
	}
	for i := range inv.Subscriptions {
		add(inv.Subscriptions[i].ID, inv.Subscriptions[i].Version, inv.Subscriptions[i].AppliedVersion)
	}
	if len(changed) == 0 {
		return nil
	}
	var rows []struct {
		ResourceID uuid.UUID `bun:"resource_id"`
		UserEmail  string    `bun:"user_email"`
		UserName   string    `bun:"user_name"`
		At         time.Time `bun:"at"`
	}
	err := a.tx.NewRaw(`SELECT DISTINCT ON (resource_id) resource_id, user_email, user_name, at FROM audit_log
		WHERE org_id = ? AND resource_id = ANY(?::uuid[]) ORDER BY resource_id, at DESC`,
		a.request.OrgID, pgdialect.Array(changed)).Scan(ctx, &rows)
	if err != nil {
		return fmt.Errorf("read who changed definitions: %w", err)
	}
	inv.Outside = make(map[uuid.UUID]project.OutsideChange, len(rows))
	for _, row := range rows {
		by := row.UserEmail
		if by == "" {
			by = row.UserName
		}
		inv.Outside[row.ResourceID] = project.OutsideChange{By: by, At: row.At.UTC()}
	}
	return nil
}
