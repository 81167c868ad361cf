// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/vigil-monitor/vigil/terraform/provider"
)

// startLimit is the longest that a start of the platform, or what a test waits for, may take. These tests give way to all
// others: at a load of 47, 5 checks were not made after 2 minutes, which takes seconds on a calm machine.
const startLimit = 6 * time.Minute

// acceptance reports whether the tests with the terraform program run: TF_ACC=1.
func acceptance() bool { return os.Getenv("TF_ACC") != "" }

// program is the terraform program, or OpenTofu's, which does the same.
func program() string { return cmp.Or(os.Getenv("TF_ACC_TERRAFORM_PATH"), "terraform") }

// registry is where the program looks for a provider whose address has no host.
var registry = "registry.terraform.io"

// findRegistry sets the registry of the program, also for terraform-plugin-testing. The
// program gets an empty configuration, so that none of this machine counts.
func findRegistry(configuration string) error {
	if err := os.WriteFile(configuration, nil, 0o600); err != nil {
		return err
	}
	if err := os.Setenv("TF_CLI_CONFIG_FILE", configuration); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	version, err := exec.CommandContext(ctx, program(), "version").Output()
	if err != nil {
		return fmt.Errorf("%s version: %w", program(), err)
	}
	fmt.Fprintf(os.Stdout, "The provider is tested with %s", version)
	if bytes.Contains(version, []byte("OpenTofu v")) {
		registry = "registry.opentofu.org"
	}
	return os.Setenv("TF_ACC_PROVIDER_HOST", registry)
}

// binaries are the programs under test, built once.
var binaries struct{ dir, vigil string }

// shared is the platform that most tests use.
var shared *platform

// TestMain builds Vigil and starts it once; the tests without TF_ACC need neither.
func TestMain(m *testing.M) {
	flag.Parse()
	if !acceptance() {
		os.Exit(m.Run())
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "vigil-terraform-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		_ = os.Chmod(dir, 0o755)
		if err := findRegistry(filepath.Join(dir, "terraform.rc")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		binaries.dir, binaries.vigil = dir, filepath.Join(dir, "vigil")
		if err := build("../..", binaries.vigil, "./cmd/vigil"); err != nil {
			fmt.Fprintln(os.Stderr, "build:", err)
			return 1
		}
		if shared, err = start(filepath.Join(dir, "data"), "127.0.0.1:0"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		_ = os.Setenv("VIGIL_URL", shared.URL)
		_ = os.Setenv("VIGIL_API_KEY", shared.Key)
		_ = os.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
		code := m.Run()
		if shared.stop(); code != 0 {
			fmt.Fprintf(os.Stderr, "the end of the log of vigil up:\n%s\n", shared.logEnd())
		}
		return code
	}())
}

// build builds a program of the module in a directory.
func build(dir, out, what string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w -X main.commit=test", "-o", out, what)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return cmd.Run()
}

// platform is a running `vigil up`.
type platform struct {
	URL string `json:"api_url"`
	Key string `json:"api_key"`

	cmd    *exec.Cmd
	log    *bytes.Buffer
	exited chan struct{}
}

// start runs `vigil up` with a directory of data and waits until it is ready.
func start(data, listen string, env ...string) (*platform, error) {
	p := &platform{exited: make(chan struct{}), log: &bytes.Buffer{}}
	p.cmd = exec.CommandContext(context.Background(), binaries.vigil, "up", "--json")
	p.cmd.Env = append(os.Environ(),
		"VIGIL_LISTEN="+listen, "VIGIL_TEMPORAL_LISTEN=127.0.0.1:0", "VIGIL_UI_LISTEN=127.0.0.1:0", "VIGIL_DATA_DIR="+data,
		"VIGIL_ALLOWED_PRIVATE_CIDRS=", "VIGIL_CANARIES=", "VIGIL_REGIONS=primary")
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.Stderr = p.log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	line := make(chan []byte, 1)
	go func() {
		scanner := bufio.NewScanner(out)
		scanner.Scan()
		line <- bytes.Clone(scanner.Bytes())
		_, _ = io.Copy(io.Discard, out)
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	select {
	case ready := <-line:
		if err := json.Unmarshal(ready, p); err != nil {
			p.kill()
			return nil, fmt.Errorf("vigil up is not ready: %w\n%s", err, p.log)
		}
		return p, nil
	case <-time.After(startLimit):
		p.kill()
		return nil, fmt.Errorf("vigil up is not ready after %v\n%s", startLimit, p.log)
	}
}

// kill ends the process as a crash does.
func (p *platform) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// stop ends the process in order.
func (p *platform) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(startLimit):
		p.kill()
	}
}

// logEnd returns the end of the log of a process that has ended.
func (p *platform) logEnd() []byte {
	text := p.log.Bytes()
	return text[max(0, len(text)-4<<10):]
}

// object is an object of the API.
type object = map[string]any

// call makes a request to the API and returns the data of the answer.
func (p *platform) call(t *testing.T, method, path string, body any) any {
	t.Helper()
	var payload io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		payload = bytes.NewReader(raw)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, p.URL+path, payload)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+p.Key)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var read struct {
		Data  any    `json:"data"`
		Error string `json:"error"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&read); err != nil && answer.StatusCode != http.StatusNoContent {
		t.Fatalf("%s %s: %d %v", method, path, answer.StatusCode, err)
	}
	if answer.StatusCode >= http.StatusBadRequest {
		t.Fatalf("%s %s: %d %s", method, path, answer.StatusCode, read.Error)
	}
	return read.Data
}

// list returns the objects of a list of the API.
func (p *platform) list(t *testing.T, path string) []object {
	t.Helper()
	var all []object
	for _, one := range p.call(t, http.MethodGet, path, nil).([]any) {
		all = append(all, one.(object))
	}
	return all
}

// inProcess serves the provider of this test to the terraform program.
func inProcess() map[string]func() (tfprotov6.ProviderServer, error) {
	return map[string]func() (tfprotov6.ProviderServer, error){
		"vigil": providerserver.NewProtocol6WithError(provider.New("test")()),
	}
}

// needsTerraform skips a test unless the terraform program is to be run.
func needsTerraform(t *testing.T) {
	t.Helper()
	if !acceptance() {
		t.Skip("needs OpenTofu or terraform: make test-terraform")
	}
}

// freeAddress returns an address of this machine that nothing listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// numbers counts, so that names of one run differ.
var numbers struct {
	sync.Mutex

	n int
}

// unique returns a name that no other test uses.
func unique(prefix string) string {
	numbers.Lock()
	defer numbers.Unlock()
	numbers.n++
	return fmt.Sprintf("%s-%d", prefix, numbers.n)
}
