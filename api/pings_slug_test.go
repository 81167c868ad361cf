// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/internal/account"
)

// pingKey makes the ping key of the organization and returns the path that its jobs ping, /p/<key>.
func (a person) pingKey(t *testing.T) string {
	t.Helper()
	made := a.want(t, http.StatusCreated, http.MethodPost, "/v1/ping-key", nil).data(t)
	at := strings.TrimPrefix(text(made, "ping_url"), "http://vigil.test")
	if key := text(made, "ping_key"); at != "/p/"+key || !strings.HasPrefix(key, text(made, "key_prefix")) || len(key) != 30 {
		t.Fatalf("%v", made)
	}
	return at
}

// TestSlugAddresses proves what the addresses of a ping key accept, and that each wrong one is refused
// with its reason: hostile slugs as well, in words that do not repeat them.
func TestSlugAddresses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	path, _ := a.minutely(t) // named Backup
	at, run := a.pingKey(t), uuid.New().String()
	for _, c := range []struct {
		method, end string
		status      int
	}{
		{http.MethodGet, "/backup", 200},
		{http.MethodHead, "/backup", 200},
		{http.MethodPost, "/backup?create=1", 200},
		{http.MethodGet, "/backup/start?rid=" + run, 200},
		{http.MethodGet, "/backup/fail?create=0", 200},
		{http.MethodPost, "/backup/log", 200},
		{http.MethodGet, "/backup/0?rid=" + run + "&utm=x", 200},
		{http.MethodGet, "/backup/255", 200},
		{http.MethodGet, "/backup/256", 404},
		{http.MethodGet, "/backup/stop", 404},
		{http.MethodGet, "/backup/start/start", 404},
		{http.MethodGet, "/backup?rid=1", 400},
		{http.MethodGet, "/backup?create=yes", 400},
		{http.MethodGet, "/restore", 404},
		{http.MethodGet, "/start", 404}, // a slug here
		{http.MethodGet, "", 404},
		{http.MethodPut, "/backup", 405},
		{http.MethodGet, "/Backup", 400},
		{http.MethodGet, "/-backup", 400},
		{http.MethodGet, "/back--up?create=1", 400},
		{http.MethodGet, "/..%2f..%2fetc?create=1", 404},
		{http.MethodGet, "/a%00b?create=1", 404},
		{http.MethodGet, "/%27%20OR%20true--?create=1", 400},
		{http.MethodGet, "/%3Cscript%3E?create=1", 400},
		{http.MethodGet, "/backup%0a?create=1", 400},
		{http.MethodGet, "/" + url.PathEscape("b\u00e4ckup\xff") + "?create=1", 404},
		{http.MethodGet, "/" + url.PathEscape("b\u00e4ckup") + "?create=1", 400},
		{http.MethodGet, "/" + strings.Repeat("x", 201) + "?create=1", 400},
	} {
		got := b.do(t, c.method, at+c.end, nil)
		if got.status != c.status || c.status == 200 && c.method != http.MethodHead && string(got.raw) != "ok" ||
			strings.Contains(string(got.raw), "script") {
			t.Errorf("%s %s: %d %s", c.method, c.end, got.status, got.raw)
		}
	}
	if got := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks", nil).rows(t); len(got) != 1 {
		t.Errorf("%d checks", len(got))
	}
	list := a.want(t, http.StatusOK, http.MethodGet, path+"/pings", nil)
	for _, kind := range []string{"start", "success", "fail", "log"} {
		if !strings.Contains(string(list.raw), `"kind":"`+kind+`"`) {
			t.Errorf("no %s: %s", kind, list.raw)
		}
	}
	if strings.Contains(b.log.String(), strings.TrimPrefix(at, "/p/")) {
		t.Error("the log has the key")
	}
	a.minutely(t)
	if got := b.want(
		t,
		http.StatusConflict,
		http.MethodGet,
		at+"/backup?create=1",
		nil,
	); !strings.Contains(
		got.problem(),
		"Several heartbeats",
	) {
		t.Errorf("%s", got.raw)
	}
}

// TestPingKeyIsASecret proves who learns a ping key: those who may change checks. That of another organization,
// a rotated and a revoked one ping nothing, and none opens an operation.
func TestPingKeyIsASecret(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a, other := b.signup(t), b.signup(t)
	a.minutely(t)
	a.want(t, http.StatusNotFound, http.MethodGet, "/v1/ping-key", nil)
	at, foreign := a.pingKey(t), other.pingKey(t)
	a.want(t, http.StatusConflict, http.MethodPost, "/v1/ping-key", nil)
	reader := a.keyWith(t, account.ScopeRead, account.ScopeRespond)
	for method, path := range map[string]string{
		http.MethodGet: "/v1/ping-key", http.MethodDelete: "/v1/ping-key", http.MethodPost: "/v1/ping-key/rotate",
	} {
		b.want(t, http.StatusUnauthorized, method, path, nil)
		reader.want(t, http.StatusForbidden, method, path, nil)
	}
	a.as(strings.TrimPrefix(at, "/p/")).want(t, http.StatusUnauthorized, http.MethodGet, "/v1/checks", nil)
	b.want(t, http.StatusNotFound, http.MethodGet, foreign+"/backup", nil)
	b.want(t, http.StatusNotFound, http.MethodGet, "/p/vgp_"+strings.Repeat("a", 26)+"/backup?create=1", nil)
	b.want(t, http.StatusNotFound, http.MethodGet, "/p/vgp_a/backup?create=1", nil)

	pings := func(at string, status int) {
		t.Helper()
		if got := b.do(t, http.MethodGet, at+"/backup?create=1", nil); got.status != status {
			t.Errorf("%d %s", got.status, got.raw)
		}
	}
	pings(at, http.StatusOK)
	rotated := a.want(t, http.StatusOK, http.MethodPost, "/v1/ping-key/rotate", nil).data(t)
	pings(at, http.StatusNotFound)
	shown := a.want(t, http.StatusOK, http.MethodGet, "/v1/ping-key", nil).data(t)
	if at = "/p/" + text(shown, "ping_key"); text(rotated, "ping_key") != text(shown, "ping_key") {
		t.Errorf("%v, rotated %v", shown, rotated)
	}
	pings(at, http.StatusOK)
	a.want(t, http.StatusNoContent, http.MethodDelete, "/v1/ping-key", nil)
	a.want(t, http.StatusNotFound, http.MethodDelete, "/v1/ping-key", nil)
	pings(at, http.StatusNotFound)
	a.audited(t, "ping_key.create", "ping_key.rotate", "ping_key.delete")
	if log := a.want(
		t,
		http.StatusOK,
		http.MethodGet,
		"/v1/audit-log",
		nil,
	); strings.Contains(
		string(log.raw),
		strings.TrimPrefix(at, "/p/"),
	) {
		t.Errorf("the audit log has the key: %s", log.raw)
	}
}

// TestPingCreates proves that create=1 makes the heartbeat that does not exist, once a day with a grace
// of an hour, and that the audit log names the key. One that is deleted is not known, and another one is made when it is
// asked for.
func TestPingCreates(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a, other := b.signup(t), b.signup(t)
	other.minutely(t)
	at := a.pingKey(t)
	key := a.want(t, http.StatusOK, http.MethodGet, "/v1/ping-key", nil).data(t)
	b.want(t, http.StatusNotFound, http.MethodGet, at+"/backup", nil) // another organization has one
	for i, status := range []int{http.StatusCreated, http.StatusOK} {
		got := b.do(t, http.MethodPost, at+"/backup/fail?create=1", "no space left")
		if got.status != status || string(got.raw) != []string{"created", "ok"}[i] {
			t.Errorf("%d %s", got.status, got.raw)
		}
	}
	rows := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks", nil).rows(t)
	if len(rows) != 1 {
		t.Fatalf("%v", rows)
	}
	check := rows[0]
	path := "/v1/checks/" + text(check, "id")
	config, _ := check["config"].(map[string]any)
	schedule, _ := config["schedule"].(map[string]any)
	if check["name"] != "backup" || check["type"] != "heartbeat" || check["interval_seconds"] != 86400.0 || check["enabled"] != true ||
		schedule["every_seconds"] != 86400.0 || config["grace_seconds"] != 3600.0 {
		t.Errorf("%v", check)
	}
	if pings := a.want(t, http.StatusOK, http.MethodGet, path+"/pings", nil).
		rows(t); len(pings) != 2 ||
		pings[0]["output"] != "no space left" {
		t.Errorf("%v", pings)
	}
	entries := a.want(t, http.StatusOK, http.MethodGet, "/v1/audit-log?resource=check", nil).rows(t)
	if len(entries) != 1 || entries[0]["action"] != "check.create" || entries[0]["resource_id"] != check["id"] ||
		entries[0]["user_id"] != nil ||
		entries[0]["api_key_id"] != key["id"] ||
		entries[0]["key_prefix"] != key["key_prefix"] {
		t.Errorf("%v", entries)
	}
	a.want(t, http.StatusNoContent, http.MethodDelete, path, nil)
	b.want(t, http.StatusNotFound, http.MethodGet, at+"/backup", nil)
	if got := b.do(t, http.MethodGet, at+"/backup?create=1", nil); got.status != http.StatusCreated {
		t.Errorf("%d %s", got.status, got.raw)
	}
}

// TestPingKeyLimits proves that a ping key makes few heartbeats in a minute, that unknown keys and slugs, a
// slug, and a body have their limits, and that a ping that is not stored says so.
func TestPingKeyLimits(t *testing.T) {
	t.Parallel()
	b := setup(t, func(d *api.Deps) { d.Config.AddressRate = 100 })
	a := b.signup(t)
	a.minutely(t)
	at := a.pingKey(t)
	away := b.serve(t, func(d *api.Deps) { d.Stores.Pings = awayPings{} })
	if got := away.do(
		t,
		http.MethodGet,
		at+"/backup",
		nil,
	); got.status != http.StatusServiceUnavailable ||
		got.header.Get("Retry-After") == "" {
		t.Errorf("%d %v", got.status, got.header)
	}
	b.want(t, http.StatusRequestEntityTooLarge, http.MethodPost, at+"/large?create=1", strings.Repeat("x", 1<<20+1))
	b.want(
		t,
		http.StatusRequestEntityTooLarge,
		http.MethodPost,
		at+"/large?create=1",
		io.MultiReader(strings.NewReader(strings.Repeat("x", 1<<20+1))),
	)
	limited := func(tries int, path func(i int) string) (after int) {
		for i := range tries {
			if got := b.do(t, http.MethodGet, path(i), nil); got.status == http.StatusTooManyRequests && got.header.Get("Retry-After") != "" {
				return i
			}
		}
		return -1
	}
	numbered := func(prefix, end string) func(int) string {
		return func(i int) string { return prefix + strings.Repeat("x", i+1) + end }
	}
	if after := limited(10, numbered(at+"/", "?create=1")); after != 5 {
		t.Errorf("a key makes %d heartbeats", after)
	}
	if after := limited(400, func(int) string { return at + "/backup" }); after != 300 {
		t.Errorf("a slug is limited after %d pings", after)
	}
	if after := limited(100, numbered(at+"/unknown-", "")); after != 60 {
		t.Errorf("an address is limited after %d unknown slugs", after)
	}
	b.clock.Advance(time.Minute)
	if after := limited(100, numbered("/p/vgp_"+strings.Repeat("a", 26)+"/", "?create=1")); after != 60 {
		t.Errorf("an address is limited after %d pings by unknown keys", after)
	}
}

// TestPingCreatesWithinThePlan proves that a heartbeat which the plan does not allow is refused in words,
// and that those that exist are pinged on.
func TestPingCreatesWithinThePlan(t *testing.T) {
	t.Parallel()
	b := setupMail(t)
	a := b.signup(t)
	at := a.pingKey(t)
	for range 30 { // an hour of an unverified account
		a.minutely(t)
	}
	got := b.do(t, http.MethodGet, at+"/job?create=1", nil)
	if got.status != http.StatusForbidden || got.body["code"] != "plan_limit" || !strings.Contains(got.problem(), "30") {
		t.Errorf("%d %s", got.status, got.raw)
	}
	if rows := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks?query=job", nil).rows(t); len(rows) != 0 {
		t.Errorf("%v", rows)
	}
}

// interruptedPings runs something once, between a ping by a slug and what follows from it.
type interruptedPings struct {
	api.PingStore

	between func()
}

func (p *interruptedPings) AddSlugPing(ctx context.Context, keyHash []byte, slug string, ping *vigil.Ping) (account.PingKey, error) {
	key, err := p.PingStore.AddSlugPing(ctx, keyHash, slug, ping)
	if p.between != nil {
		p.between()
		p.between = nil
	}
	return key, err
}

// TestPingOfADeletedOrganization proves that a ping whose organization is deleted while it asks for a heartbeat
// is answered as any address that is not known.
func TestPingOfADeletedOrganization(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	at := a.pingKey(t)
	away := b.serve(t, func(d *api.Deps) {
		d.Stores.Pings = &interruptedPings{d.Stores.Pings, func() {
			name := text(a.want(t, http.StatusOK, http.MethodGet, "/v1/organization", nil).data(t), "name")
			a.want(t, http.StatusNoContent, http.MethodDelete, "/v1/organization", map[string]any{"confirm": name})
		}}
	})
	for range 2 {
		if got := away.do(t, http.MethodGet, at+"/job?create=1", nil); got.status != http.StatusNotFound {
			t.Errorf("%d %s", got.status, got.raw)
		}
	}
}
