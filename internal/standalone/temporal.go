// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package standalone

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"go.temporal.io/server/client"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/temporal"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
)

// Embedded reports whether this binary contains the Temporal server.
const Embedded = true

// stopTimeout is how long the server may take to end its four services.
const stopTimeout = 8 * time.Second

// Temporal is the embedded server with its web interface.
type Temporal struct {
	address string
	listens []string // every address that is listened on
	server  temporal.Server
	calls   *localCalls
	log     *serverLog
	ui      *webInterface
	stopped atomic.Bool
	// release gives up the claim of the database, and released is closed then.
	release  context.CancelFunc
	released chan struct{}
}

// StartTemporal creates or migrates the schemas of the server's two databases, which
// must exist (see EnsureDatabases), starts its four services and the web interface, and
// returns when the namespace answers. The error is one sentence with the remedy.
func StartTemporal(ctx context.Context, opts TemporalOptions) (_ *Temporal, err error) {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	front, err := listen(ctx, "Temporal", "VIGIL_TEMPORAL_LISTEN", opts.Listen)
	if err != nil {
		return nil, err
	}
	bound := front.Addr().(*net.TCPAddr)
	defer func() { _ = front.Close() }() // the server opens it again
	web, err := listen(ctx, "the Temporal UI", "VIGIL_UI_LISTEN", opts.UIListen)
	if err != nil {
		return nil, err
	}
	t := &Temporal{address: dialable(bound), log: newServerLog(opts.Log), calls: &localCalls{}}
	defer func() {
		if err != nil {
			_ = web.Close()
			_ = t.Stop(context.WithoutCancel(ctx))
		}
	}()
	stores, err := newStores(opts.DSN, opts.conns(), opts.Log) //nolint:contextcheck // Temporal connects without a context
	if err != nil {
		return nil, err
	}
	if err := t.prepare(ctx, opts, stores); err != nil {
		return nil, err
	}
	ports, err := freePorts(ctx, 3)
	if err != nil {
		return nil, err
	}
	cfg, secure := serverConfig(stores, bound, t.address, ports), mutualTLS{opts.Credentials}
	t.listens = []string{bound.String(), web.Addr().String()}
	for _, port := range ports {
		t.listens = append(t.listens, net.JoinHostPort(loopback, strconv.Itoa(port)))
	}
	_ = front.Close()
	settings := dynamicConfig()
	opts.size(settings)
	if err := t.serve(ctx, cfg, settings, secure); err != nil {
		return nil, err
	}
	if t.ui, err = startUI(web, t.address, opts); err != nil {
		return nil, err
	}
	if err := awaitNamespace(ctx, t.address, opts.Namespace, secure.transport()); err != nil {
		return nil, err
	}
	t.log.setPhase(running)
	return t, nil
}

// Address is the frontend's, as host:port.
func (t *Temporal) Address() string { return t.address }

// DialOption lets a client in this process call the frontend without the network. It must be
// the last of the options that add interceptors.
func (t *Temporal) DialOption() grpc.DialOption { return t.calls.dialOption() }

// Listens returns every address that the server listens on, as host:port: the frontend,
// the web interface and the services behind the frontend.
func (t *Temporal) Listens() []string { return t.listens }

// UIURL is the web interface's address.
func (t *Temporal) UIURL() string { return t.ui.url }

// Failed receives the error when the server fails while running; the process should
// then end, and be restarted. Stop closes it.
func (t *Temporal) Failed() <-chan error { return t.log.failure.reported }

// prepare claims the databases and migrates their schemas.
func (t *Temporal) prepare(ctx context.Context, opts TemporalOptions, stores stores) error {
	conn, err := claim(ctx, opts.DSN, stores.store.DatabaseName)
	if err != nil {
		return err
	}
	held, release := context.WithCancel(context.WithoutCancel(ctx))
	t.release, t.released = release, make(chan struct{})
	go t.keepClaim(held, conn, opts.DSN, stores.store.DatabaseName)
	var schemas errgroup.Group
	schemas.Go(func() error { return migrate(stores.store, storeSchema, t.log) })
	schemas.Go(func() error {
		if err := migrate(stores.visibility, visibilitySchema, t.log); err != nil {
			return err
		}
		return dropEmptyEntries(ctx, opts.DSN, stores.visibility.DatabaseName)
	})
	if err := schemas.Wait(); err != nil {
		return err
	}
	return ensureNamespace(ctx, stores.store, opts, t.log)
}

// serve builds and starts the server on a goroutine of its own, because a fatal error
// of the server ends the goroutine that it happens on (see serverLog.Fatal).
func (t *Temporal) serve(ctx context.Context, cfg *config.Config, settings dynamicSettings, secure mutualTLS) error {
	type outcome struct {
		server temporal.Server
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		server, err := temporal.NewServerFx(
			serverModule(t.calls),
			temporal.WithConfig(cfg),
			temporal.ForServices(temporal.DefaultServices),
			temporal.WithStaticHosts(hosts(cfg, t.address)),
			temporal.WithDynamicConfigClient(settings),
			temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
			temporal.WithCustomMetricsHandler(metrics.NoopMetricsHandler),
			temporal.WithLogger(t.log),
			temporal.WithTLSConfigFactory(secure),
			temporal.WithClientFactoryProvider(localClients{t.calls, secure, client.NewFactoryProvider()}),
		)
		if err == nil {
			err = server.Start()
		}
		done <- outcome{server, err}
	}()
	select {
	case got := <-done:
		if got.err != nil {
			return fmt.Errorf("the embedded Temporal server did not start: %w", got.err)
		}
		t.server = got.server
		return nil
	case err := <-t.log.failure.reported:
		return err
	case <-ctx.Done():
		go func() { // stop it once it has started
			if got := <-done; got.err == nil {
				_ = got.server.Stop()
			}
		}()
		return fmt.Errorf("the embedded Temporal server was stopped while it started: %w", context.Cause(ctx))
	}
}

// Stop ends the web interface and then the server, within eight seconds or when
// ctx ends. Workers and clients are to be closed first. A second Stop does
// nothing.
func (t *Temporal) Stop(ctx context.Context) error {
	if t.stopped.Swap(true) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	t.log.setPhase(stopping)
	t.calls.close()
	defer t.log.failure.close()
	if t.ui != nil {
		t.ui.stop(ctx)
	}
	var err error
	if t.server != nil {
		err = t.stopServer(ctx)
	}
	if t.release != nil {
		t.release()
		<-t.released
	}
	return err
}

func (t *Temporal) stopServer(ctx context.Context) error {
	done := make(chan error, 1)
	go func() { done <- t.server.Stop() }()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("stopping the embedded Temporal server: %w", err)
		}
		return nil
	case <-ctx.Done():
		return errors.New("the embedded Temporal server did not stop in time; its state is in Postgres and nothing is lost")
	}
}

// listen opens an address that the operator set; the error is one sentence that
// names the setting.
func listen(ctx context.Context, what, setting, address string) (*net.TCPListener, error) {
	var config net.ListenConfig
	open := func() (net.Listener, error) { return config.Listen(ctx, "tcp", address) }
	if host, port, err := net.SplitHostPort(address); err == nil && port == "0" {
		open = func() (net.Listener, error) { return listenFree(ctx, host) }
	}
	l, err := open()
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf(
			"%s cannot listen on %s because another program does: stop that program, or set %s to another address", what, address, setting,
		)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot listen on %s (%w): set %s to a host and port of this machine", what, address, err, setting)
	}
	return l.(*net.TCPListener), nil
}

// dialable is an address that a client on this machine can use: a server that
// listens everywhere is reached over loopback.
func dialable(addr *net.TCPAddr) string {
	host := addr.IP.String()
	if addr.IP.IsUnspecified() {
		host = loopback
	}
	return net.JoinHostPort(host, strconv.Itoa(addr.Port))
}

// hosts names the one host of each service, which spares the gossip that finds
// them.
func hosts(cfg *config.Config, frontend string) map[primitives.ServiceName]static.Hosts {
	at := func(name primitives.ServiceName) static.Hosts {
		port := cfg.Services[string(name)].RPC.GRPCPort
		return static.SingleLocalHost(net.JoinHostPort(loopback, strconv.Itoa(port)))
	}
	return map[primitives.ServiceName]static.Hosts{
		primitives.FrontendService: static.SingleLocalHost(frontend),
		primitives.HistoryService:  at(primitives.HistoryService),
		primitives.MatchingService: at(primitives.MatchingService),
		primitives.WorkerService:   at(primitives.WorkerService),
	}
}
