// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"testing"
	"time"
)

// The examples of the document are a region as it is returned.
func TestRegionExamples(t *testing.T) {
	t.Parallel()
	b := setup(t)
	document := b.want(t, http.StatusOK, http.MethodGet, "/openapi.json", nil).body
	var members map[string]any
	for _, step := range []string{"components", "schemas", "Region", "properties"} {
		if step == "components" {
			members = document
		}
		next, ok := members[step].(map[string]any)
		if !ok {
			t.Fatalf("the document has no %s", step)
		}
		members = next
	}
	newark := b.want(t, http.StatusOK, http.MethodGet, "/v1/regions?limit=1", nil).rows(t)[0]
	compared := 0
	for name, member := range members {
		examples, _ := member.(map[string]any)["examples"].([]any)
		if len(examples) == 0 {
			continue
		}
		compared++
		if newark[name] != examples[0] {
			t.Errorf("%s is %v, and %v in the document", name, newark[name], examples[0])
		}
	}
	if compared < 8 {
		t.Errorf("only %d examples were found", compared)
	}
}

// TestRegionWithAWrongClock tests that the clock of a region's worker is shown when it is
// wrong, and that a worker far off does not make its region online.
func TestRegionWithAWrongClock(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		difference time.Duration
		want       any // clock_difference_seconds
		status     string
	}{
		"Right":     {2 * time.Second, nil, "online"},
		"Ahead":     {2500 * time.Millisecond, 2.5, "online"},
		"FarBehind": {-31 * time.Second, -31.0, "offline"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.works(t, "w1", "na-east-ewr")
			if _, err := b.store.DB().
				NewRaw("UPDATE worker_leases SET clock_difference_ms = ?", test.difference.Milliseconds()).
				Exec(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, row := range b.want(t, http.StatusOK, http.MethodGet, "/v1/regions?limit=100", nil).rows(t) {
				want, status := test.want, test.status
				if row["key"] != "na-east-ewr" {
					want, status = nil, "offline"
				}
				if row["clock_difference_seconds"] != want || row["status"] != status {
					t.Errorf("%s is %s with a difference of %v; want %s with %v",
						row["key"], row["status"], row["clock_difference_seconds"], status, want)
				}
			}
		})
	}
}

// TestBlindRegion tests that a region says since when a worker of it has no line.
func TestBlindRegion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.works(t, "w1", "na-east-ewr")
	since := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	if _, err := b.store.DB().NewRaw("UPDATE worker_leases SET blind_since = ?", since).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, row := range b.want(t, http.StatusOK, http.MethodGet, "/v1/regions?limit=100", nil).rows(t) {
		var want any
		if row["key"] == "na-east-ewr" {
			want = "2026-03-01T09:30:00Z"
		}
		if got, has := row["blind_since"]; !has || got != want {
			t.Errorf("%s is blind since %v, want %v", row["key"], got, want)
		}
	}
}
