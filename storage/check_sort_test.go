// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage"
)

// listed lists all checks by cursor, in pages of a size.
func listed(t *testing.T, s *storage.Store, org uuid.UUID, filter listing.CheckFilter, sort listing.CheckSort, size int) string {
	t.Helper()
	var names []string
	list := listing.CheckList{CheckFilter: filter, Sort: sort, Page: listing.Page{Limit: size}}
	for pages := 0; ; pages++ {
		checks, extent, err := s.Checks(t.Context(), org, list)
		if err != nil || pages > 50 {
			t.Fatalf("%s, page %d: %v", sort, pages, err)
		}
		for _, c := range checks {
			names = append(names, c.Name)
		}
		if extent.Next == nil {
			return strings.Join(names, " ")
		}
		list.After = extent.Next
	}
}

// open stores an open incident of a check.
func open(t *testing.T, s *storage.Store, c vigil.Check, severity string, ago time.Duration) {
	t.Helper()
	at := epoch().Add(-ago)
	_, err := s.DB().NewRaw(`INSERT INTO incidents (id, org_id, check_id, rule_id, status, severity, title, description, trigger, regions,
		audience, started_at, created_at, swept_at) VALUES (?, ?, ?, ?, 'active', ?, 't', 'd', '{}', '{}', '{}', ?, ?, ?)`,
		uuid.New(), c.OrgID, c.ID, uuid.New(), severity, at, at, at).Exec(t.Context())
	if err != nil {
		t.Fatal(err)
	}
}

// TestSortsByFigures compares each order by a figure with what the summaries say, in both directions and in
// pages of every size: each check is once on them, and one without the figure is last.
func TestSortsByFigures(t *testing.T) {
	t.Parallel()
	s, clk := newStore(t)
	org, _ := newOrg(t, s)
	other, _ := newOrg(t, s)
	newCheck(t, s, draft(other.ID, newark))
	w := newWriter(t, s, storage.WriterOptions{})
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		c := draft(org.ID, newark, frankfurt)
		c.Name, c.Interval = name, time.Duration(10+5*(i%3))*time.Second
		c = newCheck(t, s, c)
		if name == "e" {
			continue // has no result
		}
		slot := scheduleOf(t, s, c, newark).Next(epoch())
		for n := range 4 {
			result := ok(c, newark, slot.Add(time.Duration(n)*c.Interval))
			if n < i { // d fails most
				result = failed(c, newark, result.Slot)
			}
			result.ResponseTime = time.Duration([]int{30, 10, 40, 20}[i]) * time.Millisecond
			result.Time = epoch().Add(time.Duration([]int{3, 1, 4, 2}[i]) * time.Minute)
			write(t, w, result)
		}
		if name == "b" {
			there := ok(c, frankfurt, scheduleOf(t, s, c, frankfurt).Next(epoch()))
			there.ResponseTime = 5 * time.Millisecond
			write(t, w, there)
		}
	}
	clk.Set(epoch().Add(2 * time.Minute))
	for sort, want := range map[listing.CheckSort]string{
		listing.SortUptime: "d c b a e", listing.SortUptimeDown: "a b c d e",
		listing.SortP95: "b d a c e", listing.SortP95Down: "c a d b e",
	} {
		for size := 1; size <= 6; size++ {
			if got := listed(t, s, org.ID, listing.CheckFilter{}, sort, size); got != want {
				t.Errorf("%s in pages of %d gives %s, want %s", sort, size, got, want)
			}
		}
	}
	for _, sort := range []listing.CheckSort{listing.SortSeen, listing.SortSeenDown} {
		if got := listed(t, s, org.ID, listing.CheckFilter{}, sort, 2); !strings.HasSuffix(got, " e") || len(got) != len("a b c d e") {
			t.Errorf("%s gives %s", sort, got)
		}
	}
	all, _, err := s.Checks(t.Context(), org.ID, listing.CheckList{Sort: listing.SortRegions, Page: listing.Page{Limit: 10}})
	if err != nil {
		t.Fatal(err)
	}
	var shares []int
	for _, c := range all {
		passing := 0
		for _, region := range summaryOf(t, s, c).Regions {
			if region.Health == vigil.Healthy {
				passing++
			}
		}
		shares = append(shares, passing)
	}
	if !slices.IsSorted(shares) || shares[0] == shares[len(shares)-1] {
		t.Errorf("regions that pass: %v", shares)
	}
	if got := listed(t, s, org.ID, listing.CheckFilter{Query: "d"}, listing.SortUptime, 2); got != "d" {
		t.Errorf("a filter leaves %s", got)
	}
	_, extent, err := s.Checks(t.Context(), org.ID, listing.CheckList{Sort: listing.SortP95, Page: listing.Page{Limit: 2, Offset: 1}})
	if err != nil || extent.Total != 5 {
		t.Errorf("%d in all, %v", extent.Total, err)
	}
	_, _, err = s.Checks(t.Context(), org.ID, listing.CheckList{
		Sort: listing.SortP95, Page: listing.Page{Limit: 2, After: &listing.PagePosition{Key: "x"}},
	})
	wantCode(t, err, vigil.CodeInvalid)
}

// TestSortsBothWays: an order with a minus is the same list from its end, also where many checks are equal.
func TestSortsBothWays(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	for i := range 12 {
		c := draft(org.ID, newark)
		c.Name = fmt.Sprintf("%c%d", 'a'+i%2, i)
		c.Interval = time.Duration(10+i%3) * time.Second
		c.Enabled = i%4 > 0
		newCheck(t, s, c)
	}
	for up, down := range map[listing.CheckSort]listing.CheckSort{
		listing.SortState: listing.SortStateDown, listing.SortType: listing.SortTypeDown, listing.SortInterval: listing.SortIntervalDown,
		listing.SortName: listing.SortNameDown, listing.SortRegions: listing.SortRegionsDown,
	} {
		forward := strings.Fields(listed(t, s, org.ID, listing.CheckFilter{}, up, 5))
		back := strings.Fields(listed(t, s, org.ID, listing.CheckFilter{}, down, 5))
		slices.Reverse(back)
		if len(forward) != 12 || !slices.Equal(forward, back) {
			t.Errorf("%s gives %v, and %s the reverse of %v", up, forward, down, back)
		}
	}
	first := strings.Fields(listed(t, s, org.ID, listing.CheckFilter{}, listing.SortInterval, 5))
	if first[0] != "a0" || first[11] != "b5" {
		t.Errorf("by interval: %v", first)
	}
}

// TestNeedsAttentionBySeverity: what needs attention is sorted by the severity of the open incident, then the newest first.
func TestNeedsAttentionBySeverity(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	w := newWriter(t, s, storage.WriterOptions{})
	make := func(name string, fails bool) vigil.Check {
		c := draft(org.ID, newark)
		c.Name = name
		c = newCheck(t, s, c)
		slot := scheduleOf(t, s, c, newark).Next(epoch())
		if fails {
			write(t, w, failed(c, newark, slot))
		} else {
			write(t, w, ok(c, newark, slot))
		}
		return c
	}
	open(t, s, make("info", true), "info", time.Minute)
	open(t, s, make("old-critical", true), "critical", time.Hour)
	open(t, s, make("warning", true), "warning", 2*time.Hour)
	open(t, s, make("new-critical", false), "critical", time.Minute)
	make("no-rule", true)
	make("calm", false)
	want := "new-critical old-critical warning info no-rule calm"
	for size := 1; size <= 7; size++ {
		if got := listed(t, s, org.ID, listing.CheckFilter{}, listing.SortState, size); got != want {
			t.Errorf("in pages of %d: %s, want %s", size, got, want)
		}
	}
}

// TestFindsChecks: a text is found in names, targets, labels, the errors of regions that fail, and places; no character of it
// stands for others.
func TestFindsChecks(t *testing.T) {
	t.Parallel()
	s, clk := newStore(t)
	org, _ := newOrg(t, s)
	w := newWriter(t, s, storage.WriterOptions{})
	for name, labels := range map[string]vigil.Labels{
		"shop": {"team": "Payments", "tier": "100%"}, "under_score": {"team": `a"quote\`}, "underXscore": nil,
		"<script>alert(1)</script>": {"x": "1"},
	} {
		c := draft(org.ID, newark)
		if name == "shop" {
			c.Regions = []string{frankfurt}
		}
		c.Name, c.Labels = name, labels
		c = newCheck(t, s, c)
		if name == "underXscore" {
			at := scheduleOf(t, s, c, newark).Next(epoch())
			bad := failed(c, newark, at)
			bad.Error = "Connection REFUSED by 50% of hosts"
			write(t, w, bad)
			clk.Set(at.Add(time.Second))
		}
	}
	for query, want := range map[string]string{
		"payments": "shop", "team=pay": "shop", "TIER": "shop", "100%": "shop", "%": "shop underXscore", "r_s": "under_score",
		`a"q`: "under_score",
		`\`:   "under_score", "refused by": "underXscore", "<script>": "<script>alert(1)</script>", "nothing": "", "'; DROP TABLE checks": "",
	} {
		if got := listed(t, s, org.ID, listing.CheckFilter{Query: query}, listing.SortName, 10); got != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
	if got := listed(t, s, org.ID, listing.CheckFilter{Query: "frank", Places: []string{frankfurt}}, listing.SortName, 10); got != "shop" {
		t.Errorf("a place finds %q", got)
	}
	if got := listed(
		t,
		s,
		org.ID,
		listing.CheckFilter{Unlabeled: []string{"team"}},
		listing.SortName,
		10,
	); got != "<script>alert(1)</script> underXscore" {
		t.Errorf("without a label are %q", got)
	}
}

// TestCheckGroups: groups count all checks by the values of a label and by state, those without it last.
func TestCheckGroups(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	other, _ := newOrg(t, s)
	c := draft(other.ID, newark)
	c.Labels = vigil.Labels{"team": "theirs", "secret": "x"}
	newCheck(t, s, c)
	w := newWriter(t, s, storage.WriterOptions{})
	for i := range 9 {
		c := draft(org.ID, newark)
		c.Name = fmt.Sprint("n", i)
		c.Labels = []vigil.Labels{{"team": "b", "env": "x"}, {"team": "A"}, nil}[i%3]
		c.Enabled = i != 3
		c = newCheck(t, s, c)
		slot := scheduleOf(t, s, c, newark)
		if i == 0 {
			write(t, w, failed(c, newark, slot.Next(epoch())))
		}
		if i == 1 {
			write(t, w, ok(c, newark, slot.Next(epoch())))
		}
	}
	groups, more, err := s.CheckGroups(t.Context(), org.ID, listing.CheckFilter{State: listing.StateFailing}, "team")
	if err != nil || more {
		t.Fatal(more, err)
	}
	equal(t, groups, []listing.CheckGroup{
		{Value: "A", Labeled: true, Total: 3, Passing: 1, Unknown: 2},
		{Value: "b", Labeled: true, Total: 3, Failing: 1, Unknown: 1, Disabled: 1},
		{Total: 3, Unknown: 3},
	})
	keys, err := s.LabelKeys(t.Context(), org.ID)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, keys, []listing.LabelKey{{Key: "team", Checks: 6}, {Key: "env", Checks: 3}})
}

// TestFiguresOfTooManyChecks: an order for which all checks have to be looked at is refused beyond its bound; filters bring
// a list below it.
func TestFiguresOfTooManyChecks(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark))
	_, err := s.DB().NewRaw(`INSERT INTO checks (id, org_id, name, type, config, target, interval_ms, regions, enabled, simultaneous, anchor,
			revision, created_at, updated_at)
		SELECT gen_random_uuid(), org_id, 'more', type, config, target, interval_ms, regions, enabled, simultaneous, anchor, revision,
			created_at, updated_at
		FROM checks, generate_series(1, ?) WHERE id = ?`, listing.MaxTotal, c.ID).Exec(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list := listing.CheckList{Sort: listing.SortUptime, Page: listing.Page{Limit: 1}}
	_, _, err = s.Checks(t.Context(), org.ID, list)
	wantCode(t, err, vigil.CodeInvalid)
	list.Query = "home"
	checks, _, err := s.Checks(t.Context(), org.ID, list)
	if err != nil || len(checks) != 1 || checks[0].ID != c.ID {
		t.Errorf("a filter leaves %d checks, %v", len(checks), err)
	}
}
