// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

var _ = addFixture(fixtureGRPC)

// fixtureGRPC is the fixture of the grpc type.
func fixtureGRPC(f *world) fixture {
	call := func(address, service string) object {
		return serverAt(f, address, object{
			"security": "none", "service": service, "headers": object{"authorization": "Bearer hunter2"},
		})
	}
	server := serveGRPC(f, healthServer())
	return fixture{
		kind:    vigil.TypeGRPC,
		healthy: call(server, "shop"),
		failing: call(server, "billing"),
		silent:  call(tcp(f, drain), "shop"),
		secrets: []string{"hunter2"},
	}
}

// healthServer has one service in each state, and repeats the credentials of refused calls.
func healthServer(more ...grpc.ServerOption) *grpc.Server {
	server := grpc.NewServer(more...)
	states := health.NewServer()
	for service, state := range map[string]grpc_health_v1.HealthCheckResponse_ServingStatus{
		"shop": grpc_health_v1.HealthCheckResponse_SERVING, "billing": grpc_health_v1.HealthCheckResponse_NOT_SERVING,
		"stock": grpc_health_v1.HealthCheckResponse_UNKNOWN,
	} {
		states.SetServingStatus(service, state)
	}
	grpc_health_v1.RegisterHealthServer(server, guarded{states})
	return server
}

// guarded is a health service that needs a token for some services.
type guarded struct{ *health.Server }

func (g guarded) Check(ctx context.Context, in *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	given, _ := metadata.FromIncomingContext(ctx)
	switch in.GetService() {
	case "private":
		if got := given.Get("authorization"); len(got) != 1 || got[0] != "Bearer hunter2" {
			return nil, status.Error(codes.Unauthenticated, "no token: "+strings.Join(got, ""))
		}
		in.Service = "shop"
	case "slow":
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	case "busy":
		return nil, status.Error(codes.ResourceExhausted, "100 % full\nof <calls> für alle")
	case "odd":
		return &grpc_health_v1.HealthCheckResponse{Status: 77}, nil
	case "watched":
		return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN}, nil
	}
	return g.Server.Check(ctx, in)
}

// serveGRPC serves until the test ends and returns the address.
func serveGRPC(tb testing.TB, server *grpc.Server) string {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	tb.Cleanup(func() {
		server.Stop()
		<-done
	})
	return listener.Addr().String()
}

func TestGRPC(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	plain := serveGRPC(t, healthServer())
	bare := serveGRPC(t, grpc.NewServer())
	secure := func(certificate tls.Certificate) string {
		return serveGRPC(t, healthServer(grpc.Creds(credentials.NewServerTLSFromCert(&certificate))))
	}
	trusted, dated := secure(w.authority.Issue(t)), secure(w.authority.Issue(t, probetest.Expired()))
	// They answer and read on: what closes at once may reset the connection before the answer is read.
	old := banner("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	web := tcp(t, old)
	webTLS := strings.TrimPrefix(w.https(w.authority.Issue(t), func(http.ResponseWriter, *http.Request) {}), "https://")
	agreed, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{w.authority.Issue(t)}, NextProtos: []string{"h2"},
	})
	if err != nil {
		t.Fatal(err)
	}
	closed := closedPort(t)
	for name, c := range map[string]struct {
		address string
		config  object
		status  string // of the metadata
		code    string
		reason  string // empty: it succeeds
	}{
		"Server":      {plain, object{"security": "none"}, "SERVING", "OK", ""},
		"Service":     {plain, object{"security": "none", "service": "shop"}, "SERVING", "OK", ""},
		"TLS":         {trusted, object{"service": "shop"}, "SERVING", "OK", ""},
		"NotVerified": {dated, object{"verify_tls": false}, "SERVING", "OK", ""},
		"Metadata": {
			plain, object{"security": "none", "service": "private", "headers": object{"Authorization": "Bearer hunter2"}}, "SERVING", "OK", "",
		},

		"NotServing": {
			plain, object{"security": "none", "service": "billing"}, "NOT_SERVING", "OK", `the service "billing" is NOT_SERVING, expected SERVING`,
		},
		"Unknown": {
			plain, object{"security": "none", "service": "stock"}, "UNKNOWN", "OK", `the service "stock" is UNKNOWN, expected SERVING`,
		},
		"NoSuchService": {
			plain, object{"security": "none", "service": "nowhere"}, "", "NOT_FOUND", `the server does not know the service "nowhere" (NOT_FOUND)`,
		},
		"OfTheOtherMethod": {plain, object{"security": "none", "service": "watched"}, "SERVICE_UNKNOWN", "OK", "is SERVICE_UNKNOWN"},
		"OddStatus":        {plain, object{"security": "none", "service": "odd"}, "77", "OK", "is 77, expected SERVING"},
		"NoHealthService": {
			bare, object{"security": "none"}, "", "UNIMPLEMENTED", "the server has no health service, grpc.health.v1.Health (UNIMPLEMENTED)",
		},
		"NoToken": {
			plain, object{"security": "none", "service": "private"}, "", "UNAUTHENTICATED", "the call failed with UNAUTHENTICATED: no token",
		},
		"Busy": {plain, object{"security": "none", "service": "busy"}, "", "RESOURCE_EXHAUSTED", "100 % full of <calls> für alle"},
		"Slow": {
			plain,
			object{"security": "none", "service": "slow", "timeout_seconds": 1},
			"", "", "timed out after 1s while waiting for the first byte",
		},
		"Expired":                   {dated, object{}, "", "", "the certificate expired on "},
		"TLSOfAPlainPort":           {plain, object{}, "", "", "the server did not answer with TLS"},
		"PlainOfATLSPort":           {trusted, object{"security": "none"}, "", "", "the connection was "},
		"WebServer":                 {web, object{"security": "none"}, "", "", "the server did not answer with HTTP/2, which gRPC needs"},
		"WebServerWithTLS":          {webTLS, object{}, "", "", "the server did not agree on HTTP/2 in the TLS handshake (ALPN)"},
		"AgreesAndAnswersWithHTTP1": {serveOn(t, agreed, old), object{}, "", "", "the server did not answer with HTTP/2, which gRPC needs"},
		"Refused":                   {closed, object{}, "", "", "connection refused by " + closed},
		"Banner": {
			tcp(t, banner("SSH-2.0-OpenSSH_9.9\r\n")), object{"security": "none"}, "", "", "the server did not answer with HTTP/2, which gRPC needs",
		},
		"ClosedAtOnce": {tcp(t, func(net.Conn) {}), object{"security": "none"}, "", "", "the connection was "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := w.run(vigil.TypeGRPC, serverAt(t, c.address, c.config))
			if seen.Success != (c.reason == "") || !strings.Contains(seen.Error, c.reason) {
				t.Errorf("got %q, want %q", seen.Error, c.reason)
			}
			status, _ := seen.Metadata["status"].(string)
			code, _ := seen.Metadata["code"].(string)
			if status != c.status || code != c.code {
				t.Errorf("metadata %v", seen.Metadata)
			}
			if name == "TLS" && (seen.Metadata["tls_version"] == nil || seen.Metadata["cert_days_remaining"] != 90.0) {
				t.Errorf("metadata %v", seen.Metadata)
			}
			if strings.Contains(seen.Error, "hunter2") {
				t.Errorf("a secret shows: %s", seen.Error)
			}
		})
	}
}

// TestGRPCAnswers are answers that no library gives.
func TestGRPCAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const trailer = http.TrailerPrefix
	const serving = "\x00\x00\x00\x00\x02\x08\x01"
	say := func(kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, body)
			w.Header().Set(trailer+"Grpc-Status", "0")
		}
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		reason string
	}{
		"Well": {say("application/grpc+proto", serving), ""},
		"Page": {
			func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, "content of the type text/html, not with gRPC",
		},
		"Proxy": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, "the HTTP status 502, not with gRPC"},
		"Redirect": {
			func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/x", http.StatusFound) }, "the HTTP status 302, not with gRPC",
		},
		"Empty":   {say("application/grpc", ""), "are not the message that was expected, a HealthCheckResponse"},
		"Cut":     {say("application/grpc", serving[:6]), "are not the message that was expected, a HealthCheckResponse"},
		"Two":     {say("application/grpc", serving+serving), "are not the message that was expected, a HealthCheckResponse"},
		"NoProto": {say("application/grpc", "\x00\x00\x00\x00\x02\xff\xff"), "are not the message that was expected, a HealthCheckResponse"},
		"Packed":  {say("application/grpc", "\x01"+serving[1:]), "the answer is compressed"},
		"TooMuch": {say("application/grpc", serving+strings.Repeat("x", 65<<10)), "more than 64 KiB"},
		"NoTrailer": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/grpc")
			_, _ = io.WriteString(w, serving)
		}, "before the status of the call came"},
		"OddCode": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set(trailer+"Grpc-Status", "ok")
		}, `the status of the call is "ok", expected a number`},
		"UnknownCode": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Grpc-Status", "99")
			w.Header().Set("Grpc-Message", "%E2%82%AC %zz")
		}, "the call failed with the code 99: "},
		"Endless": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/grpc")
			_, _ = io.WriteString(w, serving)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, "timed out after 1s while waiting for the status of the call"},
		"Aborted": {
			func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "the server ended the call with an error of HTTP/2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewUnstartedServer(c.answer)
			server.Config.Protocols = new(http.Protocols)
			server.Config.Protocols.SetUnencryptedHTTP2(true)
			server.Start()
			t.Cleanup(server.Close)
			seen := w.run(vigil.TypeGRPC, serverAt(t, server.Listener.Addr().String(), object{"security": "none", "timeout_seconds": 1}))
			if seen.Success != (c.reason == "") || !strings.Contains(seen.Error, c.reason) {
				t.Errorf("got %q, want %q", seen.Error, c.reason)
			}
		})
	}
}

func TestGRPCConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for member, configs := range map[string][]object{
		"config.host":                 {{"port": 1}, {"host": "https://a.example", "port": 1}, {"host": "169.254.169.254", "port": 1}},
		"config.port":                 {{"host": "a.example"}, {"host": "a.example", "port": 0}},
		"config.security":             {{"host": "a.example", "port": 1, "security": "starttls"}},
		"config.tls":                  {{"host": "a.example", "port": 1, "security": "none", "tls": object{}}},
		"config.headers.grpc-timeout": {{"host": "a.example", "port": 1, "headers": object{"grpc-timeout": "1S"}}},
		"config.headers.te":           {{"host": "a.example", "port": 1, "headers": object{"te": "trailers"}}},
	} {
		for _, config := range configs {
			_, err := w.Parse(vigil.TypeGRPC, encode(t, config), minute)
			rejected(t, err, member)
		}
	}
}
