// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/agentlink"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/location"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/agents"
)

// newLocation stores a location of an organization of the enterprise tier.
func newLocation(tb testing.TB, s *storage.Store, org uuid.UUID, key string) (location.Location, string) {
	tb.Helper()
	if err := s.SetTier(tb.Context(), org, account.TierEnterprise); err != nil {
		tb.Fatal(err)
	}
	made, token, err := s.CreateLocation(tb.Context(), location.Location{OrgID: org, Key: key, Name: "Place " + key})
	if err != nil {
		tb.Fatal(err)
	}
	return made, token
}

// TestLocation makes, reads, changes and deletes a location. Its token is stored as a hash alone.
func TestLocation(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	other, _ := newOrg(t, s)
	made, token := newLocation(t, s, org.ID, "loc-office")
	if made.Version != 1 || made.State != location.Never || !strings.HasPrefix(token, made.TokenPrefix) ||
		!strings.HasPrefix(token, agentlink.TokenPrefix) || len(token) != len(agentlink.TokenPrefix)+26 {
		t.Errorf("%+v, token of %d characters", made, len(token))
	}
	newLocation(t, s, other.ID, "loc-office")
	_, _, err := s.CreateLocation(t.Context(), location.Location{OrgID: org.ID, Key: "loc-office", Name: "Office"})
	if refused, ok := errors.AsType[*vigil.Error](
		err,
	); !ok || refused.Code != vigil.CodeConflict ||
		refused.Details["suggested_key"] != "loc-office-2" {
		t.Errorf("a key that is taken: %v", err)
	}
	renamed, err := s.UpdateLocation(t.Context(), org.ID, made.ID, func(l *location.Location) error {
		l.Name, l.Labels = "Office", vigil.Labels{"site": "ber"}
		return nil
	})
	if err != nil || renamed.Name != "Office" || renamed.Version != 2 || renamed.Labels["site"] != "ber" {
		t.Errorf("%+v, %v", renamed, err)
	}
	rotated, second, err := s.RotateLocationToken(t.Context(), org.ID, made.ID)
	if err != nil || second == token || rotated.Version != 3 || !strings.HasPrefix(second, rotated.TokenPrefix) {
		t.Errorf("%+v, %v", rotated, err)
	}
	var clear int
	err = s.DB().NewRaw("SELECT count(*) FROM locations AS l WHERE l::text LIKE ?", "%"+second+"%").Scan(t.Context(), &clear)
	if err != nil || clear != 0 {
		t.Errorf("%d rows have a token in clear, %v", clear, err)
	}
	var known bool
	err = s.DB().NewRaw("SELECT EXISTS (SELECT FROM locations WHERE token_hash = ?)", agents.TokenHash(second)).Scan(t.Context(), &known)
	if err != nil || !known {
		t.Errorf("the hash of the token is not stored, %v", err)
	}
	for name, err := range map[string]error{
		"get":    func() error { _, err := s.Location(t.Context(), other.ID, made.ID); return err }(),
		"rotate": func() error { _, _, err := s.RotateLocationToken(t.Context(), other.ID, made.ID); return err }(),
		"delete": s.DeleteLocation(t.Context(), other.ID, made.ID, nil),
		"update": func() error {
			_, err := s.UpdateLocation(t.Context(), other.ID, made.ID, func(*location.Location) error { return nil })
			return err
		}(),
	} {
		if vigil.ErrorCode(err) != vigil.CodeNotFound {
			t.Errorf("%s by another organization: %v", name, err)
		}
	}
	newLocation(t, s, org.ID, "loc-lab")
	for want, filter := range map[string]listing.LocationFilter{
		"loc-lab loc-office": {},
		"loc-office":         {Labels: []vigil.LabelSelector{{Key: "site"}}},
		"loc-lab":            {Query: "LAB"},
	} {
		filter.Limit = 10
		rows, _, err := s.Locations(t.Context(), org.ID, filter)
		var keys []string
		for _, l := range rows {
			keys = append(keys, l.Key)
		}
		slices.Sort(keys)
		if got := strings.Join(keys, " "); err != nil || got != want {
			t.Errorf("%+v lists %s, want %s, %v", filter, got, want, err)
		}
	}
	if err := s.DeleteLocation(t.Context(), org.ID, made.ID, nil); err != nil {
		t.Error(err)
	}
}

// TestLocationsOfPlan proves that the tier limits locations.
func TestLocationsOfPlan(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	for n, tier := range map[int]account.Tier{1: account.TierFree, 5: account.TierPaid, 50: account.TierEnterprise} {
		if got := tier.Limit(account.LimitLocations); got != int64(n) {
			t.Errorf("%s allows %d", tier, got)
		}
	}
	for i := range 2 {
		_, _, err := s.CreateLocation(t.Context(), location.Location{OrgID: org.ID, Key: fmt.Sprintf("loc-%d", i), Name: "Office"})
		if i == 0 && err != nil || i == 1 && vigil.ErrorCode(err) != vigil.CodePlanLimit {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// TestLocationState shows what agents report.
func TestLocationState(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	made, _ := newLocation(t, s, org.ID, "loc-office")
	newCheck(t, s, draft(org.ID, newark, "loc-office"))
	for i, ago := range []string{"1 second", "2 hours"} {
		execute(
			t,
			s,
			`INSERT INTO agents (id, location_id, instance, name, version, public_key, types, reported, seen_at, clock_ms, checks, spool_results,
			spool_bytes, spool_dropped) VALUES (gen_random_uuid(), ?, gen_random_uuid(), ?, '1.2.3', '', '{http,tcp}', true, now() - ?::interval,
			-1500, 7, 1, 2, 3)`,
			made.ID,
			fmt.Sprintf("office-%d", i),
			ago,
		)
	}
	see := func(ago string) location.Location {
		t.Helper()
		execute(t, s, "UPDATE locations SET seen_at = now() - ?0::interval", ago)
		l, err := s.Location(t.Context(), org.ID, made.ID)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := see("1 second")
	if l.State != location.Online || l.SilentSince != nil || l.Checks != 1 || len(l.Agents) != 1 {
		t.Fatalf("%+v", l)
	}
	a := l.Agents[0]
	if a.Name != "office-0" || a.Version != "1.2.3" || a.Clock != -1500*time.Millisecond || a.Checks != 7 ||
		a.Spool != (location.Spool{Results: 1, Bytes: 2, Dropped: 3}) ||
		!slices.Equal(a.Types, []vigil.CheckType{vigil.TypeHTTP, vigil.TypeTCP}) {
		t.Errorf("%+v", a)
	}
	if live, err := s.LiveLocations(t.Context(), org.ID); err != nil || len(live["loc-office"]) != 2 {
		t.Errorf("%v, %v", live, err)
	}
	execute(t, s, "UPDATE agents SET seen_at = seen_at - interval '1 hour'")
	if l = see("1 hour"); l.State != location.Silent || l.SilentSince == nil || len(l.Agents) != 1 || l.Agents[0].Name != "office-0" {
		t.Errorf("%+v", l)
	}
}

// TestLocationOfChecks proves that a check names locations of its own organization only, and that one which a check
// names is not deleted.
func TestLocationOfChecks(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	other, _ := newOrg(t, s)
	made, _ := newLocation(t, s, org.ID, "loc-office")
	newLocation(t, s, other.ID, "loc-lab")
	check := newCheck(t, s, draft(org.ID, newark, "loc-office"))
	_, err := s.CreateCheck(t.Context(), draft(org.ID, newark, "loc-lab"), unlimited(), account.Allowance{CreationsPerHour: account.Unlimited})
	if refused, ok := errors.AsType[*vigil.Error](err); !ok || refused.Details["member"] != "regions[1]" ||
		!strings.Contains(refused.Message, "loc-office") {
		t.Errorf("another organization's: %v", err)
	}
	_, err = s.UpdateCheck(t.Context(), org.ID, check.ID, unlimited(), func(c *vigil.Check) error {
		c.Regions = []string{"loc-lab"}
		return nil
	})
	if refused, ok := errors.AsType[*vigil.Error](err); !ok || refused.Details["member"] != "regions[0]" {
		t.Errorf("an update: %v", err)
	}
	err = s.DeleteLocation(t.Context(), org.ID, made.ID, nil)
	if refused, ok := errors.AsType[*vigil.Error](
		err,
	); !ok || refused.Code != vigil.CodeConflict ||
		!strings.Contains(refused.Message, check.Name) {
		t.Errorf("delete a location that is named: %v", err)
	}
	if _, err := s.UpdateCheck(t.Context(), org.ID, check.ID, unlimited(), func(c *vigil.Check) error {
		c.Regions = []string{newark}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if err := s.DeleteLocation(t.Context(), org.ID, made.ID, nil); err != nil {
		t.Error(err)
	}
}

// TestLocationDeletedMeanwhile deletes locations while checks begin to name them: never is a check left with a location that
// is gone.
func TestLocationDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	const rounds = 30
	for i := range rounds {
		made, _ := newLocation(t, s, org.ID, fmt.Sprintf("loc-%d", i))
		var both sync.WaitGroup
		both.Go(func() {
			_, err := s.CreateCheck(t.Context(), draft(org.ID, made.Key), unlimited(), account.Allowance{CreationsPerHour: account.Unlimited})
			if err != nil && vigil.ErrorCode(err) != vigil.CodeInvalid {
				t.Error(err)
			}
		})
		both.Go(func() {
			if err := s.DeleteLocation(t.Context(), org.ID, made.ID, nil); err != nil && vigil.ErrorCode(err) != vigil.CodeConflict {
				t.Error(err)
			}
		})
		both.Wait()
	}
	var left int
	err := s.DB().NewRaw(`SELECT count(*) FROM checks AS c, unnest(c.regions) AS r (key)
		WHERE NOT EXISTS (SELECT FROM locations AS l WHERE l.org_id = c.org_id AND l.key = r.key)`).Scan(t.Context(), &left)
	if err != nil || left != 0 {
		t.Errorf("%d checks name locations that are gone, %v", left, err)
	}
}

// TestRegionToken lets agents serve a region of the platform, gives it another token, and takes it away.
func TestRegionToken(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	first, token, err := s.SetRegionToken(t.Context(), frankfurt, "Frankfurt, Germany")
	if err != nil || first.OrgID != uuid.Nil || first.Key != frankfurt {
		t.Fatalf("%+v, %v", first, err)
	}
	again, second, err := s.SetRegionToken(t.Context(), frankfurt, "Frankfurt, Germany")
	if err != nil || again.ID != first.ID || second == token || again.Version != 2 {
		t.Errorf("%+v, %v", again, err)
	}
	if all, err := s.RegionLocations(t.Context()); err != nil || len(all) != 1 || all[0].State != location.Never {
		t.Errorf("%+v, %v", all, err)
	}
	org, _ := newOrg(t, s)
	if rows, _, err := s.Locations(t.Context(), org.ID, listing.LocationFilter{Page: listing.Page{Limit: 10}}); err != nil || len(rows) != 0 {
		t.Errorf("an organization sees %+v, %v", rows, err)
	}
	if err := s.DeleteRegionToken(t.Context(), frankfurt); err != nil {
		t.Error(err)
	}
	if err := s.DeleteRegionToken(t.Context(), frankfurt); vigil.ErrorCode(err) != vigil.CodeNotFound {
		t.Errorf("a region without a token: %v", err)
	}
}
