// SPDX-License-Identifier: Apache-2.0

package agentcmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/cmd/vigil-agent/agentcmd"
	"github.com/vigil-monitor/vigil/internal/agentlink"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

const token = agentlink.TokenPrefix + "abcdefghijklmnop"

// asProgram makes this test program vigil-agent.
const asProgram = "AGENTCMD_TEST_PROGRAM"

// answer writes what an operation answers with.
func answer(w http.ResponseWriter, body any) {
	_ = json.NewEncoder(w).Encode(map[string]any{"data": body})
}

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	os.Exit(agentcmd.Main(ctx, os.Args[1:], "v1.2.3", os.Stdout, os.Stderr))
}

// program runs vigil-agent with an environment and arguments.
func program(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append([]string{asProgram + "=1", "VIGIL_AGENT_DATA_DIR=" + t.TempDir()}, env...)
	return cmd
}

// runs runs it to its end.
func runs(t *testing.T, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := program(t, env, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	for _, text := range []string{out.String(), errs.String()} {
		if strings.Contains(text, token) {
			t.Errorf("the token is shown: %s", text)
		}
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// platform is one that answers sessions and reports. ahead is by how much its clock is.
func platform(t *testing.T, start func(http.Handler) *httptest.Server, ahead time.Duration) (url string, left *atomic.Bool) {
	t.Helper()
	left = new(atomic.Bool)
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+agentlink.PathSessions, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		answer(w, agentlink.Welcome{
			Session: uuid.New(), Location: agentlink.Place{Key: "loc-office"}, Time: time.Now().Add(ahead),
		})
	})
	mux.HandleFunc("GET "+agentlink.PathStream, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, ": hello\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("POST "+agentlink.PathResults, func(w http.ResponseWriter, r *http.Request) {
		var report agentlink.Report
		_ = json.NewDecoder(r.Body).Decode(&report)
		if report.Leaving {
			left.Store(true)
		}
		answer(w, agentlink.Receipt{Time: time.Now().Add(ahead)})
	})
	s := start(mux)
	t.Cleanup(s.Close)
	t.Cleanup(s.CloseClientConnections)
	return s.URL, left
}

func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Wrong settings are named, with what would be right.
func TestSettings(t *testing.T) {
	t.Parallel()
	file := written(t, token+"\n")
	for _, wrong := range []struct{ flags, env, says string }{
		{"", "", "VIGIL_AGENT_URL (--url) is missing"},
		{"--url https://vigil.example.com", "", "VIGIL_AGENT_TOKEN_FILE (--token-file)"},
		{"--url vigil.example.com --token-file " + file, "", "VIGIL_AGENT_URL (--url) must be an address such as"},
		{"--url https://u:p@vigil.example.com --token-file " + file, "", "must be an address such as"},
		{"--url https://a --allow 10.0.0.0/8 --allow 10.0.0.1/8 --token-file " + file, "", "did you mean 10.0.0.0/8?"},
		{"--url https://a --spool-bytes 5 --token-file " + file, "", "VIGIL_AGENT_SPOOL_BYTES (--spool-bytes) is 5; it must lie between"},
		{"--url https://a --token-file " + file, "VIGIL_AGENT_MAX_PROBES=many", "VIGIL_AGENT_MAX_PROBES (--max-probes)"},
		{"--url https://a --token-file " + file, "VIGIL_AGENT_HEALTH=9091", "must be host:port"},
		{"--url https://a --token-file " + file, "VIGIL_AGENT_CANARIES=1.1.1.1", "VIGIL_AGENT_CANARIES (--canaries)"},
		{"--url https://a --ca-file " + file + " --token-file " + file, "", "which has no certificate in PEM"},
		{"--url https://a --token-file " + file, "VIGIL_AGENT_TOKEN=" + token, "either by a file"},
	} {
		_, stderr, code := runs(t, []string{wrong.env}, strings.Fields(wrong.flags)...)
		if code != 1 || !strings.Contains(stderr, wrong.says) {
			t.Errorf("%s %s: ends with %d: %s", wrong.flags, wrong.env, code, stderr)
		}
	}
	for _, line := range []string{"--token " + token, "--nothing", "nothing", "check nothing"} {
		if _, stderr, code := runs(t, nil, strings.Fields(line)...); code != 2 || strings.Contains(stderr, token) {
			t.Errorf("%s: ends with %d: %s", line, code, stderr)
		}
	}
	if stdout, _, code := runs(t, nil, "--version"); code != 0 || !strings.Contains(stdout, "v1.2.3") {
		t.Errorf("version: %s", stdout)
	}
}

// The first step that fails is named.
func TestLook(t *testing.T) {
	t.Parallel()
	plain, _ := platform(t, httptest.NewServer, 0)
	late, _ := platform(t, httptest.NewServer, -time.Minute)
	var authority string
	secure, _ := platform(t, func(h http.Handler) *httptest.Server {
		s := httptest.NewTLSServer(h)
		authority = written(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
		return s
	}, 0)
	file, wrong, none := written(t, token), written(t, token+"x"), written(t, "secret-of-something-else")
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	redirects := httptest.NewServer(http.RedirectHandler("https://example.com", http.StatusMovedPermanently))
	t.Cleanup(redirects.Close)
	for _, one := range []struct {
		name, url, token, says string
		flags, env             []string
	}{
		{name: "all is well", url: plain, token: file},
		{name: "over TLS", url: secure, token: file, flags: []string{"--ca-file", authority}},
		{name: "no token", url: plain, token: none, says: "token file: what is given as token is none"},
		{name: "no file", url: plain, token: "/nowhere", says: "token file: read the token: open /nowhere"},
		{name: "name", url: "https://vigil.invalid", token: file, says: "DNS: "},
		{name: "port", url: "http://" + closed.Addr().String(), token: file, says: "TCP: connection refused"},
		{name: "certificate", url: secure, token: file, says: "TLS: "},
		{name: "no TLS", url: strings.Replace(plain, "http:", "https:", 1), token: file, says: "TLS: "},
		{name: "revoked", url: plain, token: wrong, says: "token: the token is not valid (401)"},
		{name: "redirect", url: redirects.URL, token: file, says: "leads elsewhere"},
		{name: "clock", url: late, token: file, says: "clock: the clock of this machine is "},
		{
			name: "proxy", url: "https://vigil.example.com", token: file, says: "TCP: connection refused",
			env: []string{"HTTPS_PROXY=http://user:hunter2@" + closed.Addr().String()},
		},
		{
			name: "proxy refuses", url: "https://vigil.example.com", token: file, says: "TLS: through the proxy",
			env: []string{"HTTPS_PROXY=" + redirects.URL},
		},
		{name: "no proxy", url: "https://vigil.invalid", token: file, says: "DNS: ", env: []string{"HTTPS_PROXY=http://%zz:hunter2@proxy"}},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, code := runs(t, one.env, append([]string{"check", "--url", one.url, "--token-file", one.token}, one.flags...)...)
			switch {
			case one.says == "" && (code != 0 || !strings.Contains(stdout, "loc-office")):
				t.Errorf("ends with %d: %s%s", code, stdout, stderr)
			case one.says != "" && (code != 1 || !strings.Contains(stderr, one.says)):
				t.Errorf("ends with %d: %s", code, stderr)
			case strings.Contains(stdout+stderr, "hunter2") || strings.Contains(stdout+stderr, "secret-of-something-else"):
				t.Errorf("a secret is shown: %s%s", stdout, stderr)
			}
		})
	}
}

// An agent says at its health port whether it is in contact, and leaves on SIGTERM.
func TestRun(t *testing.T) {
	t.Parallel()
	url, left := platform(t, httptest.NewServer, 0)
	cmd := program(t, []string{"VIGIL_AGENT_URL=" + url, "VIGIL_AGENT_TOKEN=" + token}, "--health", "127.0.0.1:0", "--canaries", "off")
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := func() string {
		text, _ := os.ReadFile(log.Name())
		return string(text)
	}
	timingtest.Eventually(t, 10*time.Second, "it is healthy", func() bool {
		_, health, _ := strings.Cut(said(), "url=")
		health, _, _ = strings.Cut(health, "\n")
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, health, nil)
		if err != nil {
			return false
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || !left.Load() || strings.Contains(said(), token) {
		t.Errorf("it ended with %v, left %v: %s", err, left.Load(), said())
	}
}

// While it is cut off, the health port says why.
func TestRunCutOff(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	url := s.URL
	s.Close()
	cmd := program(t, []string{"VIGIL_AGENT_URL=" + url, "VIGIL_AGENT_TOKEN=" + token}, "--health", "127.0.0.1:0", "--canaries", "off")
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(2*time.Second, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
	if err := cmd.Wait(); err != nil || !strings.Contains(log.String(), "connection refused") {
		t.Errorf("it ended with %v: %s", err, log.String())
	}
}
