// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/internal/account"
)

// pngLogo is a picture of one pixel.
const pngLogo = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// TestStatusPageLooks: color, host, password and logo are judged with words that say what would be right.
func TestStatusPageLooks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.tier(t, b.signup(t), account.TierPaid)
	path := "/v1/status-pages/" + text(a.want(t, http.StatusCreated, http.MethodPost, "/v1/status-pages", pageOf("looks")).data(t), "id")
	svg := base64.StdEncoding.EncodeToString([]byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`))
	for _, c := range []struct {
		below string
		body  map[string]any
		says  string
	}{
		{"", map[string]any{"accent": "blue"}, "accent: must be # and six hexadecimal digits"},
		{"", map[string]any{"accent": "#ffcc00"}, "accent: is too light to be read on white: its contrast is 1.5, and 4.5 is needed; #"},
		{"", map[string]any{"host": "https://status.example.com/"}, "host: must be the name of a host"},
		{"", map[string]any{"host": "192.0.2.1"}, "host: must be the name of a host"},
		{"", map[string]any{"host": "localhost"}, "host: must be the name of a host"},
		{"/password", map[string]any{"password": "short"}, "password: "},
		{"/logo", map[string]any{"image": "no base64!"}, "image: must be base64"},
		{"/logo", map[string]any{"image": svg}, "image: must be a PNG or a JPEG"},
		{"/logo", map[string]any{"image": pngLogo[:40]}, "image: "},
	} {
		got := a.want(t, http.StatusBadRequest, http.MethodPut, path+c.below, c.body)
		if says := text(got.body, "error"); !strings.Contains(says, c.says) {
			t.Errorf("%v: %s", c.body, says)
		}
	}
	page := a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"accent": "#0F5FA8", "subscriptions": true, "response_times": true}).
		data(t)
	if page["accent"] != "#0f5fa8" || page["subscriptions"] != true || page["response_times"] != true || page["subscribers"] != 0.0 {
		t.Errorf("page %v", page)
	}
	page = a.want(t, http.StatusOK, http.MethodPut, path+"/logo", map[string]any{"image": pngLogo}).data(t)
	if page["logo_url"] != text(page, "url")+"/logo" {
		t.Errorf("logo %v", page["logo_url"])
	}
	got := a.want(t, http.StatusOK, http.MethodPut, path+"/password", map[string]any{"password": "open sesame"})
	if got.data(t)["protected"] != true || strings.Contains(string(got.raw), "sesame") || strings.Contains(string(got.raw), "argon") {
		t.Errorf("password: %s", got.raw)
	}
	if same := a.want(t, http.StatusOK, http.MethodPut, path, got.data(t)).data(t); same["protected"] != true || same["logo_url"] == "" {
		t.Errorf("writing what was read: %v", same)
	}
	a.want(t, http.StatusNoContent, http.MethodDelete, path+"/password", nil)
	a.want(t, http.StatusNoContent, http.MethodDelete, path+"/logo", nil)
	if page = a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t); page["protected"] != false || page["logo_url"] != "" {
		t.Errorf("page %v", page)
	}
}

// TestStatusPageHosts: a host belongs to the page whose id is in its DNS, not to the page that claimed it first.
func TestStatusPageHosts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var record atomic.Value
	record.Store("")
	server := b.server(t, func(d *api.Deps) {
		d.LookupTXT = func(_ context.Context, name string) ([]string, error) {
			if name != "_vigil-status.status.example.com" {
				return nil, errors.New("no such host")
			}
			return []string{"something else", record.Load().(string)}, nil
		}
	})
	t.Cleanup(server.Close)
	listener := httptest.NewServer(server)
	t.Cleanup(listener.Close)
	member := func(slug string) (*client, string) {
		who := (&client{url: listener.URL, http: listener.Client()}).as(b.tier(t, b.signup(t), account.TierPaid).credential)
		page := pageOf(slug)
		page["host"] = "Status.Example.com."
		made := who.want(t, http.StatusCreated, http.MethodPost, "/v1/status-pages", page).data(t)
		if made["host"] != "status.example.com" || made["host_verified_at"] != nil {
			t.Errorf("made %v", made)
		}
		return who, text(made, "id")
	}
	thief, stolen := member("thief")
	owner, own := member("owner") // a claim alone takes nothing from anybody
	refused := thief.want(t, http.StatusConflict, http.MethodPost, "/v1/status-pages/"+stolen+"/host", nil)
	if says := text(
		refused.body,
		"error",
	); !strings.Contains(
		says,
		"_vigil-status.status.example.com with the text vigil-status-page="+stolen,
	) {
		t.Errorf("says %s", says)
	}
	record.Store("vigil-status-page=" + own)
	if page := owner.want(t, http.StatusOK, http.MethodPost, "/v1/status-pages/"+own+"/host", nil).data(t); page["host_verified_at"] == nil {
		t.Errorf("verified %v", page)
	}
	thief.want(t, http.StatusConflict, http.MethodPost, "/v1/status-pages/"+stolen+"/host", nil)
	owner.want(t, http.StatusNotFound, http.MethodPost, "/v1/status-pages/"+stolen+"/host", nil)
	record.Store("vigil-status-page=" + stolen) // the host has been sold
	thief.want(t, http.StatusOK, http.MethodPost, "/v1/status-pages/"+stolen+"/host", nil)
	if page := owner.want(t, http.StatusOK, http.MethodGet, "/v1/status-pages/"+own, nil).data(t); page["host_verified_at"] != nil {
		t.Error("two pages have the host")
	}
}

// TestStatusPageSubscribers: addresses are for who may write, of the organization alone.
func TestStatusPageSubscribers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.tier(t, b.signup(t), account.TierPaid)
	page := a.want(t, http.StatusCreated, http.MethodPost, "/v1/status-pages", pageOf("messages")).data(t)
	path := "/v1/status-pages/" + text(page, "id")
	if rows := a.want(t, http.StatusOK, http.MethodGet, path+"/subscribers", nil).rows(t); len(rows) != 0 {
		t.Errorf("subscribers %v", rows)
	}
	const reader = "0199c0de-0000-7000-8000-000000000001"
	if _, err := b.store.DB().
		NewRaw(`INSERT INTO status_page_readers (id, org_id, page_id, type, address, digest, created_at, asked_at, confirmed_at)
		SELECT ?, org_id, id, 'email', 'reader@example.com', '\x01', now(), now(), now() FROM status_pages WHERE id = ?`,
			reader, text(page, "id")).
		Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows := a.want(t, http.StatusOK, http.MethodGet, path+"/subscribers", nil).rows(t)
	if len(rows) != 1 || rows[0]["address"] != "reader@example.com" || rows[0]["type"] != "email" {
		t.Errorf("subscribers %v", rows)
	}
	if got := a.want(
		t,
		http.StatusOK,
		http.MethodGet,
		path,
		nil,
	); got.data(t)["subscribers"] != 1.0 ||
		strings.Contains(string(got.raw), "reader@") {
		t.Errorf("page %s", got.raw)
	}
	stranger := b.tier(t, b.signup(t), account.TierPaid)
	stranger.want(t, http.StatusNotFound, http.MethodGet, path+"/subscribers", nil)
	stranger.want(t, http.StatusNotFound, http.MethodDelete, path+"/subscribers/"+reader, nil)
	a.want(t, http.StatusNoContent, http.MethodDelete, path+"/subscribers/"+reader, nil)
	a.want(t, http.StatusNotFound, http.MethodDelete, path+"/subscribers/"+reader, nil)
}

// TestStatusPageSubscribersBeyondAPage: a page with more subscribers than an answer has is read by cursors,
// each subscriber once.
func TestStatusPageSubscribersBeyondAPage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.tier(t, b.signup(t), account.TierPaid)
	id := text(a.want(t, http.StatusCreated, http.MethodPost, "/v1/status-pages", pageOf("many")).data(t), "id")
	path := "/v1/status-pages/" + id + "/subscribers"
	const many = 2100
	if _, err := b.store.DB().
		NewRaw(`INSERT INTO status_page_readers (id, org_id, page_id, type, address, digest, created_at, asked_at, confirmed_at)
		SELECT gen_random_uuid(), p.org_id, p.id, 'email', 'r' || n || '@example.com', sha256(n::text::bytea), now(), now(), now()
		FROM status_pages AS p, generate_series(1, ?) AS n WHERE p.id = ?`, many, id).
		Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	cursor, pages := "", 0
	for ; pages == 0 || cursor != ""; pages++ {
		query := ""
		if cursor != "" {
			query = "?cursor=" + cursor
		}
		got := a.want(t, http.StatusOK, http.MethodGet, path+query, nil)
		for _, row := range got.rows(t) {
			seen[text(row, "address")] = true
		}
		if total := got.meta("total"); total != "2100" {
			t.Errorf("page %d has the total %v", pages, total)
		}
		cursor, _ = got.meta("next_cursor").(string)
	}
	if len(seen) != many || pages != 3 {
		t.Errorf("%d subscribers on %d pages, want %d on 3", len(seen), pages, many)
	}
	if rows := a.want(t, http.StatusOK, http.MethodGet, path+"?limit=7", nil).rows(t); len(rows) != 7 {
		t.Errorf("%d rows with limit=7", len(rows))
	}
	for query, member := range map[string]string{"?cursor=x": "cursor", "?limit=0": "limit", "?limit=many": "limit"} {
		if r := a.want(t, http.StatusBadRequest, http.MethodGet, path+query, nil); r.detail("member") != member {
			t.Errorf("%s: %s", query, r.raw)
		}
	}
}
