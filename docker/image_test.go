// SPDX-License-Identifier: Apache-2.0

package docker_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// Bytes that an image may have beside its program, whose own bound a release holds (.ci/release):
// 120 MB, 78 MB and 25 MB.
const (
	besideVigil = 100_000_000
	besideRoles = 15_000_000
	besideAgent = 5_000_000
)

func TestImages(t *testing.T) {
	t.Parallel()
	made := built(t)
	for i, one := range []struct {
		name   string
		beside int64
	}{{made.all, besideVigil}, {made.roles, besideRoles}, {made.agent, besideAgent}} {
		var image []struct {
			Size   int64
			Config struct {
				User                    string
				Entrypoint, Cmd, Volume []string
			}
		}
		if err := json.Unmarshal([]byte(made.run(t, "image", "inspect", one.name)), &image); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d MB, the program %d MB", one.name, image[0].Size/1e6, made.programs[i]/1e6)
		if beside := image[0].Size - made.programs[i]; beside > one.beside {
			t.Errorf("%s has %d bytes beside its program, at most %d", one.name, beside, one.beside)
		}
		if image[0].Config.User != "65532:65532" {
			t.Errorf("%s runs as %q", one.name, image[0].Config.User)
		}
	}
	if output, err := made.try(
		t.Context(),
		nil,
		"run",
		"--rm",
		"--network",
		"none",
		"--entrypoint",
		"/bin/sh",
		made.roles,
		"-c",
		"true",
	); err == nil {
		t.Errorf("the roles have a shell: %s", output)
	}
	if _, err := made.try(t.Context(), nil, "run", "--rm", "--network", "none", "--env", "VIGIL_AGENT_TOKEN=vga_none", made.agent,
		"check", "--url", "https://vigil.invalid"); err == nil || !strings.Contains(err.Error(), "DNS: ") {
		t.Errorf("an agent without a network: %v", err)
	}
	license := made.run(t, "run", "--rm", "--network", "none", made.roles, "version")
	if !strings.Contains(license, "vigil tried, commit 0123456789ab") {
		t.Errorf("version: %s", license)
	}
}

// vigil is a container of the image of everything.
type vigil struct {
	*world
	api
	name     string
	volume   string
	emulated bool // too slow for times to be judged
}

// start runs a container of an image on a volume, as the documents say, with 512 MB of memory
// and without what it can do without. Other flags replace those.
func (v *vigil) start(t *testing.T, image string, flags ...string) {
	t.Helper()
	v.run(t, slices.Concat([]string{
		"run", "--detach", "--name", v.name, "--network", v.network, "--publish", "127.0.0.1::8080",
		"--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--memory", "512m", "--memory-swap", "512m",
		"--volume", v.volume + ":/data", "--env", "VIGIL_ALLOWED_PRIVATE_CIDRS=" + v.subnet, "--env", "VIGIL_REGIONS=primary",
		"--env", "VIGIL_CANARIES=off", "--env", "VIGIL_DELIVERY_SCHEDULE=1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s",
	}, flags, []string{image})...)
	v.published(t)
}

// published finds the port of this machine that leads to the API.
func (v *vigil) published(t *testing.T) {
	t.Helper()
	v.base = "http://" + v.run(t, "port", v.name, "8080/tcp")
	if _, _, err := net.SplitHostPort(strings.TrimPrefix(v.base, "http://")); err != nil {
		t.Fatal(err)
	}
	v.awaitReady(t)
}

// newVigil starts a platform with a volume and a key of its own; both end with the test.
func newVigil(t *testing.T, w *world, name string) *vigil {
	t.Helper()
	v := &vigil{world: w, name: w.network + "-" + name}
	v.volume = v.name
	v.run(t, "volume", "create", v.volume)
	t.Cleanup(func() {
		if t.Failed() {
			said, _ := v.try(context.WithoutCancel(t.Context()), nil, "logs", "--tail", "40", v.name)
			t.Logf("%s:\n%s", v.name, said)
		}
		_, _ = v.try(context.WithoutCancel(t.Context()), nil, "rm", "--force", v.name)
		_, _ = v.try(context.WithoutCancel(t.Context()), nil, "volume", "rm", v.volume)
	})
	return v
}

// stop ends the container by SIGTERM and fails the test when the engine had to kill it.
func (v *vigil) stop(t *testing.T) {
	t.Helper()
	grace := "60" // CI judges no time
	if full() && !v.emulated {
		grace = "10"
	}
	began := time.Now()
	v.run(t, "stop", "--time", grace, v.name)
	t.Logf("stopped in %.1f s", time.Since(began).Seconds())
	if code := v.run(t, "inspect", "--format", "{{.State.ExitCode}} {{.State.OOMKilled}}", v.name); code != "0 false" {
		t.Errorf("the container ended with %s", code)
	}
}

// TestAllInOne runs the platform in a container: an incident and its end, a stop while a message
// waits, another image on the same volume, and a backup that a third container restores.
func TestAllInOne(t *testing.T) {
	t.Parallel()
	made := built(t)
	w := newWorld(t, made)
	v := newVigil(t, w, "a")
	v.start(t, made.all)
	v.key = v.run(t, "exec", v.name, "/vigil", "keys", "create")
	check := w.watch(t, v.api, "eu-central-fra")
	await(t, "the check is healthy", func() bool { return v.health(t, check) == "healthy" })
	await(t, "the engine says that the container is healthy", func() bool {
		return v.run(t, "inspect", "--format", "{{.State.Health.Status}}", v.name) == "healthy"
	})

	var regions []struct {
		Key         string   `json:"key"`
		Unavailable []string `json:"unavailable_types"`
	}
	v.must(t, http.MethodGet, "/v1/regions", nil, &regions)
	for _, region := range regions {
		if len(region.Unavailable) > 0 {
			t.Errorf("%s cannot probe %v", region.Key, region.Unavailable)
		}
	}

	w.deaf.Store(true)
	w.failing.Store(true)
	await(t, "an incident is open", func() bool { return v.incidents(t, check, "active") == 1 })
	v.stop(t)
	w.deaf.Store(false)
	v.run(t, "start", v.name)
	v.published(t) // the engine chooses another port
	await(t, "the message that waited is delivered", func() bool { return w.got("incident.triggered") == 1 })

	// Another image on the same volume.
	v.stop(t)
	next := w.network + ":next"
	v.run(t, "commit", "--change", "LABEL next=yes", v.name, next)
	t.Cleanup(func() { _, _ = v.try(context.WithoutCancel(t.Context()), nil, "rmi", "--force", next) })
	v.run(t, "rm", v.name)
	v.start(t, next)
	w.failing.Store(false)
	await(t, "the end is delivered", func() bool { return w.got("incident.resolved") == 1 })
	if n := v.incidents(t, check, "resolved"); n != 1 || w.got("incident.triggered") != 1 {
		t.Errorf("there are %d incidents and %d messages of a beginning", n, w.got("incident.triggered"))
	}

	// Backup and restore across containers.
	backup, err := v.try(t.Context(), nil, "exec", v.name, "/vigil", "backup", "-")
	if err != nil {
		t.Fatal(err)
	}
	v.stop(t)
	other := newVigil(t, w, "b")
	if _, err := v.try(t.Context(), []byte(backup), "run", "--rm", "--interactive", "--network", w.network, "--read-only", "--tmpfs", "/tmp",
		"--volume", other.volume+":/data", made.all, "restore", "-"); err != nil {
		t.Fatal(err)
	}
	other.start(t, made.all)
	other.key = v.key
	if n := other.incidents(t, check, "resolved"); n != 1 {
		t.Errorf("after the restore there are %d incidents", n)
	}
	w.failing.Store(true)
	await(t, "the restored platform notices", func() bool { return w.got("incident.triggered") == 2 })
}

// TestContainersDiffer holds what docs/operations.md says of containers.
func TestContainersDiffer(t *testing.T) {
	t.Parallel()
	made := built(t)
	w := newWorld(t, made)
	t.Run("DirectoryOfAnotherOwnerIsRefusedInOneSentence", func(t *testing.T) {
		t.Parallel()
		said, err := w.try(t.Context(), nil, "run", "--rm", "--network", w.network, "--volume", t.TempDir()+":/data", made.all)
		if err == nil || !strings.Contains(err.Error(), "the data directory /data cannot be written to") {
			t.Errorf("%s, %v", said, err)
		}
	})
	t.Run("RootIsRefusedInOneSentence", func(t *testing.T) {
		t.Parallel()
		said, err := w.try(t.Context(), nil, "run", "--rm", "--network", w.network, "--user", "0", made.all)
		if err == nil || !strings.Contains(err.Error(), "belongs to another user") {
			t.Errorf("%s, %v", said, err)
		}
	})
}

// TestImageOfTheDemo runs the first lines of docs/operations.md to the last line of the demo. It has the
// network of the machine, on ports that are rarely taken.
func TestImageOfTheDemo(t *testing.T) {
	t.Parallel()
	if !full() {
		t.Skip("a part of make test-install: VIGIL_DRILL=full")
	}
	made := built(t)
	name := "vigil-demo"
	began := time.Now()
	made.run(t, "run", "--detach", "--name", name, "--network", "host", "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL",
		"--memory", "512m", "--env", "VIGIL_LISTEN=127.0.0.1:18480", "--env", "VIGIL_TEMPORAL_LISTEN=127.0.0.1:18433",
		"--env", "VIGIL_UI_LISTEN=127.0.0.1:18434", made.all, "up", "--demo")
	t.Cleanup(func() { _, _ = made.try(context.WithoutCancel(t.Context()), nil, "rm", "--force", "--volumes", name) })
	await(t, "the demo has its last line", func() bool {
		said, err := made.try(t.Context(), nil, "logs", name)
		return err == nil && strings.Contains(said, "one incident, two messages, three attempts, none lost")
	})
	t.Logf("from docker run to the last line of the demo: %.1f s", time.Since(began).Seconds())
}
