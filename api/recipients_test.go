// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/mail"
	"github.com/vigil-monitor/vigil/internal/mail/mailtest"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// setupRecipients is an API whose mail leaves the machine, with email channels that send it.
func setupRecipients(t *testing.T) inbox {
	t.Helper()
	server := mailtest.Start(t, mailtest.Options{})
	guard := egress.New(egress.Policy{AllowPrivate: true})
	mailer, err := mail.New(mail.Options{URL: "smtp://" + server.Addr + "?tls=none", From: "vigil@example.com", Dialer: guard})
	if err != nil {
		t.Fatal(err)
	}
	b := onDatabase(t, storagetest.DSN(t))
	mailing := func(d *api.Deps) {
		d.Mailer = mailer
		d.Channels = notify.NewRegistry(guard, notify.WithMail(mailer), notify.WithRecipients(b.store, "http://vigil.test"))
	}
	b.client = b.serve(t, mailing)
	return inbox{b, server, mailing}
}

// mailChannel creates an email channel and returns its path.
func (a person) mailChannel(t *testing.T, config map[string]any) (path string, created map[string]any) {
	t.Helper()
	created = a.want(t, http.StatusCreated, http.MethodPost, "/v1/notification-channels",
		map[string]any{"name": "People", "type": "email", "config": config}).data(t)
	return "/v1/notification-channels/" + text(created, "id"), created
}

// attempt sends a test message and returns its outcome.
func (a person) attempt(t *testing.T, path string) map[string]any {
	t.Helper()
	return a.want(t, http.StatusOK, http.MethodPost, path+"/test", nil).data(t)
}

// alerts are the mails of channels to an address, with their headers.
func (i inbox) alerts(to string) []string {
	var found []string
	for _, m := range i.server.Messages() {
		if m.To[0] == to && strings.Contains(m.Data, "List-Unsubscribe:") {
			found = append(found, m.Data)
		}
	}
	return found
}

func recipientOf(t *testing.T, channel map[string]any, at int) map[string]any {
	t.Helper()
	list, _ := channel["recipients"].([]any)
	if at >= len(list) {
		t.Fatalf("recipients %v", channel["recipients"])
	}
	recipient, _ := list[at].(map[string]any)
	return recipient
}

func TestRecipientsConfirm(t *testing.T) {
	t.Parallel()
	b := setupRecipients(t)
	a := b.signup(t)
	path, created := a.mailChannel(t, map[string]any{
		"to":             []string{"Bob@example.net", "eve@example.net"},
		"title_template": "{{check_name}}: act at https://evil.example/t now",
		"body_template":  "log in at http://evil.example/b or www.evil.example, {{check_target}}",
	})
	if got := recipientOf(t, created, 0); got["email"] != "Bob@example.net" || got["confirmed_at"] != nil || got["status"] != "pending" {
		t.Errorf("recipient %v", got)
	}
	bob, eve := b.link(t, "Bob@example.net", "confirm-recipient"), b.link(t, "eve@example.net", "confirm-recipient")

	got := a.attempt(t, path)
	if got["error_code"] != "recipient_unconfirmed" || got["delivered"] != false || text(got, "error") == "" {
		t.Errorf("before anyone agreed: %v", got)
	}
	page := string(b.want(t, http.StatusOK, http.MethodGet, "/confirm-recipient?token="+bob, nil).raw)
	if !strings.Contains(page, "Engines") || !strings.Contains(page, "bob@example.net") {
		t.Errorf("page %s", page)
	}
	if got := a.attempt(t, path); got["error_code"] != "recipient_unconfirmed" {
		t.Errorf("following the link confirmed: %v", got)
	}
	b.submit(t, http.StatusOK, "confirm-recipient", url.Values{"token": {bob}})
	b.submit(t, http.StatusOK, "confirm-recipient", url.Values{"token": {eve}, "choice": {"stop"}})
	shown := a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t)
	if recipientOf(t, shown, 0)["confirmed_at"] == nil || recipientOf(t, shown, 1)["status"] != "unsubscribed" {
		t.Errorf("shown %v", shown["recipients"])
	}
	if got := a.attempt(t, path); got["delivered"] != true {
		t.Fatalf("to one who agreed: %v", got)
	}
	mails := b.alerts("Bob@example.net") // as the channel spells it
	if len(mails) != 1 || len(b.alerts("eve@example.net")) != 0 {
		t.Fatalf("mails: %q", mails)
	}
	if strings.Contains(strings.ReplaceAll(mails[0], "=\r\n", ""), "evil.example") || !strings.Contains(mails[0], "[link removed]") {
		t.Errorf("the mail has a link of the template: %s", mails[0])
	}
	header := regexp.MustCompile(`(?s)List-Unsubscribe:\s+<http://vigil\.test(/unsubscribe\?token=[\w-]+)>`).FindStringSubmatch(mails[0])
	if header == nil || !strings.Contains(mails[0], "List-Unsubscribe-Post: List-Unsubscribe=One-Click") {
		t.Fatalf("headers: %s", mails[0])
	}

	// What a mail program sends (RFC 8058).
	b.want(t, http.StatusOK, http.MethodGet, header[1], nil)
	if got := a.attempt(t, path); got["delivered"] != true {
		t.Errorf("following the link unsubscribed: %v", got)
	}
	b.want(t, http.StatusOK, http.MethodPost, header[1], "List-Unsubscribe=One-Click", "Content-Type", "application/x-www-form-urlencoded")
	if got := a.attempt(t, path); got["error_code"] != "recipient_unconfirmed" {
		t.Errorf("after it: %v", got)
	}
	_, token, _ := strings.Cut(header[1], "token=")
	b.submit(t, http.StatusOK, "unsubscribe", url.Values{"token": {token}, "choice": {"again"}})
	if got := a.attempt(t, path); got["delivered"] != true {
		t.Errorf("subscribed again: %v", got)
	}
}

// TestMailKeepsTheCase holds that what is sent to an address spells it as it was given, while
// accounts compare addresses in any case; and that an address which no mail could be sent to is refused.
func TestMailKeepsTheCase(t *testing.T) {
	t.Parallel()
	mails, mailing := withMail(t)
	b := setup(t, mailing)
	owner := b.tier(t, b.owner(t, mails), account.TierPaid)
	const invited = "Grace.HOPPER@Example.com"
	owner.want(t, http.StatusCreated, http.MethodPost, "/v1/invitations", map[string]any{"email": invited, "role": "editor"})
	b.want(t, http.StatusCreated, http.MethodPost, "/v1/invitations/accept", map[string]any{
		"token": invitationToken(t, mails, invited, 1), "name": "Grace", "password": "a compiler of words",
	})
	b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/login", map[string]any{
		"email": "grace.hopper@example.com", "password": "a compiler of words",
	})
	b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/recover", map[string]any{"email": "GRACE.hopper@example.COM"})
	letter(t, mails, invited, 2)
	for _, address := range []string{"jürgen@example.com", "ada@exämple.com", "ada..b@example.com", ".ada@example.com", "ada@example..com"} {
		r := owner.want(t, http.StatusBadRequest, http.MethodPost, "/v1/invitations", map[string]any{"email": address, "role": "editor"})
		if !strings.Contains(string(r.raw), "email") {
			t.Errorf("%s: %s", address, r.raw)
		}
	}
}

// TestRecipientsOfAVerifiedOrganization holds that a verified account mails strangers nothing
// but the request to agree, and that members need not agree.
func TestRecipientsOfAVerifiedOrganization(t *testing.T) {
	t.Parallel()
	b := setupRecipients(t)
	a := b.signup(t)
	b.prove(t, a)
	path, created := a.mailChannel(t, map[string]any{"email": "bob@example.net", "body_template": "runbook: https://wiki.example/run"})
	if got := recipientOf(t, created, 0); got["status"] != "pending" {
		t.Errorf("recipient %v", got)
	}
	if got := a.attempt(t, path); got["error_code"] != "recipient_unconfirmed" || got["delivered"] != false {
		t.Fatalf("before he agreed: %v", got)
	}
	token := b.link(t, "bob@example.net", "confirm-recipient")
	if got := letters(t, b.server, "bob@example.net"); len(got) != 1 || strings.Contains(got[0], "wiki.example") {
		t.Fatalf("mails before he agreed: %q", got)
	}
	b.submit(t, http.StatusOK, "confirm-recipient", url.Values{"token": {token}})
	if got := recipientOf(t, a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t), 0); got["status"] != "confirmed" {
		t.Errorf("recipient %v", got)
	}
	if got := a.attempt(t, path); got["delivered"] != true {
		t.Fatalf("got %v", got)
	}
	if mails := b.alerts("bob@example.net"); len(mails) != 1 || !strings.Contains(mails[0], "https://wiki.example/run") {
		t.Errorf("mails %q", mails)
	}

	own, created := a.mailChannel(t, map[string]any{"email": strings.ToUpper(a.email)})
	if got := recipientOf(t, created, 0); got["status"] != "member" {
		t.Errorf("a member is %v", got)
	}
	if got := a.attempt(t, own); got["delivered"] != true {
		t.Errorf("to a member: %v", got)
	}
	for _, mail := range letters(t, b.server, a.email) {
		if strings.Contains(mail, "/confirm-recipient") {
			t.Errorf("a member was asked: %s", mail)
		}
	}
	// The address of an account without a proof is no member's.
	stranger := b.signup(t)
	theirs, created := stranger.mailChannel(t, map[string]any{"email": stranger.email})
	if got := recipientOf(t, created, 0); got["status"] != "pending" {
		t.Errorf("an address that is not proven is %v", got)
	}
	if got := stranger.attempt(t, theirs); got["error_code"] != "recipient_unconfirmed" {
		t.Errorf("to it: %v", got)
	}
}

func TestRecipientIsAskedOnceADay(t *testing.T) {
	t.Parallel()
	b := setupRecipients(t)
	a := b.signup(t)
	path, _ := a.mailChannel(t, map[string]any{"email": "bob@example.net"})
	first := b.link(t, "bob@example.net", "confirm-recipient")
	a.mailChannel(t, map[string]any{"email": "BOB@example.net"})
	a.attempt(t, path)
	b.clock.Advance(24 * time.Hour)
	a.attempt(t, path)
	if got := letters(t, b.server, "bob@example.net"); len(got) != 2 {
		t.Fatalf("%d mails, want one a day: %q", len(got), got)
	}
	if second := b.link(t, "bob@example.net", "confirm-recipient"); second == first {
		t.Error("the second link is the first one")
	}
	b.clock.Advance(7*24*time.Hour + time.Second)
	b.submit(t, http.StatusBadRequest, "confirm-recipient", url.Values{"token": {first}})
}

// TestAlertQuota holds that an unverified organization mails a recipient 30 times an hour.
func TestAlertQuota(t *testing.T) {
	t.Parallel()
	b := setupRecipients(t)
	a := b.signup(t)
	path, _ := a.mailChannel(t, map[string]any{"email": "bob@example.net"})
	b.submit(t, http.StatusOK, "confirm-recipient", url.Values{"token": {b.link(t, "bob@example.net", "confirm-recipient")}})
	for range 30 {
		if got := a.attempt(t, path); got["delivered"] != true {
			t.Fatalf("got %v", got)
		}
	}
	if got := a.attempt(t, path); got["error_code"] != "mail_quota" {
		t.Errorf("got %v", got)
	}
	b.clock.Advance(time.Hour)
	if got := a.attempt(t, path); got["delivered"] != true {
		t.Errorf("an hour later: %v", got)
	}
}

// TestAlertQuotaOfAnOrganization holds that an unverified organization sends 100 mails an
// hour, to any number of recipients.
func TestAlertQuotaOfAnOrganization(t *testing.T) {
	t.Parallel()
	b := setupRecipients(t)
	a := b.signup(t)
	agreed := func(addresses ...string) string {
		path, _ := a.mailChannel(t, map[string]any{"to": addresses})
		for _, address := range addresses {
			b.submit(t, http.StatusOK, "confirm-recipient", url.Values{"token": {b.link(t, address, "confirm-recipient")}})
		}
		return path
	}
	four := agreed("ada@example.net", "bob@example.net", "eve@example.net", "kay@example.net")
	fifth := agreed("joan@example.net")
	for range 25 {
		if got := a.attempt(t, four); got["delivered"] != true {
			t.Fatalf("got %v", got)
		}
	}
	for _, path := range []string{four, fifth} {
		if got := a.attempt(t, path); got["error_code"] != "mail_quota" {
			t.Errorf("after 100 mails: %v", got)
		}
	}
	b.clock.Advance(time.Hour)
	if got := a.attempt(t, fifth); got["delivered"] != true {
		t.Errorf("an hour later: %v", got)
	}
}

// TestConfirmationQuotaOfAnOrganization holds that an organization has 50 recipients a day
// asked to agree.
func TestConfirmationQuotaOfAnOrganization(t *testing.T) {
	t.Parallel()
	b := setupRecipients(t)
	a := b.signup(t)
	var many []string
	for i := range 50 {
		many = append(many, fmt.Sprintf("asked%d@example.net", i))
	}
	a.mailChannel(t, map[string]any{"to": many})
	for _, address := range many {
		b.link(t, address, "confirm-recipient")
	}
	path, _ := a.mailChannel(t, map[string]any{"email": "bob@example.net"})
	if got := a.attempt(t, path); got["error_code"] != "recipient_unconfirmed" {
		t.Errorf("got %v", got)
	}
	other := b.signup(t) // has a quota of its own
	other.mailChannel(t, map[string]any{"email": "bob@example.net"})
	b.link(t, "bob@example.net", "confirm-recipient")
	if got := letters(t, b.server, "bob@example.net"); len(got) != 1 {
		t.Errorf("%d mails: %q", len(got), got)
	}
	b.clock.Advance(24 * time.Hour)
	a.attempt(t, path)
	eventually(t, "2 mails arrive", func() bool { return len(letters(t, b.server, "bob@example.net")) == 2 })
}

// TestRecoveryMailQuota holds that an account is mailed ten links an hour, and that the
// answers do not show when they end.
func TestRecoveryMailQuota(t *testing.T) {
	t.Parallel()
	b := setupMail(t)
	a := b.signup(t)
	ask := func(c *client, email string) string {
		r := c.want(t, http.StatusOK, http.MethodPost, "/v1/auth/recover", map[string]any{"email": email})
		return string(r.raw)
	}
	mailed := func() int {
		n := 0
		for _, one := range letters(t, b.server, a.email) {
			if strings.Contains(one, "/recover?token=") {
				n++
			}
		}
		return n
	}
	server, c := b.process(t)
	want := ask(c, "unknown@example.com")
	for range 13 {
		if got := ask(c, a.email); got != want {
			t.Errorf("answer %s, and %s for an address without an account", got, want)
		}
	}
	server.Close() // waits for the mails
	if n := mailed(); n != 10 {
		t.Fatalf("%d links were mailed, want 10", n)
	}
	b.clock.Advance(time.Hour)
	ask(b.client, a.email)
	eventually(t, "11 mails arrive", func() bool { return mailed() == 11 })
}

// TestRecipientsNeedMailThatLeavesTheMachine holds that nothing changes where mail is
// written to files.
func TestRecipientsNeedMailThatLeavesTheMachine(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, created := b.signup(t).mailChannel(t, map[string]any{"email": "bob@example.net"})
	if created["recipients"] != nil {
		t.Errorf("recipients %v", created["recipients"])
	}
}
