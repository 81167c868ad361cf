// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/mail"
	"github.com/vigil-monitor/vigil/internal/mail/mailtest"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

func TestKeyEndsAreMailedOnce(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	server := mailtest.Start(t, mailtest.Options{})
	mailer, err := mail.New(mail.Options{
		URL: "smtp://" + server.Addr + "?tls=none", From: "vigil@example.com", Dialer: egress.New(egress.Policy{AllowPrivate: true}),
	})
	if err != nil {
		t.Fatal(err)
	}
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
		if err := (notices{store, mailer}).KeyEnds(t.Context()); err != nil {
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
