// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/listing"
)

const subscriptions = "/v1/subscriptions"

// subscriptionTo is the body of a subscription of a channel.
func subscriptionTo(channel string) map[string]any {
	return map[string]any{"name": "All incidents", "channel_id": channel, "events": []any{"incident.*"}}
}

func TestSubscriptions(t *testing.T) {
	t.Parallel()
	b := setup(t)

	t.Run("AreCreatedReadChangedAndDeleted", func(t *testing.T) {
		t.Parallel()
		a := b.signup(t)
		check, channel := text(a.check(t), "id"), text(a.channel(t), "id")
		body := subscriptionTo(channel)
		body["events"] = []any{"incident.*", "check.paused", "incident.*"}
		body["selector"] = map[string]any{"check_ids": []any{check}, "severity_min": "warning"}
		made := a.want(t, http.StatusCreated, http.MethodPost, subscriptions, body, "Idempotency-Key", "one")
		again := a.want(t, http.StatusCreated, http.MethodPost, subscriptions, body, "Idempotency-Key", "one")
		one := made.data(t)
		if string(made.raw) != string(again.raw) || made.header.Get("ETag") != `"1"` || again.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("made %s, repeated %s", made.raw, again.raw)
		}
		if encoded(t, one["events"]) != `["incident.*","check.paused"]` || one["enabled"] != true || one["warnings"] != nil {
			t.Errorf("created %s", made.raw)
		}
		path := subscriptions + "/" + text(one, "id")
		if same := a.want(t, http.StatusOK, http.MethodPut, path, one, "If-Match", `"1"`).data(t); same["revision"] != 1.0 {
			t.Errorf("writing what was read makes revision %v", same["revision"])
		}
		changed := a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"selector": map[string]any{"labels": []any{"none=such"}}}).
			data(t)
		if warnings := encoded(t, changed["warnings"]); changed["revision"] != 2.0 || !strings.Contains(warnings, "selects no check now") {
			t.Errorf("changed to %v", changed)
		}
		of := "/v1/notification-channels/" + channel
		a.want(t, http.StatusOK, http.MethodPut, of, map[string]any{"enabled": false})
		silent := a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"selector": map[string]any{}}).data(t)
		if encoded(t, silent["warnings"]) != `["channel_id: the channel is disabled and gets nothing until it is enabled"]` {
			t.Errorf("a subscription of a disabled channel: %v", silent)
		}
		a.want(t, http.StatusOK, http.MethodPut, of, map[string]any{"enabled": true})
		if read := a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t); read["warnings"] != nil {
			t.Errorf("read %v", read)
		}
		a.want(t, http.StatusPreconditionFailed, http.MethodPut, path, map[string]any{"name": "lost"}, "If-Match", `"1"`)
		for query, want := range map[string]int{
			"": 1, "?event=incident.resolved": 1, "?event=check.resumed": 0, "?channel_id=" + channel: 1, "?channel_id=" + check: 0,
			"?enabled=false": 0, "?enabled=true&query=INCIDENTS": 1, "?query=other": 0, "?tool=terraform": 0,
		} {
			if rows := a.want(t, http.StatusOK, http.MethodGet, subscriptions+query, nil).rows(t); len(rows) != want {
				t.Errorf("%s lists %v", query, rows)
			}
		}
		a.want(t, http.StatusBadRequest, http.MethodGet, subscriptions+"?event=incident.*", nil)
		a.want(t, http.StatusPreconditionFailed, http.MethodDelete, path, nil, "If-Match", `"1"`)
		a.want(t, http.StatusNoContent, http.MethodDelete, path, nil, "If-Match", `"3"`)
		a.want(t, http.StatusNotFound, http.MethodGet, path, nil)
		var actions []string
		for _, entry := range a.want(t, http.StatusOK, http.MethodGet, "/v1/audit-log?limit=10", nil).rows(t) {
			if action := text(entry, "action"); strings.HasPrefix(action, "subscription.") && text(entry, "resource_id") == text(one, "id") {
				actions = append(actions, action)
			}
		}
		slices.Sort(actions)
		if !slices.Equal(slices.Compact(actions), []string{"subscription.create", "subscription.delete", "subscription.update"}) {
			t.Errorf("the audit log has %v", actions)
		}
	})

	t.Run("NameTheMemberThatIsWrong", func(t *testing.T) {
		t.Parallel()
		a, other := b.signup(t), b.signup(t)
		channel, foreign := text(a.channel(t), "id"), text(other.check(t), "id")
		for member, change := range map[string]func(map[string]any){
			"name":                   with("name", ""),
			"channel_id":             with("channel_id", text(other.channel(t), "id")),
			"events":                 with("events", []any{}),
			"events[1]":              with("events", []any{"*", "incident.opened"}),
			"selector.labels":        with("selector", map[string]any{"labels": []any{"Team"}}),
			"selector.check_ids[0]":  with("selector", map[string]any{"check_ids": []any{foreign}}),
			"selector.check_ids[1]":  with("selector", map[string]any{"check_ids": []any{text(a.check(t), "id"), "x"}}),
			"selector.severity_min":  with("selector", map[string]any{"severity_min": "fatal"}),
			"selector.severity":      with("selector", map[string]any{"severity": "fatal"}),
			"managed_by.tool":        with("managed_by", map[string]any{"tool": "T", "project": "p", "key": "k"}),
			"enabled":                with("enabled", "yes"),
			"channel_ids":            with("channel_ids", []any{channel}),
			"selector.check_ids[0] ": with("selector", map[string]any{"check_ids": []any{uuid.NewString()}}),
		} {
			body := subscriptionTo(channel)
			change(body)
			refused := a.want(t, http.StatusBadRequest, http.MethodPost, subscriptions, body)
			if !strings.Contains(refused.problem(), strings.TrimSpace(member)) {
				t.Errorf("%s: %s", member, refused.problem())
			}
		}
	})

	t.Run("KeepTheirChannel", func(t *testing.T) {
		t.Parallel()
		a := b.signup(t)
		channel := text(a.channel(t), "id")
		a.want(t, http.StatusCreated, http.MethodPost, subscriptions, subscriptionTo(channel))
		refused := a.want(t, http.StatusConflict, http.MethodDelete, "/v1/notification-channels/"+channel, nil)
		if !strings.Contains(refused.problem(), "Subscriptions use this channel: All incidents.") {
			t.Errorf("deleting the channel: %s", refused.problem())
		}
		a.want(t, http.StatusNoContent, http.MethodDelete, "/v1/notification-channels/"+channel+"?force=true", nil)
		if rows := a.want(t, http.StatusOK, http.MethodGet, subscriptions, nil).rows(t); len(rows) != 0 {
			t.Errorf("left %v", rows)
		}
	})

	t.Run("AreLimitedByThePlan", func(t *testing.T) {
		t.Parallel()
		a := b.signup(t)
		body := subscriptionTo(text(a.channel(t), "id"))
		for range 20 {
			a.want(t, http.StatusCreated, http.MethodPost, subscriptions, body)
		}
		if refused := a.want(
			t,
			http.StatusForbidden,
			http.MethodPost,
			subscriptions,
			body,
		); !strings.Contains(
			refused.problem(),
			"20 subscriptions",
		) {
			t.Errorf("refused with %s", refused.problem())
		}
	})
}

// TestRecipientsOfACheck asks who is notified of a check, and compares with who then does.
func TestRecipientsOfACheck(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	e := b.episode(t, a)
	both, only, off := text(a.channel(t), "id"), text(a.channel(t), "id"), text(a.channel(t), "id")
	a.want(t, http.StatusOK, http.MethodPut, "/v1/notification-channels/"+off, map[string]any{"enabled": false})
	a.want(t, http.StatusOK, http.MethodPut, e.checkPath+"/alerts/"+e.rule.String(),
		map[string]any{"notification_channel_ids": []any{e.channel.String(), both}})
	for name, body := range map[string]map[string]any{
		"acks": {"channel_id": both, "events": []any{"incident.acknowledged"}},
		"ends": {"channel_id": only, "events": []any{"incident.resolved", "channel.*"}, "selector": map[string]any{"severity_min": "critical"}},
		"off":  {"channel_id": off, "events": []any{"incident.triggered"}},
		"none": {"channel_id": only, "events": []any{"*"}, "enabled": false},
		"nope": {"channel_id": only, "events": []any{"*"}, "selector": map[string]any{"labels": []any{"team"}}},
	} {
		body["name"] = name
		a.want(t, http.StatusCreated, http.MethodPost, subscriptions, body)
	}
	got := make(map[string]string)
	for _, row := range a.want(t, http.StatusOK, http.MethodGet, e.checkPath+"/recipients", nil).rows(t) {
		channel, _ := row["channel"].(map[string]any)
		var names []string
		because, _ := row["because"].([]any)
		for _, why := range because {
			names = append(names, text(why.(map[string]any), "kind")+" "+text(why.(map[string]any), "name"))
		}
		state := " on"
		if row["enabled"] != true {
			state = " off"
		}
		got[text(channel, "id")] = encoded(t, row["events"]) + " " + strings.Join(names, ", ") + state
	}
	want := map[string]string{
		e.channel.String(): `["incident.triggered","incident.resolved"] rule Down on`,
		both:               `["incident.triggered","incident.acknowledged","incident.resolved"] rule Down, subscription acks on`,
		only:               `["incident.resolved"] subscription ends on`,
		off:                `["incident.triggered"] subscription off off`,
	}
	if encoded(t, got) != encoded(t, want) {
		t.Errorf("got %s, want %s", encoded(t, got), encoded(t, want))
	}
	if rows := a.want(t, http.StatusOK, http.MethodGet, e.checkPath+"/recipients?limit=2&offset=3", nil).rows(t); len(rows) != 1 {
		t.Errorf("the last page has %v", rows)
	}
	a.want(t, http.StatusNotFound, http.MethodGet, "/v1/checks/"+uuid.NewString()+"/recipients", nil)
	e.resolve(t, e.open(t))
	received := make(map[string]int)
	all, _, err := b.store.Deliveries(t.Context(), a.org, listing.DeliveryFilter{Page: listing.Page{Limit: 100}})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		received[d.ChannelID.String()]++
	}
	if received[e.channel.String()] != 2 || received[both] != 2 || received[only] != 1 || received[off] != 0 {
		t.Errorf("deliveries %v", received)
	}
}

// TestUpdatesReachSubscribedChannels publishes an update of an incident.
func TestUpdatesReachSubscribedChannels(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	e := b.episode(t, a)
	channel := text(a.channel(t), "id")
	body := subscriptionTo(channel)
	body["events"] = []any{"incident.updated"}
	a.want(t, http.StatusCreated, http.MethodPost, subscriptions, body)
	e.open(t)
	a.want(
		t,
		http.StatusCreated,
		http.MethodPost,
		e.incidentPath+"/updates",
		map[string]any{"text": "We know the cause.", "state": "identified"},
	)
	rows := a.want(t, http.StatusOK, http.MethodGet, "/v1/deliveries?channel_id="+channel, nil).rows(t)
	if len(rows) != 1 || text(rows[0], "event_type") != "incident.updated" || rows[0]["incident_id"] == nil {
		t.Fatalf("deliveries %v", rows)
	}
	message := a.want(t, http.StatusOK, http.MethodGet, "/v1/deliveries/"+text(rows[0], "id")+"/message", nil).data(t)
	if text(message, "body") != "Identified: We know the cause." || !strings.Contains(encoded(t, message), `We know the cause.`) {
		t.Errorf("message %v", message)
	}
}
