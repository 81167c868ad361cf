// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/platform"
)

func newAPICommand() *cobra.Command {
	return &cobra.Command{
		Use:   "api",
		Short: "Run the API alone, against DATABASE_URL and TEMPORAL_ADDRESS",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, p, err := readRoleSettings(cmd)
			if err != nil {
				return err
			}
			listener, err := p.Listen(cmd.Context(), s.Listen, "VIGIL_LISTEN")
			if err != nil {
				return err
			}
			return platform.RunRole(cmd.Context(), p, s.ListeningOn(listener), true, func(ctx context.Context, p *platform.Platform) error {
				p.Log.InfoContext(ctx, "api listens", "address", listener.Addr().String())
				if err := p.ServeAPI(ctx, listener); err != nil {
					return err
				}
				return p.StartApplying(ctx, platform.URLOf(listener))
			})
		},
	}
}
