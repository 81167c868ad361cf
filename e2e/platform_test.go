// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// waitLimit is the longest that a test waits for a condition, several times as long as on a slow machine.
const waitLimit = 3 * time.Minute

// startLimit is the longest that a test waits for a process to be ready.
const startLimit = waitLimit

// binary is the program under test, built once.
var binary string //nolint:gochecknoglobals // set by TestMain before any test runs

// TestMain builds the program. With -short it runs nothing: each test starts a whole
// platform, and many kill its parts.
func TestMain(m *testing.M) {
	atOnce()
	if testing.Short() {
		fmt.Fprintln(os.Stderr, "e2e: left out with -short; make e2e runs it")
		os.Exit(0)
	}
	_ = os.Setenv("VIGIL_CANARIES", "") // no test sends anything beyond this machine
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "vigil-e2e-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		_ = os.Chmod(dir, 0o755)
		binary = filepath.Join(dir, "vigil")
		// With a commit the workers need not read the whole program to tell Temporal which one it is, at each start.
		build := exec.Command("go", "build", "-ldflags", "-s -w -X main.commit=test", //nolint:noctx // bounded by the test's own timeout
			"-o", binary, "../cmd/vigil")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		build.Stdout, build.Stderr = os.Stderr, os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "build:", err)
			return 1
		}
		defer figures.print(os.Stdout)
		code := m.Run()
		if err := common.end(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return max(code, 1)
		}
		return code
	}())
}

// atOnce sets how many tests run at the same time, unless -parallel says so: each mostly
// waits. Where seconds are judged nothing else runs.
func atOnce() {
	if full() {
		_ = flag.Set("test.parallel", "1")
		flag.Parse() // what is given counts
		return
	}
	timingtest.AtOnce(6)
}

// ready is the line that `vigil up --json` prints.
type ready struct {
	APIURL          string `json:"api_url"`
	DocsURL         string `json:"docs_url"`
	TemporalUIURL   string `json:"temporal_ui_url"`
	TemporalAddress string `json:"temporal_address"`
	Namespace       string `json:"namespace"`
	MetricsURL      string `json:"metrics_url"`
	APIKey          string `json:"api_key"`
	SignInURL       string `json:"sign_in_url"`
	DataDir         string `json:"data_dir"`
	PID             int    `json:"pid"`
}

// process is one run of the program.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stderr *tail
	ready  ready
	exited chan struct{}
}

// tail keeps the end of a process's log, for the report of a failure.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (b *tail) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, p...)
	if over := len(b.text) - 64<<10; over > 0 {
		b.text = b.text[over:]
	}
	return len(p), nil
}

func (b *tail) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}

// start runs the program and waits until it is ready. It is killed at the end of
// the test if it is still running.
func start(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	return startAs(t, nil, env, args...)
}

// startAs is start as another user; nil means the current one.
func startAs(t *testing.T, user *syscall.Credential, env []string, args ...string) *process {
	t.Helper()
	return startBy(t, commandAs(user, args...), env)
}

// startBy is start with a command that runs the program.
func startBy(t *testing.T, cmd *exec.Cmd, env []string) *process {
	t.Helper()
	what := "vigil " + strings.Join(cmd.Args[1:], " ")
	defer timingtest.Waiting(t, what+" is ready")()
	p, err := spawn(cmd, env)
	if err != nil {
		t.Fatal(err)
	}
	p.t = t
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("log of %s:\n%s", what, p.stderr)
		}
	})
	return p
}

// commandAs is the command that runs the program as another user; nil means the current one.
func commandAs(user *syscall.Credential, args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...) //nolint:noctx // ended by kill or interrupt
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user}
	return cmd
}

// spawn runs the program and waits until it is ready.
func spawn(cmd *exec.Cmd, env []string) (*process, error) {
	p := &process{cmd: cmd, stderr: &tail{}, exited: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	lines := make(chan string, 1)
	go func() {
		scanner := bufio.NewScanner(out)
		if scanner.Scan() {
			lines <- scanner.Text()
		}
		close(lines)
		_, _ = io.Copy(io.Discard, out)
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	select {
	case line := <-lines:
		if err := json.Unmarshal([]byte(line), &p.ready); err != nil {
			p.kill()
			return nil, fmt.Errorf("not ready: %w\noutput: %s\n%s", err, line, p.stderr)
		}
		temporalDirs.Store(p.ready.TemporalAddress, p.ready.DataDir)
	case <-time.After(startLimit):
		p.kill()
		return nil, fmt.Errorf("not ready after %v:\n%s", startLimit, p.stderr)
	}
	return p, nil
}

// kill sends SIGKILL and waits until the process has ended.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// stop sends SIGTERM and returns how long the shutdown took.
func (p *process) stop() time.Duration {
	p.t.Helper()
	defer timingtest.Waiting(p.t, "the process ends after SIGTERM")()
	took, err := p.interrupt()
	if err != nil {
		p.t.Fatal(err)
	}
	return took
}

// interrupt is stop without a test.
func (p *process) interrupt() (took time.Duration, err error) {
	began := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, err
	}
	select {
	case <-p.exited:
	case <-time.After(waitLimit):
		p.kill()
		return 0, fmt.Errorf("still running %v after SIGTERM:\n%s", waitLimit, p.stderr)
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		return 0, fmt.Errorf("exit code %d after SIGTERM:\n%s", code, p.stderr)
	}
	return time.Since(began), nil
}

// up runs `vigil up` on free ports.
func up(t *testing.T, dir string, env ...string) *process {
	t.Helper()
	return upBy(t, commandAs(nil, "up", "--json"), dir, env...)
}

// upBy is up with a command that runs it.
func upBy(t *testing.T, cmd *exec.Cmd, dir string, env ...string) *process {
	t.Helper()
	base := []string{
		"VIGIL_LISTEN=127.0.0.1:0", "VIGIL_TEMPORAL_LISTEN=127.0.0.1:0", "VIGIL_UI_LISTEN=127.0.0.1:0", "VIGIL_DATA_DIR=" + dir,
	}
	return startBy(t, cmd, append(base, env...))
}

// freeAddress returns an unused address. Its port is below the range of ephemeral
// ports, so that no outgoing connection takes it before it is used.
func freeAddress(t *testing.T) string {
	t.Helper()
	var config net.ListenConfig
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000))
		if l, err := config.Listen(t.Context(), "tcp", address); err == nil {
			_ = l.Close()
			return address
		}
	}
	t.Fatal("no free port")
	return ""
}

// client calls the API.
type client struct {
	t        *testing.T
	url, key string
}

// answer is a response of the API.
type answer struct {
	Status  int
	Data    json.RawMessage `json:"data"`
	Error   string          `json:"error"`
	Code    string          `json:"code"`
	Details map[string]any  `json:"details"` // of an error
	Meta    struct {
		Total string `json:"total"` // of a list
	} `json:"meta"`
}

func (c client) do(method, path string, body any) answer {
	c.t.Helper()
	a, err := c.try(method, path, body)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

func (c client) try(method, path string, body any) (answer, error) {
	var payload io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return answer{}, err
		}
		payload = bytes.NewReader(raw)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.t.Context()), 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, payload)
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	a := answer{Status: response.StatusCode}
	if response.StatusCode == http.StatusNoContent {
		return a, nil
	}
	return a, json.NewDecoder(response.Body).Decode(&a)
}

// into makes a request that must succeed and decodes the data of the response.
func (c client) into(out any, method, path string, body any) {
	c.t.Helper()
	c.read(c.do(method, path, body), out, method, path)
}

// read decodes the data of an answer, which must be a success. A nil out takes any data.
func (c client) read(a answer, out any, method, path string) {
	c.t.Helper()
	if a.Status/100 != 2 {
		c.t.Fatalf("%s %s: %d %s", method, path, a.Status, a.Error)
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(a.Data, out); err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
}

// act acknowledges or resolves an incident. The API waits 2 s for an incident's workflow and answers 503
// after that, and what a client does then is to try again: so does act.
func (c client) act(out any, incident, action string, body any) {
	c.t.Helper()
	path := "/v1/incidents/" + incident + "/" + action
	var a answer
	eventually(c.t, "the incident answers to "+action, func() bool {
		a = c.do(http.MethodPost, path, body)
		return a.Status != http.StatusServiceUnavailable
	})
	c.read(a, out, http.MethodPost, path)
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, fact func() bool) {
	t.Helper()
	timingtest.Eventually(t, waitLimit, what, fact)
}
