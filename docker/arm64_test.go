// SPDX-License-Identifier: Apache-2.0

package docker_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestArm64 builds both images for arm64 from the Dockerfile and runs them, by QEMU's emulation of
// programs where the machine is another one: the roles print their version, and the platform opens an
// incident, reports it, and ends it.
func TestArm64(t *testing.T) {
	t.Parallel()
	if !full() {
		t.Skip("a part of make test-install: VIGIL_DRILL=full")
	}
	made := forArm64(t)
	if said := made.run(t, "run", "--rm", "--network", "none", made.roles, "version"); !strings.Contains(said, "linux/arm64") {
		t.Errorf("version: %s", said)
	}

	w := newWorld(t, made)
	v := newVigil(t, w, "a")
	v.emulated = runtime.GOARCH != "arm64"
	v.start(t, made.all, "--memory", "2g", "--memory-swap", "2g") // the emulation takes memory of its own
	v.key = v.run(t, "exec", v.name, "/vigil", "keys", "create")
	check := w.watch(t, v.api, "eu-central-fra")
	await(t, "the check is healthy", func() bool { return v.health(t, check) == "healthy" })
	w.failing.Store(true)
	await(t, "the beginning is delivered", func() bool { return w.got("incident.triggered") == 1 })
	w.failing.Store(false)
	await(t, "the end is delivered", func() bool { return w.got("incident.resolved") == 1 })
	v.stop(t)
}

// forArm64 returns the images for arm64, or skips the test where they cannot be had.
func forArm64(t *testing.T) images {
	t.Helper()
	made := built(t)
	programs := t.TempDir()
	for _, target := range []string{"build-vigil", "build-roles", "build-agent"} {
		// As a release builds them, so that what is in Go's cache need not be built again.
		if err := buildProgram(t.Context(), target, programs, "TARGETARCH=arm64", "GOFLAGS=-trimpath"); err != nil {
			t.Fatal(err)
		}
	}
	base := exec.CommandContext(t.Context(), filepath.Join("..", ".ci", "base-arm64"), programs)
	base.Env = append(os.Environ(), "DOCKER_HOST="+made.host)
	if output, err := base.CombinedOutput(); err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) && failed.ExitCode() == 3 {
			t.Skipf("%s", output)
		}
		t.Fatalf("%v: %s", err, output)
	}
	made.all, made.roles = "vigil:arm64", "vigil-roles:arm64"
	for target, name := range map[string]string{"vigil": made.all, "vigil-roles": made.roles} {
		args := []string{"build", "--quiet", "--network", "host", "--file", "Dockerfile", "--target", target, "--tag", name}
		for _, base := range []string{"BUILD_BASE", "ROLES_BASE", "POSTGRES_BASE", "BASE"} {
			args = append(args, "--build-arg", base+"=vigil-base/arm64")
		}
		made.run(t, append(args, "..")...)
	}
	return made
}
