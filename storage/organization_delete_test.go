// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/audit"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/storage"
)

// rows returns how many rows of each table have one of the ids in a column.
func (f *furnished) rows(ids ...uuid.UUID) map[string]int {
	f.Helper()
	found := make(map[string]int)
	for table, rows := range f.contents() {
		for _, row := range rows {
			if slices.ContainsFunc(ids, func(id uuid.UUID) bool { return strings.Contains(row, id.String()) }) {
				found[table]++
			}
		}
	}
	return found
}

// TestDeletedOrganizationLeavesNothing deletes one of two organizations with something in each
// table: its end is sent, then no row of any table has its id, and the other has all it had.
func TestDeletedOrganizationLeavesNothing(t *testing.T) {
	t.Parallel()
	s, c := newStore(t)
	other := furnish(t, s, c)
	empty := other.contents()
	f := furnish(t, s, c)
	of := []uuid.UUID{f.org.ID, f.owner.ID, f.check.ID, f.incident, f.rule.ID, f.channels[vigil.ChannelWebhook].ID}
	full := f.contents()
	for _, table := range f.tablesOfOrganizations() {
		if len(full[table]) == len(empty[table]) {
			t.Errorf("the organization has nothing in %s, so this test proves nothing about it: add it to furnish", table)
		}
	}
	if _, _, err := s.DeleteOrganization(t.Context(), f.org.ID, f.org.Name, account.Credential{}); err != nil {
		t.Fatal(err)
	}
	purge := func(after time.Duration) {
		t.Helper()
		if err := s.PurgeOrganizations(t.Context(), c.Now().Add(after)); err != nil {
			t.Fatal(err)
		}
	}
	purge(0)
	if n := f.count("SELECT count(*) FROM checks WHERE org_id = ?", f.org.ID); n != 0 {
		t.Errorf("%d checks are left", n)
	}
	if end := f.deliver(f.incident, vigil.ChannelWebhook); end.Event.Type != vigil.EventResolved {
		t.Errorf("the channel gets %s, want the end of the incident", end.Event.Type)
	}
	purge(0)
	if n := f.count("SELECT count(*) FROM organizations WHERE id = ?", f.org.ID); n != 1 {
		t.Error("it is gone while its loops run")
	}
	if err := f.endLoops(); err != nil {
		t.Fatal(err)
	}
	purge(0)
	if n := f.count("SELECT count(*) FROM organizations WHERE id = ?", f.org.ID); n != 1 {
		t.Error("it is gone while requests that began before may write")
	}
	purge(storage.EndsOfDeletedOrganization)
	left := f.rows(of...)
	if delete(left, "loop_tombstones"); len(left) != 0 {
		t.Errorf("rows are left: %v", left)
	}
	execute(t, s, "DELETE FROM loop_tombstones WHERE org_id = ?", f.org.ID)
	now := other.contents()
	for table := range full {
		if !slices.Equal(now[table], empty[table]) {
			t.Errorf("%s has %q, had %q before the organization was made", table, now[table], empty[table])
		}
	}
}

// TestTombstonesOfADeletedOrganizationGo: they are the last to have its id.
func TestTombstonesOfADeletedOrganizationGo(t *testing.T) {
	t.Parallel()
	s, c := newStore(t)
	f := furnish(t, s, c)
	of := []uuid.UUID{f.org.ID, f.owner.ID, f.check.ID, f.incident}
	if _, _, err := s.DeleteOrganization(t.Context(), f.org.ID, f.org.Name, account.Credential{}); err != nil {
		t.Fatal(err)
	}
	purge := func() {
		t.Helper()
		if err := s.PurgeOrganizations(t.Context(), c.Now().Add(storage.EndsOfDeletedOrganization)); err != nil {
			t.Fatal(err)
		}
	}
	purge()
	execute(t, s, "UPDATE loop_tombstones SET done_at = now()")
	purge()
	if left := f.rows(of...); left["loop_tombstones"] == 0 {
		t.Fatalf("no tombstones: %v", left)
	}
	if err := s.DropExpired(t.Context(), time.Now().Add(48*time.Hour), storage.Retention{Tombstones: 24 * time.Hour}); err != nil {
		t.Fatal(err)
	}
	if left := f.rows(of...); len(left) != 0 {
		t.Errorf("rows are left after the retention of tombstones: %v", left)
	}
}

// endLoops does what the sweep does for the loops of deleted checks.
func (f *furnished) endLoops() error {
	stones, err := f.store.Tombstones(f.Context(), fleet.EverySweepShard(), 1000)
	if err != nil {
		return err
	}
	for _, stone := range stones {
		for done := stone.OrgID != f.org.ID; !done; {
			if done, err = f.store.PurgeLoop(f.Context(), stone); err != nil {
				return err
			}
		}
	}
	return nil
}

// tables are those of the schema, partitions left out.
func (f *furnished) tables() []string {
	f.Helper()
	var tables []string
	err := f.store.DB().NewRaw(`SELECT c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1`).Scan(f.Context(), &tables)
	if err != nil {
		f.Fatal(err)
	}
	return tables
}

// tablesOfOrganizations are the tables that name an organization, or refer to such a table by
// foreign keys, over any number of steps.
func (f *furnished) tablesOfOrganizations() []string {
	f.Helper()
	var tables []string
	err := f.store.DB().NewRaw(`WITH RECURSIVE reached AS (
			SELECT c.oid FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
			WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND (c.relname = 'organizations' OR EXISTS (
				SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname = 'org_id' AND NOT a.attisdropped))
			UNION SELECT k.conrelid FROM pg_constraint AS k JOIN reached AS r ON k.confrelid = r.oid
				JOIN pg_class AS c ON c.oid = k.conrelid WHERE k.contype = 'f' AND NOT c.relispartition
		) SELECT c.relname FROM reached AS r JOIN pg_class AS c ON c.oid = r.oid ORDER BY 1`).Scan(f.Context(), &tables)
	if err != nil {
		f.Fatal(err)
	}
	return tables
}

// contents are the rows of every table, as text and in order.
func (f *furnished) contents() map[string][]string {
	f.Helper()
	found := make(map[string][]string)
	for _, table := range f.tables() {
		rows := []string{}
		err := f.store.DB().NewRaw("SELECT t::text FROM ? AS t ORDER BY 1", bun.Ident(table)).Scan(f.Context(), &rows)
		if err != nil {
			f.Fatal(err)
		}
		found[table] = rows
	}
	return found
}

// TestDeletionOfAnOrganizationGoesOn: each step that fails, as one does whose process ends in it,
// leaves what the next call needs.
func TestDeletionOfAnOrganizationGoesOn(t *testing.T) {
	t.Parallel()
	s, c := newStore(t)
	f := furnish(t, s, c)
	if _, _, err := s.DeleteOrganization(t.Context(), f.org.ID, f.org.Name, account.Credential{}); err != nil {
		t.Fatal(err)
	}
	execute(t, s, "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'ends in [%]', TG_ARGV[0]; END $$")
	for _, table := range f.tables() {
		execute(t, s, "CREATE TRIGGER refuse BEFORE DELETE ON ? FOR EACH ROW EXECUTE FUNCTION refuse(?)", bun.Ident(table), table)
	}
	purge := func() error {
		if err := s.PurgeOrganizations(t.Context(), c.Now().Add(storage.EndsOfDeletedOrganization)); err != nil {
			return err
		}
		return f.endLoops()
	}
	stopped := 0
	for gone := false; !gone; gone = f.count("SELECT count(*) FROM organizations WHERE id = ?", f.org.ID) == 0 {
		if err := purge(); err != nil {
			_, after, found := strings.Cut(err.Error(), "ends in [")
			table, _, _ := strings.Cut(after, "]")
			if !found {
				t.Fatal(err)
			}
			stopped++
			execute(t, s, "DROP TRIGGER refuse ON ?", bun.Ident(table))
		}
	}
	if stopped == 0 {
		t.Error("no step failed")
	}
	t.Logf("%d steps failed", stopped)
	left := f.rows(f.org.ID, f.owner.ID, f.check.ID, f.incident)
	if delete(left, "loop_tombstones"); len(left) != 0 {
		t.Errorf("rows are left: %v", left)
	}
}

// TestEndsOfADeletedOrganizationAreSentForAnHour: a receiver that is away keeps the rest until
// then, and no longer.
func TestEndsOfADeletedOrganizationAreSentForAnHour(t *testing.T) {
	t.Parallel()
	s, c := newStore(t)
	f := furnish(t, s, c)
	if _, _, err := s.DeleteOrganization(t.Context(), f.org.ID, f.org.Name, account.Credential{}); err != nil {
		t.Fatal(err)
	}
	deletedAt := c.Now()
	stands := func(after time.Duration) bool {
		t.Helper()
		if err := s.PurgeOrganizations(t.Context(), deletedAt.Add(after)); err != nil {
			t.Fatal(err)
		}
		return f.count("SELECT count(*) FROM organizations WHERE id = ?", f.org.ID) == 1
	}
	stands(0)
	execute(t, s, "UPDATE loop_tombstones SET done_at = now()")
	failed := f.claim(f.incident, vigil.ChannelWebhook)
	f.record(failed, "network", new(epoch().Add(time.Hour)))
	if !stands(storage.EndsOfDeletedOrganization - time.Second) {
		t.Error("it is gone before the hour is over")
	}
	if stands(storage.EndsOfDeletedOrganization) {
		t.Error("it stays after the hour")
	}
	if claim := f.claim(f.incident, vigil.ChannelWebhook); claim.State != vigil.NextAttemptNone {
		t.Errorf("its workflow finds %+v, want nothing to do", claim)
	}
}

// TestDeleteOrganization: who may, what must be confirmed, and that nothing can be added any more.
func TestDeleteOrganization(t *testing.T) {
	t.Parallel()
	s, c := newStore(t)

	t.Run("AsksForItsName", func(t *testing.T) {
		t.Parallel()
		f := furnish(t, s, c)
		for _, wrong := range []string{"", "acme", "Acme ", f.org.Slug, f.org.ID.String()} {
			_, _, err := s.DeleteOrganization(t.Context(), f.org.ID, wrong, account.Credential{})
			wantCode(t, err, vigil.CodeInvalid)
		}
	})

	t.Run("IsNotForOtherMembersAndEndedCredentials", func(t *testing.T) {
		t.Parallel()
		f := furnish(t, s, c)
		execute(t, s, "DELETE FROM invitations WHERE org_id = ?", f.org.ID)
		editor := newMember(t, s, f.org, f.owner, account.RoleEditor)
		credential := account.Credential{UserID: editor.ID, SessionVersion: editor.SessionVersion}
		_, _, err := s.DeleteOrganization(t.Context(), f.org.ID, f.org.Name, credential)
		wantCode(t, err, vigil.CodeForbidden)
		_, _, err = s.DeleteOrganization(t.Context(), f.org.ID, f.org.Name, account.Credential{UserID: f.owner.ID, SessionVersion: 99})
		wantCode(t, err, vigil.CodeUnauthorized)
	})

	t.Run("EndsEverybodyAndTakesNothingMore", func(t *testing.T) {
		t.Parallel()
		f := furnish(t, s, c)
		entry := &audit.Entry{OrgID: f.org.ID, Action: "organization.delete", ResourceID: f.org.ID, UserID: f.owner.ID}
		org, owners, err := s.DeleteOrganization(audit.NewContext(t.Context(), entry), f.org.ID, f.org.Name, account.Credential{})
		if err != nil || org.ID != f.org.ID || len(owners) != 1 || owners[0].ID != f.owner.ID {
			t.Fatalf("%v, %v, %v", org, owners, err)
		}
		if n := f.count("SELECT count(*) FROM audit_log WHERE action = 'organization.delete' AND org_id = ?", f.org.ID); n != 0 {
			t.Error("the audit entry goes with the organization")
		}
		_, err = s.User(t.Context(), f.owner.ID)
		wantCode(t, err, vigil.CodeNotFound)
		_, _, err = s.DeleteOrganization(t.Context(), f.org.ID, f.org.Name, account.Credential{})
		wantCode(t, err, vigil.CodeUnauthorized)
		for what, add := range map[string]func(context.Context) error{
			"check": func(ctx context.Context) error {
				_, err := s.CreateCheck(ctx, draft(f.org.ID, newark), unlimited(), account.Allowance{})
				return err
			},
			"channel": func(ctx context.Context) error {
				_, err := s.CreateChannel(ctx, hookChannel(f.org.ID))
				return err
			},
			"status page": func(ctx context.Context) error {
				_, err := s.CreateStatusPage(ctx, overview.StatusPage{OrgID: f.org.ID, Slug: uuid.NewString(), Title: "Acme"})
				return err
			},
			"window": func(ctx context.Context) error {
				_, err := s.CreateMaintenanceWindow(ctx, windowOf(&f.check, time.Now().Add(time.Hour), ""))
				return err
			},
		} {
			if err := add(t.Context()); vigil.ErrorCode(err) != vigil.CodeUnauthorized {
				t.Errorf("a %s was added, error %v", what, err)
			}
		}
	})
}
