// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"runtime"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"
	"google.golang.org/grpc"

	"github.com/vigil-monitor/vigil/internal/codec"
	"github.com/vigil-monitor/vigil/internal/dispatch"
	"github.com/vigil-monitor/vigil/internal/instance"
	"github.com/vigil-monitor/vigil/internal/metrics"
	"github.com/vigil-monitor/vigil/internal/standalone"
	"github.com/vigil-monitor/vigil/workers"
)

// TemporalServer is the Temporal that a platform uses.
type TemporalServer struct {
	Client  client.Client
	address string
	uiURL   string   // of the embedded server's UI, "" for another server
	uiLogin *uiLogin // of that UI; nil: it has none
	listens []string // addresses that the embedded server listens on
}

// DialTemporal returns the Temporal that TEMPORAL_ADDRESS and Temporal's own
// variables name. Its client connects when it is first used, so that the API serves
// while Temporal is away.
func (p *Process) DialTemporal(s Settings, payloads *codec.Codec, m *metrics.Metrics) (TemporalServer, error) {
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return TemporalServer{}, fmt.Errorf("the TEMPORAL_* settings cannot be used: %w", err)
	}
	options.HostPort = s.TemporalAddress
	if options.ConnectionOptions.TLS == nil {
		options.ConnectionOptions.TLS = LocalTemporalTLS(&s)
	}
	if err := p.reloadTemporal(&options, &s); err != nil {
		return TemporalServer{}, fmt.Errorf("the settings for Temporal cannot be used: %w", err)
	}
	return p.NewTemporalClient(options, s.TemporalNamespace, payloads, m)
}

// dialEmbedded returns the embedded server with a client.
func (p *Process) dialEmbedded(
	server *standalone.Temporal, secure *standalone.Credentials, namespace string, payloads *codec.Codec, m *metrics.Metrics,
) (TemporalServer, error) {
	options := client.Options{HostPort: server.Address()}
	if secure != nil {
		options.ConnectionOptions.TLS = secure.Client()
	}
	options.ConnectionOptions.DialOptions = []grpc.DialOption{server.DialOption()}
	dialed, err := p.NewTemporalClient(options, namespace, payloads, m)
	dialed.uiURL, dialed.listens = server.UIURL(), server.Listens()
	return dialed, err
}

// LocalTemporalTLS returns the certificates of the instance of the data directory when
// TEMPORAL_ADDRESS is that of its embedded server, nil otherwise.
func LocalTemporalTLS(s *Settings) *tls.Config {
	if address, err := instance.TemporalOf(s.DataDir); err != nil || address != s.TemporalAddress {
		return nil
	}
	secure, err := standalone.TemporalTLS(s.DataDir)
	if err != nil {
		return nil
	}
	return secure
}

// NewTemporalClient returns a client whose payloads, and those of the workers that use
// it, go through the codec; nil is for a client that sends none.
func (p *Process) NewTemporalClient(
	options client.Options, namespace string, payloads *codec.Codec, m *metrics.Metrics,
) (TemporalServer, error) {
	if payloads != nil {
		payloads.Configure(&options)
	}
	options.Namespace = namespace
	if HostPort(options.HostPort).Loopback() {
		// Compressing what never leaves the machine costs CPU and saves nothing.
		options.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	}
	options.MetricsHandler = m.Temporal()
	options.Logger = log.NewStructuredLogger(slog.New(warnings{p.Log.Handler()}))
	temporal, err := client.NewLazyClient(options)
	if err != nil {
		return TemporalServer{}, fmt.Errorf("the Temporal client cannot be created: %w", err)
	}
	p.onStop(func(context.Context) { temporal.Close() })
	return TemporalServer{Client: temporal, address: options.HostPort}, nil
}

// StartTemporal runs the embedded server, which keeps its data in databases beside
// the given one.
//
// With credentials the server takes only clients that have them, and the login guards its UI.
func (p *Process) StartTemporal(
	ctx context.Context, s Settings, dsn string, secure *standalone.Credentials, login *uiLogin,
) (*standalone.Temporal, error) {
	if secure == nil {
		warnOpenListeners(ctx, &s, p.Log)
	}
	options := standalone.TemporalOptions{
		DSN:              dsn,
		Listen:           string(s.TemporalListen),
		UIListen:         string(s.UIListen),
		Namespace:        s.TemporalNamespace,
		Retention:        s.TemporalRetention,
		SearchAttributes: dispatch.SearchAttributes(),
		Small:            s.small(),
		CachedWorkflows:  workers.CachedWorkflows(s.TurnRate.everySlot()),
		CachedStates:     s.TurnRate.states(),
		Processors:       runtime.GOMAXPROCS(0),
		CodecEndpoint:    s.codecEndpoint(),
		UIHosts:          s.TemporalUIOrigin.hosts(),
		Credentials:      secure,
		Log:              p.Log,
	}
	if login != nil {
		options.UIAccess = login.wrap
	}
	server, err := standalone.StartTemporal(ctx, options)
	if err != nil {
		return nil, err
	}
	p.onStopBy(serverBy, func(ctx context.Context) {
		if err := server.Stop(ctx); err != nil {
			p.Log.WarnContext(ctx, "temporal not stopped cleanly", "error", err)
		}
	})
	go func() {
		if err, failed := <-server.Failed(); failed {
			p.fail(err)
		}
	}()
	return server, nil
}

// codecEndpoint is where the Temporal UI decodes payloads, "" while they are plain.
func (s *Settings) codecEndpoint() string {
	if s.PayloadCodec != codecEncrypt {
		return ""
	}
	return string(s.PublicURL) + "/codec"
}

// warnings drops log lines of the SDK below a warning.
type warnings struct{ slog.Handler }

// Enabled reports whether the level is a warning or above.
func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

// WithAttrs keeps the limit.
func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}

// WithGroup keeps the limit.
func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }
