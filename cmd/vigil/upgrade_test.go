// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

const latestOfTest = `{"schema":1,"version":"%s","released_at":"2026-09-21T14:13:20Z","commit":"0123456789abcdef",` +
	`"minimum_upgrade_from":"v0.1.0","notes":"- one thing\u001b[2J\n","files":[]}`

// upgrade runs `vigil upgrade` and returns its exit code and what it wrote.
func upgrade(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	code = run(t.Context(), append([]string{"upgrade"}, args...), &out, &errOut)
	return code, out.String(), errOut.String()
}

// TestUpgradeCheck reads files and asks servers. The version of a test is unknown, so the comparison
// itself is in internal/releases.
func TestUpgradeCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("latest.json", fmt.Sprintf(latestOfTest, "v1.2.0"))
	code, out, _ := upgrade(t, "--check", good)
	if code != 0 || !strings.Contains(out, "The newest release is v1.2.0 of 2026-09-21") || !strings.Contains(out, "- one thing[2J") ||
		strings.Contains(out, "\x1b") {
		t.Errorf("%d: %q", code, out)
	}
	code, out, _ = upgrade(t, "--check", "--json", good)
	var answer upgradeAnswer
	if err := json.Unmarshal(
		[]byte(out),
		&answer,
	); err != nil || code != 0 || answer.Latest.Version != "v1.2.0" ||
		answer.Verdict != "unknown" {
		t.Errorf("%d: %s, %v", code, out, err)
	}
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"NothingNamed":  {[]string{"--check"}, 2, "knows no address"},
		"WithoutCheck":  {[]string{good}, 2, "--check"},
		"Two":           {[]string{"--check", good, good}, 2, "at most 1"},
		"NoFile":        {[]string{"--check", dir + "/none"}, 5, "there is no file"},
		"ADirectory":    {[]string{"--check", dir}, 1, "no regular file"},
		"ADevice":       {[]string{"--check", "/dev/zero"}, 1, "no regular file"},
		"Broken":        {[]string{"--check", write("broken", "{")}, 1, "cannot be used"},
		"OneMiB":        {[]string{"--check", write("large", strings.Repeat(" ", 1<<20+1))}, 1, "more than 1 MiB"},
		"HostileName":   {[]string{"--check", write("hostile", fmt.Sprintf(latestOfTest, `v1.2.0\u001b]0;x\u0007`))}, 1, "version"},
		"WithoutTLS":    {[]string{"--check", "http://releases.example.com/latest.json"}, 2, "--allow-http"},
		"AnotherScheme": {[]string{"--check", "ftp://releases.example.com/latest.json"}, 2, "neither a file nor"},
		"FileScheme":    {[]string{"--check", "file:///etc/passwd"}, 2, "no host"},
		"NoHost":        {[]string{"--check", "https://"}, 2, "no host"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, errOut := upgrade(t, c.args...)
			if code != c.code || !strings.Contains(errOut, c.says) || out != "" || strings.Contains(errOut, "\x1b") {
				t.Errorf("%d %q, want %d %q", code, errOut, c.code, c.says)
			}
		})
	}
}

// TestUpgradeCheckByAddress asks real sockets.
func TestUpgradeCheckByAddress(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch r.URL.Path {
		case "/latest.json":
			if r.UserAgent() != "vigil" || r.URL.RawQuery != "" {
				t.Errorf("the request says who asks: %v", r.Header)
			}
			fmt.Fprintf(w, latestOfTest, "v1.2.0")
		case "/moved":
			http.Redirect(w, r, "/latest.json", http.StatusFound)
		case "/away":
			http.Redirect(w, r, "http://releases.example.com/latest.json", http.StatusFound)
		case "/file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		case "/endless":
			for {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		case "/denied":
			w.WriteHeader(http.StatusForbidden)
		case "/broken":
			w.WriteHeader(http.StatusBadGateway)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	closed, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	for path, want := range map[string]struct {
		code int
		says string
	}{
		"/latest.json": {0, "v1.2.0"}, "/moved": {0, "v1.2.0"},
		"/away": {2, "no TLS"}, "/file": {2, "no host"}, "/round": {7, "more than 5"}, "/endless": {1, "more than 1 MiB"},
		"/denied": {4, "answers 403"}, "/broken": {7, "answers 502"}, "/none": {5, "answers 404"},
	} {
		code, out, errOut := upgrade(t, "--check", server.URL+path)
		if code != want.code || !strings.Contains(out+errOut, want.says) {
			t.Errorf("%s: %d %q %q", path, code, out, errOut)
		}
	}
	if code, _, errOut := upgrade(
		t,
		"--check",
		"http://ada:secret@"+closed.Addr().String()+"/",
	); code != 7 ||
		strings.Contains(errOut, "secret") {
		t.Errorf("a closed port: %d %q", code, errOut)
	}
	if asked.Load() < 9 {
		t.Errorf("the server was asked %d times", asked.Load())
	}
}

// TestInstalledBy recognizes each way of installing by what it leaves.
func TestInstalledBy(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]struct{ executable, env, exists, listed string }{
		"kubernetes": {"/vigil", "KUBERNETES_SERVICE_HOST", "", ""},
		"container":  {"/vigil", "", "/.dockerenv", ""},
		"deb":        {"/usr/bin/vigil", "", "", "/usr/bin/vigil"},
		"rpm":        {"/usr/bin/vigil", "", "/var/lib/rpm", ""},
		"homebrew":   {"/opt/homebrew/Cellar/vigil/1.2.0/bin/vigil", "", "", ""},
		"scoop":      {"C:/Users/ada/Scoop/apps/vigil/current/vigil.exe", "", "", ""},
		"source":     {"/src/vigil/bin/vigil", "", "/src/vigil/cmd/vigil/main.go", ""},
		"archive":    {"/home/ada/vigil", "", "", ""},
	} {
		way := installedBy(machineFacts{
			executable: m.executable,
			env:        func(name string) bool { return name == m.env },
			exists:     func(path string) bool { return path == m.exists },
			listed:     func(_, line string) bool { return line == m.listed },
		})
		if way.name != want || len(way.steps("v1.2.0")) == 0 || way.phrase == "" {
			t.Errorf("%s is taken for %s", want, way.name)
		}
	}
}

func TestVersionAsJSON(t *testing.T) {
	t.Parallel()
	var out, errOut bytes.Buffer
	if code := run(t.Context(), []string{"version", "--json"}, &out, &errOut); code != 0 {
		t.Fatalf("%d %s", code, &errOut)
	}
	var said map[string]string
	if err := json.Unmarshal(out.Bytes(), &said); err != nil || said["go"] == "" || said["kind"] != "full" {
		t.Errorf("%s, %v", &out, err)
	}
	for _, member := range []string{"version", "commit", "builder", "os", "arch"} {
		if _, ok := said[member]; !ok {
			t.Errorf("%s is missing: %s", member, &out)
		}
	}
}
