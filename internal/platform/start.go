// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/standalone"
	"github.com/vigil-monitor/vigil/storage"
)

// StartAll starts every part, each a step on the screen.
func StartAll(ctx context.Context, p *Process, s Settings, show *Screen) (*Platform, Summary, error) {
	// The directory comes first: a second start on it says which platform runs there, and not
	// that an address is taken.
	data, err := standalone.OpenDataDir(s.DataDir)
	if err != nil {
		return nil, Summary{}, runsAlready(err)
	}
	p.onStop(func(context.Context) { _ = data.Close() })
	if err := show.KeepLogs(p, data.Path()); err != nil {
		return nil, Summary{}, err
	}
	listener, err := p.Listen(ctx, s.Listen, "VIGIL_LISTEN")
	if err != nil {
		return nil, Summary{}, err
	}
	s = s.ListeningOn(listener)
	secureUI := strings.HasPrefix(string(s.TemporalUIOrigin), "https://")
	in := inputs{settings: s, privateTargets: s.Local(), uiLogin: newUILogin(dashboardOf(&s, listener), secureUI)}
	if in.metrics, err = p.ServeMetrics(ctx, s); err != nil {
		return nil, Summary{}, err
	}
	if in.secrets, err = OpenSecrets(&s, data); err != nil {
		return nil, Summary{}, err
	}
	if in.credentials, err = data.Credentials(time.Now()); err != nil {
		return nil, Summary{}, err
	}
	if in.dsn, err = p.startPostgres(ctx, s, data, show); err != nil {
		return nil, Summary{}, err
	}
	if in.store, in.temporal, err = p.startServers(ctx, in, show); err != nil {
		return nil, Summary{}, err
	}
	if err := in.noteEncryption(ctx); err != nil {
		return nil, Summary{}, err
	}
	built, err := newPlatform(ctx, p, in)
	if err != nil {
		return nil, Summary{}, err
	}
	// The account exists before the first request.
	key, err := Bootstrap(ctx, in.store, DefaultKeyName)
	if err != nil {
		return nil, Summary{}, err
	}
	if err := built.ServeAPI(ctx, listener); err != nil {
		return nil, Summary{}, err
	}
	withOrWithout := built.pauseDemo
	if show.WithDemo {
		withOrWithout = built.openDemo
	}
	if err := withOrWithout(ctx, URLOf(listener), data.Path(), show); err != nil {
		return nil, Summary{}, err
	}
	built.defaultDrills = defaultDrills(s.Regions, machineZone())
	if err := built.startWorkers(ctx, show); err != nil {
		return nil, Summary{}, err
	}
	out := newSummary(s, listener, in.temporal)
	if s.Local() {
		if out.SignInURL, err = operatorLink(ctx, in.store, out.APIURL); err != nil {
			return nil, Summary{}, err
		}
	}
	out.MetricsURL, out.APIKey, out.DataDir = in.metrics.url(), key, data.Path()
	if built.Demo != nil {
		out.DemoURL = built.Demo.URL()
	}
	return built, out, nil
}

// startServers opens the database, and then migrates it and starts Temporal in parallel:
// neither needs the other, and both take their time. A database from before the baseline is
// refused before the data of the embedded Temporal is touched.
func (p *Process) startServers(ctx context.Context, in inputs, show *Screen) (*storage.Store, TemporalServer, error) {
	conns := maxConns
	if in.settings.small() {
		conns = smallConns
	}
	store, err := p.openStore(ctx, in.dsn, &in.settings, conns, in.secrets.Keyring)
	if err != nil {
		return nil, TemporalServer{}, err
	}
	migrated := make(chan error, 1)
	go func() {
		migrated <- show.Step("Database", func() (string, error) { return "migrated", migrateStore(ctx, store) })
	}()
	var temporal TemporalServer
	err = show.Step("Temporal", func() (string, error) {
		var what string
		var err error
		temporal, what, err = p.openTemporal(ctx, in)
		return what, err
	})
	err = errors.Join(<-migrated, err)
	return store, temporal, err
}

// startWorkers starts the control worker and the workers of all regions.
func (p *Platform) startWorkers(ctx context.Context, show *Screen) error {
	regions := p.settings.Regions
	serves := append(slices.Clone(regions), vigil.LocationsRegion)
	return show.Step("Workers", func() (string, error) {
		if err := p.StartControl(ctx); err != nil {
			return "", err
		}
		polling, err := p.StartRegions(ctx, serves)
		if err != nil {
			return "", err
		}
		select {
		case <-polling:
			return fmt.Sprintf("%d regions", len(regions)), nil
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(workersTimeout):
			return fmt.Sprintf("%d regions, waiting for Temporal", len(regions)), nil
		}
	})
}

// newSummary describes the platform whose API listens there.
func newSummary(s Settings, listener net.Listener, temporal TemporalServer) Summary {
	base := URLOf(listener)
	target := base + "/health"
	if !s.Local() {
		target = "https://example.com" // private targets, as the API itself may be, are refused
	}
	return Summary{
		APIURL: base, DocsURL: base + "/docs", TemporalUIURL: temporal.uiURL, TemporalAddress: temporal.address,
		Namespace: s.TemporalNamespace, PID: os.Getpid(),
		region: s.Regions[0], target: target,
	}
}

// startPostgres runs the private cluster, unless DATABASE_URL names another server,
// and returns the connection string of Vigil's own database.
func (p *Process) startPostgres(ctx context.Context, s Settings, data *standalone.DataDir, show *Screen) (dsn string, err error) {
	err = show.Step("Postgres", func() (string, error) {
		if s.DatabaseURL != "" {
			dsn = s.DatabaseURL
			if s.TemporalAddress != "" {
				return "yours", nil
			}
			return "yours", standalone.EnsureDatabases(ctx, dsn)
		}
		server, err := standalone.StartPostgres(ctx, data, standalone.PostgresOptions{
			Databases: Databases(), Small: s.small(), Log: p.Log,
		})
		if err != nil {
			return "", err
		}
		p.onStopBy(databaseBy, func(ctx context.Context) {
			end, _ := ctx.Deadline()
			ctx, cancel := context.WithDeadline(ctx, end.Add(-hardStop))
			defer cancel()
			if err := server.Stop(ctx); err != nil {
				p.Log.WarnContext(ctx, "postgres not stopped cleanly", "error", err)
			}
		})
		dsn = server.DSN(Database)
		if err := SaveDatabaseURL(data.Path(), dsn); err != nil {
			return "", err
		}
		return fmt.Sprintf("private, version %d, %s", server.Version(), server.Address()), nil
	})
	return dsn, err
}

// Databases are the names of the databases of a private Postgres: Vigil's own and the two of
// the embedded Temporal.
func Databases() []string {
	store, visibility := standalone.TemporalDatabases(Database)
	return []string{Database, store, visibility}
}

// openTemporal runs the embedded server, unless TEMPORAL_ADDRESS names another one,
// and describes it for the screen.
func (p *Process) openTemporal(ctx context.Context, in inputs) (TemporalServer, string, error) {
	if address := in.settings.TemporalAddress; address != "" {
		temporal, err := p.DialTemporal(in.settings, in.payloadCodec(), in.metrics.metrics)
		return temporal, "yours, " + address, err
	}
	server, err := p.StartTemporal(ctx, in.settings, in.dsn, in.credentials, in.uiLogin)
	if err != nil {
		return TemporalServer{}, "", err
	}
	if _, err := in.credentials.WriteProfile(server.Address(), in.settings.TemporalNamespace); err != nil {
		return TemporalServer{}, "", err
	}
	temporal, err := p.dialEmbedded(server, in.credentials, in.settings.TemporalNamespace, in.payloadCodec(), in.metrics.metrics)
	temporal.uiLogin = in.uiLogin
	return temporal, "embedded, " + server.Address(), err
}

// dashboardOf is where the dashboard is reached: by the public address when there is one for
// browsers elsewhere.
func dashboardOf(s *Settings, listener net.Listener) string {
	if s.Local() {
		return URLOf(listener)
	}
	return string(s.PublicURL)
}

// workersTimeout is how long the start waits for workers while Temporal does not
// answer; they keep trying.
const workersTimeout = 10 * time.Second
