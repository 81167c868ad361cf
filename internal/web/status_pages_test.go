// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/overview"
)

// statusCheck stores a check of the account with an address, and returns its id and
// organization.
func (s *site) statusCheck(t *testing.T, email, name string) (check, org uuid.UUID) {
	t.Helper()
	err := s.store.DB().NewRaw("SELECT org_id FROM users WHERE email = ?", email).Scan(t.Context(), &org)
	if err != nil {
		t.Fatal(err)
	}
	made, err := s.store.CreateCheck(t.Context(), vigil.Check{
		OrgID: org, Name: name, Type: vigil.TypeHTTP, Config: []byte(`{"url": "https://example.com/"}`), Target: "example.com",
		Interval: 60_000_000_000, Regions: []string{"na-east-ewr"}, Enabled: true, Simultaneous: true,
	}, account.PlanOf(account.TierPaid, 0), account.Allowance{})
	if err != nil {
		t.Fatal(err)
	}
	return made.ID, org
}

// TestStatusPageForms creates a status page by its form, with mistakes first, changes it and
// deletes it.
func TestStatusPageForms(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	b, email := s.signUp(t)
	b.get(t, http.StatusOK, "/app/status-pages").shows(t, "No status page yet", `href="/app/status-pages/new"`)
	first, _ := s.statusCheck(t, email, "checkout prod")
	second, org := s.statusCheck(t, email, "mail prod")
	b.get(t, http.StatusOK, "/app/status-pages/new").shows(t, "checkout prod", "mail prod",
		`name="name.`+first.String()+`"`, "New status page")
	form := url.Values{
		"title": {"Harbor"}, "slug": {"Not A Slug"}, "enabled": {"true"}, "check": {first.String(), second.String()},
		"name." + first.String(): {"Checkout"}, "group." + first.String(): {"Shop"}, "name." + second.String(): {""},
	}
	b.post(t, http.StatusUnprocessableEntity, "/app/status-pages", form).shows(t, "Not created yet.", `value="Not A Slug"`, `value="Checkout"`,
		`value="Shop"`, `id="f-slug-error"`)
	form.Set("slug", "harbor-web")
	form.Set("name."+first.String(), "Check\u202eout")
	id := "f-name-" + first.String()
	b.post(t, http.StatusUnprocessableEntity, "/app/status-pages", form).shows(t, `id="`+id+`-error"`,
		`href="#`+id+`"`, "invisible characters")
	form.Set("name."+first.String(), "Checkout")
	made := b.follow(t, "/app/status-pages", form)
	made.shows(t, "Harbor is created", `value="harbor-web"`, `value="Checkout"`, "Open the page", s.url+"/status/harbor-web",
		`name="revision" value="1"`)
	path := regexp.MustCompile(`/app/status-pages/[0-9a-f-]{36}`).FindString(made.text)
	b.get(t, http.StatusOK, "/app/status-pages").shows(t, "Harbor", "1 service", "/status/harbor-web", "may list it")

	// What is found, moved and looked at is not saved, and what was typed stays.
	find := maps.Clone(form)
	find.Set("title", "Harbor typed")
	find.Set("query", "mail")
	find.Set("add", "1")
	b.post(t, http.StatusOK, path, find).shows(t, `value="Harbor typed"`, `value="Checkout"`, `value="mail prod"`, `value="mail"`)
	find.Del("add")
	find.Set("name."+second.String(), "Mail")
	find.Set("up", second.String())
	moved := b.post(t, http.StatusOK, path, find)
	if strings.Index(moved.text, `value="Mail"`) > strings.Index(moved.text, `value="Checkout"`) {
		t.Error("the button does not move the check up")
	}
	moved.shows(t, "<h2>Preview</h2>", "<h3>Shop</h3>", "<li>Checkout</li>")
	b.get(t, http.StatusOK, path).
		shows(t, `value="Harbor"`, "/badge/"+first.String()+".svg", "/badge/"+first.String()+"/uptime-30d.svg", "data-copy")
	if err := s.store.DB().
		NewRaw("UPDATE checks SET name = 'renamed' WHERE id = ? RETURNING id", first).
		Scan(t.Context(), &uuid.UUID{}); err != nil {
		t.Fatal(err)
	}
	b.get(t, http.StatusOK, path).shows(t, "renamed", `value="Checkout"`)
	bad := maps.Clone(form)
	bad.Set("accent", "#ffcc00")
	b.post(t, http.StatusUnprocessableEntity, path, bad).shows(t, `id="f-accent-error"`, "too light", `value="Checkout"`)
	hosted := maps.Clone(form)
	hosted.Set("host", "status.example.com")
	b.follow(t, path, hosted).shows(t, "_vigil-status.status.example.com TXT", "vigil-status-page=", "Verify")
	b.follow(t, path+"/host", url.Values{}).shows(t, "There is no TXT record")
	b.follow(t, path, form)

	form.Set("revision", "3")
	form.Del("enabled")
	form.Set("noindex", "true")
	form.Set("name."+second.String(), "Mail")
	b.follow(t, path, form).shows(t, "Saved.", "Closed", `value="Mail"`, `name="revision" value="4"`)
	b.post(t, http.StatusPreconditionFailed, path, form).shows(t, "has changed", `value="Mail"`)
	pages, _, err := s.store.StatusPages(t.Context(), org, overview.StatusPageFilter{Page: listing.Page{Limit: 10}})
	if err != nil || len(pages) != 1 || pages[0].Enabled || !pages[0].NoIndex || len(pages[0].Groups) != 2 || len(pages[0].Checks()) != 2 ||
		pages[0].Groups[0].Name != "Shop" {
		t.Errorf("stored %+v, %v", pages, err)
	}

	other, _ := s.signUp(t)
	other.get(t, http.StatusNotFound, path)
	b.get(t, http.StatusOK, path+"/delete").shows(t, "Delete the status page “Harbor”?")
	b.follow(t, path+"/delete", url.Values{}).shows(t, "Harbor is deleted", "No status page yet")
}

// TestPublishUpdate publishes an update of an incident from its page.
func TestPublishUpdate(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	b, email := s.signUp(t)
	check, org := s.statusCheck(t, email, "checkout prod")
	incident := uuid.New()
	_, err := s.store.DB().NewRaw(`INSERT INTO incidents (id, org_id, check_id, rule_id, status, severity, title, description, trigger,
			regions, audience, started_at, created_at, swept_at)
		VALUES (?, ?, ?, ?, 'active', 'critical', 'checkout prod is failing', '', '{"matched": []}', '{na-east-ewr}', '[]', now(), now(), now())`,
		incident, org, check, uuid.New()).Exec(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path := "/app/incidents/" + incident.String()
	b.get(t, http.StatusOK, path).shows(t, "Nothing is published about this incident.", "Publish an update")
	b.post(t, http.StatusUnprocessableEntity, path+"/updates", url.Values{"state": {"identified"}, "text": {" "}}).shows(t,
		"Not published yet.", `id="f-text-error"`, "checkout prod is failing", `value="identified" selected`)
	page := b.follow(t, path+"/updates", url.Values{"state": {"identified"}, "text": {"A <disk> is full.\nWe add one."}})
	page.shows(t, "The update is published", "Identified", "A &lt;disk&gt; is full.\nWe add one.", email)
	if strings.Contains(page.text, "Nothing is published") {
		t.Error("the page says that nothing is published")
	}
	stranger, _ := s.signUp(t)
	stranger.post(t, http.StatusNotFound, path+"/updates", url.Values{"state": {"resolved"}, "text": {"x"}})
}
