// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// retries runs a check that tries once more. Its target refuses every second request at
// first, and then all of them.
func retries(t *testing.T, c client) {
	t.Helper()
	var asked atomic.Int64
	var down atomic.Bool
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1)%2 == 1 || down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(target.Close)
	var made check
	c.into(&made, http.MethodPost, "/v1/checks", object{
		"name": "retries", "type": "http", "interval_seconds": 10, "regions": []string{clusterRegion},
		"config": object{"url": target.URL, "timeout_seconds": 4}, "retry": object{"attempts": 1, "delay_seconds": 1},
	})
	path := "/v1/checks/" + made.ID
	const reason = "status 503, expected 200"
	before := func(seen sampledResult) string {
		list, _ := seen.Metadata["attempts"].([]any)
		if len(list) != 1 {
			return ""
		}
		attempt, _ := list[0].(object)
		text, _ := attempt["error"].(string)
		return text
	}
	seen := awaitResult(c, path, func(seen sampledResult) bool { return seen.Success })
	if before(seen) != reason {
		t.Errorf("it succeeds after %v", seen.Metadata)
	}
	down.Store(true)
	seen = awaitResult(c, path, func(seen sampledResult) bool { return !seen.Success })
	if seen.Error != reason || before(seen) != reason {
		t.Errorf("it fails with %q after %v", seen.Error, seen.Metadata)
	}
}
