// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/api/apitest"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// waitTimeout limits every wait for something that must happen.
const waitTimeout = 90 * time.Second

// The platform under test. It is started once for all tests.
var (
	baseURL  string            //nolint:gochecknoglobals // set by TestMain before any test runs
	dataDir  string            //nolint:gochecknoglobals // set by TestMain before any test runs
	document *apitest.Contract //nolint:gochecknoglobals // set by TestMain before any test runs
	serial   atomic.Int64      //nolint:gochecknoglobals // numbers the accounts of all tests
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp(storagetest.BaseDir(), "vigil-contract-")
	if err != nil {
		return failed(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	_ = os.Chmod(dir, 0o755) // its Postgres may run as another user
	binary := filepath.Join(dir, "vigil")
	build := exec.Command("go", "build", "-ldflags", "-s -w -X main.commit=test", //nolint:noctx // bounded by the test's own timeout
		"-o", binary, "../../cmd/vigil")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return failed(err)
	}
	dataDir = filepath.Join(dir, "data")
	platform := exec.Command(binary, "up", "--json") //nolint:noctx // stopped below
	platform.Env = append(os.Environ(), "VIGIL_LISTEN=127.0.0.1:0", "VIGIL_TEMPORAL_LISTEN=127.0.0.1:0", "VIGIL_UI_LISTEN=127.0.0.1:0",
		"VIGIL_CANARIES=", "VIGIL_REGIONS=primary", "VIGIL_DATA_DIR="+dataDir, "VIGIL_DELIVERY_SCHEDULE=100ms,100ms,100ms")
	var stderr bytes.Buffer
	platform.Stderr = &stderr
	out, err := platform.StdoutPipe()
	if err != nil {
		return failed(err)
	}
	if err := platform.Start(); err != nil {
		return failed(err)
	}
	defer func() {
		_ = platform.Process.Signal(syscall.SIGTERM)
		_ = platform.Wait()
	}()
	var ready struct {
		APIURL string `json:"api_url"`
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &ready) != nil {
		return failed(fmt.Errorf("not ready: %w\n%s", err, stderr.String()))
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	baseURL = ready.APIURL
	if document, err = served(baseURL + "/openapi.json"); err != nil {
		return failed(err)
	}
	return m.Run()
}

// served reads the OpenAPI document of the running program.
func served(address string) (*apitest.Contract, error) {
	res, err := http.Get(address) //nolint:noctx // bounded by the test's own timeout
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	return apitest.Read(text)
}

// conforming returns a client that holds every exchange to the OpenAPI document that the program
// itself serves: a status, a content type, a header or a body that is not described fails the
// test, and so does a request that succeeds although it is not described.
func conforming(t *testing.T) *http.Client {
	t.Helper()
	return &http.Client{Transport: &apitest.Transport{Contract: document, Next: http.DefaultTransport, Report: t.Errorf}}
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// answer is a decoded response.
type answer struct {
	status int
	header http.Header
	raw    []byte
	body   map[string]any
}

// caller sends requests to the API, without authentication when credential is empty.
type caller struct {
	t          *testing.T
	credential string
	email      string
}

// anonymous returns a caller without a credential.
func anonymous(t *testing.T) caller {
	t.Helper()
	return caller{t: t}
}

// newCaller creates a free organization by quick sign-up and returns its caller.
func newCaller(t *testing.T) caller {
	t.Helper()
	email := fmt.Sprintf("tester%d@example.com", serial.Add(1))
	data := anonymous(t).want(http.StatusCreated, "POST", "/v1/auth/quick-signup", object{"email": email, "org_name": "Testers"}).data()
	return caller{t: t, credential: text(data["api_key"]), email: email}
}

type object = map[string]any

// do sends a request. A string body is sent unchanged, any other as JSON.
func (c caller) do(method, path string, body any, headers ...string) answer {
	c.t.Helper()
	var content io.Reader
	switch body := body.(type) {
	case nil:
	case string:
		content = strings.NewReader(body)
	default:
		raw, err := json.Marshal(body)
		if err != nil {
			c.t.Fatal(err)
		}
		content = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, baseURL+path, content)
	if err != nil {
		c.t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.credential != "" {
		req.Header.Set("Authorization", "Bearer "+c.credential)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := conforming(c.t).Do(req)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = res.Body.Close() }()
	a := answer{status: res.StatusCode, header: res.Header}
	if a.raw, err = io.ReadAll(res.Body); err != nil {
		c.t.Fatal(err)
	}
	if len(a.raw) > 0 {
		if err := json.Unmarshal(a.raw, &a.body); err != nil {
			c.t.Fatalf("%s %s answered no JSON: %q", method, path, a.raw)
		}
	}
	return a
}

// want sends a request and fails the test unless the response has this status. Every
// error response must have an error message.
func (c caller) want(status int, method, path string, body any, headers ...string) answer {
	c.t.Helper()
	a := c.do(method, path, body, headers...)
	if a.status != status {
		c.t.Fatalf("%s %s: status %d, want %d: %s", method, path, a.status, status, a.raw)
	}
	if _, ok := a.body["error"].(string); status >= http.StatusBadRequest && !ok {
		c.t.Fatalf("%s %s: no error message: %s", method, path, a.raw)
	}
	return a
}

func (a answer) data() object {
	data, _ := a.body["data"].(object)
	return data
}

func (a answer) list() []object {
	items, _ := a.body["data"].([]any)
	list := make([]object, 0, len(items))
	for _, item := range items {
		row, _ := item.(object)
		list = append(list, row)
	}
	return list
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// newCheck returns the body that creates a check of a URL.
func newCheck(url string) object {
	return object{"name": "Service", "type": "http", "config": object{"url": url, "timeout_seconds": 5}, "interval_seconds": 60}
}

// check creates a check and returns it.
func (c caller) check(url string) object {
	c.t.Helper()
	return c.want(http.StatusCreated, "POST", "/v1/checks", newCheck(url)).data()
}

// eventually waits until a fact is true.
func eventually(t *testing.T, what string, fact func() bool) {
	t.Helper()
	timingtest.Eventually(t, waitTimeout, what, fact)
}

// mailTo waits for a mail to an address that contains a text, and returns the newest such
// mail with its folded lines joined.
func mailTo(t *testing.T, address, holding string) string {
	t.Helper()
	var found string
	eventually(t, "a mail to "+address, func() bool {
		names, _ := filepath.Glob(filepath.Join(dataDir, "mail", "*.eml"))
		for _, name := range names {
			raw, err := os.ReadFile(name)
			if err != nil {
				continue
			}
			mail := strings.NewReplacer("=\r\n", "", "=\n", "", "=3D", "=").Replace(string(raw))
			if strings.Contains(mail, "<"+address+">") && strings.Contains(mail, holding) {
				found = mail
			}
		}
		return found != ""
	})
	return found
}
