// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package standalone_test

import (
	"context"
	"crypto/tls"
	"net/url"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/vigil-monitor/vigil/internal/standalone"
)

// checkPorts holds that no port of the server, of the frontend or of the services behind it,
// answers a client without a certificate of this server.
func checkPorts(t *testing.T, data *standalone.DataDir, server *standalone.Temporal) {
	t.Helper()
	own, err := data.Credentials(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := openDir(t, t.TempDir()).Credentials(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	bare, of := own.Client(), own.Client()
	bare.Certificates = nil
	of.Certificates = foreign.Client().Certificates
	ui, err := url.Parse(server.UIURL())
	if err != nil {
		t.Fatal(err)
	}
	ports := 0
	for _, address := range server.Listens() {
		if address == ui.Host {
			continue
		}
		ports++
		for name, transport := range map[string]credentials.TransportCredentials{
			"no TLS": insecure.NewCredentials(), "no certificate": credentials.NewTLS(bare),
			"one of another server": credentials.NewTLS(of),
			"any server":            credentials.NewTLS(&tls.Config{InsecureSkipVerify: true}),
		} {
			if code := healthOf(t, address, transport); code != codes.Unavailable {
				t.Errorf("%s answers a client with %s: %v", address, name, code)
			}
		}
		if code := healthOf(t, address, credentials.NewTLS(own.Client())); code == codes.Unavailable {
			t.Errorf("%s does not answer a client with its certificate", address)
		}
	}
	if ports != 4 {
		t.Errorf("%d ports", ports)
	}
}

func healthOf(t *testing.T, address string, transport credentials.TransportCredentials) codes.Code {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(transport))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err = grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	return status.Code(err)
}
