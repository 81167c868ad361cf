// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/vigil-monitor/vigil/internal/pgbin/programtest"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// action runs the step of the action of GitHub, as action.yml has it.
type action struct {
	t        *testing.T
	path     string // where programs are looked for
	url, key string
	dir      string // the workspace
}

// composite is the part of action.yml that says what is run with which variables.
type composite struct {
	Inputs map[string]struct{ Default string }
	Runs   struct {
		Using string
		Steps []struct {
			Shell, Run string
			Env        map[string]string
		}
	}
}

// ofInput is a variable that has the value of an input, or of an expression where that is empty.
var ofInput = regexp.MustCompile(`^\$\{\{ inputs\.([a-z-]+)( \|\| [^}]*(\{\d\}[^}]*)*)? \}\}$`)

// run runs the step with inputs, and returns its exit code, what it printed, its outputs and its summary.
func (a *action) run(inputs map[string]string, env ...string) (code int, printed, outputs, summary string) {
	a.t.Helper()
	var of composite
	text, err := os.ReadFile("../action.yml")
	if err == nil {
		err = yaml.Unmarshal(text, &of)
	}
	if err != nil || of.Runs.Using != "composite" || len(of.Runs.Steps) != 1 {
		a.t.Fatalf("action.yml is not an action of one step: %+v, %v", of, err)
	}
	step := of.Runs.Steps[0]
	if strings.Contains(step.Run, "${{") {
		a.t.Errorf("what an input has is a part of the script: %s", step.Run)
	}
	for name := range inputs {
		if _, ok := of.Inputs[name]; !ok {
			a.t.Fatalf("action.yml has no input %s", name)
		}
	}
	inputs["url"], inputs["key"] = a.url, a.key
	root, err := filepath.Abs("..")
	if err != nil {
		a.t.Fatal(err)
	}
	temp := a.t.TempDir()
	ctx, cancel := context.WithTimeout(a.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, step.Shell, "-e", "-c", step.Run)
	cmd.Dir = a.dir
	cmd.Env = append(env, "PATH="+a.path+":/usr/bin:/bin", "HOME="+temp, "GITHUB_ACTION_PATH="+root, "GITHUB_REPOSITORY=shop/site",
		"GITHUB_OUTPUT="+filepath.Join(temp, "output"), "GITHUB_STEP_SUMMARY="+filepath.Join(temp, "summary"), "RUNNER_TEMP="+temp)
	for name, value := range step.Env {
		found := ofInput.FindStringSubmatch(value)
		if found == nil {
			a.t.Fatalf("the variable %s has no input: %s", name, value)
		}
		cmd.Env = append(cmd.Env, name+"="+cmp.Or(inputs[found[1]], of.Inputs[found[1]].Default))
	}
	output, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		a.t.Fatal(err)
	}
	said, _ := os.ReadFile(filepath.Join(temp, "output"))
	shown, _ := os.ReadFile(filepath.Join(temp, "summary"))
	return cmd.ProcessState.ExitCode(), string(output), string(said), string(shown)
}

// TestAction plans, applies and tests with the action of GitHub, as the workflow of a repository does.
func TestAction(t *testing.T) {
	timingtest.Parallel(t)
	_, c := shared(t)
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	t.Cleanup(target.Close)
	a := &action{t: t, path: filepath.Dir(binary), url: c.url, key: c.key, dir: t.TempDir()}
	const project = "version: 1\nproject: action\nchecks:\n" +
		"  home: {name: Home page, type: http, interval: 1h, labels: {team: shop}, config: {url: %q}}\n"
	write(t, a.dir, "monitoring/shop.yaml", fmt.Sprintf(project, target.URL))
	write(t, a.dir, "bin/gh", "#!/bin/sh\nexec >>"+a.dir+"/gh\necho \"$GH_TOKEN $*\"\n"+
		"for word; do case $word in body=@*) cat \"${word#body=@}\" ;; esac; done\n")
	a.path = filepath.Join(a.dir, "bin") + ":" + a.path

	inputs := map[string]string{"command": "plan", "comment": "true", "token": "ghs_test"}
	code, printed, outputs, summary := a.run(inputs, "GITHUB_REF=refs/pull/7/merge")
	if code != 0 || outputs != "changes=true\n" || !strings.Contains(summary, "home") || !strings.Contains(printed, summary) {
		t.Errorf("plan: %d, outputs %q, summary %q\n%s", code, outputs, summary, printed)
	}
	comment, _ := os.ReadFile(filepath.Join(a.dir, "gh"))
	if !strings.Contains(string(comment), "ghs_test api --silent --method POST repos/shop/site/issues/7/comments") ||
		!strings.Contains(string(comment), "<!-- vigil plan -->\n"+summary) {
		t.Errorf("the comment is\n%s", comment)
	}
	if code, printed, _, _ = a.run(map[string]string{"command": "plan", "fail-on-changes": "true"}); code != 3 {
		t.Errorf("a plan that changes something, with fail-on-changes: %d\n%s", code, printed)
	}
	if code, printed, _, _ = a.run(map[string]string{"command": "apply"}); code != 0 {
		t.Fatalf("apply: %d\n%s", code, printed)
	}
	inputs = map[string]string{"command": "plan", "files": "\n  monitoring/shop.yaml\n"}
	if code, printed, outputs, _ = a.run(inputs); code != 0 || outputs != "changes=false\n" {
		t.Errorf("plan after apply: %d, outputs %q\n%s", code, outputs, printed)
	}
	for _, inputs := range []map[string]string{
		{"command": "test", "checks": "Home page"}, {"command": "test", "labels": "team=shop", "arguments": "--dry-run"},
	} {
		if code, printed, _, _ = a.run(inputs); code != 0 || !strings.Contains(printed, "Home page") {
			t.Errorf("test %v: %d\n%s", inputs, code, printed)
		}
	}
	target.Close()
	if code, printed, _, _ = a.run(map[string]string{"command": "test", "checks": "Home page"}); code != 3 {
		t.Errorf("test of a target that is away: %d\n%s", code, printed)
	}
	write(t, a.dir, "monitoring/shop.yaml", "version: 1\nproject: action\nchecks: {home: {type: nothing}}\n")
	if code, printed, outputs, _ = a.run(map[string]string{"command": "plan"}); code != 1 || outputs != "" {
		t.Errorf("plan of a mistake: %d, outputs %q\n%s", code, outputs, printed)
	}
	if code, printed, _, _ = a.run(map[string]string{"command": "destroy"}); code != 2 {
		t.Errorf("another command: %d\n%s", code, printed)
	}
}

// TestActionInstallsTheProgram gives the action a release that is served on this machine, and one whose checksum is wrong.
func TestActionInstallsTheProgram(t *testing.T) {
	timingtest.Parallel(t)
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	files := tar.NewWriter(zipped)
	const program = "#!/bin/sh\necho \"vigil $*\"\n"
	if err := files.WriteHeader(&tar.Header{Name: "vigil", Mode: 0o755, Size: int64(len(program))}); err != nil {
		t.Fatal(err)
	}
	_, _ = files.Write([]byte(program))
	_, _ = files.Close(), zipped.Close()
	releases := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		version, file, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if file != "SHA256SUMS" {
			_, _ = w.Write(archive.Bytes())
			return
		}
		sum := sha256.Sum256(archive.Bytes())
		if version == "v2.0.0" {
			sum[0]++
		}
		for _, machine := range []string{"linux_amd64", "linux_arm64", "darwin_arm64"} {
			_, _ = fmt.Fprintf(w, "%x  vigil-slim_%s_%s.tar.gz\n", sum, version, machine)
		}
	}))
	t.Cleanup(releases.Close)
	a := &action{t: t, path: "/usr/bin", url: "http://127.0.0.1:1", key: "vgl_test", dir: t.TempDir()}
	for version, want := range map[string]int{"v1.0.0": 0, "v2.0.0": 2, "main": 2} {
		code, printed, _, _ := a.run(map[string]string{"command": "apply", "version": version, "releases": releases.URL})
		if code != want || want == 0 && !strings.Contains(printed, "vigil apply -f monitoring/ --yes\n") {
			t.Errorf("with the release %s: %d, want %d\n%s", version, code, want, printed)
		}
	}
}

// write writes an executable file in a directory.
func write(t *testing.T, dir, name, text string) {
	t.Helper()
	programtest.Write(t, filepath.Join(dir, name), []byte(text))
}
