// SPDX-License-Identifier: Apache-2.0

package docker_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// composition is compose.yaml, started by Docker Compose.
type composition struct {
	*world
	program string
}

// newComposition finds Docker Compose, which make compose builds, and ends what the test started.
func newComposition(t *testing.T) *composition {
	t.Helper()
	made := built(t)
	programs, err := filepath.Glob(filepath.Join("..", ".bin", "docker-compose-*"))
	if err != nil || len(programs) == 0 {
		t.Skip("there is no Docker Compose: make compose builds it")
	}
	program, err := filepath.Abs(programs[len(programs)-1])
	if err != nil {
		t.Fatal(err)
	}
	c := &composition{world: &world{images: made, network: "vigil-composed_default", events: map[string]string{}}, program: program}
	t.Cleanup(func() {
		if t.Failed() {
			said, _ := c.compose(context.WithoutCancel(t.Context()), "logs", "--no-color", "--tail", "30")
			t.Log(said)
		}
		_, _ = c.compose(context.WithoutCancel(t.Context()), "down", "--volumes", "--timeout", "5")
	})
	return c
}

// compose runs a command of Docker Compose on compose.yaml.
func (c *composition) compose(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.program, append([]string{"--project-name", "vigil-composed", "--file", "compose.yaml"}, args...)...)
	cmd.Env = append(os.Environ(), "VIGIL_ROLES_IMAGE="+c.roles, "VIGIL_IMAGE="+c.all, "POSTGRES_IMAGE=vigil-base/server",
		"POSTGRES_PASSWORD=tried", "VIGIL_SECRET_KEY="+strings.Repeat("5a", 32), "VIGIL_PORT=0", "VIGIL_UI_PORT=0",
		"VIGIL_ALLOWED_PRIVATE_CIDRS=10.0.0.0/8,172.16.0.0/12,192.168.0.0/16", "VIGIL_CANARIES=off")
	if c.host != "" {
		cmd.Env = append(cmd.Env, "DOCKER_HOST="+c.host)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("docker compose %s: %w\n%s%s", strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return strings.TrimSpace(stdout.String()), nil
}

// must is compose for a command that must work.
func (c *composition) must(t *testing.T, args ...string) string {
	t.Helper()
	output, err := c.compose(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

// TestComposition starts compose.yaml as its first lines say, and brings it to an incident and its
// end while each worker and the API are restarted.
func TestComposition(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	c.must(t, "up", "--detach", "--no-build")
	c.listen(t)
	a := api{base: "http://" + c.must(t, "port", "api", "8080"), key: c.must(t, "exec", "-T", "api", "/vigil", "keys", "create")}
	a.awaitReady(t)
	check := c.watch(t, a, "eu-central-fra")
	await(t, "the check is healthy", func() bool { return a.health(t, check) == "healthy" })
	c.failing.Store(true)
	await(t, "the incident is delivered", func() bool { return c.got("incident.triggered") == 1 })
	c.must(t, "restart", "worker-frankfurt", "control", "api")
	a.base = "http://" + c.must(t, "port", "api", "8080")
	a.awaitReady(t)
	c.failing.Store(false)
	await(t, "the end is delivered", func() bool { return c.got("incident.resolved") == 1 })
	if n := a.incidents(t, check, "resolved"); n != 1 || c.got("incident.triggered") != 1 {
		t.Errorf("there are %d incidents and %d messages of a beginning", n, c.got("incident.triggered"))
	}
	for _, role := range []string{"api", "control", "worker-frankfurt", "worker-newark", "postgres"} {
		await(t, role+" is healthy", func() bool {
			return strings.Contains(c.must(t, "ps", "--format", "{{.Status}}", role), "healthy")
		})
	}
	if said := c.must(t, "ps", "--all", "--format", "{{.Name}} {{.ExitCode}}", "setup", "migrate"); strings.Count(said, " 0") != 2 {
		t.Errorf("what prepares ended with\n%s", said)
	}
}
