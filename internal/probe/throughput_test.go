// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
)

var _ = addFixture(fixtureThroughput)

// fixtureThroughput is the fixture of the throughput type.
func fixtureThroughput(f *world) fixture {
	url := f.http(store)
	return fixture{
		kind:    vigil.TypeThroughput,
		healthy: object{"url": url + "/100000?token=query-secret"},
		failing: object{"url": url + "/100000?token=query-secret", "min_mbps": 1000000},
		silent:  object{"url": "http://" + tcp(f, drain) + "/?token=query-secret"},
		secrets: []string{"query-secret"},
	}
}

// store serves as many bytes as the path says, takes uploads, and is slow or
// broken where the path says so.
func store(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		if r.URL.Path == "/slow" {
			buffer := make([]byte, 4096)
			for tick := time.NewTicker(5 * time.Millisecond); ; <-tick.C {
				if _, err := r.Body.Read(buffer); err != nil {
					tick.Stop()
					return
				}
			}
		}
		_, _ = io.Copy(io.Discard, r.Body)
	}
	switch r.URL.Path {
	case "/500":
		w.WriteHeader(http.StatusInternalServerError)
	case "/moved":
		http.Redirect(w, r, "/100000", http.StatusFound)
	case "/endless":
		_, _ = io.Copy(w, endless('x'))
	case "/rate": // 10,000 bytes every 10 ms: 8 Mbit/s
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for range 50 {
			_, _ = io.CopyN(w, endless('x'), 10_000)
			_ = http.NewResponseController(w).Flush()
			<-tick.C
		}
	case "/nothing":
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	default:
		if n, err := strconv.ParseInt(r.URL.Path[1:], 10, 64); err == nil {
			_, _ = io.CopyN(w, endless('x'), n)
		}
	}
}

func TestThroughput(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := w.http(store)
	cut := "http://" + tcp(t, func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 4096))
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")
	})
	frozen := "http://" + tcp(t, func(net.Conn) { <-t.Context().Done() }) // as of a stopped process: the kernel takes bytes
	for name, c := range map[string]struct {
		config   object
		bytes    float64 // negative: some
		complete bool
		reason   string
	}{
		"Download":         {object{"url": url + "/100000"}, 100_000, true, ""},
		"DownloadRedirect": {object{"url": url + "/moved"}, 100_000, true, ""},
		"MaxBytes":         {object{"url": url + "/endless", "max_bytes": 300_000}, 300_000, false, ""},
		"MaxDuration":      {object{"url": url + "/endless", "max_duration_seconds": 1, "max_bytes": 100 << 20}, -1, false, ""},
		"TooSlow":          {object{"url": url + "/rate", "min_mbps": 100}, 500_000, true, "Mbit/s, expected at least 100"},
		"FastEnough":       {object{"url": url + "/rate", "min_mbps": 1}, 500_000, true, ""},
		"Upload":           {object{"url": url + "/", "direction": "upload", "max_bytes": 1 << 20}, 1 << 20, true, ""},
		"UploadTimeIsUp": {
			object{"url": url + "/slow", "direction": "upload", "max_duration_seconds": 1, "max_bytes": 100 << 20},
			-1,
			false,
			"",
		},
		"UploadToAFrozenServer": {
			object{"url": frozen, "direction": "upload", "max_duration_seconds": 1, "max_bytes": 100 << 20, "timeout_seconds": 2},
			-1,
			false,
			"timed out after 3s while uploading",
		},
		"UploadTakenWithoutAnAnswer": {
			object{"url": frozen, "direction": "upload", "max_duration_seconds": 1, "max_bytes": 1000, "timeout_seconds": 2},
			1000,
			false,
			"timed out after 3s while uploading",
		},
		"UploadFails":   {object{"url": url + "/500", "direction": "upload", "max_bytes": 1000}, 1000, true, "status 500, expected 2xx"},
		"DownloadFails": {object{"url": url + "/500"}, 0, false, "status 500, expected 2xx"},
		"NothingComes":  {object{"url": url + "/nothing", "max_duration_seconds": 1}, 0, false, "no byte of the body came within 1s"},
		"Cut":           {object{"url": cut}, 5, false, "the connection was closed while downloading"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := w.run(vigil.TypeThroughput, c.config)
			if seen.Success != (c.reason == "") || !strings.Contains(seen.Error, c.reason) {
				t.Errorf("got %q, want %q", seen.Error, c.reason)
			}
			n, _ := seen.Metadata["bytes"].(float64)
			if c.bytes >= 0 && n != c.bytes || c.bytes < 0 && n <= 0 || seen.Metadata["complete"] != c.complete {
				t.Errorf("metadata %v", seen.Metadata)
			}
		})
	}
}

// TestRateIsRight compares with a server whose rate is known.
func TestRateIsRight(t *testing.T) { //nolint:paralleltest // measures time
	w := newWorld(t)
	var took time.Duration
	url := w.http(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		store(w, r)
		took = time.Since(began)
	})
	const tries = 3 // both sides read their own clocks, between which a busy machine does something else
	for try := range tries {
		seen := w.run(vigil.TypeThroughput, object{"url": url + "/rate"})
		mbps, _ := seen.Metadata["mbps"].(float64)
		want := 500_000 * 8 / 1e6 / took.Seconds()
		if math.Abs(mbps-want) <= want/10 {
			return
		}
		t.Logf("try %d: got %v Mbit/s, the server sent %v", try, mbps, want)
	}
	t.Error("the rate is not that of the server")
}

func TestThroughputConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const url = "https://example.com/"
	for member, configs := range map[string][]object{
		"config.url":       {{}, {"url": "ftp://example.com"}, {"url": "http://169.254.169.254/"}, {"url": "http://a:b@example.com"}},
		"config.direction": {{"url": url, "direction": "both"}},
		"config.max_bytes": {{"url": url, "max_bytes": 0}, {"url": url, "max_bytes": 100<<20 + 1}},
		"config.min_mbps":  {{"url": url, "min_mbps": -1}, {"url": url, "min_mbps": "10"}},
		"config.max_duration_seconds": {
			{"url": url, "max_duration_seconds": 0},
			{"url": url, "max_duration_seconds": 61},
			{"url": url, "max_duration_seconds": 51},
			{"url": url, "max_duration_seconds": 40, "timeout_seconds": 21},
		},
	} {
		for _, config := range configs {
			_, err := w.Parse(vigil.TypeThroughput, encode(t, config), minute)
			rejected(t, err, member)
		}
	}
	for interval, want := range map[time.Duration]time.Duration{minute: 20 * time.Second, 10 * time.Second: 10 * time.Second} {
		parsed, err := w.Parse(vigil.TypeThroughput, encode(t, object{"url": url}), interval)
		if err != nil || parsed.Deadline() != want {
			t.Errorf("%s: %v, %v", interval, parsed, err)
		}
	}
}
