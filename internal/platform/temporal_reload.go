// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"golang.org/x/net/http/httpguts"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/vigil-monitor/vigil/internal/reload"
)

// tokenRest is for how long a token is used before its file is read again: calls are many.
const tokenRest = time.Second

var errNone = errors.New("there is none any more")

// reloadTemporal makes a client read again what others replace while it runs: certificates, keys and authorities for each
// connection, and its token.
func (p *Process) reloadTemporal(options *client.Options, s *Settings) error {
	if first := options.ConnectionOptions.TLS; first != nil {
		secure, err := reload.New("the certificates for Temporal", p.Log, func() (*tls.Config, error) {
			now, err := temporalTLS(s)
			return now, cmp.Or(err, reload.Lost(first, now))
		})
		if err != nil {
			return err
		}
		options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, grpc.WithTransportCredentials(
			reloadedTLS{credentials.NewTLS(first), secure},
		))
	}
	if token, err := TemporalToken(s); err != nil || token == "" {
		return err
	}
	token, err := reload.New("the token for Temporal", p.Log, func() (string, error) {
		now, err := TemporalToken(s)
		if err == nil && now == "" {
			err = errNone
		}
		return now, err
	})
	if err != nil {
		return err
	}
	var (
		mu   sync.Mutex
		last string
		read time.Time
	)
	options.Credentials = client.NewAPIKeyDynamicCredentials(func(ctx context.Context) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.Sub(read) >= tokenRest {
			last, read = token.Get(ctx), now
		}
		return last, nil
	})
	return nil
}

// temporalTLS reads the TLS of a connection to Temporal as it is on the disk now.
func temporalTLS(s *Settings) (*tls.Config, error) {
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return nil, err
	}
	secure := options.ConnectionOptions.TLS
	if secure == nil {
		secure = LocalTemporalTLS(s)
	}
	return secure, nil
}

// TemporalToken reads the token of calls to Temporal as it is now, from VIGIL_TEMPORAL_API_KEY_FILE or what Temporal's own tools
// read; "" where there is none.
func TemporalToken(s *Settings) (string, error) {
	profile, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{})
	if err != nil || s.TemporalTokenFile == "" {
		return profile.APIKey, err
	}
	if profile.APIKey != "" {
		return "", errors.New("give the token either by a file, with VIGIL_TEMPORAL_API_KEY_FILE, or by TEMPORAL_API_KEY or a profile")
	}
	text, err := os.ReadFile(s.TemporalTokenFile)
	if err != nil {
		return "", fmt.Errorf("VIGIL_TEMPORAL_API_KEY_FILE cannot be read: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" || !httpguts.ValidHeaderFieldValue(token) {
		return "", fmt.Errorf("VIGIL_TEMPORAL_API_KEY_FILE is %q, which has no token: it must have one line with the token alone",
			s.TemporalTokenFile)
	}
	return token, nil
}

// reloadedTLS are the credentials of a client that reads its files again for each handshake. What grpc has for it (advancedtls,
// certprovider/pemfile) is experimental, looks at the files by a timer, and does not know a profile of Temporal.
type reloadedTLS struct {
	credentials.TransportCredentials // of the start, for all but handshakes

	config *reload.Value[*tls.Config]
}

// ClientHandshake makes a connection secure.
func (r reloadedTLS) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return credentials.NewTLS(r.config.Get(ctx)).ClientHandshake(ctx, authority, raw)
}

// Clone returns the same ones.
func (r reloadedTLS) Clone() credentials.TransportCredentials { return r }
