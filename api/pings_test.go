// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/internal/account"
)

// heartbeat is the body of a heartbeat.
func heartbeat(config map[string]any) map[string]any {
	return map[string]any{"name": "Backup", "type": "heartbeat", "config": config}
}

// minutely makes a heartbeat and returns its path and the path that its job pings.
func (a person) minutely(t *testing.T) (path, ping string) {
	t.Helper()
	made := a.want(t, http.StatusCreated, http.MethodPost, "/v1/checks", heartbeat(map[string]any{
		"schedule": map[string]any{"every_seconds": 60},
	})).data(t)
	return "/v1/checks/" + text(made, "id"), strings.TrimPrefix(text(made, "ping_url"), "http://vigil.test")
}

// TestPingAddresses proves what the addresses of a heartbeat accept, and that each wrong one is refused
// with its reason.
func TestPingAddresses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	path, ping := a.minutely(t)
	run := uuid.New().String()
	for _, c := range []struct {
		method, end string
		status      int
	}{
		{http.MethodGet, "", 200},
		{http.MethodHead, "", 200},
		{http.MethodPost, "", 200},
		{http.MethodGet, "/start?rid=" + run, 200},
		{http.MethodGet, "/fail", 200},
		{http.MethodPost, "/log", 200},
		{http.MethodGet, "/0?rid=" + run + "&utm=x", 200},
		{http.MethodGet, "/255", 200},
		{http.MethodGet, "/256", 404},
		{http.MethodGet, "/-1", 404},
		{http.MethodGet, "/stop", 404},
		{http.MethodGet, "?rid=1", 400},
		{http.MethodGet, "?rid={" + run + "}", 400},
		{http.MethodGet, "x", 404},
		{http.MethodPut, "", 405},
		{http.MethodDelete, "/start", 405},
	} {
		got := b.do(t, c.method, ping+c.end, nil)
		if got.status != c.status || c.status == 200 && c.method != http.MethodHead && string(got.raw) != "ok" {
			t.Errorf("%s %s: %d %s", c.method, c.end, got.status, got.raw)
		}
	}
	list := a.want(t, http.StatusOK, http.MethodGet, path+"/pings", nil)
	for _, kind := range []string{"start", "success", "fail", "log"} {
		if !strings.Contains(string(list.raw), `"kind":"`+kind+`"`) {
			t.Errorf("no %s: %s", kind, list.raw)
		}
	}
	if strings.Contains(b.log.String(), strings.TrimPrefix(ping, "/p/")) {
		t.Error("the log has the token")
	}
}

// TestPingAddressIsASecret proves who learns a ping_url: those who may change the check. Another
// organization sees neither it nor the pings.
func TestPingAddressIsASecret(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a, other := b.signup(t), b.signup(t)
	path, ping := a.minutely(t)
	key := text(a.want(t, http.StatusCreated, http.MethodPost, "/v1/api-keys",
		map[string]any{"name": "reads", "scopes": []any{"read"}}).data(t), "api_key")
	for _, where := range []string{path, "/v1/checks"} {
		if got := a.want(t, http.StatusOK, http.MethodGet, where, nil); !strings.Contains(string(got.raw), ping) {
			t.Errorf("%s: %s", where, got.raw)
		}
		if got := a.as(key).want(t, http.StatusOK, http.MethodGet, where, nil); strings.Contains(string(got.raw), "/p/") {
			t.Errorf("a key that reads sees %s", got.raw)
		}
	}
	other.want(t, http.StatusNotFound, http.MethodGet, path+"/pings", nil)
	other.want(t, http.StatusNotFound, http.MethodPost, path+"/rotate-ping-url", nil)
	a.as(key).want(t, http.StatusForbidden, http.MethodPost, path+"/rotate-ping-url", nil)
	rotated := text(a.want(t, http.StatusOK, http.MethodPost, path+"/rotate-ping-url", nil).data(t), "ping_url")
	if strings.HasSuffix(rotated, ping) {
		t.Error("the address stays")
	}
	b.want(t, http.StatusNotFound, http.MethodGet, ping, nil)
	if got := b.do(t, http.MethodGet, strings.TrimPrefix(rotated, "http://vigil.test"), nil); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.raw)
	}
}

// TestPingBodies proves that the end of a body is kept, without what its names call a credential.
func TestPingBodies(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	path, ping := a.minutely(t)
	long := strings.Repeat("x", 900_000) + "\x00 api_key: abcdef123 postgres://u:hunter2@db/ Authorization: Bearer zzz " + ping + " the end"
	if got := b.do(t, http.MethodPost, ping+"/fail", long); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.raw)
	}
	shown := string(a.want(t, http.StatusOK, http.MethodGet, path+"/pings", nil).raw)
	if !strings.Contains(shown, "the end") || !strings.Contains(shown, fmt.Sprintf(`"bytes":%d`, len(long))) {
		t.Errorf("%s", shown[max(0, len(shown)-300):])
	}
	for _, hidden := range []string{"abcdef123", "hunter2", "zzz", strings.TrimPrefix(ping, "/p/")} {
		if strings.Contains(shown, hidden) {
			t.Errorf("it shows %q", hidden)
		}
	}
	var kept int
	if err := b.store.DB().NewRaw("SELECT max(octet_length(body)) FROM pings").Scan(t.Context(), &kept); err != nil || kept > 100_100 {
		t.Errorf("%d bytes are kept, %v", kept, err)
	}
}

// awayPings is a database that does not answer.
type awayPings struct{}

func (awayPings) AddPing(context.Context, []byte, *vigil.Ping) error {
	return vigil.Errorf(vigil.CodeUnavailable, "The database does not answer. Try again in a moment.")
}

func (awayPings) AddSlugPing(context.Context, []byte, string, *vigil.Ping) (account.PingKey, error) {
	return account.PingKey{}, vigil.Errorf(vigil.CodeUnavailable, "The database does not answer. Try again in a moment.")
}

// TestPingLimits proves that a ping that is not stored says so, and that a heartbeat and an address
// cannot ping without end.
func TestPingLimits(t *testing.T) {
	t.Parallel()
	b := setup(t, func(d *api.Deps) { d.Config.AddressRate = 100 })
	a := b.signup(t)
	_, ping := a.minutely(t)
	away := b.serve(t, func(d *api.Deps) { d.Stores.Pings = awayPings{} })
	if got := away.do(t, http.MethodGet, ping, nil); got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" {
		t.Errorf("%d %v", got.status, got.header)
	}
	limited := func(path string, tries int) (after int) {
		for i := range tries {
			if got := b.do(t, http.MethodGet, path, nil); got.status == http.StatusTooManyRequests && got.header.Get("Retry-After") != "" {
				return i
			}
		}
		return -1
	}
	if after := limited(ping, 400); after != 300 {
		t.Errorf("a heartbeat is limited after %d pings", after)
	}
	if after := limited("/p/"+strings.Repeat("a", 26), 100); after != 60 {
		t.Errorf("an address is limited after %d unknown heartbeats", after)
	}
}

// TestHeartbeatMembers proves that the interval and the region of a heartbeat follow from its schedule,
// and that what asks for a probe is refused.
func TestHeartbeatMembers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	path, _ := a.minutely(t)
	read := a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t)
	a.want(t, http.StatusOK, http.MethodPut, path, read)
	read["config"] = map[string]any{"schedule": map[string]any{"cron": "0 3 * * *", "timezone": "Europe/Berlin"}}
	if got := a.want(t, http.StatusOK, http.MethodPut, path, read).data(t); got["interval_seconds"] != float64(86400) {
		t.Errorf("%v", got)
	}
	every := map[string]any{"schedule": map[string]any{"every_seconds": 60}}
	for member, body := range map[string]map[string]any{
		"regions":                       {"regions": []any{"eu-central-fra"}},
		"retry.attempts":                {"retry": map[string]any{"attempts": 1}},
		"interval_seconds":              {"interval_seconds": 120},
		"config.schedule.every_seconds": {"config": map[string]any{"schedule": map[string]any{"every_seconds": 5}}},
		"config.schedule.cron":          {"config": map[string]any{"schedule": map[string]any{"cron": "* * *"}}},
		"config.schedule.timezone":      {"config": map[string]any{"schedule": map[string]any{"cron": "* * * * *", "timezone": "x"}}},
		"config.grace_seconds":          {"config": map[string]any{"schedule": every["schedule"], "grace_seconds": 0}},
	} {
		given := heartbeat(every)
		for name, value := range body {
			given[name] = value
		}
		got := a.want(t, http.StatusBadRequest, http.MethodPost, "/v1/checks", given)
		if !strings.Contains(string(got.raw), member) {
			t.Errorf("%s: %s", member, got.raw)
		}
	}
	for _, refused := range []answer{
		a.want(t, http.StatusBadRequest, http.MethodPost, path+"/test", nil),
		a.want(t, http.StatusBadRequest, http.MethodPost, "/v1/checks/try", map[string]any{"type": "heartbeat", "config": every}),
		a.want(t, http.StatusBadRequest, http.MethodPost, "/v1/checks", newCheck(with("regions", []any{"heartbeat"}))),
		a.want(t, http.StatusBadRequest, http.MethodPost, "/v1/checks", map[string]any{
			"name": "x", "type": "https", "config": map[string]any{"url": "https://example.com/"},
		}),
	} {
		t.Logf("%s", refused.raw)
	}
}
