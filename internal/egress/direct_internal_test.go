// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"net/http"
	"net/url"
	"testing"
)

// TestPlain: which exchanges are made directly. Package probe compares them with those of the transport.
func TestPlain(t *testing.T) {
	t.Parallel()
	gzip := ClientOptions{AcceptEncoding: "gzip"}
	proxied := ClientOptions{AcceptEncoding: "gzip", Proxy: &url.URL{Scheme: "http", Host: "proxy.test"}}
	for name, c := range map[string]struct {
		opts   ClientOptions
		change func(*http.Request)
		want   bool
	}{
		"Plain":           {gzip, func(*http.Request) {}, true},
		"Secure":          {gzip, func(r *http.Request) { r.URL.Scheme = "https" }, true},
		"Headers":         {gzip, func(r *http.Request) { r.Header.Set("X-One", "a\tb") }, true},
		"Head":            {ClientOptions{}, func(r *http.Request) { r.Method = http.MethodHead }, true},
		"Range":           {ClientOptions{}, func(r *http.Request) { r.Header.Set("Range", "bytes=0-1") }, true},
		"OwnEncoding":     {ClientOptions{}, func(r *http.Request) { r.Header.Set("Accept-Encoding", "br") }, true},
		"NoBody":          {gzip, func(r *http.Request) { r.Body = http.NoBody }, true},
		"GzipOfTransport": {ClientOptions{}, func(*http.Request) {}, false},
		"Proxy":           {proxied, func(*http.Request) {}, false},
		"Body":            {gzip, func(r *http.Request) { r.Body = http.MaxBytesReader(nil, nil, 1) }, false},
		"Post":            {gzip, func(r *http.Request) { r.Method = http.MethodPost }, false},
		"OtherMethod":     {gzip, func(r *http.Request) { r.Method = "CONNECT" }, false},
		"Upgrade":         {gzip, func(r *http.Request) { r.Header.Set("Upgrade", "websocket") }, false},
		"Expect":          {gzip, func(r *http.Request) { r.Header.Set("Expect", "100-continue") }, false},
		"Connection":      {gzip, func(r *http.Request) { r.Header.Set("Connection", "keep-alive") }, false},
		"OtherScheme":     {gzip, func(r *http.Request) { r.URL.Scheme = "file" }, false},
		"NoHost":          {gzip, func(r *http.Request) { r.URL.Host = ":80" }, false},
		"NameInUnicode":   {gzip, func(r *http.Request) { r.URL.Host = "münchen.test" }, false},
		"LineInHeader":    {gzip, func(r *http.Request) { r.Header["X-One"] = []string{"a\r\nX-Two: b"} }, false},
		"NameOfHeader":    {gzip, func(r *http.Request) { r.Header["X One"] = []string{"a"} }, false},
		"Bytes":           {gzip, func(r *http.Request) { r.Header.Set("X-One", "ü") }, false},
		"OtherContext":    {gzip, func(r *http.Request) { *r = *r.WithContext(context.WithoutCancel(r.Context())) }, false},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://shop.test/", nil)
		if err != nil {
			t.Fatal(err)
		}
		c.change(request)
		d := direct{life: t.Context(), opts: c.opts}
		if got := d.plain(request); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
