// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestTypeScriptClient runs the tests of the client of TypeScript, against a platform besides.
func TestTypeScriptClient(t *testing.T) {
	timingtest.Parallel(t)
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("there is no Node.js: its client is not tried")
	}
	if output, err := exec.CommandContext(t.Context(), "../.ci/typescript").CombinedOutput(); err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 3 {
			t.Skipf("the compiler of TypeScript cannot be installed: its client is not tried\n%s", output)
		}
		t.Fatalf("%v\n%s", err, output)
	}
	tests, err := filepath.Glob("../clients/typescript/test/*.test.mjs")
	if err != nil {
		t.Fatal(err)
	}
	for i := range tests {
		tests[i] = strings.TrimPrefix(tests[i], "../clients/typescript/")
	}
	output := runsClient(t, "clients/typescript", "node", append([]string{"--test", "--test-reporter=tap"}, tests...)...)
	if !regexp.MustCompile(`(?m)^# pass \d\d+$`).MatchString(output) || !strings.Contains(output, "\n# skipped 0\n") {
		t.Errorf("some did not run:\n%s", output)
	}
}

// TestPythonClient runs the tests of the client of Python, against a platform besides.
func TestPythonClient(t *testing.T) {
	timingtest.Parallel(t)
	if exec.CommandContext(t.Context(), "python3", "-c", "import sys; sys.exit(sys.version_info < (3, 9))").Run() != nil {
		t.Skip("there is no Python from version 3.9 on: its client is not tried")
	}
	output := runsClient(t, "clients/python", "python3", "-B", "-W", "error", "-m", "unittest")
	if !regexp.MustCompile(`(?m)^Ran \d\d+ tests in`).MatchString(output) || !strings.HasSuffix(strings.TrimSpace(output), "\nOK") {
		t.Errorf("some did not run:\n%s", output)
	}
}

// runsClient runs a program in a folder of the clients, with the address of a proxy before the shared platform and a
// key of an organization of its own. It returns what the program printed, and reports what the proxy did not see.
func runsClient(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	_, c := shared(t)
	faults := newFaults(t, c.url)
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = filepath.Join("..", dir)
	cmd.Env = append(os.Environ(), "VIGIL_URL="+faults.url, "VIGIL_API_KEY="+c.key, "NO_COLOR=1")
	cmd.WaitDelay = time.Second
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, output)
	}
	faults.mu.Lock()
	defer faults.mu.Unlock()
	// Three checks that are listed, and one whose events are followed.
	if faults.lost != 4 || faults.repeated != 4 {
		t.Errorf("%d answers to checks that were created were lost, and %d requests repeated, want 4 of each", faults.lost, faults.repeated)
	}
	if faults.resumed < 3 {
		t.Errorf("streams resumed %d times after an event, want 3 and more", faults.resumed)
	}
	return string(output)
}

// faults is a proxy before a platform. Of each request that creates a check it loses the first answer, and it
// cuts each alert stream after its first event.
type faults struct {
	url string

	mu                      sync.Mutex
	keys                    map[string]bool // the keys of requests whose answer was lost
	lost, repeated, resumed int
}

func newFaults(t *testing.T, to string) *faults {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	f := &faults{keys: map[string]bool{}}
	proxy := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: f.answered,
		FlushInterval:  -1,
		ErrorLog:       log.New(io.Discard, "", 0), // it breaks off on purpose
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

// answered loses an answer by an error, and cuts a stream by a body that ends with one.
func (f *faults) answered(response *http.Response) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	request := response.Request
	switch {
	case request.Method == http.MethodPost && request.URL.Path == "/v1/checks" && response.StatusCode == http.StatusCreated:
		key := request.Header.Get("Idempotency-Key")
		if !f.keys[key] {
			f.keys[key] = true
			f.lost++
			return http.ErrAbortHandler
		}
		f.repeated++
	case request.URL.Path == "/v1/stream/alerts":
		if last := request.Header.Get("Last-Event-ID"); last != "" && last != "0-0" {
			f.resumed++
		}
		response.Body = &cutBody{ReadCloser: response.Body}
	}
	return nil
}

// cutBody is an alert stream that breaks off after its first event.
type cutBody struct {
	io.ReadCloser
	rest  []byte
	ended bool
}

// Read reads up to the end of the first event.
func (b *cutBody) Read(p []byte) (int, error) {
	if b.ended {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.ReadCloser.Read(p)
	b.rest = append(b.rest, p[:n]...)
	at := bytes.Index(b.rest, []byte("\nevent: "))
	if at < 0 {
		return n, err
	}
	end := bytes.Index(b.rest[at:], []byte("\n\n"))
	if end < 0 {
		return n, err
	}
	b.ended = true
	return n - (len(b.rest) - (at + end + 2)), nil
}
