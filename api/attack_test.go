// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/account"
)

// attack is a request that must not get through.
type attack struct {
	name   string
	status int
	method string
	path   string
	body   any
	header []string
	// member that the answer must name; empty where none is at fault.
	member string
}

// checkWith is the text of a check's body in which one member is replaced by
// raw JSON.
func checkWith(member, raw string) string {
	members := map[string]string{
		"name": `"x"`, "type": `"https"`, "interval_seconds": `60`, "config": `{"url":"https://example.com/"}`,
	}
	members[member] = raw
	parts := make([]string, 0, len(members))
	for name, value := range members {
		parts = append(parts, fmt.Sprintf("%q:%s", name, value))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// TestAttacks holds that nothing of all this is let in, ends in a fault, is
// echoed, or leaves anything behind.
func TestAttacks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.tier(t, b.signup(t), account.TierEnterprise)
	check := text(a.check(t), "id")
	attacks := append(append(bodyAttacks(), memberAttacks()...), otherAttacks(check)...)
	t.Logf("%d attacks", len(attacks))
	for _, attack := range attacks { //nolint:paralleltest // what is stored is counted after all of them
		t.Run(attack.name, func(t *testing.T) {
			r := a.do(t, attack.method, attack.path, attack.body, attack.header...)
			if r.status != attack.status {
				t.Fatalf("status %d, want %d: %.500s", r.status, attack.status, r.raw)
			}
			if attack.member != "" && r.detail("member") != attack.member {
				t.Errorf("it names %v, want %q: %.500s", r.detail("member"), attack.member, r.raw)
			}
			if len(r.raw) > 4096 {
				t.Errorf("the answer has %d bytes", len(r.raw))
			}
			for _, secret := range []string{"difference engine", "1234567", "' OR 1=1", "etc/passwd", "Bcc"} {
				if strings.Contains(string(r.raw), secret) {
					t.Errorf("what was sent is echoed: %s", r.raw)
				}
			}
		})
	}
	if total := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks", nil).rows(t); len(total) != 1 || total[0]["name"] != "Home page" {
		t.Errorf("stored: %v", total)
	}
	if keys := a.want(t, http.StatusOK, http.MethodGet, "/v1/api-keys", nil).rows(t); len(keys) != 1 {
		t.Errorf("keys: %v", keys)
	}
	if strings.Contains(b.log.String(), `"level":"ERROR"`) {
		t.Errorf("the log has faults: %s", b.log.String())
	}
}

// TestTextIsText holds that what looks like code in a name is a name.
func TestTextIsText(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	for _, name := range []string{
		"'; DROP TABLE checks; --", `" OR ""="`, "{{.}}", "{{7*7}}", "${jndi:ldap://x}", "<script>alert(1)</script>", "%s%n",
		"../../etc/passwd", "\U0001F6A8 naïve Ω", `\u0000`,
	} {
		if got := a.check(t, with("name", name)); got["name"] != name {
			t.Errorf("%q became %q", name, got["name"])
		}
	}
}

// TestRawRequests sends what no HTTP client would.
func TestRawRequests(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	host := strings.TrimPrefix(b.url, "http://")
	auth := "Authorization: Bearer " + a.key + "\r\n"
	for name, tt := range map[string]struct {
		request string
		status  int
	}{
		"a body shorter than announced": {"POST /v1/checks HTTP/1.1\r\nHost: x\r\n" + auth + "Content-Length: 100\r\n\r\n{}", 400},
		"two lengths":                   {"POST /v1/checks HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400},
		"a chunked body without end": {
			"POST /v1/checks HTTP/1.1\r\nHost: x\r\n" + auth + "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"nam\r\n",
			400,
		},
		"an absolute path elsewhere": {"GET http://evil.example/v1/checks HTTP/1.1\r\nHost: evil.example\r\n" + auth + "\r\n", 200},
		"a star":                     {"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 0},
		"a path without slash":       {"GET v1/checks HTTP/1.1\r\nHost: x\r\n\r\n", 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", host) //nolint:noctx // a test's own socket
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(conn, tt.request); err != nil {
				t.Fatal(err)
			}
			if tcp, ok := conn.(*net.TCPConn); ok && strings.Contains(name, "body") {
				_ = tcp.CloseWrite() // nothing more comes
			}
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if tt.status == 0 {
				return // any answer will do: the other cases show that the server lives
			}
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if res.StatusCode != tt.status {
				body, _ := io.ReadAll(res.Body)
				t.Errorf("status %d, want %d: %s", res.StatusCode, tt.status, body)
			}
		})
	}
}
