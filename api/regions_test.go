// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/agentlink"
	"github.com/vigil-monitor/vigil/internal/location"
	"github.com/vigil-monitor/vigil/storage/agents"
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

// TestRegionOfSilentAgents tests that a public region that agents serve is online while one reports: not by the worker
// that keeps its results. A check that begins there has a warning, and a platform whose agents are all away is ready for them.
func TestRegionOfSilentAgents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.tier(t, b.signup(t), account.TierPaid)
	const newark = "na-east-ewr"
	b.works(t, "w1", newark)
	place, token, err := b.store.SetRegionToken(t.Context(), newark, "Newark, USA")
	if err != nil {
		t.Fatal(err)
	}
	look := func(status, ready, warning string) {
		t.Helper()
		b.clock.Advance(2 * time.Second) // answers are kept for a second
		for _, row := range b.want(t, http.StatusOK, http.MethodGet, "/v1/regions?limit=100", nil).rows(t) {
			if row["key"] == newark && row["status"] != status {
				t.Errorf("it is %v, want %s", row["status"], status)
			}
		}
		if said := b.want(t, http.StatusOK, http.MethodGet, "/ready", nil).data(t)["regions"]; said != ready {
			t.Errorf("ready says %v, want %s", said, ready)
		}
		made := a.check(t, with("regions", []string{newark}))
		if said := warningsIn(made); (said != "") != (warning != "") || !strings.Contains(said, warning) {
			t.Errorf("a check in it has the warnings %q, want %q", said, warning)
		}
	}
	look("offline", "0 of 33 online", newark+" has no worker")

	begun, err := b.store.OpenSession(t.Context(), agents.TokenHash(token), &agentlink.Hello{
		Instance: uuid.New(), Name: "pi", Version: "v1", Key: []byte("key"), Types: []vigil.CheckType{vigil.TypeHTTPS},
	})
	if err != nil {
		t.Fatal(err)
	}
	session, err := b.store.SessionOf(t.Context(), agents.TokenHash(token), begun.Session)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.store.ReportOf(t.Context(), location.Seen{Session: session, Report: &agentlink.Report{}}); err != nil {
		t.Fatal(err)
	}
	look("online", "1 of 33 online", "")

	const silent = "UPDATE agents SET seen_at = clock_timestamp() - interval '31 s' WHERE location_id = ?"
	if _, err := b.store.DB().NewRaw(silent, place.ID).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	look("offline", "0 of 33 online", newark+" has no worker")
}
