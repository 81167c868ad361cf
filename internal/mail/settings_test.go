// SPDX-License-Identifier: Apache-2.0

package mail_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/mail"
)

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "mail")
	var log bytes.Buffer
	m := mailer(t, mail.Options{Dir: dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if m.Sends() {
		t.Error("files reach no person")
	}
	if err := m.Send(t.Context(), letter()); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 || !strings.HasSuffix(files[0], ".eml") {
		t.Fatalf("got %q, %v", files, err)
	}
	if !strings.Contains(log.String(), files[0]) {
		t.Errorf("the path is not logged: %s", &log)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, bodies := parts(t, string(raw)); bodies["text/plain"] != "Line one\nGrüße" {
		t.Errorf("got %q", bodies)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	dialer := egress.New(egress.Policy{})
	for _, url := range []string{
		"http://ada:" + password + "@mail.test", "smtp://", "smtp://ada:" + password + "@mail.test:0", "smtp://ada:" + password + "%zz@mail.test",
		"smtp://ada:" + password + "@mail.test?tls=maybe", "smtp://mail.test?from=invalid",
	} {
		if _, err := mail.New(mail.Options{URL: url, Dialer: dialer}); err == nil || strings.Contains(err.Error(), password) {
			t.Errorf("%s: %v", url, err)
		}
	}
	if _, err := mail.New(mail.Options{URL: "smtp://mail.test"}); err == nil {
		t.Error("no dialer was needed")
	}
	if _, err := mail.New(mail.Options{}); err == nil {
		t.Error("mail goes nowhere")
	}
	m, err := mail.New(mail.Options{URL: "smtp://mail.test", Dialer: dialer})
	if err != nil || !m.Sends() {
		t.Errorf("got %v", err)
	}
}
