// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// signedBy makes a JSON Web Signature that names a key.
func signedBy(kid string) func([]byte) (string, error) {
	return func(receipt []byte) (string, error) {
		part := base64.RawURLEncoding.EncodeToString
		return part([]byte(`{"alg":"EdDSA","kid":"`+kid+`"}`)) + "." + part(receipt) + "." + part([]byte("x")), nil
	}
}

// drill runs a drill of a channel by the form and returns the path of its page.
func (b *browser) drill(t *testing.T, channel string) string {
	t.Helper()
	return b.post(t, http.StatusSeeOther, "/app/drills", url.Values{
		"of": {"channel_ids"}, "channel_ids": {channel}, "severity": {"info"}, "expect_within_seconds": {"60"},
	}).location
}

// TestDrillPages runs a drill from the page of a channel by the form, with mistakes first, reads its
// page while it runs and its receipt when it has ended.
func TestDrillPages(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	b, _ := s.signUp(t)
	b.get(t, http.StatusOK, "/app/drills").shows(t, "No drill yet", `href="/app/drills/new"`)
	channel, page := s.channel(t, b), "/app/drills/new"
	b.get(t, http.StatusOK, "/app/channels/"+channel).shows(t, `href="`+page+"?channel_id="+channel+`"`, "No drill of it has ended yet.")
	b.get(t, http.StatusOK, page+"?channel_id="+channel).shows(t, `name="channel_ids" value="`+channel+`" checked`)

	form := url.Values{"of": {"channel_ids"}, "severity": {"warning"}, "expect_within_seconds": {"9"}}
	b.post(t, http.StatusUnprocessableEntity, "/app/drills", form).shows(t, "No drill has begun.",
		`id="f-channel_ids-error"`, `id="f-expect_within_seconds-error"`, `value="warning" selected`)
	form.Set("expect_within_seconds", "soon")
	form.Set("channel_ids", channel)
	b.post(t, http.StatusUnprocessableEntity, "/app/drills", form).
		shows(t, `id="f-expect_within_seconds-error"`, `value="soon"`, `value="`+channel+`" checked`)
	form.Set("expect_within_seconds", "60")
	form.Set("of", "rule_ids")
	b.post(t, http.StatusUnprocessableEntity, "/app/drills", form).shows(t, `id="f-rule_ids-error"`)
	form.Set("of", "channel_ids")
	form.Set("regions", "moon")
	b.post(t, http.StatusUnprocessableEntity, "/app/drills", form).shows(t, `id="f-regions-error"`)
	form.Del("regions")

	running := b.follow(t, "/app/drills", form)
	running.shows(t, "Running", "Drill of Hook", "Cancel the drill", "The drill is stored", `data-live="/app/stream?page=drill&amp;parts=`)
	at := regexp.MustCompile(`/app/drills/([0-9a-f-]{36})/cancel`).FindStringSubmatch(running.text)
	if at == nil {
		t.Fatal("the page has no button that cancels")
	}
	path, id := "/app/drills/"+at[1], uuid.MustParse(at[1])
	b.post(t, http.StatusConflict, "/app/drills", form).shows(t, "No drill has begun.", "is under way")
	b.get(t, http.StatusNotFound, path+"/receipt.json")
	b.get(t, http.StatusNotFound, path+"/receipt.jws")

	if _, err := s.store.StageDrill(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.store.CloseDrill(t.Context(), id, "v1.2.3", signedBy("key-1")); err != nil {
		t.Fatal(err)
	}
	ended := b.get(t, http.StatusOK, path)
	ended.shows(t, "Failed.", "Alerts may not arrive.", "Temporal did not accept the loop of the region.", "<code>asked</code>",
		"<code>stored</code>", "missing", "no message was made", "key-1", "/.well-known/vigil-keys", "v1.2.3", "Engines",
		path+"/receipt.jws", path+"/receipt.json")
	if strings.Contains(ended.text, "Cancel the drill") || strings.Contains(ended.text, "data-live") {
		t.Error("the page of a drill that has ended offers to cancel it, or has a stream")
	}
	jws := b.get(t, http.StatusOK, path+"/receipt.jws")
	payload, _ := base64.RawURLEncoding.DecodeString(strings.Split(jws.text, ".")[1])
	if got := b.get(t, http.StatusOK, path+"/receipt.json"); got.text != string(payload) || !strings.Contains(got.text, at[1]) ||
		!strings.HasPrefix(got.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("the receipt is %s, signed is %s, as %s", got.text, payload, got.header.Get("Content-Disposition"))
	}
	b.follow(t, path+"/cancel", url.Values{}).shows(t, "has ended")
	list := b.get(t, http.StatusOK, "/app/drills?verdict=failed")
	list.shows(t, `href="`+path+`"`, "Hook", "Failed", "Temporal did not accept the loop of the region.")
	b.get(t, http.StatusOK, "/app/drills?verdict=passed").shows(t, "No drill matches")
	b.get(t, http.StatusOK, "/app/channels/"+channel).shows(t, `href="`+path+`"`, "The last one:", "Failed")

	second := b.drill(t, channel)
	b.follow(t, second+"/cancel", url.Values{}).shows(t, "The drill ends now")
	if _, _, err := s.store.CloseDrill(t.Context(), uuid.MustParse(strings.TrimPrefix(second, "/app/drills/")), "v1", unsigned); err != nil {
		t.Fatal(err)
	}
	b.get(t, http.StatusOK, second).shows(t, "Canceled.", "the receipt is not signed")
	b.get(t, http.StatusNotFound, second+"/receipt.jws")
	b.get(t, http.StatusOK, second+"/receipt.json").shows(t, `"verdict":"canceled"`)

	stranger, _ := s.signUp(t)
	for _, of := range []string{path, path + "/receipt.json", path + "/receipt.jws", "/app/drills/" + uuid.NewString(), "/app/drills/x"} {
		stranger.get(t, http.StatusNotFound, of)
	}
	stranger.post(t, http.StatusNotFound, path+"/cancel", url.Values{})
	s.browser(t).get(t, http.StatusSeeOther, path+"/receipt.jws")
}

func unsigned([]byte) (string, error) { return "", nil }

// TestADrillOfAPagerAsks holds that a drill of what leads to a pager is run with a confirmation only,
// and that the form knows which that is.
func TestADrillOfAPagerAsks(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	b, email := s.signUp(t)
	check, _ := s.statusCheck(t, email, "checkout")
	pager := s.create(t, b, "/v1/notification-channels",
		`{"name":"On call","type":"pager","config":{"routing_key":"k","url":"http://127.0.0.1:1/"}}`)
	hook := s.create(t, b, "/v1/notification-channels",
		`{"name":"Hook","type":"webhook","config":{"url":"http://127.0.0.1:1/"},"fallback_channel_id":"`+pager+`"}`)
	quiet := s.channel(t, b)
	rule := s.create(t, b, "/v1/checks/"+check.String()+"/alerts",
		`{"name":"Down","condition":{"failure_threshold":1},"notification_channel_ids":["`+hook+`"]}`)
	subscription := s.create(t, b, "/v1/subscriptions", `{"name":"All of it","channel_id":"`+pager+`","events":["incident.*"]}`)
	b.get(t, http.StatusOK, "/app/drills/new").shows(t, `value="`+pager+`" data-pager`, `value="`+hook+`" data-pager`, `value="`+quiet+`">`,
		`value="`+rule+`" data-pager`, "of checkout", `value="`+subscription+`" data-pager`)
	for member, id := range map[string]string{"channel_ids": pager, "rule_ids": rule, "subscription_ids": subscription} {
		form := url.Values{"of": {member}, member: {id}, "severity": {"info"}, "expect_within_seconds": {"60"}}
		b.post(t, http.StatusUnprocessableEntity, "/app/drills", form).
			shows(t, `id="f-confirm_pager-error"`, "must be true", `value="`+id+`" data-pager checked`)
		form.Set("confirm_pager", "true")
		b.follow(t, b.follow(t, "/app/drills", form).cancels(t), url.Values{})
		b.closeDrills(t)
	}
	b.follow(t, "/app/channels/"+quiet+"/enabled", url.Values{"enabled": {"false"}})
	b.post(t, http.StatusUnprocessableEntity, "/app/drills", url.Values{
		"of": {"channel_ids"}, "channel_ids": {quiet}, "severity": {"info"}, "expect_within_seconds": {"60"},
	}).shows(t, "leads to no enabled channel")
}

// cancels is the path that cancels the drill of a page.
func (a answer) cancels(t *testing.T) string {
	t.Helper()
	at := regexp.MustCompile(`/app/drills/[0-9a-f-]{36}/cancel`).FindString(a.text)
	if at == "" {
		t.Fatalf("no drill runs: %s", a.text)
	}
	return at
}

// closeDrills closes the drills that run, as their workflows do.
func (b *browser) closeDrills(t *testing.T) {
	t.Helper()
	var ids []uuid.UUID
	if err := b.site.store.DB().NewRaw("SELECT id FROM drills WHERE state <> 'closed'").Scan(t.Context(), &ids); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if _, _, err := b.site.store.CloseDrill(t.Context(), id, "v1", unsigned); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAViewerReadsDrills holds that a member who only reads sees drills and schedules, without what
// changes them, and that what such a member posts is refused.
func TestAViewerReadsDrills(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	owner, _ := s.signUp(t)
	channel := s.channel(t, owner)
	schedule := s.create(t, owner, "/v1/drill-schedules", `{"name":"Monthly","channel_ids":["`+channel+`"],
		"recurrence":{"every":"monthly","day":1,"hour":9,"timezone":"UTC"}}`)
	path := owner.drill(t, channel)
	viewer := s.joins(t, owner, uuid.NewString()+"@example.com", "viewer")
	for at, buttons := range map[string][]string{
		"/app/drills":                      {`href="/app/drills/new"`, `href="/app/drill-schedules/new"`},
		path:                               {"Cancel the drill"},
		"/app/drills/new":                  {"Run the drill"},
		"/app/drill-schedules/" + schedule: {">Pause<", "Delete…", ">Save<"},
		"/app/channels/" + channel:         {">Run a drill<"},
	} {
		owner.get(t, http.StatusOK, at).shows(t, buttons...)
		page := viewer.get(t, http.StatusOK, at)
		for _, button := range buttons {
			if strings.Contains(page.text, button) {
				t.Errorf("%s offers %q to a viewer", at, button)
			}
		}
	}
	viewer.get(t, http.StatusOK, "/app/drills").shows(t, "Monthly", "Running", `href="`+path+`"`)
	viewer.post(t, http.StatusForbidden, "/app/drills", url.Values{
		"of": {"channel_ids"}, "channel_ids": {channel}, "severity": {"info"}, "expect_within_seconds": {"60"},
	}).shows(t, "Your role in the organization is viewer")
	viewer.follow(t, path+"/cancel", url.Values{}).shows(t, "Your role in the organization is viewer")
	viewer.follow(t, "/app/drill-schedules/"+schedule+"/enabled", url.Values{"enabled": {"false"}}).
		shows(t, "Your role in the organization is viewer", ">Enabled<")
	viewer.post(t, http.StatusForbidden, "/app/drill-schedules/"+schedule+"/delete", url.Values{})
}

// TestDrillPagesAreLive holds that the open pages get each state of a drill, also one that leaves no
// event on the stream.
func TestDrillPagesAreLive(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	b, _ := s.signUp(t)
	path := b.drill(t, s.channel(t, b))
	id := uuid.MustParse(strings.TrimPrefix(path, "/app/drills/"))
	one, list := b.stream(t, "page=drill&of="+path), b.stream(t, "page=drills&of=/app/drills")
	one.until(t, `id="drill-way"`)
	list.until(t, `id="drills-list"`)
	for _, step := range []struct {
		run  func() error
		text string
	}{
		{func() error { _, err := s.store.StageDrill(t.Context(), id); return err }, "Its check fails, and"},
		{func() error { _, err := s.store.HealDrill(t.Context(), id); return err }, "Its check is healthy again"},
	} {
		if err := step.run(); err != nil {
			t.Fatal(err)
		}
		one.untilMatch(t, `class="now" aria-current="step">.*`+step.text)
	}
	if _, _, err := s.store.CloseDrill(t.Context(), id, "v1", signedBy("key-1")); err != nil {
		t.Fatal(err)
	}
	one.until(t, "key-1")
	list.until(t, "m-failed")
}

// untilMatch waits for a line or several that match a pattern.
func (e *eventStream) untilMatch(t *testing.T, pattern string) {
	t.Helper()
	for found := regexp.MustCompile(pattern); !found.MatchString(strings.ReplaceAll(e.text.String(), "\n", " ")); {
		e.next(t)
	}
}
