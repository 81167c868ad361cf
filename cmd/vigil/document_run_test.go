// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/platform"
)

// notRun are the commands of the documents that this test cannot run, with the reason. A
// command is meant when it contains the text. Commands of vigil among them are compared
// with its flags and arguments, and those of make with the Makefile.
var notRun = []struct{ document, text, reason string }{ //nolint:gochecknoglobals // a table
	{"README.md", "make ", "it builds the program or runs all tests, of which this is one"},
	{"README.md", "vigil login", "all documents share one platform; docs/cli.md logs in to it"},
	{"README.md", "./vigil up", "runs until it is stopped; the platform of this test is one"},
	{"README.md", "docker ", "needs a container engine; docker_test.go tries the image"},
	{"README.md", "apt-get install", "installs on the machine; needs a package of a release"},
	{"README.md", "systemctl enable", "needs an installed package; .ci/install-packages runs the line of the unit"},
	{"README.md", "export ", "needs a Postgres and a Temporal cluster of their own"},
	{"README.md", "vigil migrate", "needs them, too; the end-to-end tests run the roles as processes"},
	{"README.md", "vigil temporal setup", "the same"},
	{"README.md", "vigil api\n", "the same"},
	{"README.md", "vigil worker", "the same"},
	{"README.md", "vigil keys create", "the same"},
	{"docs/release.md", "git tag", "changes the repository"},
	{"docs/release.md", "make release", "builds for minutes; TestRelease runs its script"},
	{"docs/release.md", "postgres-archive -renew", "asks a mirror of Debian and changes the repository"},
	{"docs/release.md", "docker build", "needs the public bases; docker_test.go builds with others"},
	{"docs/status-pages.md", "/updates", "needs an open incident; TestIncidentUpdates publishes one"},
	{"docs/status-pages.md", "vigil status-page unsubscribe", "needs a subscriber; TestStatusPageSubscribers removes one"},
	{"docs/status-pages.md", "request PUT /v1/status-pages/", "needs a domain; TestStatusPageHosts gives a page one"},
	{"docs/status-pages.md", "vigil status-page verify-host", "needs its DNS; TestStatusPageHosts proves one"},
	{"docs/status-pages.md", "vigil status-page password", "needs a file with a password; TestAPassword opens a page with one"},
	{"docs/status-pages.md", "vigil status-page logo", "needs a picture; TestStatusPageLooks gives a page one"},
	{"docs/operations.md", "systemctl enable", "needs an installed package; .ci/install-packages runs the line of the unit"},
	{"docs/operations.md", "sudo -u vigil", "the same"},
	{"docs/operations.md", "docker compose", "needs images; compose_test.go starts the composition"},
	{"docs/operations.md", "docker build", "needs the public bases; docker_test.go builds with others"},
	{"docs/operations.md", "docker run", "needs images; image_test.go runs them"},
	{"docs/operations.md", "docker exec", "needs images; image_test.go does it"},
	{"docs/operations.md", "temporal workflow terminate", "needs the command line of Temporal; TestUpgrade goes back in the same way"},
	{"docs/operations.md", "vigil migrate --to", "reverts migrations of the running platform; TestUpgrade goes back with it"},
	{"docs/heartbeats.md", "backup.sh &&", "is the line of a job; TestHeartbeat pings"},
	{"docs/heartbeats.md", "vigil run", "needs a job; TestHeartbeatRun runs some"},
	{"docs/agents.md", "vigil location", "needs a location of its own; TestClient runs them"},
	{"docs/agents.md", "vigil agent", "runs until it is stopped, with the token of a location; TestRun and TestLook run it"},
	{"docs/agents.md", "vigil check create", "needs the location"},
	{"docs/backup.md", "age", "needs the program age"},
	{"docs/backup.md", "DATABASE_URL=postgres://", "needs another Postgres; TestBackup does it"},
	{"docs/backup.md", "createdb", "needs another Postgres; TestBackup does it"},
	{"docs/backup.md", "vigil migrate", "needs another Postgres; TestBackup does it"},
	{"docs/backup.md", "vigil restored", "would take the running platform for a restored one; TestDrillRestore does it"},
	{"docs/kubernetes.md", "helm ", "needs a cluster; charts renders what it would install"},
	{"docs/kubernetes.md", "kubectl ", "needs a cluster, too"},
	{"docs/production.md", "make cluster", "starts 28 processes, or takes hours; TestManyHosts starts a cluster and takes hosts of it"},
	{"docs/production.md", "docker compose", "starts 27 containers from the public bases; TestContainers compares its hosts with the plan"},
	{"docs/production.md", "make temporal-server", "builds for minutes; make test does it"},
	{"docs/temporal.md", "temporal workflow", "needs the command line of Temporal"},
	{"docs/temporal.md", "export TEMPORAL_CONFIG_FILE", "is for the command line of Temporal; TestTemporalProfile reads that file"},
}

// whyNotRun returns why a command is not run, "" when it is.
func whyNotRun(c command) string {
	for _, not := range notRun {
		if not.document == c.document && strings.Contains(c.text+"\n", not.text) {
			return not.reason
		}
	}
	return ""
}

// TestDocumentsSayWhyACommandIsNotRun compares commands that are not run with the program,
// and the list of reasons with the documents.
func TestDocumentsSayWhyACommandIsNotRun(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	var all []command
	for _, path := range documents(t) {
		all = append(all, commandsOf(t, path)...)
	}
	for _, c := range all {
		if whyNotRun(c) == "" {
			continue
		}
		for _, args := range vigilCalls(c.text) {
			if err := accepted(args, true); err != nil {
				t.Errorf("%s:%d: vigil %s: %v", c.document, c.line, strings.Join(args, " "), err)
			}
		}
		for _, words := range shellCommands(c.text) {
			if words[0] == "make" && !strings.Contains(string(makefile), "\n"+words[1]+":") {
				t.Errorf("%s:%d: the Makefile has no target %s", c.document, c.line, words[1])
			}
		}
	}
	for _, not := range notRun {
		used := false
		for _, c := range all {
			used = used || not.document == c.document && strings.Contains(c.text+"\n", not.text)
		}
		if !used {
			t.Errorf("%s has no command %q any more: remove it from the list", not.document, not.text)
		}
	}
}

// accepted returns why the program would refuse the words of a command; with whole the
// number of its arguments has to fit, too.
func accepted(args []string, whole bool) error {
	cmd, rest, err := newRootCommand().Find(args)
	if err != nil {
		return err
	}
	if cmd.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") && cmd.Args == nil {
		return fmt.Errorf("%s has no command %q", cmd.CommandPath(), rest[0])
	}
	cmd.InitDefaultHelpFlag()
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	if !whole {
		return nil
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// runDocument runs the commands of a document in one shell, in a directory of its own and
// for an organization of its own. Addresses of examples are those of the test's servers,
// which have no TLS.
func runDocument(t *testing.T, commands []command, p platform.Summary, target string, setup func(dir string) (map[string]string, error)) {
	t.Helper()
	dir := readableDir(t)
	values, err := setup(dir)
	if err != nil {
		t.Fatal(err)
	}
	replaced := strings.NewReplacer(
		"https://shop.example/", target+"/status/200", "https://hooks.example/", target+"/status/200",
		"http://127.0.0.1:8080", p.APIURL, "https://vigil.example.com", p.APIURL,
		"type: https", "type: http", "/backups/", dir+"/", "$(date +%F)", "2026-11-22", "/var/lib/", dir+"/",
	)
	writeRelease(t, dir)
	var script strings.Builder
	script.WriteString(shellSteps)
	tried := 0
	for _, c := range commands {
		if whyNotRun(c) != "" {
			continue
		}
		if _, err := exec.LookPath("curl"); err != nil && strings.HasPrefix(c.text, "curl") {
			t.Logf("%s:%d is not run: %v", c.document, c.line, err)
			continue
		}
		tried++
		fmt.Fprintf(&script, "step %s:%d %s %s %s\n", c.document, c.line, quote(c.code), quote(c.until), quote(replaced.Replace(c.text)))
	}
	if tried == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	began := time.Now()
	cmd := exec.CommandContext(ctx, "bash", "-c", script.String())
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "VIGIL_DATA_DIR="+p.DataDir, "VIGIL_API_KEY=", "VIGIL_URL=", "VIGIL_CONTEXT=")
	for name, value := range values {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	t.Logf("%d of %d commands in %v", tried, len(commands), time.Since(began).Round(time.Millisecond))
}

// writeRelease writes an archive of a release into a directory and below it, in dist. The
// program in it calls the one of this test.
func writeRelease(t *testing.T, dir string) {
	t.Helper()
	const script = `
printf '#!/bin/sh\nexec vigil "$@"\n' >vigil && chmod 755 vigil && mkdir dist
tar -czf dist/vigil_v1.2.0_linux_amd64.tar.gz vigil && rm vigil
(cd dist && sha256sum *.tar.gz >SHA256SUMS) && cp dist/* .`
	cmd := exec.CommandContext(t.Context(), "bash", "-ec", script)
	cmd.Dir = dir
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
}

// readableDir is a temporary directory that the user of Postgres can enter, too.
func readableDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "vigil-document-") //nolint:usetesting // t.TempDir is closed to the user of Postgres
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// shellSteps runs the steps of a document. A request of curl that the API refuses fails.
const shellSteps = `
curl() { command curl --fail-with-body "$@"; }
step() { # <document:line> <exit codes with |> <pattern that the output has at last> <command>
  local end=$((SECONDS + 45)) code
  while :; do
    eval "$4" >.out 2>.err </dev/null
    code=$?
    if [[ "|$2|" == *"|$code|"* ]] && { [ -z "$3" ] || grep -Eq -- "$3" .out; }; then return; fi
    if [ -z "$3" ] || [ "$SECONDS" -gt "$end" ]; then
      printf '%s: %s\nends with %s, want %s %s\n' "$1" "$4" "$code" "$2" "$3"
      cat .out .err
      exit 1
    fi
    sleep 0.1
  done
}
`

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
