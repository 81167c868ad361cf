// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	netmail "net/mail"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// mailTo returns the mails that the common platform wrote to an address, by their subjects, as text and as HTML.
func mailTo(t *testing.T, address string) map[string]map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(common.dir, "data", "mail", "*.eml"))
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]map[string]string)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		message, err := netmail.ReadMessage(strings.NewReader(string(raw)))
		if err != nil {
			t.Fatal(err)
		}
		to, err := message.Header.AddressList("To")
		if err != nil || !slices.ContainsFunc(to, func(a *netmail.Address) bool { return a.Address == address }) {
			continue
		}
		_, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
		if err != nil {
			t.Fatal(err)
		}
		parts := make(map[string]string)
		reader := multipart.NewReader(message.Body, params["boundary"])
		for part, err := reader.NextPart(); !errors.Is(err, io.EOF); part, err = reader.NextPart() {
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(part)
			if err != nil {
				t.Fatal(err)
			}
			kind, _, _ := mime.ParseMediaType(part.Header.Get("Content-Type"))
			parts[kind] = strings.ReplaceAll(string(body), "\r\n", "\n")
		}
		found[message.Header.Get("Subject")] = parts
	}
	return found
}

// TestBrowserMail lets a check fail, reads its mails in a browser, light and dark and on a phone, and acknowledges the
// incident by the link of the first one, without a sign-in.
func TestBrowserMail(t *testing.T) {
	timingtest.Parallel(t)
	c, shop := theChromium(t), newService(t)
	p, _ := shared(t)
	const email = "nia@harbor.example"
	var account struct {
		Token string `json:"token"`
	}
	api := client{t: t, url: p.ready.APIURL}
	api.into(&account, http.MethodPost, "/v1/auth/signup",
		map[string]any{"email": email, "password": "a long password 3", "name": "Nia", "organization_name": "Harbor mail"})
	api.key = account.Token
	var checkout check
	api.into(&checkout, http.MethodPost, "/v1/checks", httpCheck("Checkout API", shop.URL+"/pay", 1, "eu-central-fra", "na-east-ewr"))
	channels := make([]string, 2)
	for i, body := range []map[string]any{
		{"name": "Mail to Nia", "type": "email", "config": map[string]any{"to": []string{email}}},
		{"name": "Ops room", "type": "webhook", "config": map[string]any{"url": shop.URL + "/hook"}},
	} {
		var made struct{ ID string }
		api.into(&made, http.MethodPost, "/v1/notification-channels", body)
		channels[i] = made.ID
	}
	api.into(nil, http.MethodPost, "/v1/checks/"+checkout.ID+"/alerts", map[string]any{
		"name": "Two failures in a row", "condition": map[string]any{"failure_threshold": 2}, "region_policy": "all",
		"notification_channel_ids": channels, "notify_on": "both",
	})
	eventually(t, "the check is probed", func() bool { return shop.hits("/pay") > 10 })
	shop.fail("/pay")
	const opened = "[Critical] Checkout API is failing"
	eventually(t, "the mail of the incident is written", func() bool { return mailTo(t, email)[opened] != nil })
	mails := mailTo(t, email)
	for _, want := range []string{
		"500 from 2 of 2 regions: Frankfurt, Newark.", "Rule: Two failures in a row", "Also notified: Ops room",
		"    HTTP/1.1 500 Internal Server Error",
		"Acknowledge:\n" + p.ready.APIURL + "/acknowledge?token=",
	} {
		if !strings.Contains(mails[opened]["text/plain"], want) {
			t.Errorf("%q is not in %s", want, mails[opened]["text/plain"])
		}
	}
	link := regexp.MustCompile(`/acknowledge\?token=\S+`).FindString(mails[opened]["text/plain"])

	reader := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, mails[r.URL.Query().Get("subject")]["text/html"])
	}))
	t.Cleanup(reader.Close)
	b := c.open(t, reader.URL)
	for subject := range mails {
		b.visit("/?subject=" + strings.ReplaceAll(subject, " ", "+"))
		b.judge("the mail " + subject)
	}
	b.visit("/?subject=" + strings.ReplaceAll(opened, " ", "+"))
	b.picture("mail-light", "light", 1024)
	b.picture("mail-dark", "dark", 1024)
	b.picture("mail-phone", "light", 360)

	b = c.open(t, p.ready.APIURL)
	b.visit(link)
	b.shows("Acknowledge an incident")
	b.judge("the page to acknowledge")
	b.press("Acknowledge")
	b.shows("The incident is acknowledged")
	b.shows(email)
	shop.repair("/pay")
	const resolved = "[Critical] Resolved: Checkout API is failing"
	eventually(t, "the mail of the end is written", func() bool { return mailTo(t, email)[resolved] != nil })
	mails = mailTo(t, email)
	if text := mails[resolved]["text/plain"]; strings.Contains(text, "/acknowledge") || !strings.Contains(text, " UTC to ") {
		t.Errorf("got %s", text)
	}
	b = c.open(t, reader.URL)
	b.visit("/?subject=" + strings.ReplaceAll(resolved, " ", "+"))
	b.judge("the mail of the end")
	b.picture("mail-resolved-light", "light", 1024)
}
