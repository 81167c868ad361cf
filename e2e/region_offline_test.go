// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/storage"
)

// TestRegionWithoutWorkers stops all workers of a region: it is shown as offline,
// a check in it can be deleted, and its loop is terminated without a worker.
func TestRegionWithoutWorkers(t *testing.T) {
	timingtest.Parallel(t)
	site := newSwitchable(t)
	s := newCluster(t)
	s.seed(site.URL, 1, 2*time.Second)
	c := client{t: t, url: s.apiURL}
	status := func() string {
		var regions []struct{ Key, Status string }
		c.into(&regions, http.MethodGet, "/v1/regions?limit=100", nil)
		for _, region := range regions {
			if region.Key == clusterRegion {
				return region.Status
			}
		}
		return "unknown"
	}
	eventually(t, "the region is online", func() bool { return status() == "online" })

	var org, check uuid.UUID
	if err := s.db.QueryRowContext(t.Context(), "SELECT org_id, id FROM checks").Scan(&org, &check); err != nil {
		t.Fatal(err)
	}
	for _, worker := range s.workers {
		worker.kill()
	}
	died := time.Now()
	eventually(t, "the region is offline", func() bool { return status() == "offline" })
	t.Logf("offline %v after its last worker was killed", time.Since(died).Round(10*time.Millisecond))

	s.withStore(func(store *storage.Store) {
		if _, err := store.DeleteCheck(t.Context(), org, check, nil); err != nil {
			t.Fatal(err)
		}
	})
	deleted := time.Now()
	server := dialTemporal(t, s.temporal.ready.TemporalAddress, "vigil")
	defer server.Close()
	eventually(t, "the loop is terminated", func() bool {
		d, err := server.DescribeWorkflowExecution(t.Context(), "check/"+check.String()+"/"+clusterRegion, "")
		return err == nil && d.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED
	})
	t.Logf("terminated %v after the check was deleted", time.Since(deleted).Round(10*time.Millisecond))
	eventually(t, "the tombstone is done", func() bool {
		return s.number("SELECT count(*) FROM loop_tombstones WHERE done_at IS NULL") == 0
	})

	s.startWorker(0)
	eventually(t, "the region is online again", func() bool { return status() == "online" })
	hits := site.hits.Load()
	wait(t, "more than an interval", 3*time.Second)
	if more := site.hits.Load() - hits; more > 0 {
		t.Errorf("%d probes of a deleted check", more)
	}
}
