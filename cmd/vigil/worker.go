// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/platform"
)

func newWorkerCommand() *cobra.Command {
	var names string
	var control, locations bool
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run the workers of some regions, or the control worker, alone",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var keys platform.RegionList
			if names == "" && !control && !locations {
				return errors.New("nothing to run: give --region with region keys separated by commas, --locations, --control, or several")
			}
			if names != "" {
				if err := keys.UnmarshalText([]byte(names)); err != nil {
					return fmt.Errorf("--region %w", err)
				}
			}
			s, p, err := readRoleSettings(cmd)
			if err != nil {
				return err
			}
			deployment, err := s.Deployment(version)
			if err != nil {
				return err
			}
			return platform.RunRole(cmd.Context(), p, s, isGiven(cmd, "VIGIL_LISTEN"), func(ctx context.Context, p *platform.Platform) error {
				p.Deployment = deployment
				go p.Private.Follow(ctx, platform.FollowEvery)
				p.WatchDeployment(ctx)
				if control {
					if err := p.StartControl(ctx); err != nil {
						return err
					}
				}
				if control || locations { // locations have no place of their own
					keys = append(keys, vigil.LocationsRegion)
				}
				_, err := p.StartRegions(ctx, keys)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&names, "region", "", "region keys to probe from, separated by commas, or all, or primary")
	cmd.Flags().BoolVar(&control, "control", false, "run the control worker: the sweep, the housekeeping and the loops of locations")
	cmd.Flags().BoolVar(&locations, "locations", false, "run the loops of locations, whose checks agents probe")
	return cmd
}
