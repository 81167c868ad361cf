// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"io"
	"mime/quotedprintable"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/mail/mailtest"
	"github.com/vigil-monitor/vigil/internal/notify"
)

// TestMailSaysTheFacts sends the mail of an incident through a real server: it says what is seen from where, the last
// results, who else is notified, and has for each reader a link that acknowledges in that reader's name.
func TestMailSaysTheFacts(t *testing.T) {
	t.Parallel()
	p := newPost(t, mailtest.Options{}, vigil.ChannelWebhook)
	p.attempt()
	links := notify.NewAcknowledgeLinks("https://vigil.test", []byte("signing key"))
	readers := make(map[string]bool)
	for _, one := range p.server.Messages() {
		raw, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(one.Data)))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(raw), "\r\n", "\n")
		for _, want := range []string{
			"Subject: [Critical] home page is failing", "Connection refused from 1 of 2 regions: Newark.", "\nLast ", " 0 passed, 1 failed",
			"\nAlso notified: " + p.alerts.channels[vigil.ChannelWebhook].Name + "\n",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in %s", want, text)
			}
		}
		found := regexp.MustCompile(`\nAcknowledge:\nhttps://vigil\.test/acknowledge\?token=(\S+)\n`).FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("no link in %s", text)
		}
		token, err := url.QueryUnescape(found[1])
		if err != nil {
			t.Fatal(err)
		}
		link, err := links.Read(token, p.clock.Now())
		if err != nil || link.Incident != p.incident || link.Channel != p.delivery.ChannelID || link.Who != one.To[0] {
			t.Errorf("link %+v, %v", link, err)
		}
		readers[link.Who] = true
	}
	if len(readers) != 8 {
		t.Errorf("links of %d readers", len(readers))
	}
}

// TestNotified holds which channel speaks for which incident.
func TestNotified(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	incident := a.open(a.fails(newark)).Incident.ID
	channel := a.channels[vigil.ChannelWebhook]
	found, name, err := a.store.Notified(t.Context(), incident, channel.ID)
	if err != nil || found.ID != incident || found.OrgID != a.org.ID || name != channel.Name {
		t.Errorf("%v, %q, %v", found.ID, name, err)
	}
	for _, other := range [][2]uuid.UUID{{incident, uuid.New()}, {uuid.New(), channel.ID}} {
		if _, _, err := a.store.Notified(t.Context(), other[0], other[1]); vigil.ErrorCode(err) != vigil.CodeNotFound {
			t.Errorf("%v: %v", other, err)
		}
	}
	if _, err := a.store.UpdateChannel(t.Context(), a.org.ID, channel.ID, func(c *vigil.Channel) error {
		c.Enabled = false
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.store.Notified(t.Context(), incident, channel.ID); vigil.ErrorCode(err) != vigil.CodeNotFound {
		t.Errorf("a disabled channel: %v", err)
	}
}
