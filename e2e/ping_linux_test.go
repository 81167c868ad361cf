package e2e_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"vigil/probe/probetest"
)

// TestPingWhereItIsForbidden runs the platform on a machine that forbids ICMP:
// the region says so, and a ping check there is accepted and has no result,
// which is neither up nor down.
func TestPingWhereItIsForbidden(t *testing.T) {
	t.Parallel()
	probetest.ForbidICMP(t)
	p := up(t, dataDir(t), "VIGIL_REGIONS="+stageRegion)
	c := client{t: t, url: p.ready.APIURL, key: p.ready.APIKey}
	eventually(t, "the region says that it cannot ping", func() bool {
		return slices.Equal(unavailableTypes(c), []string{"ping"})
	})

	var ping, web check
	c.into(&ping, http.MethodPost, "/v1/checks", object{
		"name": "ping", "type": "ping", "interval_seconds": 1, "regions": []string{stageRegion}, "config": object{"host": "127.0.0.1"},
	})
	c.into(&web, http.MethodPost, "/v1/checks", httpCheck("web", newTarget(t).URL, 1, stageRegion))
	path := "/v1/checks/" + ping.ID
	if a := c.do(http.MethodPost, path+"/test", nil); a.Status != http.StatusServiceUnavailable || !strings.Contains(a.Error, "ping is not available in this region") {
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
