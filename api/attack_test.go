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

	"vigil"
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

func bodyAttacks() []attack {
	const create, at = http.MethodPost, "/v1/checks"
	return []attack{
		{name: "no body", status: 400, method: create, path: at, body: "", member: "body"},
		{name: "white space", status: 400, method: create, path: at, body: " \n", member: "body"},
		{name: "null", status: 400, method: create, path: at, body: "null", member: "body"},
		{name: "a string", status: 400, method: create, path: at, body: `"x"`, member: "body"},
		{name: "an array", status: 400, method: create, path: at, body: "[]", member: "body"},
		{name: "an empty object", status: 400, method: create, path: at, body: "{}", member: "name"},
		{name: "cut off", status: 400, method: create, path: at, body: `{"name":"x"`, member: "body"},
		{name: "a comma too many", status: 400, method: create, path: at, body: `{"name":"x",}`, member: "body"},
		{name: "a comment", status: 400, method: create, path: at, body: `{"name":"x"/**/}`, member: "body"},
		{name: "NaN", status: 400, method: create, path: at, body: checkWith("interval_seconds", "NaN"), member: "body"},
		{name: "data after the value", status: 400, method: create, path: at, body: checkWith("name", `"x"`) + "{}", member: "body"},
		{
			name:   "two documents",
			status: 400,
			method: create,
			path:   at,
			body:   checkWith("name", `"x"`) + "\n" + checkWith("name", `"x"`),
			member: "body",
		},
		{name: "duplicate members", status: 400, method: create, path: at, body: `{"name":"a","name":"b"}`, member: "name"},
		{
			name:   "duplicate members deep inside",
			status: 400,
			method: create,
			path:   at,
			body:   checkWith("config", `{"url":"https://a.example","url":"https://b.example"}`),
			member: "config.url",
		},
		{name: "a byte order mark", status: 400, method: create, path: at, body: "\ufeff{}", member: "body"},
		{name: "invalid UTF-8", status: 400, method: create, path: at, body: checkWith("name", "\"\xff\xfe\""), member: "body"},
		{name: "UTF-16", status: 400, method: create, path: at, body: "{\x00}\x00", member: "body"},
		{name: "a lone surrogate", status: 400, method: create, path: at, body: checkWith("name", `"\ud800"`), member: "name"},
		{name: "NUL in a string", status: 400, method: create, path: at, body: checkWith("name", `"a\u0000b"`), member: "name"},
		{name: "NUL in a member's name", status: 400, method: create, path: at, body: `{"a\u0000b":1}`},
		{name: "deep arrays", status: 400, method: create, path: at, body: strings.Repeat("[", 100_000), member: "body"},
		{
			name:   "deep objects",
			status: 400,
			method: create,
			path:   at,
			body:   checkWith("config", strings.Repeat(`{"a":`, 500)+"1"+strings.Repeat("}", 500)),
			member: "body",
		},
		{name: "more than 1 MiB", status: 413, method: create, path: at, body: checkWith("name", `"`+strings.Repeat("x", 1<<20)+`"`)},
		{name: "10 MiB", status: 413, method: create, path: at, body: strings.Repeat(" ", 10<<20)},
		{
			name:   "text",
			status: 400,
			method: create,
			path:   at,
			body:   "name=x",
			header: []string{"Content-Type", "text/plain"},
			member: "Content-Type",
		},
		{
			name:   "a form",
			status: 400,
			method: create,
			path:   at,
			body:   "name=x",
			header: []string{"Content-Type", "application/x-www-form-urlencoded"},
			member: "Content-Type",
		},
		{
			name:   "XML",
			status: 400,
			method: create,
			path:   at,
			body:   "<a/>",
			header: []string{"Content-Type", "application/xml"},
			member: "Content-Type",
		},
		{
			name:   "a broken content type",
			status: 400,
			method: create,
			path:   at,
			body:   "{}",
			header: []string{"Content-Type", ";+"},
			member: "Content-Type",
		},
		{
			name:   "said to be compressed",
			status: 400,
			method: create,
			path:   at,
			body:   "\x1f\x8b\x08\x00",
			header: []string{"Content-Encoding", "gzip"},
			member: "body",
		},
	}
}

func memberAttacks() []attack {
	const create, at = http.MethodPost, "/v1/checks"
	wrong := func(name, member, raw, fault string) attack {
		return attack{name: name, status: 400, method: create, path: at, body: checkWith(member, raw), member: fault}
	}
	return []attack{
		wrong("an empty name", "name", `""`, "name"),
		wrong("a blank name", "name", `" \t "`, "name"),
		wrong("a long name", "name", `"`+strings.Repeat("x", 201)+`"`, "name"),
		wrong("CRLF in a name", "name", `"a\r\nSubject: b"`, "name"),
		wrong("a line separator in a name", "name", `"a\u2028b"`, "name"),
		wrong("a number as name", "name", `7`, "name"),
		wrong("no name", "name", `null`, "name"),
		wrong("an unknown type", "type", `"gopher"`, "type"),
		wrong("a type in capitals", "type", `"HTTPS"`, "type"),
		wrong("an object as type", "type", `{"$ne":1}`, "type"),
		wrong("a huge integer", "interval_seconds", `99999999999999999999999999`, "interval_seconds"),
		wrong("an integer beyond 64 bits", "interval_seconds", `18446744073709551616`, "interval_seconds"),
		wrong("a number beyond a float", "interval_seconds", `1e999`, "interval_seconds"),
		wrong("a negative interval", "interval_seconds", `-60`, "interval_seconds"),
		wrong("no interval", "interval_seconds", `0`, "interval_seconds"),
		wrong("a fraction", "interval_seconds", `60.5`, "interval_seconds"),
		wrong("a number in a string", "interval_seconds", `"60"`, "interval_seconds"),
		wrong("a config that is text", "config", `"{}"`, "config"),
		wrong("an array as config", "config", `[]`, "config"),
		wrong("an empty config", "config", `{}`, "config.url"),
		wrong("an unknown config member", "config", `{"url":"https://example.com","shell":"rm"}`, "config.shell"),
		wrong("a file", "config", `{"url":"file:///etc/passwd"}`, "config.url"),
		wrong("a script", "config", `{"url":"javascript:alert(1)"}`, "config.url"),
		wrong("plain HTTP for https", "config", `{"url":"http://example.com"}`, "config.url"),
		wrong("the metadata service", "config", `{"url":"https://169.254.169.254/latest/meta-data"}`, "config.url"),
		wrong("CRLF in a header", "config", `{"url":"https://example.com","headers":{"X-A":"b\r\nHost: evil"}}`, "config.headers.X-A"),
		wrong("CRLF in a header's name", "config", `{"url":"https://example.com","headers":{"X\r\nA":"b"}}`, ""),
		wrong("a timeout beyond its maximum", "config", `{"url":"https://example.com","timeout_seconds":61}`, "config.timeout_seconds"),
		wrong(
			"a regular expression that is none",
			"config",
			`{"url":"https://example.com","assertions":[{"source":"body","operator":"matches","target":"("}]}`,
			"config.assertions[0].target",
		),
		wrong(
			"a mask with nothing behind it",
			"config",
			`{"url":"https://example.com","basic_auth":{"username":"a","password":"***"}}`,
			"config.basic_auth.password",
		),
		wrong("regions as text", "regions", `"na-east-ewr"`, "regions"),
		wrong("no region", "regions", `[]`, "regions"),
		wrong("a region that is SQL", "regions", `["' OR 1=1 --"]`, "regions[0]"),
		wrong("a region that is a number", "regions", `[7]`, "regions"),
		wrong("a thousand regions", "regions", `[`+strings.Repeat(`"x",`, 999)+`"x"]`, "regions[0]"),
		wrong("enabled as text", "enabled", `"true"`, "enabled"),
		wrong("enabled as a number", "enabled", `1`, "enabled"),
		wrong("an unknown member", "tier", `"enterprise"`, "tier"),
		wrong("a member in capitals", "Name", `"x"`, "Name"),
		wrong("a prototype", "__proto__", `{"admin":true}`, "__proto__"),
		wrong("SQL as a member", "'; DROP TABLE checks; --", `1`, "'; DROP TABLE checks; --"),
	}
}

func otherAttacks(check string) []attack {
	const get, post, put, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete
	signup := func(member string, value any) map[string]any {
		body := map[string]any{"email": "mallory@example.com", "password": "difference engine", "name": "M", "organization_name": "M"}
		body[member] = value
		return body
	}
	at := "/v1/checks/" + check
	return []attack{
		{name: "negative limit", status: 400, method: get, path: "/v1/checks?limit=-1", member: "limit"},
		{name: "negative offset", status: 400, method: get, path: "/v1/checks?offset=-9223372036854775808", member: "offset"},
		{name: "offset beyond 64 bits", status: 400, method: get, path: "/v1/checks?offset=9223372036854775808", member: "offset"},
		{name: "SQL as limit", status: 400, method: get, path: "/v1/checks?limit=1;DROP", member: "query"},
		{name: "limit twice", status: 400, method: get, path: "/v1/checks?limit=1&limit=2", member: "limit"},
		{name: "NUL in a parameter", status: 400, method: get, path: at + "/results?region=%00", member: "region"},
		{name: "invalid UTF-8 in a parameter", status: 400, method: get, path: at + "/results?region=%ff", member: "region"},
		{name: "a year beyond dates", status: 400, method: get, path: at + "/results?from=99999-01-01T00:00:00Z", member: "from"},
		{name: "an unknown period", status: 400, method: get, path: at + "/uptime?period=1000y", member: "period"},
		{name: "an id that is a path", status: 404, method: get, path: "/v1/checks/..%2f..%2fetc%2fpasswd"},
		{name: "an id that is SQL", status: 404, method: get, path: "/v1/checks/1'%20OR%20'1'='1"},
		{name: "an id with NUL", status: 404, method: del, path: "/v1/checks/%00"},
		{name: "an id of megabytes", status: 404, method: get, path: "/v1/checks/" + strings.Repeat("a", 100_000)},
		{
			name:   "another id in the body",
			status: 404,
			method: put,
			path:   "/v1/checks/00000000-0000-4000-8000-000000000000",
			body:   map[string]any{"id": check, "name": "x"},
		},
		{name: "a method that is none", status: 405, method: "BREW", path: "/v1/checks"},
		{name: "TRACE", status: 405, method: http.MethodTrace, path: "/v1/checks"},
		{
			name:   "CRLF after a key's name",
			status: 400,
			method: post,
			path:   "/v1/api-keys",
			body:   map[string]any{"name": "{{.}}\r\n"},
			member: "name",
		},
		{
			name:   "a key with a member too many",
			status: 400,
			method: post,
			path:   "/v1/api-keys",
			body:   map[string]any{"name": "x", "org_id": check},
			member: "org_id",
		},
		{name: "signup without an address", status: 400, method: post, path: "/v1/auth/signup", body: signup("email", ""), member: "email"},
		{
			name:   "signup with two addresses",
			status: 400,
			method: post,
			path:   "/v1/auth/signup",
			body:   signup("email", "a@example.com,b@example.com"),
			member: "email",
		},
		{
			name:   "signup with CRLF in the address",
			status: 400,
			method: post,
			path:   "/v1/auth/signup",
			body:   signup("email", "a@example.com\r\nBcc: b@example.com"),
			member: "email",
		},
		{
			name:   "signup with a display name",
			status: 400,
			method: post,
			path:   "/v1/auth/signup",
			body:   signup("email", "Ada <a@example.com>"),
			member: "email",
		},
		{
			name:   "signup with a long address",
			status: 400,
			method: post,
			path:   "/v1/auth/signup",
			body:   signup("email", strings.Repeat("a", 250)+"@example.com"),
			member: "email",
		},
		{
			name:   "signup with a short password",
			status: 400,
			method: post,
			path:   "/v1/auth/signup",
			body:   signup("password", "1234567"),
			member: "password",
		},
		{
			name:   "signup with a long password",
			status: 400,
			method: post,
			path:   "/v1/auth/signup",
			body:   signup("password", strings.Repeat("x", 129)),
			member: "password",
		},
		{name: "signup with a tier", status: 400, method: post, path: "/v1/auth/signup", body: signup("tier", "enterprise"), member: "tier"},
		{
			name:   "signup with a role",
			status: 400,
			method: post,
			path:   "/v1/auth/signup",
			body:   signup("email_verified", true),
			member: "email_verified",
		},
		{
			name:   "signup with CRLF in the name",
			status: 400,
			method: post,
			path:   "/v1/auth/signup",
			body:   signup("name", "a\r\nb"),
			member: "name",
		},
		{
			name:   "login with an object",
			status: 400,
			method: post,
			path:   "/v1/auth/login",
			body:   map[string]any{"email": map[string]any{"$gt": ""}, "password": "x"},
			member: "email",
		},
		{
			name:   "login with SQL",
			status: 401,
			method: post,
			path:   "/v1/auth/login",
			body:   map[string]any{"email": "' OR 1=1 --", "password": "' OR 1=1 --"},
		},
		{name: "verify without a token", status: 400, method: post, path: "/v1/auth/verify", body: map[string]any{}, member: "token"},
		{
			name:   "verify with a token that is none",
			status: 400,
			method: post,
			path:   "/v1/auth/verify",
			body:   map[string]any{"token": "' OR 1=1 --"},
			member: "token",
		},
		{
			name:   "verify with a long token",
			status: 400,
			method: post,
			path:   "/v1/auth/verify",
			body:   map[string]any{"token": strings.Repeat("x", 201)},
			member: "token",
		},
		{
			name:   "verify with another's user",
			status: 400,
			method: post,
			path:   "/v1/auth/verify",
			body:   map[string]any{"token": "x", "user_id": check},
			member: "user_id",
		},
		{
			name:   "an address with CRLF",
			status: 400,
			method: put,
			path:   "/v1/auth/email",
			body:   map[string]any{"new_email": "a@example.com\r\nBcc: b@example.com"},
			member: "new_email",
		},
		{
			name:   "an address that is none",
			status: 400,
			method: put,
			path:   "/v1/auth/email",
			body:   map[string]any{"new_email": "root"},
			member: "new_email",
		},
		{name: "an empty address", status: 400, method: put, path: "/v1/auth/email", body: map[string]any{"new_email": ""}, member: "new_email"},
		{
			name:   "recovery for a list",
			status: 400,
			method: post,
			path:   "/v1/auth/recover",
			body:   map[string]any{"email": []string{"a@example.com"}},
			member: "email",
		},
		{
			name:   "recovery for two",
			status: 400,
			method: post,
			path:   "/v1/auth/recover",
			body:   map[string]any{"email": "a@example.com, b@example.com"},
			member: "email",
		},
		{
			name:   "a first password that is short",
			status: 400,
			method: put,
			path:   "/v1/auth/password",
			body:   map[string]any{"new_password": "1234567"},
			member: "new_password",
		},
		{
			name:   "a first password that is a number",
			status: 400,
			method: put,
			path:   "/v1/auth/password",
			body:   map[string]any{"new_password": 12345678},
			member: "new_password",
		},
		{name: "the audit log cannot be written", status: 405, method: post, path: "/v1/audit-log", body: map[string]any{}},
		{name: "nor be erased", status: 405, method: del, path: "/v1/audit-log"},
		{
			name:   "quick signup without an address",
			status: 400,
			method: post,
			path:   "/v1/auth/quick-signup",
			body:   map[string]any{},
			member: "email",
		},
	}
}

// TestAttacks holds that nothing of all this is let in, ends in a fault, is
// echoed, or leaves anything behind.
func TestAttacks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.tier(t, b.signup(t), vigil.TierEnterprise)
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
