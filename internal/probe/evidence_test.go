// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/miekg/dns"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
	"github.com/vigil-monitor/vigil/internal/secret"
)

// recorder runs a probe that fails, and returns its evidence.
func (w *world) recorder(t *testing.T, kind vigil.CheckType, config any) *vigil.Evidence {
	t.Helper()
	seen := w.must(kind, config).Run(probe.KeepEvidence(t.Context(), nil))
	if seen.Success || seen.Evidence == nil {
		t.Fatalf("success %v, error %q, evidence %v", seen.Success, seen.Error, seen.Evidence)
	}
	return seen.Evidence
}

func headerOf(e *vigil.Evidence, name string) string {
	for _, header := range e.Headers {
		if header.Name == name {
			return header.Value
		}
	}
	return ""
}

func TestEvidenceOfAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	page := strings.Repeat("upstream timed out\n", 300)
	site := w.http(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("X-Backend", "b-7\u202eturned")
		rw.Header().Set("Set-Cookie", "session=biscuit; Path=/")
		rw.Header().Set("X-Api-Key", "another")
		switch r.URL.Path {
		case "/binary":
			rw.Header().Set("Content-Type", "image/png")
			rw.WriteHeader(http.StatusBadGateway)
			_, _ = rw.Write(append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 4000)...))
		case "/control":
			rw.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(rw, "red \x1b[31m and \u202eturned\r\nnext")
		case "/empty":
			rw.WriteHeader(http.StatusServiceUnavailable)
		default:
			rw.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(rw, page)
		}
	})
	t.Run("HasStatusHeadersAndTheFirst2KiB", func(t *testing.T) {
		t.Parallel()
		e := w.recorder(t, vigil.TypeHTTP, object{"url": site})
		if e.StatusLine != "HTTP/1.1 503 Service Unavailable" || e.Address != strings.TrimPrefix(site, "http://") {
			t.Errorf("%q at %q", e.StatusLine, e.Address)
		}
		if e.Body == nil || e.Body.Text != page[:2048] || !e.Body.Truncated || e.Body.Bytes != int64(len(page)) || e.Body.Binary {
			t.Errorf("body %+v", e.Body)
		}
		if headerOf(e, "Set-Cookie") != secret.Mask || headerOf(e, "X-Api-Key") != secret.Mask {
			t.Errorf("credentials in %v", e.Headers)
		}
		if got := headerOf(e, "X-Backend"); !strings.HasPrefix(got, "b-7") || strings.Contains(got, "\u202e") {
			t.Errorf("header %q", got)
		}
	})
	t.Run("SaysThatABodyIsBinary", func(t *testing.T) {
		t.Parallel()
		e := w.recorder(t, vigil.TypeHTTP, object{"url": site + "/binary"})
		if !e.Body.Binary || e.Body.Text != "" || e.Body.Bytes != 4008 || e.Body.ContentType != "image/png" {
			t.Errorf("body %+v", e.Body)
		}
	})
	t.Run("ReplacesControlCharacters", func(t *testing.T) {
		t.Parallel()
		e := w.recorder(t, vigil.TypeHTTP, object{"url": site + "/control"})
		if e.Body.Text != "red \uFFFD[31m and \uFFFDturned\nnext" || e.Body.Truncated {
			t.Errorf("body %q", e.Body.Text)
		}
	})
	t.Run("OfAnEmptyBody", func(t *testing.T) {
		t.Parallel()
		e := w.recorder(t, vigil.TypeHTTP, object{"url": site + "/empty"})
		if e.Body == nil || e.Body.Bytes != 0 || e.Body.Text != "" || e.Body.Truncated || e.Body.Binary {
			t.Errorf("body %+v", e.Body)
		}
	})
	t.Run("IsCollectedOnlyWhereItIsWanted", func(t *testing.T) {
		t.Parallel()
		if seen := w.run(vigil.TypeHTTP, object{"url": site}); seen.Success || seen.Evidence != nil {
			t.Errorf("evidence %+v", seen.Evidence)
		}
		var asked vigil.Observation
		ctx := probe.KeepEvidence(t.Context(), func(seen vigil.Observation) bool { asked = seen; return false })
		seen := w.must(vigil.TypeHTTP, object{"url": site}).Run(ctx)
		if seen.Evidence != nil || asked.Error != seen.Error || asked.StatusCode != http.StatusServiceUnavailable || asked.Metadata == nil {
			t.Errorf("asked with %+v, evidence %+v", asked, seen.Evidence)
		}
		passed := w.must(vigil.TypeHTTP, object{"url": site, "expected_status_code": 503}).Run(probe.KeepEvidence(t.Context(), nil))
		if !passed.Success || passed.Evidence != nil {
			t.Errorf("a success has %+v", passed.Evidence)
		}
	})
}

// TestEvidenceOfABodyThatEndsEarly holds that collecting evidence does not hide that a body is
// shorter than its answer says.
func TestEvidenceOfABodyThatEndsEarly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := tcp(t, func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 1024))
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this")
	})
	e := w.recorder(t, vigil.TypeHTTP, object{"url": "http://" + server})
	if e.StatusLine != "HTTP/1.1 200 OK" || e.Body == nil || e.Body.Text != "only this" || !e.Body.Truncated {
		t.Errorf("%+v, body %+v", e, e.Body)
	}
}

// TestEvidenceReadsItsBoundOfALargeBody holds that the body of an answer is read up to the same
// bound with evidence as without.
func TestEvidenceReadsItsBoundOfALargeBody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var sent atomic.Int64
	site := w.http(func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(http.StatusInternalServerError)
		part := []byte(strings.Repeat("x", 64<<10))
		for range 160 { // 10 MiB
			n, err := rw.Write(part)
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	})
	e := w.recorder(t, vigil.TypeHTTP, object{"url": site})
	if e.Body.Bytes != 1<<20 || len(e.Body.Text) != 2048 || !e.Body.Truncated {
		t.Errorf("read %d bytes, kept %d, truncated %v", e.Body.Bytes, len(e.Body.Text), e.Body.Truncated)
	}
}

// TestEvidenceHidesSecrets holds that a target that repeats a credential, however it spells it,
// does not bring it into evidence, also where the 2 KiB end.
func TestEvidenceHidesSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const value = "tiger-Stripe/4711?"
	percent := func(text string) string {
		var out strings.Builder
		for i := range len(text) {
			fmt.Fprintf(&out, "%%%02x", text[i])
		}
		return out.String()
	}
	for name, spell := range map[string]func(string) string{
		"Plain": func(text string) string { return text }, "Percent": url.QueryEscape, "EveryCharacterPercent": percent,
		"Base64": func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			echo := w.http(func(rw http.ResponseWriter, r *http.Request) {
				said := spell(r.Header.Get("X-Auth-Token"))
				rw.Header().Set("X-Echo", said)
				rw.WriteHeader(http.StatusForbidden)
				_, _ = io.WriteString(rw, "you said "+said+" "+strings.Repeat(".", 2030-len(said)-10)+said+said)
			})
			e := w.recorder(t, vigil.TypeHTTP, object{"url": echo, "headers": object{"X-Auth-Token": value}})
			text, err := json.Marshal(e)
			if err != nil || strings.Contains(string(text), spell(value)) || strings.Contains(string(text), spell(value)[:8]) {
				t.Errorf("%s, %v", text, err)
			}
			if headerOf(e, "X-Echo") != secret.Mask || !strings.HasPrefix(e.Body.Text, "you said *** ...") {
				t.Errorf("header %q, body %q", headerOf(e, "X-Echo"), e.Body.Text)
			}
		})
	}
}

func TestEvidenceOfRedirects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dead := closedPort(t)
	site := w.http(func(rw http.ResponseWriter, r *http.Request) {
		to := map[string]string{"/loop": "/loop?code=s3cret", "/to": "/dead", "/dead": "http://" + dead + "/x?token=s3cret"}[r.URL.Path]
		http.Redirect(rw, r, to, http.StatusFound)
	})
	t.Run("ThatDoNotEnd", func(t *testing.T) {
		t.Parallel()
		e := w.recorder(t, vigil.TypeHTTP, object{"url": site + "/loop"})
		n := len(e.Redirects)
		if n != egress.MaxRedirects+1 || !e.Redirects[n-1].Failed || e.Redirects[0].Failed || e.Redirects[0].Status != http.StatusFound ||
			e.Redirects[0].To != site+"/loop" || e.StatusLine != "HTTP/1.1 302 Found" {
			t.Errorf("%q, %+v", e.StatusLine, e.Redirects)
		}
		if headerOf(e, "Location") != "/loop" {
			t.Errorf("headers %v", e.Headers)
		}
	})
	t.Run("OfWhichTheLastFails", func(t *testing.T) {
		t.Parallel()
		e := w.recorder(t, vigil.TypeHTTP, object{"url": site + "/to"})
		if len(e.Redirects) != 2 || e.Redirects[0].Failed || !e.Redirects[1].Failed || e.Redirects[1].To != "http://"+dead+"/x" {
			t.Errorf("%+v", e.Redirects)
		}
		if len(e.Attempts) != 1 || e.Attempts[0].Address != dead || e.Attempts[0].Error != "connection refused" {
			t.Errorf("%+v", e.Attempts)
		}
	})
}

func TestEvidenceOfConnections(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	t.Run("Refused", func(t *testing.T) {
		t.Parallel()
		dead := closedPort(t)
		e := w.recorder(t, vigil.TypeTCP, serverAt(t, dead, object{}))
		if e.Address != "" || len(e.Attempts) != 1 || e.Attempts[0].Address != dead || e.Attempts[0].Error != "connection refused" {
			t.Errorf("%+v", e)
		}
	})
	t.Run("ThatSayNothing", func(t *testing.T) {
		t.Parallel()
		silent := tcp(t, drain)
		e := w.recorder(t, vigil.TypeHTTP, object{"url": "http://" + silent, "timeout_seconds": 1})
		if e.Address != silent || e.StatusLine != "" || e.Body != nil {
			t.Errorf("%+v", e)
		}
	})
	t.Run("ThatSaySomethingElse", func(t *testing.T) {
		t.Parallel()
		server := tcp(t, func(conn net.Conn) { _, _ = io.WriteString(conn, "421 too busy\r\n") })
		e := w.recorder(t, vigil.TypeTCP, serverAt(t, server, object{"expect": "220"}))
		if e.Address != server || e.Body == nil || e.Body.Text != "421 too busy\n" || e.Body.Bytes != 14 {
			t.Errorf("%+v, body %+v", e, e.Body)
		}
	})
	t.Run("ToAPrivateNameShowNoAddress", func(t *testing.T) {
		t.Parallel()
		server := probetest.Resolver(t, probetest.At("10.1.2.3"))
		registry := probe.NewRegistry(egress.New(egress.Policy{}, egress.WithNameServer(server)))
		parsed, err := registry.Parse(vigil.TypeTCP, encode(t, object{"host": "inside.test", "port": 80}), minute)
		if err != nil {
			t.Fatal(err)
		}
		seen := parsed.Run(probe.KeepEvidence(t.Context(), nil))
		if text, err := json.Marshal(seen.Evidence); err != nil || seen.Success || strings.Contains(string(text), "10.1.2.3") {
			t.Errorf("%s, %v", text, err)
		}
	})
}

func TestEvidenceOfNames(t *testing.T) {
	t.Parallel()
	server := probetest.Resolver(t, func(q dns.Question) []string { return nil })
	w := newWorld(t, egress.WithNameServer(server))
	t.Run("ThatDoNotExist", func(t *testing.T) {
		t.Parallel()
		e := w.recorder(t, vigil.TypeHTTP, object{"url": "http://gone.test./"})
		if len(e.DNS) != 1 || !strings.HasPrefix(e.DNS[0].Name, "gone.test") || e.DNS[0].Error != "no such host" || e.Address != "" {
			t.Errorf("%+v", e)
		}
	})
	t.Run("OfADNSCheck", func(t *testing.T) {
		t.Parallel()
		zone := probetest.NameServer(t, zone(t)).String()
		e := w.recorder(t, vigil.TypeDNS, object{"host": "gone.test", "resolvers": []string{zone}})
		if len(e.DNS) != 1 || e.DNS[0].Rcode != "NXDOMAIN" || e.DNS[0].Server != zone || e.DNS[0].Type != "A" || e.DNS[0].Name != "gone.test" {
			t.Errorf("%+v", e.DNS)
		}
		e = w.recorder(t, vigil.TypeDNS, object{"host": "www.test", "resolvers": []string{zone}, "expected_values": []string{"192.0.2.9"}})
		if len(e.DNS) != 1 || len(e.DNS[0].Answers) != 2 || e.DNS[0].Rcode != "NOERROR" {
			t.Errorf("%+v", e.DNS)
		}
	})
}

func TestEvidenceOfCertificates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	expired := w.https(w.authority.Issue(t, probetest.Expired()), site)
	quic := probetest.OverQUIC(t, w.authority.Issue(t, probetest.Expired()), site)
	for name, c := range map[string]struct {
		kind   vigil.CheckType
		config object
	}{
		"HTTPS": {vigil.TypeHTTPS, object{"url": expired}}, "HTTP3": {vigil.TypeHTTP3, object{"url": quic}},
		"SSL":  {vigil.TypeSSL, object{"host": strings.TrimPrefix(expired, "https://")}},
		"Step": {vigil.TypeMultistep, object{"steps": []object{{"name": "shop", "type": "https", "config": object{"url": expired}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := w.recorder(t, c.kind, c.config)
			if !strings.Contains(e.CertificateError, "expired") || len(e.Certificates) == 0 {
				t.Fatalf("%q, %+v", e.CertificateError, e.Certificates)
			}
			leaf := e.Certificates[0]
			if leaf.Subject == "" || leaf.Issuer == "" || leaf.NotAfter == "" || len(leaf.SANs) == 0 || e.Address == "" {
				t.Errorf("%+v at %q", leaf, e.Address)
			}
			if (name == "Step") != (e.Step == "shop") {
				t.Errorf("step %q", e.Step)
			}
		})
	}
}
