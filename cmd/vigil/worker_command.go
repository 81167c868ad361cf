// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

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
				return errors.New("nothing to run: give --region with region keys separated by commas, --control, or both")
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
			deployment, err := s.deployment(version)
			if err != nil {
				return err
			}
			return runRole(cmd.Context(), p, s, isGiven(cmd, "VIGIL_LISTEN"), func(ctx context.Context, p *platform) error {
				p.deployment = deployment
				go p.private.follow(ctx, followEvery)
				p.watchDeployment(ctx)
				if control {
					if err := p.startControl(ctx); err != nil {
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
