// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"debug/macho"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/pgbin/programtest"
)

// smallProgram stands for the whole program, which takes minutes to build.
const (
	smallProgram = "package main\n\nvar version, commit, builder string\n\nfunc main() { println(version, commit, builder, kind) }\n"
	smallFull    = "//go:build !slim\n\npackage main\n\nconst kind = \"full\"\n"
	smallAgent   = smallProgram + "\nconst kind = \"agent\"\n"
	smallSlim    = "//go:build slim\n\npackage main\n\nconst kind = \"slim\"\n"
)

// TestRelease builds a release of a small program by the script of `make release`, twice.
func TestRelease(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("cross-compiles")
	}
	if out, err := exec.CommandContext(t.Context(), "tar", "--version").Output(); err != nil || !bytes.Contains(out, []byte("GNU")) {
		t.Skip("needs GNU tar")
	}
	attest := builtAttest(t)
	first, second := release(t, attest), release(t, attest)
	var want []string
	for _, platform := range []string{"darwin_arm64", "linux_amd64", "linux_arm64"} {
		for _, name := range []string{"vigil", "vigil-agent", "vigil-slim"} {
			want = append(want, name+"_v1.2.0_"+platform+".tar.gz")
		}
	}
	sums := string(first["SHA256SUMS"])
	archives := len(want)
	for _, name := range want[:archives] {
		want = append(want, name+".cdx.json")
	}
	want = append(want, "latest.json", "provenance.intoto.json")
	if len(first) != len(want)+1 || strings.Count(sums, "\n") != len(want) {
		t.Fatalf("%d files, and the checksums are\n%s", len(first), sums)
	}
	for _, name := range want {
		sum := sha256.Sum256(first[name])
		if line := hex.EncodeToString(sum[:]) + "  " + name + "\n"; !strings.Contains(sums, line) {
			t.Errorf("SHA256SUMS has no line %q:\n%s", line, sums)
		}
		if !bytes.Equal(first[name], second[name]) {
			t.Errorf("%s has other bytes when it is built in another directory", name)
		}
		if strings.HasSuffix(name, ".tar.gz") {
			archived(t, name, first[name])
		}
	}
	attested(t, first)
}

// builtAttest builds what says how a release was made.
func builtAttest(t *testing.T) string {
	t.Helper()
	attest := filepath.Join(t.TempDir(), "attest")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", attest, "../../.ci/attest").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return attest
}

// release runs the script in a directory of its own and returns what it makes.
func release(t *testing.T, attest string) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	script, err := os.ReadFile("../../.ci/release")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		".ci/release": string(script), "go.mod": "module vigil\n\ngo 1.26\n", "README.md": "# Vigil\n", "LICENSE": "Apache-2.0\n",
		"NOTICE": "Vigil\n", "CHANGELOG.md": "# Changelog\n\n## [1.2.0]\n\n- more\n", "cmd/vigil/main.go": smallProgram,
		"cmd/vigil/full.go": smallFull, "cmd/vigil/slim.go": smallSlim, "cmd/vigil-agent/main.go": smallAgent,
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "bash", filepath.Join(dir, ".ci/release"))
	cmd.Env = append(os.Environ(), "VERSION=v1.2.0", "COMMIT=0123456789abcdef", "SOURCE_DATE_EPOCH=1790000000", "GOFLAGS=-tags=other",
		"BUILDER=https://ci.example.com/vigil", "ATTEST="+attest)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "dist"))
	if err != nil {
		t.Fatal(err)
	}
	made := map[string][]byte{}
	for _, entry := range entries {
		if made[entry.Name()], err = os.ReadFile(filepath.Join(dir, "dist", entry.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return made
}

// archived looks at the entries of an archive and at the program in it.
func archived(t *testing.T, name string, archive []byte) {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	entries, program := "", "vigil"
	if strings.HasPrefix(name, "vigil-agent") {
		program = "vigil-agent"
	}
	for reader := tar.NewReader(unzipped); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		entries += fmt.Sprintf("%s %o %d %d ", header.Name, header.Mode, header.Uid, header.ModTime.Unix())
		if header.Name != program {
			continue
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		isStatic(t, name, content)
	}
	if want := "CHANGELOG.md 644 0 1790000000 LICENSE 644 0 1790000000 NOTICE 644 0 1790000000 " +
		"README.md 644 0 1790000000 " + program + " 755 0 1790000000 "; entries != want {
		t.Errorf("%s has %q, want %q", name, entries, want)
	}
}

// isStatic compares a program with the platform in the name of its archive; the one of this
// machine is run.
func isStatic(t *testing.T, name string, program []byte) {
	t.Helper()
	if strings.Contains(name, "darwin_arm64") {
		if file, err := macho.NewFile(bytes.NewReader(program)); err != nil || file.Cpu != macho.CpuArm64 {
			t.Errorf("%s: not a program of macOS: %v", name, err)
		}
		return
	}
	machine := elf.EM_X86_64
	if strings.Contains(name, "arm64") {
		machine = elf.EM_AARCH64
	}
	file, err := elf.NewFile(bytes.NewReader(program))
	if err != nil || file.Machine != machine {
		t.Fatalf("%s: not a program of %v: %v", name, machine, err)
	}
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP {
			t.Errorf("%s needs a dynamic linker", name)
		}
	}
	if !strings.Contains(name, "linux_"+runtime.GOARCH) || runtime.GOOS != "linux" {
		return
	}
	path := filepath.Join(t.TempDir(), "vigil")
	programtest.Write(t, path, program)
	kind := "full"
	for _, other := range []string{"slim", "agent"} {
		if strings.HasPrefix(name, "vigil-"+other) {
			kind = other
		}
	}
	output, err := exec.CommandContext(t.Context(), path).CombinedOutput()
	if want := "v1.2.0 0123456789abcdef https://ci.example.com/vigil " + kind + "\n"; err != nil || string(output) != want {
		t.Errorf("%s prints %q, want %q (%v)", name, output, want, err)
	}
}
