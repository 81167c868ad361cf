// SPDX-License-Identifier: Apache-2.0

//nolint:thelper // the steps of tables take the test
package standalone_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/vigil-monitor/vigil/internal/standalone"
)

// stranger is the id of a user that is neither root nor the one that runs the tests.
const stranger = 54321

// TestRootIsNotLedElsewhere holds that vigil as root uses no directory that another user
// can exchange or fill.
func TestRootIsNotLedElsewhere(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root gives files to other users")
	}
	const foreign, writable = "belongs to another user", "can be written to by other users"
	for name, tt := range map[string]struct {
		prepare func(test *testing.T, base string) // makes what is wrong below base
		wants   string                             // in the refusal; empty: accepted
	}{
		"a directory of root":            {func(t *testing.T, base string) { mkdir(t, base+"/data", 0o700, 0) }, ""},
		"a directory that others read":   {func(t *testing.T, base string) { mkdir(t, base+"/data", 0o755, 0) }, ""},
		"below a sticky directory":       {func(t *testing.T, base string) { chmod(t, base, 0o777|os.ModeSticky) }, ""},
		"of another user":                {func(t *testing.T, base string) { mkdir(t, base+"/data", 0o700, stranger) }, foreign},
		"that others write to":           {func(t *testing.T, base string) { mkdir(t, base+"/data", 0o777, 0) }, writable},
		"that others write to, sticky":   {func(t *testing.T, base string) { mkdir(t, base+"/data", 0o777|os.ModeSticky, 0) }, writable},
		"that its group writes to":       {func(t *testing.T, base string) { mkdir(t, base+"/data", 0o770, 0) }, writable},
		"below one of another user":      {func(t *testing.T, base string) { give(t, base, stranger) }, foreign},
		"below one that others write to": {func(t *testing.T, base string) { chmod(t, base, 0o777) }, writable},
		"a link that root made": {func(t *testing.T, base string) {
			mkdir(t, base+"/other", 0o700, 0)
			link(t, base+"/other", base+"/data", 0)
		}, ""},
		"a link to one of another user": {func(t *testing.T, base string) {
			mkdir(t, base+"/other", 0o700, stranger)
			link(t, base+"/other", base+"/data", 0)
		}, foreign},
		"a link to one that others write to": {func(t *testing.T, base string) {
			mkdir(t, base+"/other", 0o777, 0)
			link(t, base+"/other", base+"/data", 0)
		}, writable},
		"a link into one that others write to": {func(t *testing.T, base string) {
			mkdir(t, base+"/way", 0o777, 0)
			mkdir(t, base+"/way/other", 0o700, 0)
			link(t, base+"/way/other", base+"/data", 0)
		}, writable},
		"a link that another user made": {func(t *testing.T, base string) {
			mkdir(t, base+"/other", 0o700, 0)
			link(t, base+"/other", base+"/data", stranger)
		}, foreign},
		"a loop of links": {func(t *testing.T, base string) { link(t, base+"/data", base+"/data", 0) }, "too many symbolic links"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := filepath.Join(t.TempDir(), "base")
			mkdir(t, base, 0o755, 0)
			tt.prepare(t, base)
			data, err := standalone.OpenDataDir(filepath.Join(base, "data"))
			if tt.wants == "" {
				if err != nil {
					t.Fatal(err)
				}
				_ = data.Close()
				return
			}
			if err == nil {
				_ = data.Close()
			}
			wantSentence(t, err, tt.wants, "VIGIL_DATA_DIR")
		})
	}
	t.Run("a parent behind a link of root counts by its target", func(t *testing.T) {
		t.Parallel()
		base := t.TempDir()
		mkdir(t, base+"/open", 0o777, 0)
		link(t, base+"/open", base+"/way", 0)
		_, err := standalone.OpenDataDir(base + "/way/data")
		wantSentence(t, err, "can be written to by other users")
		mkdir(t, base+"/safe", 0o755, 0)
		link(t, base+"/safe", base+"/road", 0)
		openDir(t, base+"/road/data")
	})
}

// TestPlantedSecret holds that a key is not taken from another user.
func TestPlantedSecret(t *testing.T) {
	t.Parallel()
	key := []byte("00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n")
	for name, plant := range map[string]func(t *testing.T, path string){
		"a link": func(t *testing.T, path string) {
			write(t, path+".target", key, 0o600)
			link(t, path+".target", path, os.Geteuid())
		},
		"a directory":              func(t *testing.T, path string) { mkdir(t, path, 0o700, os.Geteuid()) },
		"a file that others write": func(t *testing.T, path string) { write(t, path, key, 0o666) },
		"a file of another user": func(t *testing.T, path string) {
			if os.Geteuid() != 0 {
				t.Skip("only root gives files to other users")
			}
			write(t, path, key, 0o600)
			give(t, path, stranger)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := openDir(t, t.TempDir())
			path := filepath.Join(data.Path(), "secret.key")
			plant(t, path)
			secret, err := data.Secret("secret.key", 32)
			if err == nil {
				t.Fatalf("it is used: %s", secret)
			}
			wantSentence(t, err, path)
		})
	}
	t.Run("its own is used", func(t *testing.T) {
		t.Parallel()
		data := openDir(t, t.TempDir())
		write(t, filepath.Join(data.Path(), "secret.key"), key, 0o600)
		if secret, err := data.Secret("secret.key", 32); err != nil || secret+"\n" != string(key) {
			t.Errorf("got %q, %v", secret, err)
		}
	})
	t.Run("a planted draft is not written through", func(t *testing.T) {
		t.Parallel()
		data := openDir(t, t.TempDir())
		target := filepath.Join(data.Path(), "target")
		write(t, target, []byte("as it was"), 0o600)
		link(t, target, filepath.Join(data.Path(), "secret.key.new"), os.Geteuid())
		if _, err := data.Secret("secret.key", 32); err == nil {
			t.Error("the draft was written")
		}
		if text, err := os.ReadFile(target); err != nil || string(text) != "as it was" {
			t.Errorf("the target holds %q, %v", text, err)
		}
	})
}

func mkdir(t *testing.T, path string, mode os.FileMode, uid int) {
	t.Helper()
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	chmod(t, path, mode)
	give(t, path, uid)
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func give(t *testing.T, path string, uid int) {
	t.Helper()
	if err := os.Lchown(path, uid, -1); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, path string, uid int) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	give(t, path, uid)
}

func write(t *testing.T, path string, text []byte, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	chmod(t, path, mode)
}
