// SPDX-License-Identifier: Apache-2.0

// Package docker_test tests the container images: it builds them, and runs them in an engine of
// its own or one that runs. Without any it runs the build steps as plain commands, and tries
// every command line, health check and setting of the files on the program itself.
package docker_test

import (
	"context"
	"debug/elf"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// target is one FROM section of the Dockerfile.
type target struct {
	name, base string
	lines      [][2]string // instruction and argument
}

func dockerfile() ([]target, error) {
	raw, err := os.ReadFile("Dockerfile")
	if err != nil {
		return nil, err
	}
	from := regexp.MustCompile(`^(\S+) AS (\S+)$`)
	var targets []target
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		instruction, argument, _ := strings.Cut(line, " ")
		if instruction == "FROM" {
			named := from.FindStringSubmatch(argument)
			if named == nil {
				return nil, fmt.Errorf("FROM %s has no name", argument)
			}
			targets = append(targets, target{name: named[2], base: named[1]})
			continue
		}
		if len(targets) == 0 {
			continue // an argument of all
		}
		last := &targets[len(targets)-1]
		last.lines = append(last.lines, [2]string{instruction, argument})
	}
	return targets, nil
}

// buildProgram runs the RUN lines of a target in the source tree, with /out replaced by a
// directory, so that the programs of the image are built by its own words.
func buildProgram(ctx context.Context, name, out string, variables ...string) error {
	targets, err := dockerfile()
	if err != nil {
		return err
	}
	for _, target := range targets {
		if target.name != name {
			continue
		}
		for _, line := range target.lines {
			if line[0] != "RUN" {
				continue
			}
			cmd := exec.CommandContext(ctx, "sh", "-c", strings.ReplaceAll(line[1], "/out/", out+"/"))
			cmd.Dir = ".."
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "VERSION=tried", "COMMIT=0123456789abcdef")
			cmd.Env = append(cmd.Env, variables...)
			if output, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("RUN %s: %w\n%s", line[1], err, output)
			}
		}
	}
	return nil
}

// programs makes the directory of the programs of the images, once; TestMain removes it.
var programs = sync.OnceValues(makePrograms) //nolint:gochecknoglobals // for all tests

func makePrograms() (string, error) { return os.MkdirTemp("", "vigil-programs") }

// slim builds the program of the roles, once.
var slim = sync.OnceValues(func() (string, error) { //nolint:gochecknoglobals // for all tests
	out, err := programs()
	if err != nil {
		return "", err
	}
	return filepath.Join(out, "vigil-slim"), buildProgram(context.Background(), "build-roles", out)
})

// build returns the path of the program of the roles.
func build(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped in short mode: it builds the program")
	}
	used.Store(true)
	binary, err := slim()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// accepts fails the test unless the program prints the help of a command line.
func accepts(t *testing.T, binary string, args ...string) {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), binary, append(slices.Clone(args), "--help")...).CombinedOutput()
	if err != nil || len(args) > 0 && args[0] != "--help" && !strings.Contains(string(output), "vigil "+args[0]) {
		t.Errorf("vigil %s: %v\n%s", strings.Join(args, " "), err, output)
	}
}

func TestDockerfile(t *testing.T) {
	t.Parallel()
	binary := build(t)
	targets, err := dockerfile()
	if err != nil {
		t.Fatal(err)
	}

	t.Run("BinaryIsStaticAndHasItsVersion", func(t *testing.T) {
		t.Parallel()
		file, err := elf.Open(binary)
		if err != nil {
			t.Skipf("not an ELF binary: %v", err)
		}
		defer func() { _ = file.Close() }()
		for _, p := range file.Progs {
			if p.Type == elf.PT_INTERP {
				t.Error("the binary needs a dynamic linker, which the image does not have")
			}
		}
		output, err := exec.CommandContext(t.Context(), binary, "version").Output()
		if text := string(
			output,
		); err != nil || !strings.Contains(text, "vigil tried, commit 0123456789ab, ") ||
			!strings.Contains(text, "slim") {
			t.Errorf("%s, %v", output, err)
		}
	})
	t.Run("BinaryOfTheRolesHasNoServer", func(t *testing.T) {
		t.Parallel()
		cmd := exec.CommandContext(t.Context(), binary, "temporal")
		cmd.Env = []string{"DATABASE_URL=postgres://127.0.0.1:1/none", "HOME=" + t.TempDir()}
		if output, err := cmd.CombinedOutput(); err == nil || len(output) == 0 {
			t.Errorf("%s, %v", output, err)
		}
	})
	t.Run("TargetsBuildOnEachOtherAndRunWithoutPrivileges", func(t *testing.T) {
		t.Parallel()
		known := map[string]bool{"${BUILD_BASE}": true, "${POSTGRES_BASE}": true, "${ROLES_BASE}": true, "${BASE}": true, "${CLUSTER_BASE}": true}
		unprivileged := map[string]bool{}
		for _, target := range targets {
			if !known[target.base] {
				t.Errorf("%s: there is no %s", target.name, target.base)
			}
			known[target.name] = true
			unprivileged[target.name] = unprivileged[target.base]
			for _, line := range target.lines {
				if line[0] == "USER" {
					unprivileged[target.name] = line[1] != "root" && !strings.HasPrefix(line[1], "0")
				}
				if line[0] == "CMD" && !unprivileged[target.name] {
					t.Errorf("%s runs as root", target.name)
				}
			}
		}
	})
	t.Run("ProgramKnowsEveryCommand", func(t *testing.T) {
		t.Parallel()
		tried := 0
		for _, target := range targets {
			for _, line := range target.lines {
				at := strings.IndexByte(line[1], '[')
				if line[0] != "CMD" && line[0] != "HEALTHCHECK" || at < 0 {
					continue
				}
				var args []string
				if err := json.Unmarshal([]byte(line[1][at:]), &args); err != nil {
					t.Fatal(err)
				}
				accepts(t, binary, slices.DeleteFunc(args, func(arg string) bool { return arg == "/vigil" })...)
				tried++
			}
		}
		if tried < 3 {
			t.Errorf("only %d commands were found", tried)
		}
	})
}

// project reads compose.yaml like Docker Compose: it validates the schema of the Compose
// specification, replaces variables and resolves references.
func project(ctx context.Context, variables ...string) (*types.Project, error) {
	environment := types.Mapping{}
	for _, name := range variables {
		environment[name] = "tried"
	}
	return loader.LoadWithContext(ctx, types.ConfigDetails{
		WorkingDir: ".", ConfigFiles: types.ToConfigFiles([]string{"compose.yaml"}), Environment: environment,
	})
}

func TestCompose(t *testing.T) {
	t.Parallel()
	read, err := project(t.Context(), "POSTGRES_PASSWORD", "VIGIL_SECRET_KEY")
	if err != nil {
		t.Fatal(err)
	}
	for _, lone := range []string{"POSTGRES_PASSWORD", "VIGIL_SECRET_KEY"} {
		if _, err := project(t.Context(), lone); err == nil {
			t.Errorf("%s alone was enough", lone)
		}
	}
	known, err := dockerfile()
	if err != nil {
		t.Fatal(err)
	}
	binary := build(t)
	help, err := exec.CommandContext(t.Context(), binary, "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"api", "control", "migrate", "postgres", "setup", "temporal", "worker-frankfurt", "worker-newark"}
	if got := slices.Sorted(maps.Keys(read.Services)); !slices.Equal(got, want) {
		t.Errorf("services %v, want %v", got, want)
	}
	for name, service := range read.Services {
		if service.Build == nil {
			if service.HealthCheck == nil {
				t.Errorf("%s has no health check", name)
			}
			continue
		}
		if !slices.ContainsFunc(known, func(one target) bool { return one.name == service.Build.Target }) {
			t.Errorf("%s: the Dockerfile has no target %q", name, service.Build.Target)
		}
		if service.Restart == types.RestartPolicyUnlessStopped && service.HealthCheck == nil {
			t.Errorf("%s has no health check", name)
		}
		for on, how := range service.DependsOn {
			if how.Condition == types.ServiceConditionCompletedSuccessfully && read.Services[on].Restart != types.RestartPolicyOnFailure {
				t.Errorf("%s waits for the end of %s, which does not end", name, on)
			}
		}
		if len(service.Command) > 0 {
			accepts(t, binary, service.Command...)
		}
		for variable := range service.Environment {
			if !strings.Contains(string(help), "["+variable+"]") {
				t.Errorf("%s: the program knows no setting %s", name, variable)
			}
		}
	}
}

// TestChartCommands tries the command lines of the chart, which a test beside it keeps in a file.
func TestChartCommands(t *testing.T) {
	t.Parallel()
	lines, err := os.ReadFile(filepath.Join("..", "charts", "testdata", "commands"))
	if err != nil {
		t.Fatal(err)
	}
	binary := build(t)
	for line := range strings.Lines(string(lines)) {
		accepts(t, binary, strings.Fields(line)...)
	}
}
