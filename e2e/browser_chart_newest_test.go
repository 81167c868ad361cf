// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestBrowserChartNewest presses one statistic of a chart and, before its answer is there, another one: the page shows what
// was asked for last, also when the answer before comes after it.
func TestBrowserChartNewest(t *testing.T) {
	timingtest.Parallel(t)
	c, shop := theChromium(t), newService(t)
	p, _ := shared(t)
	const email = "newest@harbor.example"
	api := p.signUp(t, email)
	var made check
	api.into(&made, http.MethodPost, "/v1/checks", httpCheck("Checkout", shop.URL+"/checkout", 1, "eu-central-fra"))

	// What lies between the browser and the platform holds the first answer back.
	address, err := url.Parse(p.ready.APIURL)
	if err != nil {
		t.Fatal(err)
	}
	direct := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(address)
		r.Out.Host = r.In.Host
	}}
	var once sync.Once
	asked, release, answered := make(chan struct{}), make(chan struct{}), make(chan struct{})
	between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		late := false
		if r.URL.Path == "/app/checks/"+made.ID && r.URL.Query().Get("statistic") == "p95" {
			once.Do(func() { late = true })
		}
		if !late {
			direct.ServeHTTP(w, r)
			return
		}
		defer close(answered)
		close(asked)
		<-release
		direct.ServeHTTP(w, r)
	}))
	t.Cleanup(between.Close)
	free := sync.OnceFunc(func() { close(release) })
	t.Cleanup(free)

	b := c.open(t, between.URL)
	path := "/app/checks/" + made.ID
	b.visit("/app/sign-in?next=" + path)
	b.fill("Email", email)
	b.fill("Password", browserPassword)
	b.press("Sign in")
	b.until("the first results are in the chart", `document.querySelector("#chart .u-over")`)
	b.stay()
	b.press("p95")
	<-asked
	b.press("p50")
	chosen := `[...document.querySelectorAll("#check-chart [aria-current]")].some(e => e.textContent.trim() === "p50")`
	b.until("what was asked for last is shown", `location.search.includes("statistic=p50") && `+chosen)
	free()
	<-answered
	// Another answer has come after the late one, so the page has had the time to show that.
	eval[bool](b, `fetch("/app/help").then(answer => answer.text()).then(() => new Promise(done => setTimeout(() => done(true), 100)))`)
	if !eval[bool](b, `location.search.includes("statistic=p50") && `+chosen) {
		t.Errorf("the late answer took its place: %s", b.path())
	}
	b.stayed("two statistics")
}
