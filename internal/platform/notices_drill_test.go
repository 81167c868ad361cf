// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/internal/mail/mailtest"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// drillMails is an organization whose owners are mailed about drills.
type drillMails struct {
	*testing.T
	store   *storage.Store
	org     uuid.UUID
	channel uuid.UUID
	now     time.Time
}

func newDrillMails(t *testing.T) *drillMails {
	t.Helper()
	d := &drillMails{T: t, now: time.Date(2026, 3, 10, 12, 30, 0, 0, time.UTC)}
	d.store = storagetest.New(t, func(o *storage.Options) { o.Now = func() time.Time { return d.now } })
	_, org, err := d.store.CreateAccount(
		t.Context(), account.Organization{Name: "Engines", Tier: account.TierEnterprise},
		account.User{Email: "ada@example.com", Name: "Ada"}, nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	d.org = org.ID
	for name, user := range map[string]string{"bob": "'owner', false", "eve": "'editor', true", "vic": "'viewer', true"} {
		d.exec(`INSERT INTO users (id, org_id, email, name, role, email_verified, password_hash, session_version, created_at, updated_at)
			SELECT gen_random_uuid(), org_id, '` + name + `@example.com', '` + name + `', ` + user + `, password_hash, session_version,
				created_at, updated_at FROM users WHERE email = 'ada@example.com'`)
	}
	d.exec("UPDATE users SET email_verified = true WHERE email = 'ada@example.com'")
	channel, err := d.store.CreateChannel(t.Context(), vigil.Channel{
		OrgID: d.org, Name: "ops", Type: vigil.ChannelWebhook, Config: json.RawMessage(`{}`), Enabled: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	d.channel = channel.ID
	return d
}

func (d *drillMails) exec(query string, args ...any) {
	d.Helper()
	if _, err := d.store.DB().NewRaw(query, args...).Exec(d.Context()); err != nil {
		d.Fatal(err)
	}
}

// ended asks for a drill that ends before its check is stored: it has failed, unless it was canceled.
func (d *drillMails) ended(canceled bool) uuid.UUID {
	d.Helper()
	drill, err := d.store.CreateDrill(d.Context(), drills.Drill{OrgID: d.org, Request: drills.Request{
		ChannelIDs: []uuid.UUID{d.channel}, ExpectWithin: drills.DefaultExpect,
	}}, "eu-central-fra")
	if err != nil {
		d.Fatal(err)
	}
	if canceled {
		if _, err := d.store.CancelDrill(d.Context(), d.org, drill.ID); err != nil {
			d.Fatal(err)
		}
	}
	if _, _, err := d.store.CloseDrill(d.Context(), drill.ID, "v1", func([]byte) (string, error) { return "", nil }); err != nil {
		d.Fatal(err)
	}
	return drill.ID
}

// The owners with a verified address get one mail about a drill that failed, through any number of
// processes, and one with the same Message-ID when the process died before it noted the mail. Other
// members get none, and no link of a receiver is one in the mail. A drill that was canceled has none.
func TestOwnersAreMailedAboutAFailedDrillOnce(t *testing.T) {
	t.Parallel()
	d := newDrillMails(t)
	server, mailer := startMail(t)
	run := func() {
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				if err := (notices{d.store, mailer, "https://vigil.example.com"}).Drills(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	}
	d.ended(true)
	run()
	if got := server.Messages(); len(got) != 0 {
		t.Fatalf("a drill that was canceled is mailed: %q", got[0].Data)
	}
	failed := d.ended(false)
	const answer = `answered 500 (http://evil.example/login <a href=\"https://evil.example\">) ` // as a receiver may
	d.exec("UPDATE drills SET receipt = replace(receipt, 'was not stored', ?) WHERE id = ?", answer+strings.Repeat("x", 5000), failed)
	run()
	run()
	got := server.Messages()
	if len(got) != 1 || len(got[0].To) != 1 || got[0].To[0] != "ada@example.com" ||
		!strings.Contains(got[0].Data, "stored: The check of the drill answered 500") || strings.Contains(got[0].Data, "evil.example") ||
		len(got[0].Data) > 12_000 || !strings.Contains(got[0].Data, "Message-ID: <drill-"+failed.String()+"@example.com>") {
		t.Fatalf("mails: %+v", got)
	}
	d.now = d.now.Add(time.Hour)
	d.exec("UPDATE drills SET notice_due_at = closed_at WHERE id = ?", failed) // as a crash after the mail leaves it
	run()
	run()
	if got := server.Messages(); len(got) != 2 || got[1].To[0] != "ada@example.com" ||
		!strings.Contains(got[1].Data, "Message-ID: <drill-"+failed.String()+"@example.com>") {
		t.Errorf("mails after a crash: %+v", got)
	}
}

// An organization gets so many notices a day; those about the drills beyond follow when there is room.
func TestMailsAboutDrillsKeepTheQuota(t *testing.T) {
	t.Parallel()
	d := newDrillMails(t)
	server, mailer := startMail(t)
	limit := int(account.NoticeQuotas(d.org)[0].Limit)
	for range limit + 3 {
		d.ended(false)
	}
	run := func() {
		if err := (notices{d.store, mailer, ""}).Drills(t.Context()); err != nil {
			t.Error(err)
		}
	}
	run()
	d.now = d.now.Add(time.Hour)
	run()
	if n := len(server.Messages()); n != limit {
		t.Errorf("%d mails on the first day, want %d", n, limit)
	}
	d.now = d.now.Add(25 * time.Hour)
	run()
	ids := make(map[string]bool)
	for _, m := range server.Messages() {
		_, rest, _ := strings.Cut(m.Data, "Message-ID: ")
		id, _, _ := strings.Cut(rest, "\r\n")
		ids[id] = true
	}
	if len(ids) != limit+3 || len(server.Messages()) != limit+3 {
		t.Errorf("%d mails about %d drills, want %d", len(server.Messages()), len(ids), limit+3)
	}
}

// A mail that the server does not take costs nothing of the quota: it arrives as soon as the server takes it, however often
// it was tried. One whose answer is lost may have arrived, and counts.
func TestMailsThatFailTakeNothingOfTheQuota(t *testing.T) {
	t.Parallel()
	d := newDrillMails(t)
	judge := error(&smtp.SMTPError{Code: 451, Message: "later"})
	var mu sync.Mutex
	set := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		judge = err
	}
	server, mailer := startMailWith(t, mailtest.Options{Command: func(name string) error {
		mu.Lock()
		defer mu.Unlock()
		if name == "END" {
			return judge
		}
		return nil
	}})
	d.ended(false)
	run := func() error {
		d.now = d.now.Add(3 * time.Minute)
		return (notices{d.store, mailer, ""}).Drills(d.Context())
	}
	used := func() (n int) {
		t.Helper()
		if err := d.store.DB().NewRaw("SELECT used FROM mail_quotas WHERE name = ?", account.NoticeQuotas(d.org)[0].Name).
			Scan(t.Context(), &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for range account.NoticeQuotas(d.org)[0].Limit + 2 {
		if err := run(); err == nil {
			t.Fatal("a mail that the server does not take is no error")
		}
	}
	if n := used(); n != 0 {
		t.Errorf("mails that were not sent took %d of the quota", n)
	}
	set(mailtest.ErrHangup)
	if err := run(); err == nil || used() != 1 {
		t.Errorf("a mail whose answer is lost took %d of the quota (%v), want 1", used(), err)
	}
	before := len(server.Messages())
	set(nil)
	if err := run(); err != nil || len(server.Messages()) != before+1 || used() != 2 {
		t.Errorf("%d mails (%v), %d of the quota; want one more", len(server.Messages())-before, err, used())
	}
}
