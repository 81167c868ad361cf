// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/notify"
)

// TestChannelFormsAskForTheMembersOfTheirFormat holds that the form of each type and format has the
// members that the API takes there, and no other.
func TestChannelFormsAskForTheMembersOfTheirFormat(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	b, _ := s.signUp(t)
	for _, kind := range notify.NewRegistry(egress.New(egress.Policy{})).Describe() {
		formats := kind.Formats
		if len(formats) == 0 {
			formats = []notify.FormatInfo{{}}
		}
		for _, format := range formats {
			address := "/app/channels/new?type=" + string(kind.Type)
			if format.Name != "" {
				address += "&format=" + format.Name
			}
			page := b.get(t, http.StatusOK, address)
			for _, member := range kind.Members {
				wording := member.Name == "title_template" || member.Name == "body_template"
				want := member.Title != "" && (wording || format.Name == "" ||
					slices.Contains(format.Requires, member.Name) || slices.Contains(format.Takes, member.Name))
				if has := strings.Contains(page.text, `name="config.`+member.Name+`"`); has != want {
					t.Errorf("%s: the field %s is there: %t", address, member.Name, has)
				}
			}
		}
	}
}

// TestChannelOfAFormat writes a channel of a product, which keeps its secret, and moves it to another
// product, whose members it then has alone.
func TestChannelOfAFormat(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	b, _ := s.signUp(t)
	b.post(t, http.StatusUnprocessableEntity, "/app/channels", url.Values{
		"type": {"chat"}, "format": {"telegram"}, "name": {"Bot"}, "config.token": {"1:secret"},
	}).shows(t, `id="f-config-chat_id-error"`, `name="format" value="telegram"`)
	list := b.follow(t, "/app/channels", url.Values{
		"type": {"chat"}, "format": {"telegram"}, "name": {"Bot"}, "config.token": {"1:secret"}, "config.chat_id": {"42"},
		"config.title_template": {"{{check_name}}"},
	})
	path := linkOf(t, list.text, `/app/channels/[0-9a-f-]{36}`, "Bot")
	b.get(t, http.StatusOK, path).shows(t, `name="format" value="telegram"`, `value="42"`, `value="***"`)
	b.follow(t, path, url.Values{"name": {"Bot"}, "format": {"telegram"}, "config.token": {"***"}, "config.chat_id": {"43"}}).
		shows(t, `value="43"`)

	b.get(t, http.StatusOK, path+"?format=slack").shows(t, `name="config.webhook_url"`)
	moved := b.follow(t, path, url.Values{
		"name": {"Bot"}, "format": {"slack"}, "config.webhook_url": {"http://127.0.0.1:1/x"}, "config.title_template": {"{{check_name}}"},
	})
	moved.shows(t, `name="format" value="slack"`, `value="{{check_name}}"`)
	if strings.Contains(moved.text, "config.chat_id") {
		t.Error("the chat of telegram is still asked for")
	}
	b.post(t, http.StatusUnprocessableEntity, "/app/channels", url.Values{"type": {"chat"}, "format": {"morse"}, "name": {"x"}}).
		shows(t, "Choose a type.")
}
