// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// providerBinary builds the provider once and returns the directory of the program.
var providerBinary = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(binaries.dir, "provider")
	return dir, build("..", filepath.Join(dir, "terraform-provider-vigil"), ".")
})

// workspace is a directory in which the terraform program runs.
type workspace struct {
	t   *testing.T
	dir string
	env []string
}

// overridden returns a workspace with a configuration, in which terraform uses the
// provider's program where the build put it: dev_overrides.
func overridden(t *testing.T, p *platform, config string) workspace {
	t.Helper()
	programs, err := providerBinary()
	if err != nil {
		t.Fatal(err)
	}
	return newWorkspace(t, p, config, "dev_overrides { \"vigil-monitor/vigil\" = \""+programs+"\" }\n  direct {}")
}

// newWorkspace returns a workspace whose CLI configuration says where providers are.
func newWorkspace(t *testing.T, p *platform, config, installation string) workspace {
	t.Helper()
	dir := t.TempDir()
	rc := filepath.Join(dir, "terraform.rc")
	write(t, filepath.Join(dir, "main.tf"), config)
	write(t, rc, "provider_installation {\n  "+installation+"\n}\n")
	return workspace{t: t, dir: dir, env: append(os.Environ(),
		"TF_CLI_CONFIG_FILE="+rc, "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "VIGIL_URL="+p.URL, "VIGIL_API_KEY="+p.Key)}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// command returns the terraform program with arguments.
func (w workspace) command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.t.Context()), 5*time.Minute)
	w.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, program(), args...)
	cmd.Dir, cmd.Env = w.dir, w.env
	return cmd
}

// run runs terraform; it must succeed.
func (w workspace) run(args ...string) string {
	w.t.Helper()
	out, err := w.command(args...).CombinedOutput()
	if err != nil {
		w.t.Fatalf("terraform %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// apply applies; the plan after it must be empty.
func (w workspace) apply() {
	w.t.Helper()
	w.run("apply", "-auto-approve", "-no-color")
	w.run("plan", "-detailed-exitcode", "-no-color") // 2 when something would change
}

// example returns an example of terraform/examples.
func example(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../examples", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestBuiltProviderWorksByDevOverrides(t *testing.T) {
	t.Parallel()
	needsTerraform(t)
	project := unique("overrides")
	w := overridden(t, shared, header(project)+strings.SplitN(others(project, 1), "\n", 3)[2])
	w.apply()
	state, err := os.ReadFile(filepath.Join(w.dir, "terraform.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"wo-hook", "wo-push", "wo-pager", "wo-chat"} {
		if strings.Contains(string(state), secret) {
			t.Errorf("the state has the write-only secret %s", secret)
		}
	}
	if !strings.Contains(string(state), "sesame-auth") {
		t.Error("the state lacks the sensitive header, which it has to keep")
	}
	if plan := w.run("plan", "-no-color", "-destroy"); strings.Contains(plan, "sesame") {
		t.Errorf("the plan shows a secret:\n%s", plan)
	}
	w.run("destroy", "-auto-approve", "-no-color")
}

// header is the configuration of a provider that is found by its address.
func header(project string) string {
	return fmt.Sprintf(`terraform {
  required_providers {
    vigil = { source = "vigil-monitor/vigil" }
  }
}
provider "vigil" { project = %q }
`, project)
}

func TestBuiltProviderIsInstalledFromAMirror(t *testing.T) {
	t.Parallel()
	needsTerraform(t)
	programs, err := providerBinary()
	if err != nil {
		t.Fatal(err)
	}
	mirror := t.TempDir()
	dir := filepath.Join(mirror, registry, "vigil-monitor/vigil")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// What a release has for this platform.
	pack := exec.CommandContext(t.Context(), "go", "run", "./.ci/provider", "-out", dir, "-version", "v0.1.0",
		"-platforms", runtime.GOOS+"/"+runtime.GOARCH, "-program", filepath.Join(programs, "terraform-provider-vigil"))
	pack.Dir = "../.."
	if output, err := pack.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	config := example(t, "provider/provider.tf") + example(t, "resources/vigil_check/resource.tf")
	w := newWorkspace(t, shared, config, "filesystem_mirror { path = \""+mirror+"\" }")
	w.run("init", "-no-color")
	w.apply()
	w.run("destroy", "-auto-approve", "-no-color")
}

func TestEachExampleIsApplied(t *testing.T) {
	t.Parallel()
	needsTerraform(t)
	files, err := filepath.Glob("../examples/*/*/*.tf")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d examples: %v", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(file)))+"/"+name, func(t *testing.T) {
			t.Parallel()
			w := overridden(t, shared, example(t, "provider/provider.tf")+example(t, strings.TrimPrefix(file, "../examples/")))
			w.apply()
			w.run("destroy", "-auto-approve", "-no-color")
		})
	}
}

// many is how many checks the largest configuration has, 300 with VIGIL_DRILL=full; an
// organization of the paid tier may make 1,000 requests a minute.
func many() int {
	if os.Getenv("VIGIL_DRILL") == "full" {
		return 300
	}
	return 100
}

func TestKilledServerInACreateLeavesEachCheckOnce(t *testing.T) {
	t.Parallel()
	needsTerraform(t)
	listen := freeAddress(t)
	data := filepath.Join(binaries.dir, "killed")
	p, err := start(data, listen, "VIGIL_ENTERPRISE_RATE=1000")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the one that runs then
		if p.stop(); t.Failed() {
			t.Logf("the end of the log of vigil up:\n%s", p.logEnd())
		}
	})
	project := unique("many")
	w := overridden(t, p, header(project)+fmt.Sprintf(`
resource "vigil_check" "many" {
  count            = %d
  name             = "check ${count.index}"
  interval_seconds = 3600
  enabled          = false
  tcp              = { host = "a.example", port = count.index + 1 }
}`, many()))
	first := w.command("apply", "-auto-approve", "-no-color")
	output := &strings.Builder{}
	first.Stdout, first.Stderr = output, output
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = first.Process.Kill()
		if t.Failed() {
			t.Logf("the first apply:\n%s", output)
		}
	})
	waitFor(t, "5 checks exist", func() bool { return count(t, p, project) >= 5 })
	p.kill()
	if err := first.Wait(); err == nil {
		t.Fatalf("the first apply succeeded although the server was killed:\n%s", output)
	}
	again, err := start(data, listen, "VIGIL_ENTERPRISE_RATE=1000")
	if err != nil {
		t.Fatal(err)
	}
	again.Key = p.Key // shown at the first start only
	p = again
	before := count(t, p, project)
	began := time.Now()
	w.run("apply", "-auto-approve", "-no-color")
	t.Logf("%d checks existed after the kill; the apply of all %d took %v", before, many(), time.Since(began).Round(time.Second))
	if now := count(t, p, project); now != many() {
		t.Errorf("%d checks exist, not %d", now, many())
	}
	w.run("plan", "-detailed-exitcode", "-no-color")
}

// count returns how many checks of a project exist.
func count(t *testing.T, p *platform, project string) int {
	t.Helper()
	total := 0
	for {
		page := p.list(t, fmt.Sprintf("/v1/checks?limit=100&offset=%d&tool=terraform&project=%s", total, project))
		if total += len(page); len(page) == 0 {
			return total
		}
	}
}

// waitFor waits until a condition holds.
func waitFor(t *testing.T, what string, fact func() bool) {
	t.Helper()
	began := time.Now()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(startLimit)
	for !fact() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("after %v, this does not hold: %s", startLimit, what)
		}
	}
	if took := time.Since(began); took > time.Second {
		t.Logf("waited %.1f s until: %s", took.Seconds(), what)
	}
}
