// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/agentlink"
)

const sessionsPath = agentlink.PathSessions

// office is a location of an organization, with an agent that is connected.
type office struct {
	*client
	id, token string
	key       agentlink.PrivateKey
	session   string // its path
}

// newOffice makes a location, and connects an agent.
func newOffice(t *testing.T, a person) *office {
	t.Helper()
	return newPlace(t, a, "Office")
}

// newPlace makes a location of another name.
func newPlace(t *testing.T, a person, name string) *office {
	t.Helper()
	made := a.want(t, http.StatusCreated, http.MethodPost, locationsPath, map[string]any{"name": name}).data(t)
	key, err := agentlink.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	o := &office{id: text(made, "id"), token: text(made, "token"), key: key}
	o.client = a.as(o.token)
	opened := o.want(t, http.StatusOK, http.MethodPost, sessionsPath, hello(key)).data(t)
	o.session = sessionsPath + "/" + text(opened, "session")
	return o
}

func hello(key agentlink.PrivateKey) map[string]any {
	return map[string]any{
		"protocol": agentlink.Protocol, "version": "v1", "name": "pi", "instance": uuid.New(), "key": key.Public(), "types": []string{"http"},
	}
}

// secretCheck is a check in the office whose config has a secret.
func secretCheck() map[string]any {
	return map[string]any{
		"name": "intranet", "type": "http", "interval_seconds": 60, "regions": []string{"loc-office"},
		"config": map[string]any{"url": "http://10.1.2.3/", "headers": map[string]any{"Authorization": "Bearer hunter2"}},
	}
}

// follow opens the stream of the agent.
func (o *office) follow(t *testing.T, url, last string) *follower {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+o.session+"/stream", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+o.token)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	f := &follower{frames: make(chan frame), last: last, cancel: cancel}
	go func() {
		defer res.Body.Close()
		defer close(f.frames)
		readFrames(ctx, res, f.frames)
	}()
	return f
}

// definitions returns the next definitions.
func (f *follower) definitions(t *testing.T) (agentlink.Definitions, string) {
	t.Helper()
	one, err := f.next(20 * time.Second)
	if err != nil || one.event != agentlink.EventDefinitions {
		t.Fatalf("%+v, %v", one, err)
	}
	if strings.Contains(one.data, "hunter2") {
		t.Error("the stream has a secret in plaintext")
	}
	var defs agentlink.Definitions
	if err := json.Unmarshal([]byte(one.data), &defs); err != nil {
		t.Fatal(err)
	}
	return defs, one.id
}

// TestAgentTokensAreGuessedSlowly proves that all addresses of a network together may try a token that is not known so many
// times a minute.
func TestAgentTokensAreGuessedSlowly(t *testing.T) {
	t.Parallel()
	b := setup(t, func(d *api.Deps) { d.Config.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	o := newOffice(t, b.signup(t))
	guess := func(status int, from string) {
		t.Helper()
		b.as("vga_guess").want(t, status, http.MethodPost, sessionsPath, hello(o.key), "X-Forwarded-For", from)
	}
	for i := range 60 {
		guess(http.StatusUnauthorized, fmt.Sprintf("2001:db8::%x", i+1))
	}
	guess(http.StatusTooManyRequests, "2001:db8::ffff")
	guess(http.StatusUnauthorized, "2001:db8:0:1::1")
}

// TestAgentSession proves that only the token of a location opens its session, and that it opens nothing else.
func TestAgentSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a, other := b.signup(t), b.signup(t)
	o, foreign := newOffice(t, a), newOffice(t, other)
	key := o.key
	for name, c := range map[string]*client{"a stranger": b.client, "an API key": a.client, "a guess": b.as("vga_guess")} {
		for _, path := range []string{sessionsPath, o.session + "/results"} {
			body := any(hello(key))
			if path != sessionsPath {
				body = report()
			}
			if r := c.want(t, http.StatusUnauthorized, http.MethodPost, path, body); r.body["code"] != "unauthorized" {
				t.Errorf("%s: %s", name, r.raw)
			}
		}
		c.want(t, http.StatusUnauthorized, http.MethodGet, o.session+"/stream", nil)
	}
	foreign.want(t, http.StatusNotFound, http.MethodPost, o.session+"/results", report())
	foreign.want(t, http.StatusNotFound, http.MethodGet, o.session+"/stream", nil)
	foreign.want(t, http.StatusNotFound, http.MethodPost, o.session+"/tasks/"+uuid.NewString(),
		map[string]any{"time": b.clock.Now(), "observation": map[string]any{"success": true, "response_time_ms": 1}})
	for _, path := range []string{"/v1/checks", "/v1/locations", "/v1/auth/me"} {
		o.want(t, http.StatusUnauthorized, http.MethodGet, path, nil)
	}
	for member, change := range map[string]func(map[string]any){
		"protocol": func(h map[string]any) { h["protocol"] = 2 },
		"key":      func(h map[string]any) { h["key"] = []byte("short") },
		"instance": func(h map[string]any) { h["instance"] = uuid.Nil },
		"name":     func(h map[string]any) { h["name"] = strings.Repeat("x", 300) },
	} {
		wrong := hello(key)
		change(wrong)
		if r := o.want(t, http.StatusBadRequest, http.MethodPost, sessionsPath, wrong); r.detail("member") != member {
			t.Errorf("%s: %s", member, r.raw)
		}
	}
	huge := report(map[string]any{"check_id": uuid.New(), "observation": map[string]any{"error": strings.Repeat("x", 1<<20)}})
	o.want(t, http.StatusRequestEntityTooLarge, http.MethodPost, o.session+"/results", huge)
}

// report is a report with results.
func report(results ...map[string]any) map[string]any {
	if results == nil {
		results = []map[string]any{}
	}
	return map[string]any{
		"sent_at": time.Now().
			UTC(),
		"clock_difference_ms": 0,
		"checks":              1,
		"spool":               map[string]any{"results": 0, "bytes": 0, "dropped": 0},
		"results":             results,
	}
}

// TestAgentDefinitions proves that an agent is sent the checks of its location as they change, sealed to it.
func TestAgentDefinitions(t *testing.T) {
	t.Parallel()
	b := setupStream(t, api.StreamConfig{})
	a, other := b.signup(t), b.signup(t)
	a, other = b.tier(t, a, account.TierEnterprise), b.tier(t, other, account.TierEnterprise)
	o, foreign := newOffice(t, a), newOffice(t, other)
	made := a.want(t, http.StatusCreated, http.MethodPost, "/v1/checks", secretCheck()).data(t)
	f := o.follow(t, b.url, "")
	defs, _ := f.definitions(t)
	if !defs.Full || len(defs.Checks) != 1 || defs.Checks[0].ID.String() != text(made, "id") {
		t.Fatalf("%+v", defs)
	}
	if config, err := o.key.Open(&defs.Checks[0]); err != nil || !strings.Contains(string(config), "hunter2") {
		t.Errorf("opened %s, %v", config, err)
	}
	if config, err := foreign.key.Open(&defs.Checks[0]); err == nil {
		t.Errorf("another agent opened %s", config)
	}
	if defs, _ := foreign.follow(t, b.url, "").definitions(t); !defs.Full || len(defs.Checks) != 0 {
		t.Errorf("another organization is sent %+v", defs)
	}
	path := "/v1/checks/" + text(made, "id")
	a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"interval_seconds": 120})
	changed, cursor := f.definitions(t)
	if changed.Full || len(changed.Checks) != 1 || changed.Checks[0].IntervalMS != 120_000 ||
		changed.Checks[0].Revision <= defs.Checks[0].Revision {
		t.Errorf("a change: %+v", changed)
	}
	a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"enabled": false})
	if paused, _ := f.definitions(t); len(paused.Checks) != 0 || len(paused.Gone) != 1 {
		t.Errorf("a pause: %+v", paused)
	}
	if resumed, _ := o.follow(t, b.url, cursor).definitions(t); resumed.Full || len(resumed.Gone) != 1 {
		t.Errorf("resumed with %+v", resumed)
	}
	if fresh, _ := o.follow(t, b.url, "nonsense").definitions(t); !fresh.Full {
		t.Errorf("a cursor that is none: %+v", fresh)
	}
	a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"enabled": true})
	if again, _ := f.definitions(t); len(again.Checks) != 1 {
		t.Errorf("after the pause: %+v", again)
	}
	a.want(t, http.StatusNoContent, http.MethodDelete, path, nil)
	if gone, _ := f.definitions(t); len(gone.Checks) != 0 || len(gone.Gone) != 1 {
		t.Errorf("a deletion: %+v", gone)
	}
	made = a.want(t, http.StatusCreated, http.MethodPost, "/v1/checks", secretCheck()).data(t)
	if added, _ := f.definitions(t); len(added.Checks) != 1 {
		t.Errorf("another check: %+v", added)
	}
	body := windowOf(text(made, "id"))
	body["starts_at"], body["probing"] = localTime(-time.Minute), "pause"
	window := a.want(t, http.StatusCreated, http.MethodPost, windows, body).data(t)
	paused, cursor := f.definitions(t)
	if len(paused.Checks) != 0 || len(paused.Gone) != 1 {
		t.Errorf("maintenance: %+v", paused)
	}
	if resumed, _ := o.follow(t, b.url, cursor).definitions(t); !resumed.Full || len(resumed.Checks) != 0 {
		t.Errorf("resumed in maintenance with %+v", resumed)
	}
	a.want(t, http.StatusNoContent, http.MethodDelete, windows+"/"+text(window, "id"), nil)
	if after, _ := f.definitions(t); len(after.Checks) != 1 {
		t.Errorf("after maintenance: %+v", after)
	}
	began := time.Now()
	rotated := a.want(t, http.StatusOK, http.MethodPost, locationsPath+"/"+o.id+"/rotate-token", nil).data(t)
	f.ended(t, 15*time.Second)
	t.Logf("the stream ended %v after the rotation", time.Since(began))
	o.want(t, http.StatusUnauthorized, http.MethodPost, o.session+"/results", report())
	o.client = a.as(text(rotated, "token"))
	o.want(t, http.StatusOK, http.MethodPost, o.session+"/results", report())
}

// TestHostileAgent proves that nothing is stored but results of slots of checks of the location.
func TestHostileAgent(t *testing.T) {
	t.Parallel()
	counted := map[string]int{}
	b := setup(t, func(d *api.Deps) { d.RefusedResults = func(reason string, n int) { counted[reason] += n } })
	a, other := b.signup(t), b.signup(t)
	a, other = b.tier(t, a, account.TierEnterprise), b.tier(t, other, account.TierEnterprise)
	o := newOffice(t, a)
	newOffice(t, other)
	own := a.want(t, http.StatusCreated, http.MethodPost, "/v1/checks", secretCheck()).data(t)
	foreign := other.want(t, http.StatusCreated, http.MethodPost, "/v1/checks", secretCheck()).data(t)
	elsewhere := secretCheck()
	elsewhere["regions"] = []string{"na-east-ewr"}
	outside := a.want(t, http.StatusCreated, http.MethodPost, "/v1/checks", elsewhere).data(t)
	def, err := b.store.Definition(t.Context(), uuid.MustParse(text(own, "id")))
	if err != nil {
		t.Fatal(err)
	}
	schedule, _ := def.Schedule("loc-office")
	b.clock.Advance(time.Hour)
	slot := schedule.Next(b.clock.Now().Add(-10 * time.Minute))
	result := func(change func(r, seen map[string]any)) map[string]any {
		seen := map[string]any{"success": true, "response_time_ms": 12}
		r := map[string]any{"check_id": own["id"], "revision": 1, "slot": slot, "time": slot, "observation": seen}
		if change != nil {
			change(r, seen)
		}
		return r
	}
	at := func(t time.Time) func(r, _ map[string]any) {
		return func(r, _ map[string]any) { r["slot"], r["time"] = t, t }
	}
	cases := []struct {
		name, reason string
		change       func(r, seen map[string]any)
	}{
		{"an unknown check", "unknown_check", func(r, _ map[string]any) { r["check_id"] = uuid.New() }},
		{"a check of another organization", "unknown_check", func(r, _ map[string]any) { r["check_id"] = foreign["id"] }},
		{"a check of another region", "unknown_check", func(r, _ map[string]any) { r["check_id"] = outside["id"] }},
		{"a future slot", "future", at(schedule.Next(b.clock.Now().Add(time.Minute)))},
		{"a future time", "future", func(r, _ map[string]any) { r["time"] = b.clock.Now().Add(time.Hour) }},
		{"between two slots", "off_schedule", at(slot.Add(time.Second))},
		{"before the first slot", "off_schedule", at(schedule.First().Add(-time.Minute))},
		{"an old slot", "too_old", at(slot.Add(-26 * time.Hour))},
		{"a time before its slot", "invalid", func(r, _ map[string]any) { r["time"] = slot.Add(-time.Minute) }},
		{"a revision to come", "invalid", func(r, _ map[string]any) { r["revision"] = 99 }},
		{"no revision", "invalid", func(r, _ map[string]any) { r["revision"] = 0 }},
		{"a failure without an error", "invalid", func(_, seen map[string]any) { seen["success"] = false }},
		{"a success with an error", "invalid", func(_, seen map[string]any) { seen["error"] = "down" }},
		{"a negative time", "invalid", func(_, seen map[string]any) { seen["response_time_ms"] = -1 }},
		{"a status that is none", "invalid", func(_, seen map[string]any) { seen["status_code"] = 12345 }},
	}
	var results []map[string]any
	want := map[string]int{}
	for _, c := range cases {
		results = append(results, result(c.change))
		want[c.reason]++
	}
	right := result(nil)
	answer := o.want(t, http.StatusOK, http.MethodPost, o.session+"/results", report(append(results, right, right)...)).data(t)
	refused, _ := answer["refused"].([]any)
	if len(refused) != len(cases) || answer["stored"] != 2.0 {
		t.Fatalf("%v", answer)
	}
	for i, c := range cases {
		one, _ := refused[i].(map[string]any)
		if one["index"] != float64(i) || one["reason"] != c.reason || one["message"] == "" {
			t.Errorf("%s: %v, want %s", c.name, one, c.reason)
		}
		if counted[c.reason] != want[c.reason] {
			t.Errorf("%d are counted as %s, want %d", counted[c.reason], c.reason, want[c.reason])
		}
	}
	o.want(t, http.StatusOK, http.MethodPost, o.session+"/results", report(right)) // a replay
	var stored int
	if err := b.store.DB().NewRaw("SELECT count(*) FROM agent_results").Scan(t.Context(), &stored); err != nil || stored != 1 {
		t.Errorf("%d results are stored, %v", stored, err)
	}
	many := make([]map[string]any, agentlink.MostResults+1)
	for i := range many {
		many[i] = right
	}
	o.want(t, http.StatusBadRequest, http.MethodPost, o.session+"/results", report(many...))
}
