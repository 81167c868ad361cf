// SPDX-License-Identifier: Apache-2.0

package statuspage_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/internal/statuspage"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// count runs a query that counts.
func (s *site) count(t *testing.T, query string, args ...any) (n int) {
	t.Helper()
	ok(t, s.store.DB().NewRaw(query, args...).Scan(t.Context(), &n))
	return n
}

// open lets readers of the site subscribe.
func (s *site) open(t *testing.T) {
	t.Helper()
	s.change(t, func(p *overview.StatusPage) { p.Subscriptions = true })
}

// newNotified is an open page of one service with these readers, of which an incident has just begun.
func newNotified(t *testing.T, readers ...string) *site {
	t.Helper()
	s := newSite(t, "Checkout")
	s.open(t)
	for _, address := range readers {
		s.subscribes(t, address)
	}
	s.incident(t, s.check(0), vigil.KeyFailureThreshold, s.now(), time.Time{}, newark)
	s.advance(time.Second)
	return s
}

// subscribes subscribes and confirms a mail address.
func (s *site) subscribes(t *testing.T, address string) {
	t.Helper()
	a := s.post(t, "/status/harbor/subscribe", url.Values{"email": {address}}, "Test-Network", address)
	if a.status != http.StatusAccepted {
		t.Fatalf("subscribe: %d %s", a.status, a.body)
	}
	letters := s.tell(t)
	if len(letters) != 1 || letters[0].To.Address != address {
		t.Fatalf("letters %+v", letters)
	}
	if a := s.post(
		t,
		linkIn(t, letters[0].Text, "confirm"),
		nil,
	); a.status != http.StatusOK ||
		!strings.Contains(a.body, "You are subscribed") {
		t.Fatalf("confirm: %d %s", a.status, a.body)
	}
	s.advance(time.Second)
}

func TestSubscribingByMailIsConfirmedByAButton(t *testing.T) {
	t.Parallel()
	s := newSite(t, "Shop")
	if a := s.get(t, "/status/harbor/subscribe"); a.status != http.StatusNotFound {
		t.Errorf("on a page without subscriptions: %d", a.status)
	}
	s.open(t)
	has(t, s.read(t, "/status/harbor"), `href="/status/harbor/subscribe"`, `href="https://vigil.example.com/status/harbor.atom"`)
	has(t, s.read(t, "/status/harbor/subscribe"), "Subscribe to Harbor", `type="email"`, `type="url"`)
	for name, form := range map[string]url.Values{
		"neither": {}, "both": {"email": {"a@example.com"}, "webhook": {"https://example.com/"}}, "no address": {"email": {"<b>no one"}},
	} {
		a := s.post(t, "/status/harbor/subscribe", form, "Test-Network", name)
		if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, `role="alert"`) || strings.Contains(a.body, "<b>no one") {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	first := s.post(t, "/status/harbor/subscribe", url.Values{"email": {"Reader@Example.com"}})
	letters := s.tell(t)
	if first.status != http.StatusAccepted || len(letters) != 1 || letters[0].To.Address != "reader@example.com" || letters[0].Leave != "" {
		t.Fatalf("%d, letters %+v", first.status, letters)
	}
	again := s.post(t, "/status/harbor/subscribe", url.Values{"email": {"reader@example.com"}}, "Test-Network", "other")
	if again.body != first.body || len(s.tell(t)) != 0 {
		t.Error("the second question is answered in another way, or mailed")
	}
	confirm := linkIn(t, letters[0].Text, "confirm")
	has(t, s.get(t, confirm).body, `<form method="post" action="/status/-/confirm?token=`, "Confirm</button>")
	if n := s.count(t, "SELECT count(*) FROM status_page_readers WHERE confirmed_at IS NOT NULL"); n != 0 {
		t.Error("opening the link confirms, as mail scanners do")
	}
	if a := s.post(t, confirm[:len(confirm)-1]+"x", nil); a.status != http.StatusNotFound {
		t.Errorf("a token that was changed: %d", a.status)
	}
	if a := s.post(t, confirm, nil); a.status != http.StatusOK {
		t.Errorf("confirm: %d", a.status)
	}
	known := s.post(t, "/status/harbor/subscribe", url.Values{"email": {"reader@example.com"}}, "Test-Network", "third")
	if s.advance(time.Hour); known.body != first.body || len(s.tell(t)) != 0 {
		t.Error("a stranger learns who is subscribed")
	}
	if n := s.count(t, "SELECT count(*) FROM status_page_readers WHERE confirmed_at IS NOT NULL"); n != 1 {
		t.Errorf("%d readers", n)
	}
}

// TestReadersAreNotifiedOnce follows an incident: its beginning, an update and its end, each notified once however
// often a process looks.
func TestReadersAreNotifiedOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, "Checkout", "Mail")
	s.open(t)
	old := s.incident(t, s.check(1), vigil.KeyFailureThreshold, s.now().Add(-time.Hour), time.Time{}, newark)
	s.subscribes(t, "reader@example.com")
	if letters := s.tell(t); len(letters) != 0 {
		t.Errorf("a new reader is notified of what is old: %+v", letters)
	}
	open := s.incident(t, s.check(0), vigil.KeyFailureThreshold, s.now(), time.Time{}, newark)
	s.advance(time.Second)
	letters := s.tell(t)
	if len(letters) != 1 || letters[0].Subject != "Harbor: Checkout is failing" || letters[0].Leave == "" {
		t.Fatalf("letters %+v", letters)
	}
	has(t, letters[0].Text, "Checkout is failing", "Since 21 November 2026", "https://vigil.example.com/status/harbor", "To unsubscribe")
	for _, private := range []string{secretTarget, secretName, secretError, newark, secretNote, "Internal Ltd"} {
		if strings.Contains(letters[0].Text+letters[0].Subject, private) {
			t.Errorf("the letter says %q", private)
		}
	}
	if again := s.tell(t); len(again) != 0 {
		t.Errorf("notified twice: %+v", again)
	}
	_, _, err := s.store.CreateIncidentUpdate(t.Context(), overview.IncidentUpdate{
		OrgID: s.page.OrgID, IncidentID: open, State: overview.UpdateIdentified, Text: "A database is down.", Author: "ada@example.com",
	}, "")
	ok(t, err)
	s.advance(time.Second)
	if letters := s.tell(t); len(letters) != 1 || letters[0].Subject != "Harbor: Checkout: Identified" ||
		!strings.Contains(letters[0].Text, "A database is down.") || strings.Contains(letters[0].Text, "ada@") {
		t.Errorf("the update: %+v", letters)
	}
	s.exec(t, "UPDATE incidents SET status = 'resolved', resolved_at = ? WHERE id IN (?, ?)", s.now(), open, old)
	s.advance(time.Second)
	letters = s.tell(t)
	if len(letters) != 2 || !strings.Contains(letters[0].Subject+letters[1].Subject, "Checkout works again") {
		t.Errorf("the end: %+v", letters)
	}
	if again := s.tell(t); len(again) != 0 {
		t.Errorf("notified twice: %+v", again)
	}
}

// TestAKilledProcessNotifiesOnce: a process that dies after it handed a message over leaves it as
// unknown, and one that dies before leaves it to the next.
func TestAKilledProcessNotifiesOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, "Checkout")
	s.open(t)
	for i := range 3 {
		s.subscribes(t, fmt.Sprintf("reader%d@example.com", i))
	}
	s.incident(t, s.check(0), vigil.KeyFailureThreshold, s.now(), time.Time{}, newark)
	s.advance(time.Second)
	dead, ended, handed := make(chan struct{}), make(chan struct{}), false
	s.outbox.hangs(func(statuspage.Letter) (before, after <-chan struct{}) {
		if handed {
			return dead, atOnce()
		}
		handed = true
		return atOnce(), dead
	})
	go func() { // the process goes no further than that
		defer close(ended)
		_ = s.teller.Tell(context.WithoutCancel(t.Context()))
	}()
	timingtest.Eventually(t, 10*time.Second, "a message is handed over", func() bool { return s.outbox.sent() == 1 })
	s.outbox.hangs(nil)
	defer func() {
		close(dead)
		<-ended
		if letters := s.outbox.take(); len(letters) != 0 {
			t.Errorf("the process that was dead sends %+v", letters)
		}
	}()
	notified := map[string]int{}
	for range 3 {
		s.advance(3 * time.Minute)
		for _, letter := range s.tell(t) {
			notified[letter.To.Address]++
		}
	}
	for _, letter := range s.outbox.take() {
		notified[letter.To.Address]++
	}
	for address, n := range notified {
		if n != 1 {
			t.Errorf("%s was notified %d times", address, n)
		}
	}
	if len(notified) != 3 {
		t.Errorf("notified %v", notified)
	}
	if n := s.count(t, "SELECT count(*) FROM status_page_messages WHERE status = 'unknown'"); n != 1 {
		t.Errorf("%d messages may have arrived, want 1", n)
	}
}

// TestAReceiverThatHangsHoldsUpNoOther: of many readers one does not answer, and the others have their messages meanwhile.
func TestAReceiverThatHangsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	s := newSite(t, "Checkout")
	s.open(t)
	for i := range 20 {
		s.subscribes(t, fmt.Sprintf("reader%d@example.com", i))
	}
	s.incident(t, s.check(0), vigil.KeyFailureThreshold, s.now(), time.Time{}, newark)
	s.advance(time.Second)
	answers, ended := make(chan struct{}), make(chan error, 1)
	s.outbox.hangs(func(letter statuspage.Letter) (before, after <-chan struct{}) {
		if letter.To.Address == "reader0@example.com" {
			return answers, atOnce()
		}
		return atOnce(), atOnce()
	})
	go func() { ended <- s.teller.Tell(context.WithoutCancel(t.Context())) }()
	timingtest.Eventually(t, 10*time.Second, "the others have their messages", func() bool { return s.outbox.sent() == 19 })
	close(answers)
	ok(t, <-ended)
	if n := len(s.outbox.take()); n != 20 {
		t.Errorf("%d messages, want 20", n)
	}
}

func TestMessagesThatFailAreTriedAgain(t *testing.T) {
	t.Parallel()
	s := newNotified(t, "reader@example.com")
	s.outbox.then = func(statuspage.Letter) statuspage.Sent { return statuspage.Sent{Err: errors.New("away")} }
	first := s.tell(t)
	if again := s.tell(t); len(first) != 1 || len(again) != 0 {
		t.Fatalf("attempts %d, and at once %d", len(first), len(again))
	}
	s.outbox.then = nil
	s.advance(time.Hour)
	if second := s.tell(t); len(second) != 1 || second[0].ID != first[0].ID {
		t.Errorf("the second attempt: %+v", second)
	}
	if n := s.count(t, "SELECT attempts FROM status_page_messages WHERE status = 'delivered' AND attempts > 1"); n != 2 {
		t.Errorf("%d attempts", n)
	}
}

// TestUnsubscribing: by the page and its button, and by the POST of a mail program. The address is gone.
func TestUnsubscribing(t *testing.T) {
	t.Parallel()
	s := newNotified(t, "one@example.com", "two@example.com")
	letters := s.tell(t)
	if len(letters) != 2 {
		t.Fatalf("letters %+v", letters)
	}
	page := linkIn(t, letters[0].Text, "unsubscribe")
	has(t, s.get(t, page).body, "Unsubscribe from Harbor", `<form method="post"`)
	if n := s.count(t, "SELECT count(*) FROM status_page_readers"); n != 2 {
		t.Error("opening the link unsubscribes")
	}
	if a := s.post(t, page, nil); a.status != http.StatusOK || !strings.Contains(a.body, "You are unsubscribed") {
		t.Errorf("the button: %d %s", a.status, a.body)
	}
	// RFC 8058: what List-Unsubscribe names takes this body.
	if a := s.post(t, linkIn(t, letters[1].Leave, "unsubscribe"), url.Values{"List-Unsubscribe": {"One-Click"}}); a.status != http.StatusOK {
		t.Errorf("one click: %d %s", a.status, a.body)
	}
	if n := s.count(t, "SELECT count(*) FROM status_page_readers"); n != 0 {
		t.Errorf("%d addresses are left", n)
	}
	if a := s.post(t, page, nil); a.status != http.StatusOK || !strings.Contains(a.body, "You are not subscribed") {
		t.Errorf("the button again: %d", a.status)
	}
	s.exec(t, "UPDATE incidents SET status = 'resolved', resolved_at = ?", s.now())
	s.advance(time.Second)
	if letters := s.tell(t); len(letters) != 0 {
		t.Errorf("notified after all: %+v", letters)
	}
}

// TestAWebhookAnswersAChallenge: only then it is subscribed, and 410 ends it.
func TestAWebhookAnswersAChallenge(t *testing.T) {
	t.Parallel()
	s := newSite(t, "Checkout")
	s.open(t)
	ask := func(network string) statuspage.Letter {
		t.Helper()
		a := s.post(t, "/status/harbor/subscribe", url.Values{"webhook": {"https://hooks.example.net/path-token"}}, "Test-Network", network)
		letters := s.tell(t)
		if a.status != http.StatusAccepted || len(letters) != 1 || letters[0].To.Secret == "" {
			t.Fatalf("%d %+v", a.status, letters)
		}
		return letters[0]
	}
	// One that sends back what it gets has not agreed.
	s.outbox.then = func(l statuspage.Letter) statuspage.Sent { return statuspage.Sent{Answer: string(l.Body)} }
	has(t, string(ask("a").Body), `"type":"status_page.confirm"`, `"challenge":"`, `"secret":"whsec_`)
	if n := s.count(t, "SELECT count(*) FROM status_page_readers WHERE confirmed_at IS NOT NULL"); n != 0 {
		t.Error("an echo confirms")
	}
	if n := s.count(t, "SELECT count(*) FROM status_page_readers WHERE config::text LIKE '%path-token%' OR address <> ''"); n != 0 {
		t.Error("the address of the webhook is stored in clear")
	}
	s.advance(16 * time.Minute)
	s.outbox.then = func(l statuspage.Letter) statuspage.Sent {
		_, after, _ := strings.Cut(string(l.Body), `"challenge":"`)
		challenge, _, _ := strings.Cut(after, `"`)
		return statuspage.Sent{Answer: `{"challenge": "` + challenge + `"}`}
	}
	ask("b")
	if n := s.count(t, "SELECT count(*) FROM status_page_readers WHERE confirmed_at IS NOT NULL"); n != 1 {
		t.Fatalf("%d readers", n)
	}
	s.outbox.then = func(statuspage.Letter) statuspage.Sent { return statuspage.Sent{Gone: true, Err: errors.New("410")} }
	s.advance(time.Second)
	s.incident(t, s.check(0), vigil.KeyFailureThreshold, s.now(), time.Time{}, newark)
	s.advance(time.Second)
	letters := s.tell(t)
	if len(letters) != 1 {
		t.Fatalf("letters %+v", letters)
	}
	has(
		t,
		string(letters[0].Body),
		`"type":"status_page.incident.begins"`,
		`"page":"Harbor"`,
		`"title":"Checkout is failing"`,
		`"unsubscribe_url":"`,
	)
	if n := s.count(t, "SELECT count(*) FROM status_page_readers"); n != 0 {
		t.Error("410 does not end the messages")
	}
}

// TestStrangersCannotSendManyMails: the limits of a network and of a page.
func TestStrangersCannotSendManyMails(t *testing.T) {
	t.Parallel()
	s := newSite(t, "Checkout")
	s.open(t)
	last := 0
	for i := range 6 {
		last = s.post(t, "/status/harbor/subscribe", url.Values{"email": {fmt.Sprintf("v%d@example.com", i)}}, "Test-Network", "192.0.2.1").status
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("the sixth question of a network: %d", last)
	}
	s.exec(t, "UPDATE mail_quotas SET used = 200 WHERE name LIKE 'readers/page/%'")
	if a := s.post(t, "/status/harbor/subscribe", url.Values{"email": {"w@example.com"}}, "Test-Network", "192.0.2.2"); a.status !=
		http.StatusTooManyRequests {
		t.Errorf("beyond the quota of a page: %d", a.status)
	}
	if a := s.post(t, "/status/harbor/subscribe", url.Values{"email": {strings.Repeat("a", 1<<20)}}, "Test-Network", "x"); a.status !=
		http.StatusBadRequest {
		t.Errorf("a body of 1 MiB: %d", a.status)
	}
	s.advance(49 * time.Hour)
	ok(t, s.store.DropReaders(t.Context()))
	if n := s.count(t, "SELECT count(*) FROM status_page_readers"); n != 0 {
		t.Errorf("%d addresses that were not confirmed are kept", n)
	}
}
