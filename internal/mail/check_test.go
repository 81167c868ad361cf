// SPDX-License-Identifier: Apache-2.0

package mail_test

import (
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/mail"
	"github.com/vigil-monitor/vigil/internal/mail/mailtest"
)

// Check signs in as a mail would, and sends none.
func TestCheck(t *testing.T) {
	t.Parallel()
	t.Run("Login", func(t *testing.T) {
		t.Parallel()
		server := mailtest.Start(t, mailtest.Options{StartTLS: true, User: "ada", Password: password})
		m := mailer(t, mail.Options{URL: "smtp://ada:" + password + "@" + server.Addr + "?from=a@b.test", Roots: server.Roots})
		if err := m.Check(t.Context()); err != nil {
			t.Error(err)
		}
		if m.Address() != server.Addr || len(server.Messages()) != 0 {
			t.Errorf("the address is %s, and %d mails were sent", m.Address(), len(server.Messages()))
		}
	})
	t.Run("WrongPassword", func(t *testing.T) {
		t.Parallel()
		server := mailtest.Start(t, mailtest.Options{User: "ada", Password: "other"})
		f := failure(t, mailer(t, mail.Options{URL: "smtp://ada:" + password + "@" + server.Addr}).Check(t.Context()))
		if f.Code != mail.CodeAuth || strings.Contains(f.Error()+f.Reply, password) {
			t.Errorf("got %+v", f)
		}
	})
	t.Run("Files", func(t *testing.T) {
		t.Parallel()
		m := mailer(t, mail.Options{Dir: t.TempDir()})
		if err := m.Check(t.Context()); err != nil || m.Address() != "" {
			t.Errorf("got %v of %q", err, m.Address())
		}
	})
}
