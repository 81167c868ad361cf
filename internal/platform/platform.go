// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/codec"
	"github.com/vigil-monitor/vigil/internal/demo"
	"github.com/vigil-monitor/vigil/internal/dispatch"
	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/mail"
	"github.com/vigil-monitor/vigil/internal/metrics"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/standalone"
	"github.com/vigil-monitor/vigil/internal/telemetry"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/workers"
)

// inputs are what the parts of a platform are built from.
type inputs struct {
	settings Settings
	secrets  Secrets
	dsn      string // of Vigil's own database, which store has open
	store    *storage.Store
	temporal TemporalServer
	metrics  MetricsServer
	// privateTargets lets probes reach private addresses. It is safe only where
	// other machines cannot reach the API.
	privateTargets bool
	// credentials and uiLogin guard the embedded Temporal and its UI; nil where there is none.
	credentials *standalone.Credentials
	uiLogin     *uiLogin
}

// payloadCodec encodes what Temporal stores as the settings say, and decodes it in any
// case.
func (in *inputs) payloadCodec() *codec.Codec {
	return codec.New(in.secrets.Payloads, in.settings.PayloadCodec == codecEncrypt)
}

// noteEncryption records that payloads are encrypted from now on, if they are.
func (in *inputs) noteEncryption(ctx context.Context) error {
	if in.settings.PayloadCodec != codecEncrypt {
		return nil
	}
	return in.store.NotePayloadEncryption(ctx)
}

// codecEndpoint returns what converts payloads for the Temporal UI and CLI; nil as long as no
// process of the platform has encrypted any. After encryption was switched off, histories
// still hold what was encrypted.
func (p *Platform) codecEndpoint(ctx context.Context) (http.Handler, error) {
	encrypted, err := p.store.PayloadsEncrypted(ctx)
	if err != nil || !encrypted {
		return nil, err
	}
	return codec.New(p.secrets.Payloads, p.settings.PayloadCodec == codecEncrypt).Handler(), nil
}

// Platform is the parts that the API, the control worker and the workers of regions
// share. Building it starts nothing.
type Platform struct {
	*Process
	watcher   atomic.Pointer[activities.Watcher] // of the workers of regions, once they start
	settings  Settings
	secrets   Secrets
	store     *storage.Store
	temporal  TemporalServer
	metrics   *metrics.Metrics    // nil measures nothing
	exporter  *telemetry.Exporter // nil exports nothing
	loops     *dispatch.Loops
	incidents *dispatch.Incidents
	names     *dispatch.Names      // nil: workflows do not show the names of checks
	demand    *workers.Demand      // the regions that this process gives work to
	arrivals  *activities.Arrivals // the pings for the turns of heartbeats
	inbox     *activities.Inbox    // the results of agents for the turns of their loops
	probes    *probe.Registry
	probing   *probe.Registry // probes, and those of drills
	channels  *notify.Registry
	mailer    *mail.Mailer
	lookupTXT func(ctx context.Context, name string) ([]string, error)
	Private   *privateTargets
	api       http.Handler // of /v1, once ServeAPI was called
	Demo      *demo.Demo   // nil: none is played
	// defaultDrills is the schedule that the operator has by default; nil: none, as in the roles.
	defaultDrills *drills.Defaults
	// Deployment is the version that the workers poll as; the zero value is unversioned.
	Deployment workers.Deployment
}

// newPlatform builds the parts. Probes and notifications go through one guard, which
// refuses the platform's own addresses. Mail goes through the operator's server,
// which may be private, or into the data directory.
func newPlatform(ctx context.Context, p *Process, in inputs) (*Platform, error) {
	guard := egress.New(egress.Policy{
		AllowPrivate: in.privateTargets,
		AllowedCIDRs: in.settings.AllowedPrivateCIDRs,
		Refused:      resolveAll(ctx, ownAddresses(in)),
	})
	relay := egress.New(egress.Policy{AllowPrivate: true})
	mailer, err := mail.New(mail.Options{
		URL: string(in.settings.SMTPURL), HELO: string(in.settings.SMTPHelo),
		Dir: filepath.Join(in.settings.DataDir, "mail"), Dialer: relay, Log: p.Log,
	})
	if err != nil {
		return nil, fmt.Errorf("VIGIL_SMTP_URL: %w", err)
	}
	names, demand := checkNames(p, in), workers.NewDemand()
	shared := []dispatch.Option{dispatch.WithNames(names)}
	if in.settings.DeploymentName == "" {
		shared = append(shared, dispatch.WithEagerStart())
	}
	loops := dispatch.NewLoops(in.temporal.Client, in.store, p.Log,
		append(shared, dispatch.WithSealedAnswers(in.secrets.openAnswer), dispatch.WithUse(demand.Add))...)
	incidents := dispatch.NewIncidents(in.temporal.Client, in.store, p.Log, shared...)
	channels := []notify.Option{notify.WithMail(mailer)}
	if mailer.Sends() {
		channels = append(channels, notify.WithRecipients(in.store, string(in.settings.PublicURL)))
	}
	return &Platform{
		Process: p, settings: in.settings, secrets: in.secrets, store: in.store, temporal: in.temporal,
		metrics:   in.metrics.metrics,
		exporter:  in.metrics.exporter,
		loops:     loops,
		incidents: incidents,
		names:     names,
		demand:    demand,
		arrivals:  activities.NewArrivals(in.store, p.Log),
		inbox:     activities.NewInbox(in.store, p.Log),
		probes:    probe.NewRegistry(guard),
		probing:   probe.NewRegistry(guard, probe.WithDrills()),
		channels:  notify.NewRegistry(guard, channels...),
		mailer:    mailer,
		lookupTXT: guard.LookupTXT,
		Private:   &privateTargets{guard: guard, store: in.store, log: p.Log},
	}, nil
}

// checkNames are nil while payloads are encrypted: search attributes never are.
func checkNames(p *Process, in inputs) *dispatch.Names {
	if in.settings.PayloadCodec == codecEncrypt {
		return nil
	}
	return dispatch.NewNames(in.temporal.Client, in.settings.TemporalNamespace, time.Now, p.Log)
}

// ownAddresses are the ports of the platform itself, which no probe may reach: the
// metrics, the database, Temporal with its services and its UI. The API's own is not
// among them, since it may be checked like any other.
func ownAddresses(in inputs) []string {
	addresses := append(databaseAddresses(in.dsn), in.temporal.address)
	addresses = append(addresses, in.temporal.listens...)
	if in.metrics.address != "" {
		addresses = append(addresses, in.metrics.address)
	}
	return addresses
}

// databaseAddresses are the host and port of every server that a connection string
// names.
func databaseAddresses(dsn string) []string {
	config, err := pgconn.ParseConfig(dsn)
	if err != nil {
		return nil // opening the database reports it
	}
	addresses := []string{databaseAddress(config.Host, config.Port)}
	for _, other := range config.Fallbacks {
		addresses = append(addresses, databaseAddress(other.Host, other.Port))
	}
	return addresses
}

// databaseAddress is the host and port of a server. One that is reached by a socket is on
// this machine, and most likely listens on the port as well.
func databaseAddress(host string, port uint16) string {
	if strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// lookupTimeout bounds the look-up of one of the platform's own names.
const lookupTimeout = 2 * time.Second

// resolveAll returns the present IP addresses and ports of host:port addresses. A
// name without any is left out: it is on another machine, where the guard's policy
// for addresses applies.
func resolveAll(ctx context.Context, addresses []string) []netip.AddrPort {
	var resolved []netip.AddrPort
	for _, address := range addresses {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			continue
		}
		switch host {
		case "localhost":
			host = "127.0.0.1"
		case "": // every address
			host = "::"
		}
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			continue
		}
		for _, addr := range lookup(ctx, host) {
			resolved = append(resolved, netip.AddrPortFrom(addr.Unmap(), uint16(n)))
		}
	}
	return resolved
}

func lookup(ctx context.Context, host string) []netip.Addr {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil
	}
	return addrs
}

// workerName is unique to a process and readable for operators.
func workerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d/%s", host, os.Getpid(), uuid.NewString()[:8])
}
