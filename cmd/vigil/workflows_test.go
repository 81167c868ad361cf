// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/vigil-monitor/vigil/internal/pgbin/programtest"
)

// workflow is the part of a workflow of GitHub that says what is run, and with which rights.
type workflow struct {
	Name        string `yaml:"name"`
	Permissions map[string]string
	Jobs        map[string]struct {
		TimeoutMinutes int `yaml:"timeout-minutes"`
		Steps          []struct {
			Uses string            `yaml:"uses"`
			Run  string            `yaml:"run"`
			With map[string]any    `yaml:"with"`
			Env  map[string]string `yaml:"env"`
		} `yaml:"steps"`
	} `yaml:"jobs"`
}

// pinned is an action by its commit: a tag can be given another one.
var pinned = regexp.MustCompile(`^actions/[a-z-]+@[0-9a-f]{40}$`)

// TestWorkflows holds the workflows of GitHub to what is run elsewhere as well: .ci/run and targets of the
// Makefile. So what CI does can be repeated on any machine.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(files) < 2 {
		t.Fatalf("workflows %v, %v", files, err)
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	var commands []string
	for _, file := range files {
		var flow workflow
		text, err := os.ReadFile(file)
		if err == nil {
			err = yaml.Unmarshal(text, &flow)
		}
		if err != nil || flow.Name == "" || len(flow.Jobs) == 0 || len(flow.Permissions) == 0 {
			t.Fatalf("%s is not a workflow: %+v, %v", file, flow, err)
		}
		if strings.Contains(string(text), "pull_request_target") {
			t.Errorf("%s runs the code of strangers with the rights of the repository", file)
		}
		for name, job := range flow.Jobs {
			if job.TimeoutMinutes == 0 {
				t.Errorf("%s: the job %s may run for six hours", file, name)
			}
			for _, step := range job.Steps {
				if step.Uses != "" && !pinned.MatchString(step.Uses) {
					t.Errorf("%s: %s is not an action of GitHub's own by its commit", file, step.Uses)
				}
				if step.Run != "" {
					commands = append(commands, step.Run)
					ofMake(t, file, step.Run, string(makefile))
				}
			}
		}
	}
	for _, want := range []string{".ci/run", "make release"} {
		if !slices.Contains(commands, want) {
			t.Errorf("no workflow runs %s: %q", want, commands)
		}
	}
}

// ofMake reports a command that is neither .ci/run nor a target of the Makefile.
func ofMake(t *testing.T, file, command, makefile string) {
	t.Helper()
	if command == ".ci/run" {
		return
	}
	targets, ok := strings.CutPrefix(command, "make ")
	if !ok || targets == "" {
		t.Errorf("%s runs %q, which is neither .ci/run nor a target of the Makefile", file, command)
	}
	for _, target := range strings.Fields(targets) {
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(target) + `:`).MatchString(makefile) {
			t.Errorf("%s: the Makefile has no target %q", file, target)
		}
	}
}

// TestIssueForms holds the forms of issues to what GitHub asks of them; it shows no form that it cannot read.
func TestIssueForms(t *testing.T) {
	t.Parallel()
	forms, err := filepath.Glob("../../.github/ISSUE_TEMPLATE/*.yml")
	if err != nil || len(forms) < 3 {
		t.Fatalf("forms %v, %v", forms, err)
	}
	for _, file := range forms {
		if filepath.Base(file) == "config.yml" {
			continue
		}
		var form struct {
			Name, Description string
			Labels            []string
			Body              []struct {
				Type       string
				ID         string `yaml:"id"`
				Attributes struct {
					Label, Value, Description, Placeholder, Render string
					Options                                        []any
				}
				Validations struct{ Required bool }
			}
		}
		text, err := os.ReadFile(file)
		if err == nil {
			err = yaml.UnmarshalWithOptions(text, &form, yaml.Strict())
		}
		if err != nil || form.Name == "" || form.Description == "" {
			t.Fatalf("%s: %+v, %v", file, form, err)
		}
		seen := map[string]bool{}
		for _, part := range form.Body {
			switch part.Type {
			case "markdown":
				if part.Attributes.Value == "" {
					t.Errorf("%s has markdown without a value", file)
				}
			case "textarea", "input", "dropdown", "checkboxes":
				if part.Attributes.Label == "" || part.ID == "" || seen[part.ID] {
					t.Errorf("%s: %+v needs a label, and an id of its own", file, part)
				}
				if (part.Type == "dropdown" || part.Type == "checkboxes") && len(part.Attributes.Options) == 0 {
					t.Errorf("%s: %s has no options", file, part.ID)
				}
			default:
				t.Errorf("%s has the type %q", file, part.Type)
			}
			seen[part.ID] = true
		}
		if len(seen) < 2 {
			t.Errorf("%s asks for nothing", file)
		}
	}
}

// TestPublish runs the script of `make publish` with a program in the place of gh that prints what it is given.
func TestPublish(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script, err := os.ReadFile("../../.ci/publish")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		".ci/publish": string(script), "dist/SHA256SUMS": "sums", "dist/vigil_v1.2.0_linux_amd64.tar.gz": "archive",
		"CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n\nLater.\n\n" +
			"## [1.2.0] - 2026-11-28\n\n### Added\n\n- Now.\n\n## [1.1.0] - 2026-11-01\n\nBefore.\n",
		"bin/gh": "#!/bin/sh\nwhile [ $# -gt 0 ]; do echo \"$1\"; if [ \"$1\" = --notes-file ]; then shift; cat \"$1\"; fi; shift; done\n",
	} {
		programtest.Write(t, filepath.Join(dir, name), []byte(text))
	}
	publish := func(version string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "bash", filepath.Join(dir, ".ci/publish"))
		cmd.Env = append(os.Environ(), "VERSION="+version, "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
		output, err := cmd.CombinedOutput()
		return string(output), err
	}
	output, err := publish("v1.2.0")
	for _, want := range []string{
		"create\nv1.2.0\n--draft\n", "--verify-tag", "- Now.", "dist/SHA256SUMS\ndist/vigil_v1.2.0_linux_amd64.tar.gz\n",
	} {
		if err != nil || !strings.Contains(output, want) {
			t.Errorf("publish: no %q in\n%s(%v)", want, output, err)
		}
	}
	if strings.Contains(output, "Later.") || strings.Contains(output, "Before.") {
		t.Errorf("the notes have those of other versions:\n%s", output)
	}
	if output, err := publish("v1.3.0"); err == nil || !strings.Contains(output, "dist has another version than v1.3.0") {
		t.Errorf("another version: %v\n%s", err, output)
	}
}
