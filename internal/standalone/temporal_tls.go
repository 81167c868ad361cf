// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package standalone

import (
	"crypto/tls"
	"time"

	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	"go.temporal.io/server/common/rpc/encryption"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// mutualTLS gives all services of the server one configuration: the frontend, which is
// reached from outside, and those behind it, whose ports of loopback every user of the
// machine can reach. Without credentials it gives none.
type mutualTLS struct{ of *Credentials }

var _ encryption.TLSConfigProvider = mutualTLS{}

func (m mutualTLS) client() *tls.Config {
	if m.of == nil {
		return nil
	}
	return m.of.Client()
}

func (m mutualTLS) server() *tls.Config {
	if m.of == nil {
		return nil
	}
	return m.of.serverTLS()
}

// transport is what a connection of gRPC uses.
func (m mutualTLS) transport() credentials.TransportCredentials {
	if m.of == nil {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(m.of.Client())
}

// forUI is the configuration of the UI's own connection to the frontend.
func (m mutualTLS) forUI() uiconfig.TLS {
	if m.of == nil {
		return uiconfig.TLS{}
	}
	return uiconfig.TLS{
		CaData: m.of.pem[rootsFile], CertData: m.of.pem[clientFile], KeyData: m.of.pem[clientKeyFile],
		EnableHostVerification: true, ServerName: credentialsName,
	}
}

// GetInternodeServerConfig is that of history, matching and the worker service.
func (m mutualTLS) GetInternodeServerConfig() (*tls.Config, error) { return m.server(), nil }

// GetInternodeClientConfig is that of their clients.
func (m mutualTLS) GetInternodeClientConfig() (*tls.Config, error) { return m.client(), nil }

// GetFrontendServerConfig is that of the frontend.
func (m mutualTLS) GetFrontendServerConfig() (*tls.Config, error) { return m.server(), nil }

// GetFrontendClientConfig is that of the server's own clients of the frontend.
func (m mutualTLS) GetFrontendClientConfig() (*tls.Config, error) { return m.client(), nil }

// GetRemoteClusterClientConfig is none: there is one cluster.
func (mutualTLS) GetRemoteClusterClientConfig(string) (*tls.Config, error) { return nil, nil } //nolint:nilnil // none

// GetExpiringCerts reports none: DataDir.Credentials renews them.
func (mutualTLS) GetExpiringCerts(time.Duration) (expiring, expired encryption.CertExpirationMap, err error) {
	return nil, nil, nil
}
