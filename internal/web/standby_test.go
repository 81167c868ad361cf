// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/api"
)

// TestPagesSayThatTheDatabaseIsAway: every page that is read from a standby alone says so, and since when something may be missing
// where that is known.
func TestPagesSayThatTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	var choice atomic.Pointer[api.StandbyChoice]
	choice.Store(&api.StandbyChoice{Standby: true})
	o := openOffice(t, func(d *api.Deps) {
		d.Standby = &api.Standby{Stores: d.Stores, Choose: func(context.Context) api.StandbyChoice { return *choice.Load() }}
	})
	const away, since = "The database is away", "as of"
	for fact, test := range map[string]struct {
		choice      api.StandbyChoice
		said, dated bool
	}{
		"All":     {api.StandbyChoice{Standby: true}, false, false},
		"Alone":   {api.StandbyChoice{Standby: true, Alone: true, AsOf: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}, true, true},
		"Unknown": {api.StandbyChoice{Standby: true, Alone: true}, true, false},
	} {
		choice.Store(&test.choice)
		for _, path := range []string{"/app", "/app/incidents", "/app/reports"} {
			page := o.view(t, path).raw
			if strings.Contains(page, away) != test.said || strings.Contains(page, since) != test.dated {
				t.Errorf("%s, %s: says %q: %t, %q: %t", fact, path, away, strings.Contains(page, away), since, strings.Contains(page, since))
			}
		}
	}
}

// TestPagesSayWhichResultsAreMissing: while a database of results is away, every page that reads results names its regions.
func TestPagesSayWhichResultsAreMissing(t *testing.T) {
	t.Parallel()
	var missing atomic.Pointer[[]string]
	missing.Store(&[]string{})
	o := openOffice(t, func(d *api.Deps) {
		d.MissingResults = func(ctx context.Context) (context.Context, func() []string) {
			return ctx, func() []string { return *missing.Load() }
		}
	})
	for _, test := range []struct {
		missing []string
		said    string
	}{
		{[]string{}, ""},
		{[]string{"eu-central-fra", "na-east-ewr"}, "the results of Frankfurt, Newark is away"},
		{[]string{"*"}, "the results of all regions without a database of their own is away"},
		{[]string{"loc-office"}, "the results of loc-office is away"},
	} {
		missing.Store(&test.missing)
		page := o.view(t, "/app").raw
		if said := strings.Contains(page, "Results are missing"); said != (test.said != "") || !strings.Contains(page, test.said) {
			t.Errorf("%v: the page says that results are missing: %t; want %q", test.missing, said, test.said)
		}
	}
}
