// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// restWindow is a window as the API shows it.
type restWindow struct {
	ID       string
	Name     string
	State    string
	Probing  string
	Uptime   string
	Until    time.Time `json:"active_until"`
	Timezone string
	Scope    struct {
		Checks []string `json:"check_ids"`
	}
}

// TestPauseAndMuteForAWhile: a check is paused or muted until a time by a window that ends by itself, the
// page says until when and by whom, and a window that has ended is used again.
func TestPauseAndMuteForAWhile(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	var made stored
	o.call(t, http.MethodPost, "/v1/checks", map[string]any{
		"name": "Orders", "type": "ping", "interval_seconds": 60, "config": map[string]any{"host": "a.harbor.example"},
	}, &made)
	path := "/app/checks/" + made.ID
	rest := func(t *testing.T, values url.Values) *opened {
		t.Helper()
		p := o.open(t, http.MethodPost, path+"/rest", values)
		if p.status != http.StatusSeeOther || p.location != path {
			t.Fatalf("%v: status %d, to %s", values, p.status, p.location)
		}
		return o.view(t, path)
	}
	windows := func(t *testing.T, state string) (list []restWindow) {
		t.Helper()
		o.call(t, http.MethodGet, "/v1/maintenance-windows?state="+state, nil, &list)
		return list
	}
	words := func(p *opened) string { return strings.Join(strings.Fields(textOf(p.root)), " ") }
	about := func(at time.Time, want time.Duration) bool {
		return at.After(time.Now().Add(want-time.Minute)) && at.Before(time.Now().Add(want+time.Minute))
	}

	p := rest(t, url.Values{"for": {"pause:hour"}})
	active := windows(t, "active")
	if len(active) != 1 || active[0].Probing != "pause" || active[0].Uptime != "exclude" || !about(active[0].Until, time.Hour) ||
		len(active[0].Scope.Checks) != 1 || active[0].Scope.Checks[0] != made.ID || !strings.HasPrefix(active[0].Name, "Paused by ") {
		t.Fatalf("windows %+v", active)
	}
	who := strings.TrimPrefix(active[0].Name, "Paused by ")
	if text := words(
		p,
	); !strings.Contains(text, "Paused until ") || !strings.Contains(text, "by "+who) ||
		!strings.Contains(text, "Resume now") {
		t.Errorf("the page says %s", text)
	}
	end := o.open(t, http.MethodPost, "/app/maintenance/"+active[0].ID+"/end", url.Values{"back": {path}})
	if end.status != http.StatusSeeOther || end.location != path || len(windows(t, "active")) != 0 {
		t.Errorf("to end it: status %d, to %s", end.status, end.location)
	}
	p = rest(t, url.Values{"for": {"mute:tomorrow"}})
	muted := windows(t, "active")
	if len(muted) != 1 || muted[0].ID != active[0].ID || muted[0].Probing != "continue" || muted[0].Uptime != "include" ||
		muted[0].Until.UTC().Hour() != 9 || muted[0].Until.UTC().Minute() != 0 {
		t.Fatalf("windows %+v", muted)
	}
	if text := words(p); !strings.Contains(text, "Muted until ") || !strings.Contains(text, "no incident opens") {
		t.Errorf("the page says %s", text)
	}
	o.call(t, http.MethodPost, "/v1/maintenance-windows/"+muted[0].ID+"/end", nil, nil)

	until := time.Now().UTC().Add(50 * time.Hour).Truncate(time.Minute)
	rest(t, url.Values{"for": {"mute:until"}, "until": {until.Format("2006-01-02T15:04")}})
	if list := windows(t, "active"); len(list) != 1 || !list[0].Until.Equal(until) {
		t.Errorf("windows %+v, want one until %s", list, until)
	}

	for _, wrong := range []string{
		"", "soon", "2020-01-01T10:00", "9999-01-01T00:00", time.Now().UTC().Format("2006-01-02T15:04"), "2027-02-30T10:00",
		"'; DROP TABLE checks",
	} {
		if text := words(rest(t, url.Values{"for": {"pause:until"}, "until": {wrong}})); !strings.Contains(text, "Choose ") {
			t.Errorf("until %q: the page says %s", wrong, text)
		}
	}
	for _, id := range []string{uuid.NewString(), foreignCheck(t), "nothing"} {
		if p := o.open(t, http.MethodPost, "/app/checks/"+id+"/rest", url.Values{"for": {"pause:hour"}}); p.status != http.StatusNotFound {
			t.Errorf("a pause of %s: status %d", id, p.status)
		}
	}
	if n := len(windows(t, "active")) + len(windows(t, "ended")) + len(windows(t, "upcoming")); n != 1 {
		t.Errorf("there are %d windows", n)
	}
	if out := o.open(
		t,
		http.MethodPost,
		"/app/maintenance/"+active[0].ID+"/end",
		url.Values{"back": {"//evil.example/"}},
	); out.location != "/app" {
		t.Errorf("the form leads to %s", out.location)
	}
	if p := o.open(t, http.MethodPost, path+"/rest", url.Values{"for": {strings.Repeat("x", 2<<20)}}); p.status != http.StatusBadRequest {
		t.Errorf("a form of 2 MiB: status %d", p.status)
	}
}

// TestWhoMayNotPauseForAWhile: a stranger is led to the sign-in page, and a member who reads is refused.
func TestWhoMayNotPauseForAWhile(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	owner, _ := s.signUp(t)
	check := s.check(t, owner)
	reader := s.joins(t, owner, "reader-"+uuid.NewString()[:8]+"@example.com", "viewer")
	path := "/app/checks/" + check + "/rest"
	reader.post(t, http.StatusForbidden, path, url.Values{"for": {"pause:hour"}})
	s.browser(t).post(t, http.StatusSeeOther, path, url.Values{"for": {"pause:hour"}})
	owner.get(t, http.StatusOK, "/app/maintenance").without(t, "Paused by")
}
