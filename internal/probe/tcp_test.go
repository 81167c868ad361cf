// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
)

var _ = addFixture(fixtureTCP)

// fixtureTCP is the fixture of the tcp type.
func fixtureTCP(f *world) fixture {
	greeting := func(address string) object {
		host, port := hostPort(f, address)
		return object{"host": host, "port": port, "send": "login hunter2\n", "expect": "welcome"}
	}
	return fixture{
		kind:    vigil.TypeTCP,
		healthy: greeting(tcp(f, doorman)),
		failing: greeting(tcp(f, func(conn net.Conn) { _, _ = conn.Read(make([]byte, 64)) })),
		silent:  greeting(tcp(f, drain)),
		secrets: []string{"hunter2"},
	}
}

// doorman answers a line with a welcome that comes in two parts.
func doorman(conn net.Conn) {
	if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
		return
	}
	_, _ = io.WriteString(conn, "220 wel")
	_, _ = io.WriteString(conn, "come\n")
}

func TestTCP(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	member := func(address string, more object) object {
		more["host"], more["port"] = hostPort(t, address)
		return more
	}
	closed := closedPort(t)
	flood := tcp(t, func(conn net.Conn) { _, _ = io.Copy(conn, endless('x')) })
	for name, c := range map[string]struct {
		config object
		reason string
	}{
		"ConnectingIsEnough":  {member(tcp(t, drain), object{}), ""},
		"SendIsEnough":        {member(tcp(t, drain), object{"send": "x"}), ""},
		"ExpectedTextInParts": {member(tcp(t, doorman), object{"send": "x\n", "expect": "welcome"}), ""},
		"BannerWithoutSending": {
			member(tcp(t, func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-x"); drain(c) }), object{"expect": "SSH-2.0"}),
			"",
		},
		"OtherText": {
			member(tcp(t, doorman), object{"send": "x\n", "expect": "goodbye"}),
			"the server sent 12 bytes without the expected text and closed the connection",
		},
		"EndlessAnswer": {member(flood, object{"expect": "goodbye"}), "not in the first 64 KiB"},
		"BannerNeverComes": {
			member(tcp(t, drain), object{"expect": "SSH", "timeout_seconds": 1}),
			"timed out after 1s while waiting for the expected text",
		},
		"Refused": {member(closed, object{}), "connection refused by " + closed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := w.run(vigil.TypeTCP, c.config)
			if seen.Success != (c.reason == "") || !strings.Contains(seen.Error, c.reason) {
				t.Errorf("got %q, want %q", seen.Error, c.reason)
			}
			if c.reason == "" && seen.Metadata["ip"] != "127.0.0.1" {
				t.Errorf("metadata %v", seen.Metadata)
			}
		})
	}
}

func TestHostConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for host, accepted := range map[string]bool{
		"example.com": true, "example.com.": true, "a_b.example.com": true, "[::1]": true, "::1": true, "münchen.example": true,
		"": false, "http://example.com": false, "example.com:80": false, "ann@example.com": false, "a b": false, "-": true,
		"example..com": false, "a\r\nb": false, "2130706433": false, "0x7f000001": false, "127.1": false, "0177.0.0.1": false,
		"1.2.3.4.5": false, "１２７.０.０.１": false, "exa/mple": false, "*": false, "a\x00b": false,
	} {
		_, err := w.Parse(vigil.TypeTCP, encode(t, object{"host": host, "port": 80}), minute)
		if accepted && err != nil {
			t.Errorf("%q: %v", host, err)
		}
		if !accepted {
			rejected(t, err, "config.host")
		}
	}
	for _, port := range []any{0, -1, 65536, "80", 1.5, nil} {
		_, err := w.Parse(vigil.TypeTCP, encode(t, object{"host": "example.com", "port": port}), minute)
		rejected(t, err, "config.port")
	}
}
