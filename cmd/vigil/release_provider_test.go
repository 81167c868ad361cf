// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReleaseProvider builds what the registries of Terraform and OpenTofu take from a release, of a small provider,
// twice, and with a key of GPG.
func TestReleaseProvider(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("cross-compiles")
	}
	home := ""
	if _, err := exec.LookPath("gpg"); err == nil {
		home = newKeyring(t)
	}
	attest := builtAttest(t)
	first, second := releaseProvider(t, attest, home), releaseProvider(t, attest, home)
	const of = "terraform-provider-vigil_1.2.0_"
	sums := string(first[of+"SHA256SUMS"])
	for _, what := range []string{"linux_amd64.zip", "linux_arm64.zip", "darwin_arm64.zip", "manifest.json"} {
		name := of + what
		if line := fmt.Sprintf("%x  %s\n", sha256.Sum256(first[name]), name); len(first[name]) == 0 || !strings.Contains(sums, line) {
			t.Errorf("the checksums have no line %q:\n%s", line, sums)
		}
		if !bytes.Equal(first[name], second[name]) {
			t.Errorf("%s has other bytes when it is built in another directory", name)
		}
		if strings.HasSuffix(what, ".zip") {
			packed(t, name, first[name])
		}
	}
	var manifest struct {
		Version  int `json:"version"`
		Metadata struct {
			ProtocolVersions []string `json:"protocol_versions"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(first[of+"manifest.json"], &manifest); err != nil || manifest.Version != 1 ||
		fmt.Sprint(manifest.Metadata.ProtocolVersions) != "[6.0]" {
		t.Errorf("the manifest is %s (%v)", first[of+"manifest.json"], err)
	}
	if n := strings.Count(string(first["SHA256SUMS"]), "  "+of); n < 5 {
		t.Errorf("the checksums of the release have %d files of the provider:\n%s", n, first["SHA256SUMS"])
	}
	if home != "" {
		signed(t, home, first[of+"SHA256SUMS"], first[of+"SHA256SUMS.sig"])
	}
}

// releaseProvider runs the script of a release in a directory of its own, with a small module in the place of the
// provider, and returns the files that it makes. Home is where GPG has a key; "" makes no signature.
func releaseProvider(t *testing.T, attest, home string) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"go.mod":            "module vigil\n\ngo 1.26\n",
		"LICENSE":           "Apache-2.0\n",
		"NOTICE":            "Vigil\n",
		"README.md":         "# Vigil\n",
		"CHANGELOG.md":      "# Changelog\n\n## [1.2.0]\n\n- more\n",
		"cmd/vigil/main.go": "package main\n\nfunc main() {}\n",
		"terraform/go.mod":  "module vigil/terraform\n\ngo 1.26\n",
		"terraform/main.go": "package main\n\nvar version string\n\nfunc main() { println(version) }\n",
	}
	for _, name := range []string{".ci/release", ".ci/provider/main.go", "terraform/terraform-registry-manifest.json"} {
		text, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "bash", filepath.Join(dir, ".ci/release"))
	cmd.Env = append(os.Environ(), "VERSION=v1.2.0", "COMMIT=0123456789abcdef", "SOURCE_DATE_EPOCH=1790000000",
		"KINDS=slim", "GOFLAGS=-tags=other", "ATTEST="+attest)
	if home != "" {
		cmd.Env = append(cmd.Env, "GNUPGHOME="+home, "GPG_KEY=release@example.com")
	}
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	made := map[string][]byte{}
	entries, err := os.ReadDir(filepath.Join(dir, "dist"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if made[entry.Name()], err = os.ReadFile(filepath.Join(dir, "dist", entry.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return made
}

// packed looks at the files in a zip of the provider.
func packed(t *testing.T, name string, archive []byte) {
	t.Helper()
	reader, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	entries := ""
	for _, file := range reader.File {
		entries += fmt.Sprintf("%s %o %d ", file.Name, file.Mode(), file.Modified.Unix())
	}
	if want := "LICENSE 644 1790000000 NOTICE 644 1790000000 terraform-provider-vigil_v1.2.0 755 1790000000 "; entries != want {
		t.Errorf("%s has %q, want %q", name, entries, want)
	}
}

// newKeyring makes a key of GPG in a directory of its own, which it returns. Its path is short: that of the socket of
// the agent in it may have 107 characters.
func newKeyring(t *testing.T) string {
	t.Helper()
	home, err := os.MkdirTemp("", "gpg") //nolint:usetesting // a short path
	if err != nil {
		t.Fatal(err)
	}
	gpg := func(args ...string) *exec.Cmd {
		args = append([]string{"--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""}, args...)
		cmd := exec.Command("gpg", args...) //nolint:noctx // as the test that makes it
		cmd.Env = append(os.Environ(), "GNUPGHOME="+home)
		return cmd
	}
	t.Cleanup(func() {
		end := exec.Command("gpgconf", "--kill", "gpg-agent") //nolint:noctx // runs at the end
		end.Env = append(os.Environ(), "GNUPGHOME="+home)
		_ = end.Run()
		_ = os.RemoveAll(home)
	})
	if output, err := gpg("--quick-generate-key", "release@example.com", "rsa3072", "sign", "never").CombinedOutput(); err != nil {
		t.Fatalf("gpg: %v\n%s", err, output)
	}
	return home
}

// signed reports a signature that is not right, or not in the binary form.
func signed(t *testing.T, home string, sums, signature []byte) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "SHA256SUMS")
	if err := errors.Join(os.WriteFile(path, sums, 0o600), os.WriteFile(path+".sig", signature, 0o600)); err != nil {
		t.Fatal(err)
	}
	verify := exec.CommandContext(t.Context(), "gpg", "--batch", "--verify", path+".sig", path)
	verify.Env = append(os.Environ(), "GNUPGHOME="+home)
	if output, err := verify.CombinedOutput(); err != nil || bytes.Contains(signature, []byte("BEGIN PGP")) {
		t.Errorf("the signature is not right: %v\n%s", err, output)
	}
}
