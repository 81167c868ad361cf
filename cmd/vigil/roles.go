package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"vigil/dispatch"
	"vigil/standalone"
)

// The roles are the parts of `vigil up` as processes of their own, against a
// Postgres and a Temporal that run elsewhere.

func newAPICommand() *cobra.Command {
	return &cobra.Command{
		Use:   "api",
		Short: "Run the API alone, against DATABASE_URL and TEMPORAL_ADDRESS",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return role(cmd, func(ctx context.Context, p *platform) error {
				listener, err := listen(ctx, string(p.settings.Listen), "VIGIL_LISTEN")
				if err != nil {
					return err
				}
				p.onStop(func(context.Context) { _ = listener.Close() })
				p.knowAddress(listener)
				p.log.InfoContext(ctx, "api listens", "address", listener.Addr().String())
				return p.serveAPI(listener, dispatch.NewLoops(p.temporal, p.store, p.log))
			})
		},
	}
}

func newWorkerCommand() *cobra.Command {
	var names string
	var control bool
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run the workers of some regions, or the control worker, alone",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var keys regionList
			if names == "" && !control {
				return errors.New("say what to work on: --region with region keys separated by commas, --control, or both")
			}
			if names != "" {
				if err := keys.UnmarshalText([]byte(names)); err != nil {
					return fmt.Errorf("--region %w", err)
				}
			}
			return role(cmd, func(ctx context.Context, p *platform) error {
				if control {
					if err := p.startControl(ctx, dispatch.NewLoops(p.temporal, p.store, p.log)); err != nil {
						return err
					}
				}
				if len(keys) == 0 {
					return nil
				}
				_, err := p.startRegions(ctx, keys)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&names, "region", "", "region keys to probe from, separated by commas, or all, or primary")
	cmd.Flags().BoolVar(&control, "control", false, "run the control worker: the sweep and the housekeeping")
	return cmd
}

// role runs one part until its command is told to stop or the part dies.
func role(cmd *cobra.Command, start func(context.Context, *platform) error) error {
	ctx := cmd.Context()
	s, err := readSettings(cmd)
	switch {
	case err != nil:
		return err
	case s.DatabaseURL == "":
		return errors.New("a role of its own needs DATABASE_URL, the Postgres that all roles share; `vigil up` runs one by itself")
	case s.TemporalAddress == "":
		return errors.New("a role of its own needs TEMPORAL_ADDRESS, the Temporal that all roles share; `vigil temporal` runs one")
	}
	p := newPlatform(s, newLogger(cmd.ErrOrStderr(), slog.Level(s.LogLevel)))
	defer p.stop(ctx)
	p.dsn = s.DatabaseURL
	if p.secrets, err = openSecrets(&p.settings, nil); err != nil {
		return err
	}
	if _, err := p.serveMetrics(ctx); err != nil {
		return err
	}
	if err := p.openStore(ctx, false); err != nil {
		return err
	}
	if err := p.dialTemporal(""); err != nil {
		return err
	}
	// Only the API knows by itself where it listens. The others, which may run on
	// another machine, must not take the default for the truth.
	p.openEgress(s.local() && (cmd.Name() == "api" || isGiven(cmd, "VIGIL_LISTEN")))
	if err := p.openMail(); err != nil {
		return err
	}
	if err := start(ctx, p); err != nil {
		return err
	}
	return p.wait(ctx)
}

// temporalReady is what `vigil temporal --json` prints once it serves.
type temporalReady struct {
	Address   string `json:"temporal_address"`
	UIURL     string `json:"temporal_ui_url"`
	Namespace string `json:"namespace"`
	PID       int    `json:"pid"`
}

func newTemporalCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "temporal",
		Short: "Run the embedded Temporal server and its UI alone, for development",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := readSettings(cmd)
			if err != nil {
				return err
			}
			if s.DatabaseURL == "" {
				return errors.New("`vigil temporal` needs DATABASE_URL: it keeps its data in two databases beside that one")
			}
			ctx := cmd.Context()
			p := newPlatform(s, newLogger(cmd.ErrOrStderr(), slog.Level(s.LogLevel)))
			p.dsn = s.DatabaseURL
			defer p.stop(ctx)
			if _, err := p.serveMetrics(ctx); err != nil {
				return err
			}
			if err := standalone.EnsureDatabases(ctx, p.dsn); err != nil {
				return err
			}
			server, err := p.embedTemporal(ctx)
			if err != nil {
				return err
			}
			out := temporalReady{Address: server.Address(), UIURL: server.UIURL(), Namespace: s.TemporalNamespace, PID: os.Getpid()}
			if asJSON {
				err = json.NewEncoder(cmd.OutOrStdout()).Encode(out)
			} else {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "Temporal serves on %s, its UI on %s. Ctrl-C stops it.\n", out.Address, out.UIURL)
			}
			if err != nil {
				return err
			}
			return p.wait(ctx)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON once ready, everything else to standard error")
	cmd.AddCommand(newTemporalSetupCommand())
	return cmd
}
