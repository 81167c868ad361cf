// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/client"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	const longest = math.MaxInt32 * time.Second
	for text, want := range map[string]time.Duration{
		"12": 12 * time.Second, " 120 ": 2 * time.Minute, "0": 0, "000000000007": 7 * time.Second, "2147483648": longest,
		"99999999999999999999999999": longest, "Fri, 01 May 2026 12:00:30 GMT": 30 * time.Second, "Fri, 01 May 2026 11:00:00 GMT": 0,
		"Friday, 01-May-26 12:00:30 GMT": 30 * time.Second, "Fri May  1 12:00:30 2026": 30 * time.Second,
	} {
		if got, ok := client.RetryAfter(http.Header{"Retry-After": {text}}, now); !ok || got != want {
			t.Errorf("%q is %v, %t", text, got, ok)
		}
	}
	for _, text := range []string{"", " ", "-1", "+1", "1.5", "soon"} {
		if got, ok := client.RetryAfter(http.Header{"Retry-After": {text}}, now); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
}
