// SPDX-License-Identifier: Apache-2.0

package standalone_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/vigil-monitor/vigil/internal/standalone"
)

func TestDataDir(t *testing.T) {
	t.Parallel()

	t.Run("SecondOpenerLearnsWhichProcessHoldsIt", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(t.TempDir(), "data")
		openDir(t, dir)
		_, err := standalone.OpenDataDir(dir)
		wantSentence(t, err, dir, "process "+strconv.Itoa(os.Getpid()), "VIGIL_DATA_DIR")
	})

	t.Run("StaysLockedWhenUnreferenced", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		if _, err := standalone.OpenDataDir(dir); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			runtime.GC()
		}
		_, err := standalone.OpenDataDir(dir)
		wantSentence(t, err, "in use")
	})

	t.Run("IsFreeAgainAfterClose", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		first, err := standalone.OpenDataDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		openDir(t, dir)
	})

	t.Run("UnusablePathIsOneSentence", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := standalone.OpenDataDir(filepath.Join(file, "data"))
		wantSentence(t, err, file, "VIGIL_DATA_DIR")
	})

	t.Run("SecretStaysTheSameAndIsPrivate", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		data := openDir(t, dir)
		first, err := data.Secret("key", 32)
		if err != nil {
			t.Fatal(err)
		}
		again, err := data.Secret("key", 32)
		if err != nil || again != first || len(first) != 64 {
			t.Errorf("secret %q, then %q (%v); want the same 64 digits", first, again, err)
		}
		if mode := modeOf(t, dir, "key"); mode != 0o600 {
			t.Errorf("the secret's file has mode %v, want 0600", mode)
		}
	})

	t.Run("DamagedSecretIsNotReplaced", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "key"), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := openDir(t, dir).Secret("key", 32)
		wantSentence(t, err, "damaged", "backup")
	})
}
