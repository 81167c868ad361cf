// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/vigil-monitor/vigil/cmd/vigil/cli"
	"github.com/vigil-monitor/vigil/internal/dispatch"
	"github.com/vigil-monitor/vigil/internal/platform"
)

func newDeploymentCommand() *cobra.Command {
	return cli.Group("deployment", "Roll out builds of the workers (Temporal's Worker Versioning)",
		newDeploymentStatusCommand(), newDeploymentRampCommand(), newDeploymentPromoteCommand())
}

func newDeploymentStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the builds of the deployment, and which of them get work",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withDeployment(cmd, func(ctx context.Context, temporal client.Client, name string) error {
				return showDeployment(ctx, cmd, temporal, name)
			})
		},
	}
}

func newDeploymentRampCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "ramp <build> <percent>",
		Short: "Give a build a share of the workflows; 0 ends the ramp",
		Args:  words("ramp needs a build and a percentage, such as: vigil deployment ramp v1.2.0 10", 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			percent, err := strconv.ParseFloat(strings.TrimSuffix(args[1], "%"), 32)
			if err != nil || !(percent >= 0 && percent <= 100) {
				return fmt.Errorf("the percentage is %q; it must be a number from 0 to 100", args[1])
			}
			return withDeployment(cmd, func(ctx context.Context, temporal client.Client, name string) error {
				if err := dispatch.Ramp(ctx, temporal, name, args[0], float32(percent)); err != nil {
					return err
				}
				return showDeployment(ctx, cmd, temporal, name)
			})
		},
	}
}

func newDeploymentPromoteCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "promote <build>",
		Short: "Make a build the current one; to roll back, promote the build before",
		Long: "Make a build the current one: every loop, incident and delivery continues on its workers. To roll back,\n" +
			"promote the build before, whose workers must still run. The word unversioned gives all work back to workers\n" +
			"without VIGIL_DEPLOYMENT_NAME.",
		Args: words("promote needs a build, such as: vigil deployment promote v1.2.0", 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			build := args[0]
			if build == "unversioned" {
				build = ""
			}
			return withDeployment(cmd, func(ctx context.Context, temporal client.Client, name string) error {
				if err := dispatch.Promote(ctx, temporal, name, build); err != nil {
					return err
				}
				return showDeployment(ctx, cmd, temporal, name)
			})
		},
	}
}

// words checks the number of arguments.
func words(usage string, n int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return fmt.Errorf("%s (got %d words)", usage, len(args))
		}
		return nil
	}
}

// withDeployment runs do with a client and the name of the deployment.
func withDeployment(cmd *cobra.Command, do func(ctx context.Context, temporal client.Client, name string) error) error {
	s, err := readSettings(cmd)
	if err != nil {
		return err
	}
	if s.TemporalAddress == "" || s.DeploymentName == "" {
		return errors.New("`vigil deployment` needs TEMPORAL_ADDRESS and VIGIL_DEPLOYMENT_NAME, as the workers have them")
	}
	p := platform.NewProcess(platform.NewLogger(cmd.ErrOrStderr(), slog.Level(s.LogLevel)), thisProgram())
	defer p.Stop(cmd.Context())
	temporal, err := p.DialTemporal(s, nil, nil)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), platform.DeploymentTimeout)
	defer cancel()
	return do(ctx, temporal.Client, s.DeploymentName)
}

func showDeployment(ctx context.Context, cmd *cobra.Command, temporal client.Client, name string) error {
	d, err := dispatch.DescribeDeployment(ctx, temporal, name)
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(out, "BUILD\tSTATUS\tSHARE")
	if d.Current == "" {
		_, _ = fmt.Fprintf(out, "unversioned\tcurrent\t%g %%\n", 100-d.Share)
	}
	for _, build := range d.Builds {
		share := float32(0)
		switch build.ID {
		case d.Current:
			share = 100 - d.Share
		case d.Ramping:
			share = d.Share
		}
		_, _ = fmt.Fprintf(out, "%s\t%s\t%g %%\n", build.ID, build.Status, share)
	}
	return out.Flush()
}
