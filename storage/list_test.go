// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage"
)

func sorts() []listing.CheckSort {
	return []listing.CheckSort{
		listing.SortNewest, listing.SortOldest, listing.SortName, listing.SortNameDown, listing.SortUpdated, listing.SortUpdatedDown,
	}
}

// TestCursorVisitsEachRowOnce pages through the checks by cursor, in every order, while
// checks are created and deleted. Names and times repeat, so that only the id separates
// some rows.
func TestCursorVisitsEachRowOnce(t *testing.T) {
	t.Parallel()
	for _, sort := range sorts() {
		t.Run(string(sort), func(t *testing.T) {
			t.Parallel()
			s, clk := newStore(t)
			org, _ := newOrg(t, s)
			random := rand.New(rand.NewPCG(uint64(len(sort)), 7))
			live := map[uuid.UUID]bool{}
			create := func() uuid.UUID {
				c := draft(org.ID, newark)
				c.Name = []string{"alpha", "Alpha", "beta", "Ünder", "zeta"}[random.IntN(5)]
				clk.Set(epoch().Add(time.Duration(random.IntN(5)) * time.Second))
				return newCheck(t, s, c).ID
			}
			for range 40 {
				live[create()] = true
			}
			seen := map[uuid.UUID]int{}
			list := listing.CheckList{Sort: sort, Page: listing.Page{Limit: 3}}
			for pages := 0; ; pages++ {
				checks, extent, err := s.Checks(t.Context(), org.ID, list)
				if err != nil || pages > 100 {
					t.Fatalf("page %d: %v", pages, err)
				}
				for _, c := range checks {
					seen[c.ID]++
				}
				if extent.Next == nil {
					break
				}
				list.After = extent.Next
				create()
				for id := range live { // any one, seen or not, also the row of the position
					if random.IntN(3) > 0 {
						id = extent.Next.ID
					}
					if _, err := s.DeleteCheck(t.Context(), org.ID, id, nil); err != nil && vigil.ErrorCode(err) != vigil.CodeNotFound {
						t.Fatal(err)
					}
					delete(live, id)
					break
				}
			}
			for id := range live {
				if seen[id] != 1 {
					t.Errorf("a check that existed all the time was seen %d times", seen[id])
				}
			}
			for id, n := range seen {
				if n > 1 {
					t.Errorf("%s was seen %d times", id, n)
				}
			}
			if len(live) < 10 {
				t.Errorf("only %d checks are left to judge by", len(live))
			}
		})
	}
}

// TestSortsOrder compares each order with what Go makes of it.
func TestSortsOrder(t *testing.T) {
	t.Parallel()
	s, clk := newStore(t)
	org, _ := newOrg(t, s)
	for i, name := range []string{"delta", "Alpha", "charlie", "BRAVO"} {
		clk.Set(epoch().Add(time.Duration(i) * time.Minute))
		c := draft(org.ID, newark)
		c.Name = name
		c = newCheck(t, s, c)
		clk.Set(epoch().Add(time.Duration(100-i) * time.Minute))
		update(t, s, c, func(c *vigil.Check) { c.Labels = vigil.Labels{"n": name} })
	}
	for sort, want := range map[listing.CheckSort]string{
		listing.SortNewest: "BRAVO charlie Alpha delta", listing.SortOldest: "delta Alpha charlie BRAVO",
		listing.SortName: "Alpha BRAVO charlie delta", listing.SortNameDown: "delta charlie BRAVO Alpha",
		listing.SortUpdated: "BRAVO charlie Alpha delta", listing.SortUpdatedDown: "delta Alpha charlie BRAVO",
		"": "BRAVO charlie Alpha delta",
	} {
		var names []string
		checks, _, err := s.Checks(t.Context(), org.ID, listing.CheckList{Sort: sort, Page: listing.Page{Limit: 10}})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range checks {
			names = append(names, c.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q gives %s, want %s", sort, got, want)
		}
	}
}

// TestCheckFilters holds that filters combine, and that the total is that of the filter.
func TestCheckFilters(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	other, _ := newOrg(t, s)
	w := newWriter(t, s, storage.WriterOptions{})
	value := "a=b" // a value may have the separator of a selector
	for i := range 12 {
		c := draft(org.ID, []string{newark, frankfurt}[i%2:]...)
		c.Name, c.Target, c.Enabled = fmt.Sprintf("Check %d", i), fmt.Sprintf("host%d.example.com", i), i%3 != 0
		c.Labels = vigil.Labels{"team": []string{"web", "mail"}[i%2]}
		if i < 4 {
			c.Labels["tier"] = value
		}
		c = newCheck(t, s, c)
		if i >= 6 {
			write(t, w, ok(c, frankfurt, epoch()))
		} else if i >= 3 {
			write(t, w, failed(c, frankfurt, epoch()))
		}
	}
	newCheck(t, s, draft(other.ID, newark))
	yes, no, web := true, false, "web"
	for name, tt := range map[string]struct {
		filter listing.CheckFilter
		want   []int
	}{
		"Everything":        {listing.CheckFilter{}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
		"Name":              {listing.CheckFilter{Query: "cHECK 1"}, []int{1, 10, 11}},
		"Target":            {listing.CheckFilter{Query: "HOST7."}, []int{7}},
		"NotAPattern":       {listing.CheckFilter{Query: "check_1"}, nil},
		"PercentIsAPercent": {listing.CheckFilter{Query: "%"}, nil},
		"NotAcrossTheTwo":   {listing.CheckFilter{Query: "1host1"}, nil},
		"Type":              {listing.CheckFilter{Type: vigil.TypeDNS}, nil},
		"Disabled":          {listing.CheckFilter{Enabled: &no}, []int{0, 3, 6, 9}},
		"Region":            {listing.CheckFilter{Region: newark}, []int{0, 2, 4, 6, 8, 10}},
		"Unhealthy":         {listing.CheckFilter{Health: vigil.Unhealthy}, []int{3, 4, 5}},
		"Healthy":           {listing.CheckFilter{Health: vigil.Healthy}, []int{6, 7, 8, 9, 10, 11}},
		"Unknown":           {listing.CheckFilter{Health: vigil.Unknown}, []int{0, 1, 2}},
		"Failing":           {listing.CheckFilter{State: listing.StateFailing}, []int{4, 5}},
		"Passing":           {listing.CheckFilter{State: listing.StatePassing}, []int{7, 8, 10, 11}},
		"StateUnknown":      {listing.CheckFilter{State: listing.StateUnknown}, []int{1, 2}},
		"StateDisabled":     {listing.CheckFilter{State: listing.StateDisabled}, []int{0, 3, 6, 9}},
		"Warning":           {listing.CheckFilter{State: listing.StateWarning}, nil},
		"Label":             {listing.CheckFilter{Labels: []vigil.LabelSelector{{Key: "tier"}}}, []int{0, 1, 2, 3}},
		"LabelValue":        {listing.CheckFilter{Labels: []vigil.LabelSelector{{Key: "tier", Value: &value}}}, []int{0, 1, 2, 3}},
		"Labels":            {listing.CheckFilter{Labels: []vigil.LabelSelector{{Key: "tier"}, {Key: "team", Value: &web}}}, []int{0, 2}},
		"HealthAndRegion":   {listing.CheckFilter{Health: vigil.Unhealthy, Region: newark}, []int{4}},
		"HealthAndEnabled":  {listing.CheckFilter{Health: vigil.Healthy, Enabled: &yes}, []int{7, 8, 10, 11}},
		"EverythingTogether": {listing.CheckFilter{
			Query: "check", Type: vigil.TypeHTTP, Health: vigil.Unknown, Enabled: &yes, Region: newark,
			Labels: []vigil.LabelSelector{{Key: "team", Value: &web}},
		}, []int{2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checks, extent, err := s.Checks(t.Context(), org.ID, listing.CheckList{CheckFilter: tt.filter, Page: listing.Page{Limit: 100}})
			if err != nil {
				t.Fatal(err)
			}
			var got []int
			for _, c := range checks {
				var n int
				if _, err := fmt.Sscanf(c.Name, "Check %d", &n); err != nil {
					t.Fatal(err)
				}
				got = append(got, n)
			}
			slices.Sort(got)
			equal(t, got, tt.want)
			equal(t, extent, listing.Extent{Total: len(tt.want)})
		})
	}
	counts, err := s.CheckCounts(t.Context(), org.ID, listing.CheckFilter{})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, counts, listing.CheckCounts{Healthy: 4, Unhealthy: 2, Unknown: 2, Disabled: 4, Failing: 2, Passing: 4})
	counts, err = s.CheckCounts(t.Context(), org.ID, listing.CheckFilter{Region: newark, Health: vigil.Healthy, Enabled: &no})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, counts, listing.CheckCounts{Healthy: 2, Unhealthy: 1, Unknown: 1, Disabled: 2, Failing: 1, Passing: 2})
}

// TestMostChecksFail proves that filters and counts by health are the same when the loops
// that are not healthy are too many to look at one by one.
func TestMostChecksFail(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	template := newCheck(t, s, draft(org.ID, newark))
	for _, fill := range []string{
		`CREATE TEMP TABLE more AS SELECT c.*, n FROM checks AS c, generate_series(1, 1500) AS n WHERE c.id = ?0`,
		`INSERT INTO checks
				(id, org_id, name, type, config, target, interval_ms, regions, enabled, simultaneous, anchor, revision, created_at, updated_at)
			SELECT md5(n::text)::uuid, org_id, name, type, config, target, interval_ms, regions, n % 10 > 0, simultaneous, anchor, 1,
				created_at, updated_at FROM more`,
		`INSERT INTO check_regions
				(check_id, region, org_id, desired, active, start_at, anchor, interval_ms, counted_until, last_slot, last_time, health)
			SELECT md5(n::text)::uuid, 'na-east-ewr', org_id, 1, true, anchor, anchor, interval_ms, anchor, anchor, anchor,
			CASE WHEN n % 4 = 0 THEN 'healthy' ELSE 'unhealthy' END FROM more`,
	} {
		if _, err := s.DB().NewRaw(fill, template.ID).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for health, want := range map[vigil.Health]int{vigil.Healthy: 375, vigil.Unhealthy: 1125, vigil.Unknown: 1} {
		checks, extent, err := s.Checks(t.Context(), org.ID, listing.CheckList{
			CheckFilter: listing.CheckFilter{Health: health}, Page: listing.Page{Limit: 50},
		})
		if err != nil || extent.Total != want {
			t.Errorf("%d are %s, want %d, %v", extent.Total, health, want, err)
		}
		for _, c := range checks {
			if c.Health != health {
				t.Errorf("a check is %s in a list of %s ones", c.Health, health)
			}
		}
	}
	counts, err := s.CheckCounts(t.Context(), org.ID, listing.CheckFilter{})
	if err != nil {
		t.Fatal(err)
	}
	// Every 20th is healthy and disabled, and every 20th unhealthy and disabled.
	equal(t, counts, listing.CheckCounts{Healthy: 300, Unhealthy: 1050, Unknown: 1, Disabled: 150, Failing: 1050, Passing: 300})
}

// TestTotalIsCapped counts 10,000 rows exactly, and says when there are more.
func TestTotalIsCapped(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	add := func(n int) {
		t.Helper()
		_, err := s.DB().NewRaw(`INSERT INTO audit_log (id, org_id, at, action, key_prefix, members, request_id, address, user_agent)
			SELECT gen_random_uuid(), ?, ?::timestamptz + i * interval '1 s', 'check.create', '', '{}', '', '', '' FROM generate_series(1, ?) AS i`,
			org.ID, epoch(), n).Exec(t.Context())
		if err != nil {
			t.Fatal(err)
		}
	}
	total := func() int {
		t.Helper()
		_, extent, err := s.AuditLog(t.Context(), org.ID, listing.AuditFilter{Page: listing.Page{Limit: 1}})
		if err != nil {
			t.Fatal(err)
		}
		return extent.Total
	}
	add(listing.MaxTotal)
	equal(t, total(), listing.MaxTotal)
	add(500)
	equal(t, total(), listing.MaxTotal+1)
}
