// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/platform"
	"github.com/vigil-monitor/vigil/storage"
)

// TestResultsDatabases: one for all results, and one for each region that a variable names.
func TestResultsDatabases(t *testing.T) {
	t.Parallel()
	const all, frankfurt, office = "postgres://all.example/r", "postgres://fra.example/r", "postgres://office.example/r"
	for name, test := range map[string]struct {
		given map[string]string
		want  []storage.ResultsDatabase
		err   string
	}{
		"None": {},
		"All":  {given: map[string]string{"VIGIL_RESULTS_DATABASE_URL": all}, want: []storage.ResultsDatabase{{DSN: all}}},
		"Regions": {
			given: map[string]string{
				"VIGIL_RESULTS_DATABASE_URL": all, "VIGIL_RESULTS_DATABASE_URL_EU_CENTRAL_FRA": frankfurt,
				"VIGIL_RESULTS_DATABASE_URL_LOC_OFFICE": office, "VIGIL_RESULTS_DATABASE_URL_NA_EAST_EWR": "",
			},
			want: []storage.ResultsDatabase{{DSN: all}, {Region: "eu-central-fra", DSN: frankfurt}, {Region: "loc-office", DSN: office}},
		},
		"UnknownRegion": {
			given: map[string]string{"VIGIL_RESULTS_DATABASE_URL_ATLANTIS": frankfurt},
			err:   "VIGIL_RESULTS_DATABASE_URL_ATLANTIS names no region: its end must be a location's key, such as LOC_OFFICE, or one of ",
		},
		"OneRegionByTwoNames": {
			given: map[string]string{
				"VIGIL_RESULTS_DATABASE_URL_EU_CENTRAL_FRA": frankfurt, "VIGIL_RESULTS_DATABASE_URL_EU_CENTRAL_1": frankfurt,
			},
			err: "VIGIL_RESULTS_DATABASE_URL_EU_CENTRAL_FRA names the region eu-central-fra, which another variable names too",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given := map[string]string{"VIGIL_DATA_DIR": t.TempDir()}
			for variable, value := range test.given {
				given[variable] = value
			}
			s, err := platform.ParseSettings(given)
			if test.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), test.err) || strings.Contains(err.Error(), "postgres://") {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil || !slices.Equal(s.ResultsDatabases, test.want) {
				t.Errorf("%v, %v", s.ResultsDatabases, err)
			}
		})
	}
}
