// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/spf13/cobra"
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
			listener, err := p.listen(cmd.Context(), s.Listen, "VIGIL_LISTEN")
			if err != nil {
				return err
			}
			return runRole(cmd.Context(), p, s.listeningOn(listener), true, func(ctx context.Context, p *platform) error {
				p.log.InfoContext(ctx, "api listens", "address", listener.Addr().String())
				if err := p.serveAPI(ctx, listener); err != nil {
					return err
				}
				return p.startApplying(ctx, urlOf(listener))
			})
		},
	}
}
