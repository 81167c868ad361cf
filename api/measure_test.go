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

	"vigil"
	"vigil/api"
)

// Whatever callers make up, they cannot make a route of it.
func TestEveryAnswerIsTold(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var told []string
	b := setup(t, func(d *api.Deps) {
		d.Config.AddressRate = 1
		d.Answered = func(_ context.Context, method, route string, status int, took time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, fmt.Sprintf("%s %s %d", method, route, status))
			if took < 0 {
				t.Errorf("%s took %v", route, took)
			}
		}
	})
	b.loops.test = func(vigil.Check, string, bool) (vigil.Result, error) { panic("out of cheese") }
	a := b.signup(t)
	check := text(a.check(t), "id")
	mu.Lock()
	told = nil
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
		if len(told) == 0 || !slices.Equal(told, []string{step.want}) {
			t.Errorf("%s %s: told %q, want %q", step.method, step.path, told, step.want)
		}
		told = nil
		mu.Unlock()
	}
}
