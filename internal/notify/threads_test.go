// SPDX-License-Identifier: Apache-2.0

package notify_test

import (
	"net/http"
	"testing"

	"github.com/vigil-monitor/vigil"
)

// TestFormatsReferToTheirMessage holds what the answers of products say that a message became, and how the
// end of an incident edits it or answers it.
func TestFormatsReferToTheirMessage(t *testing.T) {
	t.Parallel()
	for kind, test := range map[form]struct {
		answer, reference string
		method, path      string // of the end
		member, value     string // of the end, as far as it has one
	}{
		"chat/discord": {
			`{"id":"1234567890","content":"a"}`, "1234567890", "PATCH", "/api/webhooks/1/" + pathToken + "/messages/1234567890", "", "",
		},
		"chat/telegram": {
			`{"ok":true,"result":{"message_id":42}}`, "42", "POST", "/bot123456:" + pathToken + "/editMessageText", "", "",
		},
		"chat/matrix": {
			`{"event_id":"$abc:example.com"}`, "$abc:example.com", "PUT",
			"/_matrix/client/v3/rooms/!room/1:example.com/send/m.room.message/" + message().Delivery.String(),
			"m.relates_to", "$abc:example.com",
		},
	} {
		r := receive(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(test.answer)) })
		sender := parse(t, registry(), vigil.ChannelChat, httpConfigs(r.url)[kind])
		got := sender.Send(t.Context(), message())
		if !got.Delivered() || got.Reference != test.reference {
			t.Errorf("%s: the message is %q, %+v", kind, got.Reference, got)
		}
		end := message()
		end.Type, end.Previous = vigil.EventResolved, got.Reference
		sender.Send(t.Context(), end)
		sent := r.requests()[1]
		if sent.method != test.method || sent.path != test.path {
			t.Errorf("%s: the end is %s %s", kind, sent.method, sent.path)
		}
		if test.member != "" && at(t, decoded(t, sent.body), test.member, "event_id") != test.value {
			t.Errorf("%s: the end is %s", kind, sent.body)
		}
		if kind == "chat/telegram" && at(t, decoded(t, sent.body), "message_id") != 42.0 {
			t.Errorf("%s: the end is %s", kind, sent.body)
		}
	}
}

// TestFormatsIgnoreReferencesOfOthers holds that a reference that the product does not give changes nothing
// of the address.
func TestFormatsIgnoreReferencesOfOthers(t *testing.T) {
	t.Parallel()
	for _, kind := range []form{"chat/discord", "chat/telegram", "chat/matrix"} {
		r := receive(t, nil)
		sender := parse(t, registry(), vigil.ChannelChat, httpConfigs(r.url)[kind])
		for _, previous := range []string{"", "../../x", "1/../../2", "abc"} {
			m := message()
			m.Previous = previous
			sender.Send(t.Context(), m)
		}
		got := r.requests()
		for _, one := range got[1:] {
			if one.method != got[0].method || one.path != got[0].path || string(one.body) != string(got[0].body) {
				t.Errorf("%s: %s %s %s", kind, one.method, one.path, one.body)
			}
		}
	}
}

// TestEndOfADeletedMessage holds that an end whose beginning was deleted is sent as a message of its own.
func TestEndOfADeletedMessage(t *testing.T) {
	t.Parallel()
	for kind, test := range map[form]struct {
		previous string
		status   int
	}{
		"chat/discord": {"1234567890", http.StatusNotFound}, "chat/telegram": {"42", http.StatusBadRequest},
		"chat/matrix": {"$abc:example.com", http.StatusBadRequest},
	} {
		first := true
		r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
			if first {
				w.WriteHeader(test.status)
			}
			first = false
		})
		sender := parse(t, registry(), vigil.ChannelChat, httpConfigs(r.url)[kind])
		end := message()
		end.Type, end.Previous = vigil.EventResolved, test.previous
		if got := sender.Send(t.Context(), end); !got.Delivered() {
			t.Errorf("%s: %+v", kind, got)
		}
		end.Previous = ""
		sender.Send(t.Context(), end)
		sent := r.requests()
		if len(sent) != 3 || sent[1].method != sent[2].method || sent[1].path != sent[2].path || string(sent[1].body) != string(sent[2].body) {
			t.Errorf("%s: the second request is not the message by itself: %+v", kind, sent)
		}
	}
}

// TestGoogleChatHasOneThread holds that all messages of an incident are in a thread of its own.
func TestGoogleChatHasOneThread(t *testing.T) {
	t.Parallel()
	r := receive(t, nil)
	sender := parse(t, registry(), vigil.ChannelChat, httpConfigs(r.url)["chat/google_chat"])
	end := message()
	end.Type = vigil.EventResolved
	sender.Send(t.Context(), message())
	sender.Send(t.Context(), end)
	for _, one := range r.requests() {
		if at(t, decoded(t, one.body), "thread", "threadKey") != message().Incident.String() {
			t.Errorf("got %s", one.body)
		}
	}
}

// TestPagersResolveWhatTheyTriggered holds that the end names the alert of the beginning.
func TestPagersResolveWhatTheyTriggered(t *testing.T) {
	t.Parallel()
	end := message()
	end.Type = vigil.EventResolved
	for kind, want := range map[form][2]string{
		"pager/incident_io": {"status", "resolved"}, "pager/splunk_oncall": {"message_type", "RECOVERY"},
		"pager/pagerduty": {"event_action", "resolve"},
	} {
		r := receive(t, nil)
		sender := parse(t, registry(), vigil.ChannelPager, httpConfigs(r.url)[kind])
		sender.Send(t.Context(), message())
		sender.Send(t.Context(), end)
		opening, closing := decoded(t, r.requests()[0].body), decoded(t, r.requests()[1].body)
		key := map[form]string{
			"pager/incident_io": "deduplication_key", "pager/splunk_oncall": "entity_id", "pager/pagerduty": "dedup_key",
		}[kind]
		if opening[key] != message().Incident.String() || closing[key] != opening[key] || closing[want[0]] != want[1] {
			t.Errorf("%s: %v, %v", kind, opening, closing)
		}
	}
	r := receive(t, nil)
	sender := parse(t, registry(), vigil.ChannelPager, httpConfigs(r.url)["pager/alertmanager"])
	sender.Send(t.Context(), message())
	sender.Send(t.Context(), end)
	labels := map[int]any{}
	for i, one := range r.requests() {
		labels[i] = string(encode(t, decoded(t, one.body[1:len(one.body)-1])["labels"]))
	}
	if labels[0] != labels[1] {
		t.Errorf("Alertmanager knows %v by other labels than %v", labels[1], labels[0])
	}
}
