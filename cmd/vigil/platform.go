package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"
	"golang.org/x/sync/semaphore"

	"vigil"
	"vigil/activities"
	"vigil/api"
	"vigil/egress"
	"vigil/mail"
	"vigil/metrics"
	"vigil/notify"
	"vigil/probe"
	"vigil/storage"
	"vigil/workers"
)

// probesAtOnce bounds the probes that run at the same instant in a process.
const probesAtOnce = 256

// databaseConns bounds the connections of a process to Vigil's own database. With
// those of the embedded Temporal server they stay below the 97 that an untouched
// Postgres grants to ordinary users.
const databaseConns = 12

// platform is the parts that run in this process. Each part that was started
// leaves behind how to stop it (see stop).
type platform struct {
	settings settings
	log      *slog.Logger

	dsn      string // of Vigil's own database
	secrets  secrets
	store    *storage.Store
	temporal client.Client
	address  string // of Temporal
	ui       string // URL of the Temporal UI, "" when it is not ours
	guard    *egress.Guard
	probes   *probe.Registry
	channels *notify.Registry
	mailer   *mail.Mailer
	metrics  *metrics.Metrics // nil measures nothing
	failed   chan error       // a part that died

	// Parts start side by side.
	mu      sync.Mutex
	refused []netip.AddrPort // the platform's own ports
	workers []func(context.Context)
	stops   []part
}

func newPlatform(s settings, logger *slog.Logger) *platform {
	return &platform{settings: s, log: logger, failed: make(chan error, 1)}
}

// wait returns nil once ctx has ended, or the error of a part that died.
func (p *platform) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-p.failed:
		return err
	}
}

// fail reports that a part died; the first report counts.
func (p *platform) fail(err error) {
	select {
	case p.failed <- err:
	default:
	}
}

// gaveUp hears of a worker that will never poll again.
func (p *platform) gaveUp(err error) { p.fail(fmt.Errorf("a worker gave up: %w", err)) }

// openStore connects to Vigil's database and brings it up to date.
func (p *platform) openStore(ctx context.Context, migrate bool) error {
	p.refuseDatabase()
	store, err := storage.Open(ctx, p.dsn, storage.Options{
		Keys: p.secrets.keyring, Secrets: configSecrets(), Policies: notify.Policies(), MaxConns: databaseConns, Now: time.Now, Log: p.log,
	})
	if err != nil {
		return err
	}
	p.store = store
	p.onStopBy(serverBy, func(ctx context.Context) {
		if err := store.Close(); err != nil {
			p.log.WarnContext(ctx, "database not closed cleanly", "error", err)
		}
	})
	if !migrate {
		return store.Ready(ctx)
	}
	if _, err := store.Migrate(ctx); err != nil {
		return err
	}
	return store.EnsurePartitions(ctx, time.Now())
}

// dialTemporal makes the client. It connects when it is first used, so that the
// API serves while Temporal is away.
func (p *platform) dialTemporal(embedded string) error {
	options := client.Options{HostPort: embedded}
	if embedded == "" {
		loaded, err := envconfig.LoadDefaultClientOptions()
		if err != nil {
			return fmt.Errorf("the TEMPORAL_* settings cannot be used: %w", err)
		}
		options = loaded
		options.HostPort = p.settings.TemporalAddress
	}
	options.Namespace = p.settings.TemporalNamespace
	if hostPort(options.HostPort).loopback() {
		// Compressing what never leaves the machine costs CPU and saves nothing.
		options.ConnectionOptions.GrpcCompression = &client.GrpcCompressionNone{}
	}
	options.MetricsHandler = p.metrics.Temporal()
	options.Logger = log.NewStructuredLogger(slog.New(quiet{p.log.Handler()}))
	temporal, err := client.NewLazyClient(options)
	if err != nil {
		return fmt.Errorf("the Temporal client cannot be made: %w", err)
	}
	p.temporal, p.address = temporal, options.HostPort
	p.refuse(options.HostPort)
	p.onStop(func(context.Context) { temporal.Close() })
	return nil
}

// refuse makes an address of the platform a target that no probe may reach. A
// name stands for the addresses that it has now; one that has none yet leads to
// another machine, which the address policy judges.
func (p *platform) refuse(address string) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupWait)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, addr := range addrs {
		p.refused = append(p.refused, netip.AddrPortFrom(addr.Unmap(), uint16(n)))
	}
}

// lookupWait bounds the look-up of a part's own name at the start.
const lookupWait = 2 * time.Second

// refuseDatabase does the same for the servers of Vigil's own database.
func (p *platform) refuseDatabase() {
	config, err := pgconn.ParseConfig(p.dsn)
	if err != nil {
		return // whoever opens it says so
	}
	p.refuse(net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))))
	for _, other := range config.Fallbacks {
		p.refuse(net.JoinHostPort(other.Host, strconv.Itoa(int(other.Port))))
	}
}

// openMail makes the way out for mail: through the operator's server, or into
// the data directory. The server is the operator's choice and may be private.
// With it, and behind the guard, come the channel types.
func (p *platform) openMail() error {
	relay := egress.New(egress.Policy{AllowPrivate: true})
	mailer, err := mail.New(mail.Options{
		URL: string(p.settings.SMTPURL), Dir: filepath.Join(p.settings.DataDir, "mail"), Dialer: relay, Log: p.log,
	})
	if err != nil {
		return fmt.Errorf("VIGIL_SMTP_URL: %w", err)
	}
	p.mailer = mailer
	p.channels = notify.NewRegistry(p.guard, notify.WithMail(mailer))
	return nil
}

// knowAddress makes links lead to the port that was taken, when any was asked
// for and nobody said where people reach the API.
func (p *platform) knowAddress(listener net.Listener) {
	if strings.HasSuffix(string(p.settings.PublicURL), ":0") {
		p.settings.PublicURL = publicURL(addressOf(listener))
	}
}

// addressRate bounds requests without a credential by address, unless nobody
// but the machine's own users can make any.
func (p *platform) addressRate() int {
	if p.settings.Listen.loopback() {
		return 0
	}
	return p.settings.AddressRate
}

// openEgress makes the guard and the check types behind it. Private targets may
// be open only where nobody but the machine's own users can reach the API.
func (p *platform) openEgress(private bool) {
	guard := egress.New(egress.Policy{
		AllowPrivate: private,
		AllowedCIDRs: p.settings.AllowedPrivateCIDRs,
		Refused:      p.refused,
	})
	p.guard, p.probes = guard, probe.NewRegistry(guard)
}

// serveAPI answers requests on the listener.
func (p *platform) serveAPI(listener net.Listener, loops *workers.Loops) error {
	server, err := api.New(api.Deps{
		Store: p.store, Loops: loops, Incidents: workers.NewIncidents(p.temporal, p.store), Probes: p.probes, Channels: p.channels, Mailer: p.mailer,
		Log: p.log, Now: time.Now, Answered: p.metrics.Answered(),
		Temporal: func(ctx context.Context) error {
			_, err := p.temporal.CheckHealth(ctx, &client.CheckHealthRequest{})
			return err
		},
		Config: api.Config{
			Version: version, PublicURL: string(p.settings.PublicURL), SignupTier: vigil.Tier(p.settings.SignupTier),
			EnterpriseMinInterval: p.settings.EnterpriseMinInterval, EnterpriseRate: p.settings.EnterpriseRate,
			AddressRate: p.addressRate(), TrustedProxies: p.settings.TrustedProxies,
			SigningKey: p.secrets.signing, OlderSigningKeys: p.secrets.olderSigning,
			TemporalUIURL: p.ui, TemporalNamespace: p.settings.TemporalNamespace,
			Streams: api.StreamConfig{
				PerKey: p.settings.StreamsPerKey, PerOrganization: p.settings.StreamsPerOrganization, Buffer: p.settings.EventRetention,
			},
		},
	})
	if err != nil {
		return err
	}
	p.metrics.Gauge("vigil_alert_streams_open", server.OpenStreams)
	// What was started last is stopped first: answers end before the server.
	p.onStop(func(context.Context) { server.Close() })
	p.serve("the API", listener, server, 3*time.Second).RegisterOnShutdown(server.EndStreams)
	return nil
}

// serve answers requests on the listener until the platform stops; those under
// way then get the grace to end.
func (p *platform) serve(what string, listener net.Listener, handler http.Handler, grace time.Duration) *http.Server {
	web := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(p.log.Handler(), slog.LevelDebug),
	}
	go func() {
		if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			p.fail(fmt.Errorf("%s stopped: %w", what, err))
		}
	}()
	p.onStop(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, grace)
		defer cancel()
		if web.Shutdown(ctx) != nil {
			_ = web.Close()
		}
	})
	return web
}

// startRegions probes from the given regions. While Temporal is away it keeps
// trying, without holding up the rest of the process; what it returns is closed
// once the workers poll.
func (p *platform) startRegions(ctx context.Context, regions []string) (<-chan struct{}, error) {
	// The parts below outlive the signal that stops the process: probes in
	// flight are still stored while the workers hand over.
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	writer := storage.NewResultWriter(p.store, storage.WriterOptions{Log: p.log, Committed: p.metrics.Committed()})
	p.metrics.Gauge("vigil_results_waiting", writer.Waiting)
	written := make(chan struct{})
	go func() {
		defer close(written)
		if err := writer.Run(running); err != nil {
			p.fail(fmt.Errorf("the result writer stopped: %w", err))
		}
	}()
	catalogue := activities.NewCatalogue(p.store, p.probes, regions, time.Now, p.log)
	if err := catalogue.Load(ctx); err != nil {
		cancel()
		return nil, fmt.Errorf("read the checks: %w", err)
	}
	catalogue.StampedBy(p.store.Clock)
	go catalogue.Run(running)

	name := workerName()
	watcher := activities.NewWatcher(activities.WatcherOptions{
		Catalogue: catalogue, Results: writer, History: p.store,
		Probes: semaphore.NewWeighted(probesAtOnce), Worker: name, QuietWindow: p.settings.QuietWindow,
		Votes: p.store, Incidents: workers.NewIncidents(p.temporal, p.store), Now: time.Now, Log: p.log,
	})
	p.metrics.Gauge("vigil_probes_in_flight", watcher.Probing)
	started := workers.KeepStarting(running, func(ctx context.Context) (func(context.Context), error) {
		regions := workers.NewRegions(p.temporal, watcher, name, regions, p.store, p.probes, p.gaveUp, p.log)
		return regions.Stop, regions.Start(ctx)
	}, p.log)
	p.onStopWorkers(func(ctx context.Context) {
		started.Stop(ctx)
		cancel()
		<-written
	})
	return started.Started(), nil
}

// workerName is unique to a process, and tells people which one it is.
func workerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d/%s", host, os.Getpid(), uuid.NewString()[:8])
}

// quiet passes on what the SDK warns of, and not its chatter.
type quiet struct{ slog.Handler }

// Enabled holds back everything below a warning.
func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && q.Handler.Enabled(ctx, level)
}

// WithAttrs stays quiet.
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }

// WithGroup stays quiet.
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }
