// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/probe"
)

func newOpenAPICommand() *cobra.Command {
	return &cobra.Command{
		Use:   "openapi",
		Short: "Print the OpenAPI document of the API",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			guard := egress.New(egress.Policy{})
			document, err := api.Document(probe.NewRegistry(guard), notify.NewRegistry(guard))
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(document)
			return err
		},
	}
}
