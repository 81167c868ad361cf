// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestAttackPlatform attacks a platform as it runs on a laptop: by the ports that it
// listens on, by a browser, by requests that no client sends, and through a proxy.
func TestAttackPlatform(t *testing.T) {
	timingtest.Parallel(t)
	p := up(t, dataDir(t), "VIGIL_REGIONS="+clusterRegion, "VIGIL_METRICS_LISTEN=:0")
	c := client{t: t, url: p.ready.APIURL, key: p.ready.APIKey}
	address, err := url.Parse(p.ready.APIURL)
	if err != nil {
		t.Fatal(err)
	}
	check := func(host string, port int) object {
		return object{
			"name": "x", "type": "tcp", "interval_seconds": 60, "regions": []string{clusterRegion},
			"config": object{"host": host, "port": port},
		}
	}

	ports := listening(t, p.ready.PID) // the last part closes private targets
	t.Run("EveryPortOfThePlatformIsRefusedExceptTheAPIs", func(t *testing.T) {
		if len(ports) < 8 { // the API, the metrics, Postgres, the UI, Temporal's frontend and its three services
			t.Errorf("the platform listens on %v only", ports)
		}
		for _, port := range ports {
			want := http.StatusBadRequest
			if strconv.Itoa(port) == address.Port() {
				want = http.StatusCreated
			}
			for _, host := range []string{"127.0.0.1", "::1", "127.7.7.7"} {
				if got := c.do(http.MethodPost, "/v1/checks", check(host, port)); got.Status != want {
					t.Errorf("%s port %d: status %d, want %d: %s", host, port, got.Status, want, got.Error)
				}
			}
		}
	})
	t.Run("ABrowserReachesNothingByAnotherName", func(t *testing.T) {
		for target, known := range map[string]int{
			p.ready.APIURL + "/health": http.StatusOK, p.ready.TemporalUIURL + "/api/v1/settings": http.StatusUnauthorized,
		} {
			for host, want := range map[string]int{"evil.example": http.StatusForbidden, "localhost": known, address.Host: known} {
				if got := request(t, http.MethodGet, target, "", "Host", host); got.StatusCode != want {
					t.Errorf("GET %s as %s: status %d, want %d", target, host, got.StatusCode, want)
				}
			}
		}
		got := request(t, http.MethodPost, p.ready.APIURL+"/v1/auth/quick-signup", `{"email":"a@example.com"}`, "Origin", "http://evil.example")
		if got.StatusCode != http.StatusForbidden {
			t.Errorf("a write of another origin: status %d", got.StatusCode)
		}
	})
	t.Run("AnUnknownTransferEncodingIsAnsweredInJSON", func(t *testing.T) {
		conn, err := net.Dial("tcp", address.Host) //nolint:noctx // a test's own socket
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_ = conn.SetDeadline(time.Now().Add(waitLimit))
		_, _ = io.WriteString(conn, "POST /v1/checks HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n")
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		var body struct{ Code string }
		if err := json.NewDecoder(response.Body).Decode(&body); err != nil || response.StatusCode != 400 || body.Code != "invalid_request" {
			t.Errorf("status %d, code %q (%v)", response.StatusCode, body.Code, err)
		}
	})
	t.Run("ASecretStaysWhereItWasGivenFor", func(t *testing.T) { attackSecret(t, c) })
	t.Run("ANameLooksLikeNoOther", func(t *testing.T) { attackNames(t, c) })
	t.Run("ABodyOfAnotherSiteWithoutAContentTypeIsRefused", func(t *testing.T) {
		attackSimpleRequests(t, p.ready.APIURL, http.StatusForbidden)
	})
	t.Run("AProxyThatIsNotTrustedClosesPrivateTargets", func(t *testing.T) {
		var made object
		c.into(&made, http.MethodPost, "/v1/checks", check("127.0.0.1", 9))
		request(t, http.MethodGet, p.ready.APIURL+"/", "", "X-Forwarded-For", "203.0.113.9")
		if got := c.do(http.MethodPost, "/v1/checks", check("127.0.0.1", 9)); got.Status != http.StatusBadRequest {
			t.Errorf("a check of a private target is accepted: %d", got.Status)
		}
		eventually(t, "/ready says why", func() bool {
			return strings.Contains(string(c.do(http.MethodGet, "/ready", nil).Data), "X-Forwarded-For")
		})
		if !strings.Contains(p.stderr.String(), "private addresses are refused as targets") {
			t.Error("the log does not say why")
		}
		a := c.do(http.MethodPost, fmt.Sprintf("/v1/checks/%v/test?dry_run=true", made["id"]), nil)
		if !strings.Contains(string(a.Data)+a.Error, "loopback address") {
			t.Errorf("a probe goes on: %d %s %s", a.Status, a.Data, a.Error)
		}
	})
	if t.Failed() {
		return // what follows needs private targets to be closed
	}
	t.Run("ThenABodyOfAnotherSiteIsRefusedAsWell", func(t *testing.T) {
		attackSimpleRequests(t, p.ready.APIURL, http.StatusBadRequest)
	})
	t.Run("ThenATenantReachesNoMailServerAndNoInside", func(t *testing.T) { attackServers(t, c) })
	t.Run("ThenThroughputHasABudget", func(t *testing.T) { attackThroughput(t, c) })
}

// request sends a request with headers; Host among them is that of the request.
func request(t *testing.T, method, target, body string, headers ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		switch r.Header.Set(headers[i], headers[i+1]); {
		case headers[i] == "Host":
			r.Host = headers[i+1]
		case headers[i+1] == "":
			r.Header.Del(headers[i])
		}
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response
}

// listening returns the TCP ports that a process and its children listen on.
func listening(t *testing.T, pid int) []int {
	t.Helper()
	sockets := make(map[string]int) // ports by inode
	// Those of the platform's process: the main thread of this one may be in a network namespace of another test.
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) < 10 || fields[3] != "0A" { // TCP_LISTEN
				continue
			}
			_, port, _ := strings.Cut(fields[1], ":")
			n, err := strconv.ParseUint(port, 16, 16)
			if err != nil {
				t.Fatal(err)
			}
			sockets["socket:["+fields[9]+"]"] = int(n)
		}
	}
	var ports []int
	for _, process := range append(children(t, pid), pid) {
		links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", process))
		for _, link := range links {
			target, _ := os.Readlink(link)
			if port, ok := sockets[target]; ok {
				ports = append(ports, port)
				delete(sockets, target)
			}
		}
	}
	return ports
}

// children returns the processes that a process has started.
func children(t *testing.T, pid int) []int {
	t.Helper()
	var found []int
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for _, field := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				found = append(found, child)
			}
		}
	}
	return found
}
