// SPDX-License-Identifier: Apache-2.0

package notify_test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

func conformBrokenReceivers(t *testing.T, send sendTo) {
	t.Helper()
	hijack := func(do func(net.Conn)) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			do(conn)
			_ = conn.Close()
		}
	}
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

	t.Run("OneThatHangsIsATimeout", func(t *testing.T) {
		t.Parallel()
		got, _ := send(t, hang, notify.WithTimeout(200*time.Millisecond))
		if got.ErrorCode != notify.CodeTimeout || got.Permanent || got.Duration < 100*time.Millisecond || got.Duration > 10*time.Second {
			t.Errorf("got %+v", got) // the clock is not that of the timer, which may be some of its ticks ahead
		}
	})
	t.Run("OneThatResets", func(t *testing.T) {
		t.Parallel()
		got, _ := send(t, hijack(func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) }))
		if got.ErrorCode != notify.CodeReset || got.Permanent {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("OneThatHangsUp", func(t *testing.T) {
		t.Parallel()
		got, _ := send(t, hijack(func(net.Conn) {}))
		if got.ErrorCode != notify.CodeReset || got.Permanent {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("OneThatSpeaksSomethingElse", func(t *testing.T) {
		t.Parallel()
		got, _ := send(t, hijack(func(c net.Conn) { _, _ = c.Write([]byte("220 mail " + pathToken + "\r\n")) }))
		if got.ErrorCode != notify.CodeProtocol || got.Permanent || strings.Contains(got.Error, pathToken) {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("EndlessHeaders", func(t *testing.T) {
		t.Parallel()
		got, _ := send(t, hijack(func(c net.Conn) {
			_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\n"))
			for {
				if _, err := c.Write([]byte("X-A: " + strings.Repeat("b", 4096) + "\r\n")); err != nil {
					return
				}
			}
		}))
		if got.Delivered() || got.Permanent {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("AnEndlessBodyIsCutAndDelivered", func(t *testing.T) {
		t.Parallel()
		var written atomic.Int64
		got, _ := send(t, func(w http.ResponseWriter, _ *http.Request) {
			for {
				n, err := w.Write(bytes.Repeat([]byte("é\x00"), 1000))
				written.Add(int64(n))
				if err != nil {
					return
				}
			}
		})
		if !got.Delivered() || len(got.ResponseBody) > 4096 || len(got.ResponseBody) < 4000 ||
			strings.ContainsAny(got.ResponseBody, "\x00\uFFFD") {
			t.Errorf("got %d bytes, %+v", len(got.ResponseBody), got.ErrorCode)
		}
	})
	t.Run("ABodyThatDripsIsDeliveredWithinTheTimeout", func(t *testing.T) {
		t.Parallel()
		got, _ := send(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte("o"))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, notify.WithTimeout(2*time.Second)) // the first byte has to come before it
		if !got.Delivered() || got.StatusCode != 200 || got.Duration > 10*time.Second {
			t.Errorf("got %+v", got)
		}
	})
}

func conformAddresses(t *testing.T, kind form) {
	t.Helper()
	t.Run("NoServerListens", func(t *testing.T) {
		t.Parallel()
		address := probetest.ClosedPort(t)
		got := parse(t, registry(), kind.kind(), httpConfigs("http://" + address)[kind]).Send(t.Context(), message())
		if got.ErrorCode != notify.CodeRefused || got.Permanent || !strings.Contains(got.Error, address) {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("PlainHTTPBehindHTTPS", func(t *testing.T) {
		t.Parallel()
		r := receive(t, nil)
		got := parse(t, registry(), kind.kind(), httpConfigs(strings.Replace(r.url, "http:", "https:", 1))[kind]).Send(t.Context(), message())
		if got.ErrorCode != notify.CodeTLS || got.Permanent {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("TheCallerGivesUp", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		r := receive(t, func(http.ResponseWriter, *http.Request) { cancel() })
		config := httpConfigs(r.url)[kind]
		cancel()
		got := parse(t, registry(), kind.kind(), config).Send(ctx, message())
		if got.ErrorCode != notify.CodeCanceled || got.Permanent {
			t.Errorf("got %+v", got)
		}
	})
}
