// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// nginx is Debian's nginx as it is installed, with one location that passes everything on and sets nothing else.
type nginx struct {
	t       *testing.T
	path    string
	url     string
	file    string // its configuration
	log     string
	process *process
}

// nginxLog has what is counted: method, path, status, and how many bytes the request had.
const nginxLog = "log_format counted '$request_method $uri $status $request_length';\n"

// newNginx starts nginx before the platform, and skips the test where there is none.
func newNginx(t *testing.T, platform string) *nginx {
	t.Helper()
	path, err := exec.LookPath("nginx")
	if err != nil {
		if path, err = exec.LookPath("/usr/sbin/nginx"); err != nil {
			t.Skip("there is no nginx; make ready installs it")
		}
	}
	installed, err := os.ReadFile("/etc/nginx/nginx.conf")
	if err != nil {
		t.Skipf("nginx is not as Debian installs it: %v", err)
	}
	dir := dataDir(t)
	n := &nginx{t: t, path: path, file: filepath.Join(dir, "nginx.conf"), log: filepath.Join(dir, "access.log")}
	address := freeAddress(t)
	n.url = "http://" + address
	site := filepath.Join(dir, "site.conf")
	text := string(installed)
	for _, change := range [][2]string{
		{"/run/nginx.pid", filepath.Join(dir, "pid")},
		{"/var/log/nginx/error.log", filepath.Join(dir, "error.log")},
		{"access_log /var/log/nginx/access.log", nginxLog + "access_log " + n.log + " counted"},
		{"/etc/nginx/sites-enabled/*", site},
	} {
		if !strings.Contains(text, change[0]) {
			t.Skipf("nginx is not as Debian installs it: its configuration does not name %s", change[0])
		}
		text = strings.Replace(text, change[0], change[1], 1)
	}
	server := fmt.Sprintf("server {\n\tlisten %s;\n\tlocation / {\n\t\tproxy_pass %s;\n\t}\n}\n", address, platform)
	for name, content := range map[string]string{n.file: text, site: server} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n.start()
	return n
}

// start starts it and waits until it listens.
func (n *nginx) start() {
	n.t.Helper()
	started := launchCommand(n.t, nil, n.path, "-c", n.file, "-g", "daemon off;")
	n.t.Cleanup(func() { _, _ = started.interrupt() }) // its workers outlive SIGKILL
	n.process = started
	eventually(n.t, "nginx listens", func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(n.url, "http://")) //nolint:noctx // this machine
		if err != nil {
			return false
		}
		return conn.Close() == nil
	})
}

// stop ends it and its workers, as a restart does: connections that are open are closed.
func (n *nginx) stop() {
	n.t.Helper()
	if _, err := n.process.interrupt(); err != nil {
		n.t.Fatal(err)
	}
}

// counted is what the log of nginx says.
type counted struct {
	streams  int // that ended
	refused  int // bodies that are too large
	failures int // of nginx or behind it
	largest  int // of the reports of agents, in bytes
}

func (n *nginx) counted() (c counted) {
	n.t.Helper()
	log, err := os.ReadFile(n.log)
	if err != nil {
		n.t.Fatal(err)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(string(log)), "\n") {
		field := strings.Fields(line)
		if len(field) != 4 {
			continue
		}
		status, _ := strconv.Atoi(field[2])
		size, _ := strconv.Atoi(field[3])
		switch {
		case status == http.StatusRequestEntityTooLarge:
			c.refused++
		case strings.HasSuffix(field[1], "/stream"):
			c.streams++
		case status >= http.StatusInternalServerError:
			c.failures++
		case strings.HasSuffix(field[1], "/results"):
			c.largest = max(c.largest, size)
		}
	}
	return c
}

// TestAgentBehindNginx puts nginx with its defaults between an agent and the platform: definitions come at once
// although nginx keeps answers back, the stream outlasts the 60 seconds after which nginx gives an answer up (the full form),
// reports pass although bodies of more than a mebibyte do not, and after a restart of nginx every probe has its result once.
func TestAgentBehindNginx(t *testing.T) {
	timingtest.Parallel(t)
	checks, idle, outage := 60, time.Second, 8*time.Second
	if full() {
		checks, idle, outage = 200, 75*time.Second, time.Minute
	}
	p, c := shared(t)
	site := newTarget(t)
	site.says.Store(new(strings.Repeat("a page that says at length what is wrong. ", 500)))
	n := newNginx(t, p.ready.APIURL)
	office := newPlace(c, "Office")
	agent := runAgent(t, n.url, office)
	ids := make(map[string]string, checks) // to paths of the target
	for i := range checks {
		var made check
		at := fmt.Sprintf("/%d", i)
		c.into(&made, http.MethodPost, "/v1/checks", httpCheck("check "+at, site.URL+at, 1, office.Key))
		ids[made.ID] = at
	}
	created := time.Now()
	eventually(t, "every check is probed", func() bool {
		for _, at := range ids {
			if site.count(at) < 2 {
				return false
			}
		}
		return true
	})
	figure(t, "the last of the checks is probed behind nginx after", time.Since(created), 5*time.Second, 0)
	wait(t, "nginx may give the stream up", idle)
	var byHand check
	c.into(&byHand, http.MethodPost, "/v1/checks", httpCheck("by hand", site.URL+"/by-hand", 1, office.Key))
	asked := time.Now()
	var tested result
	c.into(&tested, http.MethodPost, "/v1/checks/"+byHand.ID+"/test?dry_run=true", nil)
	if !tested.Success || tested.Region != office.Key {
		t.Errorf("a test by hand: %+v", tested)
	}
	figure(t, "a test by hand behind nginx takes", time.Since(asked), 2*time.Second, 0)
	if seen := n.counted(); seen.streams > 0 || seen.failures > 0 {
		t.Errorf("%d streams ended and %d requests failed while nothing was stopped", seen.streams, seen.failures)
	}
	limitOfNginx(t, n.url, office)
	// It is written down when nginx has read the rest of the body, or has waited for it.
	eventually(t, "nginx has written down the body that it refused", func() bool { return n.counted().refused > 0 })

	n.stop()
	site.broken.Store(true) // failures have their evidence, so that reports grow
	wait(t, "nginx is away", outage/2)
	site.broken.Store(false)
	wait(t, "nginx is away", outage/2)
	n.start()
	started := time.Now()
	eventuallyWithin(t, waitLimit+outage, "the agent has sent what it could not send", func() bool { return sentAll(c, office, started) })
	if _, err := agent.interrupt(); err != nil {
		t.Error(err)
	}
	eachOnce(t, c, site, ids, waitLimit+outage)
	seen := n.counted()
	t.Logf("the largest report has %d bytes", seen.largest)
	if seen.refused != 1 || seen.largest < 350_000 {
		t.Errorf("%d bodies are too large for nginx, want one that is not the agent's; the largest report has %d bytes, want one that is large",
			seen.refused, seen.largest)
	}
}

// limitOfNginx sends a body as large as the largest report of the protocol, which passes, and one that nginx refuses.
func limitOfNginx(t *testing.T, url string, at place) {
	t.Helper()
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	// A session that never reports gets no check.
	raw, err := json.Marshal(object{
		"protocol": 1, "version": "v0", "name": "limit", "instance": "4b8d3c37-6a39-4b3e-9d5a-0a5c0d7b7c11", "key": key.PublicKey().Bytes(),
		"types": []string{},
	})
	if err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int]int{900_000: http.StatusOK, 1<<20 + 1: http.StatusRequestEntityTooLarge} {
		ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
		defer cancel()
		body := bytes.NewReader(append(raw, bytes.Repeat([]byte(" "), size-len(raw))...))
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/agent/sessions", body)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+at.Token)
		request.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("a body of %d bytes is answered with %d, want %d", size, answer.StatusCode, want)
		}
	}
}
