// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/probe/probetest"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestPingForbidden runs the platform on a machine that forbids ICMP: the region
// lists ping as unavailable, and a ping check is accepted but has no result.
func TestPingForbidden(t *testing.T) {
	timingtest.Parallel(t)
	probetest.ForbidICMP(t)
	p := up(t, dataDir(t), "VIGIL_REGIONS="+clusterRegion)
	c := client{t: t, url: p.ready.APIURL, key: p.ready.APIKey}
	eventually(t, "the region lists ping as unavailable", func() bool {
		return slices.Equal(unavailableTypes(c), []string{"ping"})
	})

	var ping, web check
	c.into(&ping, http.MethodPost, "/v1/checks", object{
		"name": "ping", "type": "ping", "interval_seconds": 1, "regions": []string{clusterRegion}, "config": object{"host": "127.0.0.1"},
	})
	c.into(&web, http.MethodPost, "/v1/checks", httpCheck("web", newTarget(t).URL, 1, clusterRegion))
	path := "/v1/checks/" + ping.ID
	a := c.do(http.MethodPost, path+"/test", nil)
	if a.Status != http.StatusServiceUnavailable || !strings.Contains(a.Error, "ping is not available in this region") {
		t.Errorf("a test of it: %d %q", a.Status, a.Error)
	}
	eventually(t, "another check of the region has some results", func() bool {
		return len(resultsOf(c, "/v1/checks/"+web.ID)) >= 4
	})
	if results := resultsOf(c, path); len(results) > 0 {
		t.Errorf("%d results of a check that cannot run", len(results))
	}
	if c.into(&ping, http.MethodGet, path, nil); ping.HealthStatus != "unknown" {
		t.Errorf("health_status %q, want unknown", ping.HealthStatus)
	}
}
