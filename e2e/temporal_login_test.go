// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	temporal "go.temporal.io/sdk/client"

	"github.com/vigil-monitor/vigil/internal/standalone"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// temporalDirs has the data directory of the platform at an address of Temporal.
var temporalDirs sync.Map //nolint:gochecknoglobals // filled by start, read by dialTemporal

// temporalTLS returns the certificates for an address of Temporal, nil where it needs none.
func temporalTLS(t *testing.T, address string) *tls.Config {
	t.Helper()
	dir, ok := temporalDirs.Load(address)
	if !ok || dir == "" { // that of `vigil temporal`
		return nil
	}
	secure, err := standalone.TemporalTLS(dir.(string)) //nolint:forcetypeassert // it is
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return secure
}

// operatorBrowser is a browser that signed in with the link that `vigil up` prints.
func operatorBrowser(t *testing.T, p *process) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Timeout: 30 * time.Second}
	link, err := url.Parse(p.ready.SignInURL)
	if err != nil {
		t.Fatal(err)
	}
	if got := visit(t, browser, http.MethodPost, p.ready.APIURL+"/app/first-run", link.RawQuery); got.StatusCode != http.StatusOK {
		t.Fatalf("sign in: %d", got.StatusCode)
	}
	return browser
}

// visit makes a request as a browser does, and follows where it leads.
func visit(t *testing.T, browser *http.Client, method, target, form string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/html,*/*")
	if form != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// TestTemporalNeedsALogin: another user of the machine cannot use Temporal or its UI; who
// signed in to the dashboard as the operator can, until that session ends.
func TestTemporalNeedsALogin(t *testing.T) {
	timingtest.Parallel(t)
	p := up(t, dataDir(t), "VIGIL_REGIONS=eu-central-fra")
	t.Run("APort", func(t *testing.T) {
		for name, secure := range map[string]*tls.Config{
			"plain": nil, "without a certificate": {InsecureSkipVerify: true}, // a stranger
		} {
			c, err := temporal.Dial(temporal.Options{
				HostPort: p.ready.TemporalAddress, Namespace: p.ready.Namespace, Logger: silent{},
				ConnectionOptions: temporal.ConnectionOptions{TLS: secure},
			})
			if err == nil {
				c.Close()
				t.Errorf("a client that is %s is served", name)
			}
		}
		c := dialTemporal(t, p.ready.TemporalAddress, p.ready.Namespace)
		defer c.Close()
		if _, err := c.CheckHealth(t.Context(), nil); err != nil {
			t.Errorf("with the certificates of the data directory: %v", err)
		}
	})
	t.Run("TheUI", func(t *testing.T) {
		ui := p.ready.TemporalUIURL + "/api/v1/namespaces/" + p.ready.Namespace
		stranger := &http.Client{Timeout: 30 * time.Second}
		for _, path := range []string{"/", "/api/v1/settings", "/api/v1/namespaces/" + p.ready.Namespace + "/workflows", "/healthz"} {
			got := visit(t, stranger, http.MethodGet, p.ready.TemporalUIURL+path, "")
			if at := got.Request.URL; at.Host != strings.TrimPrefix(p.ready.APIURL, "http://") || at.Path != "/app/sign-in" {
				t.Errorf("GET %s: %d at %s, want the sign-in page", path, got.StatusCode, at)
			}
			if got := request(t, http.MethodGet, p.ready.TemporalUIURL+path, ""); got.StatusCode != http.StatusUnauthorized {
				t.Errorf("GET %s of a program: %d", path, got.StatusCode)
			}
		}
		browser := operatorBrowser(t, p)
		if got := visit(t, browser, http.MethodGet, ui, ""); got.StatusCode != http.StatusOK || got.Request.URL.String() != ui {
			t.Fatalf("the operator: %d at %s", got.StatusCode, got.Request.URL)
		}
		visit(t, browser, http.MethodPost, p.ready.APIURL+"/app/sign-out", "x=1")
		eventually(t, "the UI knows that the session has ended", func() bool {
			return visit(t, browser, http.MethodGet, ui, "").Request.URL.Path == "/app/sign-in"
		})
	})
	p.stop()
}
