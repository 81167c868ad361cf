// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api"
)

// A path that a caller made up is not a route.
func TestEveryAnswerIsMeasured(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var measured []string
	b := setup(t, func(d *api.Deps) {
		d.Config.AddressRate = 1
		d.Answered = func(_ context.Context, method, route string, status int, took time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			measured = append(measured, fmt.Sprintf("%s %s %d", method, route, status))
			if took < 0 {
				t.Errorf("%s took %v", route, took)
			}
		}
	})
	b.loops.test = func(vigil.Check, string, bool) (vigil.Result, error) { panic("out of cheese") }
	a := b.signup(t)
	check := text(a.check(t), "id")
	mu.Lock()
	measured = nil
	mu.Unlock()
	for _, step := range []struct {
		method, path string
		want         string
	}{
		{http.MethodGet, "/v1/checks/" + check, "GET /v1/checks/{id} 200"},
		{http.MethodHead, "/health", "GET /health 200"},
		{http.MethodGet, "/v1/checks/" + uuid.NewString(), "GET /v1/checks/{id} 404"},
		{http.MethodGet, "/v1/nothing/" + check, "none none 404"},
		{"BREW", "/v1/checks", "none none 405"},
		{http.MethodPost, "/v1/checks/" + check + "/test", "POST /v1/checks/{id}/test 500"},
		{http.MethodPost, "/v1/auth/recover", "POST /v1/auth/recover 429"},
	} {
		a.do(t, step.method, step.path, nil)
		mu.Lock()
		if len(measured) == 0 || !slices.Equal(measured, []string{step.want}) {
			t.Errorf("%s %s: measured %q, want %q", step.method, step.path, measured, step.want)
		}
		measured = nil
		mu.Unlock()
	}
}
