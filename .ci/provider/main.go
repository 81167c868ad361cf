// SPDX-License-Identifier: Apache-2.0

// Command provider builds what the registries of Terraform and OpenTofu take from a release: for each platform
// a zip with the provider, the manifest with the protocol that it speaks, and the checksums of both. With a key
// it signs them. The same commit and Go version give the same bytes, except for the signature.
//
// Usage, from the root of the repository: go run ./.ci/provider -out DIR -version v1.2.0 [-epoch SECONDS]
// [-platforms "linux/amd64 linux/arm64"] [-gpg-key ID] [-program FILE]
package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// beside are the files that each zip has beside the program, where there are such.
var beside = []string{"LICENSE", "NOTICE"}

const manifest = "terraform/terraform-registry-manifest.json"

func main() {
	r := release{}
	flag.StringVar(&r.out, "out", "dist", "`directory` to write to, which must exist")
	flag.StringVar(&r.version, "version", "", "the `version`, with or without v")
	flag.Int64Var(&r.epoch, "epoch", 0, "`time` of the files in the archives, in seconds since 1970")
	platforms := flag.String("platforms", "linux/amd64 linux/arm64 darwin/arm64", "what to build for")
	flag.StringVar(&r.key, "gpg-key", "", "`id` of the GPG key to sign with")
	flag.StringVar(&r.built, "program", "", "`file` to take instead of building the provider")
	flag.Parse()
	r.version = strings.TrimPrefix(r.version, "v")
	if r.version == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := r.build(strings.Fields(*platforms)); err != nil {
		fmt.Fprintln(os.Stderr, "provider:", err)
		os.Exit(1)
	}
}

type release struct {
	out, version, key, built string
	epoch                    int64
	sums                     bytes.Buffer
}

// name is the name of a file of the release, such as that for linux_amd64.zip.
func (r *release) name(what string) string {
	return "terraform-provider-vigil_" + r.version + "_" + what
}

func (r *release) build(platforms []string) error {
	for _, platform := range platforms {
		system, machine, ok := strings.Cut(platform, "/")
		if !ok {
			return fmt.Errorf("%q is not a platform, such as linux/amd64", platform)
		}
		program, err := r.program(system, machine)
		if err != nil {
			return err
		}
		archive, err := r.archive(program)
		if err != nil {
			return err
		}
		if err := r.write(r.name(system+"_"+machine+".zip"), archive); err != nil {
			return err
		}
	}
	text, err := os.ReadFile(manifest)
	if err != nil {
		return err
	}
	if err := r.write(r.name("manifest.json"), text); err != nil {
		return err
	}
	sums := filepath.Join(r.out, r.name("SHA256SUMS"))
	if err := os.WriteFile(sums, r.sums.Bytes(), 0o644); err != nil {
		return err
	}
	if r.key == "" {
		return nil
	}
	// The registries take a signature in the binary form only.
	sign := exec.Command("gpg", "--batch", "--yes", "--local-user", r.key, "--output", sums+".sig", "--detach-sign", sums)
	if output, err := sign.CombinedOutput(); err != nil {
		return fmt.Errorf("gpg: %w\n%s", err, output)
	}
	return nil
}

// program builds the provider for a platform.
func (r *release) program(system, machine string) ([]byte, error) {
	if r.built != "" {
		return os.ReadFile(r.built)
	}
	dir, err := os.MkdirTemp("", "vigil-provider-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	made := filepath.Join(dir, "provider")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version="+r.version, "-o", made, ".")
	build.Dir = "terraform"
	// What a user's settings of Go would change in the program.
	build.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+machine, "CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=")
	if output, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build for %s/%s: %w\n%s", system, machine, err, output)
	}
	return os.ReadFile(made)
}

// archive is the zip with a program. Its name in there says the version, by which Terraform finds it.
func (r *release) archive(program []byte) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	add := func(name string, mode os.FileMode, content []byte) error {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Unix(r.epoch, 0).UTC()}
		header.SetMode(mode)
		file, err := w.CreateHeader(header)
		if err != nil {
			return err
		}
		_, err = file.Write(content)
		return err
	}
	for _, name := range beside {
		content, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := add(name, 0o644, content); err != nil {
			return nil, err
		}
	}
	if err := add("terraform-provider-vigil_v"+r.version, 0o755, program); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// write writes a file of the release and notes its checksum.
func (r *release) write(name string, content []byte) error {
	fmt.Fprintf(&r.sums, "%x  %s\n", sha256.Sum256(content), name)
	return os.WriteFile(filepath.Join(r.out, name), content, 0o644)
}
