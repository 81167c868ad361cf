// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/channelhealth"
	"github.com/vigil-monitor/vigil/internal/listing"
)

func TestChannelShowsHowItDoes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	made := a.channel(t, with("type", "webhook"), with("config", map[string]any{"url": receiver.URL}))
	id, path := parseUUID(t, text(made, "id")), "/v1/notification-channels/"+text(made, "id")
	delivery := func(shown map[string]any) map[string]any {
		found, _ := shown["delivery"].(map[string]any)
		return found
	}
	if d := delivery(made); d["state"] != "ok" || d["failing_since"] != nil || d["last_delivered_at"] != nil || d["last_error"] != nil {
		t.Errorf("a new channel: %v", d)
	}
	_, err := b.store.DB().NewRaw(`INSERT INTO channel_health (channel_id, org_id, state, failures, since, episode, last_error)
		VALUES (?, ?, 'down', 7, now(), gen_random_uuid(), 'answered 500')`, id, a.org).Exec(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shown := a.want(t, http.StatusOK, http.MethodGet, path, nil)
	d := delivery(shown.data(t))
	if d["state"] != "down" || d["failing_since"] == nil || d["last_error"] != "answered 500" || encoded(t, d["consecutive_failures"]) != "7" {
		t.Errorf("a channel that is down: %v", d)
	}
	if again := a.want(t, http.StatusOK, http.MethodPut, path, shown.data(t)); again.header.Get("ETag") != shown.header.Get("ETag") {
		t.Error("what is read cannot be written")
	}
	list := a.want(t, http.StatusOK, http.MethodGet, "/v1/notification-channels", nil)
	if !strings.Contains(encoded(t, list.body), `"state":"down"`) {
		t.Errorf("the list has %s", list.body)
	}
	a.want(t, http.StatusOK, http.MethodPost, path+"/test", nil)
	if d := delivery(a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t)); d["state"] != "ok" || d["last_delivered_at"] == nil {
		t.Errorf("after a test that arrived: %v", d)
	}
}

func TestChannelFallback(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a, other := b.signup(t), b.signup(t)
	first, second := a.channel(t), a.channel(t)
	foreign := text(other.channel(t), "id")
	path := func(c map[string]any) string { return "/v1/notification-channels/" + text(c, "id") }
	type object = map[string]any
	if first["fallback_channel_id"] != nil {
		t.Errorf("a new channel falls back to %v", first["fallback_channel_id"])
	}
	set := a.want(t, http.StatusOK, http.MethodPut, path(first), object{channelhealth.MemberFallback: second["id"]}).data(t)
	if set[channelhealth.MemberFallback] != second["id"] {
		t.Errorf("it falls back to %v", set[channelhealth.MemberFallback])
	}
	kept := a.want(t, http.StatusOK, http.MethodPut, path(first), object{"name": "renamed"}).data(t)
	if kept[channelhealth.MemberFallback] != second["id"] {
		t.Errorf("without the member it falls back to %v", kept[channelhealth.MemberFallback])
	}
	for name, to := range map[string]any{
		"Circle": first["id"], "Itself": second["id"], "Foreign": foreign, "Unknown": uuid.NewString(), "NoID": "x", "NoText": 7,
	} {
		answer := a.want(t, http.StatusBadRequest, http.MethodPut, path(second), object{channelhealth.MemberFallback: to})
		if !strings.Contains(encoded(t, answer.body), `"member":"fallback_channel_id"`) {
			t.Errorf("%s: %s", name, encoded(t, answer.body))
		}
	}
	used := a.want(t, http.StatusConflict, http.MethodDelete, path(second), nil)
	if !strings.Contains(encoded(t, used.body), `"channels":["renamed"]`) {
		t.Errorf("deleting a fallback answers %s", used.body)
	}
	a.want(t, http.StatusNoContent, http.MethodDelete, path(second)+"?force=true", nil)
	if left := a.want(t, http.StatusOK, http.MethodGet, path(first), nil).data(t); left[channelhealth.MemberFallback] != nil {
		t.Errorf("it falls back to %v, which is deleted", left[channelhealth.MemberFallback])
	}
}

// Files name the fallback by its key, its name or its id, also one that comes later.
func TestFilesHaveFallbacks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	outside := a.channel(t, with("name", "outside"))
	type object = map[string]any
	apply := func(status int, channels object) string {
		body := object{"project": "shop", "document": object{"version": 1, "project": "shop", "channels": channels}}
		return encoded(t, a.want(t, status, http.MethodPost, "/v1/apply", body).body)
	}
	hook := func(fallback any) object {
		c := object{"type": "webhook", "config": object{"url": "https://hooks.example.com/x"}}
		if fallback != nil {
			c["fallback_channel"] = fallback
		}
		return c
	}
	of := func(name string) any {
		list, _, err := b.store.Channels(t.Context(), a.org, listing.ChannelFilter{Query: name, Page: listing.Page{Limit: 10}})
		if err != nil || len(list) != 1 {
			t.Fatalf("channels %v, %v", list, err)
		}
		if list[0].Fallback == uuid.Nil {
			return nil
		}
		to, err := b.store.Channel(t.Context(), a.org, list[0].Fallback)
		if err != nil {
			t.Fatal(err)
		}
		return to.Name
	}
	apply(http.StatusOK, object{"alpha": hook("beta"), "beta": hook("name:outside"), "gamma": hook("id:" + text(outside, "id"))})
	for name, want := range map[string]any{"alpha": "beta", "beta": "outside", "gamma": "outside"} {
		if got := of(name); got != want {
			t.Errorf("%s falls back to %v, want %v", name, got, want)
		}
	}
	same := apply(http.StatusOK, object{"alpha": hook("beta"), "beta": hook("name:outside"), "gamma": hook("id:" + text(outside, "id"))})
	if strings.Contains(same, `"action":"change"`) {
		t.Errorf("the same again changes: %s", same)
	}
	for path, channels := range map[string]object{
		"channels.alpha.fallback_channel": {"alpha": hook("beta"), "beta": hook("alpha"), "gamma": hook(nil)},
		"channels.gamma.fallback_channel": {"alpha": hook(nil), "beta": hook(nil), "gamma": hook("gamma")},
		"channels.beta.fallback_channel":  {"alpha": hook(nil), "beta": hook("delta"), "gamma": hook(nil)},
	} {
		if answer := apply(http.StatusBadRequest, channels); !strings.Contains(answer, path) {
			t.Errorf("%s: %s", path, answer)
		}
	}
	// A circle that goes over channels outside of the project is found by a dry run too.
	first := a.channel(t, with("name", "first"))
	apply(http.StatusOK, object{"alpha": hook(nil), "beta": hook(nil), "gamma": hook(nil)})
	list, _, err := b.store.Channels(t.Context(), a.org, listing.ChannelFilter{Query: "alpha", Page: listing.Page{Limit: 10}})
	if err != nil || len(list) != 1 {
		t.Fatalf("channels %v, %v", list, err)
	}
	second := a.channel(t, with("name", "second"), with(channelhealth.MemberFallback, list[0].ID))
	a.want(
		t,
		http.StatusOK,
		http.MethodPut,
		"/v1/notification-channels/"+text(first, "id"),
		object{channelhealth.MemberFallback: second["id"]},
	)
	for _, dry := range []bool{true, false} {
		body := object{"project": "shop", "dry_run": dry, "document": object{"version": 1, "project": "shop", "channels": object{
			"alpha": hook("name:first"), "beta": hook(nil), "gamma": hook(nil),
		}}}
		answer := a.want(t, http.StatusBadRequest, http.MethodPost, "/v1/apply", body)
		if shown := encoded(t, answer.body); !strings.Contains(shown, "channels.alpha.fallback_channel") {
			t.Errorf("a circle outside of the project, dry run %v: %s", dry, shown)
		}
	}
	a.want(t, http.StatusOK, http.MethodPut, "/v1/notification-channels/"+text(first, "id"), object{channelhealth.MemberFallback: nil})
	apply(http.StatusOK, object{"alpha": hook(nil), "beta": hook("alpha"), "gamma": hook(nil)})
	if got := of("alpha"); got != nil {
		t.Errorf("without the member alpha falls back to %v", got)
	}
}
