// SPDX-License-Identifier: Apache-2.0

package standalone_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/standalone"
)

func TestCredentials(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := openDir(t, dir)
	if _, err := standalone.TemporalTLS(dir); err == nil {
		t.Error("there are certificates before the first start")
	}
	now := time.Now()
	made, err := data.Credentials(now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := made.WriteProfile("127.0.0.1:7233", "vigil"); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "temporal-tls")
	files := 0
	err = filepath.WalkDir(at, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if files++; info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil || files != 7 {
		t.Errorf("%d files, %v", files, err)
	}
	serial := func() string {
		text, err := os.ReadFile(filepath.Join(at, "client.pem"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	first := serial()
	if _, err := data.Credentials(now.Add(24 * time.Hour)); err != nil || serial() != first {
		t.Errorf("a later start made others (%v)", err)
	}
	if found, err := standalone.TemporalTLS(dir); err != nil || len(found.Certificates) != 1 {
		t.Errorf("another process finds %v, %v", found, err)
	}
	if _, err := data.Credentials(now.Add(10*365*24*time.Hour - time.Hour)); err != nil || serial() == first {
		t.Errorf("they were not renewed (%v)", err)
	}
	if err := os.WriteFile(filepath.Join(at, "ca.pem"), []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := data.Credentials(now); err == nil || !strings.Contains(err.Error(), at) {
		t.Errorf("damaged files: %v", err)
	}
	if err := os.Remove(filepath.Join(at, "ca.pem")); err != nil {
		t.Fatal(err)
	}
	if _, err := data.Credentials(now); err != nil {
		t.Errorf("after a file was removed: %v", err)
	}
}
