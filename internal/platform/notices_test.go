// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/mail"
	"github.com/vigil-monitor/vigil/internal/mail/mailtest"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// startMail starts a mail server, and what sends through it.
func startMail(t *testing.T) (*mailtest.Server, *mail.Mailer) {
	t.Helper()
	return startMailWith(t, mailtest.Options{})
}

func startMailWith(t *testing.T, opts mailtest.Options) (*mailtest.Server, *mail.Mailer) {
	t.Helper()
	server := mailtest.Start(t, opts)
	mailer, err := mail.New(mail.Options{
		URL: "smtp://" + server.Addr + "?tls=none", From: "vigil@example.com", Dialer: egress.New(egress.Policy{AllowPrivate: true}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return server, mailer
}

func TestKeyEndsAreMailedOnce(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	server, mailer := startMail(t)
	user, org, err := store.CreateAccount(
		t.Context(), account.Organization{Name: "Engines"}, account.User{Email: "ada@example.com", Name: "Ada"}, nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	key, err := store.CreateKey(t.Context(), org.ID, user.ID, account.NewKey{
		Name: "deploy", Prefix: "vgl_abcdefgh", Hash: []byte("h"), ExpiresAt: new(time.Now().Add(6 * 24 * time.Hour)),
	})
	if err != nil {
		t.Fatal(err)
	}
	run := func(store *storage.Store) {
		if err := (notices{store, mailer, ""}).KeyEnds(t.Context()); err != nil {
			t.Error(err)
		}
	}
	run(store)
	if got := server.Messages(); len(got) != 0 {
		t.Fatalf("a key that was made for 6 days is announced: %q", got[0].Data)
	}
	if _, err := store.DB().NewRaw("UPDATE api_keys SET created_at = created_at - interval '30 days'").Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() { run(store) })
	}
	group.Wait()
	run(store)
	got := server.Messages()
	if len(got) != 1 || got[0].To[0] != "ada@example.com" || !strings.Contains(got[0].Data, "vgl_abcdefgh") ||
		!strings.Contains(got[0].Data, "Message-ID: <key-end-"+key.ID.String()+"@example.com>") {
		t.Errorf("mails: %+v", got)
	}
}

// The owners with a verified address get one mail about a channel in a day, through any number of
// processes; other members get none.
func TestOwnersAreMailedAboutAChannelOnce(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 10, 12, 30, 0, 0, time.UTC)
	store := storagetest.New(t, func(o *storage.Options) { o.Now = func() time.Time { return now } })
	server, mailer := startMail(t)
	_, org, err := store.CreateAccount(
		t.Context(), account.Organization{Name: "Engines"}, account.User{Email: "ada@example.com", Name: "Ada"}, nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	channel := uuid.New()
	for _, statement := range []string{
		"UPDATE users SET email_verified = true",
		`INSERT INTO users (id, org_id, email, name, role, email_verified, password_hash, session_version, created_at, updated_at)
			SELECT gen_random_uuid(), org_id, 'bob@example.com', 'Bob', 'owner', false, password_hash, session_version, created_at, updated_at
			FROM users`,
		`INSERT INTO users (id, org_id, email, name, role, email_verified, password_hash, session_version, created_at, updated_at)
			SELECT gen_random_uuid(), org_id, 'eve@example.com', 'Eve', 'editor', true, password_hash, session_version, created_at, updated_at
			FROM users LIMIT 1`,
	} {
		if _, err := store.DB().NewRaw(statement).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	news := func(lost int) {
		_, err := store.DB().
			NewRaw(`INSERT INTO channel_notices AS n (channel_id, org_id, channel_name, since, last_error, lost, fell_back, due_at)
			VALUES (?, ?, 'On call http://evil.example', ?, 'answered 500', ?, 1, ?)
			ON CONFLICT (channel_id) DO UPDATE SET lost = n.lost + EXCLUDED.lost, news = n.news + 1, due_at = EXCLUDED.due_at`,
				channel, org.ID, now, lost, now).
			Exec(t.Context())
		if err != nil {
			t.Fatal(err)
		}
	}
	run := func() {
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				if err := (notices{store, mailer, "https://vigil.example.com"}).Channels(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	}
	news(2)
	run()
	news(1)
	run()
	got := server.Messages()
	if len(got) != 1 || len(got[0].To) != 1 || got[0].To[0] != "ada@example.com" ||
		!strings.Contains(got[0].Data, "2 messages were given up") || strings.Contains(got[0].Data, "evil.example") ||
		!strings.Contains(got[0].Data, "Message-ID: <channel-"+channel.String()+"-1@example.com>") {
		t.Fatalf("mails: %+v", got)
	}
	now = now.Add(24 * time.Hour)
	run()
	run()
	if got := server.Messages(); len(got) != 2 || !strings.Contains(got[1].Data, "One message was given up") ||
		!strings.Contains(got[1].Data, "Message-ID: <channel-"+channel.String()+"-2@example.com>") {
		t.Errorf("mails: %+v", got)
	}
}

// TestDrillNoticeLinksItsPage holds that the mail about a drill leads to its page where the address of
// the platform is known.
func TestDrillNoticeLinksItsPage(t *testing.T) {
	t.Parallel()
	drill := &drills.Drill{ID: uuid.New(), Receipt: &drills.Receipt{
		Verdict: drills.Failed, Failures: []drills.Failure{{Hop: drills.HopOpened, Reason: "No incident opened within 2m0s."}},
	}}
	const base = "https://vigil.example.com"
	at := base + "/app/drills/" + drill.ID.String() + "\n"
	if got := drillNotice(drill, base); !strings.HasSuffix(got.Text, "\n\n"+at) || !strings.Contains(got.Text, "- opened: No incident") {
		t.Errorf("the mail is %q", got.Text)
	}
	if got := drillNotice(drill, ""); strings.Contains(got.Text, "://") {
		t.Errorf("without an address the mail is %q", got.Text)
	}
}
