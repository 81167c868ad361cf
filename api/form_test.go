// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// malformed are queries that no operation takes.
func malformed() []string {
	return []string{"/v1/checks?limit=", "/v1/checks?limit=1&limit=2", "/v1/checks?limit=%zz", "/v1/stream/alerts?since="}
}

func TestMalformedRequests(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)

	t.Run("WithoutACredentialThatIsTheMistake", func(t *testing.T) {
		t.Parallel()
		for _, path := range malformed() {
			b.as("").want(t, http.StatusUnauthorized, http.MethodGet, path, nil)
		}
	})

	t.Run("CountLikeAnyOther", func(t *testing.T) {
		t.Parallel()
		left := func(path string, status int) int {
			header := a.want(t, status, http.MethodGet, path, nil).header.Get("RateLimit")
			_, rest, _ := strings.Cut(header, ";r=")
			n, _, _ := strings.Cut(rest, ";")
			number, err := strconv.Atoi(n)
			if err != nil {
				t.Fatalf("%s: RateLimit is %q", path, header)
			}
			return number
		}
		before := left("/v1/auth/me", http.StatusOK)
		for _, path := range malformed() {
			left(path, http.StatusBadRequest)
		}
		if after := left("/v1/auth/me", http.StatusOK); before-after != len(malformed())+1 {
			t.Errorf("%d requests were left before and %d after", before, after)
		}
	})
}
