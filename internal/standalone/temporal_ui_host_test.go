// SPDX-License-Identifier: Apache-2.0

package standalone_test

import (
	"net/http"
	"testing"
)

// checkUIHosts requests the UI, which listens on loopback, under names that pages of
// other sites can bind to it.
func checkUIHosts(t *testing.T, url string) {
	t.Helper()
	for host, want := range map[string]int{
		"127.0.0.1:8233": 200, "localhost:8233": 200, "[::1]:8233": 200, "ui.localhost": 200, "temporal.example.com": 200,
		"evil.example": 403, "evil.example:8233": 403, "127.0.0.1.nip.io": 403, "192.168.0.7": 403, "localhost.evil.example": 403, "server": 403,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/api/v1/settings", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = host
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("Host %s: status %d, want %d", host, response.StatusCode, want)
		}
	}
}
