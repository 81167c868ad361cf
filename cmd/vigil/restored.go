// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/storage"
)

func newRestoredCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "restored",
		Short: "Say that a database was restored from a backup with other tools",
		Long: "Say that Vigil's database, or Temporal's, was restored from a backup with other tools, such as pg_restore or a\n" +
			"snapshot. Alert streams then continue at positions that were never used, and all loops, incidents and deliveries\n" +
			"go on from the rows within seconds. A control process finds most restores by itself within seconds; this says it\n" +
			"at once. It changes no definition, may be repeated, and works while the platform runs. `vigil restore` does it.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := readSettings(cmd)
			if err != nil {
				return err
			}
			return withStore(cmd.Context(), &s, func(store *storage.Store) error {
				if err := store.Ready(cmd.Context()); err != nil {
					return fmt.Errorf("%w Run `vigil migrate` first", err)
				}
				if err := store.Restored(cmd.Context()); err != nil {
					return err
				}
				if err := noteOperator(cmd, store, "platform.restored"); err != nil {
					return err
				}
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "Noted. All loops, incidents and deliveries go on from the rows of the database.")
				return err
			})
		},
	}
}
