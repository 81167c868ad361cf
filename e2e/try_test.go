// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestTryConfig tries a config that is not saved, on a real worker. The target asks for a
// secret header, which does not pass through Temporal.
func TestTryConfig(t *testing.T) {
	timingtest.Parallel(t)
	_, c := shared(t)
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != "s3cret" {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	t.Cleanup(target.Close)
	try := func(secret string) (results []result) {
		c.into(&results, http.MethodPost, "/v1/checks/try", map[string]any{
			"type": "http", "config": map[string]any{"url": target.URL, "headers": map[string]any{"X-Api-Key": secret}},
			"regions": []string{clusterRegion},
		})
		return results
	}
	if got := try("s3cret"); len(got) != 1 || !got[0].Success || got[0].Region != clusterRegion {
		t.Errorf("the right secret: %+v", got)
	}
	if got := try("wrong"); len(got) != 1 || got[0].Success {
		t.Errorf("a wrong secret: %+v", got)
	}
}
