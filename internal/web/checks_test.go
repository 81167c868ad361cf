// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage"
)

// fleet is an account with checks, and results as workers store them.
type machines struct {
	*site
	b       *browser
	email   string
	org     uuid.UUID
	results *storage.ResultWriter
}

func newFleet(t *testing.T) *machines {
	t.Helper()
	s := open(t, "")
	b, email := s.signUp(t)
	user, err := s.store.UserByEmail(t.Context(), email)
	if err != nil {
		t.Fatal(err)
	}
	f := &machines{
		site:    s,
		b:       b,
		email:   email,
		org:     user.OrgID,
		results: storage.NewResultWriter(s.store, storage.WriterOptions{Delay: time.Millisecond}),
	}
	ran := make(chan error, 1)
	ctx := context.WithoutCancel(t.Context())
	go func() { ran <- f.results.Run(ctx) }()
	t.Cleanup(func() {
		f.results.Close()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
	return f
}

// check creates a check as the first one is created, and returns its id.
func (f *machines) check(t *testing.T, host string) uuid.UUID {
	t.Helper()
	made := f.b.post(t, http.StatusSeeOther, "/app/checks/first", url.Values{"config.url": {host}})
	id, err := uuid.Parse(strings.TrimPrefix(made.location, "/app/checks/"))
	if err != nil {
		t.Fatalf("leads to %s", made.location)
	}
	return id
}

const newark = "na-east-ewr"

// result stores the result of a slot: 60 is the first one of the check, 59 the one a minute
// after it. A text is its error.
func (f *machines) result(t *testing.T, check uuid.UUID, left int, wrong string) {
	t.Helper()
	loops, err := f.store.Loops(t.Context(), f.org, check)
	if err != nil {
		t.Fatal(err)
	}
	slot := loops[0].Start.Add(time.Duration(60-left) * time.Minute)
	seen := vigil.Observation{Success: wrong == "", ResponseTime: 20 * time.Millisecond, StatusCode: http.StatusOK, Error: wrong}
	if wrong != "" {
		seen.StatusCode = http.StatusServiceUnavailable
	}
	_, err = f.results.Write(t.Context(), vigil.ResultRow{Worker: "w1", Deadline: 5 * time.Second, Result: vigil.Result{
		ID: vigil.ResultID(check, newark, slot), CheckID: check, Region: newark, Slot: slot, Time: time.Now(), Observation: seen,
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// inOrder fails the test unless the page shows the texts one after the other.
func (a answer) inOrder(t *testing.T, texts ...string) {
	t.Helper()
	rest := a.text
	for _, text := range texts {
		at := strings.Index(rest, text)
		if at < 0 {
			t.Fatalf("the page does not show %q after those before it in %q", text, texts)
		}
		rest = rest[at+len(text):]
	}
}

// without fails the test when the page shows a text.
func (a answer) without(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(a.text, text) {
			t.Errorf("the page shows %q", text)
		}
	}
}

func TestChecksPage(t *testing.T) {
	t.Parallel()

	t.Run("AnEmptyAccountHasOneFieldForTheFirstCheck", func(t *testing.T) {
		t.Parallel()
		f := newFleet(t)
		f.b.get(t, http.StatusOK, "/app").shows(t, "Watch your first address", `name="config.url"`, "autofocus")
		wrong := f.b.post(t, http.StatusUnprocessableEntity, "/app/checks/first", url.Values{"config.url": {"ftp://x"}})
		wrong.shows(t, `value="ftp://x"`, `aria-invalid="true"`, `href="#f-config-url"`, `id="f-config-url-error"`)
		id := f.check(t, "www.example.com/home")
		f.b.get(t, http.StatusOK, "/app/checks/"+id.String()).shows(t, "www.example.com/home", "Waiting for the first result")
	})

	t.Run("WhatNeedsAttentionComesFirstWithItsReason", func(t *testing.T) {
		t.Parallel()
		f := newFleet(t)
		passing, failing, fresh := f.check(t, "a.example"), f.check(t, "b.example"), f.check(t, "c.example")
		f.result(t, passing, 1, "")
		f.result(t, failing, 2, "")
		f.result(t, failing, 1, "expected status 200, got 503")
		page := f.b.get(t, http.StatusOK, "/app")
		page.inOrder(
			t,
			"Needs attention",
			failing.String(),
			"503 from Newark",
			"no rule met",
			">No result",
			fresh.String(),
			">Passing",
			passing.String(),
		)
		page.shows(t, `aria-label="1 of 2 passed, 1 failed`, `>Failing</span> <span class="count" id="count-failing">1<`)
		only := f.b.get(t, http.StatusOK, "/app?state=failing")
		only.shows(t, failing.String())
		only.without(t, passing.String(), fresh.String())
		f.b.get(t, http.StatusOK, "/app?query=b.exampel").shows(t, "No check matches “b.exampel”", "Clear filter", ">b.example</a>")
		f.b.get(t, http.StatusOK, "/app?group=type").inOrder(t, `id="group-type-https"`, passing.String())
		f.b.get(t, http.StatusOK, "/app?group=none&sort=-name").
			inOrder(t, `aria-sort="descending"`, fresh.String(), failing.String(), passing.String())
	})

	t.Run("ALongListGoesOn", func(t *testing.T) {
		t.Parallel()
		f := newFleet(t)
		for i := range 102 {
			f.check(t, fmt.Sprintf("host%03d.example", i))
		}
		page := f.b.get(t, http.StatusOK, "/app")
		if n := strings.Count(page.text, "<tr id=\"c-"); n != 100 {
			t.Errorf("the page has %d rows", n)
		}
		more := regexp.MustCompile(`href="(/app\?cursor=[^"]+)"`).FindStringSubmatch(page.text)
		if more == nil {
			t.Fatal("the page does not lead on")
		}
		// With htmx the rows alone, without it a page.
		rows := f.b.get(t, http.StatusOK, more[1], "Hx-Request", "true")
		if n := strings.Count(rows.text, "<tr id=\"c-"); n != 2 || strings.Contains(rows.text, "<html") {
			t.Errorf("the rest has %d rows: %s", n, rows.text)
		}
		f.b.get(t, http.StatusOK, more[1]).shows(t, "<html", "host101.example")
	})

	t.Run("SeveralChecksArePausedAndResumedAndDeleted", func(t *testing.T) {
		t.Parallel()
		f := newFleet(t)
		one, two := f.check(t, "a.example"), f.check(t, "b.example")
		both := []string{one.String(), two.String()}
		paused := f.b.follow(t, "/app/checks/bulk", url.Values{"id": both, "action": {"disable"}, "back": {"/app?state=passing"}})
		paused.shows(t, "2 checks paused", "Undo", `name="action" value="enable"`)
		f.b.get(t, http.StatusOK, "/app?state=disabled").shows(t, one.String(), two.String())
		f.b.follow(t, "/app/checks/bulk", url.Values{"all": {"yes"}, "f.state": {"disabled"}, "action": {"enable"}}).
			shows(t, "2 checks resumed. regions: ", " no worker, so the check is not probed from there")
		asked := f.b.post(t, http.StatusOK, "/app/checks/bulk", url.Values{"id": both[:1], "action": {"delete"}})
		asked.shows(t, "Delete 1 check?", "<li>a.example</li>", `name="confirmed" value="yes"`)
		f.b.get(t, http.StatusOK, "/app/checks/"+one.String())
		f.b.follow(t, "/app/checks/bulk", url.Values{"id": both[:1], "action": {"delete"}, "confirmed": {"yes"}}).shows(t, "1 check deleted")
		f.b.get(t, http.StatusNotFound, "/app/checks/"+one.String())
		f.b.follow(t, "/app/checks/bulk", url.Values{"action": {"disable"}}).shows(t, "No check is selected.")
	})
}

func TestCheckPage(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	id := f.check(t, "a.example")
	f.result(t, id, 60, "")
	f.result(t, id, 59, "")
	f.result(t, id, 58, "expected status 200, got 503")
	path := "/app/checks/" + id.String()

	t.Run("ShowsWhatIsKnown", func(t *testing.T) {
		t.Parallel()
		page := f.b.get(t, http.StatusOK, path)
		page.inOrder(
			t,
			"GET https://a.example",
			"Uptime, 24 h",
			"Response time",
			"Last 90 days",
			"Newark",
			"Results",
			"503",
			"expected status 200, got 503",
		)
		page.shows(t, `data-chart="`, "Show as table", "No rule watches this check", `hx-get="`+path+`/regions"`)
	})

	t.Run("TheURLIsTheState", func(t *testing.T) {
		t.Parallel()
		failing := f.b.get(t, http.StatusOK, path+"?results=failing&period=7d")
		if n := strings.Count(failing.text, `<details class="result"`); n != 1 {
			t.Errorf("%d results failed", n)
		}
		failing.shows(t, `href="`+path+`?period=30d&amp;results=failing"`)
	})

	t.Run("RegionsAreReadAgainFromTheirWorkflows", func(t *testing.T) {
		t.Parallel()
		part := f.b.get(t, http.StatusOK, path+"/regions", "Hx-Request", "true")
		part.shows(t, `id="loops"`, "Newark")
		part.without(t, "<html", "hx-get")
		f.b.get(t, http.StatusSeeOther, path+"/regions")
	})

	t.Run("ATestThatCannotRunSaysWhy", func(t *testing.T) {
		t.Parallel()
		form := url.Values{"region": {newark}}
		f.b.post(t, http.StatusOK, path+"/test", form, "Hx-Request", "true").shows(t, "There is no Temporal.")
	})

	t.Run("AnotherOrganizationsCheckIsNoPage", func(t *testing.T) {
		t.Parallel()
		other, _ := f.signUp(t)
		other.get(t, http.StatusNotFound, path).shows(t, "There is no check at this address.")
		other.post(t, http.StatusNotFound, path+"/delete", nil)
		f.b.get(t, http.StatusNotFound, "/app/checks/none")
	})
}

// TestPagesKeepToTheirPolicy holds that pages have no inline scripts and styles, which the
// policy of their headers forbids.
func TestPagesKeepToTheirPolicy(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	id := f.check(t, "a.example")
	f.result(t, id, 1, "no answer")
	inline := regexp.MustCompile(`<script>|<style|\sstyle="|\son[a-z]+="|hx-on|javascript:`)
	for _, path := range []string{"/app", "/app/checks/" + id.String(), "/app/help", "/app/more", "/app/nothing"} {
		status := http.StatusOK
		if path == "/app/nothing" {
			status = http.StatusNotFound
		}
		page := f.b.get(t, status, path)
		if found := inline.FindString(page.text); found != "" {
			t.Errorf("%s has %q", path, found)
		}
		if policy := page.header.Get(
			"Content-Security-Policy",
		); !strings.Contains(
			policy,
			"default-src 'none'; script-src 'self'; style-src 'self'",
		) {
			t.Errorf("%s has the policy %q", path, policy)
		}
		for _, asset := range regexp.MustCompile(`(?:href|src)="(/app/static/[^"]+)"`).FindAllStringSubmatch(page.text, -1) {
			if cache := f.b.get(t, http.StatusOK, asset[1]).header.Get("Cache-Control"); !strings.Contains(cache, "immutable") {
				t.Errorf("%s is cached as %q", asset[1], cache)
			}
		}
	}
}
