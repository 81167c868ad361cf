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
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/definitions"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// StatusPageRow is a status page as Postgres stores it.
type StatusPageRow struct {
	bun.BaseModel `bun:"table:status_pages,alias:sp"`

	ID             uuid.UUID  `bun:"id,pk,type:uuid"`
	OrgID          uuid.UUID  `bun:"org_id,type:uuid"`
	Slug           string     `bun:"slug"`
	Title          string     `bun:"title"`
	Groups         []string   `bun:"groups,array"`
	NoIndex        bool       `bun:"noindex"`
	Enabled        bool       `bun:"enabled"`
	Accent         string     `bun:"accent"`
	Host           string     `bun:"host"`
	ResponseTimes  bool       `bun:"response_times"`
	Subscriptions  bool       `bun:"subscriptions"`
	HostVerifiedAt *time.Time `bun:"host_verified_at"`
	PasswordHash   string     `bun:"password_hash"`
	Version        int64      `bun:"version"`
	CreatedAt      time.Time  `bun:"created_at"`
	UpdatedAt      time.Time  `bun:"updated_at"`

	definitions.ManagedRow

	Checks  json.RawMessage `bun:"checks,scanonly"`
	Logo    bool            `bun:"logo,scanonly"`
	Readers int64           `bun:"readers,scanonly"`
}

// PageChecks is SQL about a row of status_pages: its checks, in their order.
const PageChecks = `(SELECT jsonb_agg(jsonb_build_object('check_id', pc.check_id, 'in_group', pc.in_group, 'name', pc.name)
	ORDER BY pc.in_group, pc.place) FROM status_page_checks AS pc WHERE pc.page_id = sp.id) AS checks,
	EXISTS (SELECT FROM status_page_logos AS pl WHERE pl.page_id = sp.id) AS logo,
	(SELECT count(*) FROM status_page_readers AS sr WHERE sr.page_id = sp.id AND sr.confirmed_at IS NOT NULL) AS readers`

func rowOfStatusPage(p *overview.StatusPage) *StatusPageRow {
	row := &StatusPageRow{
		ID: p.ID, OrgID: p.OrgID, Slug: p.Slug, Title: p.Title, Groups: make([]string, len(p.Groups)), NoIndex: p.NoIndex, Enabled: p.Enabled,
		Accent: p.Accent, Host: p.Host, ResponseTimes: p.ResponseTimes, Subscriptions: p.Subscriptions,
		Version: p.Version, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
		ManagedRow: definitions.ManagedColumns(p.ManagedBy, p.AppliedVersion),
	}
	for i, group := range p.Groups {
		row.Groups[i] = group.Name
	}
	return row
}

// Page returns the status page of a row.
func (r *StatusPageRow) Page() (overview.StatusPage, error) {
	page := overview.StatusPage{
		ID: r.ID, OrgID: r.OrgID, Slug: r.Slug, Title: r.Title, Groups: make([]overview.StatusGroup, len(r.Groups)), NoIndex: r.NoIndex,
		Enabled: r.Enabled, Version: r.Version, CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(),
		StatusLooks:    overview.StatusLooks{Accent: r.Accent, Host: r.Host, ResponseTimes: r.ResponseTimes, Subscriptions: r.Subscriptions},
		HostVerifiedAt: r.HostVerifiedAt, Protected: r.PasswordHash != "", Logo: r.Logo, Subscribers: r.Readers,
		ManagedBy: r.ManagedBy(), AppliedVersion: r.Applied,
	}
	for i, name := range r.Groups {
		page.Groups[i].Name = name
	}
	var checks []struct {
		CheckID uuid.UUID `json:"check_id"`
		InGroup int       `json:"in_group"`
		Name    string    `json:"name"`
	}
	if len(r.Checks) > 0 {
		if err := json.Unmarshal(r.Checks, &checks); err != nil {
			return overview.StatusPage{}, fmt.Errorf("read the checks of status page %s: %w", r.ID, err)
		}
	}
	for _, check := range checks {
		group := &page.Groups[check.InGroup]
		group.Checks = append(group.Checks, overview.PublicCheck{CheckID: check.CheckID, Name: check.Name})
	}
	return page, nil
}

// CreateStatusPage stores a new status page of its organization. Zero ids and times are
// filled in. More pages than the plan allows are a CodePlanLimit error, a slug that is taken
// a CodeConflict error, and a check that is not the organization's a CodeInvalid error.
func (s *Store) CreateStatusPage(ctx context.Context, p overview.StatusPage) (overview.StatusPage, error) {
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		tier, err := accounts.LockOrganization(ctx, tx, p.OrgID)
		if err != nil {
			return err
		}
		if err := s.edit(ctx, tx, p.OrgID, tier, &project.Changes{Pages: []project.Edit[overview.StatusPage]{{After: &p}}}); err != nil {
			return err
		}
		return accounts.KeepAnswer(ctx, tx, p)
	})
	if err != nil {
		return overview.StatusPage{}, pg.Wrap("create status page", err)
	}
	return p, nil
}

func slugTaken(err error, p *overview.StatusPage) error {
	if taken := definitions.ManagedTaken(err, "status page", p.ManagedBy); vigil.ErrorCode(taken) == vigil.CodeConflict {
		return taken
	}
	if !pg.Violates(err, "status_pages_slug_key") {
		return fmt.Errorf("store the page: %w", err)
	}
	taken := vigil.Errorf(vigil.CodeConflict, "slug: %q is taken by another status page; choose another one", p.Slug)
	taken.Details = map[string]any{"member": "slug"}
	return taken
}

// storePageChecks stores the checks of a page that has none. A check that is not the
// organization's, or appears twice, is a CodeInvalid error.
func storePageChecks(ctx context.Context, tx bun.Tx, p *overview.StatusPage) error {
	ids := p.Checks()
	if len(ids) == 0 {
		return nil
	}
	var own []uuid.UUID
	err := tx.NewRaw("SELECT id FROM checks WHERE org_id = ? AND id = ANY(?) AND "+pg.NotDrill+" ORDER BY id FOR KEY SHARE",
		p.OrgID, pgdialect.Array(ids)).Scan(ctx, &own)
	if err != nil {
		return fmt.Errorf("read the checks: %w", err)
	}
	type checkRow struct {
		bun.BaseModel `bun:"table:status_page_checks"`

		PageID  uuid.UUID `bun:"page_id,type:uuid"`
		CheckID uuid.UUID `bun:"check_id,type:uuid"`
		InGroup int       `bun:"in_group"`
		Place   int       `bun:"place"`
		Name    string    `bun:"name"`
	}
	rows := make([]checkRow, 0, len(ids))
	for i, group := range p.Groups {
		for j, check := range group.Checks {
			member := fmt.Sprintf("groups[%d].checks[%d].check_id", i, j)
			if !slices.Contains(own, check.CheckID) {
				return vigil.Invalid(member, "is not a check of this organization")
			}
			if slices.ContainsFunc(rows, func(row checkRow) bool { return row.CheckID == check.CheckID }) {
				return vigil.Invalid(member, "is on this page already; a page shows a check once")
			}
			rows = append(rows, checkRow{PageID: p.ID, CheckID: check.CheckID, InGroup: i, Place: j, Name: check.Name})
		}
	}
	if _, err := tx.NewInsert().Model(&rows).Exec(ctx); err != nil {
		return fmt.Errorf("store the checks: %w", err)
	}
	return nil
}

// StatusPage finds a status page of the organization.
func (s *Store) StatusPage(ctx context.Context, orgID, id uuid.UUID) (overview.StatusPage, error) {
	return readStatusPage(ctx, s.db.NewSelect(), orgID, id)
}

func readStatusPage(ctx context.Context, query *bun.SelectQuery, orgID, id uuid.UUID) (overview.StatusPage, error) {
	var row StatusPageRow
	err := query.Model(&row).ColumnExpr("sp.*").ColumnExpr(PageChecks).Where("sp.id = ? AND sp.org_id = ?", id, orgID).Scan(ctx)
	if err != nil {
		return overview.StatusPage{}, pg.Found("status page", err)
	}
	page, err := row.Page()
	return page, pg.Wrap("read status page", err)
}

// StatusPages returns a page of the organization's status pages that the filter selects, newest first, and the
// extent of the list.
func (s *Store) StatusPages(
	ctx context.Context,
	orgID uuid.UUID,
	f overview.StatusPageFilter,
) ([]overview.StatusPage, listing.Extent, error) {
	list := pg.SmallRows[StatusPageRow]{
		What: "status pages", Alias: "sp", Order: pg.NewestFirst(),
		Selected: func(q *bun.SelectQuery) *bun.SelectQuery {
			return definitions.WhereManaged(q.Where("sp.org_id = ?", orgID), "sp", f.Managed)
		},
		Columns:  []string{"sp.*", PageChecks},
		Position: func(r *StatusPageRow) listing.PagePosition { return pg.TimePosition(r.CreatedAt, r.ID) },
	}
	rows, extent, err := list.Page(ctx, s.db, f.Page)
	if err != nil {
		return nil, listing.Extent{}, err
	}
	pages, err := pg.TryMap(rows, (*StatusPageRow).Page)
	return pages, extent, pg.Wrap("list status pages", err)
}

// UpdateStatusPage changes a status page of the organization: change edits a copy of what is
// stored, and may return an error, which UpdateStatusPage returns unchanged. A change that
// leaves the page equal is none. Errors are those of CreateStatusPage.
func (s *Store) UpdateStatusPage(
	ctx context.Context, orgID, id uuid.UUID, change func(*overview.StatusPage) error,
) (overview.StatusPage, error) {
	var after overview.StatusPage
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := lockStatusPage(ctx, tx, orgID, id); err != nil {
			return err
		}
		// After the lock: a change that this transaction waited for is seen.
		before, err := readStatusPage(ctx, tx.NewSelect(), orgID, id)
		if err != nil {
			return err
		}
		draft := before
		if err := change(&draft); err != nil {
			return err
		}
		after = before
		after.Slug, after.Title, after.Groups, after.NoIndex, after.Enabled = draft.Slug, draft.Title, draft.Groups, draft.NoIndex, draft.Enabled
		after.StatusLooks = draft.StatusLooks
		after.ManagedBy, after.AppliedVersion = draft.ManagedBy, definitions.ManagedChange(
			before.ManagedBy,
			draft.ManagedBy,
			before.AppliedVersion,
		)
		if samePage(&before, &after) {
			return nil
		}
		return s.edit(ctx, tx, orgID, "", &project.Changes{Pages: []project.Edit[overview.StatusPage]{{Before: &before, After: &after}}})
	})
	if err != nil {
		return overview.StatusPage{}, pg.Wrap("update status page", err)
	}
	return after, nil
}

// storePage stores a new page, or the new definition of one whose row is locked.
func storePage(ctx context.Context, tx bun.Tx, p *overview.StatusPage, isNew bool) (err error) {
	row := rowOfStatusPage(p)
	if isNew {
		_, err = tx.NewInsert().Model(row).Exec(ctx)
	} else {
		// Another host is to be verified again.
		_, err = tx.NewRaw("UPDATE status_pages SET host_verified_at = NULL WHERE id = ? AND host <> ?", p.ID, p.Host).Exec(ctx)
		if err != nil {
			return fmt.Errorf("leave the host: %w", err)
		}
		_, err = tx.NewUpdate().Model(row).WherePK().ExcludeColumn("id", "org_id", "created_at", "password_hash", "host_verified_at").
			Exec(ctx)
	}
	if err != nil {
		return slugTaken(err, p)
	}
	if _, err := tx.NewRaw("DELETE FROM status_page_checks WHERE page_id = ?", p.ID).Exec(ctx); err != nil {
		return fmt.Errorf("remove the checks: %w", err)
	}
	return storePageChecks(ctx, tx, p)
}

func lockStatusPage(ctx context.Context, tx bun.Tx, orgID, id uuid.UUID) error {
	var locked uuid.UUID
	err := tx.NewRaw("SELECT id FROM status_pages WHERE id = ? AND org_id = ? FOR NO KEY UPDATE", id, orgID).Scan(ctx, &locked)
	return pg.Found("status page", err)
}

func samePage(a, b *overview.StatusPage) bool {
	return a.Slug == b.Slug && a.Title == b.Title && a.NoIndex == b.NoIndex && a.Enabled == b.Enabled && a.StatusLooks == b.StatusLooks &&
		vigil.SameManager(a.ManagedBy, b.ManagedBy) &&
		slices.EqualFunc(a.Groups, b.Groups, func(x, y overview.StatusGroup) bool {
			return x.Name == y.Name && slices.Equal(x.Checks, y.Checks)
		})
}

// DeleteStatusPage removes a status page of the organization. An unknown one is a
// CodeNotFound error, and a version that match does not accept a CodePrecondition error.
func (s *Store) DeleteStatusPage(ctx context.Context, orgID, id uuid.UUID, match vigil.Precondition) error {
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		const locked = "SELECT version FROM status_pages WHERE id = ? AND org_id = ? FOR UPDATE"
		if err := pg.MatchStored(ctx, tx, "status page", locked, id, match, orgID); err != nil {
			return err
		}
		return s.edit(ctx, tx, orgID, "", &project.Changes{Pages: []project.Edit[overview.StatusPage]{{Before: &overview.StatusPage{ID: id}}}})
	})
	return pg.Wrap("delete status page", err)
}

// leavePages raises the version of the pages that show checks which are about to be
// deleted. It locks all of these pages at once, in the order of their ids, which prevents
// deadlocks.
func (s *Store) leavePages(ctx context.Context, tx bun.Tx, checks ...uuid.UUID) error {
	_, err := tx.NewRaw(`WITH shown AS (
			SELECT id FROM status_pages WHERE id IN (SELECT page_id FROM status_page_checks WHERE check_id = ANY(?))
			ORDER BY id FOR NO KEY UPDATE
		) UPDATE status_pages AS sp SET version = version + 1, updated_at = ? FROM shown WHERE sp.id = shown.id`,
		pgdialect.Array(checks), s.db.Instant()).Exec(ctx)
	if err != nil {
		return fmt.Errorf("leave the status pages: %w", err)
	}
	return nil
}
