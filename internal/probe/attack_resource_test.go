// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"context"
	"crypto/tls"
	"io"
	"math"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// attack is a target that costs memory, time or sockets.
type attack struct {
	kind   vigil.CheckType
	config object
	reason string // "while ...": it never ends by itself; empty: it succeeds
}

func resourceAttacks(w *world) map[string]attack {
	w.Helper()
	certificate := w.authority.Issue(w)
	scripted := func(answers map[string]string, end string) string { return w.scriptedIMAP(certificate, answers, end) }
	imap := func(address string) object {
		return object{
			"imap": serverAt(w, address, object{"username": "a", "password": "b"}), "smtp": serverAt(w, tcp(w, drain), object{"security": "none"}),
			"round_trip": false,
		}
	}
	return map[string]attack{
		"TLSHandshakeDrip": {vigil.TypeHTTPS, object{"url": "https://" + tcp(w, drip("\x16\x03\x03\x40\x00"))}, "while in the TLS handshake"},
		"SSLHandshakeDrip": {vigil.TypeSSL, object{"host": tcp(w, drip("\x16\x03\x03\x40\x00"))}, "while in the TLS handshake"},
		"SSLEndless": {
			vigil.TypeSSL,
			object{"host": tcp(w, flood("", "\x16\x03\x03\x40\x00"))},
			"handshake message of length 197440 bytes exceeds maximum",
		},
		"HeaderDrip": {vigil.TypeHTTP, object{"url": "http://" + tcp(w, drip("HTTP/1.1 200 OK\r\nX: "))}, "while reading the answer"},
		"EndlessHeader": {
			vigil.TypeHTTP,
			object{"url": "http://" + tcp(w, flood("HTTP/1.1 200 OK\r\nX: ", "y"))},
			"the headers of the answer exceed 64 KiB",
		},
		"EndlessHeaders": {
			vigil.TypeHTTP,
			object{"url": "http://" + tcp(w, flood("HTTP/1.1 200 OK\r\n", "X: y\r\n"))},
			"the headers of the answer exceed 64 KiB",
		},
		"EndlessStatusLine": {
			vigil.TypeHTTP,
			object{"url": "http://" + tcp(w, flood("HTTP/1.1 200 ", "y"))},
			"the headers of the answer exceed 64 KiB",
		},
		"EndlessChunkSize": {
			vigil.TypeHTTP,
			object{"url": "http://" + tcp(w, flood("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "0"))},
			"header line too long",
		},
		"EndlessTrailer": {
			vigil.TypeHTTP,
			object{"url": "http://" + tcp(w, flood("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "X: y\r\n"))},
			"the chunks of the answer are malformed",
		},
		"GzipBomb": {
			vigil.TypeHTTP,
			object{"url": w.http(site) + "/bomb", "assertions": []object{{"source": "body", "operator": "contains", "target": "x"}}},
			"the body was expected to contain",
		},
		"EndlessBody": {
			vigil.TypeHTTP,
			object{
				"url":        "http://" + tcp(w, flood("HTTP/1.1 200 OK\r\n\r\n", "x")),
				"assertions": []object{{"source": "body", "operator": "matches", "target": "(x+x+)+y"}},
			},
			"the body was expected to match",
		},
		"LargePattern": {
			vigil.TypeHTTP,
			object{
				"url":        "http://" + tcp(w, flood("HTTP/1.1 200 OK\r\n\r\n", "x")),
				"assertions": slices.Repeat([]object{{"source": "body", "operator": "matches", "target": "(x{0,200}x{0,30})y"}}, 20),
			},
			"while checking the assertions",
		},
		"EndlessExpect":   {vigil.TypeTCP, serverAt(w, tcp(w, flood("", "x")), object{"expect": "y"}), "not in the first 64 KiB"},
		"EndlessDownload": {vigil.TypeThroughput, object{"url": "http://" + tcp(w, flood("HTTP/1.1 200 OK\r\n\r\n", "x"))}, ""},
		"NegativeLength": {
			vigil.TypeHTTP,
			object{"url": "http://" + tcp(w, banner("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"))},
			"the Content-Length of the answer is not valid",
		},
		"TwoLengths": {
			vigil.TypeHTTP,
			object{"url": "http://" + tcp(w, banner("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"))},
			"the Content-Length of the answer is not valid",
		},
		"HugeLength": {
			vigil.TypeHTTP,
			object{"url": "http://" + tcp(w, banner("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nab"))},
			"while reading the body",
		},
		"SwitchingProtocols": {
			vigil.TypeHTTP,
			object{"url": "http://" + tcp(w, banner("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"))},
			"status 101, expected 200",
		},
		"SMTPBannerNever": {
			vigil.TypeSMTPIMAP,
			object{"smtp": serverAt(w, tcp(w, drain), object{"security": "none"})},
			"while waiting for the SMTP server's greeting",
		},
		"SMTPEndlessBanner": {
			vigil.TypeSMTPIMAP,
			object{"smtp": serverAt(w, tcp(w, flood("220-", "x")), object{"security": "none"})},
			"the SMTP server sent more than 256 KiB",
		},
		"IMAPEndlessGreeting": {vigil.TypeSMTPIMAP, imap(scripted(nil, "* OK ")), "the IMAP server sent more than 256 KiB"},
		"IMAPLiteralNoEnd": {
			vigil.TypeSMTPIMAP,
			imap(scripted(map[string]string{"LOGIN": "* LIST () \"/\" {999999999999}\r\n"}, "x")),
			"the IMAP server sent more than 256 KiB",
		},
		"IMAPEndlessLists": {
			vigil.TypeSMTPIMAP,
			imap(scripted(map[string]string{"LOGIN": ""}, "* LIST () \"/\" a\r\n")),
			"the IMAP server sent more than 256 KiB",
		},
		"IMAPDeepLists": {
			vigil.TypeSMTPIMAP,
			imap(scripted(map[string]string{"EXAMINE": "* 1 FETCH (BODYSTRUCTURE "}, "(")),
			"nested too deeply",
		},
		"QUICNoise": {vigil.TypeHTTP3, object{"url": "https://" + noisyUDP(w)}, "while in the QUIC handshake"},
		"DNSNoise":  {vigil.TypeDNS, object{"host": "a.test", "resolvers": []string{noisyUDP(w)}}, "while waiting for the name server"},
		"DNSHuge": {
			vigil.TypeDNS,
			object{"host": "a.test", "protocol": "tcp", "resolvers": []string{tcp(w, flood("\xff\xff", "\xc0\x0c"))}},
			"the name server's answer is malformed",
		},
	}
}

// TestAttackResources: targets that cost memory, time or sockets. Every one is
// over by its deadline, and all together stay within a bound of memory.
func TestAttackResources(t *testing.T) { //nolint:paralleltest // memory is counted
	if testing.Short() {
		t.Skip("skipped in short mode: hostile targets send much data")
	}
	w := newWorld(t)
	cases := resourceAttacks(w)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for name, c := range cases {
		limit := minute
		if strings.HasPrefix(c.reason, "while ") {
			limit = 1500 * time.Millisecond // enough to get to where it hangs
		}
		var seen vigil.Observation
		best := time.Duration(math.MaxInt64)
		for try := 0; try < 3 && best > stuck; try++ { // a busy machine is late, but not every time
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			began := time.Now()
			seen = w.must(c.kind, c.config).Run(ctx)
			cancel()
			best = min(best, time.Since(began))
		}
		if best > stuck {
			t.Errorf("%s took %s", name, best)
		}
		t.Logf("%-20s %v %s", name, seen.Success, seen.Error)
		if seen.Success != (c.reason == "") || !strings.Contains(seen.Error, c.reason) {
			t.Errorf("%s: %v %q, want %q", name, seen.Success, seen.Error, c.reason)
		}
	}
	runtime.ReadMemStats(&after)
	t.Logf("%d attacks, %d MiB allocated by both sides", len(cases), (after.TotalAlloc-before.TotalAlloc)>>20)
	if after.HeapSys > before.HeapSys+256<<20 {
		t.Errorf("the heap grew by %d MiB", (after.HeapSys-before.HeapSys)>>20)
	}
}

// scriptedIMAP greets, agrees to every command, and at the ones given sends
// something else instead and then a text without end.
func (w *world) scriptedIMAP(certificate tls.Certificate, answers map[string]string, end string) string {
	w.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}})
	if err != nil {
		w.Fatal(err)
	}
	return serveOn(w, listener, func(conn net.Conn) {
		if answers == nil {
			flood("", end)(conn)
			return
		}
		_, _ = io.WriteString(conn, "* OK [CAPABILITY IMAP4rev1 UIDPLUS ESEARCH] ready\r\n")
		buffer := make([]byte, 4096)
		for {
			n, err := conn.Read(buffer)
			if err != nil {
				return
			}
			for line := range strings.Lines(string(buffer[:n])) {
				tag, command, _ := strings.Cut(strings.TrimSpace(line), " ")
				for known, answer := range answers {
					if strings.HasPrefix(command, known) {
						if end != "" {
							flood(answer, end)(conn)
							return
						}
						_, _ = io.WriteString(conn, answer)
					}
				}
				_, _ = io.WriteString(conn, tag+" OK done\r\n")
			}
		}
	})
}

// noisyUDP answers every packet with fifty of nonsense, which is as many as a
// socket takes before it is read.
func noisyUDP(tb testing.TB) string {
	tb.Helper()
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buffer := make([]byte, 2048)
		for {
			_, from, err := packets.ReadFrom(buffer)
			if err != nil {
				return
			}
			for range 50 {
				_, _ = packets.WriteTo(buffer[:1200], from)
			}
		}
	}()
	tb.Cleanup(func() {
		_ = packets.Close()
		<-done
	})
	return packets.LocalAddr().String()
}

// TestAttackMailbox: a server that claims that the whole mailbox is the marked
// message is not asked to delete it, nor does the claim take memory.
func TestAttackMailbox(t *testing.T) { //nolint:paralleltest // memory is counted
	w := newWorld(t)
	for _, claim := range []string{"* SEARCH 1 2 3\r\n", "* ESEARCH (TAG \"x\") UID ALL 1:4294967295\r\n", "* SEARCH 4294967295\r\n"} {
		var deleted atomic.Bool
		listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{w.authority.Issue(t)}})
		if err != nil {
			t.Fatal(err)
		}
		address := serveOn(t, listener, func(conn net.Conn) {
			_, _ = io.WriteString(conn, "* OK [CAPABILITY IMAP4rev1 UIDPLUS ESEARCH] ready\r\n")
			buffer := make([]byte, 4096)
			for {
				n, err := conn.Read(buffer)
				if err != nil {
					return
				}
				for line := range strings.Lines(string(buffer[:n])) {
					tag, command, _ := strings.Cut(strings.TrimSpace(line), " ")
					if strings.HasPrefix(command, "UID SEARCH") {
						_, _ = io.WriteString(conn, strings.Replace(claim, "x", tag, 1))
					}
					if strings.HasPrefix(command, "UID STORE") && strings.Contains(command, "1:4294967295") {
						deleted.Store(true)
					}
					_, _ = io.WriteString(conn, tag+" OK done\r\n")
				}
			}
		})
		house := probetest.NewPostOffice(t, w.authority, "none", "tls")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		w.run(
			vigil.TypeSMTPIMAP,
			house.Config(object{"imap": serverAt(t, address, object{"username": "a", "password": "b"}), "max_delivery_seconds": 1}),
		)
		runtime.ReadMemStats(&after)
		if deleted.Load() {
			t.Errorf("%q: the mailbox was emptied", claim)
		}
		if grown := after.HeapSys - before.HeapSys; after.HeapSys > before.HeapSys && grown > 256<<20 {
			t.Errorf("%q: the heap grew by %d MiB", claim, grown>>20)
		}
	}
}
