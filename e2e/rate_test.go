// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestRateLimitOverProcesses: three API processes share the limit of an
// organization. Of 3,000 requests at once, 950 to 1000 are admitted, and another
// organization is not affected.
func TestRateLimitOverProcesses(t *testing.T) {
	timingtest.Parallel(t)
	env := []string{
		"DATABASE_URL=" + database(t), "VIGIL_DATA_DIR=" + dataDir(t), "VIGIL_SECRET_KEY=" + strings.Repeat("ab", 32),
		"TEMPORAL_ADDRESS=" + freeAddress(t), // the API works without it
	}
	migrate := exec.CommandContext(t.Context(), binary, "migrate")
	migrate.Env = append(os.Environ(), env...)
	if out, err := migrate.CombinedOutput(); err != nil {
		t.Fatalf("migrate: %v\n%s", err, out)
	}
	var apis []client
	for range 3 {
		address := freeAddress(t)
		launch(t, append(env, "VIGIL_LISTEN="+address), "api")
		api := client{t: t, url: "http://" + address}
		eventually(t, "an API process answers", func() bool {
			a, err := api.try("GET", "/health", nil)
			return err == nil && a.Status == http.StatusOK
		})
		apis = append(apis, api)
	}
	signUp := func(email string) string {
		var account struct {
			APIKey string `json:"api_key"`
		}
		apis[0].into(&account, "POST", "/v1/auth/quick-signup", map[string]any{"email": email})
		return account.APIKey
	}
	busy, other := signUp("busy@example.com"), signUp("other@example.com")
	// The window of a minute begins with the burst. A longer burst would get a second
	// window.
	began := time.Now()
	admitted, refused := burst(t, apis, busy)
	for n := 2; time.Since(began) > 55*time.Second; n++ {
		if n > 4 {
			t.Fatalf("no burst of 3000 requests fits into a minute")
		}
		busy = signUp(fmt.Sprintf("busy%d@example.com", n))
		began = time.Now()
		admitted, refused = burst(t, apis, busy)
	}
	t.Logf("%d of 3000 requests admitted by three processes, %d refused", admitted, refused)
	if admitted > 1000 || admitted < 950 {
		t.Errorf("%d admitted, want 950 to 1000", admitted)
	}
	for _, api := range apis {
		api.key = other
		api.into(nil, "GET", "/v1/auth/me", nil)
	}
}

// burst makes 3,000 requests with a key, spread over the processes.
func burst(t *testing.T, apis []client, key string) (admitted, refused int64) {
	t.Helper()
	var yes, no atomic.Int64
	var group sync.WaitGroup
	slots := make(chan struct{}, 96)
	for i := range 3000 {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			api := apis[i%len(apis)]
			api.key = key
			switch a, err := api.try("GET", "/v1/auth/me", nil); {
			case err != nil:
				t.Error(err)
			case a.Status == http.StatusOK:
				yes.Add(1)
			case a.Status == http.StatusTooManyRequests:
				no.Add(1)
			default:
				t.Errorf("status %d: %s", a.Status, a.Error)
			}
		})
	}
	group.Wait()
	return yes.Load(), no.Load()
}
