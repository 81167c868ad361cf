// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// labeled makes a heartbeat with labels by the API, and returns its id.
func labeled(t *testing.T, o *office, name string, labels map[string]string) string {
	t.Helper()
	var made struct{ ID string }
	if labels == nil {
		labels = map[string]string{}
	}
	o.call(t, http.MethodPost, "/v1/checks", map[string]any{
		"name": name, "type": "heartbeat", "labels": labels, "config": map[string]any{"schedule": map[string]any{"every_seconds": 300}},
	}, &made)
	return made.ID
}

// rowsOf are the names of the checks on a page, in their order.
func rowsOf(a answer) (names []string) {
	for _, found := range regexp.MustCompile(`id="c-[0-9a-f-]+-name" href="[^"]+">([^<]*)</a>`).FindAllStringSubmatch(a.text, -1) {
		names = append(names, found[1])
	}
	return names
}

// hostile are names and labels that must stay text.
func hostile() map[string]string {
	return map[string]string{
		"<script>alert(1)</script>": "<img src=x onerror=alert(1)>", `"quoted" & 100%_`: `a"b=c&d%_\`, "عربى check": "\u05d0\u05d1",
	}
}

// TestLabelsAreFilters: each label of a check is a link that filters by it, beside the filters that are on, each of which a
// chip removes. What is written in them stays text.
func TestLabelsAreFilters(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	for name, value := range hostile() {
		id := labeled(t, o, name, map[string]string{"team": value, "a": "1", "b": "2", "c": "3"})
		href := `href="/app?label=team%3D` + strings.NewReplacer("+", "%20").Replace(url.QueryEscape(value)) + `"`
		page := o.get(t, http.StatusOK, "/app/checks/"+id)
		if strings.Contains(page.text, "<img src=x") || strings.Contains(page.text, "<script>alert") {
			t.Errorf("%q is no text", value)
		}
		if !strings.Contains(strings.NewReplacer("&#43;", "%20", "+", "%20").Replace(page.text), href) {
			t.Errorf("the page of %q does not lead by %s", name, href)
		}
		list := o.get(t, http.StatusOK, "/app?label=b%3D2&label="+url.QueryEscape("team="+value))
		if rows := rowsOf(list); len(rows) != 1 {
			t.Errorf("team=%q leaves %v", value, rows)
		}
		list.shows(t, `<a class="chip" href="/app?label=b%3D2">`, ", remove this filter")
		list.without(t, "<img src=x", "<script>alert")
	}
	list := o.get(t, http.StatusOK, "/app?label=b")
	list.shows(t, `>a=1</a>`, `>b=2</a>`, `+2`)
	if rows := rowsOf(list); len(rows) != 3 {
		t.Errorf("b leaves %v", rows)
	}
	o.get(t, http.StatusOK, "/app?label=!b").shows(t, "No check matches", "no b")
	o.get(t, http.StatusBadRequest, "/app?label=%3Cscript%3E").without(t, "<script>")
	long := strings.Repeat("x", 10<<10)
	o.get(t, http.StatusBadRequest, "/app?label=team%3D"+long).shows(t, "200 characters")
	o.get(t, http.StatusBadRequest, "/app?query="+long[:1024]).shows(t, "query")
	other, _ := o.site.signUp(t)
	other.get(t, http.StatusOK, "/app?label=b").shows(t, "No check matches")
	o.site.browser(t).get(t, http.StatusSeeOther, "/app?label=b")
}

// TestRooms: the groups of a label count all checks, also those beyond the page; what is folded is kept in the browser of
// the user, and is in the address for a browser without scripts.
func TestRooms(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	for i := range 104 {
		labeled(t, o, fmt.Sprintf("a%03d", i), map[string]string{"team": "alpha"})
	}
	for i := range 3 {
		labeled(t, o, fmt.Sprintf("b%d", i), map[string]string{"team": "beta"})
	}
	labeled(t, o, "lonely", nil)
	page := o.get(t, http.StatusOK, "/app?group=label%3Ateam")
	page.inOrder(t, ">alpha</span>", "all 104 without a result", "a000", ">beta</span>", "all 3 without a result", "3 checks more",
		">no team</span>", "1 without a result", "1 check more")
	page.shows(t, "Group: team", `aria-expanded="true"`, "label team")
	if n := len(rowsOf(page)); n != 100 {
		t.Errorf("the page has %d rows", n)
	}
	more := regexp.MustCompile(`href="(/app\?cursor=[^"]+)"`).FindStringSubmatch(page.text)
	if more == nil {
		t.Fatal("alpha does not go on")
	}
	next := strings.ReplaceAll(more[1], "&amp;", "&")
	if rows := rowsOf(o.get(t, http.StatusOK, next, "Hx-Request", "true")); len(rows) != 4 || rows[0] != "a100" {
		t.Errorf("alpha goes on with %v", rows)
	}
	if rows := rowsOf(o.get(t, http.StatusOK, next)); len(rows) != 4 {
		t.Errorf("without scripts alpha goes on with %v", rows)
	}

	fold := regexp.MustCompile(`href="(/app\?folded=[^"#]+)`).FindStringSubmatch(page.text)
	if fold == nil {
		t.Fatal("alpha cannot be folded")
	}
	for _, path := range []string{strings.ReplaceAll(fold[1], "&amp;", "&"), "/app?group=label%3Ateam"} { // the second one by the cookie
		folded := o.get(t, http.StatusOK, path)
		if rows := rowsOf(folded); len(rows) != 4 || rows[0] != "b0" || rows[3] != "lonely" {
			t.Errorf("%s has %v", path, rows)
		}
		folded.shows(t, `aria-expanded="false"`, "all 104 without a result")
	}
	colleague := o.site.joins(t, o.browser, uuid.NewString()+"@example.com", "viewer")
	if rows := rowsOf(colleague.get(t, http.StatusOK, "/app?group=label%3Ateam")); len(rows) != 100 {
		t.Errorf("another user has %d rows", len(rows))
	}
	o.get(t, http.StatusOK, "/app?group=label%3Ateam&query=b1").without(t, ">alpha</span>")
	o.get(t, http.StatusOK, "/app?group=label%3Ateam&state=failing").shows(t, "No check matches")
	o.get(t, http.StatusBadRequest, "/app?group=label%3A%3Cscript%3E").without(t, "<script>")
}

// TestSortsOfTheList: every column but the strip leads up, down and back to the order of the groups.
func TestSortsOfTheList(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	labeled(t, o, "one", nil)
	labeled(t, o, "two", nil)
	for _, by := range []string{"state", "name", "type", "interval_seconds", "uptime_24h", "p95_ms", "regions", "last_checked"} {
		o.get(t, http.StatusOK, "/app").shows(t, `href="/app?group=none&amp;sort=`+by+`"`)
		up := o.get(t, http.StatusOK, "/app?group=none&sort="+by)
		up.shows(t, `aria-sort="ascending"`, `href="/app?group=none&amp;sort=-`+by+`"`)
		o.get(t, http.StatusOK, "/app?group=none&sort=-"+by).shows(t, `aria-sort="descending"`)
		if rows := rowsOf(up); len(rows) != 2 {
			t.Errorf("%s shows %v", by, rows)
		}
	}
	o.get(t, http.StatusBadRequest, "/app?sort=password").shows(t, "sort")
}

// TestFind: the palette leads to checks, incidents, pages and actions, by links and forms that work without scripts. Who
// only reads is offered nothing to change, and another organization finds nothing.
func TestFind(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	s, owner := o.site, o.browser
	id := labeled(t, o, "Checkout", map[string]string{"team": "shop"})
	for name := range hostile() {
		labeled(t, o, name, nil)
	}
	page := o.get(t, http.StatusOK, "/app/find?query=check")
	page.shows(t, `href="/app/checks/`+id+`"`, "New check", ">Checks<", "results")
	page.without(t, "<script>alert")
	o.get(t, http.StatusOK, "/app/find?query=team%3Dshop").shows(t, id)
	o.get(t, http.StatusOK, "/app/find?query=new+tcp").shows(t, `href="/app/checks/new?type=tcp"`)
	o.get(t, http.StatusOK, "/app/find?query=nothing+like+it").shows(t, "Nothing found")
	o.get(t, http.StatusOK, "/app/find?query=delete+checkout").shows(t, `href="/app/checks/`+id+`/delete"`)
	o.get(t, http.StatusOK, "/app/find?query=mute+checkout").
		shows(t, `action="/app/checks/`+id+`/rest"`, `name="for" value="mute:hour"`, "Mute for 1 hour: Checkout")
	o.get(t, http.StatusOK, "/app/help").shows(t, "Ctrl K")
	list := o.get(t, http.StatusOK, "/app/find?query=pause+checkout&back=https://evil.example/", "Hx-Request", "true")
	list.shows(t, `role="option"`, `data-action="/app/checks/bulk"`, "action=disable", "id="+id, "back=%2Fapp")
	list.without(t, "<html", "evil.example")
	asks := o.get(t, http.StatusOK, "/app/find?query=pause+checkout")
	asks.shows(t, `<form method="post" action="/app/checks/bulk">`, `name="action" value="disable"`, "Pause Checkout")
	form := url.Values{"id": {id}, "action": {"disable"}, "back": {"/app/find"}}
	o.follow(t, "/app/checks/bulk", form).shows(t, "1 check paused", "Undo")
	o.get(t, http.StatusOK, "/app/find?query=pause+checkout").without(t, "Pause Checkout")
	o.get(t, http.StatusOK, "/app/find?query=resume+checkout").shows(t, "Resume Checkout")
	o.send(t, http.StatusForbidden, http.MethodPost, "/app/checks/bulk", strings.NewReader(form.Encode()),
		"Content-Type", "application/x-www-form-urlencoded", "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site")
	o.get(t, http.StatusBadRequest, "/app/find?query="+strings.Repeat("y", 1024)).shows(t, "at most 200 characters")

	viewer := s.joins(t, owner, uuid.NewString()+"@example.com", "viewer")
	for _, query := range []string{"", "resume checkout", "delete checkout", "new tcp", "check", "acknowledge"} {
		viewer.get(t, http.StatusOK, "/app/find?query="+url.QueryEscape(query)).
			without(t, "<form method=\"post\" action=\"/app/checks", "/delete", "/edit", "/new", `action="/app/incidents`)
	}
	viewer.get(t, http.StatusOK, "/app/find?query=checkout").shows(t, id)
	other, _ := s.signUp(t)
	o.get(t, http.StatusOK, "/app/find?query=mute+checkout").without(t, "Mute for 1 hour: Checkout") // it is paused
	other.get(t, http.StatusOK, "/app/find?query=pause+checkout").without(t, id, "Pause Checkout")
	other.get(t, http.StatusOK, "/app/find?query=checkout").without(t, id)
	s.browser(t).get(t, http.StatusSeeOther, "/app/find?query=checkout")
}
