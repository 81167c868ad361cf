// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/maintenance"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/internal/subscription"
)

// prepare stores the state, at the same time in each database.
func (w *changeWay) prepare(ctx context.Context, s *changedState) error {
	w.clock.Set(epoch())
	if _, _, err := w.store.CreateAccount(ctx, s.org, s.user, nil); err != nil {
		return err
	}
	request := project.ApplyRequest{
		OrgID: s.org.ID, Project: "shop", Plan: account.Plan{Tier: account.TierFree}, Allow: account.Allowance{CreationsPerHour: 9},
	}
	_, err := w.store.Apply(ctx, request, func(project.Inventory) (project.Changes, error) {
		return project.Changes{
			Channels: copies(s.made.Channels), Checks: copies(s.made.Checks), Rules: copies(s.made.Rules),
			Pages: copies(s.made.Pages), Windows: copies(s.made.Windows),
			Subscriptions: copies(s.made.Subscriptions),
		}, nil
	})
	if err != nil {
		return fmt.Errorf("store the state: %w", err)
	}
	if s.incident != uuid.Nil {
		rule := s.made.Rules[0].After
		request := vigil.OpenRequest{ID: s.incident, CheckID: rule.CheckID, Rules: []uuid.UUID{rule.ID}}
		if _, err := w.store.OpenIncident(ctx, request); err != nil {
			return fmt.Errorf("open an incident: %w", err)
		}
	}
	if s.full {
		_, err := w.store.DB().NewRaw(`INSERT INTO checks
				(id, org_id, name, type, config, target, interval_ms, regions, enabled, simultaneous, anchor, revision, created_at, updated_at)
			SELECT gen_random_uuid(), org_id, 'filler', type, config, target, interval_ms, regions, false, simultaneous, anchor, 1, created_at,
				updated_at
			FROM checks, generate_series(?::int, 1000) WHERE id = ?`, len(s.made.Checks)+1, s.made.Checks[0].After.ID).Exec(ctx)
		if err != nil {
			return fmt.Errorf("fill the organization: %w", err)
		}
	}
	w.clock.Set(epoch().Add(95 * time.Second)) // some slots are missed
	return nil
}

// copies returns edits that can be changed: the ways share what the test has drawn.
func copies[T any](edits []project.Edit[T]) []project.Edit[T] {
	edits = slices.Clone(edits)
	for i := range edits {
		edits[i].After = new(*edits[i].After)
	}
	return edits
}

// make makes a change, and returns the checks to wake.
func (w *changeWay) make(ctx context.Context, s *changedState, c *drawnChange) ([]vigil.CheckEdit, error) {
	switch w.name {
	case "apply":
		return w.apply(ctx, s, c)
	case "bulk":
		filter := listing.CheckFilter{IDs: c.ids}
		if c.verb == "delete" {
			return w.store.DeleteChecks(ctx, s.org.ID, filter, false)
		}
		return w.store.UpdateChecks(ctx, s.org.ID, filter, s.plan, false, editing(c.check.edit))
	}
	if c.verb == "create" {
		return w.create(ctx, s, c)
	}
	return w.single(ctx, s, c)
}

func editing[T any](edit func(*T)) func(*T) error {
	return func(v *T) error { edit(v); return nil }
}

func (w *changeWay) create(ctx context.Context, s *changedState, c *drawnChange) (woken []vigil.CheckEdit, err error) {
	switch c.kind {
	case project.KindCheck:
		var after vigil.Check
		if after, err = w.store.CreateCheck(ctx, *c.check.create, s.plan, s.allow); err == nil {
			woken = []vigil.CheckEdit{{After: after, Changed: true}}
		}
	case project.KindRule:
		if _, err = w.store.CreateRule(ctx, *c.rule.create); err == nil {
			woken = rulesOnly(s)
		}
	case project.KindChannel:
		_, err = w.store.CreateChannel(ctx, *c.channel.create)
	case project.KindStatusPage:
		_, err = w.store.CreateStatusPage(ctx, *c.page.create)
	case project.KindMaintenance:
		_, err = w.store.CreateMaintenanceWindow(ctx, *c.window.create)
	case project.KindSubscription:
		_, err = w.store.CreateSubscription(ctx, *c.subscription.create)
	}
	return woken, err
}

// single changes or deletes one definition.
func (w *changeWay) single(ctx context.Context, s *changedState, c *drawnChange) (woken []vigil.CheckEdit, err error) {
	org, id, deletes := s.org.ID, c.ids[0], c.verb == "delete"
	switch c.kind {
	case project.KindCheck:
		return w.singleCheck(ctx, s, c)
	case project.KindRule:
		check := s.made.Checks[0].After.ID
		if deletes {
			err = w.store.DeleteRule(ctx, org, check, id, nil)
		} else {
			_, err = w.store.UpdateRule(ctx, org, check, id, editing(c.rule.edit))
		}
		if err == nil {
			woken = rulesOnly(s)
		}
	case project.KindChannel:
		if deletes {
			_, err = w.store.DeleteChannel(ctx, org, id, false, nil)
		} else {
			_, err = w.store.UpdateChannel(ctx, org, id, editing(c.channel.edit))
		}
	case project.KindStatusPage:
		if deletes {
			err = w.store.DeleteStatusPage(ctx, org, id, nil)
		} else {
			_, err = w.store.UpdateStatusPage(ctx, org, id, editing(c.page.edit))
		}
	case project.KindMaintenance:
		if deletes {
			err = w.store.DeleteMaintenanceWindow(ctx, org, id, nil)
		} else {
			_, err = w.store.UpdateMaintenanceWindow(ctx, org, id, editing(c.window.edit))
		}
	case project.KindSubscription:
		if deletes {
			err = w.store.DeleteSubscription(ctx, org, id, nil)
		} else {
			_, err = w.store.UpdateSubscription(ctx, org, id, editing(c.subscription.edit))
		}
	}
	return woken, err
}

func (w *changeWay) singleCheck(ctx context.Context, s *changedState, c *drawnChange) ([]vigil.CheckEdit, error) {
	if c.verb == "delete" {
		edit, err := w.store.DeleteCheck(ctx, s.org.ID, c.ids[0], nil)
		return []vigil.CheckEdit{edit}, err
	}
	var before vigil.Check
	after, err := w.store.UpdateCheck(ctx, s.org.ID, c.ids[0], s.plan, func(check *vigil.Check) error {
		before = *check
		c.check.edit(check)
		return nil
	})
	return []vigil.CheckEdit{{Before: before, After: after, Changed: err == nil && after.Revision > before.Revision}}, err
}

// rulesOnly is what a change of a rule of the first check wakes.
func rulesOnly(s *changedState) []vigil.CheckEdit {
	check := vigil.Check{ID: s.made.Checks[0].After.ID, OrgID: s.org.ID}
	return []vigil.CheckEdit{{Before: check, After: check, Changed: true}}
}

func (w *changeWay) apply(ctx context.Context, s *changedState, c *drawnChange) ([]vigil.CheckEdit, error) {
	request := project.ApplyRequest{
		OrgID: s.org.ID, Project: "shop", Plan: s.plan, Allow: s.allow,
		IDs: map[project.Kind][]uuid.UUID{c.kind: c.ids, project.KindCheck: {s.made.Checks[0].After.ID}},
	}
	if c.kind == project.KindCheck {
		request.IDs[project.KindCheck] = c.ids
	}
	applied, err := w.store.Apply(ctx, request, func(inv project.Inventory) (changes project.Changes, err error) {
		switch c.kind {
		case project.KindCheck:
			changes.Checks = editsOf(c, c.check, inv.Checks, func(v *vigil.Check) uuid.UUID { return v.ID })
			changes.Checks = slices.DeleteFunc(changes.Checks, func(e project.Edit[vigil.Check]) bool { return sameCheck(e.Before, e.After) })
		case project.KindRule:
			changes.Rules = editsOf(c, c.rule, inv.Rules, func(v *vigil.Rule) uuid.UUID { return v.ID })
		case project.KindChannel:
			changes.Channels = editsOf(c, c.channel, inv.Channels, func(v *vigil.Channel) uuid.UUID { return v.ID })
		case project.KindStatusPage:
			changes.Pages = editsOf(c, c.page, inv.Pages, func(v *overview.StatusPage) uuid.UUID { return v.ID })
		case project.KindMaintenance:
			changes.Windows = editsOf(c, c.window, inv.Windows, func(v *maintenance.Window) uuid.UUID { return v.ID })
		case project.KindSubscription:
			changes.Subscriptions = editsOf(c, c.subscription, inv.Subscriptions, func(v *subscription.Subscription) uuid.UUID { return v.ID })
		}
		return changes, nil
	})
	return applied.Checks, err
}

// sameCheck reports whether the edits of the test leave a check as it is.
func sameCheck(a, b *vigil.Check) bool {
	return a != nil && b != nil && slices.Equal(a.Regions, b.Regions) && a.Name == b.Name && a.Interval == b.Interval &&
		a.Enabled == b.Enabled && a.Simultaneous == b.Simultaneous && a.Retry == b.Retry && len(a.Config) == len(b.Config)
}

// editsOf are the edits of an apply that make a change.
func editsOf[T any](c *drawnChange, of changeOf[T], stored []T, id func(*T) uuid.UUID) (edits []project.Edit[T]) {
	members := []string{"name"}
	if c.verb == "create" {
		return []project.Edit[T]{{After: new(*of.create), Members: members}}
	}
	for i := range stored {
		if !slices.Contains(c.ids, id(&stored[i])) {
			continue
		}
		edit := project.Edit[T]{Before: &stored[i], Members: members}
		if c.verb == "update" {
			edit.After = new(stored[i])
			of.edit(edit.After)
		}
		edits = append(edits, edit)
	}
	return edits
}

// rows are what is stored of the organization, without what differs from one execution to the
// next: times of the database's clock, ids that it makes up, and sealed secrets. What an apply
// stores counts as applied; that is its own.
func (w *changeWay) rows(ctx context.Context, s *changedState, c *drawnChange) (rows string, err error) {
	checks := slices.Clone(c.ids)
	for _, edit := range s.made.Checks {
		checks = append(checks, edit.After.ID)
	}
	err = w.store.DB().NewRaw(`WITH kept (name, line) AS (
			SELECT 'check', to_jsonb(t) FROM checks AS t WHERE org_id = ?0 AND name <> 'filler'
			UNION ALL SELECT 'loop', to_jsonb(t) FROM check_regions AS t WHERE org_id = ?0
			UNION ALL SELECT 'tombstone', to_jsonb(t) - '{created_at,created_xid}'::text[] FROM loop_tombstones AS t WHERE org_id = ?0
			UNION ALL SELECT 'gap', to_jsonb(t) - '{id}'::text[] FROM result_gaps AS t WHERE check_id = ANY(?1)
			UNION ALL SELECT 'rule', to_jsonb(t) FROM alert_rules AS t WHERE org_id = ?0
			UNION ALL SELECT 'channel', to_jsonb(t) - '{config}'::text[] FROM channels AS t WHERE org_id = ?0
			UNION ALL SELECT 'page', to_jsonb(t) FROM status_pages AS t WHERE org_id = ?0
			UNION ALL SELECT 'shown', to_jsonb(t) FROM status_page_checks AS t WHERE page_id IN (SELECT id FROM status_pages WHERE org_id = ?0)
			UNION ALL SELECT 'window', to_jsonb(t) - '{deleted_at}'::text[] || jsonb_build_object('deleted', deleted_at IS NOT NULL)
				FROM maintenance_windows AS t WHERE org_id = ?0
			UNION ALL SELECT 'occurrence', jsonb_build_array(window_id, starts_at, ends_at, removed_at IS NULL)
				FROM maintenance_occurrences WHERE org_id = ?0
			UNION ALL SELECT 'subscription', to_jsonb(t) FROM subscriptions AS t WHERE org_id = ?0
			UNION ALL SELECT 'creation', to_jsonb(t) FROM check_creations AS t WHERE org_id = ?0
			UNION ALL SELECT 'incident', jsonb_build_array(id, status, resolution, resolved_at) FROM incidents WHERE org_id = ?0
			UNION ALL SELECT 'delivery', jsonb_build_array(incident_id, channel_id, status) FROM deliveries WHERE org_id = ?0
			UNION ALL SELECT 'audit', jsonb_build_array(action, resource_id, user_id, user_email, members, at) FROM audit_log WHERE org_id = ?0
		)
		SELECT coalesce(string_agg(line, e'\n' ORDER BY line COLLATE "C"), '') FROM (
			SELECT name || ' ' || CASE WHEN jsonb_typeof(line) = 'object'
				THEN line - '{changed_at,changed_xid,extended_at,applied_version}'::text[] ELSE line END AS line FROM kept
		) AS lines`, s.org.ID, pgdialect.Array(checks)).Scan(ctx, &rows)
	if err != nil {
		return "", fmt.Errorf("read the rows: %w", err)
	}
	return rows, nil
}
