// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestTestEndsWithItsCaller: the probe of a test by hand ends soon after its caller has left.
func TestTestEndsWithItsCaller(t *testing.T) {
	timingtest.Parallel(t)
	_, c := shared(t)
	targets := newHangable(t, 1)
	targets.hanging.Store(true)
	var made check
	c.into(&made, http.MethodPost, "/v1/checks", map[string]any{
		"name": "hangs", "type": "http", "config": map[string]any{"url": targets.urls[0], "timeout_seconds": 30},
		"interval_seconds": 60, "regions": []string{clusterRegion}, "enabled": false,
	})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/v1/checks/"+made.ID+"/test", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	answered := make(chan error, 1)
	go func() {
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			_ = response.Body.Close()
		}
		answered <- err
	}()
	eventually(t, "the test probes", func() bool { return targets.open.Load() == 1 })
	leave()
	left := time.Now()
	if err := <-answered; err == nil {
		t.Error("a request that was given up was answered")
	}
	eventually(t, "the probe has ended", func() bool { return targets.open.Load() == 0 })
	if took := time.Since(left); took > 10*time.Second {
		t.Errorf("the probe ended %v after its caller had left, as late as its timeout", took)
	}
	t.Logf("the probe ended %v after its caller had left", time.Since(left).Round(10*time.Millisecond))
}
