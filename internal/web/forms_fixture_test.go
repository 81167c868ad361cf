// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/net/html"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/probe"
)

// office is a site with a signed-in user and a worker in two regions. Only loops do not
// run; a test by hand probes in this process.
type office struct {
	*browser

	api http.Handler
	key string
}

// openOffice starts an office of the paid tier. Options change what the API is given.
func openOffice(t *testing.T, options ...func(*api.Deps)) *office {
	t.Helper()
	s := open(t, "", append([]func(*api.Deps){func(d *api.Deps) {
		d.Loops = probing{probes: probe.NewRegistry(egress.New(egress.Policy{AllowPrivate: true}))}
	}}, options...)...)
	o := &office{api: s.api}
	b, email := s.signUp(t)
	o.browser = b
	var login struct{ Token string }
	o.call(t, http.MethodPost, "/v1/auth/login", map[string]any{"email": email, "password": password}, &login)
	o.key = login.Token
	var made struct {
		Key string `json:"api_key"`
	}
	o.call(t, http.MethodPost, "/v1/api-keys", map[string]any{"name": "tests"}, &made)
	o.key = made.Key
	o.works(t, "eu-central-fra", "na-east-ewr")
	return o
}

// works lets a worker of the regions report, for an hour.
func (o *office) works(t *testing.T, regions ...string) {
	t.Helper()
	if _, err := o.site.store.RenewLease(t.Context(), fleet.Renewal{Worker: "w", Regions: regions}); err != nil {
		t.Fatal(err)
	}
	later := "UPDATE worker_leases SET renewed_at = renewed_at + interval '1 hour'"
	if _, err := o.site.store.DB().NewRaw(later).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// call calls the API with the user's key, and reads data of the answer.
func (o *office) call(t *testing.T, method, path string, body, into any) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequestWithContext(t.Context(), method, path, bytes.NewReader(text))
	req.Header.Set("Content-Type", "application/json")
	if o.key != "" {
		req.Header.Set("Authorization", "Bearer "+o.key)
	}
	answer := httptest.NewRecorder()
	o.api.ServeHTTP(answer, req)
	if answer.Code >= http.StatusBadRequest {
		t.Fatalf("%s %s: %d %s", method, path, answer.Code, answer.Body)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &struct{ Data any }{into}); err != nil {
		t.Fatal(err)
	}
}

// view opens a page.
func (o *office) view(t *testing.T, path string) *opened {
	t.Helper()
	return o.open(t, http.MethodGet, path, nil)
}

func (o *office) open(t *testing.T, method, path string, values url.Values) *opened {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, o.site.url+path, strings.NewReader(values.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	res, err := o.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	root, err := html.ParseWithOptions(bytes.NewReader(text), html.ParseOptionEnableScripting(false))
	if err != nil {
		t.Fatal(err)
	}
	p := &opened{office: o, path: path, status: res.StatusCode, location: res.Header.Get("Location"), root: root, raw: string(text)}
	for _, cookie := range res.Cookies() {
		p.cookies = append(p.cookies, cookie.Name)
	}
	p.read()
	return p
}

// probing starts no loop, and probes from one region for a test by hand.
type probing struct {
	noLoops

	probes *probe.Registry
}

func (p probing) Test(ctx context.Context, check vigil.Check, region string, _ bool) (vigil.Result, error) {
	if region != "eu-central-fra" {
		return vigil.Result{}, vigil.Errorf(vigil.CodeUnavailable, "No worker polls this region.")
	}
	parsed, err := p.probes.Parse(check.Type, check.Config, check.Interval)
	if err != nil {
		return vigil.Result{}, err
	}
	return vigil.Result{ID: uuid.New(), CheckID: check.ID, Region: region, Slot: time.Now(), Observation: parsed.Run(ctx)}, nil
}
