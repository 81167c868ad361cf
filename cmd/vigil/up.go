package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	"vigil/dispatch"
	"vigil/standalone"
)

func newUpCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run the whole platform in this process",
		Long: "Run the whole platform in this process: Postgres (unless DATABASE_URL is set), Temporal and its UI\n" +
			"(unless TEMPORAL_ADDRESS is set), the API and the workers of the regions.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := readSettings(cmd)
			if err != nil {
				return err
			}
			show := newScreen(cmd.OutOrStdout(), cmd.ErrOrStderr(), asJSON)
			return up(cmd.Context(), s, show, newLogger(cmd.ErrOrStderr(), slog.Level(s.LogLevel)))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON once ready, everything else to standard error")
	return cmd
}

// up runs until ctx ends or a part dies.
func up(ctx context.Context, s settings, show *screen, log *slog.Logger) error {
	p := newPlatform(s, log)
	defer p.stop(ctx)
	summary, err := p.bringUp(ctx, show)
	if err != nil {
		if ctx.Err() != nil {
			return nil // asked to stop while starting
		}
		return err
	}
	if err := show.ready(summary); err != nil {
		return err
	}
	err = p.wait(ctx)
	if err == nil {
		show.note("stopping")
	}
	return err
}

// bringUp starts every part, each a step on the screen.
func (p *platform) bringUp(ctx context.Context, show *screen) (summary, error) {
	var out summary
	listener, err := listen(ctx, string(p.settings.Listen), "VIGIL_LISTEN")
	if err != nil {
		return out, err
	}
	p.onStop(func(context.Context) { _ = listener.Close() })
	p.knowAddress(listener)
	shown, err := p.serveMetrics(ctx)
	if err != nil {
		return out, err
	}

	data, err := standalone.OpenDataDir(p.settings.DataDir)
	if err != nil {
		return out, err
	}
	p.onStop(func(context.Context) { _ = data.Close() })
	if p.secrets, err = openSecrets(&p.settings, data); err != nil {
		return out, err
	}
	if err := p.bringUpPostgres(ctx, data, show); err != nil {
		return out, err
	}
	// Neither needs the other, and both take their time.
	migrated := make(chan error, 1)
	go func() {
		migrated <- show.step("Database", func() (string, error) { return "migrated", p.openStore(ctx, true) })
	}()
	err = p.bringUpTemporal(ctx, show)
	if err := errors.Join(<-migrated, err); err != nil {
		return out, err
	}
	p.openEgress(p.settings.local())
	if err := p.openMail(); err != nil {
		return out, err
	}
	loops := dispatch.NewLoops(p.temporal, p.store, p.log)
	if err := p.serveAPI(listener, loops); err != nil {
		return out, err
	}
	regions := p.settings.Regions
	err = show.step("Workers", func() (string, error) {
		if err := p.startControl(ctx, loops); err != nil {
			return "", err
		}
		polling, err := p.startRegions(ctx, regions)
		if err != nil {
			return "", err
		}
		select {
		case <-polling:
			return fmt.Sprintf("%d regions", len(regions)), nil
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(workerPatience):
			return fmt.Sprintf("%d regions, waiting for Temporal", len(regions)), nil
		}
	})
	if err != nil {
		return out, err
	}
	key, err := bootstrap(ctx, p.store, bootstrapKey)
	if err != nil {
		return out, err
	}
	out = p.summary(listener)
	out.MetricsURL, out.APIKey, out.DataDir = shown, key, data.Path()
	return out, nil
}

// summary tells of the platform whose API listens there.
func (p *platform) summary(listener net.Listener) summary {
	base := addressOf(listener)
	target := base + "/health"
	if !p.settings.local() {
		target = "https://example.com" // private ones, as the API's own may be, are closed
	}
	return summary{
		APIURL: base, DocsURL: base + "/docs", TemporalUIURL: p.ui, TemporalAddress: p.address,
		Namespace: p.settings.TemporalNamespace, PID: os.Getpid(),
		region: p.settings.Regions[0], target: target,
	}
}

// addressOf is the URL by which one on this machine reaches what listens there.
func addressOf(listener net.Listener) string {
	return "http://" + hostPort(listener.Addr().String()).reachable()
}

// workerPatience is how long the start waits for workers whose Temporal does
// not answer; they go on trying.
const workerPatience = 10 * time.Second

// bringUpPostgres runs the private cluster, or takes the database it is given.
func (p *platform) bringUpPostgres(ctx context.Context, data *standalone.DataDir, show *screen) error {
	return show.step("Postgres", func() (string, error) {
		if p.settings.DatabaseURL != "" {
			p.dsn = p.settings.DatabaseURL
			if p.settings.TemporalAddress != "" {
				return "yours", nil
			}
			return "yours", standalone.EnsureDatabases(ctx, p.dsn)
		}
		server, err := standalone.StartPostgres(ctx, data, standalone.PostgresOptions{
			Databases: platformDatabases(), Log: p.log,
		})
		if err != nil {
			return "", err
		}
		p.onStopBy(databaseBy, func(ctx context.Context) {
			end, _ := ctx.Deadline()
			ctx, cancel := context.WithDeadline(ctx, end.Add(-hardStop))
			defer cancel()
			if err := server.Stop(ctx); err != nil {
				p.log.WarnContext(ctx, "postgres not stopped cleanly", "error", err)
			}
		})
		p.dsn = server.DSN(database)
		if err := noteDatabase(data.Path(), p.dsn); err != nil {
			return "", err
		}
		return fmt.Sprintf("private, version %d, %s", server.Version(), server.Address()), nil
	})
}

// database is the name of Vigil's own in a private cluster.
const database = "vigil"

func platformDatabases() []string {
	store, visibility := standalone.TemporalDatabases(database)
	return []string{database, store, visibility}
}

// bringUpTemporal runs the embedded server, or makes a client of the one it is
// given.
func (p *platform) bringUpTemporal(ctx context.Context, show *screen) error {
	return show.step("Temporal", func() (string, error) {
		if p.settings.TemporalAddress != "" {
			return "yours, " + p.settings.TemporalAddress, p.dialTemporal("")
		}
		server, err := p.embedTemporal(ctx)
		if err != nil {
			return "", err
		}
		return "embedded, " + server.Address(), p.dialTemporal(server.Address())
	})
}

func (p *platform) embedTemporal(ctx context.Context) (*standalone.Temporal, error) {
	server, err := standalone.StartTemporal(ctx, standalone.TemporalOptions{
		DSN: p.dsn, Listen: string(p.settings.TemporalListen), UIListen: string(p.settings.UIListen),
		Namespace: p.settings.TemporalNamespace, Retention: p.settings.TemporalRetention,
		SearchAttributes: dispatch.SearchAttributes(), Loops: expectedLoops, Log: p.log,
	})
	if err != nil {
		return nil, err
	}
	p.onStopBy(serverBy, func(ctx context.Context) {
		if err := server.Stop(ctx); err != nil {
			p.log.WarnContext(ctx, "temporal not stopped cleanly", "error", err)
		}
	})
	go func() {
		if err, died := <-server.Failed(); died {
			p.fail(err)
		}
	}()
	p.ui = server.UIURL()
	p.refuse(string(p.settings.UIListen))
	return server, nil
}

// expectedLoops sizes the caches of the embedded server.
const expectedLoops = 10_000

// listen takes an address, or says which setting names another.
func listen(ctx context.Context, address, setting string) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w; set %s to an address that is free", address, unwrapNet(err), setting)
	}
	return listener, nil
}

// unwrapNet leaves out what the sentence around it says already.
func unwrapNet(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	return err
}
