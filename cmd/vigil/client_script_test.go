// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/vigil-monitor/vigil/internal/importer/importertest"

	"github.com/vigil-monitor/vigil/internal/platform"
)

// TestClient runs the client commands against one platform: `vigil up` of this program.
// Each script has an organization of its own.
func TestClient(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a whole platform")
	}
	p := startPlatform(t)
	target := httptest.NewServer(newTargets())
	t.Cleanup(target.Close)
	gatus, err := filepath.Abs("../../internal/importer/testdata/gatus")
	if err != nil {
		t.Fatal(err)
	}
	kuma := kumaFiles(t)
	setup := func(dir string) (map[string]string, error) {
		account, err := signUp(p.APIURL)
		if err != nil {
			return nil, err
		}
		config := filepath.Join(dir, "config")
		if err := os.MkdirAll(filepath.Join(config, "vigil"), 0o700); err != nil {
			return nil, err
		}
		text := fmt.Sprintf("current: test\ncontexts:\n  test: {url: %q, key: %s}\n", p.APIURL, account.key)
		return map[string]string{
			"XDG_CONFIG_HOME": config, "HOME": dir, "API": p.APIURL, "KEY": account.key, "EMAIL": account.email,
			"DATA": p.DataDir, "SLUG": "shop-" + strings.ToLower(account.key[4:12]), "TARGET": target.URL, "GATUS": gatus,
			"KUMA": kuma,
			"NAME": filepath.Base(dir), "EDITOR": "", "VISUAL": "", "TERM": "xterm",
		}, os.WriteFile(filepath.Join(config, "vigil", "config.yaml"), []byte(text), 0o600)
	}
	params := func(dir string) testscript.Params {
		return testscript.Params{
			Dir: dir, RequireExplicitExec: true, ContinueOnError: true,
			Setup: func(env *testscript.Env) error {
				values, err := setup(env.WorkDir)
				for name, value := range values {
					env.Setenv(name, value)
				}
				return err
			},
			Cmds: map[string]func(*testscript.TestScript, bool, []string){"cli": runClient, "eventually": eventually, "part": setPart},
		}
	}
	t.Run("Scripts", func(t *testing.T) {
		t.Parallel()
		testscript.Run(t, params("testdata/client"))
	})
	t.Run("Commands", func(t *testing.T) {
		t.Parallel()
		testscript.Run(t, params(commandScripts(t)))
	})
	for _, path := range documents(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			runDocument(t, commandsOf(t, path), p, target.URL, setup)
		})
	}
}

// kumaFiles makes a directory with databases of Uptime Kuma and a backup.
func kumaFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, version := range importertest.KumaVersions() {
		rows := importertest.KumaSample()
		rows["status_page"][0]["slug"] = "kuma-" + strings.ReplaceAll(version, ".", "-")
		if err := os.Rename(importertest.KumaDatabase(t, version, rows), filepath.Join(dir, version+".db")); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile("../../internal/importer/testdata/kuma/backup-1.23.16.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "backup.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// startPlatform starts `vigil up` and stops it at the end of the test.
func startPlatform(t *testing.T) platform.Summary {
	t.Helper()
	dir, err := os.MkdirTemp("", "vigil-client-") //nolint:usetesting // t.TempDir is closed to the user of Postgres
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command( //nolint:noctx // stopped below
		"vigil", "up", "--json", "--canaries", "", "--data-dir", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0",
		"--temporal-listen", "127.0.0.1:0", "--ui-listen", "127.0.0.1:0", "--regions", "us-east-1,eu-central-fra,ap-southeast-sin",
		"--signup-tier", "enterprise", "--delivery-schedule", "1s,1s,1s",
	)
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("vigil up ends with %v:\n%s", err, log.String())
		}
		if _, err := os.Stat(filepath.Join(dir, "data", "instance.json")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("instance.json is still there after a clean stop: %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("vigil up prints %q: %v\n%s", line, err, log.String())
	}
	var up platform.Summary
	if err := json.Unmarshal(line, &up); err != nil {
		t.Fatal(err)
	}
	return up
}

type person struct{ email, key string }

var accounts atomic.Int64 //nolint:gochecknoglobals // numbers the organizations of the tests

// signUp makes an organization.
func signUp(api string) (person, error) {
	made := person{email: fmt.Sprintf("ada%d@example.com", accounts.Add(1))}
	body, err := json.Marshal(map[string]string{"email": made.email, "org_name": "Shop Ltd"})
	if err != nil {
		return made, err
	}
	response, err := http.Post(api+"/v1/auth/quick-signup", "application/json", bytes.NewReader(body)) //nolint:noctx // of a test
	if err != nil {
		return made, err
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		Data struct {
			APIKey string `json:"api_key"`
		} `json:"data"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || answer.Data.APIKey == "" {
		return made, fmt.Errorf("sign up answers %d: %w", response.StatusCode, err)
	}
	made.key = answer.Data.APIKey
	return made, nil
}

// newTargets serves what is checked and notified: /status/<code>, and /flaky/<name>/...,
// which answers twice as a server that asks to try later before it answers 200.
func newTargets() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/status/{code}", func(w http.ResponseWriter, r *http.Request) {
		code, err := strconv.Atoi(r.PathValue("code"))
		if err != nil {
			code = http.StatusBadRequest
		}
		w.WriteHeader(code)
	})
	var mu sync.Mutex
	seen := map[string]int{}
	keys := map[string]string{}
	mux.HandleFunc("/flaky/{name}/", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		name := r.PathValue("name")
		seen[name]++
		key := r.Header.Get("Idempotency-Key")
		if seen[name] == 1 {
			keys[name] = key
		}
		switch {
		case key != keys[name]:
			w.WriteHeader(http.StatusBadRequest) // a repeated request is another one
		case seen[name] == 2 && key != "":
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusConflict) // the first one still runs
		case seen[name] <= 2:
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			_, _ = fmt.Fprintf(w, `{"data": [], "meta": {"total": "0"}, "tries": %d, "keyed": %t}`, seen[name], key != "")
		}
	})
	var busy sync.Map
	mux.HandleFunc("/busy/{name}/", func(w http.ResponseWriter, r *http.Request) { // asks once for a second of patience
		if _, again := busy.LoadOrStore(r.PathValue("name"), true); !again {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = io.WriteString(w, `{"data": [], "meta": {"total": "0"}}`)
	})
	mux.HandleFunc("/away/", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://elsewhere.example/", http.StatusFound)
	})
	return mux
}

// wholeKey finds an API key or a ping key, of which only the beginning may be shown.
var wholeKey = regexp.MustCompile(`vg[lp]_[0-9A-Za-z]{20,}`)

// printsKey are the commands whose answer is a key.
var printsKey = regexp.MustCompile(`^(api-key create|ping-key (create|show|rotate)) `)

// runClient is the script command `cli <exit code> <words of a vigil command>`. Several
// codes have a | between them. It fails when the command ends with another code, or prints a key that is not its answer.
func runClient(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: cli <exit code> <words>")
	}
	if code := clientCode(ts, args[1:]); !slices.Contains(strings.Split(args[0], "|"), strconv.Itoa(code)) {
		ts.Fatalf("vigil %s ends with %d, want %s", strings.Join(args[1:], " "), code, args[0])
	}
}

func clientCode(ts *testscript.TestScript, args []string) int {
	err := ts.Exec("vigil", args...)
	answered := printsKey.MatchString(strings.Join(args, " ") + " ")
	if !answered && wholeKey.MatchString(ts.ReadFile("stdout")) || wholeKey.MatchString(ts.ReadFile("stderr")) {
		ts.Fatalf("vigil %s shows a key", strings.Join(args, " "))
	}
	if err == nil {
		return 0
	}
	ended, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		ts.Fatalf("vigil %s: %v", strings.Join(args, " "), err)
	}
	return ended.ExitCode()
}

// eventually is the script command `eventually <pattern> <words of a vigil command>`: it
// runs the command until its output matches.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually <pattern> <words>")
	}
	pattern, err := regexp.Compile(`(?m)` + args[0])
	ts.Check(err)
	began := time.Now()
	for end := began.Add(45 * time.Second); ; {
		clientCode(ts, args[1:])
		if out := ts.ReadFile("stdout"); pattern.MatchString(out) {
			ts.Logf("waited %.1f s until it prints %q", time.Since(began).Seconds(), args[0])
			return
		} else if time.Now().After(end) {
			ts.Fatalf("vigil %s prints %q, which does not match %q", strings.Join(args[1:], " "), out, args[0])
		}
		time.Sleep(100 * time.Millisecond)
	}
}
