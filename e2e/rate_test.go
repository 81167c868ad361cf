package e2e_test

import (
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestRateLimitOverProcesses holds the limit of an organization over three API
// processes together: 3,000 requests at once, at most 1000 of which are admitted
// and at least 950, while another organization is not affected.
func TestRateLimitOverProcesses(t *testing.T) {
	t.Parallel()
	env := []string{
		"DATABASE_URL=" + database(t), "VIGIL_DATA_DIR=" + dataDir(t), "VIGIL_SECRET_KEY=" + strings.Repeat("ab", 32),
		"TEMPORAL_ADDRESS=" + freeAddress(t), // the API does without it
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

	var admitted, refused atomic.Int64
	var group sync.WaitGroup
	slots := make(chan struct{}, 96)
	for i := range 3000 {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			api := apis[i%len(apis)]
			api.key = busy
			switch a, err := api.try("GET", "/v1/auth/me", nil); {
			case err != nil:
				t.Error(err)
			case a.Status == http.StatusOK:
				admitted.Add(1)
			case a.Status == http.StatusTooManyRequests:
				refused.Add(1)
			default:
				t.Errorf("status %d: %s", a.Status, a.Error)
			}
		})
	}
	group.Wait()
	t.Logf("%d of 3000 requests admitted by three processes, %d refused", admitted.Load(), refused.Load())
	if n := admitted.Load(); n > 1000 || n < 950 {
		t.Errorf("%d admitted, want 950 to 1000", n)
	}
	for _, api := range apis {
		api.key = other
		api.into(nil, "GET", "/v1/auth/me", nil)
	}
}
