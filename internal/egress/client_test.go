// SPDX-License-Identifier: Apache-2.0

package egress_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/egress"
)

// target serves on a loopback address of its own, so that two are two hosts.
func target(t *testing.T, address string, handler http.HandlerFunc) string {
	t.Helper()
	listener, err := net.Listen("tcp", address+":0")
	if err != nil {
		t.Skipf("no second loopback address: %v", err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: handler}}
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

func send(t *testing.T, method, url, body string, opts egress.ClientOptions) (*http.Response, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, method, url, reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range secretHeaders() {
		request.Header.Set(name, "hunter2")
	}
	response, err := egress.New(everything()).Client(ctx, opts).Do(request)
	if response != nil {
		_ = response.Body.Close()
	}
	return response, err
}

func secretHeaders() []string {
	return []string{"Authorization", "Cookie", "X-Api-Key", "X-Custom", "User-Agent"}
}

func TestRedirectHeaders(t *testing.T) {
	t.Parallel()
	for name, stays := range map[string]bool{"SameHost": true, "OtherHost": false, "ThereAndBack": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got http.Header
			var first, second string
			first = target(t, "127.0.0.1", func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/SameHost":
					http.Redirect(w, r, "/end?q=1", http.StatusFound)
				case "/OtherHost":
					http.Redirect(w, r, second+"/end", http.StatusFound)
				case "/ThereAndBack":
					http.Redirect(w, r, second+"/back", http.StatusFound)
				default:
					got = r.Header.Clone()
				}
			})
			second = target(t, "127.0.0.2", func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/back" {
					http.Redirect(w, r, first+"/end", http.StatusFound)
					return
				}
				got = r.Header.Clone()
			})
			if _, err := send(t, http.MethodGet, first+"/"+name+"?token=hunter2", "", egress.ClientOptions{UserAgent: "Test/1"}); err != nil {
				t.Fatal(err)
			}
			for _, header := range secretHeaders() {
				if kept := got.Get(header) == "hunter2"; kept != stays {
					t.Errorf("%s: kept %v", header, kept)
				}
			}
			if got.Get("Referer") != "" {
				t.Error("the referer holds the query")
			}
			if !stays && got.Get("User-Agent") != "Test/1" {
				t.Errorf("user agent %q", got.Get("User-Agent"))
			}
		})
	}
}

func TestRedirectsThatAreNotFollowed(t *testing.T) {
	t.Parallel()
	var reached bool
	private := target(t, "127.0.0.2", func(http.ResponseWriter, *http.Request) { reached = true })
	from := target(t, "127.0.0.1", func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/body":
			http.Redirect(w, r, private, http.StatusTemporaryRedirect)
		default:
			w.Header().Set("Location", map[string]string{
				"/file": "file:///etc/passwd", "/gopher": "gopher://127.0.0.1:6379/_FLUSHALL",
				"/metadata": "http://169.254.169.254/latest/meta-data/",
			}[r.URL.Path])
			w.WriteHeader(http.StatusFound)
		}
	})
	for path, want := range map[string]error{
		"/loop": egress.ErrTooManyRedirects, "/body": egress.ErrRedirectBody,
		"/file": egress.ErrRedirectScheme, "/gopher": egress.ErrRedirectScheme,
	} {
		if _, err := send(t, http.MethodPost, from+path, "secret", egress.ClientOptions{}); !errors.Is(err, want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	var refusal *egress.Refusal
	if _, err := send(t, http.MethodGet, from+"/metadata", "", egress.ClientOptions{}); !errors.As(err, &refusal) {
		t.Errorf("redirected to a metadata address: %v", err)
	}
	if reached {
		t.Error("the body went to another host")
	}
	response, err := send(t, http.MethodGet, from+"/loop", "", egress.ClientOptions{NoRedirects: true})
	if err != nil || response.StatusCode != http.StatusFound {
		t.Errorf("without redirects the first answer is the answer: %v", err)
	}
}

func TestRedirectCount(t *testing.T) {
	t.Parallel()
	url := target(t, "127.0.0.1", func(w http.ResponseWriter, r *http.Request) {
		left := 0
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &left)
		if left > 0 {
			http.Redirect(w, r, fmt.Sprintf("/%d", left-1), http.StatusFound)
		}
	})
	if _, err := send(t, http.MethodGet, fmt.Sprintf("%s/%d", url, egress.MaxRedirects), "", egress.ClientOptions{}); err != nil {
		t.Errorf("%d redirects: %v", egress.MaxRedirects, err)
	}
	_, err := send(t, http.MethodGet, fmt.Sprintf("%s/%d", url, egress.MaxRedirects+1), "", egress.ClientOptions{})
	if !errors.Is(err, egress.ErrTooManyRedirects) {
		t.Errorf("%d redirects: %v", egress.MaxRedirects+1, err)
	}
}

func TestClientIgnoresProxies(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	url := target(t, "127.0.0.1", func(http.ResponseWriter, *http.Request) {})
	transport, ok := egress.New(everything()).Client(t.Context(), egress.ClientOptions{}).Transport.(*http.Transport)
	if !ok || transport.Proxy != nil || !transport.DisableKeepAlives {
		t.Error("the transport has a proxy or keeps connections")
	}
	if _, err := send(t, http.MethodGet, url, "", egress.ClientOptions{}); err != nil {
		t.Error(err)
	}
}

func TestIPVersion(t *testing.T) {
	t.Parallel()
	url := target(t, "127.0.0.1", func(http.ResponseWriter, *http.Request) {})
	if _, err := send(t, http.MethodGet, url, "", egress.ClientOptions{IPVersion: 4}); err != nil {
		t.Error(err)
	}
	if _, err := send(t, http.MethodGet, url, "", egress.ClientOptions{IPVersion: 6}); err == nil {
		t.Error("an IPv4 address was reached over IPv6")
	}
}
