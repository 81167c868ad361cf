// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestErrors tests section 7.
func TestErrors(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	for name, tt := range map[string]struct {
		status       int
		method, path string
		body         any
		header       []string
	}{
		"400 malformed JSON":        {400, "POST", "/v1/checks", `{"name":`, nil},
		"400 another content type":  {400, "POST", "/v1/checks", "name=x", []string{"Content-Type", "text/plain"}},
		"400 an unknown member":     {400, "POST", "/v1/api-keys", object{"name": "x", "colour": "red"}, nil},
		"400 a wrong query value":   {400, "GET", "/v1/checks?limit=many", nil, nil},
		"400 an unknown parameter":  {400, "GET", "/v1/checks?nonsense=1", nil, nil},
		"400 a parameter of a file": {400, "GET", "/v1/schemas/vigil.json?version=2", nil, nil},
		"404 a malformed id":        {404, "GET", "/v1/checks/42", nil, nil},
		"404 an unknown path":       {404, "GET", "/v2/checks", nil, nil},
		"405 another method":        {405, "PATCH", "/v1/checks", nil, nil},
		"413 more than 1 MiB":       {413, "POST", "/v1/checks", strings.Repeat(" ", 1<<20+1), nil},
		"401 a key that is none":    {401, "GET", "/v1/checks", nil, []string{"Authorization", "Bearer vgl_nonsense"}},
		"401 a token that is none":  {401, "GET", "/v1/checks", nil, []string{"Authorization", "Bearer a.b.c"}},
		"401 another authorization": {401, "GET", "/v1/checks", nil, []string{"Authorization", "Basic YTpi"}},
		"400 a check that cannot run": {
			400, "POST", "/v1/checks", object{"name": "x", "type": "http", "config": object{}, "interval_seconds": 60}, nil,
		},
		"400 a scheme that is not one": {400, "POST", "/v1/checks", newCheck("gopher://example.com"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := withTest(t, c).want(tt.status, tt.method, tt.path, tt.body, tt.header...)
			for _, member := range []string{"error", "code", "request_id"} {
				if text(a.body[member]) == "" {
					t.Errorf("no %s: %s", member, a.raw)
				}
			}
			if a.body["request_id"] != a.header.Get("X-Request-Id") || !strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
				t.Errorf("headers %v, body %s", a.header, a.raw)
			}
		})
	}
}

// TestLimits tests section 8.
func TestLimits(t *testing.T) {
	t.Parallel()

	t.Run("Request rate", func(t *testing.T) {
		t.Parallel()
		// The window of one minute begins with the burst. A burst that takes longer
		// uses a second window, so it cannot show the limit.
		began := time.Now()
		admitted, refused := burst(newCaller(t))
		for n := 2; time.Since(began) > 55*time.Second; n++ {
			if n > 4 {
				t.Fatal("no burst of 1050 requests fits into a minute: the test proves nothing")
			}
			began = time.Now()
			admitted, refused = burst(newCaller(t))
		}
		if admitted != 1000 || refused != 50 {
			t.Errorf("%d admitted and %d refused, want 1000 and 50", admitted, refused)
		}
		newCaller(t).want(http.StatusOK, "GET", "/v1/auth/me", nil)
	})

	t.Run("List page size and Results page size", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t)
		body := newCheck("http://example.com")
		body["enabled"] = false
		for range 103 {
			c.want(http.StatusCreated, "POST", "/v1/checks", body)
		}
		for query, want := range map[string]int{"": 50, "?limit=100": 100, "?limit=1000": 100, "?offset=100": 3} {
			if got := len(c.want(http.StatusOK, "GET", "/v1/checks"+query, nil).list()); got != want {
				t.Errorf("%s: %d checks, want %d", query, got, want)
			}
		}
	})

	t.Run("Check interval and Free tier", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t)
		body := newCheck("http://example.com")
		body["enabled"], body["interval_seconds"] = false, 59
		c.want(http.StatusBadRequest, "POST", "/v1/checks", body)
		body["interval_seconds"] = 60
		c.want(http.StatusCreated, "POST", "/v1/checks", body)
		body["regions"] = []string{"na-east-ewr", "eu-central-fra"}
		c.want(http.StatusBadRequest, "POST", "/v1/checks", body)
	})

	t.Run("Budget rule", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t)
		body := newCheck("http://127.0.0.1:9")
		body["interval_seconds"] = 90 // 40 an hour
		c.want(http.StatusCreated, "POST", "/v1/checks", body)
		body["interval_seconds"] = 120 // 30 an hour
		c.want(http.StatusCreated, "POST", "/v1/checks", body)
		body["enabled"] = false // nothing
		c.want(http.StatusCreated, "POST", "/v1/checks", body)
		usage := c.want(http.StatusOK, "GET", "/v1/usage", nil).data()
		hourly, _ := usage["executions_per_hour"].(object)
		if hourly["used"] != 70.0 || hourly["limit"] != 50000.0 || usage["checks"] != 3.0 || usage["tier"] != "free" {
			t.Errorf("usage %v", usage)
		}
	})
}

// burst sends 1,050 requests and checks the rate limit headers of each response.
func burst(c caller) (admitted, refused int64) {
	c.t.Helper()
	var yes, no atomic.Int64
	var group sync.WaitGroup
	slots := make(chan struct{}, 32)
	for range 1050 {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			switch a := c.do("GET", "/v1/auth/me", nil); a.status {
			case http.StatusOK:
				yes.Add(1)
				if !strings.HasPrefix(a.header.Get("RateLimit-Policy"), `"org";q=1000;w=60`) || a.header.Get("RateLimit") == "" {
					c.t.Errorf("headers %v", a.header)
				}
			case http.StatusTooManyRequests:
				no.Add(1)
				if a.header.Get("Retry-After") == "" {
					c.t.Errorf("headers %v", a.header)
				}
			default:
				c.t.Errorf("status %d: %s", a.status, a.raw)
			}
		})
	}
	group.Wait()
	return yes.Load(), no.Load()
}
