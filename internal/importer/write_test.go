// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/importer"
)

const small = "alerting: {slack: {webhook-url: 'https://a.example/it''s'}}\nendpoints: [{name: x, url: 'https://a.example/'}]\n"

// smallResult is the result of a small configuration with a secret.
func smallResult(t *testing.T) *importer.Result {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(small), 0o600); err != nil {
		t.Fatal(err)
	}
	result, err := source(t, "gatus").Read(path, options())
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestSecretsAreForTheirOwnerAndNotForGit(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "vigil")
	if _, err := smallResult(t).Write(dir, false); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, ".env"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf(".env has %v (%v), expected 0600", info.Mode(), err)
	}
	if text := read(t, dir, ".env"); !strings.Contains(text, `CHANNEL_SLACK_WEBHOOK_URL='https://a.example/it'\''s'`) {
		t.Errorf(".env is\n%s", text)
	}
	if text := read(t, dir, ".gitignore"); text != ".env\n" {
		t.Errorf(".gitignore is %q", text)
	}
}

func TestAnExistingGitignoreGetsOneLine(t *testing.T) {
	t.Parallel()
	for before, after := range map[string]string{"a": "a\n.env\n", "b\n": "b\n.env\n", ".env\nc\n": ".env\nc\n"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := smallResult(t).Write(dir, false); err != nil {
			t.Fatal(err)
		}
		if text := read(t, dir, ".gitignore"); text != after {
			t.Errorf(".gitignore is %q, expected %q", text, after)
		}
	}
}

func TestAFileThatExistsIsReplacedOnlyByForce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "checks.yaml"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := smallResult(t).Write(dir, false)
	exists, ok := errors.AsType[*importer.ExistsError](err)
	if !ok || len(exists.Files) != 1 || filepath.Base(exists.Files[0]) != "checks.yaml" {
		t.Fatalf("the error is %v, expected one about checks.yaml", err)
	}
	if names, _ := os.ReadDir(dir); len(names) != 1 {
		t.Errorf("%d files are there, expected the one from before", len(names))
	}
	// The maintenance of an earlier import leaves with it, and a file of the user stays.
	for name, text := range map[string]string{
		"maintenance.yaml": "# Written by vigil import gatus; what was lost is in IMPORT.md.\nversion: 1\n", "status_pages.yaml": "mine",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := smallResult(t).Write(dir, true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "maintenance.yaml")); err == nil {
		t.Error("the maintenance of an earlier import stays")
	}
	if text := read(t, dir, "status_pages.yaml"); text != "mine" {
		t.Errorf("a file that no import wrote is %q", text)
	}
	if text := read(t, dir, "checks.yaml"); !strings.Contains(text, "https://a.example/") {
		t.Errorf("checks.yaml is %q", text)
	}
}

func TestAnImportWithoutASecretWritesNoEnv(t *testing.T) {
	t.Parallel()
	got := gatusText(t, "endpoints: [{name: x, url: 'https://a.example/', conditions: ['[STATUS] == 200']}]\n")
	for _, name := range []string{".env", ".gitignore"} {
		if _, err := os.Stat(filepath.Join(got.dir, name)); err == nil {
			t.Errorf("%s is there", name)
		}
	}
	if got.result.Lossy() {
		t.Errorf("a whole import has losses:\n%s", got.report)
	}
}
