// SPDX-License-Identifier: Apache-2.0

package probetest

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/miekg/dns"
	"github.com/quic-go/quic-go/http3"
)

// NameServer answers over UDP and TCP on one port until the test ends.
func NameServer(tb testing.TB, handler dns.HandlerFunc) netip.AddrPort {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	packets, err := new(net.ListenConfig).ListenPacket(tb.Context(), "udp", listener.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	for _, server := range []*dns.Server{{Listener: listener, Handler: handler}, {PacketConn: packets, Handler: handler}} {
		started := make(chan struct{})
		server.NotifyStartedFunc = func() { close(started) }
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = server.ActivateAndServe()
		}()
		<-started
		tb.Cleanup(func() {
			_ = server.Shutdown()
			<-done
		})
	}
	return netip.MustParseAddrPort(listener.Addr().String())
}

// Resolver is a name server that answers with the records that answer returns,
// each as a type and a value, such as "A 127.0.0.1".
func Resolver(tb testing.TB, answer func(dns.Question) []string) netip.AddrPort {
	tb.Helper()
	return NameServer(tb, func(w dns.ResponseWriter, query *dns.Msg) {
		reply := new(dns.Msg).SetReply(query)
		reply.RecursionAvailable = true // else an empty answer counts as none
		for _, text := range answer(query.Question[0]) {
			record, err := dns.NewRR(query.Question[0].Name + " 0 IN " + text)
			if err != nil {
				tb.Errorf("%s: %v", text, err)
				continue
			}
			reply.Answer = append(reply.Answer, record)
		}
		_ = w.WriteMsg(reply)
	})
}

// At is an answer of a Resolver: these addresses, each to questions of its
// version of IP.
func At(addresses ...string) func(dns.Question) []string {
	return func(question dns.Question) []string {
		var records []string
		for _, address := range addresses {
			kind := dns.TypeA
			if strings.Contains(address, ":") {
				kind = dns.TypeAAAA
			}
			if kind == question.Qtype {
				records = append(records, dns.TypeToString[kind]+" "+address)
			}
		}
		return records
	}
}

// OverQUIC serves HTTP/3 until the test ends, and returns its URL.
func OverQUIC(tb testing.TB, certificate tls.Certificate, handler http.HandlerFunc) string {
	tb.Helper()
	return OverQUICWith(tb, &tls.Config{Certificates: []tls.Certificate{certificate}}, handler)
}

// OverQUICWith is OverQUIC with a configuration of TLS.
func OverQUICWith(tb testing.TB, secure *tls.Config, handler http.HandlerFunc) string {
	tb.Helper()
	packets, err := new(net.ListenConfig).ListenPacket(tb.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	server := &http3.Server{
		Handler: handler, Logger: slog.New(slog.DiscardHandler),
		TLSConfig: http3.ConfigureTLSConfig(secure),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(packets)
	}()
	tb.Cleanup(func() {
		_ = server.Close()
		_ = packets.Close()
		<-done
	})
	return "https://" + packets.LocalAddr().String()
}

// ClosedPort is an address of the loopback that refuses connections until the
// test ends. A client has the port, so that no other process can listen there.
func ClosedPort(tb testing.TB) string {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = listener.Close() })
	conn, err := new(net.Dialer).DialContext(tb.Context(), "tcp", listener.Addr().String()) //nolint:forbidigo // to a listener of its own
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	return conn.LocalAddr().String()
}
